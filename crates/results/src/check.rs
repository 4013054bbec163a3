//! What holds for every result beyond its types: figures where, and only where, a case was
//! measured, and every figure a number.

use std::borrow::Cow;

use crate::{Case, Figures, Floor, RunResult, Status, Subscriber};

impl RunResult {
    /// Checks that every figure is a number that is not negative, and that each case has figures
    /// exactly where its status is `ok` and a reason exactly where it is not.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in self.numbers() {
            check_number(name, value)?;
        }
        for (number, case) in self.cases.iter().enumerate() {
            case.check()
                .map_err(|cause| format!("case {} ({}): {cause}", number + 1, case.transport))?;
        }
        Ok(())
    }

    /// The result with nothing in it that JSON has no number for: a case with such a figure is
    /// failed, a floor of that kind is absent. It costs one row instead of the file.
    pub fn settled(&self) -> Cow<'_, Self> {
        if self.check().is_ok() {
            return Cow::Borrowed(self);
        }
        let mut settled = self.clone();
        settled.floor = settled
            .floor
            .filter(|floor| floor.numbers().iter().all(|(_, value)| is_number(*value)));
        if !is_number(settled.clock.read_ns) {
            settled.clock.read_ns = 0.0;
            settled.notes.push("The cost of reading the clock could not be measured.".into());
        }
        settled.cases.iter_mut().for_each(Case::settle);
        Cow::Owned(settled)
    }

    /// The figures outside the cases.
    fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let floor = self.floor.iter().flat_map(Floor::numbers);
        floor.chain([("clock.read_ns", self.clock.read_ns)])
    }
}

impl Floor {
    fn numbers(&self) -> [(&'static str, f64); 3] {
        [
            ("floor.round_trip_ns", self.round_trip_ns),
            ("floor.lowest_ns", self.lowest_ns),
            ("floor.highest_ns", self.highest_ns),
        ]
    }
}

impl Case {
    /// Checks what [`RunResult::check`] checks of a case.
    pub fn check(&self) -> Result<(), String> {
        match (self.status, &self.figures, &self.reason) {
            (Status::Ok, Some(figures), None) => figures.check(),
            (Status::Ok, None, _) => Err("its status is `ok`, but a figure is missing".into()),
            (Status::Ok, Some(_), Some(_)) => Err("its status is `ok`, but it has a reason".into()),
            (_, Some(_), _) => Err("its status is not `ok`, but it has figures".into()),
            (_, None, None) => Err("its status is not `ok`, but it has no reason".into()),
            (_, None, Some(_)) => Ok(()),
        }
    }

    /// Makes a case that contradicts itself a failed one.
    fn settle(&mut self) {
        if let Err(cause) = self.check() {
            if self.status == Status::Ok {
                self.status = Status::Failed;
            }
            self.figures = None;
            self.reason.get_or_insert(cause);
        }
    }
}

impl Figures {
    /// Checks that every figure is a number that is not negative.
    fn check(&self) -> Result<(), String> {
        [
            ("round_trip_ns.mean", self.round_trip_ns.mean),
            ("round_trip_ns.stdev", self.round_trip_ns.stdev),
            ("round_trip_ns.bulk_mean", self.round_trip_ns.bulk_mean),
            ("floor_round_trip_ns", self.floor_round_trip_ns),
            ("messages_per_second", self.messages_per_second),
            ("bytes_per_second", self.bytes_per_second),
            ("cpu_ns_per_message.leader", self.cpu_ns_per_message.leader),
            ("cpu_ns_per_message.follower", self.cpu_ns_per_message.follower),
            ("path.loopback_bytes_per_message", self.path.loopback_bytes_per_message),
        ]
        .into_iter()
        .chain(self.per_subscriber.iter().flat_map(Subscriber::numbers))
        .try_for_each(|(name, value)| check_number(name, value))
    }
}

impl Subscriber {
    fn numbers(&self) -> [(&'static str, f64); 2] {
        [
            ("per_subscriber.answer_ns.mean", self.answer_ns.mean),
            ("per_subscriber.cpu_ns_per_message", self.cpu_ns_per_message),
        ]
    }
}

fn check_number(name: &str, value: f64) -> Result<(), String> {
    if is_number(value) { Ok(()) } else { Err(format!("{name} is {value}, not a figure")) }
}

fn is_number(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}
