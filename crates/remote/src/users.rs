//! The users whose processes may connect over a Unix socket.

use std::{fs, os::fd::AsFd};

use ipcmark_transport::Error;
use nix::{
    sys::{
        socket::{getsockopt, sockopt::PeerCredentials},
        stat::Mode,
    },
    unistd::{Uid, User, geteuid},
};

/// The id that the kernel shows for a user unknown in the own user namespace.
const OVERFLOW_UID: u32 = 65534;

/// The users accepted in addition to the own one and root.
#[derive(Clone, Debug, Default)]
pub struct AllowedUsers(Vec<Uid>);

impl AllowedUsers {
    /// The users with these names or numbers.
    ///
    /// # Errors
    /// The system does not know one of the names.
    pub fn named(words: &[String]) -> Result<Self, Error> {
        words.iter().map(|word| named(word)).collect::<Result<_, _>>().map(Self)
    }

    /// The permissions of a socket that these users can connect to.
    pub(crate) fn socket_mode(&self) -> Mode {
        Mode::from_bits_truncate(if self.0.is_empty() { 0o600 } else { 0o666 })
    }

    /// The user of the peer process, as the kernel recorded it when the peer connected or listened.
    ///
    /// # Errors
    /// The user is not accepted.
    pub(crate) fn check(&self, socket: &impl AsFd) -> Result<Uid, Error> {
        let peer = getsockopt(socket, PeerCredentials)
            .map_err(|e| Error::os("find out the user of", "the other command", e))?;
        let (user, process) = (Uid::from_raw(peer.uid()), peer.pid());
        if is_unknown(user) {
            let cause = "its user is not one of this user namespace";
            return Err(Error::new("accept", format!("process {process}"), cause)
                .remedy("run both commands in one user namespace, or connect over TCP"));
        }
        let is_accepted = user.is_root() || user == geteuid() || self.0.contains(&user);
        if is_accepted {
            return Ok(user);
        }
        let cause = format!("it belongs to the user {user}");
        Err(Error::new("accept", format!("process {process}"), cause)
            .remedy(format!("to accept that user: --allow-user {user}")))
    }
}

fn named(word: &str) -> Result<Uid, Error> {
    if let Ok(number) = word.parse() {
        return Ok(Uid::from_raw(number));
    }
    let object = format!("the user '{}'", word.escape_debug());
    let found = User::from_name(word).map_err(|e| Error::os("find", object.clone(), e))?;
    let user =
        found.ok_or_else(|| Error::new("find", object, "the system has none of this name"))?;
    Ok(user.uid)
}

/// True if the id can stand for any user that this user namespace does not map.
fn is_unknown(user: Uid) -> bool {
    user.as_raw() == OVERFLOW_UID && !maps_all_users()
}

fn maps_all_users() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_own_user_is_accepted_and_users_are_named_or_numbered() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(AllowedUsers::default().check(&one).unwrap(), geteuid());
        let words = ["root", "4242"].map(String::from);
        let allowed = AllowedUsers::named(&words).unwrap();
        assert_eq!(allowed.0, [Uid::from_raw(0), Uid::from_raw(4242)]);
        assert_eq!(allowed.socket_mode().bits(), 0o666);
        assert_eq!(AllowedUsers::default().socket_mode().bits(), 0o600);
        let error = AllowedUsers::named(&["no such user".into()]).unwrap_err().to_string();
        assert!(error.contains("none of this name"), "{error}");
    }
}
