//! Tests of the suite itself: transports with a deliberate fault must fail in the corresponding
//! check, with a message that names the fault; correct transports must pass all checks.

use std::{
    env,
    process::{Command, ExitCode},
    time::Duration,
};

use ipcmark_conformance::{Check, Suite, Suites, WATCHDOG, checks, play_part, run};
use ipcmark_faulty::{Act, AffectedMessages, Fault, Faulty, FaultySide, MessageFault, Moment};
use ipcmark_transport::{Collect, Wait};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// The watchdog's limit for a transport that hangs.
const SHORT: Duration = Duration::from_secs(15);

/// The number of concurrent tests; hanging ones only wait.
const AT_ONCE: usize = 8;

/// Set if this executable must run the suite like any other test target.
const INNER: &str = "IPCMARK_TEST_INNER";

/// The fault hits one message in 15.
const NOW_AND_THEN: AffectedMessages = AffectedMessages::Every(15);

/// Name, fault.
const RIGHT: [(&str, Fault); 4] = [
    ("plain", Fault::None),
    ("plain-alternating", Fault::TakesTurns),
    ("plain-unreliable", Fault::Unreliable(FaultySide::Both, MessageFault::Lost, NOW_AND_THEN)),
    ("library-keeps-a-descriptor", process(Moment::Open, Act::KeepDescriptor)),
];

/// A transport that is unavailable.
const ABSENT: &str = "absent";

const fn message(ill: MessageFault, which: AffectedMessages) -> Fault {
    Fault::Message(FaultySide::Both, ill, which)
}

const fn process(moment: Moment, act: Act) -> Fault {
    Fault::Process(FaultySide::Both, moment, act)
}

/// Name, fault, wait, the check that finds it, its message, its time limit.
#[rustfmt::skip]
const WRONG: &[(&str, Fault, Wait, Check, &str, Duration)] = {
    use ipcmark_conformance::checks::*;
    use Fault::*;
    use MessageFault::*;
    use Moment::*;
    use Wait::*;
    let always = AffectedMessages::From(1);
    &[
        ("corrupts-a-byte", message(Corrupted, NOW_AND_THEN), Spin, SIZES, "it was corrupted", WATCHDOG),
        ("loses-a-message", message(Lost, NOW_AND_THEN), Spin, BACK_PRESSURE, "lost or was overtaken", WATCHDOG),
        ("loses-a-message-blocking", message(Lost, NOW_AND_THEN), Block, SIZES, "the watchdog ended it", SHORT),
        ("duplicates", message(Doubled, NOW_AND_THEN), Spin, VARIED, "it came twice or late", WATCHDOG),
        ("reorders", message(Overtaken, NOW_AND_THEN), Block, BACK_PRESSURE, "lost or was overtaken", WATCHDOG),
        ("truncates", message(Cut, AffectedMessages::Longer(100)), Spin, SIZES, "the length changed on the way", WATCHDOG),
        ("rounds-up", message(RoundedUp, always), Block, SIZES, "the length changed on the way", WATCHDOG),
        ("one-queue", OneQueue, Spin, OWN_MESSAGE, "took its own message", WATCHDOG),
        ("one-queue-blocking", OneQueue, Block, OWN_MESSAGE, "took its own message", WATCHDOG),
        ("shared-by-sessions", SharedBySessions, Spin, TWO_SESSIONS, "expected", SHORT),
        ("drops-when-full", DropsWhenFull, Spin, BACK_PRESSURE, "nothing, though", WATCHDOG),
        ("drops-when-stopped", DropsWhenStopped, Block, STOPPED_RECEIVER, "the watchdog ended it", SHORT),
        ("overwrites-the-taken", message(Overwriting, always), Spin, HELD, "not released", WATCHDOG),
        ("fails-when-full", FailsWhenFull, Spin, BACK_PRESSURE, "it is full", WATCHDOG),
        ("both-full-fails", FailsWhenFull, Spin, BOTH_FULL, "it is full", WATCHDOG),
        ("never-delivers", NeverDelivers, Spin, SIZES, "taking a message", SHORT),
        ("leaves-a-file", LeavesAFile, Spin, OPEN_CLOSE, "no name in the file system", WATCHDOG),
        ("leaves-a-file-at-the-end", LeavesAFile, Spin, VARIED, "nothing left", WATCHDOG),
        ("needs-a-file", NeedsAFile, Block, CRASH, "nothing left in the system", WATCHDOG),
        ("needs-a-file-early", NeedsAFile, Spin, CRASH_OPENING, "nothing left", WATCHDOG),
        ("leaks-a-descriptor", process(Open, Act::LeakDescriptor), Spin, OPEN_CLOSE, "the open descriptor", WATCHDOG),
        ("keeps-a-descriptor", process(Open, Act::KeepDescriptor), Spin, OPEN_CLOSE, "the open descriptor", WATCHDOG),
        ("library-leaks-a-descriptor", process(Open, Act::LeakDescriptor), Spin, OPEN_CLOSE, "the open descriptor", WATCHDOG),
        ("leaks-a-thread", process(Open, Act::LeakThread), Spin, OPEN_CLOSE, "threads instead of", WATCHDOG),
        ("leaks-memory", process(Open, Act::LeakMemory), Spin, OPEN_CLOSE, "bytes allocated", WATCHDOG),
        ("allocates", message(Allocating, always), Spin, STEADY, "no allocation", WATCHDOG),
        ("untouched-buffers", UntouchedBuffers, Spin, STEADY, "page faults", WATCHDOG),
        ("prints", process(Open, Act::Print), Spin, VARIED, "no word on standard error", WATCHDOG),
        ("claims-loans", ClaimsLoans, Spin, CAPABILITIES, "it is copied", WATCHDOG),
        ("claims-to-wake", ClaimsToWake, Block, CAPABILITIES, "taking a message", SHORT),
        ("misnamed", Misnamed, Spin, CAPABILITIES, "a name of lower-case words", WATCHDOG),
        ("hangs-in-drop", process(DropAlone, Act::Hang), Spin, CRASH, "closing its end", SHORT),
        ("aborts", process(Publish(15), Act::Signal(6)), Spin, VARIED, "signal: 6", WATCHDOG),
    ]
};

