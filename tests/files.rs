//! The files that users name: results, reports, pages, plans and lists of sizes. Files planted by others are not
//! written to, and endless files are not read to the end.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, lchown, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Ended, IPCMARK, Verdict, end, ipcmark, is_root, read, works};
use nix::{sys::stat::Mode, unistd::mkfifo};

ipcmark_harness::tests![
    a_link_of_another_user_is_not_followed,
    a_link_of_the_same_user_is_followed,
    streams_of_the_same_user_are_written_to,
    a_plan_comes_from_a_pipe,
    files_without_an_end_are_refused,
];

/// The user `nobody`.
const STRANGER: u32 = 65534;

const RUN: &str = "run -t pipe -w block -s 64 -n 50 -o";

/// A directory that everyone may write to, like `/tmp`.
fn shared() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    directory
}

fn planted(directory: &Path, target: &Path) -> PathBuf {
    let link = directory.join("planted");
    symlink(target, &link).unwrap();
    lchown(&link, Some(STRANGER), None).unwrap();
    link
}

/// Refused in one sentence, before anything is measured.
#[track_caller]
fn refused(ended: Ended, code: i32, sentence: &str) {
    let ended = ended.exits(code);
    assert_eq!(ended.stdout, "");
    let said = ended.stderr;
    assert!(said.starts_with("ipcmark: cannot") && said.contains(sentence), "{said}");
}

fn a_link_of_another_user_is_not_followed() -> Verdict {
    if !is_root() {
        return Verdict::Skipped("only root can make a link of another user".into());
    }
    let (directory, own) = (shared(), tempfile::tempdir().unwrap());
    let (victim, result) = (own.path().join("victim"), own.path().join("result.json"));
    fs::write(&victim, "precious").unwrap();
    let link = planted(directory.path(), &victim);
    let sentence = "a link of another user (uid 65534) is there; remove it, or name another place";
    refused(end(ipcmark(RUN).arg(&link)), 2, sentence);
    end(ipcmark(RUN).arg(&result)).exits(0);
    refused(end(ipcmark("report").arg(&result).arg("-o").arg(&link)), 1, sentence);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    Verdict::Holds
}

fn a_link_of_the_same_user_is_followed() {
    let directory = shared();
    let (link, file) = (directory.path().join("latest.json"), directory.path().join("first.json"));
    symlink("first.json", &link).unwrap();
    end(ipcmark(RUN).arg(&link)).exits(0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(read(&file).complete);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

fn streams_of_the_same_user_are_written_to() -> Verdict {
    if !works("bash", &["-c", "true"]) {
        return Verdict::Skipped("there is no bash, which has process substitution".into());
    }
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let run = format!("{} {RUN}", IPCMARK);
    for line in [
        format!("{run} >(cat >substituted) >/dev/null; wait $!"),
        format!("{run} /dev/stdout --format csv | grep -v , >named"),
        format!("{run} /dev/fd/3 3>descriptor >/dev/null"),
        format!("cat fifo >from-fifo & {run} fifo >/dev/null; wait"),
    ] {
        let shell = ["-c", &format!("set -o pipefail; {line}")];
        end(Command::new("bash").args(shell).current_dir(directory.path())).exits(0);
    }
    for name in ["substituted", "descriptor", "from-fifo"] {
        assert!(read(&directory.path().join(name)).complete, "{name}");
    }
    let named = fs::read_to_string(directory.path().join("named")).unwrap();
    assert!(named.starts_with("{\n") && named.ends_with("}\n"), "{named}");
    Verdict::Holds
}

fn a_plan_comes_from_a_pipe() -> Verdict {
    if !works("bash", &["-c", "true"]) {
        return Verdict::Skipped("there is no bash, which has process substitution".into());
    }
    let line = format!(
        "{} run <(printf 'transports = \"pipe\"\\nwaits = \"block\"\\nround-trips = 50') \
         -s @<(sleep 0.3; echo '64;128') --format json",
        IPCMARK
    );
    let result = end(Command::new("bash").args(["-c", &line])).exits(0).result();
    // They appear in the order of measurement, which is random.
    let sizes: BTreeSet<u64> =
        result.cases.iter().map(|case| case.identity.payload_bytes).collect();
    assert_eq!(sizes, BTreeSet::from([64, 128]));
    Verdict::Holds
}

fn files_without_an_end_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (fifo, large) = (directory.path().join("fifo"), directory.path().join("large"));
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    for (path, cause) in [
        (Path::new("/dev/zero"), "it is a device, not a file or a pipe"),
        (&large, "it is larger than 1 MiB"),
        (&fifo, "it is a pipe whose writers did not finish within 10 s"),
    ] {
        let name = path.display();
        let plan = format!("cannot read the plan {name}: {cause}");
        refused(end(ipcmark("run").arg(path)), 2, &plan);
        let ended = end(&mut ipcmark(&format!("run -s @{name}"))).exits(2);
        let sentence = format!("cannot read the payloads in {name}: {cause}");
        assert!(ended.stderr.contains(&sentence), "{}", ended.stderr);
    }
}
