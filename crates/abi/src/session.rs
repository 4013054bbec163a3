//! The functions of a session for a module while an endpoint opens: frames to the other endpoints,
//! and notes.

use std::{
    collections::BTreeMap,
    ffi::{c_char, c_int, c_void},
    os::fd::{BorrowedFd, IntoRawFd, OwnedFd},
    slice,
};

use ipcmark_contract::{c, failure, text};
use ipcmark_transport::{Error, Rendezvous};

/// The functions that a module calls, followed by the data that they use.
#[repr(C)]
pub(crate) struct SessionFunctions<'a> {
    /// First, so that a module's pointer to it also points to the whole struct.
    functions: c::Session,
    peers: &'a mut dyn Rendezvous,
    words: Statements,
}

/// The module's statements about the endpoint that it opened.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// Settings of the library.
    pub notes: BTreeMap<String, String>,
    /// True if messages may be lost with the options that were set.
    pub may_lose: bool,
}

impl<'a> SessionFunctions<'a> {
    pub(crate) fn new(peers: &'a mut dyn Rendezvous) -> Self {
        let functions = c::Session {
            size: size_of::<c::Session>() as u32,
            peers: peers.peers() as u32,
            send,
            receive,
            meet,
            note,
            may_lose,
        };
        Self { functions, peers, words: Statements::default() }
    }

    /// The pointer for the module.
    pub(crate) fn as_c(&mut self) -> *mut c::Session {
        (&raw mut *self).cast()
    }

    /// The module's statements so far.
    pub(crate) fn into_words(self) -> Statements {
        self.words
    }

    fn check_peer(&self, peer: u32) -> Result<usize, Error> {
        let count = self.peers.peers();
        let peer = peer as usize;
        let there = (peer < count).then_some(peer);
        there.ok_or_else(|| {
            Error::new("reach", format!("peer {peer}"), format!("there are {count}"))
        })
    }

    fn receive(
        &mut self,
        peer: u32,
        bytes: &mut [u8],
        fds: &mut [c_int],
    ) -> Result<(usize, usize), Error> {
        let peer = self.check_peer(peer)?;
        let (frame, descriptors) = self.peers.receive(peer)?;
        let too_long = |what, came, room| {
            let cause = format!("{came} {what} came, and there is room for {room}");
            Err(Error::new("receive", "a frame", cause))
        };
        if frame.len() > bytes.len() {
            return too_long("bytes", frame.len(), bytes.len());
        }
        if descriptors.len() > fds.len() {
            return too_long("descriptors", descriptors.len(), fds.len());
        }
        bytes[..frame.len()].copy_from_slice(&frame);
        let counts = (frame.len(), descriptors.len());
        let raw = descriptors.into_iter().map(OwnedFd::into_raw_fd);
        fds.iter_mut().zip(raw).for_each(|(to, from)| *to = from);
        Ok(counts)
    }
}

/// Passes the result of a call to the module.
///
/// # Safety
/// `to` is null or the address of an error.
unsafe fn conclude(result: Result<(), Error>, to: *mut c::Error) -> c_int {
    let Err(error) = result else { return c::DONE };
    // SAFETY: guaranteed by the caller.
    match unsafe { to.as_mut() } {
        Some(to) => failure::write(&error, to),
        None => c::FAILED,
    }
}

/// # Safety
/// `session` is the address that [`SessionFunctions::as_c`] gave, while the module opens an end.
unsafe fn whole<'a>(session: *mut c::Session) -> &'a mut SessionFunctions<'a> {
    // SAFETY: the functions are the first field of the whole struct, which outlives the call and
    // which nobody else uses meanwhile: one thread calls.
    unsafe { &mut *session.cast() }
}

/// A slice at an address that may be null if the slice is empty.
///
/// # Safety
/// `at` is valid for `len` items, or `len` is 0.
unsafe fn items<'a, T>(at: *const T, len: usize) -> &'a [T] {
    // SAFETY: guaranteed by the caller.
    if len == 0 { &[] } else { unsafe { slice::from_raw_parts(at, len) } }
}

/// The same as [`items`], but mutable.
///
/// # Safety
/// `at` is valid for `len` items, or `len` is 0.
unsafe fn items_mut<'a, T>(at: *mut T, len: usize) -> &'a mut [T] {
    // SAFETY: guaranteed by the caller.
    if len == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(at, len) } }
}

unsafe extern "C" fn send(
    session: *mut c::Session,
    peer: u32,
    bytes: *const c_void,
    len: usize,
    fds: *const c_int,
    fd_count: usize,
    error: *mut c::Error,
) -> c_int {
    // SAFETY: the contract: the session is ours, both arrays are as long as their counts say.
    let (session, bytes, fds) =
        unsafe { (whole(session), items(bytes.cast::<u8>(), len), items(fds, fd_count)) };
    let send = |session: &mut SessionFunctions<'_>| {
        let peer = session.check_peer(peer)?;
        if fds.iter().any(|fd| *fd < 0) {
            return Err(Error::new("send", "a descriptor", "it is negative"));
        }
        // SAFETY: the module keeps these descriptors open during the call.
        let fds: Vec<_> = fds.iter().map(|fd| unsafe { BorrowedFd::borrow_raw(*fd) }).collect();
        session.peers.send(peer, bytes, &fds)
    };
    let result = send(session);
    // SAFETY: a module passes the error that it received, or one of its own, or null.
    unsafe { conclude(result, error) }
}

unsafe extern "C" fn receive(
    session: *mut c::Session,
    peer: u32,
    bytes: *mut c_void,
    len: *mut usize,
    fds: *mut c_int,
    fd_count: *mut usize,
    error: *mut c::Error,
) -> c_int {
    // SAFETY: the contract: the session is ours, the counts give the lengths of the arrays, and the
    // pointer to the count of descriptors may be null.
    unsafe {
        let session = whole(session);
        let room = fd_count.as_ref().copied().unwrap_or(0);
        let counts =
            session.receive(peer, items_mut(bytes.cast::<u8>(), *len), items_mut(fds, room));
        let result = counts.map(|(bytes, descriptors)| {
            *len = bytes;
            if let Some(count) = fd_count.as_mut() {
                *count = descriptors;
            }
        });
        conclude(result, error)
    }
}

unsafe extern "C" fn meet(session: *mut c::Session, error: *mut c::Error) -> c_int {
    // SAFETY: the contract: the session is ours.
    let session = unsafe { whole(session) };
    let result = session.peers.meet();
    // SAFETY: a module passes the error that it received, or one of its own, or null.
    unsafe { conclude(result, error) }
}

unsafe extern "C" fn note(session: *mut c::Session, key: *const c_char, value: *const c_char) {
    // SAFETY: the contract: the session is ours, both texts are NUL-terminated or null.
    let (session, key, value) = unsafe { (whole(session), text::read(key), text::read(value)) };
    session.words.notes.extend(key.zip(value));
}

unsafe extern "C" fn may_lose(session: *mut c::Session) {
    // SAFETY: the contract: the session is ours.
    unsafe { whole(session) }.words.may_lose = true;
}
