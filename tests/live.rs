//! The output of a run on a terminal while it measures: `--live`, and the progress line.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Ended, end, ipcmark, pty::OnTerminal, run};

ipcmark_harness::tests![
    a_run_is_drawn_and_the_terminal_given_back,
    a_sweep_and_advice_are_drawn_too,
    a_signal_gives_the_terminal_back,
    a_locale_without_utf8_is_drawn_in_ascii,
    a_terminal_of_any_size_is_drawn_on,
    without_a_terminal_it_is_rejected,
    the_progress_line_fits_and_is_erased_after_ctrl_c,
];

/// Switches to the alternate screen, and back.
const TAKEN: &str = "\u{1b}[?1049h";
const GIVEN_BACK: &str = "\u{1b}[?1049l";

/// Many short trials: there is always something new to draw.
const RUN: &str = "run -t pipe,tcp -w block -s 64 -n 300 --trials 1000";

/// The text written to the alternate screen, and afterwards. The cursor must be visible again.
#[track_caller]
fn parts(written: &str) -> (&str, &str) {
    let (_, rest) = written.split_once(TAKEN).unwrap_or_else(|| panic!("{written:?}"));
    let (drawn, after) = rest.split_once(GIVEN_BACK).unwrap_or_else(|| panic!("{written:?}"));
    assert!(!after.contains(TAKEN) && !after.contains(GIVEN_BACK), "{after:?}");
    assert!(rest.rfind("\u{1b}[?25h") > rest.rfind("\u{1b}[?25l"), "{rest:?}");
    (drawn, after)
}

fn a_run_is_drawn_and_the_terminal_given_back() {
    let words = "run -t pipe,tcp -w block -s 64 -n 300 --trials 3 --live";
    let (status, written) = OnTerminal::start(ipcmark(words), 80, 30).end();
    assert_eq!(status.code(), Some(0), "{written}");
    let (drawn, after) = parts(&written);
    for word in ["measures", "distance", "rows"] {
        assert!(drawn.contains(word), "{word}: {drawn:?}");
    }
    assert!(!drawn.contains("findings"), "the result comes afterwards: {drawn:?}");
    assert!(after.contains("½ round trip in µs") && after.contains("findings"), "{after:?}");
}

fn a_sweep_and_advice_are_drawn_too() {
    for (words, shows) in [
        ("sweep payload -t pipe -w block --at 64,4k --live", "4 KiB"),
        ("advise --size 64 -t pipe,tcp -w block --trials 2 -d 20ms --live", "pipe"),
    ] {
        let (status, written) = OnTerminal::start(ipcmark(words), 80, 30).end();
        assert_eq!(status.code(), Some(0), "{words}: {written}");
        let (drawn, after) = parts(&written);
        assert!(drawn.contains("measures"), "{words}: {drawn:?}");
        assert!(after.contains(shows), "{words}: {after:?}");
    }
    let ended = run("advise --size 64 --from r.json --live").exits(2);
    assert!(ended.stderr.contains("--live"), "{}", ended.stderr);
}

fn a_signal_gives_the_terminal_back() {
    let begun = || {
        let running = OnTerminal::start(ipcmark(&format!("{RUN} --live")), 80, 30);
        // The distribution is drawn once there are samples.
        running.await_text("samples");
        running
    };
    let mut typed = begun();
    typed.types("\u{3}");
    let (status, written) = typed.end();
    assert_eq!(status.code(), Some(130), "{written}");
    assert!(parts(&written).1.contains("½ round trip"), "what was measured is shown: {written}");
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let running = begun();
        kill(Pid::from_raw(running.id()), signal).unwrap();
        let (status, written) = running.end();
        assert_eq!(status.code(), Some(code), "{written}");
        parts(&written);
    }
}

fn a_locale_without_utf8_is_drawn_in_ascii() {
    let mut command = ipcmark(&format!("{RUN} --live"));
    command.env_remove("LC_ALL").env_remove("LC_CTYPE").env("LANG", "C");
    let mut running = OnTerminal::start(command, 80, 30);
    running.await_text("samples");
    running.types("\u{3}");
    let (_, written) = running.end();
    assert!(parts(&written).0.is_ascii(), "{written}");
}

fn a_terminal_of_any_size_is_drawn_on() {
    for (columns, lines) in [(20, 3), (1, 1), (300, 100)] {
        let words = "run -t pipe,tcp -w block -s 64 -n 100 --trials 3 --live";
        let (status, written) = OnTerminal::start(ipcmark(words), columns, lines).end();
        assert_eq!(status.code(), Some(0), "{columns} x {lines}: {written}");
        parts(&written);
    }
}

fn without_a_terminal_it_is_rejected() {
    let Ended { stderr, stdout, .. } = run(&format!("{RUN} --live")).exits(2);
    assert!(stderr.contains("cannot show --live: standard error is not a terminal"), "{stderr}");
    assert_eq!(stdout, "");
    let mut dumb = ipcmark(&format!("{RUN} --live"));
    let dumb = end(dumb.env("TERM", "dumb"));
    assert_eq!(dumb.code(), 2);
}

/// Text without cursor movements and colours.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => drop(chars.by_ref().find(|end| end.is_ascii_alphabetic())),
            char => plain.push(char),
        }
    }
    plain
}

fn the_progress_line_fits_and_is_erased_after_ctrl_c() {
    let words = "run -t pipe,tcp -w block -s 64 -n 50 --trials 100";
    let mut running = OnTerminal::start(ipcmark(words), 80, 30);
    running.await_text(" left, ");
    running.types("\u{3}");
    let (status, written) = running.end();
    assert_eq!(status.code(), Some(130), "{written}");
    let bar = written.rfind(" %] [").or(written.rfind(" %] ")).expect("a line of progress");
    // Typed characters are echoed at the cursor, and a line may be drawn once more before the run stops.
    for line in written[..bar].split(['\r', '\n']).map(|line| plain(&line.replace("^C", ""))) {
        assert!(line.chars().count() <= 80, "{line:?}");
    }
    // The last line is cleared before anything else is written.
    let rest = &written[bar..];
    let result = rest.find("½ round trip").expect("the result");
    assert!(rest[..result].contains("\u{1b}[2K"), "{rest:?}");
}