/// Named `library-…`, it is checked like the code of a library.
fn faulty(name: &'static str, fault: Fault) -> Faulty {
    let family = if name.starts_with("library-") { "library" } else { "os" };
    Faulty::new(name, family, fault)
}

fn list(suites: &mut Suites) -> Vec<Suite> {
    let wrong = WRONG.iter().map(|(name, fault, ..)| (*name, *fault));
    let all = RIGHT.into_iter().chain(wrong).chain([(ABSENT, Fault::Absent)]);
    all.map(|(name, fault)| suites.item(faulty(name, fault))).collect()
}

fn main() -> ExitCode {
    if let Some(code) = play_part(list) {
        return code;
    }
    if env::var_os(INNER).is_some() {
        return ipcmark_conformance::main(list);
    }
    ipcmark_harness::isolate();
    let trials = wrong_ones().chain(right_ones()).chain(asked_for()).collect();
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// One test per way to select tests by name: an unknown name is an error.
fn asked_for() -> impl Iterator<Item = Trial> {
    [
        ("nobody", false, "there is no transport 'nobody' here; there are plain,"),
        ("plain,nobody", false, "there is no transport 'nobody'"),
        ("plain/hybrid", false, "'plain/hybrid' names no test"),
        (ABSENT, false, "the transport 'absent' cannot run here: it is not there on purpose"),
        ("plain/spin/capabilities", true, "1 passed"),
    ]
    .map(|(name, passes, words)| {
        Trial::test(format!("asked-for/{}", name.replace('/', "-")), move || {
            let mut command = Command::new(env::current_exe()?);
            let output = command.env(INNER, "1").env("IPCMARK_CONFORM", name).arg("-q").output()?;
            let told = [output.stdout, output.stderr].concat();
            let told = String::from_utf8_lossy(&told);
            let is_right = output.status.success() == passes && told.contains(words);
            if is_right { Ok(()) } else { Err(format!("{}: {told}", output.status).into()) }
        })
    })
    .into_iter()
}

/// One test per fault, which must be found.
fn wrong_ones() -> impl Iterator<Item = Trial> {
    WRONG.iter().map(|(name, fault, wait, check, words, watchdog)| {
        Trial::test(format!("{name}/{wait}/{}", check.name), move || {
            let suite = Suites.item(faulty(name, *fault));
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

/// One test per check: correct transports pass.
fn right_ones() -> impl Iterator<Item = Trial> {
    RIGHT.iter().flat_map(|(name, fault)| {
        let waits = Suites.item(faulty(name, *fault)).definition().capabilities.waits.clone();
        let waits = waits.into_owned().into_iter();
        waits.flat_map(move |wait| checks::ALL.map(|check| right_one(name, *fault, wait, check)))
    })
}

fn right_one(name: &'static str, fault: Fault, wait: Wait, check: Check) -> Trial {
    Trial::ignorable_test(format!("{name}/{wait}/{}", check.name), move || {
        let suite = Suites.item(faulty(name, fault));
        if let Some(reason) = check.exempt(suite.definition(), wait) {
            return Ok(Completion::ignored_with(reason));
        }
        run(&suite, wait, check, WATCHDOG).map_err(|failure| Failed::from(failure.to_string()))?;
        Ok(Completion::Completed)
    })
}
