//! Entries: one a trial, for the formats that show every trial separately, as other benchmarks do. The text around them
//! is defined once here.

use std::{cmp::Reverse, collections::BTreeMap};

use ipcmark_results::{Case, Identity, Measurement, Outcome, RunResult, Trial, caveats_of};

use crate::{caveats::sentence, names, plain::plain, remarks};

/// One trial of a case, or a case without a trial to show.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// The case.
    pub case: &'a Case,
    /// The trial.
    pub trial: Option<&'a Trial>,
}

/// The reason why an entry has no figures.
pub struct Absence {
    /// One word or two for a cell.
    pub word: &'static str,
    /// The sentence, which begins with that word.
    pub sentence: String,
}

/// All entries of a result: of each case its trials.
pub fn entries(result: &RunResult) -> Vec<Entry<'_>> {
    result.cases.iter().flat_map(entries_of).collect()
}

fn entries_of(case: &Case) -> Vec<Entry<'_>> {
    match case.trials() {
        [] => vec![Entry { case, trial: None }],
        trials => trials.iter().map(|trial| Entry { case, trial: Some(trial) }).collect(),
    }
}

impl<'a> Entry<'a> {
    /// The identity of its case.
    pub fn identity(&self) -> &'a Identity {
        &self.case.identity
    }

    /// The trial, or the reason why there is none to show: other benchmarks show round trips.
    pub fn figures(&self) -> Result<&'a Trial, Absence> {
        let makes_round_trips = matches!(self.case.measurement(), Some(Measurement::RoundTrips(_)));
        let is_open = self.identity().load.is_open();
        let trial = self.trial.filter(|_| makes_round_trips && !is_open);
        trial.ok_or_else(|| match &self.case.outcome {
            Outcome::Ok { .. } if is_open && makes_round_trips => absence(
                "not shown",
                "messages at given times have response times, of which half means nothing",
            ),
            Outcome::Ok { .. } => {
                let pattern = self.identity().pattern;
                absence("not shown", &format!("the pattern {pattern} measures no round trips"))
            }
            outcome => absence(outcome.status().as_str(), &remarks::reason(self.case)),
        })
    }

    /// The sentences to show beside its figures, or instead of them.
    pub fn remarks(&self) -> Vec<String> {
        match self.figures() {
            Ok(trial) => {
                let caveats = caveats_of(self.identity().wait, std::slice::from_ref(trial));
                caveats.iter().map(sentence).collect()
            }
            Err(absence) => vec![absence.sentence],
        }
    }

    /// Number of its trial; a case without trials counts as the first.
    fn number(&self) -> u32 {
        self.trial.map_or(1, |trial| trial.number)
    }
}

fn absence(word: &'static str, reason: &str) -> Absence {
    Absence { word, sentence: format!("{word}: {reason}") }
}

/// The remarks of these entries, each sentence once, after the names of its entries.
pub fn remarks(entries: &[Entry], name: impl Fn(&Entry) -> String) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for entry in entries {
        for sentence in entry.remarks() {
            let name = name(entry);
            match said.iter_mut().find(|(known, _)| *known == sentence) {
                Some((_, names)) => names.push(name),
                None => said.push((sentence, vec![name])),
            }
        }
    }
    said.into_iter().map(|(sentence, names)| format!("{}: {sentence}", names.join(", "))).collect()
}

/// The entries that differ in their payloads only, smallest first.
pub type Section<'a> = Vec<Entry<'a>>;

/// All entries, in sections ordered by `rank` and then by name.
pub fn sections(result: &RunResult, rank: fn(&str) -> usize) -> Vec<Section<'_>> {
    let mut found: BTreeMap<_, Section> = BTreeMap::new();
    for entry in entries(result) {
        let identity = entry.identity();
        let (transport, options) = (&identity.transport, &identity.options);
        let key = (rank(transport), transport, options, circumstances(identity), entry.number());
        found.entry(key).or_default().push(entry);
    }
    let mut sections: Vec<Section> = found.into_values().collect();
    for section in &mut sections {
        section.sort_by_key(|entry| entry.identity().payload_bytes);
    }
    sections
}

/// The properties of a case beyond its transport, options and payload, as a sort key.
fn circumstances(identity: &Identity) -> impl Ord + use<> {
    (conditions(identity), identity.wait)
}

/// The properties that the rows of one table share; such rows name their waits.
pub fn conditions(identity: &Identity) -> impl Ord + use<> {
    let followers = (identity.subscribers, identity.silent_subscribers);
    let (span, touch) = (Reverse(identity.span), identity.touch);
    let ends = identity.between.clone();
    (identity.pattern, span, followers, identity.pairs, touch, identity.load, ends)
}

/// An entry as text: `pipe, wait spin, touch head`.
pub fn subject(result: &RunResult, entry: &Entry) -> String {
    let identity = entry.identity();
    format!("{}, {}{}", names::transport(identity), setting(identity), trial(result, entry))
}

/// The wait, the touch, and everything unusual, as text.
fn setting(identity: &Identity) -> String {
    format!("wait {}, {}", identity.wait, conditions_in_words(identity))
}

/// The touch and everything unusual, as text.
pub fn conditions_in_words(identity: &Identity) -> String {
    let mut parts = vec![format!("touch {}", identity.touch)];
    let Identity { pattern, subscribers, silent_subscribers, .. } = *identity;
    parts.extend(names::followers(pattern, subscribers, silent_subscribers));
    parts.extend(names::pairs(identity.pairs));
    parts.extend(names::load(identity.load));
    parts.extend(names::span(identity.span).map(Into::into));
    parts.extend(identity.between.as_ref().map(names::between));
    parts.join(", ")
}

/// The name of a row in a table with several waits: the name in another benchmark according to `names` (ours, and
/// theirs), with the settings that are not its defaults, its wait, and its trial.
pub fn row(result: &RunResult, entry: &Entry, names: &[(&str, &str)]) -> String {
    let identity = entry.identity();
    let name = names::transport(identity);
    let name = match names.iter().find(|(ours, _)| *ours == identity.transport) {
        Some((ours, theirs)) => name.replacen(ours, theirs, 1),
        None => name,
    };
    format!("{name} · {}{}", identity.wait, trial(result, entry))
}

/// The index of a transport among the names of another benchmark; transports without a name there come last.
pub fn rank(transport: &str, names: &[(&str, &str)]) -> usize {
    names.iter().position(|(ours, _)| *ours == transport).unwrap_or(names.len())
}

/// The number of the trial, if there are several.
fn trial(result: &RunResult, entry: &Entry) -> String {
    let is_repeated = entries(result).iter().any(|entry| entry.number() > 1);
    match entry.trial.filter(|_| is_repeated) {
        Some(trial) => format!(", trial {}", trial.number),
        None => String::new(),
    }
}

/// The notes of the whole result, one a line, each after `mark`; empty if there are none.
pub fn notes(result: &RunResult, mark: &str) -> String {
    let notes = result.notes.iter().map(|note| plain(note));
    let lines = remarks::incomplete(result).into_iter().chain(notes);
    let text: String = lines.map(|line| format!("{mark}{line}\n")).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Half of a round trip in µs.
pub fn half_us(times_ns: f64) -> f64 {
    times_ns / 2e3
}
