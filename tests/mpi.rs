//! Tests with real MPI: two ranks over the carrier that their library was set to, streams, unsupported requests.

use std::collections::BTreeSet;

use ipcmark_results::Status;
use ipcmark_transport::Carrier;

use crate::support::{
    Verdict, end, ipcmark,
    listed::{self, Library},
    outcome, run, traces,
};

ipcmark_harness::tests![
    every_row_uses_the_configured_carrier,
    a_stream_loses_nothing,
    two_ranks_cannot_fan_out,
    a_missing_launcher_is_reported,
    nothing_is_left_in_the_directory_of_temporary_files,
    variables_of_another_launcher_do_not_count,
];

const LIBRARY: Library =
    Library { families: &["openmpi", "mpich"], lacking: "neither Open MPI nor MPICH is there" };

fn every_row_uses_the_configured_carrier() -> Verdict {
    LIBRARY.holds(|rows| {
        let before = traces::dead_segments();
        for sandbox in ["--sandbox auto", "--sandbox off"] {
            listed::take_their_carriers(rows, sandbox, &[], |row| match row.ends_with("-tcp") {
                true => Carrier::Network,
                false => Carrier::SharedMemory,
            });
        }
        assert_eq!(&traces::dead_segments() - &before, BTreeSet::new());
    })
}

fn a_stream_loses_nothing() -> Verdict {
    LIBRARY.holds(listed::streams_lose_nothing)
}

fn two_ranks_cannot_fan_out() -> Verdict {
    LIBRARY.holds(|rows| {
        let row = &rows[0];
        let words = "-s 64 -n 5 --trials 1 --subscribers 2 --format json";
        let result = run(&format!("run -t {row} {words}")).exits(1).result();
        let (status, reason) = outcome(&result, row);
        assert_eq!(status, "unsupported");
        assert!(reason.contains("it does not carry the pattern fan-out"), "{reason}");
    })
}

fn a_missing_launcher_is_reported() -> Verdict {
    LIBRARY.holds(|rows| {
        let row = &rows[0];
        let mut command = ipcmark(&format!("run -t {row} -s 64 -n 5 --trials 1 --format json"));
        let result = end(command.env("PATH", "/nowhere")).exits(1).result();
        let (status, reason) = outcome(&result, row);
        assert_eq!(status, "unavailable");
        assert!(reason.contains("there is no such program"), "{reason}");
    })
}

/// The launcher's files lie in the run's directory, whatever this process's own variable says.
fn nothing_is_left_in_the_directory_of_temporary_files() -> Verdict {
    LIBRARY.holds(|rows| {
        let elsewhere = tempfile::tempdir().unwrap();
        let words = "-s 64 -n 5 --trials 1 --sandbox off --format json";
        let mut command = ipcmark(&format!("run -t {} {words}", rows.join(",")));
        let result = end(command.env("TMPDIR", elsewhere.path())).exits(0).result();
        assert!(result.cases.iter().all(|case| case.status() == Status::Ok));
        let left: Vec<_> = elsewhere.path().read_dir().unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    })
}

/// ipcmark may itself have been started by a launcher; `ipcmark rank` always is.
fn variables_of_another_launcher_do_not_count() -> Verdict {
    LIBRARY.holds(|rows| {
        let words = "-s 64 -n 5 --trials 1 --format json";
        let mut command = ipcmark(&format!("run -t {} {words}", rows.join(",")));
        let others = [
            ("PMI_RANK", "7"),
            ("PMI_SIZE", "9"),
            ("PMI_FD", "77"),
            ("PMIX_RANK", "7"),
            ("OMPI_COMM_WORLD_SIZE", "9"),
            ("OMPI_MCA_btl", "self"),
            ("OMPI_MCA_ess", "singleton"),
            ("UCX_TLS", "nothing"),
            ("FI_PROVIDER", "nothing"),
            ("MPICH_NETMOD", "nothing"),
        ];
        let result = end(command.envs(others)).exits(0).result();
        assert!(result.cases.iter().all(|case| case.status() == Status::Ok));
    })
}
