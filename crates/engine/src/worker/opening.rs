//! The settings of an endpoint, and checks of the requests for it. The requester can be on another host or another
//! user: nothing in a request becomes a name, a path or a length unchecked.

use std::{collections::BTreeMap, fs::DirBuilder, io, os::unix::fs::DirBuilderExt, path::Path};

use ipcmark_results::Load;
use ipcmark_transport::{
    Definition, Error, FanOut, MIN_PAYLOAD, MOST_ENDS, OptionSpec, Role, Settings,
};

use super::{context::WorkerContext, cycling};
use crate::wire::{CONNECT_TIMES, Isolation, Opening, Pass, PathOptions};

/// The settings of a case, and those of its endpoints in this process if they differ: if the leader sends to each
/// follower through a separate endpoint, the leader has all of them and a follower its own.
pub(super) struct EndpointSettings {
    pub settings: Settings,
    pub ends: Vec<Settings>,
}

impl WorkerContext {
    /// The settings of the endpoint to open.
    pub(super) fn settings(
        &self,
        definition: &Definition,
        opening: Opening,
    ) -> Result<EndpointSettings, Error> {
        check_opening(definition, self.role, &opening)?;
        let options = options(&definition.name, &definition.options, opening.options, &self.paths)?;
        let opening = Opening { options, ..opening };
        let numbers = match (opening.n_sends, self.role) {
            (false, _) => Vec::new(),
            (true, Role::Leader) => opening.numbers().collect(),
            (true, Role::Follower(own)) => vec![opening.number.saturating_add(u64::from(own))],
        };
        let role = if self.role.is_leader() { Role::Leader } else { Role::Follower(0) };
        let of_end = |number| {
            let one = Opening { number, subscribers: 1, ..opening.clone() };
            Ok(Settings { role, ..self.checked_settings(one)? })
        };
        let ends = numbers.into_iter().map(of_end).collect::<Result<_, Error>>()?;
        Ok(EndpointSettings { settings: self.checked_settings(opening)?, ends })
    }

    /// The settings of a reference's endpoint. Only the command that started this process may ask for one.
    pub(super) fn reference_settings(&self, opening: Opening) -> Result<Settings, Error> {
        match self.paths {
            PathOptions::Requested => self.checked_settings(opening),
            PathOptions::Local(_) => {
                Err(Error::new("open", "a reference", "the leader is another command"))
            }
        }
    }

    fn checked_settings(&self, opening: Opening) -> Result<Settings, Error> {
        let options = cycling::resolved(opening.options, opening.payload)?;
        let directory = self.session.isolation.session_directory(opening.number);
        if let Isolation::Names { .. } = self.session.isolation {
            make(&directory)?;
        }
        Ok(Settings {
            role: self.role,
            wait: opening.wait,
            payload: opening.payload,
            subscribers: opening.subscribers,
            name: self.session.run.session(opening.number),
            directory,
            address: self.address,
            connect_within: opening.connect_within,
            options,
        })
    }
}

/// Creates the directory unless it exists: the command may have created it; a follower's command leaves it to the
/// worker.
fn make(directory: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            Err(Error::os("create", directory.display().to_string(), e))
        }
        _ => Ok(()),
    }
}

/// Checks the request for an endpoint.
pub(crate) fn check_opening(
    definition: &Definition,
    role: Role,
    opening: &Opening,
) -> Result<(), Error> {
    let capabilities = &definition.capabilities;
    let number = match role {
        Role::Leader => 0,
        Role::Follower(number) => number,
    };
    let most = match opening.n_sends {
        true if capabilities.fan_out() == Some(FanOut::NSends) => MOST_ENDS,
        true => 0,
        false => capabilities.max_subscribers,
    };
    if !(MIN_PAYLOAD..=capabilities.max_payload).contains(&opening.payload) {
        return Err(refused(definition, format!("of {} bytes a message", opening.payload)));
    }
    if !(1..=most).contains(&opening.subscribers) || number >= opening.subscribers {
        return Err(refused(definition, format!("of {} followers", opening.subscribers)));
    }
    if !capabilities.waits.contains(&opening.wait) {
        return Err(refused(definition, format!("that waits by {}", opening.wait)));
    }
    if !CONNECT_TIMES.contains(&opening.connect_within) {
        let limit = opening.connect_within.as_secs_f64();
        return Err(refused(definition, format!("that waits {limit} s for the others")));
    }
    Ok(())
}

