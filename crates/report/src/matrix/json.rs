//! The map of processors for programs.

use serde_json::json;

use super::Matrix;

/// The schema of the document.
const SCHEMA: &str = "ipcmark-cores/1";

/// A processor of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixCpu {
    /// Its number.
    pub id: u32,
    /// Its memory node.
    pub node: Option<u32>,
    /// Its package.
    pub package: i64,
    /// Its core, unique within the package.
    pub core: i64,
    /// The processors that share its last-level cache, as the system writes the list.
    pub cache: String,
}

/// The map of these processors as JSON, with a line feed at its end. `what` describes what was exchanged.
pub fn matrix_json(matrix: &Matrix, what: &str, cpus: &[MatrixCpu]) -> String {
    let cpus = cpus.iter().map(|cpu| {
        json!({
            "cpu": cpu.id, "node": cpu.node, "package": cpu.package, "core": cpu.core,
            "cache_shared_by": cpu.cache,
        })
    });
    let cells = matrix.cells.values().map(|cell| {
        let parts = cell
            .parts
            .iter()
            .map(|part| json!({ "round_trip_ns": part.time_ns, "share": part.share }));
        json!({
            "cpus": [cell.ends.0, cell.ends.1],
            "relation": cell.relation,
            "usual_round_trip_ns": cell.usual_ns(),
            "distances": parts.collect::<Vec<_>>(),
            "reason": cell.reason,
        })
    });
    let document = json!({
        "schema": SCHEMA,
        "what": what,
        "cpus": cpus.collect::<Vec<_>>(),
        "pairs": cells.collect::<Vec<_>>(),
        "pairs_not_measured": matrix.missing,
        "notes": matrix.notes,
    });
    format!("{document:#}\n")
}
