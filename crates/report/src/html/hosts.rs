//! The maps of a job's hosts.

use ipcmark_results::RunResult;
use serde::Serialize;

use crate::{
    hosts::matrices,
    matrix::{Matrix, matrix_figure},
};

/// A map.
#[derive(Serialize)]
pub struct Hosts {
    /// Number of the result among the files.
    file: usize,
    title: String,
    /// The drawing. All text of a result in it is escaped.
    figure: String,
    notes: Vec<String>,
}

/// The maps of a result.
pub fn hosts(file: usize, result: &RunResult) -> Vec<Hosts> {
    let hosts = |matrix: Matrix| Hosts {
        file,
        figure: matrix_figure(&matrix),
        title: matrix.title,
        notes: matrix.notes,
    };
    matrices(result).into_iter().map(hosts).collect()
}
