//! The runs that a word on the command line selects: those of a commit, a version, a machine, a label, or one
//! run.

use std::collections::BTreeSet;

use glob::Pattern;
use ipcmark_history::Stored;

use super::list::versions;

/// A run's names of one kind.
type Names = fn(&Stored) -> Vec<String>;

/// The prefixes before a colon, each with the function that gives a run's names of that kind.
const KINDS: [(&str, Names); 5] = [
    ("commit", |run| run.commit.iter().cloned().collect()),
    ("version", |run| {
        let numbers = run.libraries.iter().map(|(_, version)| version.clone());
        let own = [run.version.clone()];
        versions(run).into_iter().chain(numbers).chain(own).collect()
    }),
    ("machine", |run| vec![run.machine.clone()]),
    ("label", |run| run.label.iter().cloned().collect()),
    ("run", |run| vec![run.id.clone()]),
];

/// The fewest characters that identify a commit, as in git.
const LEAST_PREFIX: usize = 4;

/// The runs that a word selects. The error is a sentence.
pub(super) fn side<'a>(word: &str, runs: &'a [Stored]) -> Result<Vec<&'a Stored>, String> {
    let (kind, name) = match word.split_once(':') {
        Some((kind, name)) if KINDS.iter().any(|(known, _)| *known == kind) => (Some(kind), name),
        _ => (None, word),
    };
    let kinds = KINDS.iter().filter(|(known, _)| kind.is_none_or(|kind| kind == *known));
    let mut found: Vec<(&str, Vec<&Stored>)> = Vec::new();
    for (kind, names) in kinds {
        let matching = matching(kind, name, *names, runs)?;
        if !matching.is_empty() {
            found.push((kind, matching));
        }
    }
    match found.len() {
        1 => Ok(found.remove(0).1),
        0 => Err(format!(
            "no run has {} '{name}'; `ipcmark history list` shows what they have",
            kind.unwrap_or("a commit, version, machine, label or id")
        )),
        _ => {
            let kinds: Vec<String> =
                found.iter().map(|(kind, _)| format!("{kind}:{name}")).collect();
            Err(format!("'{name}' is ambiguous; write {}", kinds.join(" or ")))
        }
    }
}

fn matching<'a>(
    kind: &str,
    name: &str,
    names: Names,
    runs: &'a [Stored],
) -> Result<Vec<&'a Stored>, String> {
    let pattern = Pattern::new(name).map_err(|e| format!("'{name}' is not a pattern: {e}"))?;
    let is_prefix = kind == "commit" && name.len() >= LEAST_PREFIX;
    let is_meant =
        |own: &String| pattern.matches(own) || own == name || (is_prefix && own.starts_with(name));
    let found: Vec<&Stored> = runs.iter().filter(|run| names(run).iter().any(is_meant)).collect();
    let commits: BTreeSet<String> = found.iter().flat_map(|run| names(run)).collect();
    if is_prefix && commits.len() > 1 && !name.contains('*') && !commits.contains(name) {
        let commits: Vec<String> = commits.into_iter().collect();
        return Err(format!("'{name}' is the start of several commits: {}", commits.join(", ")));
    }
    Ok(match is_prefix && commits.contains(name) {
        true => found.into_iter().filter(|run| names(run).iter().any(|own| own == name)).collect(),
        false => found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(run: i64, commit: &str, label: &str) -> Stored {
        Stored {
            run,
            id: format!("id{run}"),
            started_at: String::new(),
            complete: true,
            machine: "a processor, 2 processors, kvm".into(),
            commit: Some(commit.into()),
            label: Some(label.into()),
            version: "0.1.0".into(),
            libraries: vec![("zeromq".into(), format!("4.3.{run}"))],
            cases: 1,
        }
    }

    fn found(word: &str) -> Result<Vec<i64>, String> {
        let runs = [stored(1, "abcd1", "x"), stored(2, "abcd2", "abcd1"), stored(3, "ffff0", "x")];
        side(word, &runs).map(|found| found.iter().map(|run| run.run).collect())
    }

    #[test]
    fn words_choose_runs() {
        for (word, runs) in [
            ("commit:abcd1", vec![1]),
            ("abcd2", vec![2]),
            ("ffff", vec![3]),
            ("abc*", vec![]),
            ("commit:abc*", vec![1, 2]),
            ("label:x", vec![1, 3]),
            ("x", vec![1, 3]),
            ("zeromq 4.3.2", vec![2]),
            ("4.3.3", vec![3]),
            ("ipcmark 0.1.0", vec![1, 2, 3]),
            ("machine:*kvm", vec![1, 2, 3]),
            ("id2", vec![2]),
        ] {
            assert_eq!(found(word).unwrap_or_default(), runs, "{word}");
        }
    }

    #[test]
    fn unknown_and_ambiguous_words_are_rejected() {
        for (word, said) in [
            ("abcd1", "write commit:abcd1 or label:abcd1"),
            ("abcd", "several commits: abcd1, abcd2"),
            ("nothing", "no run has a commit, version, machine, label or id 'nothing'"),
            ("label:nothing", "no run has label 'nothing'"),
            ("[x", "not a pattern"),
        ] {
            let error = found(word).unwrap_err();
            assert!(error.contains(said), "{word}: {error}");
        }
    }
}
