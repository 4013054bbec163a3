//! The definition of a fact, and of its effect on the figures.

use std::{borrow::Cow, fmt};

use super::system::System;

/// The longest value of a fact, in characters.
const LONGEST_VALUE: usize = 300;

/// A fact: how to read it, and its effect on the figures.
#[derive(Debug)]
pub struct Fact {
    /// Its name, the same in every output.
    pub name: &'static str,
    /// The place where it is read.
    pub source: &'static str,
    /// Reads and judges it; `None` if the system does not report it.
    pub examine: fn(&System) -> Option<Examined>,
}

/// The examined value of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The fact itself, in a few words.
    pub value: String,
    /// Its effect on the figures, if any.
    pub effect: Option<Effect>,
}

/// A fact of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the fact.
    pub name: &'static str,
    /// The place where it was read.
    pub source: &'static str,
    /// The fact itself, in a few words.
    pub value: String,
    /// Its effect on the figures, if any.
    pub effect: Option<Effect>,
}

/// The effect of a fact on the figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The severity.
    pub weight: Weight,
    /// The questions that it affects.
    pub questions: &'static [Question],
    /// The effect, in a sentence without its full stop.
    pub sentence: Cow<'static, str>,
    /// The remedy, if a command helps.
    pub remedy: Option<Remedy>,
}

/// A command that helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The command as it is typed.
    pub command: Cow<'static, str>,
    /// The cost or risk of the command.
    pub price: Cow<'static, str>,
}

/// The severity of an effect, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Relevant when figures of two machines are compared.
    Note,
    /// The figures are valid with a reservation.
    Reservation,
    /// The question cannot be answered on this machine as it is.
    Unfit,
}

/// The kinds of rows that a user asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Rows with `spin`.
    Spinning,
    /// Rows with `block`, and with `hybrid` while it sleeps.
    Sleeping,
    /// Rows of large messages.
    Large,
    /// High percentiles and the maximum of any row.
    Tails,
}

impl Question {
    /// Every question.
    pub const ALL: [Question; 4] =
        [Question::Spinning, Question::Sleeping, Question::Large, Question::Tails];
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Question::Spinning => "spinning rows",
            Question::Sleeping => "sleeping rows",
            Question::Large => "large messages",
            Question::Tails => "tails",
        })
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Weight::Note => "note",
            Weight::Reservation => "reservation",
            Weight::Unfit => "not fit",
        })
    }
}

impl Examined {
    /// A fact without an effect.
    pub fn harmless(value: impl Into<String>) -> Self {
        Self { value: value.into(), effect: None }
    }

    /// The same fact with an effect, if there is one.
    #[must_use]
    pub fn with(self, effect: Option<Effect>) -> Self {
        Self { effect, ..self }
    }
}

impl Effect {
    /// An effect without a remedy.
    pub fn new(
        weight: Weight,
        questions: &'static [Question],
        sentence: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { weight, questions, sentence: sentence.into(), remedy: None }
    }

    /// The same effect with the command that helps, and its cost or risk.
    #[must_use]
    pub fn remedy(
        self,
        command: impl Into<Cow<'static, str>>,
        price: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { remedy: Some(Remedy { command: command.into(), price: price.into() }), ..self }
    }
}

impl Fact {
    /// Reads and judges it; `None` if the system does not report it.
    pub fn finding(&self, system: &System) -> Option<Finding> {
        let Examined { value, effect } = (self.examine)(system)?;
        Some(Finding { name: self.name, source: self.source, value: short(&value), effect })
    }
}

/// One line of limited length, whatever the files contain.
fn short(value: &str) -> String {
    let words: Vec<&str> = value.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
