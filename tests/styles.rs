//! The styles and command lines of other benchmarks, as their users type and read them.

mod support;

use support::{read, run};

support::tests![figures_in_a_style_are_those_of_the_file];

fn figures_in_a_style_are_those_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("result.json");
    let words = "run -t uds-stream -w block -s 64,4k -n 500 --format fastdds -o";
    let shown = run(&format!("{words} {}", path.display())).exits(0).stdout;
    let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with('#')).collect();
    let mut result = read(&path);
    result.cases.sort_by_key(|case| case.payload_bytes);
    for (case, line) in result.cases.iter().zip(&lines[2..]) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let trip = &case.figures.as_ref().unwrap().round_trip_ns;
        assert_eq!(cells[0], case.payload_bytes.to_string());
        assert_eq!(cells[1], "500");
        assert_eq!(cells[5], format!("{:.3}", trip.p50 as f64 / 2e3), "{shown}");
        assert_eq!(cells[9], format!("{:.3}", trip.max as f64 / 2e3), "{shown}");
    }
    assert_eq!(lines.len(), 4, "{shown}");
}
