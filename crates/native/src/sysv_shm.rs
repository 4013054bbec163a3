//! `sysv-shm`: the ring in System V shared memory, with a futex to sleep on.
//!
//! - Mechanism: as `shm-futex` and `shm-ring`; only the memory is made by `shmget`.
//! - Kernel objects: one segment without a key (`IPC_PRIVATE`), marked for removal as soon as the
//!   leader has attached it: it lives as long as somebody has it attached, and Linux lets the
//!   follower attach it by its number all the same. A futex while an end sleeps. Copies a message:
//!   none.
//! - Blocks: on a futex, as `shm-futex`.
//! - Limits: `kernel.shmmax` (bytes), `kernel.shmall` (pages), `kernel.shmmni` (segments).

use std::ptr::{self, NonNull};

use ipcmark_transport::{
    Carrier, Definition, Error, OptionSpec, Rendezvous, Settings, Transport, Wait,
};

use crate::shared::{
    self,
    duplex::{self, Duplex, Futex},
    region::Region,
};

/// The transport.
pub struct SysvShm;

impl Transport for SysvShm {
    type Endpoint = Duplex<Futex>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn carrier(&self) -> Option<Carrier> {
        Some(Carrier::SharedMemory)
    }

    fn options(&self) -> &[OptionSpec] {
        &duplex::OPTIONS
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Duplex<Futex>, Error> {
        let len = duplex::size(settings)?;
        let region = if settings.role.is_leader() {
            let (id, region) = create(len)?;
            peers.send(0, &id.to_ne_bytes(), &[])?;
            region
        } else {
            attach(receive_id(peers)?, len)?
        };
        Duplex::open(settings, peers, region, Futex::new(settings.wait))
    }
}

fn create(len: usize) -> Result<(i32, Region), Error> {
    // SAFETY: no memory is involved.
    let id = unsafe { libc::shmget(libc::IPC_PRIVATE, len, libc::IPC_CREAT | 0o600) };
    if id < 0 {
        let error = Error::last_os("create", format!("a System V segment of {len} bytes"));
        return Err(error.remedy("raise kernel.shmmax, kernel.shmall or kernel.shmmni (sysctl)"));
    }
    let region = attach(id, len);
    // Whether or not it could be attached, it goes with the last one that has it attached.
    // SAFETY: `IPC_RMID` takes no buffer.
    if unsafe { libc::shmctl(id, libc::IPC_RMID, ptr::null_mut()) } < 0 {
        return Err(Error::last_os("mark for removal", described(id)));
    }
    Ok((id, region?))
}

fn attach(id: i32, len: usize) -> Result<Region, Error> {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe { libc::shmat(id, ptr::null(), 0) };
    if base as isize == -1 {
        return Err(Error::last_os("attach", described(id)));
    }
    let base = NonNull::new(base.cast()).expect("a mapping never begins at 0");
    let size = size(id).inspect_err(|_| {
        // SAFETY: attached above, and not handed to anybody.
        unsafe { detach(base, len) };
    })?;
    if size < len {
        // SAFETY: as above.
        unsafe { detach(base, len) };
        let cause = format!("it has {size} bytes instead of {len}");
        return Err(Error::new("attach", described(id), cause));
    }
    // SAFETY: attached just now, of `len` bytes at least, and `detach` gives it back.
    Ok(unsafe { Region::adopt(base, len, detach) })
}

fn size(id: i32) -> Result<usize, Error> {
    // SAFETY: plain numbers, for which zeros are a value.
    let mut state: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: `state` is what `IPC_STAT` writes.
    if unsafe { libc::shmctl(id, libc::IPC_STAT, &mut state) } < 0 {
        return Err(Error::last_os("look at", described(id)));
    }
    Ok(state.shm_segsz)
}

unsafe fn detach(base: NonNull<u8>, _: usize) {
    // SAFETY: attached at `base`, and nobody points there any more.
    unsafe { libc::shmdt(base.as_ptr().cast()) };
}

fn receive_id(peers: &mut dyn Rendezvous) -> Result<i32, Error> {
    let (bytes, _) = peers.receive(0)?;
    let id = bytes.try_into().map_err(|_| {
        Error::new("receive", "the number of the System V segment", "the leader sent none")
    })?;
    Ok(i32::from_ne_bytes(id))
}

fn described(id: i32) -> String {
    format!("the System V segment {id}")
}

static DEFINITION: Definition = shared::definition(
    "sysv-shm",
    "ring of messages in System V shared memory, a futex to sleep on, no copy",
    &[Wait::Spin, Wait::Block, Wait::Hybrid],
);

/// `sysv-shm`, as it stands in the list.
pub const TRANSPORT: SysvShm = SysvShm;
