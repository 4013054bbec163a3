use super::*;

use crate::testing::{lacks, queue};

const WAITS: [Wait; 2] = [Wait::Spin, Wait::Block];

#[test]
fn every_length_goes_both_ways() {
    if lacks(TRANSPORT.probe()) {
        return;
    }
    WAITS.iter().for_each(|wait| queue::exchange(&TRANSPORT, *wait));
}

#[test]
fn a_full_queue_takes_no_more_and_loses_nothing() {
    if lacks(TRANSPORT.probe()) {
        return;
    }
    [16, 64, 5000, 100_000].iter().for_each(|len| queue::fill_and_drain(&TRANSPORT, *len));
}

#[test]
fn an_end_whose_peer_closed_reads_the_rest_and_fails() {
    if lacks(TRANSPORT.probe()) {
        return;
    }
    WAITS.iter().for_each(|wait| queue::close_one_end(&TRANSPORT, *wait));
}

#[test]
fn a_frame_reads_back_as_it_was_written() {
    let frame = [&head(0xabcd)[..], &[7; 20]].concat();
    assert_eq!(split(&frame), Some((0xabcd, &[7; 20][..])));
}

#[test]
fn foreign_frames_are_rejected() {
    assert_eq!(split(&[]), None);
    assert_eq!(split(&head(1)), None, "it carries nothing");
    let long = [&head(1)[..], &[0; PART + 1]].concat();
    assert_eq!(split(&long), None);
    let other = [&[0; HEAD][..], &[7; 20]].concat();
    assert_eq!(split(&other), None);
}
