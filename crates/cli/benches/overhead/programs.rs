//! Bare programs for the modules: a library's calls without ipcmark.

use std::{path::PathBuf, process::Command};

use ipcmark_transport::Wait;

use crate::blocks::{self, MeasuredBlock, Work};

/// The directory into which `make overhead` builds them.
const DIRECTORY_VARIABLE: &str = "IPCMARK_BARE_DIR";

/// The transports and waits that have a bare program to compare with, and the limits of their ratios.
pub(crate) const PROGRAMS: &[(&str, Wait, f64)] = &[
    ("zeromq-ipc", Wait::Spin, 1.03),
    ("zeromq-ipc", Wait::Block, 1.03),
    ("boost-mq", Wait::Spin, 1.03),
    ("boost-mq", Wait::Block, 1.03),
    ("iceoryx-cpp", Wait::Spin, 1.03),
    ("iceoryx2", Wait::Spin, 1.03),
    ("fastdds-datasharing", Wait::Block, 1.03),
    ("cyclonedds", Wait::Block, 1.03),
    ("mpi-openmpi", Wait::Spin, 1.03),
    ("mpi-mpich", Wait::Spin, 1.03),
    ("dbus-direct", Wait::Spin, 1.05),
    ("dbus-direct", Wait::Block, 1.05),
    ("dbus-daemon", Wait::Spin, 1.05),
    ("dbus-daemon", Wait::Block, 1.05),
    ("dbus-broker", Wait::Spin, 1.05),
    ("dbus-broker", Wait::Block, 1.05),
    ("python-pipe", Wait::Spin, 1.05),
    ("python-pipe", Wait::Block, 1.05),
    ("python-shared-memory", Wait::Spin, 1.05),
    ("python-shared-memory", Wait::Block, 1.05),
    ("python-queue", Wait::Block, 1.05),
    ("pyzmq", Wait::Spin, 1.05),
    ("pyzmq", Wait::Block, 1.05),
    ("zenoh-unix", Wait::Spin, 1.05),
    ("zenoh-unix", Wait::Block, 1.05),
    ("zenoh-tcp", Wait::Spin, 1.05),
    ("zenoh-tcp", Wait::Block, 1.05),
    ("zenoh-shm", Wait::Spin, 1.05),
    ("zenoh-shm", Wait::Block, 1.05),
    ("zenoh-query", Wait::Spin, 1.05),
    ("zenoh-query", Wait::Block, 1.05),
    ("ucx-shm", Wait::Spin, 1.05),
    ("ucx-shm", Wait::Block, 1.05),
    ("ucx-tcp", Wait::Spin, 1.05),
    ("ucx-tcp", Wait::Block, 1.05),
    ("ucx-cma", Wait::Spin, 1.05),
    ("ucx-cma", Wait::Block, 1.05),
    ("ucx-am-shm", Wait::Spin, 1.05),
    ("ucx-am-shm", Wait::Block, 1.05),
    ("libfabric-shm", Wait::Spin, 1.05),
    ("grpc-cpp-stream", Wait::Spin, 1.05),
    ("grpc-cpp-stream", Wait::Block, 1.05),
    ("grpc-cpp-unary", Wait::Spin, 1.05),
    ("grpc-cpp-unary", Wait::Block, 1.05),
    ("grpc-tonic-stream", Wait::Spin, 1.05),
    ("grpc-tonic-stream", Wait::Block, 1.05),
    ("grpc-tonic-unary", Wait::Spin, 1.05),
    ("grpc-tonic-unary", Wait::Block, 1.05),
    ("varlink", Wait::Spin, 1.05),
    ("varlink", Wait::Block, 1.05),
    ("redis-pubsub", Wait::Spin, 1.05),
    ("redis-pubsub", Wait::Block, 1.05),
    ("redis-list", Wait::Spin, 1.05),
    ("redis-list", Wait::Block, 1.05),
    ("nanomsg-ipc", Wait::Spin, 1.05),
    ("nanomsg-ipc", Wait::Block, 1.05),
    ("aeron-ipc", Wait::Spin, 1.05),
    ("aeron-udp", Wait::Spin, 1.05),
    ("capnp-rpc", Wait::Spin, 1.05),
    ("capnp-rpc", Wait::Block, 1.05),
    ("lcm-udpm", Wait::Spin, 1.05),
    ("lcm-udpm", Wait::Block, 1.05),
    ("nats", Wait::Spin, 1.05),
    ("nats", Wait::Block, 1.05),
];

/// The bare program of a transport, if it was built.
pub(crate) fn program(transport: &str) -> Option<PathBuf> {
    let directory = PathBuf::from(std::env::var_os(DIRECTORY_VARIABLE)?);
    Some(directory.join(format!("bare-{transport}"))).filter(|program| program.exists())
}

/// Blocks of round trips of a bare program, on the same two processors as ours.
pub(crate) fn round_trips(
    program: &PathBuf,
    payload: usize,
    work: Work,
    cpus: (u32, u32),
) -> Vec<MeasuredBlock> {
    let file = blocks::file();
    let numbers = [payload as u64, work.round_trips, work.blocks as u64];
    let numbers = numbers.into_iter().chain([cpus.0, cpus.1].map(u64::from));
    let mut command = Command::new(program);
    command.arg(if work.spins { "spin" } else { "block" });
    command.args(numbers.map(|number| number.to_string())).arg(file.path());
    let output = command.output().expect("a bare program runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words}", program.display());
    String::from_utf8_lossy(&output.stdout).lines().map(block).collect()
}

/// The time of a block, the probes around it or `-`, and the leader's sleeps.
fn block(line: &str) -> MeasuredBlock {
    let words: Vec<_> = line.split_ascii_whitespace().collect();
    let [elapsed, before, after, sleeps] = words[..] else { panic!("a bare program says {line}") };
    let probe = |word: &str| word.parse().unwrap_or(0.0);
    MeasuredBlock {
        elapsed_ns: elapsed.parse().expect("a time"),
        before_ns: probe(before),
        after_ns: probe(after),
        sleeps: sleeps.parse().expect("a number of sleeps"),
    }
}
