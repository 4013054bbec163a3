//! The text below a group: the caveats of its rows, and their differences.

use ipcmark_results::{Group, caveats};

use crate::{caveats::sentence, fairness, names};

/// The caveats of the rows of a group, each sentence once, after the names of its rows; then their
/// differences.
pub fn of(group: &Group) -> Vec<String> {
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for row in &group.rows {
        for sentence in caveats(row).iter().map(sentence) {
            match notes.iter_mut().find(|(known, _)| *known == sentence) {
                Some((_, rows)) => rows.push(names::row(row)),
                None => notes.push((sentence, vec![names::row(row)])),
            }
        }
    }
    let all: Vec<String> = group.rows.iter().map(names::row).collect();
    let caveats = notes.iter().map(|(sentence, rows)| format!("{}: {sentence}", among(rows, &all)));
    caveats.chain(fairness::sentences(group)).collect()
}

/// If at most this many rows are left out, a long list of rows is given as all rows but these.
const MOST_LEFT_OUT: usize = 3;

/// Some rows of a table as text: their names, or all rows, or all but a few.
fn among(names: &[String], all: &[String]) -> String {
    let others: Vec<&str> =
        all.iter().filter(|name| !names.contains(name)).map(String::as_str).collect();
    match others.len() {
        0 if all.len() > 1 => "all rows".into(),
        1..=MOST_LEFT_OUT if names.len() > 2 * MOST_LEFT_OUT => {
            format!("all rows but {}", others.join(", "))
        }
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_described_by_the_few_exceptions() {
        let all: Vec<String> = (0..10).map(|number| format!("row{number}")).collect();
        assert_eq!(among(&all, &all), "all rows");
        assert_eq!(among(&all[..8], &all), "all rows but row8, row9");
        assert_eq!(among(&all[..2], &all), "row0, row1");
        assert_eq!(among(&all[..1], &all[..1]), "row0", "the only row has a name");
        assert_eq!(among(&all[..2], &all[..3]), "row0, row1", "names are shorter");
    }
}
