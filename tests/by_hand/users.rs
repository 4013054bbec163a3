//! The users at the two ends of a Unix socket, the permissions of its file, and exhausted system limits.

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        net::UnixListener,
    },
    process::Command,
};

use ipcmark_results::Status;
use nix::sys::stat::{Mode, umask};

use super::run_directory::{RunDirectory, assert_all};
use crate::support::{
    Running, Verdict, end, ipcmark_under, is_root, processes::await_listener, works,
};

ipcmark_harness::tests![
    a_leader_of_another_user_is_served_only_if_allowed,
    a_follower_of_another_user_is_accepted_only_if_allowed,
    the_permissions_of_the_socket_do_not_depend_on_the_umask,
    a_leader_that_cannot_start_a_thread_says_so,
    a_live_socket_of_another_service_stays,
];

const NOBODY: u32 = 65534;

const WORDS: &str = "leader -t pipe,uds-stream -w spin -s 64 -n 100 --trials 1 --format json";

/// `ipcmark` as another user, with a socket in a directory that this user may write to.
fn of_user(user: u32, place: &RunDirectory, words: &str) -> Command {
    fs::set_permissions(place.path(""), Permissions::from_mode(0o777)).unwrap();
    let (uid, gid) = (format!("--reuid={user}"), format!("--regid={user}"));
    let mut command = ipcmark_under("setpriv", &[&uid, &gid, "--clear-groups"], words);
    command.arg("--socket").arg(place.path("socket"));
    command
}

/// The reason why no other user's command can be started here, if any.
fn lacking() -> Option<Verdict> {
    if !is_root() {
        return Some(Verdict::Skipped("only root may be another user".into()));
    }
    let works = works("setpriv", &["--version"]);
    (!works).then(|| Verdict::Skipped("there is no setpriv".into()))
}

/// Regression: root's follower obeyed any process that had bound the path.
fn a_leader_of_another_user_is_served_only_if_allowed() -> Verdict {
    if let Some(verdict) = lacking() {
        return verdict;
    }
    let place = RunDirectory::new();
    let leader =
        Running::start(&mut of_user(NOBODY, &place, &format!("{WORDS} --allow-user root")));
    await_listener(&place.path("socket"));
    let refused = end(&mut place.here("follower")).exits(1);
    assert!(refused.stderr.contains("--allow-user 65534"), "{}", refused.stderr);
    let served = Running::start(&mut place.here("follower --allow-user nobody"));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    served.end().exits(0);
    Verdict::Holds
}

fn a_follower_of_another_user_is_accepted_only_if_allowed() -> Verdict {
    if let Some(verdict) = lacking() {
        return verdict;
    }
    let place = RunDirectory::new();
    let leader = Running::start(&mut place.here(&format!("{WORDS} --allow-user nobody")));
    await_listener(&place.path("socket"));
    let refused = end(&mut of_user(4242, &place, "follower")).exits(1);
    assert!(refused.stderr.contains("--allow-user 4242"), "{}", refused.stderr);
    leader.await_words("rejected a connection");
    // A follower serves root by default.
    let accepted = Running::start(&mut of_user(NOBODY, &place, "follower"));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    accepted.end().exits(0);
    Verdict::Holds
}

/// Regression: they followed the umask: with `umask 0`, which the documentation recommended, everybody could connect.
fn the_permissions_of_the_socket_do_not_depend_on_the_umask() {
    for mask in [0o000, 0o077, 0o777] {
        for (flags, mode) in [("", 0o600), (" --allow-user root", 0o666)] {
            let place = RunDirectory::new();
            let before = umask(Mode::from_bits_truncate(mask));
            let leader = Running::start(&mut place.here(&format!("leader -t pipe{flags}")));
            umask(before);
            await_listener(&place.path("socket"));
            let found = fs::metadata(place.path("socket")).unwrap().mode() & 0o777;
            assert_eq!(found, mode, "umask {mask:o}{flags}");
            drop(leader);
        }
    }
}

/// Regression: it panicked, or stayed alive and served nobody.
fn a_leader_that_cannot_start_a_thread_says_so() -> Verdict {
    if let Some(verdict) = lacking() {
        return verdict;
    }
    // A user without other processes: the limit counts processes of the whole machine.
    let user = 60_000 + std::process::id() % 5_000;
    let place = RunDirectory::new();
    fs::set_permissions(place.path(""), Permissions::from_mode(0o777)).unwrap();
    chown(place.path("secret"), Some(user), Some(user)).unwrap();
    let (uid, gid) = (format!("--reuid={user}"), format!("--regid={user}"));
    let under = [&uid, &gid, "--clear-groups", "prlimit", "--nproc=1"];
    let mut leader = ipcmark_under("setpriv", &under, "leader -t pipe");
    leader.arg("--socket").arg(place.path("socket"));
    let ended = end(&mut leader).exits(1);
    assert!(ended.stderr.contains("ulimit -u"), "{}", ended.stderr);
    assert!(!place.path("socket").exists());
    Verdict::Holds
}

/// Regression: it refuses the connection with a different error than a dead one, and lost its socket.
fn a_live_socket_of_another_service_stays() {
    let place = RunDirectory::new();
    let service = UnixListener::bind(place.path("socket")).unwrap();
    let ended = end(&mut place.here("leader -t pipe")).exits(1);
    assert!(ended.stderr.contains("in use by another process"), "{}", ended.stderr);
    assert!(place.path("socket").exists());
    drop(service);
}
