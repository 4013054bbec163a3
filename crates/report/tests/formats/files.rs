//! CSV and JSON contain every figure unchanged.

use std::collections::HashMap;

use ipcmark_report::FORMATS;
use ipcmark_results::{ProcessRecord, RunResult, Status, Trial, Wait};
use proptest::prelude::*;

use crate::{
    arbitrary,
    sample::{case, first, run, unmeasured},
    shown,
};

type Record = HashMap<String, String>;

fn records(result: &RunResult) -> Vec<Record> {
    let text = shown(result, "csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|record| record.expect("every line reads")).collect()
}

/// True if a cell holds this text: literally, if the text is harmless.
fn holds(cell: &str, text: &str) -> bool {
    let harmless = text.chars().all(|char| matches!(char, '!'..='~' | 'µ')) || text.is_empty();
    !harmless || cell == text || cell.strip_prefix('\'') == Some(text)
}

/// The name of a cell, and its text for a trial.
type Cell = (&'static str, fn(&Trial) -> String);

fn sum(trial: &Trial, of: fn(&ProcessRecord) -> u64) -> String {
    let sum: u64 = trial.session.processes[1..].iter().map(of).sum();
    sum.to_string()
}

const CELLS: &[Cell] = &[
    ("trial", |trial| trial.number.to_string()),
    ("times_ns_count", |trial| trial.times_ns.count.to_string()),
    ("times_ns_mean", |trial| trial.times_ns.mean.to_string()),
    ("times_ns_p50", |trial| trial.times_ns.p50.to_string()),
    ("times_ns_p99_9", |trial| trial.times_ns.p99_9.to_string()),
    ("times_ns_max", |trial| trial.times_ns.max.to_string()),
    ("clock_free_mean_ns", |trial| trial.clock_free_mean_ns.to_string()),
    ("elapsed_ns", |trial| trial.elapsed_ns.to_string()),
    ("losses_sent", |trial| trial.session.losses.sent.to_string()),
    ("losses_lost", |trial| trial.session.losses.lost.to_string()),
    ("carrier_found", |trial| trial.session.carrier.found.to_string()),
    ("leader_cpu_ns", |trial| trial.session.processes[0].cpu_ns.to_string()),
    ("leader_context_switches_voluntary", |trial| {
        trial.session.processes[0].context_switches.voluntary.to_string()
    }),
    ("others_cpu_ns", |trial| sum(trial, |process| process.cpu_ns)),
    ("others_system_ns", |trial| sum(trial, |process| process.system_ns)),
    ("others_received", |trial| sum(trial, |process| process.ends[0].received)),
];

proptest! {
    #[test]
    fn every_trial_is_a_line_with_the_figures_of_the_result(result in arbitrary::result()) {
        let records = records(&result);
        let mut lines = records.iter();
        for case in &result.cases {
            let entries = case.trials().iter().map(Some).chain(case.trials().is_empty().then_some(None));
            for trial in entries {
                let record = lines.next().expect("there is a line for each");
                let identity = &case.identity;
                prop_assert!(holds(&record["transport"], &identity.transport));
                prop_assert_eq!(&record["payload_bytes"], &identity.payload_bytes.to_string());
                prop_assert_eq!(&record["wait"], identity.wait.as_str());
                prop_assert_eq!(&record["touch"], identity.touch.as_str());
                prop_assert_eq!(&record["subscribers"], &identity.subscribers.to_string());
                prop_assert_eq!(&record["status"], case.status().as_str());
                prop_assert!(holds(&record["reason"], case.reason().unwrap_or("")));
                for (name, cell) in CELLS {
                    prop_assert_eq!(&record[*name], &trial.map_or_else(String::new, cell), "{}", name);
                }
            }
        }
        prop_assert_eq!(lines.next(), None);
    }

    #[test]
    fn no_cell_is_a_formula_or_a_command_to_a_terminal(result in arbitrary::result()) {
        for cell in records(&result).iter().flat_map(Record::values) {
            let is_number = cell.parse::<i64>().is_ok();
            prop_assert!(is_number || !cell.starts_with(['=', '+', '-', '@']), "{cell}");
            prop_assert!(!cell.contains(char::is_control), "{cell:?}");
        }
    }

    #[test]
    fn json_reads_back_as_the_result(result in arbitrary::result()) {
        let text = shown(&result, "json");
        prop_assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), result);
    }
}

