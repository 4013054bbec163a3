//! The commands: one file each, which ends in its definition.

mod advise;
mod clean;
mod compare;
mod completions;
mod cores;
mod doctor;
mod explain;
mod follower;
mod history;
mod iceperf_follower;
mod iceperf_leader;
mod ipc_bench;
mod ipc_performance;
mod latency_test;
mod latency_tests;
mod leader;
mod list;
mod man;
mod rank;
mod report;
mod run;
mod schema;
mod show;
mod sweep;

use crate::definition::CommandDefinition;

/// Every command, in the order of the help.
pub(crate) const COMMANDS: &[CommandDefinition] = &[
    run::DEFINITION,
    leader::DEFINITION,
    follower::DEFINITION,
    rank::DEFINITION,
    list::DEFINITION,
    advise::DEFINITION,
    explain::DEFINITION,
    doctor::DEFINITION,
    cores::DEFINITION,
    show::DEFINITION,
    report::DEFINITION,
    compare::DEFINITION,
    history::DEFINITION,
    sweep::DEFINITION,
    schema::DEFINITION,
    ipc_bench::DEFINITION,
    ipc_performance::DEFINITION,
    latency_test::DEFINITION,
    latency_tests::DEFINITION,
    iceperf_leader::DEFINITION,
    iceperf_follower::DEFINITION,
    completions::DEFINITION,
    man::DEFINITION,
    clean::DEFINITION,
];

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use clap::{Args, Command};
    use ipcmark_engine::Registry;

    use super::{
        COMMANDS, iceperf_leader::IceperfLeader, ipc_bench::IpcBench,
        ipc_performance::IpcPerformance, latency_test::LatencyTest, latency_tests::LatencyTests,
    };
    use crate::{arguments::run::RunArguments, registry, selection, transport_options};

    /// The words of a command line; no page has a blank within quotes.
    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().skip(1).map(|word| word.replace('\'', "")).collect()
    }

    fn parsed<A: Args>(words: &[String]) -> A {
        let matches = A::augment_args(Command::new("")).try_get_matches_from(words);
        A::from_arg_matches(&matches.unwrap_or_else(|e| panic!("{words:?}: {e}"))).unwrap()
    }

    /// The flags of the run that a command line on a page measures.
    fn run_arguments(words: &[String]) -> Option<RunArguments> {
        let translation = match words[0].as_str() {
            "run" => return Some(parsed(words)),
            "ipc-bench" => parsed::<IpcBench>(words).translated(),
            "ipc-performance" => parsed::<IpcPerformance>(words).translated(),
            "latency-test" => parsed::<LatencyTest>(words).translated().unwrap(),
            "latency-tests" => {
                parsed::<LatencyTests>(words).launched().unwrap().translated().unwrap()
            }
            "iceperf-leader" => parsed::<IceperfLeader>(words).translated(),
            _ => return None,
        };
        Some(translation.arguments().unwrap())
    }

    fn check(words: &[String], registry: &Registry) {
        let definition = COMMANDS.iter().find(|command| command.name == words[0]);
        let definition = definition.unwrap_or_else(|| panic!("there is no command {}", words[0]));
        let flags = (definition.flags)(Command::new(definition.name));
        flags.try_get_matches_from(words).unwrap_or_else(|e| panic!("{words:?}: {e}"));
        if let Some(run) = run_arguments(words) {
            selection::select(&run.transports, registry).unwrap();
            transport_options::read(&run.set, registry).unwrap();
        }
    }

    /// Checks the commands of a page, without the shell's redirections, and returns their number.
    fn check_page(page: &Path, registry: &Registry) -> usize {
        let text = std::fs::read_to_string(page).unwrap_or_else(|e| panic!("{page:?}: {e}"));
        let lines = text.lines().map(str::trim_start).filter(|line| line.starts_with("ipcmark "));
        let commands = lines.map(|line| line.split(['|', '>']).next().unwrap_or(line));
        commands.inspect(|command| check(&words(command), registry)).count()
    }

    fn place(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
    }

    #[test]
    fn every_command_in_coming_from_parses() {
        let registry = registry::look(&[], &[]).unwrap().registry;
        let pages = std::fs::read_dir(place("docs/coming-from")).unwrap().flatten();
        let commands: usize = pages.map(|page| check_page(&page.path(), &registry)).sum();
        assert!(commands >= 8, "there are {commands} commands");
    }

    /// The part of an example for the shell alone is left out.
    #[test]
    fn every_help_has_examples_that_parse_and_related_commands() {
        let registry = registry::look(&[], &[]).unwrap().registry;
        for command in COMMANDS {
            let guide = &command.guide;
            assert!(!guide.examples.is_empty() && guide.exit.contains("0 "), "{}", command.name);
            let is_other = |name: &&&str| COMMANDS.iter().any(|one| one.name == **name);
            let others = guide.see_also.iter().filter(is_other).count();
            assert!(others > 0 && others == guide.see_also.len(), "{}", command.name);
            assert!(!guide.see_also.contains(&command.name), "{}", command.name);
            for (example, _) in guide.examples {
                let own = example.split(['|', '>', '&']).next().unwrap_or(example);
                // A launcher can precede it.
                let own = own.find("ipcmark").map_or(own, |at| &own[at..]);
                check(&words(own), &registry);
            }
        }
    }

    #[test]
    fn every_command_in_the_exports_page_and_the_workflow_parses() {
        let registry = registry::look(&[], &[]).unwrap().registry;
        let exports = check_page(&place("docs/exports.md"), &registry);
        assert!(exports >= 8, "there are {exports} commands");
        let workflow = check_page(&place("examples/github-actions/pull-request.yml"), &registry);
        assert_eq!(workflow, 2);
    }
}
