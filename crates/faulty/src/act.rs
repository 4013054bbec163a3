//! The faulty actions of a process.

use std::{
    fs::{self, File},
    hint::black_box,
    io::{self, Write},
    mem,
    path::Path,
    process,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use ipcmark_transport::Error;
use nix::{
    mqueue::{MQ_OFlag, MqAttr, mq_open},
    sys::stat::Mode,
};

use crate::fault::Act;

impl Act {
    /// Performs the action in the calling process, in the session of this name and directory.
    pub fn perform(self, name: &str, directory: &Path) -> Result<(), Error> {
        match self {
            Act::Fail => return Err(Error::new("wind", "the clockwork", "the key is missing")),
            Act::Panic => panic!("the clockwork burst"),
            Act::Exit => process::exit(3),
            Act::Signal(signal) => send_self(signal),
            Act::Hang => hang(),
            Act::Print => eprintln!("opened"),
            Act::Chatter => {
                (0..100_000).for_each(write_lines);
                eprintln!("the last line");
                process::exit(4)
            }
            Act::ChatterOn => drop(thread::spawn(|| {
                loop {
                    write_lines(1);
                }
            })),
            Act::ChatterAndHang => loop {
                let _ = io::stderr().write_all(&[b'x'; 1 << 16]);
            },
            Act::Start => {
                let started = process::Command::new("sleep").arg("1000").spawn();
                started.map_err(|e| Error::os("start", "a process", e))?;
            }
            Act::Litter => {
                leave_objects(name, directory).map_err(|e| Error::os("make", "names", e))?;
                send_self(libc::SIGKILL);
            }
            Act::KeepDescriptor => keep_at_third_call(),
            Act::LeakDescriptor => mem::forget(File::open("/dev/null")),
            Act::LeakThread => drop(thread::spawn(|| hang())),
            Act::LeakMemory => mem::forget(black_box(vec![1_u8; 4 << 20])),
        }
        Ok(())
    }
}

fn keep_at_third_call() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    if CALLS.fetch_add(1, Ordering::Relaxed) == 2 {
        mem::forget(File::open("/dev/null"));
    }
}

fn write_lines(number: u64) {
    // A missing reader is no reason to panic.
    let _ = writeln!(io::stdout(), "line {number} to standard output");
    let _ = writeln!(io::stderr(), "line {number} to standard error");
}

fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1000));
    }
}

fn send_self(signal: i32) {
    // SAFETY: restores the default action, which the standard library may have replaced, and sends
    // a signal to this process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Makes a file, a directory and a message queue under names that start with the session's.
fn leave_objects(name: &str, directory: &Path) -> io::Result<()> {
    fs::write(format!("/dev/shm/{name}-left"), name)?;
    fs::create_dir(format!("/tmp/{name}-left"))?;
    fs::write(format!("/tmp/{name}-left/inner"), name)?;
    fs::write(directory.join("left"), name)?;
    let attributes = MqAttr::new(0, 1, 16, 0);
    let flags = MQ_OFlag::O_CREAT | MQ_OFlag::O_RDWR;
    mq_open(queue(name).as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR, Some(&attributes))?;
    Ok(())
}

/// The message queue that [`Act::Litter`] leaves in a session of this name.
pub fn queue(name: &str) -> String {
    format!("/{name}-left")
}
