//! A bare program of zenoh's shared memory, the baseline for `zenoh-shm`.

#[path = "../../shared/rust/bare.rs"]
mod bare;
mod bare_ports;
mod bare_session;

use std::{env, process::Command};

use bare::{Asked, Failure};
use bare_ports::Ports;
use bare_session::{BareEnd, Link};
use zenoh::{
    Session, Wait,
    bytes::ZBytes,
    shm::{
        GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder,
        cleanup_orphaned_shm_segments,
    },
};

/// Room for many messages.
const POOL: usize = 1 << 20;

/// Set in the processes that measure.
const MEASURES: &str = "IPCMARK_BARE_MEASURES";

/// The library keeps segments until no process maps them any more, so the first process only removes them.
fn main() -> Result<(), Failure> {
    if env::var_os(MEASURES).is_some() {
        return bare_session::run::<ShmEnd>(Link::Shm);
    }
    let mut words = env::args_os();
    let program = words.next().ok_or("the program has no name")?;
    let status = Command::new(program).args(words).env(MEASURES, "1").status()?;
    cleanup_orphaned_shm_segments();
    if status.success() { Ok(()) } else { Err("the measurement failed".into()) }
}

struct ShmEnd {
    provider: ShmProvider<PosixShmProviderBackend>,
    ports: Ports,
    payload: usize,
}

impl BareEnd for ShmEnd {
    fn open(session: Session, leads: bool, asked: &Asked) -> Result<Self, Failure> {
        let provider = ShmProviderBuilder::default_backend(POOL).wait()?;
        let ports = Ports::open(session, leads, asked)?;
        Ok(Self { ports, provider, payload: asked.payload })
    }

    fn send(&mut self, number: u64) -> Result<(), Failure> {
        let mut room = self.provider.alloc(self.payload).with_policy::<GarbageCollect>().wait()?;
        bare::write(&mut room, number);
        self.ports.publisher.put(ZBytes::from(room)).wait()
    }

    fn receive(&mut self) -> Result<u64, Failure> {
        let sample = self.ports.room.next(&self.ports.subscriber)?;
        if sample.payload().as_shm().is_none() {
            return Err("a message came as a copy over the socket".into());
        }
        self.ports.room.read(sample.payload())
    }
}
