//! `--export FORMAT=FILE`: the result in additional formats, checked before anything is measured.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use ipcmark_report::{FORMATS, Format, Terminal};

use crate::support::{IPCMARK, Verdict, end, ipcmark, read, run, works};

ipcmark_harness::tests![
    a_saved_result_is_shown_as_the_run_showed_it,
    rows_are_shown_by_their_names,
    one_row_is_a_distribution_and_several_are_refused,
    files_that_cannot_be_shown_are_reported,
    every_format_is_exported_as_the_file_holds_it,
    exports_of_a_plan_are_flags_each,
    a_failed_export_is_reported_and_the_others_are_written,
    impossible_exports_are_rejected_before_the_measurement,
    two_forms_never_share_a_file,
    a_page_is_not_shown_on_a_terminal,
];

fn a_saved_result_is_shown_as_the_run_showed_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let words = format!("run -t pipe,null -s 64 -w spin -n 50 --trials 2 -o {}", path("r.json"));
    let table = run(&words).exits(0).stdout;
    let shown = |words: &str| run(&format!("show {words}")).exits(0).stdout;
    assert_eq!(shown(&path("r.json")), table);
    let both = shown(&format!("{} {}", path("r.json"), path("r.json")));
    assert_eq!(both, table.repeat(2));
    let csv = shown(&format!("{} --format csv", path("r.json")));
    shown(&format!("{} --export csv={}", path("r.json"), path("r.csv")));
    assert_eq!(fs::read_to_string(path("r.csv")).unwrap(), csv);
}

fn rows_are_shown_by_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let result = directory.path().join("r.json").display().to_string();
    run(&format!("run -t pipe,null -s 64,4k -w spin -n 50 -o {result}")).exits(0);
    let shown = |words: &str| run(&format!("show {result} {words}"));
    let csv = shown("--format csv --row latency/pipe/64/*").exits(0).stdout;
    assert_eq!(csv.lines().count(), 2, "{csv}");
    assert!(csv.lines().nth(1).unwrap().starts_with("pipe,"), "{csv}");
    let both = shown("--format csv --row latency/pipe/* --row latency/null/64/*").exits(0).stdout;
    assert_eq!(both.lines().count(), 4, "{both}");
    let none = shown("--row tcp").exits(1);
    assert!(none.stderr.contains("no row has that name"), "{}", none.stderr);
    assert!(none.stderr.contains("latency/pipe/64/spin/round_trip"), "{}", none.stderr);
    shown("--row [").exits(2);
}

fn one_row_is_a_distribution_and_several_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    // A row without a distance: on a busy machine, none of so few samples may lie at the one that counts.
    let one = format!("run -t null -s 64 -w spin -n 50 --export hgrm={}", path("one"));
    run(&one).exits(0);
    let text = fs::read_to_string(path("one")).unwrap();
    assert!(text.starts_with("#[latency/null/64/spin/span:none/round_trip, in ns"), "{text}");
    let ended =
        run(&format!("run -t pipe -s 64,4k -w spin -n 50 --export hgrm={}", path("two"))).exits(2);
    assert!(ended.stderr.contains("several would be measured"), "{}", ended.stderr);
    assert!(!Path::new(&path("two")).exists());
}

fn files_that_cannot_be_shown_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("no.json"), "{}").unwrap();
    let (none, no) = (path("none.json"), path("no.json"));
    let ended = run(&format!("show {none} {no}")).exits(1);
    assert!(ended.stderr.contains(&none) && ended.stderr.contains(&no), "{}", ended.stderr);
    for (words, said) in [
        (format!("show {no} --export csv={no}"), "would replace the result"),
        (format!("show {no} {none} --export csv={}", path("c")), "only one"),
        ("show".into(), "RESULT.json"),
    ] {
        let ended = run(&words).exits(2);
        assert!(ended.stderr.contains(said), "{words}: {}", ended.stderr);
    }
    assert_eq!(fs::read_to_string(&no).unwrap(), "{}", "it is what it was");
}

/// The formats that contain a result of several rows.
fn whole() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().filter(|format| !format.one_row)
}

