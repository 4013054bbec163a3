//! The turn of a pair that is not measured: it runs the same traffic as the measured pair beside it, for as long as
//! that pair's turn lasts. It runs in slices; after each, the leader checks whether the command has ended it.

use std::time::Duration;

use ipcmark_transport::Error;

use super::{blocks::BlockLoop, context::Command};
use crate::wire::TurnLimit;

/// A slice is a few blocks long, so the check between two slices costs little.
const SLICE: Duration = Duration::from_millis(1);

/// For a load that pauses: each slice restarts its schedule.
const PACED_SLICE: Duration = Duration::from_millis(100);

/// The length of a slice beside the turn with this number.
pub(super) fn slice(number: u32, is_paced: bool) -> TurnLimit {
    let time = if is_paced { PACED_SLICE } else { SLICE };
    TurnLimit { number, time_ns: time.as_nanos() as u64, samples: u64::MAX }
}

/// Measures slices until the command ends the turn, at least one.
pub(super) fn run(
    ends: &mut dyn BlockLoop,
    command: &mut dyn Command,
    slice: &mut dyn FnMut(&mut dyn BlockLoop) -> Result<(), Error>,
) -> Result<(), Error> {
    command.background_runs()?;
    loop {
        slice(ends)?;
        if command.has_ended_background()? {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::{context::Turn, scripted::Scripted};

    /// A command that ends the turn once it has been asked `asked` times.
    struct EndsAfter {
        asked: u32,
        runs: bool,
    }

    impl Command for EndsAfter {
        fn phase(&mut self, _: &'static str) -> Result<(), Error> {
            unreachable!("it is in its turn")
        }

        fn next_turn(&mut self, _: f64) -> Result<Option<Turn>, Error> {
            unreachable!("it is in its turn")
        }

        fn background_runs(&mut self) -> Result<(), Error> {
            self.runs = true;
            Ok(())
        }

        fn has_ended_background(&mut self) -> Result<bool, Error> {
            assert!(self.runs, "the command is told first");
            self.asked -= 1;
            Ok(self.asked == 0)
        }
    }

    #[test]
    fn it_runs_until_the_command_ends_it() {
        let (mut command, mut slices) = (EndsAfter { asked: 3, runs: false }, 0);
        let mut ends = Scripted::new(1000);
        let slice = &mut |_: &mut dyn BlockLoop| {
            slices += 1;
            Ok(())
        };
        run(&mut ends, &mut command, slice).unwrap();
        assert_eq!(slices, 3);
    }

    #[test]
    fn an_error_ends_it() {
        let mut command = EndsAfter { asked: 3, runs: false };
        let slice = &mut |_: &mut dyn BlockLoop| Err(Error::peer_gone("wait for", "an answer"));
        assert!(run(&mut Scripted::new(1000), &mut command, slice).is_err());
    }

    #[test]
    fn a_slice_has_the_number_of_the_turn_beside_it() {
        assert_eq!(slice(7, false).number, 7);
        assert!(slice(7, true).time_ns > slice(7, false).time_ns);
    }
}
