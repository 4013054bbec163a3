//! The graph of imports among files, and its cycles.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Files, each with the files that it imports and the names that it takes from them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Graph {
    edges: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

/// Files that import each other, with the imports among them.
#[derive(Debug, PartialEq, Eq)]
pub struct ImportCycle {
    imports: Vec<(String, String, String)>,
}

impl Graph {
    /// Adds that a file imports a name from another. A file's imports from itself are ignored.
    pub fn add(&mut self, from: &str, to: &str, name: &str) {
        if from != to {
            let names =
                self.edges.entry(from.to_owned()).or_default().entry(to.to_owned()).or_default();
            names.insert(name.to_owned());
        }
    }

    /// True if no file imports another.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// True if a file imports another directly.
    #[cfg(test)]
    pub fn has(&self, from: &str, to: &str) -> bool {
        self.edges.get(from).is_some_and(|imports| imports.contains_key(to))
    }

    /// The union of both graphs.
    pub fn and(mut self, other: Self) -> Self {
        for (from, imports) in other.edges {
            for (to, names) in imports {
                self.edges.entry(from.clone()).or_default().entry(to).or_default().extend(names);
            }
        }
        self
    }

    /// The cycles, each with all files that reach each other.
    pub fn cycles(&self) -> Vec<ImportCycle> {
        let mut done = BTreeSet::new();
        let mut cycles = Vec::new();
        for file in self.edges.keys() {
            let reached = self.reached_from(file);
            if done.contains(file) || !reached.contains(file.as_str()) {
                continue;
            }
            let members: BTreeSet<&str> = reached
                .into_iter()
                .filter(|other| self.reached_from(other).contains(file.as_str()))
                .collect();
            done.extend(members.iter().map(|&member| member.to_owned()));
            cycles.push(self.cycle(&members));
        }
        cycles
    }

    /// The files that a file imports, directly or through others.
    fn reached_from(&self, file: &str) -> BTreeSet<&str> {
        let imports = |file: &str| {
            self.edges.get(file).into_iter().flat_map(BTreeMap::keys).map(String::as_str)
        };
        let mut reached = BTreeSet::new();
        let mut next: Vec<&str> = imports(file).collect();
        while let Some(file) = next.pop() {
            if reached.insert(file) {
                next.extend(imports(file));
            }
        }
        reached
    }

    fn cycle(&self, members: &BTreeSet<&str>) -> ImportCycle {
        let mut imports = Vec::new();
        for &from in members {
            for (to, names) in self.edges.get(from).into_iter().flatten() {
                if members.contains(to.as_str()) {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    imports.push((from.to_owned(), to.clone(), names.join(", ")));
                }
            }
        }
        ImportCycle { imports }
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let imports: usize = self.edges.values().map(BTreeMap::len).sum();
        write!(f, "{imports} imports of {} files", self.edges.len())
    }
}

impl fmt::Display for ImportCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: BTreeSet<&String> = self.imports.iter().map(|(from, ..)| from).collect();
        write!(
            f,
            "{} files import each other; move what they share into a file of its own:",
            files.len()
        )?;
        for (from, to, names) in &self.imports {
            write!(f, "\n  {from} imports {to}: {names}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        for (from, to) in edges {
            graph.add(from, to, "name");
        }
        graph
    }

    #[test]
    fn a_tree_has_no_cycle() {
        assert!(graph(&[("a", "b"), ("a", "c"), ("b", "c")]).cycles().is_empty());
    }

    #[test]
    fn a_file_may_import_itself() {
        assert!(graph(&[("a", "a")]).cycles().is_empty());
    }

    #[test]
    fn a_cycle_has_all_its_files_and_no_others() {
        let cycles = graph(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]).cycles();
        assert_eq!(cycles.len(), 1);
        let text = cycles[0].to_string();
        assert!(text.contains("b imports c") && text.contains("c imports b"), "{text}");
        assert!(!text.contains("a imports") && !text.contains("imports d"), "{text}");
    }

    #[test]
    fn a_longer_cycle_is_found() {
        assert_eq!(graph(&[("a", "b"), ("b", "c"), ("c", "a")]).cycles().len(), 1);
    }

    #[test]
    fn two_cycles_are_two() {
        assert_eq!(
            graph(&[("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("a", "c")]).cycles().len(),
            2
        );
    }
}
