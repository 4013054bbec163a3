//! Statistics compared with an independent calculation from the raw samples, and the histogram's
//! text form.

use base64::{Engine, prelude::BASE64_STANDARD};
use hdrhistogram::{
    Histogram,
    serialization::{Serializer, V2DeflateSerializer, V2Serializer},
};
use ipcmark_results::{Times, decode, encode, new_histogram};
use proptest::prelude::*;

const HOUR: u64 = 3_600_000_000_000;

fn recorded(samples: &[u64]) -> Histogram<u64> {
    let mut histogram = new_histogram();
    samples.iter().for_each(|sample| histogram.record(*sample).unwrap());
    histogram
}

/// Times of every magnitude up to an hour.
fn samples() -> impl Strategy<Value = Vec<u64>> {
    let sample = (0..42_u32, any::<u64>()).prop_map(|(bits, x)| (x % (1 << (bits + 1))).min(HOUR));
    prop::collection::vec(sample, 1..2_000)
}

/// The smallest sample such that `numerator` in `denominator` are at most as large.
fn percentile(sorted: &[u64], numerator: usize, denominator: usize) -> u64 {
    let rank = (sorted.len() * numerator).div_ceil(denominator).max(1);
    sorted[rank - 1]
}

fn is_near(actual: f64, exact: f64) -> bool {
    (actual - exact).abs() <= exact / 1_000.0 + 1e-6
}

proptest! {
    #[test]
    fn statistics_agree_with_the_raw_samples(mut samples in samples()) {
        let found = Times::of(&recorded(&samples));
        samples.sort_unstable();
        for (name, actual, part, whole) in [
            ("p50", found.p50, 1, 2),
            ("p90", found.p90, 9, 10),
            ("p99", found.p99, 99, 100),
            ("p99.9", found.p99_9, 999, 1_000),
            ("p99.99", found.p99_99, 9_999, 10_000),
            ("max", found.max, 1, 1),
        ] {
            let exact = percentile(&samples, part, whole);
            prop_assert!(is_near(actual as f64, exact as f64), "{name}: {actual}, not {exact}");
        }
        prop_assert!(is_near(found.min as f64, samples[0] as f64));
        prop_assert_eq!(found.count, samples.len() as u64);
    }

    #[test]
    fn mean_and_deviation_agree_with_the_raw_samples(samples in samples()) {
        let found = Times::of(&recorded(&samples));
        let count = samples.len() as f64;
        let mean = samples.iter().map(|sample| *sample as f64).sum::<f64>() / count;
        let squares = samples.iter().map(|sample| (*sample as f64 - mean).powi(2)).sum::<f64>();
        let largest = samples.iter().copied().max().unwrap() as f64;
        prop_assert!(is_near(found.mean, mean), "{} not {mean}", found.mean);
        // A deviation is a difference of samples, so its error is relative to the samples.
        let error = (found.stdev - (squares / count).sqrt()).abs();
        prop_assert!(error <= largest / 1_000.0 + 1e-6, "{error}");
    }

    #[test]
    fn a_histogram_reads_back_as_it_was(samples in samples()) {
        let histogram = recorded(&samples);
        let read = decode(&encode(&histogram)).unwrap();
        prop_assert_eq!(&read, &histogram);
        let times = Times::of(&histogram);
        prop_assert_eq!(&Times::parse(times.histogram.clone()).unwrap(), &times);
        prop_assert_eq!(&times.samples().unwrap(), &histogram);
    }

    #[test]
    fn a_damaged_histogram_is_an_error_or_a_histogram(
        samples in samples(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut bytes = BASE64_STANDARD.decode(encode(&recorded(&samples))).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = decode(&BASE64_STANDARD.encode(&bytes)).map(|read| Times::of(&read));
        prop_assert!(decode(&BASE64_STANDARD.encode(&bytes[..at])).is_err());
    }

    #[test]
    fn no_counts_make_it_panic(counts in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = decode(&with_counts(&counts)).map(|read| Times::of(&read));
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        prop_assert!(decode(&text).is_err());
    }
}

/// A well-formed histogram with these bytes as its counts.
fn with_counts(counts: &[u8]) -> String {
    let mut plain = Vec::new();
    V2Serializer::new().serialize(&new_histogram(), &mut plain).unwrap();
    plain.truncate(40);
    plain[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
    plain.extend(counts);
    compressed(&plain)
}

fn compressed(plain: &[u8]) -> String {
    use std::io::Write;
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(plain).unwrap();
    let body = zlib.finish().unwrap();
    let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    BASE64_STANDARD.encode(bytes)
}

#[test]
fn the_largest_count_below_zero_is_an_error() {
    assert_eq!(
        decode(&with_counts(&[0xff; 9])).unwrap_err(),
        "not a histogram: it has too many counts"
    );
}

#[test]
fn more_samples_than_a_trial_has_are_an_error() {
    let (most, one) = ([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x04], [0x02]);
    assert_eq!(decode(&with_counts(&most)).unwrap().len(), 1 << 43);
    let largest = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    for counts in [[&most[..], &one].concat(), largest.to_vec(), [largest, largest].concat()] {
        let error = decode(&with_counts(&counts)).unwrap_err();
        assert_eq!(error, "a histogram of more samples than a trial has");
    }
}

#[test]
fn a_small_text_that_inflates_without_end_is_an_error() {
    let bomb = compressed(&vec![0; 64 << 20]);
    assert!(bomb.len() < 100_000);
    assert_eq!(decode(&bomb).unwrap_err(), "not a histogram: too long");
}

#[test]
fn a_length_that_would_take_gigabytes_is_an_error() {
    let mut plain = vec![0x1c, 0x84, 0x93, 0x13, 0xff, 0xff, 0xff, 0xff];
    plain.resize(40, 0);
    assert_eq!(
        decode(&compressed(&plain)).unwrap_err(),
        "not a histogram: its counts are cut short"
    );
}

#[test]
fn a_histogram_of_other_bounds_is_an_error() {
    let mut bytes = Vec::new();
    let other = Histogram::<u64>::new_with_bounds(1, u64::MAX / 2, 5).unwrap();
    V2DeflateSerializer::new().serialize(&other, &mut bytes).unwrap();
    let error = decode(&BASE64_STANDARD.encode(bytes)).unwrap_err();
    assert!(error.contains("with 5 digits, not from 1 to 3600000000000 with 3"), "{error}");
}

#[test]
fn an_empty_histogram_reads_back_and_has_zeros_for_statistics() {
    let read = decode(&encode(&new_histogram())).unwrap();
    let found = Times::of(&read);
    assert_eq!((read.len(), found.max, found.mean, found.stdev), (0, 0, 0.0, 0.0));
}

#[test]
fn percentiles_fall_on_the_right_sample_where_the_count_is_round() {
    let samples: Vec<u64> = (1..=1_000).collect();
    let found = Times::of(&recorded(&samples));
    assert_eq!((found.min, found.p50, found.p90, found.p99), (1, 500, 900, 990));
    assert_eq!((found.p99_9, found.p99_99, found.max), (999, 1_000, 1_000));
}

#[test]
fn zero_and_an_hour_can_be_recorded() {
    let found = Times::of(&recorded(&[0, HOUR]));
    assert_eq!(found.min, 0);
    assert!(is_near(found.max as f64, HOUR as f64));
}
