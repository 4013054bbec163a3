//! A bare program of iceoryx2, the baseline for `iceoryx2`: it only polls.

#[path = "../../shared/rust/bare.rs"]
mod bare;

use std::{path::PathBuf, thread, time::Duration};

use bare::{Asked, Failure};
use iceoryx2::{
    port::{publisher::Publisher, subscriber::Subscriber, update_connections::UpdateConnections},
    prelude::*,
};

type Out = Publisher<ipc::Service, [u8], ()>;
type In = Subscriber<ipc::Service, [u8], ()>;

/// The transport's number for small payloads: they are used in turn.
const SAMPLES: usize = 64;

fn main() -> Result<(), Failure> {
    let asked = Asked::read()?;
    assert!(asked.spins, "it only polls");
    set_log_level(LogLevel::Fatal);
    if let Some(name) = &asked.told {
        let (_node, out, into) = open(name, false, asked.payload)?;
        bare::pin(asked.follower_cpu);
        return follow(&out, &into, &asked);
    }
    let name = bare::name() + "-";
    let (node, out, into) = open(&name, true, asked.payload)?;
    let mut follower = asked.start_other(&name)?;
    bare::pin(asked.leader_cpu);
    lead(&out, &into, &asked)?;
    follower.wait()?;
    drop((out, into, node));
    clear(&name)
}

fn open(name: &str, leads: bool, payload: usize) -> Result<(Node<ipc::Service>, Out, In), Failure> {
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
        Ok::<_, Failure>(builder.open_or_create()?)
    };
    let outgoing = service(true)?;
    let builder = outgoing.publisher_builder().initial_max_slice_len(payload);
    let builder = builder.max_loaned_samples(SAMPLES).override_sample_preallocation(|_| SAMPLES);
    let out = builder.backpressure_strategy(BackpressureStrategy::DiscardData).create()?;
    let into = service(false)?.subscriber_builder().create()?;
    // Both ports of the other end must exist before the first message.
    while service(true)?.dynamic_config().number_of_subscribers() == 0
        || service(false)?.dynamic_config().number_of_publishers() == 0
    {
        if !leads {
            thread::sleep(Duration::from_millis(1));
        } else {
            break;
        }
    }
    out.update_connections()?;
    into.update_connections()?;
    Ok((node, out, into))
}

/// Removes the library's leftovers of a session.
fn clear(name: &str) -> Result<(), Failure> {
    std::fs::remove_dir_all(root(name))?;
    for entry in std::fs::read_dir("/dev/shm")?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(name) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn root(name: &str) -> PathBuf {
    std::env::temp_dir().join(name)
}

fn send(out: &Out, payload: usize, number: u64) -> Result<usize, Failure> {
    let sample = out.loan_slice_uninit(payload)?;
    // SAFETY: bytes have no invalid values.
    let mut sample = unsafe { sample.assume_init() };
    bare::write(sample.payload_mut(), number);
    Ok(sample.send()?)
}

fn receive(into: &In, payload: usize) -> Result<u64, Failure> {
    loop {
        if let Some(sample) = into.receive()? {
            return bare::read(sample.payload(), payload);
        }
        std::hint::spin_loop();
    }
}

fn lead(out: &Out, into: &In, asked: &Asked) -> Result<(), Failure> {
    // The follower may not be ready yet.
    while send(out, asked.payload, u64::MAX)? == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    receive(into, asked.payload)?;
    asked.lead(|n| {
        send(out, asked.payload, n)?;
        assert_eq!(receive(into, asked.payload)?, n);
        Ok(())
    })
}

/// Also answers the first message, which is not timed.
fn follow(out: &Out, into: &In, asked: &Asked) -> Result<(), Failure> {
    let answer = || {
        let number = receive(into, asked.payload)?;
        while send(out, asked.payload, number)? == 0 {}
        Ok(())
    };
    answer()?;
    asked.follow(answer)
}
