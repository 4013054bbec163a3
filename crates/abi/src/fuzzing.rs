//! The readers of a module's answer and description, as functions of bytes: the fuzz target in `crates/fuzz` calls
//! them.

use std::{
    ffi::{CString, c_char, c_int, c_void},
    ptr,
};

use ipcmark_contract::c;
use ipcmark_transport::{Collect, Transport};

use crate::{
    description::{AvailabilityText, Description},
    examine::{Answer, Offer},
    examined::ExaminedModule,
    found::ExaminedModules,
    library::Library,
    list,
};

/// Queries every transport as the command does.
struct QueryAll;

impl Collect for QueryAll {
    type Item = ();

    fn item<T: Transport>(&mut self, transport: T) {
        let definition = transport.definition();
        assert!(!definition.name.is_empty());
        for option in definition.options.iter() {
            let values = ["", "on", "64", "4k", "-1", "18446744073709551615", &option.standard];
            values.iter().for_each(|value| drop(option.check(value)));
        }
        drop(transport.probe());
    }
}

/// Reads the answer of a process that has loaded a module.
pub fn answer(bytes: &[u8]) {
    let Ok(answer) = serde_json::from_slice::<Answer>(bytes) else { return };
    let answer = answer.and_then(Offer::checked);
    let modules = vec![ExaminedModule { path: "/nowhere/some.so".into(), answer }];
    let found = ExaminedModules { modules, passed_over: Vec::new() };
    let _ = (found.refused().count(), found.faults().count());
    list::modules(&mut QueryAll, &found);
}

/// Takes values from an input.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn number<const N: usize>(&mut self) -> u64 {
        let (bytes, rest) = self.0.split_at(self.0.len().min(N));
        self.0 = rest;
        bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn text(&mut self) -> CString {
        let len = self.number::<1>() as usize % 64;
        let (bytes, rest) = self.0.split_at(self.0.len().min(len));
        self.0 = rest;
        CString::new(bytes.iter().map(|byte| (*byte).max(1)).collect::<Vec<_>>())
            .expect("it has no zero")
    }
}

/// The address of a text, or null.
fn address(text: &CString, is_there: bool) -> *const c_char {
    if is_there { text.as_ptr() } else { ptr::null() }
}

unsafe extern "C" fn open(
    _: *const c::Transport,
    _: *const c::Settings,
    _: *mut c::Session,
    _: *mut *mut c_void,
    _: *mut c::Error,
) -> c_int {
    c::FAILED
}

unsafe extern "C" fn publish(_: *mut c_void, _: *mut c_void, _: usize, _: *mut c::Error) -> c_int {
    c::FAILED
}

unsafe extern "C" fn take(
    _: *mut c_void,
    _: *mut *const c_void,
    _: *mut usize,
    _: *mut c::Error,
) -> c_int {
    c::FAILED
}

unsafe extern "C" fn close(_: *mut c_void) {}

/// Builds a module's description in memory: texts and numbers come from the input, addresses are valid or null.
pub fn description(data: &[u8]) {
    let mut bytes = Bytes(data);
    let there = bytes.number::<2>();
    let has = |bit: u64| there >> bit & 1 == 0;
    let [family, name, summary, key, accepts, standard] = std::array::from_fn(|_| bytes.text());
    let option = c::OptionSpec {
        key: address(&key, has(0)),
        accepts: address(&accepts, has(1)),
        standard: address(&standard, has(2)),
        summary: address(&summary, has(3)),
    };
    let size = |whole: usize, by: u64| (whole as u32).wrapping_add(by as u8 as i8 as u32);
    let transport = c::Transport {
        size: size(size_of::<c::Transport>(), bytes.number::<1>()),
        flags: bytes.number::<2>() as u32,
        name: address(&name, has(4)),
        summary: address(&summary, has(5)),
        max_payload: bytes.number::<8>(),
        waits: bytes.number::<4>() as u32,
        patterns: bytes.number::<4>() as u32,
        max_subscribers: bytes.number::<4>() as u32,
        option_count: u32::from(has(6)),
        context: ptr::null(),
        probe: None,
        open: has(7).then_some(open),
        publish: has(8).then_some(publish),
        take: has(9).then_some(take),
        close: has(10).then_some(close),
        loan: None,
        release: None,
        wait: None,
        options: if has(11) { &raw const option } else { ptr::null() },
        check: None,
        memory_limit: bytes.number::<4>(),
    };
    let transports =
        [if has(12) { &raw const transport } else { ptr::null() }, &raw const transport];
    let module = c::Module {
        size: size(size_of::<c::Module>(), bytes.number::<1>()),
        abi_version: c::ABI_VERSION + u32::from(!has(13)),
        family: address(&family, has(14)),
        library_version: None,
        transports: transports.as_ptr(),
        transport_count: 1 + u32::from(has(15)),
        reserved: 0,
        leftovers: None,
    };
    // SAFETY: everything pointed to lives until the end of this function, and nothing derived from it is kept.
    let Ok(library) = (unsafe { Library::check(&module) }) else { return };
    let (mut transports, mut faults) = (Vec::new(), Vec::new());
    for transport in library.transports() {
        match transport {
            Ok(transport) => transports.push((
                Description::of(transport),
                AvailabilityText::Available { version: library.version_text() },
            )),
            Err(fault) => faults.push(fault),
        }
    }
    let offer = Offer { family: library.family.into(), transports, faults, names_leftovers: false };
    let text = serde_json::to_vec(&Answer::Ok(offer)).expect("texts and numbers");
    answer(&text);
}
