//! Short texts from files: plans and lists of sizes. Reading is bounded in memory and time, in case a
//! user names a wrong file.

use std::{
    fs::File,
    io::{self, Error, ErrorKind, Read},
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
    path::Path,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

/// More than anyone writes by hand.
const MOST_BYTES: u64 = 1 << 20;

/// More than the longest trace needs.
const MOST_RECORDED_BYTES: u64 = 64 << 20;

/// The time that the program behind a pipe, as in `run <(make-plan)`, has to write everything.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a text of at most 1 MiB from a file or a pipe.
pub(super) fn read(path: &Path) -> io::Result<String> {
    read_most(path, MOST_BYTES)
}

/// Reads a recording of at most 64 MiB from a file or a pipe.
pub(super) fn read_recorded(path: &Path) -> io::Result<String> {
    read_most(path, MOST_RECORDED_BYTES)
}

fn read_most(path: &Path, most: u64) -> io::Result<String> {
    // Without O_NONBLOCK, opening a FIFO without a writer would block for ever.
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let kind = file.metadata()?.file_type();
    let text = match () {
        () if kind.is_file() => read_bounded(file, most),
        () if kind.is_fifo() => read_bounded(InputPipe::new(file), most),
        () if kind.is_dir() => Err(ErrorKind::IsADirectory.into()),
        () => Err(Error::new(ErrorKind::InvalidInput, "it is a device, not a file or a pipe")),
    }?;
    String::from_utf8(text).map_err(|e| Error::new(ErrorKind::InvalidData, format!("{e}")))
}

fn read_bounded(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => {
            let why = format!("it is larger than {} MiB", most >> 20);
            Err(Error::new(ErrorKind::FileTooLarge, why))
        }
        false => Ok(bytes),
    }
}

/// A pipe that is read until its writers close it, or until a deadline.
struct InputPipe {
    file: File,
    until: Instant,
    /// True once a writer was seen: before that, an empty read is not the end.
    has_begun: bool,
}

impl InputPipe {
    fn new(file: File) -> Self {
        Self { file, until: Instant::now() + READ_TIMEOUT, has_begun: false }
    }

    /// Waits for bytes, or until the last writer closes.
    fn wait(&self) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut wanted = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        match poll(&mut wanted, left) {
            Ok(0) => Err(Error::new(
                ErrorKind::TimedOut,
                format!(
                    "it is a pipe whose writers did not finish within {} s",
                    READ_TIMEOUT.as_secs()
                ),
            )),
            Ok(_) => Ok(()),
            Err(Errno::EINTR) => self.wait(),
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for InputPipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(buffer) {
                Ok(0) if !self.has_begun => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => {
                    self.has_begun = true;
                    return read;
                }
            }
            self.wait()?;
            self.has_begun = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, thread};

    use nix::{sys::stat::Mode, unistd::mkfifo};

    use super::*;

    #[test]
    fn files_are_read_to_their_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "x".repeat(1 << 20)).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1 << 20);
        fs::write(&path, "x".repeat((1 << 20) + 1)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("larger than 1 MiB"));
        fs::write(&path, b"\xff").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("invalid utf-8"));
        assert_eq!(read(directory.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
    }

    #[test]
    fn devices_are_refused() {
        for device in ["/dev/zero", "/dev/null"] {
            let error = read(Path::new(device)).unwrap_err().to_string();
            assert!(error.contains("it is a device"), "{error}");
        }
    }

    #[test]
    fn a_pipe_is_read_to_its_end_or_its_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        for (bytes, is_read) in [(70_000, true), (2 << 20, false)] {
            let to = path.clone();
            let writer = thread::spawn(move || {
                let mut fifo = File::options().write(true).open(to).unwrap();
                // The reader closes its end once it has read enough.
                let _ = fifo.write_all("x".repeat(bytes).as_bytes());
            });
            let text = read(&path);
            writer.join().unwrap();
            assert_eq!(text.is_ok_and(|text| text.len() == bytes), is_read, "{bytes}");
        }
    }

    #[test]
    fn data_of_a_writer_that_has_exited_is_read() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"text").unwrap();
        drop(writer);
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        assert_eq!(read(Path::new(&path)).unwrap(), "text");
    }

    #[test]
    fn reading_a_fifo_without_a_writer_ends_with_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("writers did not finish within 10 s"), "{error}");
    }
}
