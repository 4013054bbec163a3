//! One endpoint of a module's transport: the hot path.

use std::{
    collections::BTreeMap,
    ffi::{c_int, c_void},
    hint::spin_loop,
    ptr, slice,
    time::Duration,
};

use ipcmark_contract::{c, failure};
use ipcmark_transport::{Endpoint, Error, HYBRID_POLLS, MAX_SLEEP, Settings, Step, Wait};

use crate::{buffer::PageBuffer, session::Statements};

/// The longest sleep in one call of a reliable transport's `wait`. A wake-up that a library loses
/// shows as a full second, which nobody takes for a real latency.
const RELIABLE_SLEEP: Duration = Duration::from_secs(1);

/// One endpoint of a module's transport.
pub struct ModuleEndpoint {
    functions: Functions,
    end: *mut c_void,
    /// The loader's own way to wait for a message, where the module's `take` does not sleep.
    sleep: Option<Sleep>,
    /// The loader's own buffer, where the module has no `loan`.
    buffer: Option<PageBuffer>,
    room: *mut c_void,
    room_len: usize,
    message: *const c_void,
    message_len: usize,
    error: Box<c::Error>,
    /// The transport's name, for errors.
    name: String,
    words: Statements,
}

/// The functions of an endpoint, from the module's description.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    publish: c::Publish,
    take: c::Take,
    close: c::Close,
    loan: Option<c::Loan>,
    release: Option<c::Release>,
    wait: Option<c::Wait>,
    reliable: bool,
}

/// Polls first, then sleeps.
#[derive(Clone, Copy)]
struct Sleep {
    polls: u32,
    wait: c::Wait,
    timeout_ns: u64,
}

impl Functions {
    /// The functions of a description; `None` if a required one is missing.
    pub(crate) fn of(transport: &c::Transport) -> Option<Self> {
        Some(Self {
            publish: transport.publish?,
            take: transport.take?,
            close: transport.close?,
            loan: transport.loan,
            release: transport.release,
            wait: transport.wait,
            reliable: transport.flags & c::UNRELIABLE == 0,
        })
    }

    fn sleep(&self, wait: Wait, may_lose: bool) -> Option<Sleep> {
        let polls = match wait {
            Wait::Spin => return None,
            Wait::Block => 1,
            Wait::Hybrid => HYBRID_POLLS,
        };
        let timeout = if self.reliable && !may_lose { RELIABLE_SLEEP } else { MAX_SLEEP };
        let timeout_ns = timeout.as_nanos() as u64;
        self.wait.map(|wait| Sleep { polls, wait, timeout_ns })
    }
}

impl ModuleEndpoint {
    /// Wraps the end that `open` of the same transport has just made.
    pub(crate) fn new(
        functions: Functions,
        end: *mut c_void,
        settings: &Settings,
        name: &str,
        words: Statements,
    ) -> Self {
        Self {
            sleep: functions.sleep(settings.wait, words.may_lose),
            buffer: functions.loan.is_none().then(|| PageBuffer::new(settings.payload)),
            functions,
            end,
            room: ptr::null_mut(),
            room_len: 0,
            message: ptr::null(),
            message_len: 0,
            error: Box::new(failure::blank()),
            name: name.to_owned(),
            words,
        }
    }

    #[inline(always)]
    fn step(&self, code: c_int, operation: &'static str) -> Result<Step, Error> {
        match code {
            c::DONE => Ok(Step::Done),
            c::WOULD_BLOCK => Ok(Step::WouldBlock),
            code => Err(self.failed(code, operation)),
        }
    }

    #[cold]
    #[inline(never)]
    fn failed(&self, code: c_int, operation: &'static str) -> Error {
        failure::read(code, &self.error, operation, &format!("a message of {}", self.name))
    }

    #[inline(always)]
    fn take_once(&mut self) -> Result<Step, Error> {
        let (message, len) = (&raw mut self.message, &raw mut self.message_len);
        // SAFETY: the contract's call, with the end that open made; the pointers are valid as long
        // as `self`.
        let code = unsafe { (self.functions.take)(self.end, message, len, &raw mut *self.error) };
        self.step(code, "receive")
    }

    /// Polls, sleeps until a message may be there, and polls once more.
    #[inline]
    fn take_or_sleep(&mut self, sleep: Sleep) -> Result<Step, Error> {
        for _ in 0..sleep.polls {
            if self.take_once()? == Step::Done {
                return Ok(Step::Done);
            }
            spin_loop();
        }
        // SAFETY: the contract's call, with the end that open made.
        let code = unsafe { (sleep.wait)(self.end, sleep.timeout_ns, &raw mut *self.error) };
        match self.step(code, "wait for")? {
            Step::Done => self.take_once(),
            Step::WouldBlock => Ok(Step::WouldBlock),
        }
    }
}

impl Endpoint for ModuleEndpoint {
    #[inline(always)]
    fn pause(&self) {}

    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.room_len = len;
        let Some(loan) = self.functions.loan else {
            // Our own buffer is always free: publish keeps no part of it after it returns DONE.
            self.room = self.buffer.as_mut().map_or(ptr::null_mut(), PageBuffer::address);
            return Ok(Step::Done);
        };
        // SAFETY: the contract's call, with the end that open made.
        let code = unsafe { loan(self.end, len, &raw mut self.room, &raw mut *self.error) };
        self.step(code, "get room for")
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        // SAFETY: the module lent `room_len` bytes in a loan that returned DONE, or it is our
        // buffer, which holds the largest payload.
        unsafe { slice::from_raw_parts_mut(self.room.cast(), self.room_len) }
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        let (end, error) = (self.end, &raw mut *self.error);
        // SAFETY: the contract's call: the room is the module's own, or our buffer of that length.
        let code = unsafe { (self.functions.publish)(end, self.room, self.room_len, error) };
        self.step(code, "send")
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        match self.sleep {
            None => self.take_once(),
            Some(sleep) => self.take_or_sleep(sleep),
        }
    }

    #[inline]
    fn message(&self) -> &[u8] {
        // SAFETY: a take that returned DONE gave the address and length of a message, valid until
        // release.
        unsafe { slice::from_raw_parts(self.message.cast(), self.message_len) }
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        let Some(release) = self.functions.release else { return Ok(()) };
        // SAFETY: the contract's call, with the message that take returned.
        let code = unsafe { release(self.end, self.message, &raw mut *self.error) };
        if code == c::DONE { Ok(()) } else { Err(self.failed(code, "release")) }
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        self.words.notes.clone()
    }

    fn may_lose(&self) -> bool {
        self.words.may_lose
    }
}

impl Drop for ModuleEndpoint {
    fn drop(&mut self) {
        // SAFETY: the contract's last call for this end.
        unsafe { (self.functions.close)(self.end) };
    }
}
