//! Buffers that an endpoint changes with every message: their number, and the cases in which they are impossible.

use ipcmark_transport::{BUFFERS, COLD, Definition, FanOut, MOST_BUFFER_BYTES, Pattern};

/// The number of buffers of `payload` bytes that `word` asks for, or the reason why it is impossible. `COLD` means
/// as many as the last-level cache holds: the other direction has as many, and so has the other endpoint.
pub(crate) fn count(word: &str, payload: usize, cache_bytes: Option<u64>) -> Result<u64, String> {
    let count = match (word, cache_bytes) {
        (COLD, None) => return Err(UNKNOWN_CACHE.into()),
        (COLD, Some(bytes)) => bytes.div_ceil(occupied(payload)).max(2),
        _ => word.parse().map_err(|_| format!("'{word}' is not a number of buffers"))?,
    };
    match count.checked_mul(payload as u64) {
        Some(bytes) if bytes <= MOST_BUFFER_BYTES => Ok(count),
        _ => Err(format!(
            "{count} buffers of {payload} bytes are more than 1 GiB, the maximum of an end in one direction"
        )),
    }
}

/// The alignment of buffers: a cache line.
const LINE: u64 = 64;

/// The bytes of the cache lines that a buffer of `payload` bytes occupies: its own, and that with the frame before it.
fn occupied(payload: usize) -> u64 {
    (payload as u64).next_multiple_of(LINE).saturating_add(LINE)
}

/// The bytes that `count` buffers of `payload` bytes take, each way in each process; an error where fewer are
/// available.
pub(crate) fn bytes(
    count: u64,
    payload: usize,
    processes: u64,
    available: u64,
) -> Result<u64, String> {
    let factors = [occupied(payload), 2, processes];
    let bytes = factors.into_iter().fold(count, u64::saturating_mul);
    if bytes <= available {
        return Ok(bytes);
    }
    let (mib, left) = (bytes.div_ceil(1 << 20), available >> 20);
    Err(format!(
        "{count} buffers of {payload} bytes, each way in each of {processes} processes, take {mib} MiB, and {left} MiB \
         are left: use fewer with --buffers"
    ))
}

const UNKNOWN_CACHE: &str =
    "the system does not report the size of its last-level cache; give a number of buffers";

/// The reason why rows of this transport and pattern cannot change buffers; none if they can.
pub(crate) fn obstacle(definition: &Definition, pattern: Pattern) -> Option<String> {
    if !definition.options.contains(&BUFFERS) {
        return Some(own_memory(definition));
    }
    let copies =
        pattern == Pattern::FanOut && definition.capabilities.fan_out() == Some(FanOut::NSends);
    copies.then(|| {
        "its leader copies one message into the buffer of each follower's end, which --buffers would not change".into()
    })
}

/// Options that set how many messages a transport's own memory holds.
const DEPTHS: [&str; 3] = ["capacity", "depth", "history"];

fn own_memory(definition: &Definition) -> String {
    let depth = definition.options.iter().find(|spec| DEPTHS.contains(&spec.key.as_ref()));
    let remedy = depth.map_or(String::new(), |spec| {
        format!("; --set {}.{}={} sets its size", definition.name, spec.key, spec.accepts)
    });
    format!(
        "its messages are in memory of its own or of its library, which --buffers does not change{remedy}"
    )
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use ipcmark_transport::{Capabilities, Carrier, DeclaredCarrier, OptionSpec, Wait};

    use super::*;

    fn definition(options: Vec<OptionSpec>) -> Definition {
        Definition {
            name: "ring".into(),
            family: "os".into(),
            summary: "".into(),
            carrier: DeclaredCarrier::Always(Carrier::Kernel),
            options: Cow::Owned(options),
            capabilities: Capabilities::waiting(&[Wait::Spin]),
        }
    }

    #[test]
    fn cold_buffers_are_as_many_as_the_cache_holds() {
        // Each message has a line of 64 bytes before it, which every use touches.
        assert_eq!(count(COLD, 64, Some(32 << 20)), Ok(256 << 10));
        assert_eq!(count(COLD, 16, Some(32 << 20)), Ok(256 << 10), "a line is the least");
        assert_eq!(count(COLD, 65, Some(3 << 20)), Ok(16 << 10));
        assert_eq!(
            count(COLD, 4 << 20, Some(1 << 20)),
            Ok(2),
            "one buffer would be the same each time"
        );
        assert!(count(COLD, 64, None).unwrap_err().contains("does not report the size"));
    }

    #[test]
    fn a_number_is_bounded_by_the_memory_that_it_takes() {
        assert_eq!(count("7", 1 << 20, None), Ok(7));
        assert_eq!(count("1024", 1 << 20, None), Ok(1024));
        assert!(count("1025", 1 << 20, None).unwrap_err().contains("more than 1 GiB"));
        assert!(count(&u64::MAX.to_string(), 16, None).is_err() && count("", 16, None).is_err());
    }

    #[test]
    fn buffers_that_do_not_fit_into_memory_for_all_processes_are_refused() {
        let payload = (1 << 20) - LINE as usize;
        assert_eq!(bytes(16, payload, 4, 128 << 20), Ok(128 << 20));
        let why = bytes(16, payload, 4, (128 << 20) - 1).unwrap_err();
        assert!(why.contains("take 128 MiB, and 127 MiB are left"), "{why}");
        assert!(bytes(u64::MAX, 64, 2, u64::MAX - 1).is_err());
    }

    #[test]
    fn memory_of_the_transport_is_not_cycled() {
        let capacity = OptionSpec::new("capacity", "64..1M", "", "");
        let why = obstacle(&definition(vec![capacity]), Pattern::Latency).unwrap();
        assert!(why.contains("--set ring.capacity=64..1M"), "{why}");
        let why = obstacle(&definition(Vec::new()), Pattern::Latency).unwrap();
        assert!(why.contains("memory of its own") && !why.contains("--set"), "{why}");
        let own = definition(vec![BUFFERS]);
        assert_eq!(obstacle(&own, Pattern::Throughput), None);
        assert!(obstacle(&own, Pattern::FanOut).unwrap().contains("copies one message"));
    }
}
