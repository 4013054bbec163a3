//! A command on its own terminal.

use std::{
    fs::File,
    io::{Read, Write},
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use nix::{
    pty::{Winsize, openpty},
    sys::termios::{Termios, tcgetattr},
    unistd::setsid,
};

use super::processes::await_that;

/// A command running on a terminal.
pub struct OnTerminal {
    child: Child,
    master: File,
    /// Kept open, so that the terminal can be inspected after the command has ended.
    terminal: OwnedFd,
    before: Termios,
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl OnTerminal {
    /// Starts a command on a terminal with these numbers of columns and lines.
    pub fn start(mut command: Command, columns: u16, lines: u16) -> Self {
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pair = openpty(Some(&size), None).expect("a terminal");
        let before = tcgetattr(&pair.slave).expect("it is a terminal");
        let end = || Stdio::from(pair.slave.try_clone().expect("a descriptor"));
        command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm");
        command.env_remove("NO_COLOR").env_remove("COLUMNS").env_remove("RUST_BACKTRACE");
        // SAFETY: it only makes system calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                setsid()?;
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = command.spawn().expect("it starts");
        // It keeps the terminal open, and the reader waits until nobody does.
        drop(command);
        let master = File::from(pair.master);
        let (bytes, mut source) = (Arc::default(), master.try_clone().expect("a descriptor"));
        let read: Arc<Mutex<Vec<u8>>> = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = source.read(&mut buffer) {
                read.lock().expect("nobody panics with it").extend(&buffer[..len]);
            }
        });
        Self { child, master, terminal: pair.slave, before, bytes, reader: Some(reader) }
    }

    /// Its output so far.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("nobody panics with it")).into_owned()
    }

    /// Waits until its output contains this text.
    #[track_caller]
    pub fn await_text(&self, text: &str) {
        await_that(&format!("it writes {text:?}"), || self.shown().contains(text).then_some(()));
    }

    /// Types these keys.
    pub fn types(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("a terminal");
    }

    /// Its process id.
    pub fn id(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits for its end; returns its whole output. The terminal must have its original settings.
    #[track_caller]
    pub fn end(mut self) -> (ExitStatus, String) {
        let child = &mut self.child;
        let status = await_that("it ends", || child.try_wait().expect("it is a child"));
        let after = tcgetattr(&self.terminal).expect("it is a terminal");
        assert_eq!(after.local_flags, self.before.local_flags, "the terminal is another");
        assert_eq!(after.control_chars, self.before.control_chars, "its keys are others");
        // The reader ends when the last descriptor of the terminal is closed.
        let Self { reader, bytes, terminal, .. } = self;
        drop(terminal);
        if let Some(reader) = reader {
            reader.join().expect("a reader does not panic");
        }
        let bytes = bytes.lock().expect("nobody panics with it");
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }
}
