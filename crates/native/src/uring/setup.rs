//! A ring with the flags that its documentation recommends for one thread, if this kernel knows them.

use std::io;

use io_uring::{Builder, IoUring, register::Restriction};
use ipcmark_transport::{Error, Settings, Wait};

use super::{OBJECT, SQPOLL, support};

/// The entries of a submission queue: one send request, one receive request, and a cancel request for each.
const ENTRIES: u32 = 4;

/// The time in milliseconds that the kernel's thread polls after the last request before it sleeps. The kernel's
/// default, one second, would take a processor from the rows that alternate with this one.
const IDLE_MS: u32 = 10;

/// The number of the operation that enables a ring, IORING_REGISTER_ENABLE_RINGS.
const ENABLE_RINGS: u8 = 12;

/// The flags requested from the kernel, and the words for them in a result.
type Flags = (&'static str, fn(&mut Builder) -> &mut Builder);

/// For an end that makes calls: only its own thread submits, and its own calls process completions (Linux 6.1).
const CALLING: Flags = ("single issuer, deferred task work", |builder| {
    builder.setup_single_issuer().setup_defer_taskrun()
});

/// For an end that polls: the same, and a flag in user memory shows that there are completions to process.
const POLLING: Flags = ("single issuer, deferred task work, task work flag", |builder| {
    builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag()
});

/// With the kernel's thread, which processes completions itself.
const WITH_THREAD: Flags = ("single issuer, submission polled by the kernel", |builder| {
    builder.setup_single_issuer().setup_sqpoll(IDLE_MS)
});

/// For older kernels.
const PLAIN: Flags = ("no flags, which this kernel lacks", |builder| builder);
const PLAIN_WITH_THREAD: Flags =
    ("submission polled by the kernel", |builder| builder.setup_sqpoll(IDLE_MS));

/// True if the settings request the kernel's thread.
pub fn has_thread(settings: &Settings) -> bool {
    settings.is_set_to(SQPOLL.key.as_ref(), "on")
}

/// Creates a ring for these settings; returns it with the words for its flags.
pub fn ring(settings: &Settings) -> Result<(IoUring, &'static str), Error> {
    let flags = match (has_thread(settings), settings.wait) {
        (true, _) => [WITH_THREAD, PLAIN_WITH_THREAD],
        (false, Wait::Block) => [CALLING, PLAIN],
        (false, _) => [POLLING, PLAIN],
    };
    let ring =
        first_known(&flags).map_err(|e| support::explained(Error::os("set up", OBJECT, e)))?;
    check_thread(&ring.0)?;
    Ok(ring)
}

/// Creates a ring with the first of these flags that the kernel knows.
fn first_known(flags: &[Flags]) -> io::Result<(IoUring, &'static str)> {
    let mut last = io::Error::from_raw_os_error(libc::EINVAL);
    for (words, set) in flags {
        match set(&mut IoUring::builder()).build(ENTRIES) {
            Ok(ring) => return Ok((ring, words)),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}

/// Creates a ring that only receives messages from other rings, with room for `room` of them. Other processes have
/// its descriptor: it allows no submission and no registration.
pub fn ring_of_notices(room: u32) -> Result<IoUring, Error> {
    let failed = |e| support::explained(Error::os("set up", OBJECT, e));
    let ring = IoUring::builder().setup_r_disabled().setup_cqsize(room).build(1).map_err(failed)?;
    let submitter = ring.submitter();
    // The first restriction forbids everything that is not listed.
    let restricted = submitter.register_restrictions(&mut [Restriction::register_op(ENABLE_RINGS)]);
    restricted.and_then(|()| submitter.register_enable_rings()).map_err(failed)?;
    Ok(ring)
}

/// Before Linux 5.12 the polling thread did not belong to the process, so its cost would be missing.
fn check_thread(ring: &IoUring) -> Result<(), Error> {
    if ring.params().is_setup_sqpoll() && !ring.params().is_feature_native_workers() {
        let cause = "before Linux 5.12 what its thread costs is counted for no process";
        return Err(Error::new("poll for submissions of", OBJECT, cause)
            .remedy("leave sqpoll off, or use a newer kernel"));
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::{lacks, settings};

    #[test]
    fn flags_that_a_kernel_does_not_know_are_left_out() {
        if lacks(support::probe(&[])) {
            return;
        }
        // A flag about task work, without the mode that it needs, is refused like an unknown one.
        let unknown: Flags = ("unknown", |builder| builder.setup_taskrun_flag());
        assert_eq!(first_known(&[unknown, PLAIN]).unwrap().1, PLAIN.0);
        assert!(first_known(&[unknown]).is_err());
    }

    #[test]
    fn a_ring_is_as_the_settings_want_it() {
        if lacks(support::probe(&[])) {
            return;
        }
        for wait in [Wait::Spin, Wait::Block] {
            let mut settings = settings(wait, 64);
            assert!(!ring(&settings).unwrap().0.params().is_setup_sqpoll());
            settings.options.insert("sqpoll".into(), "on".into());
            assert!(ring(&settings).unwrap().0.params().is_setup_sqpoll());
        }
    }
}
