//! Completions for values of flags. No library is loaded for this: of the modules' transports, only those that the
//! command knows by itself are completed.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use ipcmark_engine::Registry;
use ipcmark_history::{History, default_path};
use ipcmark_report::{FORMATS, row_names};
use ipcmark_transport::{OptionSpec, Pattern, Wait};

use crate::selection;

/// Words with their descriptions.
type DescribedWords = Vec<(String, String)>;

/// Completes a UTF-8 text; others have no completion.
fn of(words: fn(&str) -> DescribedWords) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        current.to_str().map_or(Vec::new(), |text| of_text(text, words))
    })
}

fn of_text(text: &str, words: fn(&str) -> DescribedWords) -> Vec<CompletionCandidate> {
    let mut words = words(text);
    words.retain(|(word, _)| word.starts_with(text));
    let candidate = |(word, help): (String, String)| {
        CompletionCandidate::new(word).help((!help.is_empty()).then(|| help.into()))
    };
    words.into_iter().map(candidate).collect()
}

/// Names of transports, families, and all.
pub(crate) fn transports() -> ArgValueCompleter {
    of(|_| {
        let registry = ipcmark_registry::known();
        let all = [("all".to_owned(), "everything available".to_owned())];
        names(&registry).into_iter().chain(families(&registry)).chain(all).collect()
    })
}

fn names(registry: &Registry) -> DescribedWords {
    let definitions = registry.iter().map(|candidate| candidate.definition());
    definitions.map(|it| (it.name.to_string(), it.summary.to_string())).collect()
}

/// The families that are not also the name of a transport.
fn families(registry: &Registry) -> DescribedWords {
    let definitions = || registry.iter().map(|candidate| candidate.definition());
    let families: BTreeSet<String> = definitions().map(|it| it.family.to_string()).collect();
    let is_own = |family: &String| definitions().all(|it| it.name != family.as_str());
    families.into_iter().filter(is_own).map(|it| (it.clone(), format!("all of {it}"))).collect()
}

/// Waits, and a transport with a wait of its own.
pub(crate) fn waits() -> ArgValueCompleter {
    of(|text| {
        let all = Wait::ALL.iter().map(Wait::to_string).chain(["all".to_owned()]);
        match text.split_once('=') {
            Some((transport, _)) => {
                all.map(|wait| (format!("{transport}={wait}"), String::new())).collect()
            }
            None if text.is_empty() => all.map(|wait| (wait, String::new())).collect(),
            None => {
                let registry = ipcmark_registry::known();
                let of_some = names(&registry).into_iter().chain(families(&registry));
                let of_some = of_some.map(|(name, help)| (format!("{name}="), help));
                all.map(|wait| (wait, String::new())).chain(of_some).collect()
            }
        }
    })
}

/// Shapes of the traffic.
pub(crate) fn patterns() -> ArgValueCompleter {
    of(|_| Pattern::ALL.iter().map(|pattern| (pattern.to_string(), String::new())).collect())
}

/// Some sizes, ranges and presets; completes the last one of a list.
pub(crate) fn sizes() -> ArgValueCompleter {
    const SIZES: [&str; 14] = [
        "64",
        "256",
        "1k",
        "4k",
        "16k",
        "64k",
        "256k",
        "1M",
        "4M",
        "16..64k",
        "16..4M",
        "iceperf",
        "ipc-bench",
        "fastdds",
    ];
    ArgValueCompleter::new(|current: &OsStr| {
        let text = current.to_string_lossy();
        if let Some(path) = text.strip_prefix('@') {
            return paths(path, "@");
        }
        let before = text.rfind(',').map_or("", |at| &text[..=at]);
        let sizes = SIZES.iter().map(|size| format!("{before}{size}"));
        sizes.filter(|word| word.starts_with(&*text)).map(CompletionCandidate::new).collect()
    })
}

/// Formats, each with a file: `csv=result.csv`.
pub(crate) fn exports() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let text = current.to_string_lossy();
        match text.split_once('=') {
            Some((format, path)) => paths(path, &format!("{format}=")),
            None => of_text(&text, |_| {
                FORMATS.iter().map(|it| (format!("{}=", it.name), it.summary.into())).collect()
            }),
        }
    })
}

/// Files and directories, with the part of the word that precedes them.
fn paths(path: &str, before: &str) -> Vec<CompletionCandidate> {
    let found = PathCompleter::any().complete(OsStr::new(path));
    found.into_iter().map(|candidate| candidate.add_prefix(before)).collect()
}

