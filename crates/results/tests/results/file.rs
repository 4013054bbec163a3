//! The result file: written whole or not at all, and read defensively.

use std::{
    fs,
    io::{ErrorKind, Read},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    thread,
};

use crate::sample::{case, mixed, run};
use ipcmark_results::*;
use proptest::prelude::*;
use tempfile::{TempDir, tempdir};

fn names(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn error_of(bytes: &[u8]) -> String {
    let directory = tempdir().unwrap();
    let path = directory.path().join("r.json");
    fs::write(&path, bytes).unwrap();
    read(&path).unwrap_err()
}

/// The first trial of the first case.
fn first_trial(result: &mut RunResult) -> &mut Trial {
    match &mut result.cases[0].outcome {
        Outcome::Ok { measurement: Measurement::RoundTrips(measured) } => &mut measured.trials[0],
        other => panic!("it was not measured: {other:?}"),
    }
}

#[test]
fn a_result_reads_back_as_it_was_and_leaves_one_file() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("r.json");
    for result in [run(vec![]), mixed()] {
        write_atomically(&path, &result).unwrap();
        assert_eq!(read(&path).unwrap(), result);
    }
    assert_eq!(names(&directory), ["r.json"]);
}

proptest! {
    #[test]
    fn every_figure_reads_back_to_the_bit(
        mean in 0.0..f64::MAX, floor in 0.0..1e12, samples in prop::collection::vec(0..1u64 << 40, 0..9),
    ) {
        let directory = tempdir().unwrap();
        let path = directory.path().join("r.json");
        let mut result = run(vec![case("pipe", &samples)]);
        let trial = first_trial(&mut result);
        trial.clock_free_mean_ns = mean;
        trial.blocks.probe_before_ns[0] = floor;
        trial.reference_multiple = Some(floor);
        write_atomically(&path, &result).unwrap();
        prop_assert_eq!(read(&path).unwrap(), result);
    }
}

#[test]
fn a_write_that_fails_keeps_the_old_file_and_leaves_nothing() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("taken");
    fs::create_dir(&path).unwrap();
    let error = write_atomically(&path, &mixed()).unwrap_err();
    assert!(error.to_string().starts_with("cannot write the result file"), "{error}");
    assert_eq!(names(&directory), ["taken"]);
}

#[test]
fn a_full_device_is_an_error() {
    let error = write_atomically(Path::new("/dev/full"), &mixed()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

#[test]
fn devices_and_descriptors_are_streams_and_files_are_not() {
    let directory = tempdir().unwrap();
    for stream in ["/dev/null", "/dev/full", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/2"] {
        assert!(is_stream(Path::new(stream)), "{stream}");
    }
    for file in [directory.path().to_path_buf(), directory.path().join("r.json")] {
        assert!(!is_stream(&file), "{}", file.display());
    }
    write_atomically(Path::new("/dev/null"), &mixed()).unwrap();
    assert!(is_stream(Path::new("/dev/null")));
}

#[test]
fn a_fifo_is_written_to_and_asking_about_it_neither_blocks_nor_ends_it() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("fifo");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    check_writable(&path).unwrap();
    let reader = thread::spawn({
        let path = path.clone();
        move || {
            let mut text = String::new();
            fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
            text
        }
    });
    check_writable(&path).unwrap();
    write_atomically(&path, &mixed()).unwrap();
    assert_eq!(reader.join().unwrap(), to_json(&mixed()));
    assert_eq!(names(&directory), ["fifo"]);
}

#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    let directory = tempdir().unwrap();
    let (file, link) = (directory.path().join("file"), directory.path().join("link"));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("file", &link).unwrap();
    write_atomically(&link, &mixed()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read(&file).unwrap(), mixed());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_link_to_nothing_makes_its_target() {
    let directory = tempdir().unwrap();
    let link = directory.path().join("latest");
    symlink("first", &link).unwrap();
    check_writable(&link).unwrap();
    assert_eq!(names(&directory), ["latest"]);
    write_atomically(&link, &mixed()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read(&directory.path().join("first")).unwrap(), mixed());
}

/// A writer that is killed leaves nothing.
#[test]
fn a_file_has_no_name_until_it_is_complete() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("page");
    let length = 32 << 20;
    let writer = thread::spawn({
        let path = path.clone();
        move || write_text(&path, &"x".repeat(length)).unwrap()
    });
    let mut seen = std::collections::BTreeSet::new();
    while !writer.is_finished() {
        seen.extend(names(&directory));
        assert!(
            fs::metadata(&path).is_ok_and(|file| file.len() == length as u64) || seen.is_empty()
        );
    }
    writer.join().unwrap();
    assert!(seen.iter().all(|name| name == "page"), "{seen:?}");
}

#[test]
fn links_that_go_round_are_an_error() {
    let directory = tempdir().unwrap();
    symlink("b", directory.path().join("a")).unwrap();
    symlink("a", directory.path().join("b")).unwrap();
    let error = check_writable(&directory.path().join("a")).unwrap_err();
    assert!(error.to_string().contains("Too many levels of symbolic links"), "{error}");
}

