//! The verdict: the questions that this machine can answer.

use ipcmark_machine::facts::{Finding, Question, Weight};

/// The most causes that are named for each question; the full list follows below.
const MOST_CAUSES: usize = 3;

/// The machine's fitness for each question.
pub(super) struct Fitness {
    answers: Vec<QuestionVerdict>,
}

/// The machine's fitness for one question.
pub(super) struct QuestionVerdict {
    /// The question.
    pub question: Question,
    /// The heaviest effect on it; a note if there is none.
    pub weight: Weight,
    /// The facts that have an effect of this weight.
    pub causes: Vec<&'static str>,
}

impl Fitness {
    /// The verdict from all findings.
    pub(super) fn of(findings: &[Finding]) -> Self {
        Self {
            answers: Question::ALL.map(|question| QuestionVerdict::of(question, findings)).into(),
        }
    }

    /// An answer to each question.
    pub(super) fn answers(&self) -> &[QuestionVerdict] {
        &self.answers
    }

    /// The heaviest answer.
    pub(super) fn weight(&self) -> Weight {
        self.answers.iter().map(|answer| answer.weight).max().unwrap_or(Weight::Note)
    }

    /// The verdict in one sentence.
    pub(super) fn sentence(&self) -> String {
        let groups = [
            (Weight::Unfit, "not fit for "),
            (Weight::Reservation, "fit with reservations for "),
            (Weight::Note, "fit for "),
        ];
        let parts = groups.into_iter().filter_map(|(weight, words)| self.part(weight, words));
        format!("{}.", parts.collect::<Vec<_>>().join("; "))
    }

    /// `fit with reservations for spinning rows and tails (distances, hiccups)`: the questions of one weight, grouped
    /// by equal causes.
    fn part(&self, weight: Weight, words: &str) -> Option<String> {
        let mut groups: Vec<(Vec<String>, &[&str])> = Vec::new();
        for answer in self.answers.iter().filter(|answer| answer.weight == weight) {
            match groups.iter_mut().find(|(_, causes)| *causes == answer.causes) {
                Some((questions, _)) => questions.push(answer.question.to_string()),
                None => groups.push((vec![answer.question.to_string()], &answer.causes)),
            }
        }
        let groups: Vec<String> = groups
            .iter()
            .map(|(questions, causes)| format!("{}{}", listed(questions), named(causes)))
            .collect();
        (!groups.is_empty()).then(|| format!("{words}{}", listed(&groups)))
    }
}

impl QuestionVerdict {
    fn of(question: Question, findings: &[Finding]) -> Self {
        let effects =
            findings.iter().filter_map(|finding| Some((finding.name, finding.effect.as_ref()?)));
        let on_it: Vec<(&str, Weight)> = effects
            .filter(|(_, effect)| effect.questions.contains(&question))
            .map(|(name, effect)| (name, effect.weight))
            .collect();
        let weight = on_it.iter().map(|(_, weight)| *weight).max().unwrap_or(Weight::Note);
        let causes = on_it.into_iter().filter(|(_, of)| *of == weight && weight > Weight::Note);
        Self { question, weight, causes: causes.map(|(name, _)| name).collect() }
    }
}

/// Formats as `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn named(causes: &[&str]) -> String {
    match causes.len() {
        0 => String::new(),
        count if count > MOST_CAUSES => {
            format!(" ({}, {} more)", causes[..MOST_CAUSES].join(", "), count - MOST_CAUSES)
        }
        _ => format!(" ({})", causes.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use ipcmark_machine::facts::Effect;

    use super::*;

    fn finding(name: &'static str, weight: Weight, questions: &'static [Question]) -> Finding {
        let effect = Some(Effect::new(weight, questions, "it does harm"));
        Finding { name, source: "", value: String::new(), effect }
    }

    #[test]
    fn without_effects_everything_can_be_measured() {
        let note = finding("a", Weight::Note, &Question::ALL);
        for findings in [vec![], vec![note]] {
            let verdict = Fitness::of(&findings);
            assert_eq!(verdict.weight(), Weight::Note);
            assert_eq!(
                verdict.sentence(),
                "fit for spinning rows, sleeping rows, large messages and tails."
            );
        }
    }

    #[test]
    fn the_verdict_on_a_question_is_its_most_severe_effect() {
        let verdict = Fitness::of(&[
            finding("distances", Weight::Reservation, &[Question::Spinning, Question::Tails]),
            finding("halting", Weight::Reservation, &[Question::Sleeping, Question::Tails]),
            finding("hiccups", Weight::Unfit, &[Question::Tails]),
            finding("pages", Weight::Note, &[Question::Large]),
        ]);
        assert_eq!(verdict.weight(), Weight::Unfit);
        assert_eq!(
            verdict.sentence(),
            "not fit for tails (hiccups); fit with reservations for spinning rows (distances) and \
             sleeping rows (halting); fit for large messages."
        );
    }

    #[test]
    fn questions_with_the_same_causes_share_a_line() {
        let of =
            |name| finding(name, Weight::Reservation, &[Question::Spinning, Question::Sleeping]);
        let verdict = Fitness::of(&["a", "b", "c", "d", "e"].map(of));
        assert_eq!(verdict.weight(), Weight::Reservation);
        assert_eq!(
            verdict.sentence(),
            "fit with reservations for spinning rows and sleeping rows (a, b, c, 2 \
             more); fit for large messages and tails."
        );
    }
}
