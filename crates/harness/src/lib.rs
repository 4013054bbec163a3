//! The harness for tests that start processes: each test runs in a process of its own and, where the
//! system allows it, in mount, IPC, PID and network namespaces of its own.
//!
//! Such a test sees no other test's files, daemons, ports or `ipcmark clean`, and nothing survives it:
//! the PID namespace ends with its process, and the temporary file systems with the namespaces. It can
//! be killed at any time, by Ctrl-C too. If namespaces are refused, the harness says so once and runs
//! the tests one after the other, because they would disturb each other.
//!
//! A test target with `harness = false` lists its tests:
//!
//! ```no_run
//! use ipcmark_harness::Test;
//!
//! fn main() -> std::process::ExitCode {
//!     ipcmark_harness::main(vec![Test::new("two_and_two", || assert_eq!(2 + 2, 4))])
//! }
//! ```

mod namespaces;
mod play;
mod sampled;
mod test;
mod visible;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

pub use sampled::{first_and_step, is_drawn, sampled};
pub use test::{Test, Verdict};

/// Defines `tests()`: one test of each function, under the function's name.
#[macro_export]
macro_rules! tests {
    ($($function:ident),+ $(,)?) => {
        /// The tests of this file.
        pub fn tests() -> Vec<$crate::Test> {
            vec![$($crate::Test::new(stringify!($function), $function)),+]
        }
    };
}

/// The `main` of a test target. It must be called before the process has a second thread.
pub fn main(tests: Vec<Test>) -> ExitCode {
    run(tests, None)
}

/// The same, with `count` tests at once: for tests that mostly wait.
pub fn main_at_once(tests: Vec<Test>, count: usize) -> ExitCode {
    run(tests, Some(count))
}

fn run(tests: Vec<Test>, at_once: Option<usize>) -> ExitCode {
    if let Some(name) = play::part() {
        return play::body(tests, &name);
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(at_once);
    if !arguments.list && !isolates() {
        arguments.test_threads = Some(1);
    }
    let captures = !arguments.nocapture;
    let trial = |test: Test| {
        let name = test.name;
        Trial::ignorable_test(name.clone(), move || play::start(&name, captures))
    };
    let trials = tests.into_iter().map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Moves a whole test target into namespaces of its own, where the system allows it: returns in a new
/// process in them, while this one waits and passes the exit status on. It must be called before the
/// process has a second thread.
pub fn isolate() {
    if let Err(refusal) = namespaces::enter(&visible::paths()) {
        note(&refusal);
    }
}

/// True if tests get namespaces of their own; otherwise prints the reason.
fn isolates() -> bool {
    match play::probe() {
        Ok(()) => true,
        Err(refusal) => {
            note(&refusal);
            false
        }
    }
}

fn note(refusal: &str) {
    eprintln!("note: these tests share this machine's files and processes: {refusal}");
}

/// True if this test runs in namespaces of its own.
pub fn is_isolated() -> bool {
    namespaces::is_inside()
}
