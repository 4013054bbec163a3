//! The opposite direction: exports transports written in Rust as a module.
//!
//! A crate of the type `cdylib` defines the function that every list of transports has, and passes
//! its name to [`export!`](macro@crate::export):
//!
//! ```
//! # mod library {
//! use ipcmark_transport::Collect;
//!
//! pub fn transports<C: Collect>(collect: &mut C) -> Vec<C::Item> {
//!     vec![/* collect.item(TRANSPORT) */]
//! }
//!
//! ipcmark_contract::export!("library", "1.2.3", transports);
//! # }
//! ```
//!
//! A panic ends the process, which is a worker or an examining process: it costs one row.

use std::{
    collections::BTreeMap,
    ffi::{CString, c_char, c_int, c_void},
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::PathBuf,
    slice,
    sync::OnceLock,
    time::Duration,
};

use ipcmark_transport::{
    Availability, Capabilities, Carrier, Collect, DeclaredCarrier, Endpoint, Error, Leftover,
    MAX_FRAME_BYTES, MAX_FRAME_FDS, OptionSpec, Rendezvous, Role, SessionName, Settings, Span,
    Step, Transport,
};

use crate::{c, failure, pattern_bit, text, wait_bit, wait_of};

/// Exports a module: a family, the version of the library, and the function that passes its transports to a collector.
#[macro_export]
macro_rules! export {
    ($family:expr, $version:expr, $transports:path) => {
        /// The one symbol of a module.
        #[unsafe(no_mangle)]
        pub extern "C" fn ipcmark_module() -> *const $crate::c::Module {
            extern "C" fn version() -> *const std::ffi::c_char {
                $crate::export::constant($version)
            }
            $crate::export::module($family, version, $transports(&mut $crate::export::Exports))
        }
    };
}

/// Builds a description of each transport of a list.
pub struct Exports;

/// The description of a transport, which points to the transport itself, and the function that names its leftovers.
pub struct Exported(*const c::Transport, Box<NamesLeftovers>);

type NamesLeftovers = dyn Fn() -> Result<Vec<Leftover>, Error> + Send + Sync;

/// The functions that name the leftovers of this module's transports. Static, because the contract's function has no
/// context.
static NAME_LEFTOVERS: OnceLock<Vec<Box<NamesLeftovers>>> = OnceLock::new();

impl Collect for Exports {
    type Item = Exported;

    fn item<T: Transport>(&mut self, transport: T) -> Exported {
        let transport: &'static T = Box::leak(Box::new(transport));
        Exported(describe(transport), Box::new(|| transport.leftovers(&[])))
    }
}

/// Copies a text for the lifetime of the process.
pub fn constant(text: &str) -> *const c_char {
    let text: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
    CString::new(text).unwrap_or_default().into_raw()
}

/// Builds the description of a module for the lifetime of the process.
pub fn module(
    family: &str,
    version: extern "C" fn() -> *const c_char,
    transports: Vec<Exported>,
) -> *const c::Module {
    let (transports, name_leftovers): (Vec<*const c::Transport>, Vec<_>) =
        transports.into_iter().map(|exported| (exported.0, exported.1)).unzip();
    let transports = transports.leak();
    // The exporting function is called only once.
    let _ = NAME_LEFTOVERS.set(name_leftovers);
    Box::leak(Box::new(c::Module {
        size: size_of::<c::Module>() as u32,
        abi_version: c::ABI_VERSION,
        family: constant(family),
        library_version: Some(version),
        transports: transports.as_ptr(),
        transport_count: transports.len() as u32,
        reserved: 0,
        leftovers: Some(leftovers),
    }))
}

