//! The quotations in the documents are exact, and their commands work.

use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::command::{bare, entries, ipcmark, text};
use crate::support::TIMEOUT;

ipcmark_harness::tests![
    code_blocks_are_quotes_of_the_named_files,
    every_transport_has_a_page_and_a_place_in_the_readme,
    no_transport_lacks_a_required_part,
    the_check_lists_the_missing_parts_of_a_new_transport,
    the_commands_of_the_guide_work,
];

/// A block of a document between two fences, with the comment directly above it.
struct Block {
    /// The text in `<!-- … -->`, if any.
    note: Option<String>,
    language: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn blocks(document: &str) -> Vec<Block> {
    let text = fs::read_to_string(root().join(document)).expect("a document");
    let mut lines = text.lines();
    let mut before = "";
    let mut blocks = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let indent = line.len() - line.trim_start().len();
            let inside = lines.by_ref().take_while(|line| line.trim() != "```");
            let inside = inside.map(|line| line.get(indent..).unwrap_or("").to_owned() + "\n");
            let note = before.trim().strip_prefix("<!-- ").and_then(|n| n.strip_suffix(" -->"));
            blocks.push(Block {
                note: note.map(str::to_owned),
                language: language.into(),
                text: inside.collect(),
            });
        }
        before = line;
    }
    blocks
}

fn code_blocks_are_quotes_of_the_named_files() {
    let mut quoted = 0;
    for document in ["docs/adding-a-transport.md", "docs/abi.md"] {
        for block in blocks(document) {
            if !["c", "cpp", "rust", "cmake", "toml"].contains(&block.language.as_str()) {
                continue;
            }
            let file =
                block.note.unwrap_or_else(|| panic!("{document}: from where?\n{}", block.text));
            let source = fs::read_to_string(root().join(&file)).expect("the file that is named");
            assert!(source.contains(&block.text), "{document}: not in {file}:\n{}", block.text);
            quoted += 1;
        }
    }
    assert!(quoted > 8, "only {quoted} quotations were found");
}

fn every_transport_has_a_page_and_a_place_in_the_readme() {
    let listed = entries(ipcmark().args(["list", "--format", "json"]));
    let names: BTreeSet<String> =
        listed.iter().map(|entry| entry["name"].as_str().unwrap_or_default().to_owned()).collect();
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    for name in &names {
        let page = root().join(format!("docs/transports/{name}.md"));
        let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        assert_eq!(text.lines().next(), Some(format!("# {name}").as_str()));
        assert!(name == "null-module" || readme.contains(&format!("`{name}`")), "README: {name}");
    }
    let pages = fs::read_dir(root().join("docs/transports")).expect("a directory").flatten();
    for page in pages {
        let name = page.file_name().to_string_lossy().trim_end_matches(".md").to_owned();
        assert!(names.contains(&name), "a page for {name}, which is no transport");
    }
}

fn no_transport_lacks_a_required_part() {
    let listed = entries(ipcmark().args(["list", "--format", "json"]));
    assert!(!listed.is_empty());
    for entry in listed {
        let name = entry["name"].as_str().expect("a name");
        let (complete, list) = check_transport(&root(), name);
        assert!(complete, "{list}");
    }
}

fn the_check_lists_the_missing_parts_of_a_new_transport() {
    // A checkout that contains only the file of a transport.
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let sources = scratch.path().join("crates/native/src");
    fs::create_dir_all(&sources).unwrap();
    fs::copy(root().join("docs/examples/packets.rs"), sources.join("packets.rs")).unwrap();
    fs::copy(root().join("crates/native/src/lib.rs"), sources.join("lib.rs")).unwrap();
    for name in ["scripts", "modules", "README.md", "CHANGELOG.md"] {
        symlink(fs::canonicalize(root().join(name)).unwrap(), scratch.path().join(name)).unwrap();
    }
    let (complete, list) = check_transport(scratch.path(), "packets");
    assert!(!complete, "{list}");
    for (mark, what) in [
        ('✓', "definition"),
        ('✓', "carrier"),
        ('✗', "list"),
        ('✗', "page"),
        ('✗', "README"),
        ('✗', "changelog"),
    ] {
        assert!(list.contains(&format!("{mark} {what} ")), "{mark} {what}:\n{list}");
    }
}

/// Runs the list of `make check-transport`: its success, and its output.
fn check_transport(checkout: &Path, name: &str) -> (bool, String) {
    let mut script = Command::new("sh");
    script.args(["scripts/check-transport.sh", name, "modules", "build", "--list"]);
    let output = script.current_dir(checkout).stdin(Stdio::null()).output().expect("sh runs");
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

fn the_commands_of_the_guide_work() {
    let blocks = blocks("docs/adding-a-transport.md");
    let runs: Vec<&Block> =
        blocks.iter().filter(|block| block.note.as_deref() == Some("run")).collect();
    assert!(!runs.is_empty());
    // A directory in which the document's paths lead to the repository and other files can be made.
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for folder in ["include", "docs", "modules"] {
        symlink(fs::canonicalize(root().join(folder)).unwrap(), scratch.path().join(folder))
            .unwrap();
    }
    for run in runs {
        let printed = type_in(scratch.path(), &run.text);
        assert!(printed.contains("✓ packets"), "{printed}");
        for size in ["16 B", "64 B", "4 KiB", "64 KiB"] {
            assert!(printed.contains(size), "{size} is missing:\n{printed}");
        }
    }
}

/// Runs a block in a shell in `directory`; returns its output.
fn type_in(directory: &Path, block: &str) -> String {
    let path = env::var_os("PATH").unwrap_or_default();
    let beside = bare().parent().expect("a directory").to_owned();
    let path = env::join_paths([beside].into_iter().chain(env::split_paths(&path))).unwrap();
    let mut shell = Command::new("sh");
    // As in all tests, a timeout that suits a busy machine.
    let patient = block.replace("ipcmark run ", &format!("ipcmark run {} ", TIMEOUT.join(" ")));
    shell
        .args(["-euc", patient.as_str()])
        .current_dir(directory)
        .env("PATH", path)
        .stdin(Stdio::null());
    let output = shell.env_remove("IPCMARK_MODULE_PATH").output().expect("sh runs");
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{block}\n{printed}\n{}", text(&output.stderr));
    printed
}
