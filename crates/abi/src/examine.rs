//! The process that loads a module to see what it offers. It may crash, hang or print: the command
//! only reads what it says at last.

use std::{
    ffi::c_int,
    fs::File,
    io::Write,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    process,
};

use ipcmark_transport::Error;
use nix::{
    fcntl::{FcntlArg, fcntl},
    sys::{
        prctl,
        resource::{Resource, setrlimit},
        signal::Signal,
    },
    unistd::dup2_stdout,
};
use serde::{Deserialize, Serialize};

use crate::{
    c,
    description::{Description, Verdict},
    failure,
    library::Library,
};

/// What a module offers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub family: String,
    pub transports: Vec<(Description, Verdict)>,
    /// What is wrong with transports that are left out.
    pub faults: Vec<String>,
}

/// The last thing that the process says.
pub(crate) type Answer = Result<Offer, String>;

/// The whole life of the process: loads the module at `path`, says on standard output what it
/// offers, and ends without a destructor.
pub(crate) fn live(path: &Path) -> ! {
    let said = answer_pipe().and_then(|mut pipe| {
        let answer: Answer = examine(path).map_err(|error| error.to_string());
        let text = serde_json::to_vec(&answer).map_err(|e| Error::new("write", "an answer", e))?;
        pipe.write_all(&text).map_err(|e| Error::os("write", "an answer", e))
    });
    if let Err(error) = &said {
        eprintln!("{error}");
    }
    // SAFETY: ends the process at once. Destructors of a library that was only looked at may hang.
    unsafe { nix::libc::_exit(c_int::from(said.is_err())) }
}

/// Moves the way to the command away from standard output, which belongs to the library now.
fn answer_pipe() -> Result<File, Error> {
    let error = |e: nix::Error| Error::os("settle", "a process that looks at a module", e);
    prctl::set_pdeathsig(Some(Signal::SIGKILL)).map_err(error)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0).map_err(error)?;
    let stdout = std::io::stdout().as_fd().try_clone_to_owned();
    let pipe: OwnedFd = stdout.map_err(|e| Error::os("keep", "the way to the command", e))?;
    fcntl(&pipe, FcntlArg::F_GETFD).map_err(error)?;
    dup2_stdout(std::io::stderr()).map_err(error)?;
    Ok(File::from(pipe))
}

fn examine(path: &Path) -> Result<Offer, Error> {
    let library = Library::load(path.as_os_str(), path)?;
    let (mut transports, mut faults) = (Vec::new(), Vec::new());
    for transport in library.transports() {
        match transport {
            Ok(transport) => transports.push((Description::of(transport), probe(transport))),
            Err(fault) => faults.push(fault),
        }
    }
    // After probe, for a library may not know its version before it has been set up.
    let version = library.version_text();
    for (_, verdict) in &mut transports {
        if let Verdict::Available { version: unknown } = verdict {
            unknown.clone_from(&version);
        }
    }
    Ok(Offer { family: library.family.into(), transports, faults })
}

fn probe(transport: &'static c::Transport) -> Verdict {
    let Some(probe) = transport.probe else { return Verdict::Available { version: None } };
    let mut error = failure::blank();
    // SAFETY: the contract's call.
    match unsafe { probe(transport, &mut error) } {
        c::DONE => Verdict::Available { version: None },
        code => {
            let install = crate::text::read_array(&error.remedy);
            error.remedy[0] = 0;
            let reason = failure::read(code, &error, "use", "it").to_string();
            Verdict::Unavailable { reason, install: (!install.is_empty()).then_some(install) }
        }
    }
}

/// Ends the process where the command line of a helper process is not what the loader writes.
pub(crate) fn misused() -> ! {
    eprintln!("ipcmark: this is a part of ipcmark that only ipcmark itself starts");
    process::exit(2)
}
