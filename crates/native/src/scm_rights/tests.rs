//! Both ends in one process, and descriptors that no end of ours sends.

use std::{
    fs::File,
    os::fd::{AsFd, AsRawFd},
};

use nix::{
    fcntl::{FcntlArg, SealFlag, fcntl},
    sys::memfd::{MFdFlags, memfd_create},
};

use super::*;
use crate::testing::{queue::ends, receive, send, settings, with_ends};

crate::testing::queue::reliable_queue!(super::TRANSPORT);

#[test]
fn a_message_that_is_mapped_arrives_as_one_that_is_read() {
    for wait in [Wait::Spin, Wait::Block] {
        let mut settings = settings(wait, 1 << 20);
        settings.options.insert("receive".into(), "map".into());
        with_ends(
            &TRANSPORT,
            &settings,
            |mut end| {
                for (seed, len) in [16, 4096, 100_001, 1 << 20, 17].into_iter().enumerate() {
                    send(&mut end, len, seed);
                    receive(&mut end, len, seed + 1000);
                }
            },
            |mut end| {
                for (seed, len) in [16, 4096, 100_001, 1 << 20, 17].into_iter().enumerate() {
                    receive(&mut end, len, seed);
                    send(&mut end, len, seed + 1000);
                }
            },
        );
    }
}

#[test]
fn a_message_cannot_change_once_it_is_sent() {
    let file = file::make(&[7; 100]).unwrap();
    file::check(&file, 100).unwrap();
    let file = File::from(file);
    assert!(file.set_len(0).is_err() && file.set_len(200).is_err());
    assert!(std::io::Write::write(&mut &file, b"x").is_err());
    let mapped = MappedMessage::new(&file.into(), 100).unwrap();
    assert_eq!(mapped[..], [7; 100]);
}

#[test]
fn a_descriptor_that_is_no_sealed_memory_file_of_this_size_is_refused() {
    let refused = |file: OwnedFd, len| file::check(&file, len).unwrap_err().to_string();
    assert!(refused(file::make(&[0; 64]).unwrap(), 65).contains("a size"));
    assert!(refused(File::open("/dev/zero").unwrap().into(), 64).contains("seals"));
    let (pipe, _write) = nix::unistd::pipe().unwrap();
    assert!(refused(pipe, 64).contains("seals"));
    let unsealed = memfd_create("ipcmark-test", MFdFlags::MFD_ALLOW_SEALING).unwrap();
    File::from(unsealed.try_clone().unwrap()).set_len(64).unwrap();
    fcntl(&unsealed, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK)).unwrap();
    assert!(refused(unsealed, 64).contains("seals"), "it can be written to");
}

/// The receiver's error for a packet with these descriptors.
fn answer(fds: &[&dyn AsFd], bytes: &[u8]) -> String {
    use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
    let (leader, mut follower) = ends(&TRANSPORT, Wait::Spin, 64);
    let fds: Vec<_> = fds.iter().map(|fd| fd.as_fd().as_raw_fd()).collect();
    let rights = [ControlMessage::ScmRights(&fds)];
    let control = if fds.is_empty() { &[] } else { &rights[..] };
    let parts = [std::io::IoSlice::new(bytes)];
    sendmsg::<()>(leader.socket.as_raw_fd(), &parts, control, MsgFlags::empty(), None).unwrap();
    follower.take().unwrap_err().to_string()
}

#[test]
fn a_packet_that_is_no_message_is_refused() {
    let (file, len) = (file::make(&[0; 64]).unwrap(), 64_u64.to_ne_bytes());
    let other = file::make(&[0; 64]).unwrap();
    assert!(answer(&[], &len).contains("no message has"), "no descriptor");
    assert!(answer(&[&file, &other], &len).contains("no message has"), "two descriptors");
    assert!(answer(&[&file], &len[..4]).contains("no message has"), "half of a length");
    for wrong in [0, 15, 65, u64::MAX] {
        assert!(answer(&[&file], &wrong.to_ne_bytes()).contains("no message has"), "{wrong}");
    }
    assert!(answer(&[&file], &32_u64.to_ne_bytes()).contains("a size"));
}
