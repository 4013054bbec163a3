//! The resources that a process held while it was measured: its threads, and the system's queues.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of queue in the kernel.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelKind {
    /// A pipe, with or without a name.
    Pipe,
    /// A Unix domain socket that carries a stream.
    UnixStream,
    /// A Unix domain socket that carries datagrams, in order and whole.
    UnixDatagram,
    /// A Unix domain socket that carries packets over a connection.
    UnixSeqpacket,
    /// A TCP connection.
    Tcp,
    /// A UDP socket.
    Udp,
    /// A POSIX message queue.
    MessageQueue,
}

impl ChannelKind {
    /// The words for it in sentences.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::UnixStream => "Unix stream socket",
            Self::UnixDatagram => "Unix datagram socket",
            Self::UnixSeqpacket => "Unix packet socket",
            Self::Tcp => "TCP socket",
            Self::Udp => "UDP socket",
            Self::MessageQueue => "message queue",
        }
    }
}

/// Equal kernel queues that a process has open, read back from the system after they were opened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ChannelRecord {
    /// The kind of the queues.
    pub kind: ChannelKind,
    /// The number of them.
    pub count: u32,
    /// Bytes that each holds on its way out, as the system counts them: for sockets including the kernel's bookkeeping,
    /// for pipes and message queues their whole capacity.
    pub send_bytes: u64,
    /// The same on its way in.
    pub receive_bytes: u64,
    /// For TCP: true if small messages are sent at once (`TCP_NODELAY`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_delay: Option<bool>,
}
