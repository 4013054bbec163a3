//! What `ipcmark run` prints and writes, in each format.

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::support::{IPCMARK, Verdict, assert_valid, end, ipcmark, read, run, works};
use ipcmark_results::Status;

ipcmark_harness::tests![
    the_table_shows_machine_and_rows,
    json_is_valid_against_the_schema,
    the_file_equals_the_printed_json,
    csv_has_a_line_a_case,
    markdown_has_a_table,
    colour_is_for_terminals,
    a_closed_standard_output_is_no_panic,
];

fn the_table_shows_machine_and_rows() {
    let ended = run("run -t null,pipe,shm-ring -s 64 -d 20ms").exits(0);
    for words in ["cpu ", "kernel ", "placement ", "floor ", "clock ", "64 B", "p50", "p99"] {
        assert!(ended.stdout.contains(words), "no '{words}' in: {}", ended.stdout);
    }
    for name in ["null", "pipe", "shm-ring"] {
        // A figure may have no decimals on a busy machine.
        let is_row =
            |line: &str| line.starts_with(name) && line.contains(|c: char| c.is_ascii_digit());
        let mut lines = ended.stdout.lines().map(str::trim_start);
        assert!(lines.any(is_row), "no row {name} in: {}", ended.stdout);
    }
    assert_eq!(ended.stderr, "", "there is nothing to say on standard error");
}

fn json_is_valid_against_the_schema() {
    let ended = run("run -t null,pipe -s 64,4k -w spin,hybrid -d 10ms --format json").exits(1);
    assert_valid(&serde_json::from_str(&ended.stdout).expect("JSON"));
    let result = ended.result();
    assert!(result.complete);
    assert_eq!((result.planned_cases, result.cases.len()), (8, 8));
    let measured = result.cases.iter().filter(|case| case.status() == Status::Ok);
    assert_eq!(measured.count(), 4, "spin was measured, hybrid was not");
}

fn the_file_equals_the_printed_json() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("result.json");
    let mut command = ipcmark("run -t null -s 64 -d 10ms --format json -o");
    let ended = end(command.arg(&path)).exits(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), ended.stdout);
    let result = read(&path);
    assert!(result.run.command.contains(&path.display().to_string()));
    let names: Vec<_> = fs::read_dir(directory.path()).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "no temporary file stays: {names:?}");
}

fn csv_has_a_line_a_case() {
    let ended = run("run -t null,pipe -s 64 -w spin,block -d 10ms --format csv").exits(1);
    let mut csv = csv::Reader::from_reader(ended.stdout.as_bytes());
    let columns: Vec<String> = csv.headers().unwrap().iter().map(Into::into).collect();
    let at = |name: &str| columns.iter().position(|column| column == name).expect("a column");
    let lines: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 4);
    for line in lines {
        let measured = line[at("status")] == *"ok";
        assert_eq!(line[at("times_ns_count")].parse::<u64>().is_ok(), measured, "{line:?}");
        assert_eq!(line[at("reason")].is_empty(), measured, "{line:?}");
    }
}

fn markdown_has_a_table() {
    let ended = run("run -t null,pipe -s 64 -d 10ms --format markdown").exits(0);
    let rows = |start: &str| ended.stdout.lines().filter(|line| line.starts_with(start)).count();
    assert!(rows("| pipe") >= 2, "{}", ended.stdout);
    assert!(rows("| ---") + rows("|---") + rows("| :--") >= 2, "{}", ended.stdout);
}

fn colour_is_for_terminals() -> Verdict {
    let words = "run -t null,nul* -s 64 -d 5ms";
    let escape = '\x1b';
    let ended = run(words).exits(0);
    assert!(!ended.stdout.contains(escape) && !ended.stderr.contains(escape));
    if !works("script", &["-qec", "true", "/dev/null"]) {
        return Verdict::Skipped("there is no script to make a terminal".into());
    }
    let on_terminal = |variable: &str| {
        let line = format!("env {variable} {} {words} 2>/dev/null", IPCMARK);
        end(Command::new("script").args(["-qec", &line, "/dev/null"])).exits(0).stdout
    };
    assert!(on_terminal("TERM=xterm").contains(escape), "a terminal gets colour");
    assert!(!on_terminal("NO_COLOR=1").contains(escape), "NO_COLOR is honoured");
    assert!(!on_terminal("TERM=dumb").contains(escape), "a dumb terminal gets none");
    Verdict::Holds
}

fn a_closed_standard_output_is_no_panic() {
    for words in ["list", "schema", "run -t null -s 64 -n 10 --format json"] {
        let mut command = ipcmark(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words}");
    }
}
