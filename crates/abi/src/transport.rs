//! A transport of a module, as the engine sees it.

use std::{
    collections::BTreeMap,
    ffi::{CString, c_void},
    path::{Path, PathBuf},
    ptr,
    sync::Arc,
};

use ipcmark_contract::{c, failure, wait_bit};
use ipcmark_transport::{
    Availability, Definition, Error, Leftover, Rendezvous, Role, SessionName, Settings, Transport,
};

use crate::{
    description::Description,
    end::{Functions, ModuleEndpoint},
    origin::ModuleFile,
    process,
    session::SessionFunctions,
};

/// The command word for naming the leftovers of killed sessions.
pub(crate) const LEFTOVERS: &str = "leftovers";

/// The command word for checking the options that were set.
pub(crate) const CHECK: &str = "check";

/// A transport of a module, or the row of a transport that is not available.
pub struct Module {
    definition: Definition,
    availability: Availability,
    /// The module's file; `None` if there is no module.
    origin: Option<Arc<ModuleFile>>,
}

impl Module {
    pub(crate) fn new(
        description: &Description,
        family: &str,
        availability: Availability,
        origin: Option<Arc<ModuleFile>>,
    ) -> Self {
        let definition = description.definition(family);
        Self { definition, availability, origin }
    }

    pub(crate) fn name(&self) -> String {
        self.definition.name.clone().into_owned()
    }

    fn origin(&self) -> Result<&Arc<ModuleFile>, Error> {
        let name = &self.definition.name;
        self.origin.as_ref().ok_or_else(|| {
            Error::new("open", format!("the transport {name}"), "its module is not there")
        })
    }
}

impl Transport for Module {
    type Endpoint = ModuleEndpoint;
    const CAN_LOSE: bool = true;
    const FANS_OUT: bool = true;

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn probe(&self) -> Availability {
        self.availability.clone()
    }

    fn check(&self, options: &BTreeMap<String, String>) -> Result<(), Error> {
        let Some(origin) = self.origin.as_ref().filter(|_| !options.is_empty()) else {
            return Ok(());
        };
        let own: &str = &self.definition.name;
        let mut words = vec![CHECK.into(), origin.path().into(), own.into()];
        words.extend(options.iter().flat_map(|(key, value)| [key.into(), value.into()]));
        process::answer::<Result<(), String>>(&words)
            .and_then(|answer| answer)
            .map_err(|cause| Error::new("use", format!("what is set of {own}"), cause))
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<ModuleEndpoint, Error> {
        let transport = self.origin()?.transport(&self.definition.name)?;
        let texts = Texts::of(settings)?;
        let given = texts.settings(settings);
        let mut session = SessionFunctions::new(peers);
        let mut error = failure::blank();
        let mut end: *mut c_void = ptr::null_mut();
        let functions = transport.open.zip(Functions::of(transport));
        let (open, functions) = functions.ok_or_else(|| incomplete(&self.definition.name))?;
        // SAFETY: the contract's call; everything pointed to lives until it returns.
        let code = unsafe { open(transport, &given, session.as_c(), &mut end, &mut error) };
        if code != c::DONE {
            return Err(failure::read(code, &error, "open", &self.definition.name));
        }
        let (name, words) = (&self.definition.name, session.into_words());
        Ok(ModuleEndpoint::new(functions, end, settings, name, words))
    }

    fn leftovers(&self, _sessions: &[SessionName]) -> Result<Vec<Leftover>, Error> {
        let Some(origin) = self.origin.as_ref().filter(|origin| origin.names_leftovers) else {
            return Ok(Vec::new());
        };
        let words = [LEFTOVERS.into(), origin.path().into()];
        let answer = process::answer::<Result<Vec<PathBuf>, String>>(&words);
        let files = answer.and_then(|answer| answer).map_err(|cause| {
            Error::new("find", format!("what {} left", self.definition.family), cause)
        })?;
        Ok(files.into_iter().map(Leftover::File).collect())
    }

    fn library(&self) -> &str {
        let path = self.origin.as_ref().and_then(|origin| origin.path().to_str());
        path.unwrap_or(&self.definition.name)
    }
}

fn incomplete(name: &str) -> Error {
    Error::new("open", format!("the transport {name}"), "its module lacks a function")
}

/// The texts of the settings, NUL-terminated.
pub(crate) struct Texts {
    name: CString,
    directory: CString,
    address: Option<CString>,
    /// Key and value of each option, kept alive for the addresses in `options`.
    _texts: Vec<(CString, CString)>,
    options: Vec<c::Setting>,
}

impl Texts {
    pub(crate) fn of(settings: &Settings) -> Result<Self, Error> {
        let texts = options(&settings.options)?;
        let address = |(key, value): &(CString, CString)| c::Setting {
            key: key.as_ptr(),
            value: value.as_ptr(),
        };
        Ok(Self {
            name: terminated(settings.name.to_string())?,
            directory: terminated_path(&settings.directory)?,
            address: settings.address.map(|at| terminated(at.to_string())).transpose()?,
            options: texts.iter().map(address).collect(),
            _texts: texts,
        })
    }

    pub(crate) fn settings(&self, settings: &Settings) -> c::Settings {
        let (role, follower) = match settings.role {
            Role::Leader => (c::LEADER, 0),
            Role::Follower(number) => (c::FOLLOWER, number),
        };
        c::Settings {
            size: size_of::<c::Settings>() as u32,
            role,
            follower,
            wait: wait_bit(settings.wait),
            payload: settings.payload as u64,
            subscribers: settings.subscribers,
            option_count: self.options.len() as u32,
            options: self.options.as_ptr(),
            name: self.name.as_ptr(),
            directory: self.directory.as_ptr(),
            address: self.address.as_ref().map_or(ptr::null(), |address| address.as_ptr()),
            connect_ns: u64::try_from(settings.connect_within.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

fn options(options: &BTreeMap<String, String>) -> Result<Vec<(CString, CString)>, Error> {
    options
        .iter()
        .map(|(key, value)| Ok((terminated(key.as_str())?, terminated(value.as_str())?)))
        .collect()
}

fn terminated_path(path: &Path) -> Result<CString, Error> {
    use std::os::unix::ffi::OsStrExt;
    terminated(path.as_os_str().as_bytes())
}

fn terminated(text: impl Into<Vec<u8>>) -> Result<CString, Error> {
    CString::new(text).map_err(|e| Error::new("pass", "a text to a module", e))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf, time::Duration};

    use ipcmark_contract::export;
    use ipcmark_transport::{SessionName, Wait};

    use super::*;

    #[test]
    fn settings_come_back_through_the_contract() {
        let settings = Settings {
            role: Role::Follower(2),
            wait: Wait::Block,
            payload: 64,
            subscribers: 3,
            name: SessionName::new("ipcmark-test").expect("it is one"),
            directory: PathBuf::from("/nowhere"),
            address: None,
            connect_within: Duration::from_millis(2400),
            options: BTreeMap::from([("depth".into(), "16".into())]),
        };
        let texts = Texts::of(&settings).expect("texts without NUL bytes");
        // SAFETY: the texts, which the settings point to, live on.
        let back = unsafe { export::read_settings(&texts.settings(&settings)) };
        let back = back.expect("settings that open an end");
        assert_eq!(back.connect_within, Duration::from_millis(2400));
        assert_eq!(format!("{back:?}"), format!("{settings:?}"));
    }
}
