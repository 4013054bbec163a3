//! A comparison for programs.

use ipcmark_results::{
    Change, Identity, PlacementPolicy, Presence, RowPair, UnpairedRow, stats::Interval,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{ComparedSides, counts, needed};
use crate::{names, obstacles};

/// The schema of the document.
const SCHEMA: &str = "ipcmark-compare/1";

/// The comparison as JSON, with a line feed at its end.
pub fn comparison_json(sides: &ComparedSides) -> String {
    let change = sides.change;
    let [slower, faster, same, cannot_tell] = counts(change);
    let document = json!({
        "schema": SCHEMA,
        "base": sides.base,
        "new": sides.new,
        "paired": change.is_paired,
        "floor_round_trip_ns": change.floor_ns,
        "notes": sides.warnings(),
        "obstacles": change.obstacles.iter().map(obstacles::sentence).collect::<Vec<_>>(),
        "differences": change.differences.iter().map(|found| json!({
            "setting": found.setting, "base": found.base, "new": found.new,
        })).collect::<Vec<_>>(),
        "rows": change.pairs().map(|pair| row(change, pair)).collect::<Vec<_>>(),
        "not_compared": change.unpaired.iter().map(unpaired).collect::<Vec<_>>(),
        "slower": slower,
        "faster": faster,
        "same": same,
        "cannot_tell": cannot_tell,
    });
    format!("{document:#}\n")
}

fn row(change: &Change, pair: &RowPair) -> Value {
    let comparison = &pair.comparison;
    let mut row = identity(&pair.base.case.identity);
    row["base"] = side(&pair.base.case.identity, pair.base_ns);
    row["new"] = side(&pair.new.case.identity, pair.new_ns);
    row["ratio"] = json!(pair.ratio());
    row["ratio_interval"] = json!(comparison.ratio.map(bounds));
    row["p"] = json!(comparison.p);
    row["verdict"] = json!(names::verdict(comparison));
    row["pairs"] = json!(comparison.pairs);
    row["pairs_needed"] = json!(needed(change, comparison));
    row
}

/// The 95 % confidence interval of the ratio.
fn bounds(ratio: Interval) -> Value {
    json!({ "low": ratio.low, "high": ratio.high })
}

/// The properties of a row that are the same on both sides.
fn identity(identity: &Identity) -> Value {
    json!({
        "transport": identity.transport,
        "pattern": identity.pattern.to_string(),
        "payload_bytes": identity.payload_bytes,
        "wait": identity.wait.to_string(),
        "touch": identity.touch,
        "load": identity.load,
        "span": identity.span.to_string(),
        "subscribers": identity.subscribers,
        "silent_subscribers": identity.silent_subscribers,
        "pairs_at_once": identity.pairs,
        "between": identity.between,
    })
}

/// The properties of a row on one side.
#[derive(Serialize)]
struct RowSide<'a> {
    location_ns: Option<f64>,
    options: &'a std::collections::BTreeMap<String, String>,
    library_version: Option<&'a str>,
    placement: &'a PlacementPolicy,
}

fn side(identity: &Identity, location_ns: Option<f64>) -> Value {
    let Identity { options, library_version, placement, .. } = identity;
    json!(RowSide { location_ns, options, library_version: library_version.as_deref(), placement })
}

fn unpaired(unpaired: &UnpairedRow) -> Value {
    let mut row = identity(unpaired.identity);
    row["base"] = presence(&unpaired.base);
    row["new"] = presence(&unpaired.new);
    row
}

fn presence(presence: &Presence) -> Value {
    match presence {
        Presence::Measured => json!({ "status": "ok" }),
        Presence::Unmeasured(case) => {
            json!({ "status": case.status().as_str(), "reason": case.reason() })
        }
        Presence::Absent => json!({ "status": "absent" }),
    }
}
