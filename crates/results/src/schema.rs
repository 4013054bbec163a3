//! The result file described for other programs, as a JSON Schema made from the model.

use schemars::{JsonSchema, schema_for};
use serde_json::{Map, Value, json};

use crate::{Figures, RunResult, SCHEMA};

/// The JSON Schema (draft 2020-12) of a result file.
pub fn schema() -> Value {
    let mut schema = described::<RunResult>();
    schema["title"] = json!(SCHEMA);
    let case = schema["$defs"]["Case"].as_object_mut().expect("a run has cases");
    case.extend(figures_exactly_where_ok());
    schema
}

fn described<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

/// What types alone do not say: a case has figures where its status is `ok`, else a reason.
fn figures_exactly_where_ok() -> Map<String, Value> {
    let figures = described::<Figures>()["required"].clone();
    let mut unmeasured = json!({ "reason": { "type": "string" } });
    for figure in figures.as_array().into_iter().flatten().filter_map(Value::as_str) {
        unmeasured[figure] = json!(false);
    }
    let mut rule = Map::new();
    rule.insert("if".into(), json!({ "properties": { "status": { "const": "ok" } } }));
    rule.insert(
        "then".into(),
        json!({ "required": figures, "properties": { "reason": { "type": "null" } } }),
    );
    rule.insert("else".into(), json!({ "required": ["reason"], "properties": unmeasured }));
    rule
}
