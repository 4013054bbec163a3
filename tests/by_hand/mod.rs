//! Runs by hand: a leader and followers started separately, on one machine and between two networks; their behaviour
//! when one dies, with strangers, and with a forged peer.

mod all_pairs;
mod ends;
mod forged;
mod ranks;
mod refused;
mod relay;
mod run_directory;
mod runs;
mod strangers;
mod two_hosts;
mod users;

use ipcmark_harness::Test;

/// The tests of this folder.
pub fn tests() -> Vec<Test> {
    let files = [
        runs::tests(),
        ends::tests(),
        two_hosts::tests(),
        refused::tests(),
        strangers::tests(),
        users::tests(),
        forged::tests(),
        relay::tests(),
        ranks::tests(),
        all_pairs::tests(),
    ];
    files.into_iter().flatten().collect()
}