fn describe<T: Transport>(transport: &'static T) -> *const c::Transport {
    let definition = transport.definition();
    let capabilities = &definition.capabilities;
    Box::leak(Box::new(c::Transport {
        size: size_of::<c::Transport>() as u32,
        flags: flags(capabilities) | carrier_flag(definition.carrier),
        name: constant(&definition.name),
        summary: constant(&definition.summary),
        max_payload: capabilities.max_payload as u64,
        waits: capabilities.waits.iter().map(|wait| wait_bit(*wait)).sum(),
        patterns: capabilities.patterns.iter().map(|pattern| pattern_bit(*pattern)).sum(),
        max_subscribers: capabilities.max_subscribers,
        option_count: definition.options.len() as u32,
        context: (&raw const *transport).cast(),
        probe: Some(probe::<T>),
        open: Some(open::<T>),
        publish: Some(publish::<T>),
        take: Some(take::<T>),
        close: Some(close::<T>),
        loan: Some(loan::<T>),
        release: Some(release::<T>),
        // Our own endpoints poll and sleep by themselves.
        wait: None,
        options: specs(&definition.options),
        check: Some(check::<T>),
        memory_limit: memory_limit(definition.carrier),
    }))
}

/// The options as C structs, for the lifetime of the process.
fn specs(options: &[OptionSpec]) -> *const c::OptionSpec {
    let spec = |option: &OptionSpec| c::OptionSpec {
        key: constant(&option.key),
        accepts: constant(&option.accepts),
        standard: constant(&option.standard),
        summary: constant(&option.summary),
    };
    options.iter().map(spec).collect::<Vec<_>>().leak().as_ptr()
}

fn flags(capabilities: &Capabilities) -> u32 {
    let flags = [
        (capabilities.loans, c::LOANS),
        (capabilities.crosses_hosts, c::CROSSES_HOSTS),
        (!capabilities.reliable, c::UNRELIABLE),
        (capabilities.alternating, c::ALTERNATING),
        (capabilities.span == Span::None, c::NO_HOP),
        (capabilities.span == Span::Thread, c::SAME_PROCESS),
        (capabilities.exclusive, c::EXCLUSIVE),
        (capabilities.one_end, c::ONE_END),
    ];
    flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum()
}

/// The flag of the carrier. The span says if messages stay within one process. A carrier by size that the contract
/// cannot express is not stated.
fn carrier_flag(carrier: DeclaredCarrier) -> u32 {
    use Carrier::{Kernel, Network, SharedMemory};
    match carrier {
        DeclaredCarrier::Always(SharedMemory)
        | DeclaredCarrier::BySize { small: SharedMemory, large: Kernel, .. } => c::IN_MEMORY,
        DeclaredCarrier::Always(Network) => c::ON_NETWORK,
        DeclaredCarrier::Always(Kernel) => c::IN_KERNEL,
        _ => 0,
    }
}

fn memory_limit(carrier: DeclaredCarrier) -> u64 {
    match carrier {
        DeclaredCarrier::BySize { up_to, .. } if carrier_flag(carrier) != 0 => up_to as u64,
        _ => 0,
    }
}

/// The transport behind a description.
///
/// # Safety
/// `transport` is a description that [`describe`] made for `T`.
unsafe fn behind<T>(transport: *const c::Transport) -> &'static T {
    // SAFETY: the context is the address of a `T` that lives as long as the process.
    unsafe { &*(*transport).context.cast() }
}

/// The return code of a result; copies an error to `to`.
#[inline(always)]
fn code(result: Result<Step, Error>, to: *mut c::Error) -> c_int {
    match result {
        Ok(Step::Done) => c::DONE,
        Ok(Step::WouldBlock) => c::WOULD_BLOCK,
        // SAFETY: the contract: the error is valid during the call.
        Err(error) => failure::write(&error, unsafe { &mut *to }),
    }
}

unsafe extern "C" fn probe<T: Transport>(
    transport: *const c::Transport,
    error: *mut c::Error,
) -> c_int {
    // SAFETY: the contract: it is the description that we exported.
    match unsafe { behind::<T>(transport) }.probe() {
        Availability::Available { .. } => c::DONE,
        Availability::Unavailable { reason, install } => {
            let missing = Error::new("use", "it", reason);
            code(Err(install.into_iter().fold(missing, Error::remedy)), error)
        }
    }
}

unsafe extern "C" fn leftovers(file: c::File, list: *mut c_void, error: *mut c::Error) -> c_int {
    let named = NAME_LEFTOVERS.get().into_iter().flatten().map(|name| name());
    let named = named.collect::<Result<Vec<_>, _>>();
    for leftover in named.iter().flatten().flatten() {
        let Leftover::File(path) = leftover else { continue };
        let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { continue };
        // SAFETY: the contract: the list was passed together with the function, which copies the path.
        unsafe { file(list, path.as_ptr()) };
    }
    code(named.map(|_| Step::Done), error)
}

