//! A bare program of iceoryx2, to compare `iceoryx2` with. Started as
//!
//!   bare-iceoryx2 spin PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU
//!
//! it prints the median round trip in nanoseconds.

use std::{error::Error, process::Command, time::Duration};

use iceoryx2::{
    port::{publisher::Publisher, subscriber::Subscriber, update_connections::UpdateConnections},
    prelude::*,
};

type Out = Publisher<ipc::Service, [u8], ()>;
type In = Subscriber<ipc::Service, [u8], ()>;

/// For every four round trips that count, one comes before them to warm up.
const WARM_UP: usize = 4;

/// Bytes of a message that are written and read, as many as with `--touch head`: they may lie in two
/// cache lines.
const HEAD: usize = 16;

/// As many as the transport has for small payloads: they are used in turn.
const SAMPLES: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [program, wait, payload, round_trips, leader_cpu, follower_cpu, rest @ ..] = &words[..]
    else {
        eprintln!("usage: bare-iceoryx2 spin PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU");
        std::process::exit(2);
    };
    assert_eq!(wait, "spin", "it only polls");
    let (payload, count): (usize, usize) = (payload.parse()?, round_trips.parse()?);
    let warm_up = count / WARM_UP + 1;
    set_log_level(LogLevel::Fatal);
    if let [name] = rest {
        let (_node, out, into) = open(name, false, payload)?;
        pin(follower_cpu.parse()?);
        return follow(&out, &into, payload, warm_up + count);
    }
    let name = format!("ipcmark-bare-{}-", std::process::id());
    let (node, out, into) = open(&name, true, payload)?;
    let mut follower = Command::new(program).args(&words[1..]).arg(&name).spawn()?;
    pin(leader_cpu.parse()?);
    lead(&out, &into, payload, warm_up, count)?;
    follower.wait()?;
    drop((out, into, node));
    clear(&name)
}

fn open(
    name: &str,
    leads: bool,
    payload: usize,
) -> Result<(Node<ipc::Service>, Out, In), Box<dyn Error>> {
    let mut config = Config::default();
    config.global.prefix = FileName::new(name.as_bytes()).map_err(|e| format!("{e:?}"))?;
    let path = root(name).to_string_lossy().into_owned();
    config.global.set_root_path(&Path::new(path.as_bytes()).map_err(|e| format!("{e:?}"))?);
    let node = NodeBuilder::new().config(&config).create::<ipc::Service>()?;
    let service = |outgoing: bool| {
        let name = if outgoing == leads { "there" } else { "back" };
        let builder = node.service_builder(&name.try_into()?).publish_subscribe::<[u8]>();
        let builder = builder.enable_safe_overflow(false).history_size(0);
        let builder =
            builder.subscriber_max_buffer_size(SAMPLES).subscriber_max_borrowed_samples(1);
        let builder = builder.max_publishers(1).max_subscribers(1).max_nodes(2);
        Ok::<_, Box<dyn Error>>(builder.open_or_create()?)
    };
    let outgoing = service(true)?;
    let builder = outgoing.publisher_builder().initial_max_slice_len(payload);
    let builder = builder.max_loaned_samples(SAMPLES).override_sample_preallocation(|_| SAMPLES);
    let out = builder.backpressure_strategy(BackpressureStrategy::DiscardData).create()?;
    let into = service(false)?.subscriber_builder().create()?;
    // Both ports of the other end must be there before the first message.
    while service(true)?.dynamic_config().number_of_subscribers() == 0
        || service(false)?.dynamic_config().number_of_publishers() == 0
    {
        if !leads {
            std::thread::sleep(Duration::from_millis(1));
        } else {
            break;
        }
    }
    out.update_connections()?;
    into.update_connections()?;
    Ok((node, out, into))
}

/// Removes what the library leaves of a session.
fn clear(name: &str) -> Result<(), Box<dyn Error>> {
    std::fs::remove_dir_all(root(name))?;
    for entry in std::fs::read_dir("/dev/shm")?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(name) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn root(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(name)
}

fn send(out: &Out, payload: usize, number: u64) -> Result<usize, Box<dyn Error>> {
    let sample = out.loan_slice_uninit(payload)?;
    // SAFETY: bytes have no invalid values.
    let mut sample = unsafe { sample.assume_init() };
    let (first, second) = sample.payload_mut()[..HEAD].split_at_mut(HEAD / 2);
    first.copy_from_slice(&number.to_ne_bytes());
    second.copy_from_slice(&number.to_ne_bytes());
    Ok(sample.send()?)
}

fn receive(into: &In, payload: usize) -> Result<u64, Box<dyn Error>> {
    loop {
        if let Some(sample) = into.receive()? {
            assert_eq!(sample.payload().len(), payload);
            let (first, second) = sample.payload()[..HEAD].split_at(HEAD / 2);
            assert_eq!(first, second);
            return Ok(u64::from_ne_bytes(first.try_into()?));
        }
        std::hint::spin_loop();
    }
}

fn lead(
    out: &Out,
    into: &In,
    payload: usize,
    warm_up: usize,
    count: usize,
) -> Result<(), Box<dyn Error>> {
    let mut times = vec![1_u64; count];
    // The follower may not be there yet.
    while send(out, payload, 0)? == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    receive(into, payload)?;
    let mut before = now();
    for n in 1..warm_up + count {
        send(out, payload, n as u64)?;
        assert_eq!(receive(into, payload)?, n as u64);
        let end = now();
        if n >= warm_up {
            times[n - warm_up] = end - before;
        }
        before = end;
    }
    times.sort_unstable();
    println!("{}", times[count / 2]);
    Ok(())
}

fn follow(out: &Out, into: &In, payload: usize, count: usize) -> Result<(), Box<dyn Error>> {
    for _ in 0..count {
        let number = receive(into, payload)?;
        while send(out, payload, number)? == 0 {}
    }
    Ok(())
}

fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn pin(cpu: usize) {
    // SAFETY: a zeroed set is empty, and the call is about this process.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}
