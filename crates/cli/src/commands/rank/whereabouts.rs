//! Where a rank is, and how another one reaches it.

use std::{
    fs,
    io::{self, Read},
    net::TcpListener,
    os::unix::fs::MetadataExt,
};

use ipcmark_report::plain;

use super::meeting::Meeting;
use crate::arguments::by_hand::{FollowerArguments, LeaderPlace};

/// What a leader leaves for its followers: where it is, and the secret of those on other machines.
const LEADER: &str = "leader";
const SECRET: &str = "secret";

/// The word for a leader that listens at the socket in the meeting.
const SOCKET: &str = "socket";

/// The most characters of a host's name that are told.
const LONGEST_NAME: usize = 64;

/// The machine and the network that a rank is in, and the name of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whereabouts {
    /// Of one start of one machine.
    pub machine: String,
    network: String,
    pub host: String,
}

impl Whereabouts {
    /// Those of this process.
    pub(super) fn here() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let network = fs::metadata("/proc/self/ns/net").map_or(0, |network| network.ino());
        let host = host_name().unwrap_or_else(|_| "host".into());
        Self { machine: boot.trim().into(), network: network.to_string(), host }
    }

    /// As a line of a file.
    pub(super) fn line(&self) -> String {
        format!("{} {} {}", self.machine, self.network, self.host)
    }

    /// Those that a rank has left, of whom nothing is believed but which machine it says it is on.
    pub(super) fn of_line(line: &str) -> Self {
        let mut words = line.splitn(3, ' ').map(|word| plain(word.trim()));
        let mut next = || words.next().unwrap_or_default().chars().take(LONGEST_NAME).collect();
        Self { machine: next(), network: next(), host: next() }
    }

    /// True if both reach each other without a network of hosts.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        (&self.machine, &self.network) == (&other.machine, &other.network)
    }
}

/// Where a leader listens, and tells the others so. Followers beside it meet it at a socket, which needs no secret.
pub(super) fn listen(
    meeting: &Meeting<'_>,
    are_beside: bool,
    address: Option<&str>,
) -> Result<LeaderPlace, String> {
    if are_beside {
        let socket = meeting.path(SOCKET);
        meeting.put(LEADER, SOCKET)?;
        return Ok(LeaderPlace { socket: Some(socket), ..LeaderPlace::default() });
    }
    let port = free_port().map_err(|e| format!("cannot find a free port: {e}"))?;
    let host = match address {
        Some(host) => host.to_owned(),
        None => {
            host_name().map_err(|e| format!("cannot find the host's name: {e}; name --address"))?
        }
    };
    meeting.put(SECRET, &secret().map_err(|e| format!("cannot make a secret: {e}"))?)?;
    meeting.put(LEADER, &format!("{host}:{port}"))?;
    Ok(LeaderPlace {
        listen: Some(format!("0.0.0.0:{port}")),
        secret: Some(meeting.path(SECRET)),
        ..LeaderPlace::default()
    })
}

/// What the leader has said of where it is, if it has.
pub(super) fn leader(meeting: &Meeting<'_>) -> Option<String> {
    meeting.read(LEADER)
}

/// A follower that finds the leader where that said it is.
pub(super) fn reaches(
    leader: String,
    meeting: &Meeting<'_>,
    mut follower: FollowerArguments,
) -> FollowerArguments {
    if leader == SOCKET {
        follower.socket = Some(meeting.path(SOCKET));
    } else {
        follower.connect = Some(leader);
        follower.secret = Some(meeting.path(SECRET));
    }
    follower
}

fn host_name() -> nix::Result<String> {
    Ok(nix::unistd::gethostname()?.to_string_lossy().into_owned())
}

/// A port that is free now.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("0.0.0.0", 0))?.local_addr()?.port())
}

/// A secret for this job.
fn secret() -> io::Result<String> {
    let mut bytes = [0; 32];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rank_leaves_is_read_again() {
        let here = Whereabouts::here();
        assert_eq!(Whereabouts::of_line(&here.line()), here);
        assert!(here.is_beside(&here));
        let elsewhere = Whereabouts { network: "1".into(), ..here.clone() };
        assert!(!here.is_beside(&elsewhere));
        let odd = Whereabouts::of_line(&format!("a b \x1b[2J{}", "x".repeat(1_000)));
        assert!(!odd.host.contains('\x1b') && odd.host.chars().count() <= LONGEST_NAME);
        assert_eq!(Whereabouts::of_line("").host, "");
    }
}