unsafe extern "C" fn check<T: Transport>(
    transport: *const c::Transport,
    options: *const c::Setting,
    option_count: u32,
    error: *mut c::Error,
) -> c_int {
    // SAFETY: the contract: it is the description that we exported, and the count matches the options.
    let checked = unsafe { behind::<T>(transport).check(&read_options(options, option_count)) };
    code(checked.map(|()| Step::Done), error)
}

unsafe extern "C" fn open<T: Transport>(
    transport: *const c::Transport,
    settings: *const c::Settings,
    session: *mut c::Session,
    end: *mut *mut c_void,
    error: *mut c::Error,
) -> c_int {
    // SAFETY: the contract: all pointers are valid until this function returns.
    let (transport, settings) = unsafe { (behind::<T>(transport), read_settings(&*settings)) };
    let opened = settings.and_then(|settings| transport.open(&settings, &mut Peers(session)));
    let opened = opened.map(|opened| {
        write_down(&opened, session);
        // SAFETY: the contract: `end` can be written.
        unsafe { *end = Box::into_raw(Box::new(opened)).cast() };
        Step::Done
    });
    code(opened, error)
}

/// Reports to the session the library settings of the endpoint, and that it may lose messages.
fn write_down<E: Endpoint>(end: &E, session: *mut c::Session) {
    if end.may_lose() {
        // SAFETY: the contract: the session is valid while the endpoint opens.
        unsafe { ((*session).may_lose)(session) };
    }
    for (key, value) in end.configuration() {
        let (Ok(key), Ok(value)) = (CString::new(key), CString::new(value)) else { continue };
        // SAFETY: the contract: the session is valid while the endpoint opens, and copies the texts.
        unsafe { ((*session).note)(session, key.as_ptr(), value.as_ptr()) };
    }
}

/// The settings of the contract in Rust.
///
/// # Errors
/// If the wait or the name is none.
///
/// # Safety
/// The settings and everything they point to are valid, as the contract says.
pub unsafe fn read_settings(settings: &c::Settings) -> Result<Settings, Error> {
    // SAFETY: guaranteed by the caller.
    let read = |text| unsafe { text::read(text) }.unwrap_or_default();
    Ok(Settings {
        role: match settings.role {
            c::LEADER => Role::Leader,
            _ => Role::Follower(settings.follower),
        },
        wait: wait_of(settings.wait)
            .ok_or_else(|| Error::new("open", "an end", "its wait is unknown"))?,
        payload: settings.payload as usize,
        subscribers: settings.subscribers,
        name: SessionName::new(read(settings.name))?,
        directory: PathBuf::from(read(settings.directory)),
        address: read(settings.address).parse().ok(),
        connect_within: Duration::from_nanos(settings.connect_ns),
        // SAFETY: guaranteed by the caller.
        options: unsafe { read_options(settings.options, settings.option_count) },
    })
}

/// # Safety
/// There are `count` options at the address, with NUL-terminated texts.
unsafe fn read_options(options: *const c::Setting, count: u32) -> BTreeMap<String, String> {
    if count == 0 {
        return BTreeMap::new();
    }
    // SAFETY: guaranteed by the caller.
    let read = |text| unsafe { text::read(text) }.unwrap_or_default();
    // SAFETY: guaranteed by the caller.
    let options = unsafe { slice::from_raw_parts(options, count as usize) };
    options.iter().map(|option| (read(option.key), read(option.value))).collect()
}

unsafe extern "C" fn loan<T: Transport>(
    end: *mut c_void,
    len: usize,
    room: *mut *mut c_void,
    error: *mut c::Error,
) -> c_int {
    // SAFETY: the contract: it is the end that `open` made, and one thread calls.
    let end = unsafe { &mut *end.cast::<T::Endpoint>() };
    let step = end.loan(len);
    if let Ok(Step::Done) = step {
        // SAFETY: the contract: `room` can be written.
        unsafe { *room = end.room().as_mut_ptr().cast() };
    }
    code(step, error)
}

