//! The diagnosis for people.

use ipcmark_machine::{
    facts::{Effect, Finding, Question, Weight},
    hiccups::Hiccups,
};
use ipcmark_report::{Terminal, count, duration, plain};

use super::{
    diagnosis::Diagnosis,
    examination::{Examination, MeasuredPair},
};
use crate::distances::percent;
use crate::text::{BOLD, GREEN, RED, hanging, paint};

/// The most processors whose hiccups are shown: those with the most.
const MOST_PROCESSORS: usize = 8;

/// The header of their table.
const HICCUPS: &str = "hiccups         > 1 µs    > 10 µs   > 100 µs    longest   of the time";

/// The most other programs that are named.
const MOST_OTHERS: usize = 5;

/// The diagnosis as text, without the last line break.
pub(super) fn table(diagnosis: &Diagnosis, terminal: Terminal) -> String {
    let mut page = DoctorPage { terminal, lines: Vec::new() };
    page.verdict(diagnosis);
    if let Some(examination) = &diagnosis.examination {
        examination.pairs.iter().for_each(|pair| page.distances(pair));
        page.hiccups(&examination.hiccups);
        page.others(examination);
    }
    for (weight, title) in
        [(Weight::Unfit, "not fit"), (Weight::Reservation, "reservations"), (Weight::Note, "notes")]
    {
        page.effects(&diagnosis.findings, weight, title);
    }
    page.harmless(&diagnosis.findings);
    page.lines.join("\n")
}

struct DoctorPage {
    terminal: Terminal,
    lines: Vec<String>,
}

impl DoctorPage {
    fn title(&mut self, title: &str) {
        self.lines.push(String::new());
        let lines = hanging("", title, self.terminal);
        self.lines.extend(lines.iter().map(|line| paint(line, BOLD, self.terminal)));
    }

    fn item(&mut self, start: &str, text: &str) {
        self.lines.extend(hanging(start, &plain(text), self.terminal));
    }

    fn verdict(&mut self, diagnosis: &Diagnosis) {
        let (verdict, terminal) = (&diagnosis.verdict, self.terminal);
        let color = if verdict.weight() == Weight::Unfit { RED } else { GREEN };
        let lines = hanging("", &format!("This machine is {}", verdict.sentence()), terminal);
        self.lines.extend(lines.iter().map(|line| paint(line, color, terminal)));
    }

    fn distances(&mut self, pair: &MeasuredPair) {
        let (division, (first, second)) = (&pair.division, pair.cpus);
        self.title(&format!("distances of cpu {first} and cpu {second}: {}", pair.relation));
        for (at, distance) in division.distances.iter().enumerate() {
            let sign = if distance.apart { "x".into() } else { (at + 1).to_string() };
            let (name, share) = (distance.to_string(), percent(distance.share_of_probes));
            self.lines.push(format!("  {sign} {name:>9}  {share:>7} of the time"));
        }
        let changes = division.changes_per_second;
        self.item(
            "  over time    ",
            &format!("{}   {changes:.1} changes a second", division.over_time),
        );
    }

    fn hiccups(&mut self, hiccups: &[Hiccups]) {
        let is_table = self.terminal.width >= HICCUPS.chars().count();
        self.title(if is_table { HICCUPS } else { "hiccups" });
        for one in worst(hiccups) {
            let [short, middle, long] = one.gaps.map(|gaps| count(gaps.count));
            let (longest, share) = (duration(one.longest_ns as f64), percent(one.share()));
            let cpu = format!("cpu {}", one.cpu);
            if is_table {
                self.lines.push(format!(
                    "  {cpu:8} {short:>11} {middle:>10} {long:>10} {longest:>10} {share:>13}"
                ));
            } else {
                let gaps = format!("{short} > 1 µs, {middle} > 10 µs, {long} > 100 µs");
                let text = format!("{gaps}; longest {longest}; {share} of the time");
                self.item(&format!("  {cpu:8} "), &text);
            }
        }
        if hiccups.len() > MOST_PROCESSORS {
            self.item("  ", &format!("{} more with fewer", hiccups.len() - MOST_PROCESSORS));
        }
    }

    fn others(&mut self, examination: &Examination) {
        if examination.others.is_empty() {
            return;
        }
        self.title("busy threads of other programs");
        for other in examination.others.iter().take(MOST_OTHERS) {
            self.item("  ", &format!("{}: {} of a processor", other.process, percent(other.share)));
        }
        let more = examination.others.len().saturating_sub(MOST_OTHERS);
        if more > 0 {
            self.item("  ", &format!("and {more} more"));
        }
    }

    fn effects(&mut self, findings: &[Finding], weight: Weight, title: &str) {
        let of_weight: Vec<(&Finding, &Effect)> = findings
            .iter()
            .filter_map(|finding| Some((finding, finding.effect.as_ref()?)))
            .filter(|(_, effect)| effect.weight == weight)
            .collect();
        if of_weight.is_empty() {
            return;
        }
        self.title(title);
        for (finding, effect) in of_weight {
            self.effect(finding, effect);
        }
    }

    fn effect(&mut self, finding: &Finding, effect: &Effect) {
        self.item("  - ", &format!("{}: {}", finding.name, finding.value));
        self.item("    ", &format!("{}: {}", questions(effect.questions), effect.sentence));
        if let Some(remedy) = &effect.remedy {
            // A command stays on one line, so that it can be copied.
            self.lines.push(format!("    remedy: {}", remedy.command));
            if remedy.price != "none" {
                self.item("    price:  ", &remedy.price);
            }
        }
    }

    fn harmless(&mut self, findings: &[Finding]) {
        self.title("facts without an effect");
        let harmless = || findings.iter().filter(|finding| finding.effect.is_none());
        let width = harmless().map(|finding| finding.name.len()).max().unwrap_or(0);
        for finding in harmless() {
            self.item(&format!("  {:width$}  ", finding.name), &finding.value);
        }
    }
}

/// The processors with the most hiccups, ordered by number.
fn worst(hiccups: &[Hiccups]) -> Vec<&Hiccups> {
    let mut worst: Vec<&Hiccups> = hiccups.iter().collect();
    worst.sort_by(|a, b| b.share().total_cmp(&a.share()));
    worst.truncate(MOST_PROCESSORS);
    worst.sort_by_key(|hiccups| hiccups.cpu);
    worst
}

/// Formats as `spinning rows, tails`.
pub(super) fn questions(questions: &[Question]) -> String {
    match questions.len() {
        4 => "all rows".into(),
        _ => questions.iter().map(Question::to_string).collect::<Vec<_>>().join(", "),
    }
}
