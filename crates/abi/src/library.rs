//! A module in this process: loaded, and checked before any of its functions is called.
//!
//! Only workers and examining processes load modules, never the command.

use std::{ffi::OsStr, path::Path, slice};

use ipcmark_contract::{c, text};
use ipcmark_transport::{Error, remedy_in};
use libloading::os::unix::{Library as Object, RTLD_LOCAL, RTLD_NOW, Symbol};

use crate::signal_actions::KeptActions;

/// A module, loaded for the lifetime of the process: libraries with their own threads, handlers or
/// destructors do not survive unloading.
#[derive(Clone, Copy)]
pub(crate) struct Library {
    pub family: &'static str,
    pub version: Option<unsafe extern "C" fn() -> *const std::ffi::c_char>,
    pub leftovers: Option<c::Leftovers>,
    transports: &'static [*const c::Transport],
}

// SAFETY: it holds addresses of descriptions that are constant for the lifetime of the process.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Loads the module in the file `file`; errors call it `name`.
    pub(crate) fn load(file: &OsStr, name: &Path) -> Result<Self, Error> {
        let fail = |cause: String| {
            let error = Error::new("load", format!("the module {}", name.display()), &cause);
            remedy_in(&cause).into_iter().fold(error, Error::remedy)
        };
        let kept = KeptActions::new();
        // SAFETY: the user wants the module's constructors to run; they run in a process that they
        // may crash.
        let object = unsafe { Object::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
        drop(kept);
        let object = object.map_err(|e| fail(reason(&e, file, name)))?;
        // SAFETY: the contract gives the symbol this type.
        let entry: Result<Symbol<c::Entry>, _> = unsafe { object.get(c::ENTRY) };
        let entry = *entry.map_err(|_| fail(format!("it has no function {}()", c::ENTRY)))?;
        std::mem::forget(object);
        // SAFETY: the contract lets it be called once, after loading.
        let module = unsafe { entry() };
        if module.is_null() {
            return Err(fail(format!("{}() returned no address", c::ENTRY)));
        }
        // SAFETY: a module returns the address of its description, which lives as long as it does.
        unsafe { Self::check(module) }.map_err(fail)
    }

    /// # Safety
    /// `module` is the address of a description.
    pub(crate) unsafe fn check(module: *const c::Module) -> Result<Self, String> {
        // SAFETY: every version of the contract has the first two fields. Nothing beyond the size
        // that the description states is read.
        let (size, version) = unsafe { ((*module).size, (*module).abi_version) };
        if version != c::ABI_VERSION {
            return Err(format!(
                "it is built for version {version} of the contract, and this ipcmark speaks {}",
                c::ABI_VERSION
            ));
        }
        is_whole("ipcmark_module", size, size_of::<c::Module>())?;
        // SAFETY: it is as large as the type.
        let module = unsafe { &*module };
        if module.transports.is_null() || module.transport_count == 0 {
            return Err("it offers no transport".into());
        }
        // SAFETY: the contract gives the number of addresses.
        let transports =
            unsafe { slice::from_raw_parts(module.transports, module.transport_count as usize) };
        // SAFETY: the family is a NUL-terminated text or null.
        let family = unsafe { text::read(module.family) };
        let family = family.filter(|name| is_name(name)).ok_or("its family is no name")?;
        let (version, leftovers) = (module.library_version, module.leftovers);
        Ok(Self { family: family.leak(), version, leftovers, transports })
    }

    /// The version of the library behind the module, as the library states it.
    pub(crate) fn version_text(&self) -> Option<String> {
        // SAFETY: the contract gives the function this type and keeps the text valid.
        self.version.and_then(|version| unsafe { text::read(version()) })
    }

    /// Every transport that it offers, or the fault in it.
    pub(crate) fn transports(&self) -> impl Iterator<Item = Result<&'static c::Transport, String>> {
        // SAFETY: they are addresses of descriptions that live as long as the process.
        self.transports.iter().map(|transport| unsafe { check_transport(*transport) })
    }

    /// The transport called `name`.
    pub(crate) fn transport(&self, name: &str) -> Result<&'static c::Transport, String> {
        self.transports()
            .filter_map(Result::ok)
            // SAFETY: the name was checked to be a NUL-terminated text.
            .find(|transport| unsafe { text::read(transport.name) }.as_deref() == Some(name))
            .ok_or_else(|| format!("it does not offer {name}"))
    }
}

/// # Safety
/// `transport` is null or the address of a description that lives as long as the process.
unsafe fn check_transport(transport: *const c::Transport) -> Result<&'static c::Transport, String> {
    if transport.is_null() {
        return Err("the address of a transport is null".into());
    }
    // SAFETY: the size is the first field in every version; the rest is read only if present.
    let size = unsafe { (*transport).size };
    is_whole("ipcmark_transport", size, size_of::<c::Transport>())?;
    // SAFETY: it is as large as the type.
    let transport = unsafe { &*transport };
    // SAFETY: the name is a NUL-terminated text or null.
    let name = unsafe { text::read(transport.name) }.unwrap_or_default();
    if !is_name(&name) {
        return Err(format!("'{name}' is no name for a transport"));
    }
    check_required_functions(transport).map_err(|lack| format!("its transport {name} {lack}"))?;
    Ok(transport)
}

fn is_whole(what: &str, size: u32, least: usize) -> Result<(), String> {
    if (size as usize) < least {
        return Err(format!("its struct {what} has {size} bytes, not the {least} of the contract"));
    }
    Ok(())
}

/// Lower-case words and digits joined by `-`.
pub(crate) fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.len() <= 40 && name.split('-').all(is_word)
}

/// Checks the required functions of a transport; the command checks the description when it
/// receives it.
fn check_required_functions(transport: &c::Transport) -> Result<(), String> {
    let required = [
        ("open", transport.open.is_some()),
        ("publish", transport.publish.is_some()),
        ("take", transport.take.is_some()),
        ("close", transport.close.is_some()),
    ];
    if let Some((function, _)) = required.iter().find(|(_, there)| !there) {
        return Err(format!("lacks the function {function}"));
    }
    match transport.flags & c::LOANS != 0 && transport.loan.is_none() {
        true => Err("has LOANS without loan".into()),
        false => Ok(()),
    }
}

/// The dynamic linker's message without the file name that the sentence already contains.
fn reason(error: &libloading::Error, file: &OsStr, name: &Path) -> String {
    let words = match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    };
    let words = words.replace(&*file.to_string_lossy(), &name.to_string_lossy());
    let own = format!("{}: ", name.display());
    words.strip_prefix(&own).unwrap_or(&words).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_joined_by_a_hyphen() {
        assert!(["null", "zeromq-pair-ipc", "iceoryx2"].into_iter().all(is_name));
        let long = "x".repeat(41);
        assert!(!["", "-x", "x-", "a--b", "Ab", "a_b", "a b", &long].into_iter().any(is_name));
    }
}
