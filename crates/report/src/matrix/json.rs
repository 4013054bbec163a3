//! The map for programs.

use serde_json::json;

use super::Matrix;

/// The form of the document.
const SCHEMA: &str = "ipcmark-cores/1";

/// The map as JSON, with a line feed at its end.
pub fn matrix_json(matrix: &Matrix) -> String {
    let cpus = matrix.cpus.iter().map(|cpu| {
        json!({
            "cpu": cpu.id, "node": cpu.node, "package": cpu.package, "core": cpu.core,
            "cache_shared_by": cpu.cache,
        })
    });
    let cells = matrix.cells.values().map(|cell| {
        let parts = cell
            .parts
            .iter()
            .map(|part| json!({ "round_trip_ns": part.round_trip_ns, "share": part.share }));
        json!({
            "cpus": [cell.cpus.0, cell.cpus.1],
            "relation": cell.relation,
            "usual_round_trip_ns": cell.usual_ns(),
            "distances": parts.collect::<Vec<_>>(),
            "reason": cell.reason,
        })
    });
    let document = json!({
        "schema": SCHEMA,
        "what": matrix.what,
        "cpus": cpus.collect::<Vec<_>>(),
        "pairs": cells.collect::<Vec<_>>(),
        "pairs_not_measured": matrix.missing,
        "notes": matrix.notes,
    });
    format!("{document:#}\n")
}
