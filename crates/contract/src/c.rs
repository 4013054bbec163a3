//! `include/ipcmark/transport.h` in Rust, field by field; a test compares both with a C compiler.
//! The header says what each field and function means.

#![allow(missing_docs, reason = "the header documents them; here they only mirror it")]

use std::ffi::{c_char, c_int, c_void};

pub const ABI_VERSION: u32 = 1;

pub const DONE: c_int = 0;
pub const WOULD_BLOCK: c_int = 1;
pub const FAILED: c_int = -1;
pub const PEER_GONE: c_int = -2;

pub const SPIN: u32 = 1;
pub const BLOCK: u32 = 2;
pub const HYBRID: u32 = 4;

pub const LATENCY: u32 = 1;
pub const ONE_WAY: u32 = 2;
pub const THROUGHPUT: u32 = 4;
pub const FAN_OUT: u32 = 8;
pub const FAN_IN: u32 = 16;

pub const LOANS: u32 = 1;
pub const CROSSES_HOSTS: u32 = 2;
pub const UNRELIABLE: u32 = 4;
pub const ALTERNATING: u32 = 8;
pub const NO_HOP: u32 = 16;
pub const SAME_PROCESS: u32 = 32;
pub const EXCLUSIVE: u32 = 64;
pub const IN_MEMORY: u32 = 128;
pub const ON_NETWORK: u32 = 256;
pub const IN_KERNEL: u32 = 512;
pub const ONE_END: u32 = 1024;

pub const LEADER: u32 = 0;
pub const FOLLOWER: u32 = 1;

/// The name of the one exported symbol.
pub const ENTRY: &str = "ipcmark_module";

pub type Entry = unsafe extern "C" fn() -> *const Module;

#[repr(C)]
#[derive(Clone)]
pub struct Error {
    pub size: u32,
    pub number: i32,
    pub operation: [c_char; 64],
    pub object: [c_char; 192],
    pub cause: [c_char; 512],
    pub remedy: [c_char; 256],
}

#[repr(C)]
pub struct Setting {
    pub key: *const c_char,
    pub value: *const c_char,
}

#[repr(C)]
pub struct OptionSpec {
    pub key: *const c_char,
    pub accepts: *const c_char,
    pub standard: *const c_char,
    pub summary: *const c_char,
}

#[repr(C)]
pub struct Settings {
    pub size: u32,
    pub role: u32,
    pub follower: u32,
    pub wait: u32,
    pub payload: u64,
    pub subscribers: u32,
    pub option_count: u32,
    pub options: *const Setting,
    pub name: *const c_char,
    pub directory: *const c_char,
    pub address: *const c_char,
    pub connect_ns: u64,
}

pub type Send = unsafe extern "C" fn(
    session: *mut Session,
    peer: u32,
    bytes: *const c_void,
    len: usize,
    fds: *const c_int,
    fd_count: usize,
    error: *mut Error,
) -> c_int;

pub type Receive = unsafe extern "C" fn(
    session: *mut Session,
    peer: u32,
    bytes: *mut c_void,
    len: *mut usize,
    fds: *mut c_int,
    fd_count: *mut usize,
    error: *mut Error,
) -> c_int;

pub type Meet = unsafe extern "C" fn(session: *mut Session, error: *mut Error) -> c_int;

pub type Note =
    unsafe extern "C" fn(session: *mut Session, key: *const c_char, value: *const c_char);

pub type MayLose = unsafe extern "C" fn(session: *mut Session);

#[repr(C)]
pub struct Session {
    pub size: u32,
    pub peers: u32,
    pub send: Send,
    pub receive: Receive,
    pub meet: Meet,
    pub note: Note,
    pub may_lose: MayLose,
}

pub type Probe = unsafe extern "C" fn(transport: *const Transport, error: *mut Error) -> c_int;

pub type Open = unsafe extern "C" fn(
    transport: *const Transport,
    settings: *const Settings,
    session: *mut Session,
    end: *mut *mut c_void,
    error: *mut Error,
) -> c_int;

pub type Publish = unsafe extern "C" fn(
    end: *mut c_void,
    message: *mut c_void,
    len: usize,
    error: *mut Error,
) -> c_int;

pub type Take = unsafe extern "C" fn(
    end: *mut c_void,
    message: *mut *const c_void,
    len: *mut usize,
    error: *mut Error,
) -> c_int;

pub type Close = unsafe extern "C" fn(end: *mut c_void);

pub type Loan = unsafe extern "C" fn(
    end: *mut c_void,
    len: usize,
    room: *mut *mut c_void,
    error: *mut Error,
) -> c_int;

pub type Release =
    unsafe extern "C" fn(end: *mut c_void, message: *const c_void, error: *mut Error) -> c_int;

pub type Wait = unsafe extern "C" fn(end: *mut c_void, timeout_ns: u64, error: *mut Error) -> c_int;

pub type Check = unsafe extern "C" fn(
    transport: *const Transport,
    options: *const Setting,
    option_count: u32,
    error: *mut Error,
) -> c_int;

#[repr(C)]
pub struct Transport {
    pub size: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub summary: *const c_char,
    pub max_payload: u64,
    pub waits: u32,
    pub patterns: u32,
    pub max_subscribers: u32,
    pub option_count: u32,
    pub context: *const c_void,
    pub probe: Option<Probe>,
    pub open: Option<Open>,
    pub publish: Option<Publish>,
    pub take: Option<Take>,
    pub close: Option<Close>,
    pub loan: Option<Loan>,
    pub release: Option<Release>,
    pub wait: Option<Wait>,
    pub options: *const OptionSpec,
    pub check: Option<Check>,
    pub memory_limit: u64,
}

pub type File = unsafe extern "C" fn(list: *mut c_void, path: *const c_char);

pub type Leftovers =
    unsafe extern "C" fn(file: File, list: *mut c_void, error: *mut Error) -> c_int;

#[repr(C)]
pub struct Module {
    pub size: u32,
    pub abi_version: u32,
    pub family: *const c_char,
    pub library_version: Option<unsafe extern "C" fn() -> *const c_char>,
    pub transports: *const *const Transport,
    pub transport_count: u32,
    pub reserved: u32,
    pub leftovers: Option<Leftovers>,
}