fn refused(definition: &Definition, what: String) -> Error {
    Error::new("open", format!("an end of {} {what}", definition.name), "the transport has none")
}

/// The options of an endpoint: each must be known and have a value that the transport accepts. The value of an
/// option that names a file comes from `paths` if the request is not trusted with it.
pub(crate) fn options(
    transport: &str,
    specs: &[OptionSpec],
    requested: BTreeMap<String, String>,
    paths: &PathOptions,
) -> Result<BTreeMap<String, String>, Error> {
    let checked = |(key, value): (String, String)| {
        let object = || format!("an option of {transport}");
        let spec = specs.iter().find(|spec| spec.key == key);
        let spec = spec.ok_or_else(|| Error::new("set", object(), "it has none of this name"))?;
        let value = match paths {
            PathOptions::Local(own) if !spec.is_word(&value) && spec.takes_path() => {
                own.get(&key).cloned().ok_or_else(|| not_local(transport, &key))?
            }
            PathOptions::Requested if spec.is_path(&value) => value,
            _ => spec.check(&value).map_err(|why| Error::new("set", object(), why))?,
        };
        Ok((key, value))
    };
    requested.into_iter().map(checked).collect()
}

fn not_local(transport: &str, key: &str) -> Error {
    let cause = "it names a file, and the leader may not choose one here";
    Error::new("set", format!("{transport}.{key}"), cause)
        .remedy(format!("start the follower with --set {transport}.{key}=PATH as well"))
}

/// Checks the pass for an open endpoint: the loops rely on it.
pub(crate) fn check_pass(
    definition: &Definition,
    settings: &Settings,
    pass: &Pass,
) -> Result<(), Error> {
    let fault = if !(MIN_PAYLOAD..=settings.payload).contains(&pass.payload) {
        format!(
            "messages of {} bytes go through no end opened for {}",
            pass.payload, settings.payload
        )
    } else if !definition.capabilities.carries(pass.pattern) {
        format!("the transport does not carry the pattern {}", pass.pattern)
    } else if pass.pattern.is_stream() && pass.load != Load::Closed {
        "a stream is sent as fast as it goes".into()
    } else if settings.role.is_leader() && pass.load.has_sizes() != pass.has_trace() {
        "its trace does not belong to its load".into()
    } else if pass.silent >= settings.subscribers {
        format!("{} of {} followers would be silent", pass.silent, settings.subscribers)
    } else {
        return Ok(());
    };
    Err(Error::new("measure", format!("{}", definition.name), fault))
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, time::Duration};

    use ipcmark_transport::{Capabilities, DeclaredCarrier, Wait};

    use super::*;

    fn definition() -> Definition {
        Definition {
            name: "pigeons".into(),
            family: "test".into(),
            summary: "letters".into(),
            carrier: DeclaredCarrier::Unstated,
            options: Cow::Borrowed(&[]),
            capabilities: Capabilities::usual(),
        }
    }

    #[test]
    fn a_leader_does_not_choose_an_endless_wait() {
        let check = |connect_within| {
            let (wait, options) = (Wait::Spin, BTreeMap::new());
            let (number, payload, subscribers, n_sends) = (1, 64, 1, false);
            let opening =
                Opening { number, wait, payload, subscribers, n_sends, options, connect_within };
            check_opening(&definition(), Role::Follower(0), &opening).map_err(|e| e.to_string())
        };
        assert_eq!(check(Duration::from_secs(8)), Ok(()));
        for refused in [Duration::ZERO, Duration::from_secs(3601), Duration::MAX] {
            let error = check(refused).expect_err("no endpoint waits so long");
            let said = format!("that waits {} s for the others", refused.as_secs_f64());
            assert!(error.contains(&said), "{error}");
        }
    }
}
