//! The figures of any result: those of the file, on lines that fit the terminal.

use super::*;

/// The geometric mean of a figure of each trial.
fn mean(trials: &[Trial], figure: impl Fn(&Trial) -> f64) -> f64 {
    let sum: f64 = trials.iter().map(|trial| figure(trial).ln()).sum();
    (sum / trials.len() as f64).exp()
}

/// The middle one of some figures, or the mean of the middle two.
fn median(trials: &[Trial], figure: impl Fn(&Trial) -> f64) -> f64 {
    let mut figures: Vec<f64> = trials.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures[(figures.len() - 1) / 2].midpoint(figures[figures.len() / 2])
}

/// Figures of a row, each with its label and true if it is a time in the unit of the group.
fn figures(case: &ipcmark_results::Case) -> Vec<(&'static str, f64, bool)> {
    let all = case.trials();
    let is_halved = case.identity.pattern == Pattern::Latency && !case.identity.load.is_open();
    let share = if is_halved { 0.5 } else { 1.0 };
    let sum = |of: fn(&ipcmark_results::ProcessRecord) -> u64| {
        let of_trial = |trial: &Trial| -> f64 {
            let processes = trial.session.processes.iter();
            processes.map(|process| of(process) as f64).sum::<f64>()
        };
        median(all, |trial| of_trial(trial) / trial.session.messages as f64)
    };
    let longest = all.iter().map(|trial| trial.times_ns.max).max().unwrap_or(0);
    let switches =
        sum(|process| process.context_switches.voluntary + process.context_switches.involuntary);
    let location = mean(all, |trial| trial.clock_free_mean_ns);
    let of_pattern = match case.identity.pattern.is_stream() {
        true => ("msg/s", (1e9 / location).round(), false),
        false => ("max", longest as f64 * share, true),
    };
    vec![
        ("mean", location * share, true),
        of_pattern,
        ("CPU/msg", sum(|process| process.cpu_ns), true),
        ("switches/msg", switches, false),
    ]
}

/// A row of a table in Markdown.
struct Shown {
    name: String,
    /// The group's unit in ns.
    unit: f64,
    /// The cells after the name, each with its label.
    cells: Vec<(String, String)>,
}

fn rows_of_markdown(text: &str) -> Vec<Shown> {
    let (mut unit, mut labels, mut rows) = (1.0, Vec::new(), Vec::new());
    for line in text.lines() {
        let whats = [
            "½ round trip in ",
            "round trip in ",
            "response from the intended time in ",
            "one way in ",
            "one way from the intended time in ",
            "time a message in ",
        ];
        let sign = whats.iter().find_map(|what| line.strip_prefix(what));
        unit = sign.map_or(unit, |sign| match sign {
            "ns" => 1.0,
            "µs" => 1e3,
            "ms" => 1e6,
            _ => 1e9,
        });
        let cells = || line.trim_end_matches(" |").split(" | ").map(String::from);
        if line.starts_with("| transport ") {
            labels = cells().collect();
        } else if line.starts_with("| case-") {
            let name = cells().next().unwrap_or_default();
            let name = name.trim_start_matches("| ").trim_end_matches(" !").into();
            rows.push(Shown {
                name,
                unit,
                cells: labels.iter().cloned().zip(cells()).skip(1).collect(),
            });
        }
    }
    rows
}

/// True if a cell is a figure with three significant digits.
fn is_rounded(cell: &str, exact: f64) -> bool {
    let read: f64 = cell.replace(',', "").parse().unwrap_or(f64::NAN);
    (read - exact).abs() <= exact.abs() * 0.005_001 + 0.000_501
}

/// The result with a different name for every case.
fn each_its_own(mut result: RunResult) -> RunResult {
    for (at, case) in result.cases.iter_mut().enumerate() {
        case.identity.transport = format!("case-{at:03}");
        case.identity.options.clear();
        case.identity.span = Span::Process;
    }
    result
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_terminal(
        result in arbitrary::result(),
        width in prop::sample::select(&[40_usize, 72, 80, 100, 140, 200][..]),
    ) {
        for line in table(&result, width).lines() {
            prop_assert!(line.width() <= width, "{} of {width}: {line}", line.width());
        }
    }

    #[test]
    fn every_figure_shown_is_one_of_the_file(result in arbitrary::result().prop_map(each_its_own)) {
        let rows = rows_of_markdown(&markdown(&result));
        let measured = result.cases.iter().filter(|case| case.status() == Status::Ok).count();
        prop_assert_eq!(rows.len(), measured);
        let table = table(&result, 400);
        for shown in rows {
            let case = result.cases.iter().find(|case| case.identity.transport == shown.name).unwrap();
            for (label, exact, is_time) in figures(case) {
                let (_, cell) = shown.cells.iter().find(|(name, _)| name == label).unwrap();
                let exact = if is_time { exact / shown.unit } else { exact };
                prop_assert!(is_rounded(cell, exact), "{label}: {cell} for {exact}");
            }
            let cells: Vec<&str> =
                shown.cells.iter().flat_map(|(_, cell)| cell.split_whitespace()).collect();
            let words = row(&table, &shown.name);
            prop_assert_eq!(&words[words.len() - cells.len()..], &cells[..]);
        }
    }

    #[test]
    fn no_control_character_reaches_the_terminal(result in arbitrary::result()) {
        for text in [table(&result, 80), markdown(&result)] {
            let raw = text.chars().find(|char| char.is_control() && *char != '\n');
            prop_assert_eq!(raw, None);
        }
        let painted = painted(&result);
        prop_assert_eq!(unpainted(&painted), table(&result, 80));
    }

    #[test]
    fn half_of_the_mean_is_shown(p50 in 200_u64..20_000_000) {
        let text = table(&run(vec![case("pipe", 64, Wait::Spin, p50)]), 80);
        let shown: f64 = row(&text, "pipe")[1].replace(',', "").parse().unwrap();
        let exact = p50 as f64 * 0.98 / 2_000.0;
        prop_assert!((shown - exact).abs() <= exact / 200.0, "{} for {}", shown, exact);
    }
}
