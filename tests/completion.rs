//! Words completed by real shells, with the scripts that `ipcmark completions` prints.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::support::{IPCMARK, Verdict, end, run, works};

ipcmark_harness::tests![
    bash_completes_words,
    zsh_completes_words,
    fish_completes_words,
    shells_accept_their_scripts,
    rows_of_files_on_the_line_are_completed,
    a_line_that_is_wrong_completes_to_nothing,
];

/// Lines, each with a possible completion and an impossible one.
const LINES: &[(&str, &str, &str)] = &[
    ("ipcmark comp", "compare", "run"),
    ("ipcmark run -t shm-r", "shm-ring", "pipe"),
    ("ipcmark run -t pipe,zeromq-i", "pipe,zeromq-ipc", "zeromq-ipc"),
    ("ipcmark run --transports ice", "iceoryx2", "pipe"),
    ("ipcmark run -w ", "block", "pipe"),
    ("ipcmark run -w block,shm-ring", "block,shm-ring=", "block"),
    ("ipcmark run -s ice", "iceperf", "64"),
    ("ipcmark run -s 64,4", "64,4k", "4k"),
    ("ipcmark run -p one", "one-way", "latency"),
    ("ipcmark run --format mark", "markdown", "table"),
    ("ipcmark run --export c", "csv=", "csv"),
    ("ipcmark run --set tc", "tcp.", "pipe."),
    ("ipcmark run --set tcp.no", "tcp.no-delay=", "tcp.send-buffer="),
    ("ipcmark run --touch ", "head", "spin"),
    ("ipcmark run --no-p", "--no-pin", "--trials"),
    ("ipcmark advise --needs cross-host,zer", "cross-host,zero-copy", "zero-copy"),
    ("ipcmark history tr", "trend", "list"),
    ("ipcmark history trend --by ", "commit", "day"),
    ("ipcmark list tc", "tcp", "udp"),
];

/// Runs a program in a shell that prints the completions of a line, one per line.
fn completed(shell: &str, program: &str, line: &str) -> Vec<String> {
    let directory = Path::new(IPCMARK).parent().expect("it lies in a directory");
    let old = env::var_os("PATH").unwrap_or_default();
    let path =
        env::join_paths([PathBuf::from(directory)].into_iter().chain(env::split_paths(&old)));
    let words: &[&str] = match shell {
        "bash" => &["--norc", "--noprofile", "-c"],
        "zsh" => &["-f", "-c"],
        _ => &["--no-config", "-c"],
    };
    let mut command = Command::new(shell);
    command.args(words).arg(program).env("PATH", path.unwrap()).env("LINE", line);
    let ended = end(&mut command).exits(0);
    assert_eq!(ended.stderr, "", "{shell}: {line}");
    ended.stdout.lines().map(str::to_owned).collect()
}

/// Bash splits words at = and :, and so does this script.
const BASH: &str = r#"
. <(ipcmark completions bash)
rest=$LINE COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_WORDS=()
while [[ $rest =~ ^[[:space:]]*([=:]+|[^[:space:]=:]+)(.*)$ ]]; do
    COMP_WORDS+=("${BASH_REMATCH[1]}") rest=${BASH_REMATCH[2]}