/// A directory with the permissions of `/tmp`, and a user who may write to it.
fn shared() -> Option<(TempDir, nix::unistd::Uid)> {
    let directory = tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let stranger = nix::unistd::Uid::from_raw(65534);
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root can make files of another user");
        return None;
    }
    Some((directory, stranger))
}

fn give(path: &Path, owner: nix::unistd::Uid) {
    std::os::unix::fs::lchown(path, Some(owner.as_raw()), None).unwrap();
}

fn assert_refused(path: &Path, what: &str) {
    let asked = check_writable(path).unwrap_err();
    let error = write_atomically(path, &mixed()).unwrap_err();
    assert_eq!(error.to_string(), asked.to_string());
    let sentence = format!("{what} of another user (uid 65534) is there; remove it");
    assert!(error.to_string().contains(&sentence), "{error}");
    assert!(write_text(path, "page").unwrap_err().to_string().contains(&sentence));
    assert!(!is_stream(path));
}

#[test]
fn a_link_of_another_user_is_not_followed() {
    let Some((directory, stranger)) = shared() else { return };
    let victim = tempdir().unwrap();
    let file = victim.path().join("victim");
    fs::write(&file, "precious").unwrap();
    for target in [file.as_path(), Path::new("/dev/null"), Path::new("/nowhere")] {
        let link = directory.path().join("result.json");
        symlink(target, &link).unwrap();
        give(&link, stranger);
        assert_refused(&link, "a link");
        fs::remove_file(&link).unwrap();
    }
    // Nor a link to the directory, nor a link that the user's own link leads to.
    let planted = directory.path().join("planted");
    symlink(victim.path(), &planted).unwrap();
    give(&planted, stranger);
    assert_refused(&planted.join("victim"), "a link");
    let own = victim.path().join("own");
    symlink(planted.join("victim"), &own).unwrap();
    assert_refused(&own, "a link");
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn a_fifo_or_shared_file_of_another_user_is_not_written() {
    let Some((directory, stranger)) = shared() else { return };
    let (fifo, file) = (directory.path().join("fifo"), directory.path().join("file"));
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::write(&file, "theirs").unwrap();
    give(&fifo, stranger);
    give(&file, stranger);
    let error = check_writable(&fifo).unwrap_err().to_string();
    assert!(error.contains("a FIFO of another user (uid 65534)"), "{error}");
    assert_refused(&file, "a file");
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
}

#[test]
fn permissions_of_another_users_file_are_not_copied() {
    let Some((_, stranger)) = shared() else { return };
    let directory = tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "theirs").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    give(&file, stranger);
    write_atomically(&file, &mixed()).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o002, 0);
}

#[test]
fn asking_whether_a_file_can_be_written_changes_nothing() {
    let directory = tempdir().unwrap();
    let old = directory.path().join("old");
    fs::write(&old, "old").unwrap();
    check_writable(&old).unwrap();
    check_writable(&directory.path().join("new")).unwrap();
    assert_eq!(fs::read_to_string(&old).unwrap(), "old");
    assert_eq!(names(&directory), ["old"]);
}

#[test]
fn unwritable_paths_are_detected_beforehand() {
    let directory = tempdir().unwrap();
    for (path, kind) in [
        (directory.path().to_path_buf(), ErrorKind::IsADirectory),
        (directory.path().join("none/r.json"), ErrorKind::NotFound),
        (Path::new("").to_path_buf(), ErrorKind::InvalidInput),
        (directory.path().join("x".repeat(300)), ErrorKind::InvalidFilename),
    ] {
        let error = check_writable(&path).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(write_atomically(&path, &mixed()).is_err());
    }
    assert!(names(&directory).is_empty());
}

#[test]
fn a_file_cut_short_anywhere_is_an_error() {
    let text = to_json(&run(vec![case("pipe", &[1_000])]));
    for end in 0..text.trim_end().len() {
        let error = error_of(&text.as_bytes()[..end]);
        assert!(error.contains("it is cut short"), "{end}: {error}");
    }
}

#[test]
fn files_that_are_not_results_are_rejected_with_the_reason() {
    for (bytes, cause) in [
        (b"\xff\xfe".as_slice(), "it is not JSON"),
        (b"not json", "it is not JSON"),
        (b"{}{}", "it is not JSON"),
        (b"{}", "it has no field `schema`"),
        (b"[1]", "it is not of the form `ipcmark/2`"),
        (br#"{"schema":"ipcmark/3"}"#, "its schema is `ipcmark/3`, not `ipcmark/2`"),
        (br#"{"schema":"ipcmark/2"}"#, "it is not of the form `ipcmark/2`: missing field"),
    ] {
        let error = error_of(bytes);
        assert!(error.contains(cause), "{error}");
    }
    let nested = format!("{{\"schema\":\"ipcmark/2\",\"notes\":{}", "[".repeat(100_000));
    assert!(error_of(nested.as_bytes()).contains("r.json: it is"));
}

#[test]
fn a_file_of_the_old_form_is_identified() {
    // As the previous version wrote it: one case a trial, with the figures among its fields.
    let old = r#"{"schema":"ipcmark/1","complete":true,"cases":[{"transport":"pipe","trial":1,
        "status":"ok","round_trips":1,"times_ns":{"p50":1000}}]}"#;
    let error = error_of(old.as_bytes());
    assert!(
        error.contains("it is of the form `ipcmark/1`") && error.contains("measure again"),
        "{error}"
    );
}

