//! An endpoint whose messages lie in the library's shared memory; a socket carries their positions.

use std::{collections::BTreeMap, fs, path::Path};

use ipcmark_transport::{Endpoint, Error, Leftover, Rendezvous, Settings, Step};
use zenoh::{
    Wait,
    bytes::ZBytes,
    sample::Sample,
    shm::{
        GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder, ZAllocError,
        ZLayoutAllocError, ZShmMut,
    },
};

use crate::{
    connection::Connection,
    options,
    session::{Link, cause, failed},
    space,
};

type Provider = ShmProvider<PosixShmProviderBackend>;

/// The most bytes that the library adds to a buffer.
const OVERHEAD: usize = 128;

/// The bytes of a pool that the library keeps for itself; about 1 KiB was seen.
const POOL_OVERHEAD: usize = 4 << 10;

/// The library's shared memory in addition to the buffers, in each process.
const LIBRARY_BYTES: usize = 2 << 20;

/// The message with which each endpoint checks that the other one's memory is accessible.
const GREETING_BYTES: usize = 16;

/// The library locks the memory that it maps, and a session that opens removes memory that nobody has locked yet.
const REMEDY: &str =
    "allow more locked memory (ulimit -l unlimited), and start no other program of zenoh meanwhile";

/// One endpoint.
pub struct ShmEnd {
    taken: Option<Sample>,
    loan: Option<ZShmMut>,
    connection: Connection,
    provider: Provider,
    configuration: BTreeMap<String, String>,
}

impl ShmEnd {
    pub fn open(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let depth = options::depth(Link::Shm, settings) as usize;
        let pool = pool_bytes(settings.payload, depth);
        space::check(2 * (pool + LIBRARY_BYTES))?;
        let (connection, provider) =
            Connection::open(Link::Shm, settings, peers, || provide(pool))?;
        let mut configuration = options::noted(Link::Shm, settings);
        configuration.insert("pool".into(), format!("{pool} bytes"));
        let mut end = Self { taken: None, loan: None, connection, provider, configuration };
        end.greet(peers)?;
        Ok(end)
    }

    /// Checks that each endpoint has mapped the other one's memory: a library that cannot map it drops the message.
    fn greet(&mut self, peers: &mut dyn Rendezvous) -> Result<(), Error> {
        let greeting = lend(&self.provider, GREETING_BYTES)?;
        let greeting = greeting.ok_or_else(|| no_memory("there is no room in it"))?;
        // Kept until the other endpoint has it.
        let greeting = ZBytes::from(greeting);
        match self.connection.greet(greeting.clone())? {
            Some(sample) => is_shared(&sample)?,
            None => return Err(no_memory("the other end's could not be mapped")),
        }
        peers.meet()
    }
}

/// The files that the library names after random numbers in shared memory: a killed endpoint leaves them behind.
pub fn leftovers() -> Vec<Leftover> {
    let entries = fs::read_dir(space::SHARED_MEMORY).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| is_segment(path));
    paths.map(Leftover::File).collect()
}

fn is_segment(path: &Path) -> bool {
    let number = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
    number.is_some() && path.extension().is_some_and(|extension| extension == "zenoh")
}

/// The memory for this many messages and the one on loan.
fn pool_bytes(payload: usize, depth: usize) -> usize {
    (depth + 2) * (payload.next_multiple_of(64) + OVERHEAD) + POOL_OVERHEAD
}

fn provide(pool: usize) -> Result<Provider, Error> {
    let provider = ShmProviderBuilder::default_backend(pool).wait();
    provider.map_err(|error| no_memory(cause(&error.to_string())))
}

#[cold]
fn no_memory(cause: &str) -> Error {
    Error::new("use", "shared memory of zenoh", cause).remedy(REMEDY)
}

/// Room for a message, if there is some.
#[inline]
fn lend(provider: &Provider, len: usize) -> Result<Option<ZShmMut>, Error> {
    match provider.alloc(len).with_policy::<GarbageCollect>().wait() {
        Ok(room) => Ok(Some(room)),
        Err(ZLayoutAllocError::Alloc(ZAllocError::OutOfMemory | ZAllocError::NeedDefragment)) => {
            Ok(None)
        }
        Err(error) => Err(failed("lend", "shared memory of zenoh")(error)),
    }
}

/// The library copies over the socket if the other end cannot access the memory.
#[inline]
fn is_shared(sample: &Sample) -> Result<(), Error> {
    match sample.payload().as_shm() {
        Some(_) => Ok(()),
        None => Err(no_memory("a message came as a copy over the socket")),
    }
}

impl Endpoint for ShmEnd {
    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        if !self.connection.flow().has_room() {
            return Ok(Step::WouldBlock);
        }
        self.loan = lend(&self.provider, len)?;
        Ok(if self.loan.is_some() { Step::Done } else { Step::WouldBlock })
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        self.loan.as_mut().map_or(&mut [], |room| &mut room[..])
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        match self.loan.take() {
            Some(room) => self.connection.send(ZBytes::from(room)),
            None => Ok(Step::Done),
        }
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        let Some(sample) = self.connection.receive()? else {
            return Ok(Step::WouldBlock);
        };
        is_shared(&sample)?;
        self.taken = Some(sample);
        Ok(Step::Done)
    }

    #[inline]
    fn message(&self) -> &[u8] {
        let sample = self.taken.as_ref();
        sample.and_then(|sample| sample.payload().slices().next()).unwrap_or(&[])
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.taken = None;
        self.connection.flow().count_released();
        Ok(())
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        self.configuration.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_known_by_their_names() {
        for name in ["42.zenoh", "18446744073709551615.zenoh"] {
            assert!(is_segment(&Path::new(space::SHARED_MEMORY).join(name)), "{name}");
        }
        for name in ["zenoh", "x.zenoh", "42.zenoh.x", "-1.zenoh"] {
            assert!(!is_segment(&Path::new(space::SHARED_MEMORY).join(name)), "{name}");
        }
    }

    /// Removes the memory that the library has mapped for this process: it keeps one file until the next program of
    /// zenoh starts.
    struct LeavesNothing;

    impl Drop for LeavesNothing {
        fn drop(&mut self) {
            let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
            let mapped =
                maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
            let segments =
                mapped.filter(|path| path.starts_with(space::SHARED_MEMORY) && is_segment(path));
            segments.for_each(|path| _ = fs::remove_file(path));
        }
    }

    /// Regression: of three small messages in transit there was no room for the next one, so that a row with a small
    /// `depth` waited for it until its end.
    #[test]
    fn the_pool_holds_all_messages_in_transit_and_on_loan() {
        let _leaving = LeavesNothing;
        for (payload, depth) in [16, 64, 256, 5000, 4 << 20]
            .into_iter()
            .flat_map(|payload| [(payload, 1), (payload, 3)])
        {
            let provider = provide(pool_bytes(payload, depth)).unwrap();
            let rooms: Vec<_> =
                (0..=depth).filter_map(|_| lend(&provider, payload).unwrap()).collect();
            assert_eq!(rooms.len(), depth + 1, "{payload}");
        }
    }
}
