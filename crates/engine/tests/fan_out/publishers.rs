//! Fan-in: one leader takes the messages of several publishers.

use ipcmark_transport::Pattern;
use libtest_mimic::Failed;

use crate::runs::{FORGETS_ONE, MeasurementRequest, ROUND_TRIPS, only, traffic};

fn asked(name: &'static str, publishers: u32) -> MeasurementRequest {
    MeasurementRequest::of(Pattern::FanIn, name, publishers)
}

pub fn are_heard() -> Result<(), Failed> {
    for publishers in [1, 3] {
        let case = asked("right", publishers).case();
        let trial = only(&case)?;
        let (losses, parts) = (&trial.session.losses, trial.stream.as_ref().expect("a stream"));
        assert_eq!((losses.received, losses.lost), (losses.sent, 0));
        assert!(parts.counted > 0 && parts.counted <= losses.received, "{parts:?}");
        assert!(losses.sent >= ROUND_TRIPS / 2, "blocks are of powers of two: {}", losses.sent);
        assert_eq!(parts.least_published.is_some(), publishers > 1);
        assert_eq!(trial.session.messages, losses.received);
        // Besides the streams there is a round trip for each demand, probe and end of a turn.
        let [(demands, taken), followers @ ..] = &traffic(trial)[..] else { panic!("no leader") };
        let each = losses.sent / u64::from(publishers);
        assert_eq!(*taken, losses.sent + demands * u64::from(publishers));
        assert_eq!(followers, vec![(demands + each, *demands); publishers as usize]);
    }
    Ok(())
}

pub fn lose() -> Result<(), Failed> {
    let case = asked("loses-back", 3).case();
    let trial = only(&case)?;
    let losses = &trial.session.losses;
    assert!(losses.lost > 0, "each of three publishers drops every 150th: {losses:?}");
    assert_eq!(losses.received + losses.lost, losses.sent);
    // Regression: none of them was through, because none had all its messages arrive.
    let parts = trial.stream.as_ref().expect("a stream");
    assert!(parts.least_published.is_some(), "{parts:?}");
    Ok(())
}

/// Regression: the row failed when all of a short stream was lost.
pub fn lose_whole_streams() -> Result<(), Failed> {
    let case = MeasurementRequest { round_trips: 60, ..asked("loses-many", 2) }.case();
    let losses = &only(&case)?.session.losses;
    assert_eq!(losses.received + losses.lost, losses.sent);
    assert!(losses.lost > 0 && losses.received > 0, "each drops every third: {losses:?}");
    Ok(())
}

pub fn repeat() -> Result<(), Failed> {
    asked("repeats", 3).fails("came again")
}

pub fn do_not_hear() -> Result<(), Failed> {
    asked(FORGETS_ONE, 3).fails("no end within")
}