fn every_format_is_exported_as_the_file_holds_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("csv"), "an old export").unwrap();
    let mut command = ipcmark("run -t null,pipe -s 64,4k -n 50 --trials 2 -o");
    command.arg(path("result"));
    for format in whole() {
        command.arg(format!("--export={}={}", format.name, path(format.name).display()));
    }
    let ended = end(&mut command).exits(0);
    assert_eq!(ended.stderr, "");
    let result = read(&path("result"));
    for format in whole() {
        let shown =
            format.render(&result, Terminal { width: 100, color: false, ascii: false }).unwrap();
        assert_eq!(fs::read_to_string(path(format.name)).unwrap(), shown, "{format}");
    }
    let names = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(names, whole().count() + 1, "no temporary file stays");
}

fn exports_of_a_plan_are_flags_each() {
    let directory = tempfile::tempdir().unwrap();
    let [plan, csv, json] =
        ["plan.toml", "a,b.csv", "c.json"].map(|name| directory.path().join(name));
    let exports = format!("export = [\"csv={}\", \"json={}\"]", csv.display(), json.display());
    fs::write(
        &plan,
        format!("transports = \"null\"\nsizes = 64\nround-trips = 10\ntrials = 1\n{exports}\n"),
    )
    .unwrap();
    end(ipcmark("run").arg(&plan)).exits(0);
    assert_eq!(read(&json).cases.len(), 1);
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 2);
}

fn a_failed_export_is_reported_and_the_others_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("r.json");
    let mut command = ipcmark("run -t null -s 64 -n 10 --export csv=/dev/full");
    let ended = end(command.arg(format!("--export=json={}", json.display()))).exits(1);
    assert!(ended.stderr.contains("cannot write /dev/full: No space left"), "{}", ended.stderr);
    assert_eq!(read(&json).cases.len(), 1);
    assert!(ended.stdout.contains("null"), "the table is shown: {}", ended.stdout);
}

/// Checks that the command line is refused with these words and nothing is measured.
#[track_caller]
fn refused(words: &str, expected: &str) {
    let ended = run(&format!("run -t null -s 64 {words}")).exits(2);
    let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ended.stdout.is_empty() && said.contains(expected), "{words}: {said}");
}

fn impossible_exports_are_rejected_before_the_measurement() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display();
    refused("--export csv", "write it as FORMAT=FILE, such as csv=result.csv");
    refused("--export csv=", "write it as FORMAT=FILE");
    refused(
        "--export xml=a",
        "'xml' is not a format; formats are table, markdown, csv, json, html",
    );
    refused(&format!("--export csv={place}/none/a"), "none/a: No such file or directory");
    refused(&format!("--export csv={place}"), "directory");
    let ended =
        run(&format!("run -t null --export csv={place}/a --export json={place}/none/b")).exits(2);
    assert!(ended.stderr.contains("none/b"), "{}", ended.stderr);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is written");
}

fn two_forms_never_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("there"), "").unwrap();
    symlink("there", path("link")).unwrap();
    let why = "cannot write two forms of the result to";
    refused(&format!("--export csv={place}/a --export json={place}/a"), why);
    refused(&format!("-o {place}/a --export csv={place}/./a"), why);
    refused(&format!("-o {place}/there --export csv={place}/link"), why);
    assert_eq!(fs::read_to_string(path("there")).unwrap(), "");
    // Streams are written one after the other.
    let words = "--format json --export csv=/dev/stdout --export csv=/dev/stderr";
    let ended = run(&format!("run -t null -s 64 -n 10 {words}")).exits(0);
    assert!(ended.stdout.starts_with("transport,") && ended.stdout.contains("ipcmark/2"));
    assert!(ended.stderr.starts_with("transport,"), "{}", ended.stderr);
}

fn a_page_is_not_shown_on_a_terminal() -> Verdict {
    let words = "run -t null -s 64 -n 10 --format html";
    assert!(run(words).exits(0).stdout.starts_with("<!DOCTYPE html>"));
    if !works("script", &["-qec", "true", "/dev/null"]) {
        return Verdict::Skipped("there is no script to make a terminal".into());
    }
    let line = format!("{} {words}", Path::new(IPCMARK).display());
    let ended = end(Command::new("script").args(["-qec", &line, "/dev/null"])).exits(2);
    assert!(ended.stdout.contains("use --export html=FILE"), "{}", ended.stdout);
    Verdict::Holds
}
