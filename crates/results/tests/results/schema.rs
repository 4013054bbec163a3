//! The schema accepts every written result, and rejects contradictory ones.

use ipcmark_results::schema;
use serde_json::{Value, json};

use crate::sample;

fn mixed() -> Value {
    serde_json::to_value(sample::mixed()).unwrap()
}

fn is_valid(instance: &Value) -> bool {
    jsonschema::draft202012::new(&schema()).unwrap().is_valid(instance)
}

#[test]
fn the_schema_is_itself_valid() {
    assert!(jsonschema::meta::is_valid(&schema()));
}

#[test]
fn a_result_with_a_case_of_each_status_is_valid() {
    assert!(is_valid(&mixed()));
}

/// Removes each field in turn, at every depth: the schema must reject the result.
#[test]
fn every_field_of_a_measured_case_is_required() {
    let places = places(&mixed()["cases"][0], "/cases/0");
    // Optional fields, which may be absent.
    let optional =
        ["/declared", "/parts_per_message", "/working_set", "/cpu", "/first_round_trip_ns"];
    let own = ["/options/", "/configuration/"];
    let required = places.iter().filter(|place| !own.iter().any(|own| place.contains(own)));
    let required = required.filter(|place| !optional.iter().any(|end| place.ends_with(end)));
    let mut checked = 0;
    for place in required {
        let (parent, field) = place.rsplit_once('/').unwrap();
        let mut result = mixed();
        let parent = result.pointer_mut(parent).unwrap();
        let Some(object) = parent.as_object_mut() else { continue };
        object.remove(field);
        assert!(!is_valid(&result), "without {place}");
        checked += 1;
    }
    assert!(checked > 100, "{checked} fields were removed");
}

/// A pointer to everything within a value.
fn places(value: &Value, at: &str) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()
        }
        _ => Vec::new(),
    };
    let deeper = |(name, value): (String, &Value)| {
        let place = format!("{at}/{name}");
        [vec![place.clone()], places(value, &place)].concat()
    };
    children.into_iter().flat_map(deeper).collect()
}

#[test]
fn a_case_that_was_not_measured_has_no_measurement() {
    for case in 1..4 {
        let mut result = mixed();
        result["cases"][case]["measurement"] = result["cases"][0]["measurement"].clone();
        assert!(!is_valid(&result), "case {case}");
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
        ("/schema", json!("ipcmark/1")),
        ("/cases/0/pattern", json!("ping-pong")),
        ("/cases/0/wait", json!("sleep")),
        ("/cases/0/touch", json!("some")),
        ("/cases/0/load", json!("heavy")),
        ("/cases/0/span", json!("host")),
        ("/cases/0/placement", json!("somewhere")),
        ("/cases/0/status", json!("fine")),
        ("/cases/0/payload_bytes", json!(-64)),
        ("/cases/0/measurement", json!({ "stream": { "trials": [] } })),
        ("/cases/0/measurement/round_trips/trials", json!([])),
        ("/cases/0/measurement/round_trips/trials/0/number", json!(0)),
        ("/cases/0/measurement/round_trips/trials/0/times_ns/mean", json!(null)),
        ("/cases/0/measurement/round_trips/trials/0/times_ns/p50", json!(1.5)),
        ("/cases/0/measurement/round_trips/trials/0/session/carrier/found", json!("pigeon")),
        ("/cases/0/measurement/round_trips/trials/0/session/processes/0/ends/0/role", json!("spy")),
        ("/distances/all/0/floor_round_trip_ns", json!(-1.0)),
        ("/rounds/0/reference", json!("sleep")),
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
    let page = include_str!("../../../../docs/results.md");
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
