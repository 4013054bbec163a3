//! The terminal: taken over for the live view, and restored afterwards, even after a panic. Its keys stay as they
//! are, so that Ctrl-C still is a signal.

use std::{
    io::{self, Stderr},
    os::fd::AsFd,
    panic,
    sync::Mutex,
};

use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::{Hide, Show},
        execute,
        terminal::{EnterAlternateScreen, LeaveAlternateScreen},
    },
};

use super::view::View;

/// The settings of the terminal before it was taken over.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The taken terminal.
pub(super) struct Screen(Terminal<CrosstermBackend<Stderr>>);

impl Screen {
    /// Takes over the terminal.
    pub(super) fn take() -> io::Result<Self> {
        let before = tcgetattr(io::stderr())?;
        let mut taken = before.clone();
        // Typed characters would disturb the picture; a stopped or killed command would leave it on the terminal.
        taken.local_flags.remove(LocalFlags::ECHO);
        for key in [SpecialCharacterIndices::VSUSP, SpecialCharacterIndices::VQUIT] {
            taken.control_chars[key as usize] = nix::libc::_POSIX_VDISABLE;
        }
        give_back_on_panic();
        *BEFORE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(before);
        let taken = tcsetattr(io::stderr().as_fd(), SetArg::TCSANOW, &taken)
            .map_err(io::Error::from)
            .and_then(|()| execute!(io::stderr(), EnterAlternateScreen, Hide))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stderr())));
        taken.map(Self).inspect_err(|_| give_back())
    }

    /// Its columns.
    pub(super) fn columns(&self) -> usize {
        self.0.size().map_or(80, |size| usize::from(size.width))
    }

    /// Draws the view. Errors are ignored: if the terminal is gone, no one sees it.
    pub(super) fn draw(&mut self, view: &View) {
        let _ = self.0.draw(|frame| view.draw(frame));
    }

    /// Restores the terminal.
    pub(super) fn give_back(&self) {
        give_back();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Restores the terminal, once.
fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    let Some(before) = before else { return };
    let _ = execute!(io::stderr(), Show, LeaveAlternateScreen);
    let _ = tcsetattr(io::stderr().as_fd(), SetArg::TCSANOW, &before);
}

/// A panic message would be lost with the alternate screen.
fn give_back_on_panic() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        give_back();
        before(panic);
    }));
}
