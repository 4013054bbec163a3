//! Sentences: the reasons why the files of two sides do not allow a verdict, and the remedies.

use ipcmark_results::{Obstacle, stats::LEAST_RUNS};

use crate::{plain::plain, units::duration};

/// The reason as a sentence, without its full stop.
pub fn sentence(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::FewRuns { base, new } => format!(
            "{base} {} of the base and {new} of the new side do not show the variation between runs; measure at \
            least {LEAST_RUNS} runs a side, in turns, or use `ipcmark compare --run`",
            runs(*base)
        ),
        Obstacle::SharedRun => "the same run is on both sides; compare different runs".into(),
        Obstacle::Environment { property, values } => {
            let values: Vec<String> = values.iter().map(|value| value_of(value)).collect();
            format!(
                "the runs differ in their {property} ({}), which may be the cause of any difference; measure both \
                sides on one \
                 machine in one state",
                values.join("; ")
            )
        }
        Obstacle::Distances { base, new } => format!(
            "the runs were measured at different distances (a bare round trip took {} in the base and {} in the new \
             side); use `ipcmark compare --run`, which compares at one distance",
            floors(base),
            floors(new)
        ),
    }
}

fn runs(count: usize) -> &'static str {
    if count == 1 { "run" } else { "runs" }
}

fn value_of(value: &str) -> String {
    if value.is_empty() { "unknown".into() } else { plain(value) }
}

fn floors(floors: &[Option<f64>]) -> String {
    let floor = |floor: &Option<f64>| floor.map_or_else(|| "an unknown time".into(), duration);
    let floors: Vec<String> = floors.iter().map(floor).collect();
    floors.join(", ")
}
