//! Frames of bytes and descriptors between processes of one machine, and the rendezvous in which endpoints
//! find each other.
//!
//! A frame travels as one record of a `SOCK_SEQPACKET` Unix socket: whole or not at all, its descriptors
//! closed on exec at the receiver.

mod frame;
mod rendezvous;

pub use frame::FrameSocket;
pub use rendezvous::SocketRendezvous;
