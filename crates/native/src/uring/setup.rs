//! A ring with the flags that its documentation recommends for one thread, as far as this kernel knows them.

use std::io;

use io_uring::{Builder, IoUring, register::Restriction};
use ipcmark_transport::{Error, Settings, Wait};

use super::{OBJECT, SQPOLL, support};

/// Entries of a submission queue: a request to send, one to receive, and one to cancel each.
const ENTRIES: u32 = 4;

/// So many milliseconds the kernel's thread looks for requests after the last one before it sleeps. The kernel's own
/// choice, a second, would take a processor from the rows that take turns with this one.
const IDLE_MS: u32 = 10;

/// The number of the operation that lets a ring begin, IORING_REGISTER_ENABLE_RINGS.
const ENABLE_RINGS: u8 = 12;

/// What is asked of the kernel, and the words for it in a result.
type Flags = (&'static str, fn(&mut Builder) -> &mut Builder);

/// For an end that calls: its own thread alone submits, and completions are worked off in its own calls (Linux 6.1).
const CALLING: Flags = ("single issuer, deferred task work", |builder| {
    builder.setup_single_issuer().setup_defer_taskrun()
});

/// For an end that polls: the same, and the kernel says in user memory when there is such work.
const POLLING: Flags = ("single issuer, deferred task work, task work flag", |builder| {
    builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag()
});

/// With the kernel's thread, which works off completions itself.
const WITH_THREAD: Flags = ("single issuer, submission polled by the kernel", |builder| {
    builder.setup_single_issuer().setup_sqpoll(IDLE_MS)
});

/// For older kernels.
const PLAIN: Flags = ("no flags, which this kernel lacks", |builder| builder);
const PLAIN_WITH_THREAD: Flags =
    ("submission polled by the kernel", |builder| builder.setup_sqpoll(IDLE_MS));

/// Whether the settings ask for the kernel's thread.
pub fn has_thread(settings: &Settings) -> bool {
    settings.is_set_to(SQPOLL.key.as_ref(), "on")
}

/// A ring as the settings want it, and what was set of it.
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

/// A ring with the first of these flags that the kernel knows.
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

/// A ring that only has messages of other rings posted into it, with room for so many. Other processes have its
/// descriptor: nothing can be submitted or registered with it.
pub fn ring_of_notices(room: u32) -> Result<IoUring, Error> {
    let failed = |e| support::explained(Error::os("set up", OBJECT, e));
    let ring = IoUring::builder().setup_r_disabled().setup_cqsize(room).build(1).map_err(failed)?;
    let submitter = ring.submitter();
    // As soon as anything is restricted, only what is named is allowed.
    let restricted = submitter.register_restrictions(&mut [Restriction::register_op(ENABLE_RINGS)]);
    restricted.and_then(|()| submitter.register_enable_rings()).map_err(failed)?;
    Ok(ring)
}

/// Before Linux 5.12 the thread that polls was none of the process, whose costs would lack it.
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
        // A flag about task work without the mode that it is about is refused as an unknown one is.
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
