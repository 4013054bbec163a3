//! The transports of the operating system, one file each.

mod buffer;
mod connection;
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
mod traceable;
mod uds;
mod uring;

mod cma;
mod eventfd;
mod fifo;
mod memfd;
mod mmap_file;
mod null;
mod pipe;
mod posix_mq;
mod scm_rights;
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
mod uring_msg_ring;
mod uring_pipe;
mod uring_uds;
mod vmsplice;
mod vsock;
mod xdp;

use ipcmark_transport::Collect;

macro_rules! transports {
    ($($module:ident),+ $(,)?) => {
        /// Hands every transport of the operating system to `collect`: the only list of them.
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
    vsock,
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
    cma,
    scm_rights,
    vmsplice,
    uring_uds,
    uring_pipe,
    uring_msg_ring,
    xdp,
];

#[cfg(test)]
mod tests {
    use ipcmark_transport::{BUFFERS, Transport};

    use super::*;

    /// Collects the name of each transport, its `CYCLES`, and true if it has the option.
    struct CyclingOptions;

    impl Collect for CyclingOptions {
        type Item = (String, bool, bool);

        fn item<T: Transport>(&mut self, transport: T) -> Self::Item {
            let definition = transport.definition();
            let option = definition.options.contains(&BUFFERS);
            (definition.name.to_string(), T::CYCLES, option)
        }
    }

    #[test]
    fn only_transports_that_cycle_buffers_have_the_option() {
        let all = transports(&mut CyclingOptions);
        assert!(all.iter().all(|(name, cycles, option)| cycles == option || panic!("{name}")));
        assert_eq!(all.iter().filter(|(_, cycles, _)| *cycles).count(), 11);
    }
}
