//! The result file described for other programs, as a JSON Schema made from the model.

use schemars::{Schema, schema_for};
use serde_json::Value;

use crate::RunResult;

/// The JSON Schema (2020-12) of a result file.
pub fn schema() -> Value {
    Schema::from(schema_for!(RunResult)).to_value()
}
