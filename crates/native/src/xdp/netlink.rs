//! The two requests to the kernel that a pair needs, as rtnetlink takes them.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::{
    errno::Errno,
    sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket},
};

/// Numbers of `linux/if_link.h` and `linux/veth.h`, which the crate lacks in part.
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_XDP: u16 = 43;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFLA_XDP_FD: u16 = 1;
const IFLA_XDP_FLAGS: u16 = 3;
/// In the driver, not in front of the network stack.
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// Bytes of a message's head, of the interface's description, and of an attribute's head.
const HEAD: usize = 16;

/// A way to ask the kernel about the interfaces of the namespace in which it was made.
pub struct Netlink(OwnedFd);

impl Netlink {
    /// Of the namespace that the calling thread is in.
    pub fn new() -> Result<Self, Errno> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let route = SockProtocol::NetlinkRoute;
        socket(AddressFamily::Netlink, SockType::Raw, flags, route).map(Self)
    }

    /// Makes a virtual Ethernet pair of interfaces with these numbers and names, one queue each.
    pub fn make_pair(&self, numbers: [u32; 2], names: [&str; 2], mtu: u32) -> Result<(), Errno> {
        let properties = |name: &str| {
            let mut bytes = attribute(IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
            for (kind, number) in
                [(IFLA_MTU, mtu), (IFLA_NUM_TX_QUEUES, 1), (IFLA_NUM_RX_QUEUES, 1)]
            {
                bytes.extend(attribute(kind, &number.to_ne_bytes()));
            }
            bytes
        };
        let peer = [interface(numbers[1], 0), properties(names[1])].concat();
        let data = attribute(IFLA_INFO_DATA, &attribute(VETH_INFO_PEER, &peer));
        let info = [attribute(IFLA_INFO_KIND, b"veth"), data].concat();
        let body =
            [interface(numbers[0], 0), properties(names[0]), attribute(IFLA_LINKINFO, &info)]
                .concat();
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.ask(libc::RTM_NEWLINK, flags as u16, &body)
    }

    /// Sets an interface up, with an XDP program.
    pub fn raise(&self, number: u32, program: RawFd) -> Result<(), Errno> {
        let xdp = [
            attribute(IFLA_XDP_FD, &program.to_ne_bytes()),
            attribute(IFLA_XDP_FLAGS, &XDP_FLAGS_DRV_MODE.to_ne_bytes()),
        ];
        let body = [interface(number, libc::IFF_UP as u32), attribute(IFLA_XDP, &xdp.concat())];
        self.ask(libc::RTM_NEWLINK, 0, &body.concat())
    }

    /// Sends a request, and reads whether it was done.
    fn ask(&self, kind: u16, flags: u16, body: &[u8]) -> Result<(), Errno> {
        let flags = flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut message = ((HEAD + body.len()) as u32).to_ne_bytes().to_vec();
        message.extend([kind.to_ne_bytes(), flags.to_ne_bytes()].concat());
        message.extend([0; 8]);
        message.extend(body);
        send(self.0.as_raw_fd(), &message, MsgFlags::empty())?;
        // A head, then the error, 0 for none, then the request.
        let mut answer = [0; 4096];
        let count = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        let error = answer[..count].get(HEAD..HEAD + 4).ok_or(Errno::EBADMSG)?;
        match i32::from_ne_bytes([error[0], error[1], error[2], error[3]]) {
            0 => Ok(()),
            error => Err(Errno::from_raw(-error)),
        }
    }
}

/// The description of an interface: its number, and the flags to set.
fn interface(number: u32, flags: u32) -> Vec<u8> {
    let words = [0, number, flags, flags];
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// An attribute, padded to whole words.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = (4 + value.len()) as u16;
    let mut bytes = [len.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
