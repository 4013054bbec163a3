//! Facts about the machine, as `ipcmark doctor` finds them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A setting or a property of the machine that can show in the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineFact {
    /// Its name, the same in every result.
    pub name: String,
    /// What it is on this machine, in a few words.
    pub value: String,
    /// What it does to the figures; absent where it does nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<FactEffect>,
}

/// What a fact does to the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactEffect {
    /// How much it matters: `note`, `reservation` or `not fit`.
    pub weight: String,
    /// The rows that it bears on: `spinning rows`, `sleeping rows`, `large messages`, `tails`.
    pub rows: Vec<String>,
    /// What it does, in a sentence.
    pub sentence: String,
    /// The command that helps, where one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}
