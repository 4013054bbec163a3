//! A process that works on a module. The library in it may crash, hang or print: the command only
//! reads the answer that the process writes at the end.

use std::{
    ffi::{CString, OsString, c_char, c_int, c_void},
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, OwnedFd},
    path::Path,
    process,
};

use ipcmark_contract::{c, failure, text};
use ipcmark_machine::process::die_with_parent;
use ipcmark_transport::Error;
use nix::{
    sys::{
        resource::{Resource, setrlimit},
        signal::{SigHandler, Signal, signal},
    },
    unistd::dup2_stdout,
};
use serde::Serialize;

use crate::{
    discovery::EXAMINE,
    examine,
    library::Library,
    supervision,
    transport::{CHECK, LEFTOVERS},
};

/// Executes the words after [`MODULE_COMMAND`](crate::MODULE_COMMAND); never returns.
pub fn serve() -> ! {
    let words: Vec<OsString> = std::env::args_os().skip(2).collect();
    match words.as_slice() {
        [verb, path] if verb == EXAMINE => live(|| examine::answer(Path::new(path))),
        [verb, path] if verb == LEFTOVERS => {
            live(|| leftovers(Path::new(path)).map_err(|error| error.to_string()))
        }
        [verb, path, transport, settings @ ..] if verb == CHECK => {
            live(|| check(Path::new(path), transport, settings).map_err(|error| error.to_string()))
        }
        _ => {
            let _ = writeln!(
                io::stderr(),
                "ipcmark: this command is internal: only ipcmark itself starts it"
            );
            process::exit(2)
        }
    }
}

/// The whole life of the process: acts, writes the result to standard output, and ends without running a destructor.
fn live<T: Serialize>(act: impl FnOnce() -> T) -> ! {
    let said = supervision::begin().and_then(|()| answer_pipe()).and_then(|mut pipe| {
        let text = serde_json::to_vec(&act()).map_err(|e| Error::new("write", "an answer", e))?;
        pipe.write_all(&text).map_err(|e| Error::os("write", "an answer", e))
    });
    if let Err(error) = &said {
        let _ = writeln!(io::stderr(), "{error}");
    }
    // SAFETY: ends the process at once. Destructors of a library that was only examined may hang.
    unsafe { nix::libc::_exit(c_int::from(said.is_err())) }
}

/// Moves the pipe to the command away from standard output, which the library may use from now on.
fn answer_pipe() -> Result<File, Error> {
    let error = |e: nix::Error| Error::os("settle", "a process for a module", e);
    die_with_parent()?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0).map_err(error)?;
    for fault in [Signal::SIGSEGV, Signal::SIGBUS] {
        // The standard library's handlers would swallow a signal that the library sends to itself.
        // SAFETY: this restores the default action, in which no code of ours runs.
        unsafe { signal(fault, SigHandler::SigDfl) }.map_err(error)?;
    }
    let stdout = std::io::stdout().as_fd().try_clone_to_owned();
    let pipe: OwnedFd = stdout.map_err(|e| Error::os("keep", "the way to the command", e))?;
    dup2_stdout(std::io::stderr()).map_err(error)?;
    Ok(File::from(pipe))
}

/// Lets a module name the files that killed sessions left behind.
fn leftovers(path: &Path) -> Result<Vec<String>, Error> {
    let library = Library::load(path.as_os_str(), path)?;
    let Some(leftovers) = library.leftovers else { return Ok(Vec::new()) };
    let mut files: Vec<String> = Vec::new();
    let mut error = failure::blank();
    // SAFETY: the contract's call; the list lives until it returns.
    match unsafe { leftovers(add_file, (&raw mut files).cast(), &mut error) } {
        c::DONE => Ok(files),
        code => Err(failure::read(code, &error, "find", "what killed sessions left")),
    }
}

unsafe extern "C" fn add_file(list: *mut c_void, path: *const c_char) {
    // SAFETY: the contract: the list was passed together with this function, the path is NUL-terminated.
    let (list, path) = unsafe { (&mut *list.cast::<Vec<String>>(), text::read(path)) };
    list.extend(path);
}

/// Asks the transport of a module if these settings, alternating keys and values, can be used.
fn check(path: &Path, transport: &OsString, settings: &[OsString]) -> Result<(), Error> {
    let transport = transport.to_string_lossy();
    let found = load(path, &transport)?;
    let Some(check) = found.check else { return Ok(()) };
    let object = format!("the options of {transport}");
    let texts: Result<Vec<_>, _> =
        settings.iter().map(|text| CString::new(text.as_encoded_bytes())).collect();
    let texts = texts.map_err(|e| Error::new("read", &object, e))?;
    let pair = |pair: &[CString]| c::Setting { key: pair[0].as_ptr(), value: pair[1].as_ptr() };
    let options: Vec<_> = texts.chunks_exact(2).map(pair).collect();
    let mut error = failure::blank();
    // SAFETY: the contract's call; the count matches the options.
    match unsafe { check(found, options.as_ptr(), options.len() as u32, &mut error) } {
        c::DONE => Ok(()),
        code => Err(failure::read(code, &error, "use", &object)),
    }
}

fn load(path: &Path, transport: &str) -> Result<&'static c::Transport, Error> {
    let fail = |cause: String| Error::new("load", format!("the module {}", path.display()), cause);
    Library::load(path.as_os_str(), path)?.transport(transport).map_err(fail)
}