done
[[ $LINE == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_ipcmark ipcmark "${COMP_WORDS[COMP_CWORD]}" ""
for word in "${COMPREPLY[@]}"; do echo "$word"; done
"#;

/// Outside its line editor zsh completes nothing: these two functions replace its own.
const ZSH: &str = r#"
compdef() { : }
_describe() { local one; for one in "${(@P)3}"; do print -r -- "${one%%:*}"; done }
source <(ipcmark completions zsh)
words=("${(@s: :)LINE}") CURRENT=$#words
_ipcmark
true
"#;

const FISH: &str =
    r#"ipcmark completions fish | source; complete -C "$LINE" | string replace -r '\t.*' ''; true"#;

fn check(shell: &str, program: &str) -> Verdict {
    if !works(shell, &["-c", "true"]) {
        return Verdict::Skipped(format!("there is no {shell}"));
    }
    for (line, there, absent) in LINES {
        let words = completed(shell, program, line);
        let has = |word: &str| words.iter().any(|other| other == word);
        assert!(has(there) && !has(absent), "{shell}: {line}: {words:?}");
    }
    Verdict::Holds
}

fn bash_completes_words() -> Verdict {
    let verdict = check("bash", BASH);
    if matches!(verdict, Verdict::Holds) {
        for (line, there) in [
            ("ipcmark run --format=mark", "markdown"),
            ("ipcmark run --set=tcp.no-delay=of", "off"),
            ("ipcmark run -w block,shm-ring=s", "spin"),
            ("ipcmark run --set tcp.no-delay=on,udp.rec", "on,udp.receive-buffer="),
            ("ipcmark run -t 'shm-r", "shm-ring"),
        ] {
            assert_eq!(completed("bash", BASH, line), [there], "{line}");
        }
    }
    verdict
}

fn zsh_completes_words() -> Verdict {
    check("zsh", ZSH)
}

fn fish_completes_words() -> Verdict {
    check("fish", FISH)
}

/// A shell's output for a script on its standard input, and whether it accepts the script.
fn parsed(shell: &str, script: &str) -> (bool, String) {
    let mut child = Command::new(shell)
        .arg("-n")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn shells_accept_their_scripts() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&format!("completions {shell}")).exits(0).stdout;
        assert!(script.contains("ipcmark") && script.contains("IPCMARK_COMPLETE"), "{script}");
        if ["bash", "zsh", "fish"].contains(&shell) && works(shell, &["-c", "true"]) {
            let (accepted, words) = parsed(shell, &script);
            assert!(accepted, "{shell}: {words}");
        }
    }
    let unknown = run("completions csh").exits(2);
    assert!(unknown.stderr.contains("bash"), "{}", unknown.stderr);
}

/// The command's answer to a shell's script; the last word is the one being typed.
fn answer(line: &[&str]) -> String {
    let mut command = Command::new(IPCMARK);
    command.env("IPCMARK_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", (line.len() - 1).to_string()).arg("--").args(line);
    let ended = end(&mut command);
    assert_eq!(ended.stderr, "", "{line:?}");
    ended.stdout
}

fn rows_of_files_on_the_line_are_completed() {
    let place = tempfile::tempdir().unwrap();
    let [file, kept] =
        ["r.json", "h.sqlite"].map(|name| place.path().join(name).display().to_string());
    run(&format!("run -t pipe -w block -s 64 -n 50 -o {file}")).exits(0);
    run(&format!("history --file {kept} add {file} --commit 3f2a9c")).exits(0);
    let row = "latency/pipe/64/block/round_trip";
    assert_eq!(answer(&["ipcmark", "show", &file, "--row", "lat"]), row);
    assert_eq!(answer(&["ipcmark", "history", "--file", &kept, "trend", "--row", "lat"]), row);
    let side = answer(&["ipcmark", "history", "--file", &kept, "compare", "3f"]);
    assert_eq!(side, "3f2a9c");
    let started = format!("csv={}/r", place.path().display());
    assert_eq!(answer(&["ipcmark", "run", "--export", &started]), format!("csv={file}"));
    assert_eq!(
        answer(&["ipcmark", "run", "-s", &format!("@{}/r", place.path().display())]),
        format!("@{file}")
    );
    // An unreadable file has no rows.
    fs::write(&file, "no result").unwrap();
    assert_eq!(answer(&["ipcmark", "show", &file, "--row", "lat"]), "");
}

fn a_line_that_is_wrong_completes_to_nothing() {
    for line in
        [&["ipcmark", "nothing", "--x"][..], &["ipcmark", "run", "--set", "nothing.x"], &[""]]
    {
        assert_eq!(answer(line), "", "{line:?}");
    }
}
