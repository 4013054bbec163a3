//! Checks that no two source files of the repository import each other, directly or through others, in Rust, C
//! and C++. `make lint` runs it.

mod c;
mod graph;
mod rust;
mod sources;

use std::{env, path::PathBuf, process::ExitCode};

use graph::{Graph, ImportCycle};
use sources::Sources;

fn main() -> ExitCode {
    let root = env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let sources = match Sources::read(&root) {
        Ok(sources) => sources,
        Err(error) => {
            eprintln!("imports: cannot read the sources under {}: {error}", root.display());
            return ExitCode::FAILURE;
        }
    };
    let graph = c::imports(&sources).and(rust::imports(&sources));
    let findings = findings(&graph);
    for finding in &findings {
        eprintln!("imports: {finding}");
    }
    if !findings.is_empty() {
        return ExitCode::FAILURE;
    }
    println!("imports: {graph}, in no cycle");
    ExitCode::SUCCESS
}

/// The cycles, or an error if no import was found.
fn findings(graph: &Graph) -> Vec<String> {
    if graph.is_empty() {
        return vec!["no file imports another: this is not the root of the repository".into()];
    }
    graph.cycles().iter().map(ImportCycle::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        for (from, to) in edges {
            graph.add(from, to, "name");
        }
        graph
    }

    #[test]
    fn a_cycle_is_found() {
        let graph =
            graph(&[("crates/a/x.rs", "crates/a/y.rs"), ("crates/a/y.rs", "crates/a/x.rs")]);
        assert_eq!(findings(&graph).len(), 1);
    }

    #[test]
    fn a_folder_without_sources_is_an_error() {
        assert_eq!(findings(&Graph::default()).len(), 1);
    }
}