#[test]
fn a_missing_field_is_reported_with_its_path() {
    let text = to_json(&mixed());
    let error = error_of(text.replacen("\"p99_9\"", "\"other\"", 1).as_bytes());
    let place = "cases[0].measurement.round_trips.trials[0].times_ns";
    assert!(error.contains("missing field `p99_9`") && error.contains(place), "{error}");
    let error = error_of(text.replacen("\"touch\"", "\"other\"", 1).as_bytes());
    assert!(error.contains("missing field `touch`") && error.contains("cases[0]"), "{error}");
}

#[test]
fn a_contradictory_case_is_rejected_with_its_path() {
    let good = serde_json::to_value(mixed()).unwrap();
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut wrong = good.clone();
        change(&mut wrong["cases"]);
        error_of(wrong.to_string().as_bytes())
    };
    let take =
        |case: &mut serde_json::Value, field: &str| _ = case.as_object_mut().unwrap().remove(field);
    for (cause, change) in [
        ("pipe: its status is `ok`, but it has no measurement", &|cases| {
            take(&mut cases[0], "measurement")
        }),
        ("pipe: its status is `ok`, but it has a reason", &|cases| {
            cases[0]["reason"] = "none".into()
        }),
        ("pipe: its status is `failed`, but it has a measurement", &|cases| {
            (cases[0]["status"], cases[0]["reason"]) = ("failed".into(), "it hung".into());
        }),
        ("fifo: its status is `failed`, but it has no reason", &|cases| {
            take(&mut cases[1], "reason")
        }),
        ("case 1 (pipe): its measurement is not one of the pattern throughput", &|cases| {
            cases[0]["pattern"] = "throughput".into();
        }),
        ("case 1 (pipe): trial 1: its parts are those of another pattern", &|cases| {
            let measured = cases[0]["measurement"]["round_trips"].clone();
            cases[0]["measurement"] = serde_json::json!({ "stream": measured });
            cases[0]["pattern"] = "throughput".into();
        }),
        ("case 1 (pipe): trial 1: stream.depth.p50 is 9, above its max 8", &|cases| {
            let trial = &mut cases[0]["measurement"]["round_trips"]["trials"][0];
            trial["stream"] = serde_json::json!({ "counted": 1, "depth": { "p50": 9, "max": 8 } });
        }),
        ("case 1 (pipe): trial 1: 9 were sent, but 4 received and 0 lost", &|cases| {
            cases[0]["measurement"]["round_trips"]["trials"][0]["session"]["losses"]["sent"] =
                9.into();
        }),
        ("case 1 (pipe): it was measured, but it has no trial", &|cases| {
            cases[0]["measurement"]["round_trips"]["trials"] = serde_json::json!([]);
        }),
    ] as [(&str, &dyn Fn(&mut serde_json::Value)); 9]
    {
        let error = refused(change);
        assert!(error.contains(cause), "{error}");
    }
}

#[test]
fn a_file_too_large_to_be_a_result_is_not_read() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("sparse");
    fs::File::create(&path).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
    let error = read(&path).unwrap_err();
    assert!(error.contains("it is larger than 1073741824 bytes"), "{error}");
}

#[test]
fn a_count_that_no_trial_has_is_an_error() {
    let mut result = run(vec![case("pipe", &[700])]);
    first_trial(&mut result).times_ns.count = 1 << 43;
    assert!(result.check().is_ok());
    first_trial(&mut result).times_ns.count += 1;
    let error = error_of(&serde_json::to_vec(&result).unwrap());
    let cause = "case 1 (pipe): trial 1: times_ns.count is 8796093022209, more than a trial has";
    assert!(error.ends_with(cause), "{error}");
}

#[test]
fn a_figure_that_is_no_number_costs_its_row_and_not_the_file() {
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
        let mut result = run(vec![case("pipe", &[1_000]), case("fifo", &[1_000])]);
        first_trial(&mut result).clock_free_mean_ns = wrong;
        result.distances.as_mut().unwrap().all[0].floor_round_trip_ns = wrong;
        result.clock.read_ns = wrong;
        let written: RunResult = serde_json::from_str(&to_json(&result)).unwrap();
        written.check().unwrap();
        let statuses = [0, 1].map(|at: usize| written.cases[at].status());
        assert_eq!(statuses, [Status::Failed, Status::Ok]);
        let reason = written.cases[0].reason().unwrap();
        assert!(reason.starts_with("trial 1: clock_free_mean_ns is"), "{reason}");
        assert_eq!((written.distances, written.clock.read_ns), (None, 0.0));
    }
}