#[test]
fn the_first_line_of_a_csv_is_stable() {
    let process = |whose: &str| {
        let figures = "cpu_ns,user_ns,system_ns,context_switches_voluntary,\
            context_switches_involuntary,page_faults_minor,page_faults_major,peak_memory_bytes,\
            sent,received";
        figures.split(',').map(|name| format!(",{whose}_{name}")).collect::<String>()
    };
    let head = "transport,family,library_version,pattern,payload_bytes,wait,touch,load,span,\
        subscribers,silent_subscribers,pairs,between_leader_rank,between_leader_host,between_follower_rank,between_follower_host,options,placement,status,reason,calls_per_message,instructions_per_message,cycles_per_message,trial,\
        times_ns_count,times_ns_mean,times_ns_stdev,times_ns_min,\
        times_ns_p50,times_ns_p90,times_ns_p99,times_ns_p99_9,\
        times_ns_p99_99,times_ns_max,clock_free_mean_ns,elapsed_ns,offered_intended,\
        offered_sent,offered_received,offered_late,offered_elapsed_ns,offered_service_ns_p50,offered_service_ns_p99,\
        offered_delay_ns_p50,offered_delay_ns_p99,first_answer_ns_p50,first_answer_ns_p99,one_way_send_ns_p50,one_way_send_ns_p99,\
        one_way_round_trip_ns_p50,one_way_round_trip_ns_p99,one_way_wake_up_ns_p50,one_way_wake_up_ns_p99,one_way_clock_offset_ns,one_way_clock_offset_least_ns,one_way_clock_offset_most_ns,\
        stream_counted,\
        stream_depth_p50,stream_depth_max,stream_least_published,stream_all_pairs_per_second,lost_wait_ns,setup_ns,first_round_trip_ns,\
        round,reference_multiple,turns_ns,messages,losses_sent,losses_received,losses_lost,losses_late,\
        losses_duplicated,losses_reordered,carrier_found,carrier_declared,\
        carrier_loopback_bytes_per_message,carrier_shared_bytes,cpus";
    let expected = format!("{head}{}{}\r\n", process("leader"), process("others"));
    assert_eq!(shown(&run(vec![]), "csv"), expected);
}

#[test]
fn a_line_of_a_csv_holds_the_figures_in_the_order_of_its_head() {
    let mut one = case("pipe", 64, Wait::Spin, 2_000);
    one.identity.options = [("a".into(), "1".into()), ("b".into(), "2".into())].into();
    one.identity.library_version = Some("4.3.4".into());
    first(&mut one).session.carrier.declared = None;
    let failed =
        unmeasured(case("fifo", 64, Wait::Block, 1), Status::Failed, "one, \"two\"\nthree\x1b[2J");
    let text = shown(&run(vec![one, failed]), "csv");
    let body = &text[text.find("\r\n").unwrap() + 2..];
    let expected = "pipe,os,4.3.4,latency,64,spin,all,closed,process,1,0,1,,,,,a=1 b=2,auto,ok,,,,,1,\
        10000,2100,800,1800,2000,2200,2600,8000,18000,55415,1960,21000000,,,,,,,,,,,,,,,,,,,,,,,,,,0,250000,50000,0,,1000000,20000,\
        10000,10000,0,0,0,0,kernel,,0,0,0 1,\
        20400000,15300000,5100000,0,3,7,0,3000000,10000,10000,\
        19600000,14700000,4900000,0,1,7,0,2000000,10000,10000\r\n\
        fifo,os,,latency,64,block,all,closed,process,1,0,1,,,,,,auto,failed,\
        \"one, \"\"two\"\" three\\u{1b}[2J\"";
    assert_eq!(body, format!("{expected}{}\r\n", ",".repeat(79)));
}

#[test]
fn formats_have_the_names_of_the_command_line() {
    let words: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let own = ["table", "markdown", "csv", "json", "html", "svg"];
    let others = [
        "hgrm",
        "hlog",
        "google-benchmark",
        "bmf",
        "github-action-benchmark",
        "openmetrics",
        "junit",
    ];
    let styles = ["iceperf", "ipc-bench", "ipc-bench-table", "fastdds", "ipc-performance"];
    assert_eq!(words, [&own[..], &others, &styles].concat());
    assert!(words.iter().all(|word| ipcmark_report::format(word).is_some()));
    assert!(FORMATS.iter().all(|format| !format.summary.is_empty()));
    assert!(ipcmark_report::format("xml").is_none());
}
