//! The selection of transports by the user.

use glob::Pattern;
use ipcmark_engine::Registry;

/// The selected transports, and those that were selected by their own name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Indices in the registry, ascending, each once.
    pub transports: Vec<usize>,
    /// Those that were named in full: the run fails if they cannot run.
    pub by_name: Vec<usize>,
}

/// Selects by names, globs, families and `all`; no words select all.
pub(crate) fn select(words: &[String], registry: &Registry) -> Result<Selection, String> {
    let mut selection = Selection { transports: Vec::new(), by_name: Vec::new() };
    let all = ["all".to_owned()];
    for word in if words.is_empty() { &all[..] } else { words } {
        let word = word.trim();
        let matches = matching(word, registry)?;
        // A name that is also a family's (iceoryx2) selects the one transport.
        match matches.iter().find(|at| registry[**at].definition().name == word) {
            Some(at) => {
                selection.by_name.push(*at);
                selection.transports.push(*at);
            }
            None => selection.transports.extend(matches),
        }
    }
    selection.transports.sort();
    selection.transports.dedup();
    Ok(selection)
}

/// A name, a glob, a family or `all`.
pub(crate) struct Word<'w> {
    text: &'w str,
    pattern: Pattern,
}

impl<'w> Word<'w> {
    pub(crate) fn new(text: &'w str) -> Result<Self, String> {
        let text = text.trim();
        let pattern = Pattern::new(text).map_err(|e| format!("'{text}' is not a glob: {e}"))?;
        Ok(Self { text, pattern })
    }

    /// True if it selects the transport with this name, of this family.
    pub(crate) fn selects(&self, name: &str, family: &str) -> bool {
        self.text == "all" || self.text == family || self.pattern.matches(name)
    }
}

/// The indices of the transports that a name, a glob, a family or `all` selects.
pub(crate) fn matching(word: &str, registry: &Registry) -> Result<Vec<usize>, String> {
    let definitions = || registry.iter().map(|candidate| candidate.definition()).enumerate();
    let word = Word::new(word)?;
    let found: Vec<usize> =
        definitions().filter(|(_, d)| word.selects(&d.name, &d.family)).map(|(at, _)| at).collect();
    if found.is_empty() {
        return Err(unknown(
            word.text,
            definitions().map(|(_, definition)| definition.name.as_ref()),
        ));
    }
    Ok(found)
}

fn unknown<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    let lower = word.to_lowercase();
    let names: Vec<&str> = names.collect();
    let mut near: Vec<(f64, &str)> =
        names.iter().map(|name| (strsim::jaro_winkler(&lower, name), *name)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<&str> =
        near.iter().take(3).filter(|(score, _)| *score > 0.7).map(|(_, name)| *name).collect();
    // One letter added, missing, wrong or transposed.
    let is_slip = |name: &&&str| strsim::osa_distance(&lower, name) <= 1;
    let slips: Vec<&&str> = names.iter().filter(is_slip).collect();
    match (&slips[..], near.is_empty()) {
        ([one], _) => format!("there is no transport '{word}'; did you mean '{one}'?"),
        (_, true) => format!("there is no transport '{word}'; 'ipcmark list' shows them all"),
        _ => format!("there is no transport '{word}'; the nearest are {}", near.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select_words(words: &[&str]) -> Result<Selection, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        select(&words, &ipcmark_registry::native())
    }

    #[test]
    fn names_globs_families_and_all_choose() {
        let everything = select_words(&[]).unwrap();
        assert_eq!(everything, select_words(&["all"]).unwrap());
        assert!(everything.by_name.is_empty());
        assert_eq!(select_words(&["os"]).unwrap().transports, everything.transports);
        let named = select_words(&["null", "nul*"]).unwrap();
        assert_eq!((named.transports, named.by_name), (vec![0], vec![0]));
    }

    #[test]
    fn an_unknown_name_brings_the_nearest() {
        assert!(select_words(&["nul"]).unwrap_err().contains("null"));
        assert!(select_words(&["TCP"]).unwrap_err().contains("did you mean 'tcp'?"));
        assert!(select_words(&["tpc"]).unwrap_err().contains("did you mean 'tcp'?"));
        assert!(select_words(&["shm"]).unwrap_err().contains("the nearest are"));
        assert!(select_words(&["zzzz"]).unwrap_err().contains("ipcmark list"));
        assert!(select_words(&["[x"]).unwrap_err().contains("not a glob"));
    }
}
