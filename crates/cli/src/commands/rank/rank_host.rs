//! The location of a rank, and the way in which another one reaches it.

use std::{
    fs,
    io::{self, Read},
    net::TcpListener,
    os::unix::fs::MetadataExt,
};

use ipcmark_report::plain;

use super::rendezvous::RankRendezvous;
use crate::arguments::by_hand::{FollowerArguments, LeaderLocation};

/// The files that a leader writes for its followers: its address, and the secret for followers on
/// other machines.
const LEADER: &str = "leader";
const SECRET: &str = "secret";

/// The address of a leader that listens at the socket in the rendezvous directory.
const SOCKET: &str = "socket";

/// The most characters of a host name that are published.
const LONGEST_NAME: usize = 64;

/// The machine and the network namespace of a rank, and its host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RankHost {
    /// The boot id: it identifies one boot of one machine.
    pub machine: String,
    network: String,
    pub host: String,
}

impl RankHost {
    /// The location of this process.
    pub(super) fn here() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let network = fs::metadata("/proc/self/ns/net").map_or(0, |network| network.ino());
        let host = host_name().unwrap_or_else(|_| "host".into());
        Self { machine: boot.trim().into(), network: network.to_string(), host }
    }

    /// The location as a line of a file.
    pub(super) fn line(&self) -> String {
        format!("{} {} {}", self.machine, self.network, self.host)
    }

    /// Parses the location that a rank wrote. The text is untrusted, except for the machine that it
    /// names.
    pub(super) fn of_line(line: &str) -> Self {
        let mut words = line.splitn(3, ' ').map(|word| plain(word.trim()));
        let mut next = || words.next().unwrap_or_default().chars().take(LONGEST_NAME).collect();
        Self { machine: next(), network: next(), host: next() }
    }

    /// True if both reach each other without a network between hosts.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        (&self.machine, &self.network) == (&other.machine, &other.network)
    }
}

/// Chooses where a leader listens, and publishes it. Followers on the same host and network use a socket,
/// which needs no secret.
pub(super) fn listen(
    rendezvous: &RankRendezvous<'_>,
    are_beside: bool,
    address: Option<&str>,
) -> Result<LeaderLocation, String> {
    if are_beside {
        let socket = rendezvous.path(SOCKET);
        rendezvous.put(LEADER, SOCKET)?;
        return Ok(LeaderLocation { socket: Some(socket), ..LeaderLocation::default() });
    }
    let port = free_port().map_err(|e| format!("cannot find a free port: {e}"))?;
    let host = match address {
        Some(host) => host.to_owned(),
        None => {
            host_name().map_err(|e| format!("cannot find the host's name: {e}; name --address"))?
        }
    };
    rendezvous.put(SECRET, &secret().map_err(|e| format!("cannot make a secret: {e}"))?)?;
    rendezvous.put(LEADER, &format!("{host}:{port}"))?;
    Ok(LeaderLocation {
        listen: Some(format!("0.0.0.0:{port}")),
        secret: Some(rendezvous.path(SECRET)),
        ..LeaderLocation::default()
    })
}

/// The address that the leader has published, if it has.
pub(super) fn leader(rendezvous: &RankRendezvous<'_>) -> Option<String> {
    rendezvous.read(LEADER)
}

/// A follower that connects to the leader's published address.
pub(super) fn reaches(
    leader: String,
    rendezvous: &RankRendezvous<'_>,
    mut follower: FollowerArguments,
) -> FollowerArguments {
    if leader == SOCKET {
        follower.socket = Some(rendezvous.path(SOCKET));
    } else {
        follower.connect = Some(leader);
        follower.secret = Some(rendezvous.path(SECRET));
    }
    follower
}

fn host_name() -> nix::Result<String> {
    Ok(nix::unistd::gethostname()?.to_string_lossy().into_owned())
}

/// A port that is currently free.
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
    fn a_location_reads_back_as_written() {
        let here = RankHost::here();
        assert_eq!(RankHost::of_line(&here.line()), here);
        assert!(here.is_beside(&here));
        let elsewhere = RankHost { network: "1".into(), ..here.clone() };
        assert!(!here.is_beside(&elsewhere));
        let odd = RankHost::of_line(&format!("a b \x1b[2J{}", "x".repeat(1_000)));
        assert!(!odd.host.contains('\x1b') && odd.host.chars().count() <= LONGEST_NAME);
        assert_eq!(RankHost::of_line("").host, "");
    }
}