unsafe extern "C" fn publish<T: Transport>(
    end: *mut c_void,
    _room: *mut c_void,
    _len: usize,
    error: *mut c::Error,
) -> c_int {
    // SAFETY: the contract: it is the end that `open` made, and one thread calls.
    code(unsafe { &mut *end.cast::<T::Endpoint>() }.publish(), error)
}

unsafe extern "C" fn take<T: Transport>(
    end: *mut c_void,
    message: *mut *const c_void,
    len: *mut usize,
    error: *mut c::Error,
) -> c_int {
    // SAFETY: the contract: it is the end that `open` made, and one thread calls.
    let end = unsafe { &mut *end.cast::<T::Endpoint>() };
    let step = end.take();
    if let Ok(Step::Done) = step {
        let taken = end.message();
        // SAFETY: the contract: `message` and `len` can be written.
        unsafe {
            *message = taken.as_ptr().cast();
            *len = taken.len();
        }
    }
    code(step, error)
}

unsafe extern "C" fn release<T: Transport>(
    end: *mut c_void,
    _message: *const c_void,
    error: *mut c::Error,
) -> c_int {
    // SAFETY: the contract: it is the end that `open` made, and one thread calls.
    let released = unsafe { &mut *end.cast::<T::Endpoint>() }.release();
    code(released.map(|()| Step::Done), error)
}

unsafe extern "C" fn close<T: Transport>(end: *mut c_void) {
    // SAFETY: the contract's last call for the end that `open` made.
    drop(unsafe { Box::from_raw(end.cast::<T::Endpoint>()) });
}

/// The connection to the other endpoints, through the session's functions.
struct Peers(*mut c::Session);

impl Peers {
    fn result(code: c_int, error: &c::Error) -> Result<(), Error> {
        match code {
            c::DONE => Ok(()),
            code => Err(failure::read(code, error, "reach", "the other end")),
        }
    }
}

impl Rendezvous for Peers {
    fn peers(&self) -> usize {
        // SAFETY: the contract: the session is valid while an endpoint opens.
        unsafe { (*self.0).peers as usize }
    }

    fn send(&mut self, peer: usize, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        let fds: Vec<c_int> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let mut error = failure::blank();
        let (at, len, count) = (bytes.as_ptr().cast(), bytes.len(), fds.len());
        // SAFETY: the contract's call; the pointers are valid, and the descriptors are open.
        let code = unsafe {
            ((*self.0).send)(self.0, peer as u32, at, len, fds.as_ptr(), count, &mut error)
        };
        Self::result(code, &error)
    }

    fn receive(&mut self, peer: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
        let (mut bytes, mut fds) = (vec![0_u8; MAX_FRAME_BYTES], [0; MAX_FRAME_FDS]);
        let (mut len, mut count) = (bytes.len(), fds.len());
        let mut error = failure::blank();
        let (at, first) = (bytes.as_mut_ptr().cast(), fds.as_mut_ptr());
        // SAFETY: the contract's call; both arrays are as long as their counts say.
        let code = unsafe {
            let session = self.0;
            ((*session).receive)(session, peer as u32, at, &mut len, first, &mut count, &mut error)
        };
        Self::result(code, &error)?;
        bytes.truncate(len);
        // SAFETY: the session has just passed the ownership of these descriptors to us.
        let owned = fds[..count].iter().map(|fd| unsafe { OwnedFd::from_raw_fd(*fd) }).collect();
        Ok((bytes, owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_carrier_is_exported() {
        use Carrier::{Kernel, Network, SharedMemory};
        let by_size = |small, large| DeclaredCarrier::BySize { up_to: 4096, small, large };
        for (declared, flag, limit) in [
            (DeclaredCarrier::Unstated, 0, 0),
            (DeclaredCarrier::Always(SharedMemory), c::IN_MEMORY, 0),
            (DeclaredCarrier::Always(Network), c::ON_NETWORK, 0),
            (DeclaredCarrier::Always(Kernel), c::IN_KERNEL, 0),
            (by_size(SharedMemory, Kernel), c::IN_MEMORY, 4096),
            (by_size(Kernel, Network), 0, 0),
        ] {
            assert_eq!((carrier_flag(declared), memory_limit(declared)), (flag, limit));
        }
    }
}
