//! The limits of the kernel's queues and segments. Sessions in a sandbox have their own, at the kernel's defaults,
//! except for those of sockets.

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    quantity::{bytes, count},
    system::System,
};

pub(super) const FACTS: &[Fact] = &[
    Fact {
        name: "fs.mqueue.msg_max",
        source: "/proc/sys/fs/mqueue/msg_max",
        examine: |system| {
            number(system, "fs.mqueue.msg_max", 10, "queue of posix-mq holds fewer messages")
        },
    },
    Fact {
        name: "fs.mqueue.msgsize_max",
        source: "/proc/sys/fs/mqueue/msgsize_max",
        examine: |system| {
            size(system, "fs.mqueue.msgsize_max", 8192, "posix-mq cuts messages into more parts")
        },
    },
    Fact {
        name: "fs.mqueue.queues_max",
        source: "/proc/sys/fs/mqueue/queues_max",
        examine: |system| {
            number(system, "fs.mqueue.queues_max", 128, "posix-mq with many subscribers is refused")
        },
    },
    Fact {
        name: "kernel.msgmax",
        source: "/proc/sys/kernel/msgmax",
        examine: |system| {
            size(system, "kernel.msgmax", 8192, "sysv-mq cuts messages into more parts")
        },
    },
    Fact {
        name: "kernel.msgmnb",
        source: "/proc/sys/kernel/msgmnb",
        examine: |system| {
            size(
                system,
                "kernel.msgmnb",
                16_384,
                "a queue of sysv-mq holds less, and its sender waits",
            )
        },
    },
    Fact {
        name: "kernel.msgmni",
        source: "/proc/sys/kernel/msgmni",
        examine: |system| {
            number(system, "kernel.msgmni", 128, "sysv-mq with many subscribers is refused")
        },
    },
    Fact {
        name: "kernel.shmmax",
        source: "/proc/sys/kernel/shmmax",
        examine: |system| {
            size(system, "kernel.shmmax", 256 << 20, "sysv-shm with large messages is refused")
        },
    },
    Fact {
        name: "kernel.shmall",
        source: "/proc/sys/kernel/shmall",
        examine: |system| {
            number(system, "kernel.shmall", 65_536, "sysv-shm with large messages is refused")
        },
    },
    Fact {
        name: "kernel.shmmni",
        source: "/proc/sys/kernel/shmmni",
        examine: |system| {
            number(system, "kernel.shmmni", 128, "sysv-shm with many subscribers is refused")
        },
    },
    Fact {
        name: "net.core.rmem_max",
        source: "/proc/sys/net/core/rmem_max",
        examine: |system| {
            size(
                system,
                "net.core.rmem_max",
                212_992,
                "udp loses more of large messages, unless ipcmark runs as root",
            )
        },
    },
    Fact {
        name: "net.core.wmem_max",
        source: "/proc/sys/net/core/wmem_max",
        examine: |system| {
            let sentence = "sockets hold less than a large message, so that the sender waits in the middle of it, \
                            unless ipcmark runs as root";
            size(system, "net.core.wmem_max", 212_992, sentence)
        },
    },
    Fact {
        name: "net.unix.max_dgram_qlen",
        source: "/proc/sys/net/unix/max_dgram_qlen",
        examine: |system| {
            number(
                system,
                "net.unix.max_dgram_qlen",
                10,
                "uds-dgram and uds-seqpacket queue fewer messages",
            )
        },
    },
    Fact {
        name: "fs.pipe-max-size",
        source: "/proc/sys/fs/pipe-max-size",
        examine: |system| {
            let sentence = "pipes hold less than a large message, so that the writer waits in the middle of it";
            size(system, "fs.pipe-max-size", 1 << 20, sentence)
        },
    },
    Fact {
        name: "fs.pipe-user-pages-soft",
        source: "/proc/sys/fs/pipe-user-pages-soft",
        examine: |system| {
            let pages = system.sysctl("fs.pipe-user-pages-soft")?;
            let sentence = "pipes shrink to one page once a user has that many";
            let value = if pages == 0 { "not limited".into() } else { pages.to_string() };
            let is_low = pages > 0 && pages < 16_384;
            Some(judged(value, is_low, "fs.pipe-user-pages-soft", 16_384, sentence))
        },
    },
];

/// A number that does harm below the kernel's own default.
fn number(system: &System, name: &str, usual: u64, sentence: &'static str) -> Option<Examined> {
    let found = system.sysctl(name)?;
    Some(judged(count(found), found < usual, name, usual, sentence))
}

/// The same in bytes.
fn size(system: &System, name: &str, usual: u64, sentence: &'static str) -> Option<Examined> {
    let found = system.sysctl(name)?;
    Some(judged(bytes(found), found < usual, name, usual, sentence))
}

fn judged(value: String, is_low: bool, name: &str, usual: u64, sentence: &'static str) -> Examined {
    let effect = || {
        Effect::new(Weight::Reservation, &[Question::Large], sentence).remedy(
            format!("sudo sysctl {name}={usual}"),
            "memory that the kernel may use for it, until a restart",
        )
    };
    Examined::harmless(value).with(is_low.then(effect))
}
