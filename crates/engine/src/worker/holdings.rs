//! The resources that this process holds while its endpoint is open: its threads and the kernel's queues, read back
//! from the system, whatever was requested and whatever code opened them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, mem,
    os::fd::RawFd,
    path::PathBuf,
};

use ipcmark_results::{ChannelKind, ChannelRecord};

use super::descriptors::{self, NamedDescriptors, socket_option};
use crate::wire::Holdings;

/// The file system of POSIX message queues.
const MQUEUE_MAGIC: i64 = 0x1980_0202;

/// The objects whose descriptors were open before an endpoint was: none of them belongs to the endpoint.
pub(super) struct Before(BTreeSet<PathBuf>);

impl Before {
    /// The objects that are open now.
    pub(super) fn now() -> Self {
        Self(descriptors::all().into_values().collect())
    }

    /// The resources opened since, among the descriptors that are open now.
    pub(super) fn holdings(&self, open: &NamedDescriptors) -> Holdings {
        let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count) as u32;
        let new = open.iter().filter(|(_, object)| !self.0.contains(*object));
        let mut channels: BTreeMap<ChannelRecord, u32> = BTreeMap::new();
        for channel in new.filter_map(|(fd, object)| channel(*fd, &object.to_string_lossy())) {
            *channels.entry(channel).or_default() += 1;
        }
        let counted =
            channels.into_iter().map(|(channel, count)| ChannelRecord { count, ..channel });
        Holdings { threads, channels: counted.collect() }
    }
}

/// The queue behind a descriptor, if there is one. A library's thread may close the descriptor at any time; then
/// there is none.
fn channel(fd: RawFd, object: &str) -> Option<ChannelRecord> {
    if object.starts_with("socket:") {
        return socket(fd);
    }
    let (kind, bytes) = match pipe_bytes(fd) {
        Some(bytes) => (ChannelKind::Pipe, bytes),
        None => (ChannelKind::MessageQueue, queue_bytes(fd)?),
    };
    Some(ChannelRecord { kind, count: 1, send_bytes: bytes, receive_bytes: bytes, no_delay: None })
}

fn socket(fd: RawFd) -> Option<ChannelRecord> {
    let of_socket = |name| socket_option(fd, libc::SOL_SOCKET, name);
    if of_socket(libc::SO_ACCEPTCONN)? != 0 {
        return None;
    }
    let kind = match (of_socket(libc::SO_DOMAIN)?, of_socket(libc::SO_TYPE)?) {
        (libc::AF_UNIX, libc::SOCK_STREAM) => ChannelKind::UnixStream,
        (libc::AF_UNIX, libc::SOCK_DGRAM) => ChannelKind::UnixDatagram,
        (libc::AF_UNIX, libc::SOCK_SEQPACKET) => ChannelKind::UnixSeqpacket,
        (libc::AF_INET | libc::AF_INET6, libc::SOCK_STREAM) => ChannelKind::Tcp,
        (libc::AF_INET | libc::AF_INET6, libc::SOCK_DGRAM) => ChannelKind::Udp,
        _ => return None,
    };
    let no_delay = (kind == ChannelKind::Tcp)
        .then(|| socket_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY).map(|on| on != 0));
    Some(ChannelRecord {
        kind,
        count: 1,
        send_bytes: u64::try_from(of_socket(libc::SO_SNDBUF)?).ok()?,
        receive_bytes: u64::try_from(of_socket(libc::SO_RCVBUF)?).ok()?,
        no_delay: no_delay.flatten(),
    })
}

/// The capacity of a pipe.
fn pipe_bytes(fd: RawFd) -> Option<u64> {
    // SAFETY: no memory is passed.
    u64::try_from(unsafe { libc::fcntl(fd, libc::F_GETPIPE_SZ) }).ok()
}

/// The capacity of a POSIX message queue.
fn queue_bytes(fd: RawFd) -> Option<u64> {
    // SAFETY: all zeros are valid for both, which outlive the calls.
    let (found, attributes) = unsafe {
        let (mut system, mut attributes): (libc::statfs, libc::mq_attr) = mem::zeroed();
        let found = libc::fstatfs(fd, &mut system) == 0
            && system.f_type == MQUEUE_MAGIC
            && libc::mq_getattr(fd, &mut attributes) == 0;
        (found, attributes)
    };
    let messages = u64::try_from(attributes.mq_maxmsg).ok().filter(|_| found)?;
    messages.checked_mul(u64::try_from(attributes.mq_msgsize).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        net::{TcpListener, TcpStream},
        os::unix::net::UnixStream,
    };

    #[test]
    fn channels_opened_later_are_read_back_from_the_system() {
        let early = UnixStream::pair().unwrap();
        let before = Before::now();
        let unix = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        tcp.set_nodelay(true).unwrap();
        let pipe = nix::unistd::pipe().unwrap();
        let holdings = before.holdings(&descriptors::all());
        assert!(holdings.threads > 0);
        // Other tests of this process open their own meanwhile.
        let of = |kind| holdings.channels.iter().filter(move |channel| channel.kind == kind);
        assert!(of(ChannelKind::UnixStream).map(|channel| channel.count).sum::<u32>() >= 2);
        assert!(of(ChannelKind::Tcp).any(|channel| channel.no_delay == Some(true)));
        assert!(of(ChannelKind::Pipe).any(|channel| channel.send_bytes >= 4096));
        assert!(holdings.channels.iter().all(|channel| channel.count > 0));
        drop((early, unix, listener, tcp, pipe));
    }

    #[test]
    fn files_that_are_not_queues_are_left_out() {
        let file = fs::File::open("/proc/self/exe").unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        assert_eq!(channel(fd, "/program"), None);
        assert_eq!(channel(-1, "socket:[1]"), None);
    }
}
