//! The imports of Rust: for each file of a crate, the other files from which it takes names.
//!
//! A path counts anywhere: in a `use`, in code, and in the arguments of a macro. It is followed through re-exports
//! to the file that defines the name, so a file that only declares modules and re-exports their names imports none
//! of them. Items for tests do not count.

mod scan;
mod tree;

use std::collections::BTreeSet;

use crate::{graph::Graph, sources::Sources};
use tree::Crate;

/// The imports within each crate.
pub fn imports(sources: &Sources) -> Graph {
    let mut graph = Graph::default();
    for root in roots(sources) {
        Crate::load(sources, &root).add_imports(&mut graph);
    }
    graph
}

/// The root files of all crates: those at Cargo's default locations, and those that a `Cargo.toml` names.
fn roots(sources: &Sources) -> BTreeSet<String> {
    let found = sources.with_ending(&["rs"]).filter(|path| is_root(path)).map(str::to_owned);
    let named = sources.with_ending(&["toml"]).flat_map(|manifest| named_roots(sources, manifest));
    found.chain(named).collect()
}

fn is_root(path: &str) -> bool {
    let is_module = path.rsplit_once("/src/").is_some_and(|(_, below)| below.contains('/'));
    if is_module && !path.contains("/src/bin/") {
        return false;
    }
    let mut parts = path.rsplit('/');
    let (file, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let above = parts.next().unwrap_or_default();
    let is_target = |folder| ["tests", "benches", "examples"].contains(&folder);
    match (above, folder, file) {
        (_, "src", "lib.rs" | "main.rs") | (_, _, "build.rs") | ("src", "bin", _) => true,
        (above, _, "main.rs") => is_target(above),
        (above, folder, _) => is_target(folder) && !is_target(above),
    }
}

/// The files that lines like `path = "src/x.rs"` of a manifest name.
fn named_roots(sources: &Sources, manifest: &str) -> Vec<String> {
    let lines = sources.text(manifest).unwrap_or_default().lines();
    let values =
        lines.filter_map(|line| line.trim().strip_prefix("path")?.trim_start().strip_prefix('='));
    let paths =
        values.map(|value| value.trim().trim_matches('"')).filter(|path| path.ends_with(".rs"));
    let folder = crate::sources::folder(manifest);
    paths.filter_map(|path| sources.find(folder, path)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The imports of a crate with these files in `src`, without the folder.
    fn edges<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
        let paths = files.map(|(path, text)| (format!("src/{path}"), text));
        let sources = Sources::from(paths.each_ref().map(|(path, text)| (path.as_str(), *text)));
        let graph = imports(&sources);
        let pairs = paths.iter().flat_map(|(from, _)| paths.iter().map(move |(to, _)| (from, to)));
        let edges = pairs.filter(|(from, to)| graph.has(from, to));
        edges.map(|(from, to)| format!("{from} {to}").replace("src/", "")).collect()
    }

    #[test]
    fn a_use_is_an_import() {
        let lib = ("lib.rs", "mod a; mod b;");
        for text in [
            "use crate::b::Thing;",
            "use super::b::Thing;",
            "use crate::b::{Other, Thing as Alias};",
            "use crate::{b::{self, inner::{Thing}}};  fn f() -> b::Thing {}",
            "pub use crate::b::Thing; fn f() -> Thing {}",
            "use crate::b; fn f() -> b::Thing {}",
            "use crate::b::*; fn f() -> Thing {}",
            "fn f() { use crate::b::Thing; }",
        ] {
            assert_eq!(
                edges([lib, ("a.rs", text), ("b.rs", "pub struct Thing;")]),
                ["a.rs b.rs"],
                "{text}"
            );
        }
    }

    #[test]
    fn a_path_in_code_is_an_import() {
        let lib = ("lib.rs", "mod a; mod b;");
        for text in [
            "fn f() -> crate::b::Thing {}",
            "fn f(_: Vec<super::b::Thing>) {}",
            "fn f() { println!(\"{}\", crate::b::Thing) }",
            "macro_rules! m { () => { $crate::b::Thing } }",
            "impl crate::b::Thing {}",
        ] {
            assert_eq!(
                edges([lib, ("a.rs", text), ("b.rs", "pub struct Thing;")]),
                ["a.rs b.rs"],
                "{text}"
            );
        }
    }

    #[test]
    fn text_and_other_crates_are_no_imports() {
        let lib = ("lib.rs", "mod a; mod b;");
        for text in [
            "// use crate::b::Thing;",
            "/* /* nested */ use crate::b::Thing; */",
            "/// [`crate::b::Thing`]\nfn f() {}",
            "const A: &str = \"use crate::b::Thing;\";",
            "const A: &str = r#\"\" use crate::b::Thing; \"#;",
            "fn f<'b>(_: &'b str) { let c = '\"'; }",
            "use std::b::Thing;",
            "use ::b::Thing;",
            "fn f() { x.b::<u8>(); <u8 as From<u8>>::b(1); }",
        ] {
            assert!(
                edges([lib, ("a.rs", text), ("b.rs", "pub struct Thing;")]).is_empty(),
                "{text}"
            );
        }
    }

    #[test]
    fn items_for_tests_do_not_count() {
        let lib = ("lib.rs", "mod a; mod b;");
        for text in [
            "#[cfg(test)] mod tests { use crate::b::Thing; }",
            "#[cfg(test)] mod tests;",
            "#[cfg(test)] use crate::b::Thing;",
            "#[cfg(all(test, not(loom)))] #[allow(unused)] fn f() -> crate::b::Thing {}",
        ] {
            let files = [
                lib,
                ("a.rs", text),
                ("b.rs", "pub struct Thing;"),
                ("a/tests.rs", "use crate::b::Thing;"),
            ];
            assert!(edges(files).is_empty(), "{text}");
        }
        let text = "#[cfg(not(test))] fn f() -> crate::b::Thing {}";
        assert_eq!(edges([lib, ("a.rs", text), ("b.rs", "pub struct Thing;")]), ["a.rs b.rs"]);
    }

    #[test]
    fn code_after_an_item_for_tests_counts() {
        let text = "#[cfg(test)] mod tests { use crate::b::Thing; } fn f() -> crate::b::Other {}";
        assert_eq!(
            edges([("lib.rs", "mod a; mod b;"), ("a.rs", text), ("b.rs", "struct Other;")]),
            ["a.rs b.rs"]
        );
    }

    #[test]
    fn a_parent_that_only_re_exports_imports_nothing() {
        let child = ("a.rs", "use super::Error; pub struct Thing;");
        let parent = "mod a; mod b; pub use a::Thing; pub use b::*; pub struct Error;";
        assert_eq!(edges([("lib.rs", parent), child, ("b.rs", "")]), ["a.rs lib.rs"]);
    }

    #[test]
    fn a_parent_that_uses_its_child_imports_it() {
        for text in [
            "mod a; use a::Thing; pub struct Error;",
            "mod a; pub use a::Thing; pub struct Error; fn f() -> Thing {}",
            "mod a; pub struct Error; fn f() -> a::Thing {}",
            "mod a; pub struct Error; macro_rules! list { ($x:ident) => {} } list![a];",
        ] {
            let files = [("lib.rs", text), ("a.rs", "use crate::Error; pub struct Thing;")];
            assert_eq!(edges(files), ["lib.rs a.rs", "a.rs lib.rs"], "{text}");
        }
    }

    #[test]
    fn a_name_is_followed_through_re_exports() {
        let lib = ("lib.rs", "mod a; mod b; mod c; pub use b::Thing; pub use c::*;");
        let b = ("b.rs", "pub struct Thing;");
        let c = ("c.rs", "pub use crate::b::Thing as Same; pub fn call() {}");
        assert_eq!(edges([lib, ("a.rs", "use crate::Thing;"), b, c]), ["a.rs b.rs"]);
        assert_eq!(edges([lib, ("a.rs", "use crate::call;"), b, c]), ["a.rs c.rs"]);
        assert_eq!(edges([lib, ("a.rs", "use super::Same;"), b, c]), ["a.rs b.rs"]);
        assert_eq!(edges([lib, ("a.rs", "use super::*; fn f() { call() }"), b, c]), ["a.rs c.rs"]);
    }

    #[test]
    fn modules_lie_beside_mod_rs_and_below_other_files() {
        let lib = ("lib.rs", "mod a; mod b; mod top;");
        let files = [
            lib,
            ("a.rs", "mod x;"),
            ("a/x.rs", "use super::super::top::Top; use crate::b::y::Y;"),
            ("b/mod.rs", "pub mod y;"),
            ("b/y.rs", "use crate::top::Top; pub struct Y;"),
            ("top.rs", "pub struct Top;"),
        ];
        assert_eq!(edges(files), ["a/x.rs b/y.rs", "a/x.rs top.rs", "b/y.rs top.rs"]);
    }

    #[test]
    fn modules_within_a_file_have_their_own_names() {
        let lib = ("lib.rs", "mod a; mod b;");
        let a = (
            "a.rs",
            "mod inner { use super::super::b::Thing; mod deep; } #[path = \"other.rs\"] mod named;",
        );
        let files = [
            lib,
            a,
            ("a/inner/deep.rs", "use crate::b::Thing;"),
            ("other.rs", "use crate::b::Thing;"),
            ("b.rs", "pub struct Thing;"),
        ];
        assert_eq!(edges(files), ["a.rs b.rs", "a/inner/deep.rs b.rs", "other.rs b.rs"]);
    }

    #[test]
    fn a_macro_is_imported_from_the_file_that_defines_it() {
        let lib = "#[macro_use] mod m; mod a;";
        let m = "macro_rules! make { () => {} }";
        assert_eq!(edges([("lib.rs", lib), ("m.rs", m), ("a.rs", "make!();")]), ["a.rs m.rs"]);
    }

    #[test]
    fn roots_are_where_cargo_looks() {
        let sources = Sources::from([
            (
                "x/Cargo.toml",
                "[[bin]]\npath = \"src/named.rs\"\n[dependencies]\ny = { path = \"../y\" }",
            ),
            ("x/src/lib.rs", ""),
            ("x/src/other.rs", ""),
            ("x/src/named.rs", ""),
            ("x/src/bin/tool.rs", ""),
            ("x/src/part/tests/mod.rs", ""),
            ("x/tests/one.rs", ""),
            ("x/tests/two/main.rs", ""),
            ("x/tests/support/mod.rs", ""),
            ("x/build.rs", ""),
        ]);
        let roots: Vec<String> = roots(&sources).into_iter().collect();
        let expected = [
            "build.rs",
            "src/bin/tool.rs",
            "src/lib.rs",
            "src/named.rs",
            "tests/one.rs",
            "tests/two/main.rs",
        ];
        assert_eq!(roots, expected.map(|root| format!("x/{root}")));
    }
}
