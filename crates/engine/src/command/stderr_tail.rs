//! The tail of what a process wrote to its standard streams.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    os::fd::{AsFd, OwnedFd},
    time::Instant,
};

use ipcmark_transport::{Error, plain};
use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::pipe2,
};

/// The number of bytes kept of a process's standard error.
const KEPT_BYTES: usize = 4096;

/// The number of characters shown.
const MOST_CHARS: usize = 500;

/// The most reads of a pipe in a row: together more than it holds at once.
const READS: usize = 32;

/// A process's standard error tail.
pub(crate) struct StderrTail {
    pub pipe: File,
    bytes: Vec<u8>,
    /// No process is left that could write.
    pub ended: bool,
}

impl StderrTail {
    /// The tail of what comes out of the read end of a [`pipe`].
    pub(crate) fn new(pipe: OwnedFd) -> Self {
        Self { pipe: File::from(pipe), bytes: Vec::new(), ended: false }
    }

    /// Drains without blocking, bounded against a chatty writer.
    pub(crate) fn fill(&mut self) {
        let mut bytes = [0; KEPT_BYTES];
        for _ in 0..READS {
            match self.pipe.read(&mut bytes) {
                Ok(0) => {
                    self.ended = true;
                    return;
                }
                Ok(n) => {
                    self.bytes.extend(&bytes[..n]);
                    let surplus = self.bytes.len().saturating_sub(KEPT_BYTES);
                    self.bytes.drain(..surplus);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Reads until every process that could write has ended.
    pub(crate) fn fill_until_end(&mut self, deadline: Instant) {
        while !self.ended && Instant::now() < deadline {
            let mut wanted = [PollFd::new(self.pipe.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut wanted, PollTimeout::from(50_u8));
            self.fill();
        }
    }

    /// The last lines, joined, without terminal control characters.
    pub(crate) fn text(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" | ");
        let last = plain(&last);
        (!last.is_empty()).then(|| end_of(&last))
    }
}

/// The end of a text that is too long for a row.
fn end_of(text: &str) -> String {
    match text.chars().count().checked_sub(MOST_CHARS) {
        None | Some(0) => text.into(),
        Some(surplus) => ['…'].into_iter().chain(text.chars().skip(surplus)).collect(),
    }
}

/// A pipe with a non-blocking read end.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    let (reader, writer) =
        pipe2(OFlag::O_CLOEXEC).map_err(|e| Error::scarce("make", "a pipe", e))?;
    let flags = FcntlArg::F_SETFL(OFlag::O_NONBLOCK);
    fcntl(&reader, flags).map_err(|e| Error::os("set up", "a pipe", e))?;
    Ok((reader, writer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn tail_of(written: &[u8]) -> Option<String> {
        let (reader, writer) = pipe().unwrap();
        let mut tail = StderrTail::new(reader);
        let written = written.to_vec();
        let writer = std::thread::spawn(move || File::from(writer).write_all(&written));
        while !tail.ended {
            tail.fill();
        }
        writer.join().unwrap().unwrap();
        tail.text()
    }

    #[test]
    fn the_last_lines_are_kept_however_much_comes() {
        assert_eq!(tail_of(b""), None);
        assert_eq!(tail_of(b"\n \n"), None);
        assert_eq!(tail_of(b"one\ntwo\n\nthree\x1b[0m\nfour").unwrap(), "two | three | four");
        assert_eq!(tail_of(b"a\x1b]0;b\x07\xff").unwrap(), "a\\u{1b}]0;b\\u{7}\u{fffd}");
        let many: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        assert_eq!(tail_of(many.as_bytes()).unwrap(), "line 99997 | line 99998 | line 99999");
    }

    #[test]
    fn a_line_too_long_for_a_row_loses_its_beginning() {
        let text = tail_of(&[[b'x'; 9000].as_slice(), b"end"].concat()).unwrap();
        assert_eq!(text.chars().count(), MOST_CHARS + 1);
        assert!(text.starts_with("…x") && text.ends_with("xend"));
    }
}
