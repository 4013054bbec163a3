//! `sysv-shm`: the ring in System V shared memory, with a futex to sleep on.
//!
//! - Mechanism: as `shm-futex` and `shm-ring`; but `shmget` creates the memory.
//! - Kernel objects: one segment under a key derived from the session's name, marked for removal as
//!   soon as both ends have attached it: it lives as long as a process has it attached. A futex while
//!   an end sleeps.
//! - Copies per message: none.
//! - Blocks: on a futex, as `shm-futex`.
//! - Limits: `kernel.shmmax` (bytes), `kernel.shmall` (pages), `kernel.shmmni` (segments).

use std::ptr::{self, NonNull};

use ipcmark_transport::{
    Definition, Error, Leftover, Rendezvous, SessionName, Settings, Transport, Wait,
};
use libc::key_t;

use crate::{
    shared::{
        self,
        duplex::{self, Duplex, Futex},
        region::Region,
    },
    system_v,
};

/// The transport.
pub struct SysvShm;

impl Transport for SysvShm {
    type Endpoint = Duplex<Futex>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Duplex<Futex>, Error> {
        let (key, len) = (system_v::key(&settings.name, 0), duplex::size(settings)?);
        let region = match settings.role.is_leader() {
            true => lead(key, len, peers)?,
            false => follow(key, len, peers)?,
        };
        Duplex::open(settings, peers, region, Futex::new(settings.wait))
    }

    fn leftovers(&self, sessions: &[SessionName]) -> Result<Vec<Leftover>, Error> {
        let key = |session: &SessionName| Leftover::SystemVSegment(system_v::key(session, 0));
        Ok(sessions.iter().map(key).collect())
    }
}

/// Keeps the segment's key until the follower has attached the segment, or failed to.
fn lead(key: key_t, len: usize, peers: &mut dyn Rendezvous) -> Result<Region, Error> {
    let segment = Segment::create(key, len)?;
    let region = attach(segment.0, len)?;
    peers.send(0, b"it is there", &[])?;
    peers.receive(0)?;
    Ok(region)
}

fn follow(key: key_t, len: usize, peers: &mut dyn Rendezvous) -> Result<Region, Error> {
    peers.receive(0)?;
    // SAFETY: no memory is involved.
    let id = unsafe { libc::shmget(key, 0, 0) };
    if id < 0 {
        return Err(Error::last_os("open", described(key)));
    }
    let region = attach(id, len)?;
    peers.send(0, b"it is attached", &[])?;
    Ok(region)
}

/// A segment that is marked for removal on drop.
struct Segment(i32);

impl Segment {
    fn create(key: key_t, len: usize) -> Result<Self, Error> {
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
        // SAFETY: no memory is involved.
        let id = unsafe { libc::shmget(key, len, flags) };
        if id >= 0 {
            return Ok(Self(id));
        }
        let error = Error::last_os("create", format!("{} ({len} bytes)", described(key)));
        Err(match error.os_error() {
            Some(libc::EEXIST) => {
                error.remedy(format!("remove it (ipcrm -M {key:#010x}), if it is yours"))
            }
            _ => error.remedy("raise kernel.shmmax, kernel.shmall or kernel.shmmni (sysctl)"),
        })
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `IPC_RMID` takes no buffer.
        unsafe { libc::shmctl(self.0, libc::IPC_RMID, ptr::null_mut()) };
    }
}

fn attach(id: i32, len: usize) -> Result<Region, Error> {
    // SAFETY: a new mapping at an address that the kernel chooses.
    let base = unsafe { libc::shmat(id, ptr::null(), 0) };
    if base as isize == -1 {
        return Err(Error::last_os("attach", format!("the System V segment {id}")));
    }
    let base = NonNull::new(base.cast()).expect("a mapping never begins at 0");
    let size = size(id).inspect_err(|_| {
        // SAFETY: attached above, and not passed on.
        unsafe { detach(base, len) };
    })?;
    if size < len {
        // SAFETY: as above.
        unsafe { detach(base, len) };
        let cause = format!("it has {size} bytes instead of {len}");
        return Err(Error::new("attach", format!("the System V segment {id}"), cause));
    }
    // SAFETY: just attached, of at least `len` bytes, and `detach` releases it.
    Ok(unsafe { Region::adopt(base, len, detach) })
}

fn size(id: i32) -> Result<usize, Error> {
    // SAFETY: plain numbers, for which zeros are valid.
    let mut state: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: `IPC_STAT` writes into `state`.
    if unsafe { libc::shmctl(id, libc::IPC_STAT, &mut state) } < 0 {
        return Err(Error::last_os("look at", format!("the System V segment {id}")));
    }
    Ok(state.shm_segsz)
}

unsafe fn detach(base: NonNull<u8>, _: usize) {
    // SAFETY: attached at `base`, and no pointer to it remains.
    unsafe { libc::shmdt(base.as_ptr().cast()) };
}

fn described(key: key_t) -> String {
    format!("the System V segment with the key {key:#010x}")
}

static DEFINITION: Definition = shared::definition(
    "sysv-shm",
    "ring of messages in System V shared memory, a futex to sleep on, no copy",
    &[Wait::Spin, Wait::Block, Wait::Hybrid],
    &duplex::POLLED_OPTIONS,
);

/// The entry of `sysv-shm` in the list of transports.
pub const TRANSPORT: SysvShm = SysvShm;
