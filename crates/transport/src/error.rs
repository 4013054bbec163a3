//! Errors with operation, object, cause and remedy.

use std::{fmt, io};

/// A failure: the operation, the object, the cause and, where one is likely, the remedy.
///
/// It is one pointer wide, so that results of the hot path stay in registers.
pub struct Error(Box<Fault>);

struct Fault {
    operation: String,
    object: String,
    cause: String,
    os_error: Option<i32>,
    peer_gone: bool,
    remedy: Option<String>,
}

impl Error {
    /// An error whose cause is our text or a library's: `cannot {operation} {object}: {cause}`.
    pub fn new(
        operation: impl Into<String>,
        object: impl Into<String>,
        cause: impl fmt::Display,
    ) -> Self {
        Self(Box::new(Fault {
            operation: operation.into(),
            object: object.into(),
            cause: cause.to_string(),
            os_error: None,
            peer_gone: false,
            remedy: None,
        }))
    }

    /// An error reported by the operating system.
    pub fn os(
        operation: impl Into<String>,
        object: impl Into<String>,
        error: impl Into<io::Error>,
    ) -> Self {
        let error = error.into();
        let mut new = Self::new(operation, object, &error);
        new.0.os_error = error.raw_os_error();
        new
    }

    /// An error of a call that creates descriptors, memory, files or processes, with a remedy if the system has run
    /// out or a limit was reached.
    pub fn scarce(
        operation: impl Into<String>,
        object: impl Into<String>,
        error: impl Into<io::Error>,
    ) -> Self {
        let error = Self::os(operation, object, error);
        match error.os_error().and_then(shortage_remedy) {
            Some(remedy) => error.remedy(remedy),
            None => error,
        }
    }

    /// The error in `errno`, right after a failed system call.
    #[cold]
    pub fn last_os(operation: impl Into<String>, object: impl Into<String>) -> Self {
        let error = io::Error::last_os_error();
        Self::os(operation, object, error)
    }

    /// The peer has closed its end.
    #[cold]
    pub fn peer_gone(operation: impl Into<String>, object: impl Into<String>) -> Self {
        let mut new = Self::new(operation, object, "the other process closed its end");
        new.0.peer_gone = true;
        new
    }

    /// Adds the remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// Operation, object and cause, as they appear in the message.
    pub fn parts(&self) -> [&str; 3] {
        let fault = &*self.0;
        [&fault.operation, &fault.object, &fault.cause]
    }

    /// The remedy, if there is one.
    pub fn remedy_text(&self) -> Option<&str> {
        self.0.remedy.as_deref()
    }

    /// True if the error only says that the peer is gone: the cause is then in the peer.
    pub fn is_peer_gone(&self) -> bool {
        self.0.peer_gone
    }

    /// The system's error number, if the system reported the error.
    pub fn os_error(&self) -> Option<i32> {
        self.0.os_error
    }
}

/// Shortages: Linux's error number and text (constants, because this crate makes no system calls), and the remedy.
const SHORTAGES: [(i32, &str, &str); 6] = [
    (
        7,
        "Argument list too long",
        "shorten the environment, or allow a larger stack: ulimit -s 8192",
    ),
    (11, "Resource temporarily unavailable", "allow more processes and threads: ulimit -u 4096"),
    (12, "Cannot allocate memory", "free some memory, or allow this process more"),
    (23, "Too many open files in system", "allow more open files: ulimit -n 1024"),
    (24, "Too many open files", "allow more open files: ulimit -n 1024"),
    (27, "File too large", "allow larger files: ulimit -f unlimited"),
];

fn shortage_remedy(os_error: i32) -> Option<&'static str> {
    SHORTAGES.iter().find(|(number, ..)| *number == os_error).map(|(_, _, remedy)| *remedy)
}

/// The remedy, if the text contains the system's message for a shortage of descriptors, memory or processes.
pub fn remedy_in(text: &str) -> Option<&'static str> {
    SHORTAGES.iter().find(|(_, words, _)| text.contains(words)).map(|(_, _, remedy)| *remedy)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = &*self.0;
        write!(f, "cannot {} {}: {}", fault.operation, fault.object, fault.cause)?;
        match &fault.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_operation_object_cause_and_remedy() {
        let error = Error::os("create", "the queue /q", io::Error::from_raw_os_error(22))
            .remedy("raise fs.mqueue.msgsize_max");
        assert_eq!(
            error.to_string(),
            "cannot create the queue /q: Invalid argument (os error 22); raise fs.mqueue.msgsize_max"
        );
        assert_eq!(error.os_error(), Some(22));
        let parts = ["create", "the queue /q", "Invalid argument (os error 22)"];
        assert_eq!(
            (error.parts(), error.remedy_text()),
            (parts, Some("raise fs.mqueue.msgsize_max"))
        );
    }

    #[test]
    fn a_shortage_brings_its_remedy() {
        for (errno, remedy) in [
            (7, "ulimit -s"),
            (11, "ulimit -u"),
            (12, "free some memory"),
            (24, "ulimit -n"),
            (27, "ulimit -f"),
        ] {
            let error = Error::scarce("fork", "a worker", io::Error::from_raw_os_error(errno));
            assert!(error.remedy_text().is_some_and(|text| text.contains(remedy)), "{error}");
        }
        let other = Error::scarce("fork", "a worker", io::Error::from_raw_os_error(1));
        assert_eq!(other.remedy_text(), None);
    }

    #[test]
    fn a_shortage_is_recognised_by_its_text() {
        for number in [7, 11, 12, 23, 24, 27] {
            let words = io::Error::from_raw_os_error(number).to_string();
            assert_eq!(remedy_in(&format!("x: {words}; y")), shortage_remedy(number), "{words}");
        }
        assert_eq!(remedy_in("No such file or directory"), None);
    }

    #[test]
    fn a_result_of_the_hot_path_is_two_words_at_most() {
        assert!(size_of::<Result<crate::Step, Error>>() <= 16);
    }
}
