//! The transport options that users set: `--set zeromq.high-water-mark=100`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use ipcmark_engine::{AnyTransport, Registry};
use ipcmark_transport::OptionSpec;

use crate::selection;

/// Keys and values by a transport's index in the registry.
pub(crate) type Options = BTreeMap<usize, BTreeMap<String, String>>;

/// Reads every `TRANSPORT.KEY=VALUE`, where the transport is a name, a glob or a family, and checks
/// it against the options that the transports declare. Selected transports without such an option
/// are left as they are, unless none has it. The same holds for a row that does not accept the
/// value, if the family has the name of a transport that does.
pub(crate) fn read(words: &[String], registry: &Registry) -> Result<Options, String> {
    let mut options = Options::new();
    for word in words {
        let (transport, key, value) = split(word)?;
        let places = selection::matching(transport, registry)?;
        let is_meant = |at: usize| registry[at].definition().name == transport;
        let is_named = places.iter().any(|at| is_meant(*at));
        let (mut taken, mut refused) = (false, None);
        for at in places {
            let Some(spec) = spec(registry[at].as_ref(), key) else { continue };
            match spec.check(value) {
                Ok(checked) => {
                    taken = true;
                    set(&mut options, at, key, checked, word)?;
                }
                // A family with the name of its first transport, whose other rows accept less.
                Err(why) if is_named && !is_meant(at) => refused = Some(why),
                Err(why) => return Err(format!("in --set {word}: {why}")),
            }
        }
        if !taken {
            let unknown = || unknown(transport, key, registry);
            return Err(refused.map_or_else(unknown, |why| format!("in --set {word}: {why}")));
        }
    }
    for (at, set) in &options {
        registry[*at].check(set).map_err(|error| format!("in --set: {error}"))?;
    }
    Ok(options)
}

/// The part before the key of each setting; an empty word if a setting is malformed.
pub(crate) fn named(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().map(|word| split(word).map_or("", |(transport, ..)| transport))
}

fn split(word: &str) -> Result<(&str, &str, &str), String> {
    let parts = word.split_once('=').and_then(|(left, value)| {
        let (transport, key) = left.split_once('.')?;
        Some((transport.trim(), key.trim(), value.trim()))
    });
    parts
        .filter(|(transport, key, _)| !transport.is_empty() && !key.is_empty())
        .ok_or_else(|| format!("'{word}' is not a setting; write --set TRANSPORT.KEY=VALUE"))
}

fn spec<'a>(candidate: &'a dyn AnyTransport, key: &str) -> Option<&'a OptionSpec> {
    candidate.definition().options.iter().find(|option| option.key == key)
}

fn set(
    options: &mut Options,
    at: usize,
    key: &str,
    value: String,
    word: &str,
) -> Result<(), String> {
    match options.entry(at).or_default().insert(key.to_owned(), value.clone()) {
        Some(before) if before != value => {
            Err(format!("--set {word} sets {key} to another value again"))
        }
        _ => Ok(()),
    }
}

fn unknown(transport: &str, key: &str, registry: &Registry) -> String {
    let places = selection::matching(transport, registry).unwrap_or_default();
    let mut keys: Vec<String> = places
        .iter()
        .flat_map(|at| registry[*at].definition().options.iter())
        .map(|option| format!("{transport}.{}", option.key))
        .collect();
    keys.sort();
    keys.dedup();
    match keys.is_empty() {
        true => format!("{transport} has no options to set"),
        false => format!("{transport} has no option {key}; it has {}", keys.join(", ")),
    }
}

/// The files and directories among the values, which the transports will read, each once.
pub(crate) fn paths(options: &Options, registry: &Registry) -> Vec<PathBuf> {
    let each = options.iter().flat_map(|(at, options)| options.iter().map(move |o| (at, o)));
    let paths = each.filter(|(at, (key, value))| {
        spec(registry[**at].as_ref(), key).is_some_and(|spec| spec.is_path(value))
    });
    let paths: BTreeSet<PathBuf> = paths.map(|(_, (_, value))| value.into()).collect();
    paths.into_iter().collect()
}

/// The settings of a follower's user: files and directories of its host, by transport and key.
pub(crate) fn local_paths(
    words: &[String],
    registry: &Registry,
) -> Result<BTreeMap<String, BTreeMap<String, String>>, String> {
    let mut paths = BTreeMap::new();
    for (at, options) in read(words, registry)? {
        let candidate = registry[at].as_ref();
        let is_path = |key, value| spec(candidate, key).is_some_and(|spec| spec.is_path(value));
        if let Some((key, _)) = options.iter().find(|(key, value)| !is_path(key, value)) {
            return Err(format!("{}.{key} is set by the leader", candidate.definition().name));
        }
        paths.insert(candidate.definition().name.to_string(), options);
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &[&str]) -> Result<Options, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read(&words, &ipcmark_registry::native())
    }

    #[test]
    fn a_setting_reaches_every_transport_that_has_the_option() {
        let one = read_words(&["tcp.send-buffer=64k"]).unwrap();
        assert_eq!(one.len(), 1);
        let options = one.into_values().next().unwrap();
        assert_eq!(options["send-buffer"], "65536");
        assert!(read_words(&["os.send-buffer=1M"]).unwrap().len() > 1);
    }

    #[test]
    fn an_unknown_option_brings_the_known_ones() {
        for (word, reason) in [
            ("tcp", "write --set TRANSPORT.KEY=VALUE"),
            ("tcp.=1", "write --set"),
            (".send-buffer=1", "write --set"),
            ("tcp.colour=red", "it has tcp."),
            ("null.depth=1", "no options to set"),
            ("nothing.depth=1", "no transport 'nothing'"),
            ("tcp.send-buffer=many", "in --set tcp.send-buffer=many"),
            ("tcp.send-buffer=1G", "not one of"),
        ] {
            let error = read_words(&[word]).unwrap_err();
            assert!(error.contains(reason), "{word}: {error}");
        }
        let twice = read_words(&["tcp.send-buffer=64k", "tcp.send-buffer=128k"]).unwrap_err();
        assert!(twice.contains("again"), "{twice}");
        assert!(read_words(&["tcp.send-buffer=64k", "tcp.send-buffer=65536"]).is_ok());
    }
}
