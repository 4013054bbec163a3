//! Limits of this process, as `ulimit` shows them.

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    quantity::bytes,
    system::System,
};

const SOURCE: &str = "/proc/self/limits";

/// Rows of every message size.
const ROWS: &[Question] = &[Question::Spinning, Question::Sleeping, Question::Large];

pub(super) const FACTS: &[Fact] = &[
    Fact {
        name: "limit of open files",
        source: SOURCE,
        examine: |system| {
            let sentence = "rows with many subscribers run out of descriptors";
            least(system, "Max open files", 1024, ROWS, sentence, "ulimit -n 4096")
        },
    },
    Fact {
        name: "limit of processes",
        source: SOURCE,
        examine: |system| {
            let sentence = "rows with many subscribers, and libraries with threads of their own, cannot start them";
            least(system, "Max processes", 512, ROWS, sentence, "ulimit -u 4096")
        },
    },
    Fact {
        name: "limit of locked memory",
        source: SOURCE,
        examine: |system| {
            let sentence =
                "libraries that lock their memory fail, or go without and take page faults";
            let rows = &[Question::Large, Question::Tails];
            least(system, "Max locked memory", 64 << 10, rows, sentence, "ulimit -l unlimited")
        },
    },
    Fact {
        name: "limit of memory",
        source: SOURCE,
        examine: |system| {
            let sentence =
                "transports that map more memory fail: libraries reserve far more than they use";
            least(system, "Max address space", 8 << 30, ROWS, sentence, "ulimit -v unlimited")
        },
    },
    Fact {
        name: "limit of file size",
        source: SOURCE,
        examine: |system| {
            let sentence = "memory that is shared through a file cannot be that large";
            let rows = &[Question::Large];
            least(system, "Max file size", 256 << 20, rows, sentence, "ulimit -f unlimited")
        },
    },
    Fact {
        name: "limit of message queues",
        source: SOURCE,
        examine: |system| {
            let sentence = "POSIX queues are made smaller, or refused";
            let rows = &[Question::Large];
            least(system, "Max msgqueue size", 819_200, rows, sentence, "ulimit -q 819200")
        },
    },
    Fact {
        name: "limit of signals",
        source: SOURCE,
        examine: |system| {
            let sentence = "the transport signal is refused";
            let rows = &[Question::Spinning, Question::Sleeping];
            least(system, "Max pending signals", 64, rows, sentence, "ulimit -i 4096")
        },
    },
    Fact {
        name: "limit of CPU time",
        source: SOURCE,
        examine: |system| {
            let sentence = "spinning workers are killed once they have used it up";
            let rows = &[Question::Spinning];
            least(system, "Max cpu time", 3_600, rows, sentence, "ulimit -t unlimited")
        },
    },
    Fact {
        name: "real-time priority",
        source: SOURCE,
        examine: |system| {
            let [soft, ..] = limit(system, "Max realtime priority")?;
            Some(Examined::harmless(match soft.as_str() {
                "0" => "not allowed".into(),
                most => format!("up to {most}"),
            }))
        },
    },
];

/// A limit that does harm below `enough`.
fn least(
    system: &System,
    row: &str,
    enough: u64,
    questions: &'static [Question],
    sentence: &'static str,
    command: &'static str,
) -> Option<Examined> {
    let [soft, hard, unit] = limit(system, row)?;
    let is_low = |text: &str| text.parse::<u64>().is_ok_and(|number| number < enough);
    let price = match is_low(&hard) {
        true => {
            "root must raise the hard limit first: /etc/security/limits.conf, or docker run --ulimit"
        }
        false => "none",
    };
    let effect = Effect::new(Weight::Reservation, questions, sentence).remedy(command, price);
    let value = match (soft.parse(), unit.as_str()) {
        (Ok(number), "bytes") => bytes(number),
        _ => soft.clone(),
    };
    Some(Examined::harmless(value).with(is_low(&soft).then_some(effect)))
}

/// Soft limit, hard limit and unit of one row. A limit is a number or `unlimited`; some rows have no unit.
fn limit(system: &System, row: &str) -> Option<[String; 3]> {
    let text = system.files.text("proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix(row)?.strip_prefix(' '))?;
    let mut words = line.split_whitespace().map(str::to_owned);
    Some([words.next()?, words.next()?, words.next().unwrap_or_default()])
}
