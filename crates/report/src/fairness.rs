//! Inequalities between rows of a group, as sentences.

use ipcmark_results::{Group, Inequality, inequalities};

use crate::{names, units::size};

/// The largest number of rows that are named in one sentence.
const MOST_NAMED: usize = 6;

/// The differences between the rows of a group that users would expect to be equal.
pub fn sentences(group: &Group) -> Vec<String> {
    let name = |at: &usize| names::row(&group.rows[*at]);
    let named = |places: &[usize]| {
        let mut names: Vec<String> = places.iter().take(MOST_NAMED).map(name).collect();
        if let left @ 1.. = places.len().saturating_sub(MOST_NAMED) {
            names.push(format!("{left} more"));
        }
        names.join(", ")
    };
    let sentence = |difference| match difference {
        Inequality::Queues(held) => queues(&held, name),
        Inequality::Delays { at_once, waiting } => format!(
            "{} delay small messages (Nagle), {} send them at once (TCP_NODELAY)",
            named(&waiting),
            named(&at_once)
        ),
    };
    inequalities(group).into_iter().map(sentence).collect()
}

/// The rows with the smallest queues and those with the largest.
fn queues(held: &[(usize, u64)], name: impl Fn(&usize) -> String) -> String {
    let text = |(at, bytes): &(usize, u64)| format!("{} {}", name(at), size(*bytes));
    let shown: Vec<String> = match held.len() {
        0..=MOST_NAMED => held.iter().map(text).collect(),
        count => {
            let (least, most) = (held[..3].iter(), held[count - 3..].iter());
            least.map(text).chain(["…".into()]).chain(most.map(text)).collect()
        }
    };
    format!("the kernel's queues differ: {}", shown.join(", "))
}
