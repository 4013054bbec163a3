//! The part of one process in a check, passed as words on its command line.

use std::path::{Path, PathBuf};

use ipcmark_transport::{SessionName, Wait};

use crate::{failure::Failure, stamp::Side};

/// The first word on the command line of a process that runs a part.
pub const WORD: &str = "--ipcmark-conformance-part";

/// The part of one process in a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckPart {
    /// Name of the transport.
    pub transport: String,
    /// The wait of the endpoint.
    pub wait: Wait,
    /// The name of the check.
    pub check: String,
    /// The scenario of the check, from 0; most checks have one.
    pub scenario: u32,
    /// The side of the process.
    pub side: Side,
    /// The session's name.
    pub name: SessionName,
    /// The sixteen bits in every message of the session.
    pub session: u16,
    /// The test's own directory, which contains the session's.
    pub root: PathBuf,
}

impl CheckPart {
    /// Its words for the command line.
    pub fn words(&self) -> Vec<String> {
        vec![
            WORD.to_owned(),
            self.transport.clone(),
            self.wait.to_string(),
            self.check.clone(),
            self.scenario.to_string(),
            self.side.to_string(),
            self.name.to_string(),
            self.session.to_string(),
            self.root.to_string_lossy().into_owned(),
        ]
    }

    /// Reads the words after [`WORD`].
    pub fn read(words: &[String]) -> Result<Self, Failure> {
        Self::parse(words).ok_or_else(|| Failure::new(format!("no part of a check: {words:?}")))
    }

    fn parse(words: &[String]) -> Option<Self> {
        let [transport, wait, check, scenario, side, name, session, root] = words else {
            return None;
        };
        Some(Self {
            transport: transport.clone(),
            wait: wait.parse().ok()?,
            check: check.clone(),
            scenario: scenario.parse().ok()?,
            side: [Side::Leader, Side::Follower].into_iter().find(|it| it.as_str() == side)?,
            name: SessionName::new(name.as_str()).ok()?,
            session: session.parse().ok()?,
            root: root.into(),
        })
    }

    /// The session's own directory.
    pub fn directory(&self) -> PathBuf {
        directory(&self.root, &self.name)
    }

    /// The file in which this process records its progress.
    pub fn progress(&self) -> PathBuf {
        self.root.join(format!("{}-{}-{}.progress", self.name, self.scenario, self.side))
    }

    /// The file for this process's output (`out`) or errors (`err`).
    pub fn output_file(&self, stream: &str) -> PathBuf {
        self.root.join(format!("{}-{}-{}.{stream}", self.name, self.scenario, self.side))
    }
}

/// The directory of the session `name`.
pub fn directory(root: &Path, name: &str) -> PathBuf {
    root.join(format!("session-{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_reads_back_as_written() {
        let part = CheckPart {
            transport: "pipe".into(),
            wait: Wait::Hybrid,
            check: "sizes".into(),
            scenario: 3,
            side: Side::Follower,
            name: SessionName::new("x-1").unwrap(),
            session: 65_535,
            root: "/tmp/a b".into(),
        };
        assert_eq!(CheckPart::read(&part.words()[1..]).unwrap(), part);
        assert!(CheckPart::read(&part.words()).is_err());
    }
}
