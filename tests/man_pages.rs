//! The man pages: every command has one, and the programs that read them accept it.

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use crate::support::{Verdict, end, ipcmark, run, works};

ipcmark_harness::tests![
    every_command_has_a_page_that_groff_reads,
    pages_that_cannot_be_written_are_reported,
];

/// A program's output for a text on its standard input, and whether it accepts the text.
fn piped_through(program: &str, words: &[&str], text: &str) -> (bool, String) {
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn every_command_has_a_page_that_groff_reads() -> Verdict {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man1");
    end(ipcmark("man").arg(&pages)).exits(0);
    let help = run("--help").exits(0).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 8, "{help}");
    for name in names.iter().filter(|name| **name != "help") {
        let page = fs::read_to_string(pages.join(format!("ipcmark-{name}.1"))).expect(name);
        assert!(page.contains(".SH DESCRIPTION"), "{name}");
    }
    let own = fs::read_to_string(pages.join("ipcmark.1")).unwrap();
    assert_eq!(run("man").exits(0).stdout, own);
    if !works("groff", &["--version"]) {
        return Verdict::Skipped("there is no groff".into());
    }
    for page in fs::read_dir(&pages).unwrap().flatten() {
        let text = fs::read_to_string(page.path()).unwrap();
        let (_, words) = piped_through("groff", &["-man", "-ww", "-Tutf8"], &text);
        assert_eq!(words, "", "{}", page.path().display());
    }
    Verdict::Holds
}

fn pages_that_cannot_be_written_are_reported() {
    let failed = run("man /proc/ipcmark").exits(1);
    assert!(failed.stderr.contains("cannot create /proc/ipcmark"), "{}", failed.stderr);
}
