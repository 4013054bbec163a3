//! The JSON Schema of the result file, for other programs, generated from the model.

use schemars::schema_for;
use serde_json::{Value, json};

use crate::model::{RunResult, SCHEMA};

/// The JSON Schema (draft 2020-12) of a result file.
pub fn schema() -> Value {
    let mut schema = schema_for!(RunResult).to_value();
    schema["title"] = json!(SCHEMA);
    schema
}
