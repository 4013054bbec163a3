//! The modules of a crate, and the files to which their paths lead.

use std::collections::BTreeMap;

use crate::{
    graph::Graph,
    rust::scan::{Binding, Child, Module, scan},
    sources::{Sources, folder},
};

/// All modules of a crate; the first is its root.
pub struct Crate {
    nodes: Vec<Node>,
    /// The macros of the crate, each with the module that defines it.
    macros: BTreeMap<String, usize>,
}

struct Node {
    module: Module,
    file: String,
    parent: usize,
    /// Modules below this one.
    children: BTreeMap<String, usize>,
}

/// The target of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// A name that a module defines, or may define in a way that the tokens do not show.
    Item(usize),
}

/// The limit on following a name: re-exports of one another would never end.
const MOST_STEPS: usize = 32;

impl Crate {
    /// Reads the crate with this root file.
    pub fn load(sources: &Sources, root: &str) -> Self {
        let mut tree = Self { nodes: Vec::new(), macros: BTreeMap::new() };
        tree.load_file(sources, root, folder(root), 0);
        for (at, node) in tree.nodes.iter().enumerate() {
            tree.macros.extend(node.module.macros.iter().map(|name| (name.clone(), at)));
        }
        tree
    }

    /// Reads a file whose child modules are in the folder `below`.
    fn load_file(&mut self, sources: &Sources, file: &str, below: &str, parent: usize) -> usize {
        let module = scan(sources.text(file).unwrap_or_default());
        self.add(sources, module, file, below, parent)
    }

    fn add(
        &mut self,
        sources: &Sources,
        mut module: Module,
        file: &str,
        below: &str,
        parent: usize,
    ) -> usize {
        let at = self.nodes.len();
        let declared = std::mem::take(&mut module.children);
        self.nodes.push(Node { module, file: file.to_owned(), parent, children: BTreeMap::new() });
        for (name, child) in declared {
            let inside = format!("{below}/{name}");
            let added = match child {
                Child::Inline(module) => Some(self.add(sources, module, file, &inside, at)),
                Child::File(Some(path)) => sources
                    .find(folder(file), &path)
                    .map(|file| self.load_file(sources, file, folder(file), at)),
                Child::File(None) => {
                    let files = [format!("{inside}.rs"), format!("{inside}/mod.rs")];
                    let found = files.iter().find_map(|file| sources.find("", file));
                    found.map(|file| self.load_file(sources, file, &inside, at))
                }
            };
            self.nodes[at].children.extend(added.map(|child| (name, child)));
        }
        at
    }

    /// Adds every import among the files of the crate.
    pub fn add_imports(&self, graph: &mut Graph) {
        for at in 0..self.nodes.len() {
            for binding in &self.nodes[at].module.bindings {
                self.add_binding(graph, at, binding);
            }
            for path in &self.nodes[at].module.paths {
                let target = self.resolve(at, path, 0);
                self.add_edge(graph, at, target, &path.join("::"));
            }
            self.add_macros(graph, at);
        }
    }

    fn add_edge(&self, graph: &mut Graph, from: usize, to: Option<Target>, name: &str) {
        if let Some(Target::Module(to) | Target::Item(to)) = to {
            graph.add(&self.nodes[from].file, &self.nodes[to].file, name);
        }
    }

    /// A `use` imports a name. One that only re-exports a name, or brings a module into scope, imports nothing by
    /// itself.
    fn add_binding(&self, graph: &mut Graph, at: usize, binding: &Binding) {
        let target = self.resolve(at, &binding.path, 0);
        if binding.name == "*" {
            if let (Some(Target::Module(module)), false) = (target, binding.is_public) {
                self.add_glob(graph, at, module);
            }
        } else if let Some(Target::Item(_)) = target
            && (!binding.is_public || self.mentions(at, &binding.name))
        {
            self.add_edge(graph, at, target, binding.path.last().map_or("", String::as_str));
        }
    }

    /// A glob imports the names that the file mentions.
    fn add_glob(&self, graph: &mut Graph, at: usize, module: usize) {
        for name in &self.nodes[at].module.names {
            if !self.nodes[at].module.items.contains(name) {
                self.add_edge(graph, at, self.lookup(module, name, 0), name);
            }
        }
    }

