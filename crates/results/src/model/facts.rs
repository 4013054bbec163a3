//! Facts about the machine, as `ipcmark doctor` finds them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A setting or a property of the machine that can affect the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineFact {
    /// Its name, the same in every result.
    pub name: String,
    /// Its value on this machine, in a few words.
    pub value: String,
    /// Its effect on the figures; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<FactEffect>,
}

/// The effect of a fact on the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactEffect {
    /// The severity: `note`, `reservation` or `not fit`.
    pub weight: String,
    /// The affected rows: `spinning rows`, `sleeping rows`, `large messages`, `tails`.
    pub rows: Vec<String>,
    /// The effect, in a sentence.
    pub sentence: String,
    /// The command that fixes it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}