/// Options of transports with their values: `tcp.send-buffer=64k`.
pub(crate) fn settings() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let text = current.to_string_lossy();
        let registry = ipcmark_registry::known();
        let Some((transport, rest)) = text.split_once('.') else {
            return with_options(&text, &registry);
        };
        let specs = specs(transport, &registry);
        let Some((key, value)) = rest.split_once('=') else {
            let keys = specs.iter().filter(|spec| spec.key.starts_with(rest));
            return keys.map(|spec| key_of(transport, spec)).collect();
        };
        let spec = specs.iter().find(|spec| spec.key == key);
        spec.map_or(Vec::new(), |spec| values_of(spec, value, &format!("{transport}.{key}=")))
    })
}

/// Transports and families that have options.
fn with_options(text: &str, registry: &Registry) -> Vec<CompletionCandidate> {
    let all = names(registry).into_iter().chain(families(registry));
    let named = all.filter(|(name, _)| name.starts_with(text) && !specs(name, registry).is_empty());
    named
        .map(|(name, help)| CompletionCandidate::new(format!("{name}.")).help(Some(help.into())))
        .collect()
}

/// The options of all transports that a name, glob or family selects, each once.
fn specs<'a>(transport: &str, registry: &'a Registry) -> Vec<&'a OptionSpec> {
    let places = selection::matching(transport, registry).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let all = places.into_iter().flat_map(|at| registry[at].definition().options.iter());
    all.filter(|spec| seen.insert(spec.key.to_string())).collect()
}

fn key_of(transport: &str, spec: &OptionSpec) -> CompletionCandidate {
    let help = spec.summary.to_string();
    CompletionCandidate::new(format!("{transport}.{}=", spec.key)).help(Some(help.into()))
}

/// The words that an option accepts, or files, or its default value.
fn values_of(spec: &OptionSpec, value: &str, before: &str) -> Vec<CompletionCandidate> {
    let words = spec.accepts.split('|').chain([&*spec.standard]);
    // A range is not a word.
    let words: BTreeSet<&str> = words.filter(|word| spec.check(word).is_ok()).collect();
    let words = words.into_iter().filter(|word| word.starts_with(value));
    let words = words.map(|word| CompletionCandidate::new(format!("{before}{word}")));
    let files = if spec.takes_path() { paths(value, before) } else { Vec::new() };
    words.chain(files).collect()
}

/// Larger result files are not read for the names of their rows: completion must be quick.
const MOST_BYTES: u64 = 4 << 20;

/// The rows of the result files on the command line.
pub(crate) fn rows_of_results() -> ArgValueCompleter {
    of(|_| {
        let is_small = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES)
        };
        let files = typed().into_iter().map(PathBuf::from).filter(is_small);
        let results = files.filter_map(|path| ipcmark_results::read(&path).ok());
        let names: BTreeSet<String> = results.flat_map(|result| row_names(&result)).collect();
        names.into_iter().map(|name| (name, String::new())).collect()
    })
}

/// The rows of the history.
pub(crate) fn rows_of_history() -> ArgValueCompleter {
    of(|_| {
        let rows = history().and_then(|history| history.rows().ok()).unwrap_or_default();
        rows.into_iter().map(|row| (row.name, String::new())).collect()
    })
}

/// The commits and labels of the history.
pub(crate) fn sides_of_history() -> ArgValueCompleter {
    of(|_| {
        let runs = history().and_then(|history| history.runs().ok()).unwrap_or_default();
        let names: BTreeSet<String> =
            runs.into_iter().flat_map(|run| run.commit.into_iter().chain(run.label)).collect();
        names.into_iter().map(|name| (name, String::new())).collect()
    })
}

/// The history named on the command line, or the default one.
fn history() -> Option<History> {
    let words = typed();
    let at = words.iter().position(|word| word == "--file");
    let named = at.and_then(|at| words.get(at + 1)).map(PathBuf::from);
    let joined = || {
        let value = words.iter().find_map(|word| word.to_str()?.strip_prefix("--file="));
        value.map(PathBuf::from)
    };
    let path = named.or_else(joined).or_else(default_path)?;
    History::read(Path::new(&path)).ok()
}

/// The words of the line being typed.
fn typed() -> Vec<OsString> {
    std::env::args_os().skip_while(|word| word != "--").skip(1).collect()
}