    /// Adds the macros that the module calls, and the modules that it passes to macros of the
    /// crate.
    fn add_macros(&self, graph: &mut Graph, at: usize) {
        let node = &self.nodes[at];
        for name in &node.module.calls {
            self.add_edge(graph, at, self.macros.get(name).map(|&at| Target::Item(at)), name);
        }
        for (_, argument) in
            node.module.arguments.iter().filter(|(name, _)| self.macros.contains_key(name))
        {
            self.add_edge(
                graph,
                at,
                node.children.get(argument).map(|&at| Target::Module(at)),
                argument,
            );
        }
    }

    fn mentions(&self, at: usize, name: &str) -> bool {
        let file = &self.nodes[at].file;
        self.nodes.iter().any(|node| node.file == *file && node.module.names.contains(name))
    }

    /// The target of a path in a module; None if it leads out of the crate or is not a path of modules.
    fn resolve(&self, at: usize, path: &[String], steps: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(0, rest, steps),
            "self" => self.descend(at, rest, steps),
            "super" => {
                let mut at = self.nodes[at].parent;
                let ups = rest.iter().take_while(|name| *name == "super").count();
                for _ in 0..ups {
                    at = self.nodes[at].parent;
                }
                self.descend(at, &rest[ups..], steps)
            }
            _ if self.nodes[at].children.contains_key(first)
                || self.binding(at, first).is_some() =>
            {
                self.descend(at, path, steps)
            }
            _ => None,
        }
    }

    /// The target of a path that begins with a name of the module.
    fn descend(&self, at: usize, path: &[String], steps: usize) -> Option<Target> {
        let Some((name, rest)) = path.split_first() else { return Some(Target::Module(at)) };
        match self.lookup(at, name, steps) {
            Some(Target::Module(module)) => self.descend(module, rest, steps),
            Some(Target::Item(module)) => Some(Target::Item(module)),
            None => Some(Target::Item(at)),
        }
    }

    /// The origin of a name of a module, if the tokens show it.
    fn lookup(&self, at: usize, name: &str, steps: usize) -> Option<Target> {
        let node = &self.nodes[at];
        if steps > MOST_STEPS {
            return None;
        }
        if let Some(&child) = node.children.get(name) {
            return Some(Target::Module(child));
        }
        if node.module.items.contains(name) || node.module.macros.contains(name) {
            return Some(Target::Item(at));
        }
        if let Some(binding) = self.binding(at, name) {
            // A name from another crate counts as this module's own.
            let is_other = binding.path == [name];
            let target = if is_other { None } else { self.resolve(at, &binding.path, steps + 1) };
            return Some(target.unwrap_or(Target::Item(at)));
        }
        let globs = node.module.bindings.iter().filter(|binding| binding.name == "*");
        globs.filter_map(|glob| self.resolve(at, &glob.path, steps + 1)).find_map(|target| {
            match target {
                Target::Module(module) if module != at => self.lookup(module, name, steps + 1),
                _ => None,
            }
        })
    }

    fn binding(&self, at: usize, name: &str) -> Option<&Binding> {
        self.nodes[at].module.bindings.iter().find(|binding| binding.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn re_exports_of_each_other_come_to_an_end() {
        let sources = Sources::from([
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub use crate::b::*; pub use crate::b::X; fn f() -> X {}"),
            ("b.rs", "pub use crate::a::*; pub use crate::a::X;"),
        ]);
        Crate::load(&sources, "lib.rs").add_imports(&mut Graph::default());
    }

    #[test]
    fn every_file_that_is_declared_is_read() {
        let sources = Sources::from([
            ("src/lib.rs", "mod a;"),
            ("src/a.rs", "mod b;"),
            ("src/a/b/mod.rs", "mod c;"),
        ]);
        let nodes = Crate::load(&sources, "src/lib.rs").nodes;
        let files: Vec<String> = nodes.into_iter().map(|node| node.file).collect();
        assert_eq!(files, ["src/lib.rs", "src/a.rs", "src/a/b/mod.rs"]);
    }
}
