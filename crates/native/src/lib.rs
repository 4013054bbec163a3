//! The transports that the operating system offers, one file each.

mod buffer;
mod descriptors;
mod frame;
mod limits;
mod peer;
mod random;
mod shared;
mod socket;
mod system_v;
#[cfg(test)]
mod testing;
mod uds;

mod eventfd;
mod fifo;
mod memfd;
mod mmap_file;
mod null;
mod pipe;
mod posix_mq;
mod shm_futex;
mod shm_ring;
mod shm_semaphore;
mod shm_slot;
mod signal;
mod sysv_mq;
mod sysv_shm;
mod tcp;
mod udp;
mod uds_dgram;
mod uds_seqpacket;
mod uds_stream;

use ipcmark_transport::Collect;

macro_rules! transports {
    ($($module:ident),+ $(,)?) => {
        /// Hands every transport of the operating system to `collect`: the one explicit list.
        pub fn transports<C: Collect>(collect: &mut C) -> Vec<C::Item> {
            vec![$(collect.item($module::TRANSPORT)),+]
        }
    };
}

transports![
    null,
    pipe,
    fifo,
    uds_stream,
    uds_seqpacket,
    uds_dgram,
    tcp,
    udp,
    posix_mq,
    sysv_mq,
    signal,
    eventfd,
    shm_slot,
    shm_ring,
    shm_futex,
    shm_semaphore,
    sysv_shm,
    mmap_file,
    memfd,
];
