//! Correct and faulty modules, tested with the real command.

mod command;
pub mod compiled;
mod documents;
mod measured;
mod refused;

use ipcmark_harness::Test;

pub fn tests() -> Vec<Test> {
    [documents::tests(), measured::tests(), refused::tests()].into_iter().flatten().collect()
}
