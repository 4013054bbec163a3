//! Every kept input of every target, as the fuzzer would call it.

use std::{collections::BTreeSet, fs, path::PathBuf};

use ipcmark_fuzz::TARGETS;

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

#[test]
fn no_kept_input_panics() {
    for target in TARGETS {
        let entries = fs::read_dir(corpus().join(target.name)).unwrap();
        let files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty(), "{}", target.name);
        for file in files {
            // Shown where it panics.
            println!("{}", file.display());
            (target.run)(&fs::read(&file).unwrap());
        }
    }
}

#[test]
fn every_folder_is_a_target() {
    let entries = fs::read_dir(corpus()).unwrap();
    let folders: BTreeSet<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let targets = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(folders, targets);
}
