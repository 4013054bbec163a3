//! CSV and JSON carry every figure as it is.

use crate::{
    arbitrary,
    sample::{case, run, unmeasured},
};
use ipcmark_report::{Format, Style, render};
use ipcmark_results::{RunResult, Status};
use proptest::prelude::*;

const STYLE: Style = Style { width: 80, color: true };

type Record = std::collections::HashMap<String, String>;

fn records(result: &RunResult) -> Vec<Record> {
    let text = render(result, Format::Csv, STYLE);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|record| record.expect("every line reads")).collect()
}

/// Whether a cell holds this text: word for word, where it is harmless.
fn holds(cell: &str, text: &str) -> bool {
    let harmless = text.chars().all(|char| matches!(char, '!'..='~' | 'µ')) || text.is_empty();
    !harmless || cell == text || cell.strip_prefix('\'') == Some(text)
}

proptest! {
    #[test]
    fn every_case_is_a_line_with_the_figures_of_the_result(result in arbitrary::result()) {
        let records = records(&result);
        prop_assert_eq!(records.len(), result.cases.len());
        for (record, case) in records.iter().zip(&result.cases) {
            prop_assert!(holds(&record["transport"], &case.transport));
            prop_assert_eq!(&record["payload_bytes"], &case.payload_bytes.to_string());
            prop_assert_eq!(&record["status"], case.status.as_str());
            prop_assert!(holds(&record["reason"], case.reason.as_deref().unwrap_or("")));
            let Some(figures) = &case.figures else {
                prop_assert!(record["round_trip_ns_p50"].is_empty());
                continue;
            };
            let number = |name: &str| record[name].parse::<f64>().unwrap();
            prop_assert_eq!(&record["round_trip_ns_p50"], &figures.round_trip_ns.p50.to_string());
            prop_assert_eq!(&record["round_trip_ns_max"], &figures.round_trip_ns.max.to_string());
            prop_assert_eq!(&record["lost"], &figures.lost.to_string());
            prop_assert_eq!(number("round_trip_ns_mean"), figures.round_trip_ns.mean);
            prop_assert_eq!(number("messages_per_second"), figures.messages_per_second);
            prop_assert_eq!(
                number("cpu_ns_per_message_follower"),
                figures.cpu_ns_per_message.follower
            );
        }
    }

    #[test]
    fn no_cell_is_a_formula_or_a_command_to_a_terminal(result in arbitrary::result()) {
        for cell in records(&result).iter().flat_map(Record::values) {
            prop_assert!(!cell.starts_with(['=', '+', '-', '@']), "{cell}");
            prop_assert!(!cell.contains(char::is_control), "{cell:?}");
        }
    }

    #[test]
    fn json_reads_back_as_the_result(result in arbitrary::result()) {
        let text = render(&result, Format::Json, STYLE);
        prop_assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), result);
    }
}

#[test]
fn the_first_line_of_a_csv_is_stable() {
    let text = render(&run(vec![]), Format::Csv, STYLE);
    assert_eq!(
        text,
        "transport,family,library_version,pattern,payload_bytes,wait,touch,span,subscribers,trial,\
         options,status,reason,round_trips,round_trip_ns_mean,round_trip_ns_stdev,\
         round_trip_ns_min,round_trip_ns_p50,round_trip_ns_p90,round_trip_ns_p99,\
         round_trip_ns_p99_9,round_trip_ns_p99_99,round_trip_ns_max,round_trip_ns_bulk_mean,\
         messages_per_second,bytes_per_second,lost,lost_wait_ns,cpu_ns_per_message_leader,\
         cpu_ns_per_message_follower,context_switches_leader_voluntary,\
         context_switches_leader_involuntary,context_switches_follower_voluntary,\
         context_switches_follower_involuntary,peak_memory_bytes_leader,\
         peak_memory_bytes_follower,setup_ns,placement_leader_cpu,\
         placement_follower_cpus,floor_round_trip_ns,path_carrier,path_declared,\
         path_loopback_bytes_per_message,path_shared_bytes,silent_subscribers\r\n"
    );
}

#[test]
fn a_line_of_a_csv_holds_the_figures_in_the_order_of_its_head() {
    let mut one = case("pipe", 64, "spin", 2_000);
    one.options = [("a".into(), "1".into()), ("b".into(), "2".into())].into();
    one.library_version = Some("4.3.4".into());
    one.figures.as_mut().unwrap().placement.follower_cpus = vec![1, 2];
    let failed =
        unmeasured(case("fifo", 64, "block", 1), Status::Failed, "one, \"two\"\nthree\x1b[2J");
    let text = render(&run(vec![one, failed]), Format::Csv, STYLE);
    let body = &text[text.find("\r\n").unwrap() + 2..];
    assert_eq!(
        body,
        "pipe,os,4.3.4,latency,64,spin,head,process,1,1,a=1 b=2,ok,,10000,2100,800,1800,2000,2200,\
         2600,8000,18000,55415,1960,952380.9523809524,60952380.952380955,0,0,1020,980,0,3,0,1,\
         3000000,2000000,250000,0,1 2,206,kernel,kernel,0,0,0\r\n\
         fifo,os,,latency,64,block,head,process,1,1,,failed,\"one, \"\"two\"\" three\\u{1b}[2J\",\
         ,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,0\r\n"
    );
}

#[test]
fn formats_have_the_words_of_the_command_line() {
    let words: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
    let styles = ["iceperf", "ipc-bench", "fastdds", "ipc-performance"];
    assert_eq!(words, [&["table", "markdown", "csv", "json"][..], &styles].concat());
    assert!(Format::ALL.iter().all(|format| format.as_str().parse() == Ok(*format)));
    assert_eq!("html".parse::<Format>(), Err(()));
}
