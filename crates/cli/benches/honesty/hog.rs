//! A busy loop on one processor that runs until it is dropped.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use ipcmark_machine::{pin::Pin, topology};

pub(crate) struct Hog {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hog {
    pub(crate) fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let cpu = topology::usable().expect("there are processors")[0].id;
        let thread = thread::spawn(move || {
            Pin::to(cpu).expect("the processor is usable");
            while !ends.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}
