//! Findings: what a run answers, in a few lines.

use ipcmark_results::{Best, Figure, Pattern, Row, RunResult, best};

use crate::{
    columns::Scale,
    names::{self, Titles},
    units::{count, duration, figure, percent},
};

/// The rows of one rank that are named; of further ones only the number is said.
const NAMED: usize = 4;

/// A finding: what was asked, and the answer.
pub struct Finding {
    /// `64 B · spin`.
    pub question: String,
    /// `fastest shm-ring and shm-slot, 52 ns ± 2 %; …`.
    pub answer: String,
}

/// The fastest and the cheapest rows of every table, and what the machine did to the figures.
pub fn findings(result: &RunResult) -> Vec<Finding> {
    let titles = Titles::of(result);
    let rows = best(result);
    let several = rows.iter().filter(|best| best.group.rows.len() > 1);
    let found = several.map(|best| Finding {
        question: titles.short(&best.group.key),
        answer: format!("{}; {}", fastest(best), cheapest(best)),
    });
    let found: Vec<Finding> = found.collect();
    if found.is_empty() {
        return found;
    }
    found.into_iter().chain(machine(result)).collect()
}

fn fastest(best: &Best) -> String {
    if best.group.key.pattern == Pattern::Throughput {
        return busiest(best);
    }
    let factor = Scale::of(&best.group).factor();
    let mut first: Vec<(f64, &Row)> =
        best.fastest.iter().filter_map(|row| Some((row.location()?.value * factor, row))).collect();
    first.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let [(least, row), .., (greatest, _)] = first[..] else {
        let only = &best.fastest[0];
        let time = only.location().map_or(0.0, |figure| figure.value * factor);
        let off = uncertainty(only.location());
        return format!("fastest {}, {}{off}", names::row(only), duration(time));
    };
    if best.fastest.iter().all(|row| row.trials.len() < 2) {
        return format!("fastest in its one trial {}, {}", names::row(row), duration(least));
    }
    let tied = tied(&best.fastest);
    let (least, greatest) = (duration(least), duration(greatest));
    let times = if least == greatest { least } else { format!("{least} to {greatest}") };
    format!("fastest, not told apart: {tied}, {times}")
}

/// The rows that carry most messages.
fn busiest(best: &Best) -> String {
    let rates = best.fastest.iter().filter_map(Row::messages_per_second);
    let (least, greatest) =
        rates.fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    let [least, greatest] =
        [least, greatest].map(|rate| format!("{}/s", count(rate.round() as u64)));
    match &best.fastest[..] {
        [first, ..] if best.fastest.iter().all(|row| row.trials.len() < 2) => {
            format!("most in its one trial {}, {greatest}", names::row(first))
        }
        [only] => {
            format!("most {}, {greatest}{}", names::row(only), uncertainty(only.location()))
        }
        tied => format!("most, not told apart: {}, {least} to {greatest}", self::tied(tied)),
    }
}

/// The names of rows of one rank.
fn tied(rows: &[Row]) -> String {
    let names: Vec<String> = rows.iter().take(NAMED).map(names::row).collect();
    match rows.len() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn uncertainty(location: Option<Figure>) -> String {
    let width = location.and_then(|figure| figure.relative_half_width());
    width.map_or_else(String::new, |width| format!(" ± {}", percent(width)))
}

fn cheapest(best: &Best) -> String {
    let cpu = duration(best.cheapest.cpu_per_message());
    format!("least CPU {}, {cpu} a message", names::row(&best.cheapest))
}

/// How far the machine itself would have moved the figures.
fn machine(result: &RunResult) -> Option<Finding> {
    let distances = result.distances.as_ref()?;
    let reference = distances.all.get(distances.reference? as usize)?;
    let floors = distances.all.iter().filter(|distance| !distance.apart);
    let floors: Vec<f64> = floors.map(|distance| distance.floor_round_trip_ns).collect();
    let least = floors.iter().copied().fold(f64::MAX, f64::min);
    let greatest = floors.iter().copied().fold(0.0, f64::max);
    let share = figure(reference.share * 100.0);
    let answer = match floors.len() {
        0 | 1 => format!("one distance; {share} % of the blocks count"),
        count => format!(
            "{count} distances: a bare cache line took {} to {} there and back; rows are compared at {}, in {share} % \
             of the blocks",
            duration(least),
            duration(greatest),
            duration(reference.floor_round_trip_ns)
        ),
    };
    Some(Finding { question: "machine".into(), answer })
}
