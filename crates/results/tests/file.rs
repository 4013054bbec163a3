//! The result file: written whole or not at all, read with care.

mod sample;

use std::{
    fs,
    io::{ErrorKind, Read},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    thread,
};

use ipcmark_results::*;
use proptest::prelude::*;
use sample::{case, mixed, run};
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
        mean in 0.0..f64::MAX, cpu in 0.0..1e12, samples in prop::collection::vec(0..1u64 << 40, 0..9),
    ) {
        let directory = tempdir().unwrap();
        let path = directory.path().join("r.json");
        let mut result = run(vec![case("pipe", &samples)]);
        let figures = result.cases[0].figures.as_mut().unwrap();
        figures.round_trip_ns.bulk_mean = mean;
        figures.cpu_ns_per_message.leader = cpu;
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
fn what_cannot_be_written_is_said_before() {
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
        // Within `4.5`, what is left is no number, and so no JSON.
        let cut_number = text[..end].ends_with(['.', 'e', '-']) && error.contains("invalid number");
        assert!(error.contains("it is cut short") || cut_number, "{end}: {error}");
    }
}

#[test]
fn what_is_no_result_is_named() {
    for (bytes, cause) in [
        (b"\xff\xfe".as_slice(), "it is not JSON"),
        (b"not json", "it is not JSON"),
        (b"{}{}", "it is not JSON"),
        (b"{}", "it has no field `schema`"),
        (b"[1]", "it is not of the form `ipcmark/1`"),
        (br#"{"schema":"ipcmark/2"}"#, "its schema is `ipcmark/2`, not `ipcmark/1`"),
        (br#"{"schema":"ipcmark/1"}"#, "it is not of the form `ipcmark/1`: missing field"),
    ] {
        let error = error_of(bytes);
        assert!(error.contains(cause), "{error}");
    }
    let nested = format!("{{\"schema\":\"ipcmark/1\",\"notes\":{}", "[".repeat(100_000));
    assert!(error_of(nested.as_bytes()).contains("r.json: it is"));
}

#[test]
fn a_case_that_contradicts_itself_is_named() {
    let text = to_json(&mixed());
    let error = error_of(text.replace("\"p99_9\"", "\"other\"").as_bytes());
    assert!(error.contains("case 1 (pipe): missing field `p99_9`"), "{error}");
    let error = error_of(text.replace("\"ok\"", "\"failed\"").as_bytes());
    assert!(error.contains("case 1 (pipe): its status is not `ok`, but"), "{error}");
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
fn a_figure_that_is_no_number_costs_its_row_and_not_the_file() {
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
        let mut result = run(vec![case("pipe", &[1_000]), case("fifo", &[1_000])]);
        result.cases[0].figures.as_mut().unwrap().cpu_ns_per_message.follower = wrong;
        result.floor = Some(Floor { round_trip_ns: wrong, lowest_ns: 1.0, highest_ns: 1.0 });
        result.clock.read_ns = wrong;
        let written: RunResult = serde_json::from_str(&to_json(&result)).unwrap();
        written.check().unwrap();
        assert_eq!(
            (written.cases[0].status, written.cases[1].status),
            (Status::Failed, Status::Ok)
        );
        let reason = written.cases[0].reason.as_deref().unwrap();
        assert!(reason.starts_with("cpu_ns_per_message.follower is"), "{reason}");
        assert_eq!((written.floor, written.clock.read_ns), (None, 0.0));
    }
}
