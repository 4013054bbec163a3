//! The schema takes what is written, and nothing that contradicts itself.

mod sample;

use ipcmark_results::schema;
use serde_json::{Value, json};

fn mixed() -> Value {
    serde_json::to_value(sample::mixed()).unwrap()
}

fn is_valid(instance: &Value) -> bool {
    jsonschema::draft202012::new(&schema()).unwrap().is_valid(instance)
}

const FIGURES: [&str; 13] = [
    "round_trips",
    "round_trip_ns",
    "floor_round_trip_ns",
    "messages_per_second",
    "bytes_per_second",
    "lost",
    "lost_wait_ns",
    "cpu_ns_per_message",
    "context_switches",
    "peak_memory_bytes",
    "setup_ns",
    "placement",
    "histogram",
];

#[test]
fn the_schema_is_itself_valid() {
    assert!(jsonschema::meta::is_valid(&schema()));
}

#[test]
fn a_result_with_a_case_of_each_status_is_valid() {
    assert!(is_valid(&mixed()));
}

#[test]
fn a_measured_case_has_every_figure() {
    for figure in FIGURES {
        let mut result = mixed();
        assert!(result["cases"][0].as_object_mut().unwrap().remove(figure).is_some(), "{figure}");
        assert!(!is_valid(&result), "without {figure}");
    }
}

#[test]
fn a_case_that_was_not_measured_has_no_figure() {
    for (case, figure) in (1..4).flat_map(|case| FIGURES.map(|figure| (case, figure))) {
        let mut result = mixed();
        result["cases"][case][figure] = result["cases"][0][figure].clone();
        assert!(!is_valid(&result), "case {case} with {figure}");
    }
}

#[test]
fn a_reason_stands_exactly_where_a_case_was_not_measured() {
    let mut result = mixed();
    result["cases"][1].as_object_mut().unwrap().remove("reason");
    assert!(!is_valid(&result));
    let mut result = mixed();
    result["cases"][0]["reason"] = json!("none");
    assert!(!is_valid(&result));
}

#[test]
fn words_and_figures_outside_the_model_are_refused() {
    for (pointer, value) in [
        ("/schema", json!("ipcmark/2")),
        ("/cases/0/pattern", json!("ping-pong")),
        ("/cases/0/wait", json!("sleep")),
        ("/cases/0/touch", json!("some")),
        ("/cases/0/span", json!("host")),
        ("/cases/0/status", json!("fine")),
        ("/cases/0/trial", json!(0)),
        ("/cases/0/payload_bytes", json!(-64)),
        ("/cases/0/round_trip_ns/mean", json!(null)),
        ("/cases/0/round_trip_ns/p50", json!(1.5)),
        ("/floor/round_trip_ns", json!(-1.0)),
    ] {
        let mut result = mixed();
        *result.pointer_mut(pointer).unwrap() = value;
        assert!(!is_valid(&result), "{pointer}");
    }
}

#[test]
fn a_later_field_does_not_make_a_file_invalid() {
    let mut result = mixed();
    result["later"] = json!(1);
    result["cases"][0]["later"] = json!({ "x": 1 });
    assert!(is_valid(&result));
}

#[test]
fn the_documents_name_every_field() {
    let page = include_str!("../../../docs/results.md");
    let mut names = Vec::new();
    collect_fields(&schema(), &mut names);
    assert!(names.len() > 50, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "docs/results.md does not name `{name}`");
    }
}

/// The names of all properties, at every depth.
fn collect_fields(schema: &Value, names: &mut Vec<String>) {
    let Some(object) = schema.as_object() else { return };
    let fields = object.get("properties").and_then(Value::as_object);
    names.extend(fields.into_iter().flatten().map(|(name, _)| name.clone()));
    object.values().for_each(|value| collect_fields(value, names));
}
