//! The groups of a result, once for each distance if its trials were placed at each in turn.

use ipcmark_results::{Group, PlacementPolicy, RunResult, groups, groups_at};

use crate::units::duration;

/// The groups of a result at a distance.
pub struct Level<'a> {
    /// The distance in words, if there are several: `at 70 ns a bare round trip`.
    pub heading: Option<String>,
    /// The groups there.
    pub groups: Vec<Group<'a>>,
}

impl Level<'_> {
    /// A title of one of its groups.
    pub fn titled(&self, title: String) -> String {
        match &self.heading {
            Some(heading) => format!("{title}, {heading}"),
            None => title,
        }
    }
}

/// The groups at the reference distance; at each distance, the nearest first, if the trials had a placement for each.
pub fn levels(result: &RunResult) -> Vec<Level<'_>> {
    let mut placements = result.cases.iter().map(|case| &case.identity.placement);
    let in_turn = placements.any(|placement| *placement == PlacementPolicy::All);
    let all = result.distances.iter().flat_map(|distances| &distances.all).enumerate();
    let together = all.filter(|(_, distance)| in_turn && !distance.apart && distance.share > 0.0);
    let levels: Vec<Level<'_>> = together
        .map(|(at, distance)| Level {
            heading: Some(format!(
                "at {} a bare round trip",
                duration(distance.floor_round_trip_ns)
            )),
            groups: groups_at(result, Some(at as u32)),
        })
        .collect();
    match levels.len() {
        0 | 1 => vec![Level { heading: None, groups: groups(result) }],
        _ => levels,
    }
}
