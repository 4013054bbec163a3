//! The suite itself under test: transports that are wrong on purpose must fail in the check that is
//! there for it, with words that name what went wrong; those that are right must pass all of it.

mod fault;
mod plain;

use std::{fs, process::ExitCode, time::Duration};

use fault::{Fault, Faulty};
use ipcmark_conformance::{Check, Suite, Suites, WATCHDOG, play_part, run};
use ipcmark_transport::{Collect, Wait};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// How long a transport that hangs may do so.
const SHORT: Duration = Duration::from_secs(2);

/// Name, fault.
const RIGHT: [(&str, Fault); 3] = [
    ("plain", Fault::None),
    ("plain-alternating", Fault::NoneButAlternating),
    ("plain-unreliable", Fault::NoneButUnreliable),
];

/// Name, fault, the check that finds it, what it says, how long it takes at most.
const WRONG: &[(&str, Fault, Wait, Check, &str, Duration)] = {
    use Check::*;
    use Fault::*;
    use Wait::*;
    &[
        ("corrupts-a-byte", CorruptsAByte, Spin, Sizes, "it was corrupted", WATCHDOG),
        ("loses-a-message", LosesAMessage, Spin, BackPressure, "lost or was overtaken", WATCHDOG),
        ("loses-a-message-blocking", LosesAMessage, Block, Sizes, "the watchdog ended it", SHORT),
        ("duplicates", Duplicates, Spin, Varied, "it came twice or late", WATCHDOG),
        ("reorders", Reorders, Block, BackPressure, "lost or was overtaken", WATCHDOG),
        ("truncates", Truncates, Spin, Sizes, "the length changed on the way", WATCHDOG),
        ("rounds-up", RoundsUp, Block, Sizes, "the length changed on the way", WATCHDOG),
        ("one-queue", OneQueue, Spin, OwnMessage, "took its own message", WATCHDOG),
        ("one-queue-blocking", OneQueue, Block, OwnMessage, "took its own message", WATCHDOG),
        ("shared-by-sessions", SharedBySessions, Spin, TwoSessions, "expected", SHORT),
        ("drops-when-full", DropsWhenFull, Spin, BackPressure, "nothing, though", WATCHDOG),
        ("overwrites-the-taken", OverwritesTheTaken, Spin, Held, "not released", WATCHDOG),
        ("fails-when-full", FailsWhenFull, Spin, BackPressure, "it is full", WATCHDOG),
        ("both-full-fails", FailsWhenFull, Spin, BothFull, "it is full", WATCHDOG),
        ("never-delivers", NeverDelivers, Spin, Sizes, "taking a message", SHORT),
        ("leaves-a-file", LeavesAFile, Spin, OpenClose, "no name in the file system", WATCHDOG),
        ("leaves-a-file-at-the-end", LeavesAFile, Spin, Varied, "nothing left", WATCHDOG),
        ("needs-a-file", NeedsAFile, Block, Crash, "nothing left in the system", WATCHDOG),
        ("needs-a-file-early", NeedsAFile, Block, CrashOpening, "nothing left", WATCHDOG),
        ("leaks-a-descriptor", LeaksADescriptor, Spin, OpenClose, "the open descriptor", WATCHDOG),
        ("leaks-a-thread", LeaksAThread, Spin, OpenClose, "threads instead of", WATCHDOG),
        ("leaks-memory", LeaksMemory, Spin, OpenClose, "bytes allocated", WATCHDOG),
        ("allocates", Allocates, Spin, Steady, "no allocation", WATCHDOG),
        ("untouched-buffers", UntouchedBuffers, Spin, Steady, "page faults", WATCHDOG),
        ("prints", Prints, Spin, Varied, "no word on standard error", WATCHDOG),
        ("claims-loans", ClaimsLoans, Spin, Capabilities, "it is copied", WATCHDOG),
        ("claims-to-wake", ClaimsToWake, Block, Capabilities, "taking a message", SHORT),
        ("misnamed", Misnamed, Spin, Capabilities, "a name of lower-case words", WATCHDOG),
        ("hangs-in-drop", HangsInDrop, Spin, Crash, "closing its end", SHORT),
        ("aborts", Aborts, Spin, Varied, "signal: 6", WATCHDOG),
    ]
};

fn list(suites: &mut Suites) -> Vec<Suite> {
    let wrong = WRONG.iter().map(|(name, fault, ..)| (*name, *fault));
    RIGHT
        .into_iter()
        .chain(wrong)
        .map(|(name, fault)| suites.item(Faulty::new(fault, name)))
        .collect()
}

fn main() -> ExitCode {
    if let Some(code) = play_part(list) {
        return code;
    }
    let trials = wrong_ones().chain(right_ones()).collect();
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    sweep();
    conclusion.exit_code()
}

/// Removes what transports left that leave something on purpose.
fn sweep() {
    let ours = format!("ipcmark-c{:07}-", std::process::id());
    for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&ours) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// One test a fault: it must be found.
fn wrong_ones() -> impl Iterator<Item = Trial> {
    WRONG.iter().map(|(name, fault, wait, check, words, watchdog)| {
        Trial::test(format!("{name}/{wait}/{}", check.name()), move || {
            let suite = Suites.item(Faulty::new(*fault, name));
            match run(&suite, *wait, *check, *watchdog) {
                Err(failure) => names_it(&failure.to_string(), name, words),
                Ok(()) => Err(Failed::from("the suite found nothing wrong")),
            }
        })
    })
}

fn names_it(failure: &str, transport: &str, words: &str) -> Result<(), Failed> {
    if failure.starts_with(transport) && failure.contains(words) {
        return Ok(());
    }
    Err(Failed::from(format!("expected the failure to say '{words}'; it says: {failure}")))
}

/// One test a check: transports that are right pass.
fn right_ones() -> impl Iterator<Item = Trial> {
    RIGHT.iter().flat_map(|(name, fault)| {
        let waits = Suites.item(Faulty::new(*fault, name)).definition().capabilities.waits.clone();
        let waits = waits.into_owned().into_iter();
        waits.flat_map(move |wait| Check::ALL.map(|check| right_one(name, *fault, wait, check)))
    })
}

fn right_one(name: &'static str, fault: Fault, wait: Wait, check: Check) -> Trial {
    Trial::ignorable_test(format!("{name}/{wait}/{}", check.name()), move || {
        let suite = Suites.item(Faulty::new(fault, name));
        if let Some(reason) = check.exempt(suite.definition(), wait) {
            return Ok(Completion::ignored_with(reason));
        }
        run(&suite, wait, check, WATCHDOG).map_err(|failure| Failed::from(failure.to_string()))?;
        Ok(Completion::Completed)
    })
}
