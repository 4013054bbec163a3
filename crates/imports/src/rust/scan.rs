//! The modules of one file, read from its tokens: the children, bindings, items and mentioned names
//! of each.

use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// One module: a file, or `mod x { … }` within one.
#[derive(Debug, Default)]
pub struct Module {
    /// `mod x;` and `mod x { … }`.
    pub children: BTreeMap<String, Child>,
    /// Names that `use` brings into the module. A glob has the name `*`.
    pub bindings: Vec<Binding>,
    /// Names of the items that the module defines.
    pub items: BTreeSet<String>,
    /// Names of the macros that the module defines.
    pub macros: BTreeSet<String>,
    /// Paths of two names and more, outside of `use`.
    pub paths: BTreeSet<Vec<String>>,
    /// Names that stand alone or begin a path, outside of `use`.
    pub names: BTreeSet<String>,
    /// Names of the macros that the module calls.
    pub calls: BTreeSet<String>,
    /// Names among the arguments of macros, each with the macro's name.
    pub arguments: BTreeSet<(String, String)>,
}

#[derive(Debug)]
pub enum Child {
    /// In a file of its own: the one that the attribute `path` names, if there is one.
    File(Option<String>),
    Inline(Module),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub name: String,
    pub path: Vec<String>,
    pub is_public: bool,
}

/// Reads a file. A file that is not valid Rust counts as empty; the compiler reports the error.
pub fn scan(text: &str) -> Module {
    let mut module = Module::default();
    module.scan(&tokens(TokenStream::from_str(text).unwrap_or_default()), true);
    module
}

fn tokens(stream: TokenStream) -> Vec<TokenTree> {
    stream.into_iter().collect()
}

/// Attributes of the next item that matter here.
#[derive(Default)]
struct Attributes {
    path: Option<String>,
    is_public: bool,
}

impl Module {
    /// Reads tokens. Items count only at the top level, not in the bodies of functions and
    /// implementations.
    fn scan(&mut self, tokens: &[TokenTree], is_top: bool) {
        let mut attributes = Attributes::default();
        let mut at = 0;
        while at < tokens.len() {
            at += match (word(tokens, at).as_deref(), &tokens[at]) {
                (None, TokenTree::Punct(punct)) if punct.as_char() == '#' => {
                    self.attribute(&tokens[at..], &mut attributes)
                }
                (Some("pub"), _) => {
                    attributes.is_public = true;
                    1 + usize::from(group(tokens, at + 1, Delimiter::Parenthesis).is_some())
                }
                (Some("use"), _) if !is_punct(tokens, at + 1, '<') => {
                    let len = tokens[at..].iter().take_while(|token| !is(token, ';')).count();
                    self.bind(
                        &tokens[at + 1..at + len],
                        &[],
                        std::mem::take(&mut attributes).is_public,
                    );
                    len
                }
                (Some("mod"), _) if word(tokens, at + 1).is_some() => {
                    self.declare(&tokens[at + 1..], std::mem::take(&mut attributes))
                }
                _ => {
                    let len = self.code(tokens, at, is_top);
                    if !matches!(&tokens[at], TokenTree::Ident(_)) {
                        attributes = Attributes::default();
                    }
                    len
                }
            };
        }
    }

    /// `#[…]` or `#![…]`: skips an item that its attribute restricts to tests.
    fn attribute(&mut self, tokens: &[TokenTree], attributes: &mut Attributes) -> usize {
        let at = 1 + usize::from(is_punct(tokens, 1, '!'));
        let Some(group) = group(tokens, at, Delimiter::Bracket) else { return 1 };
        let inside = self::tokens(group.stream());
        match (word(&inside, 0).as_deref(), inside.get(1), inside.get(2)) {
            (Some("cfg"), Some(TokenTree::Group(condition)), _) if is_for_tests(condition) => {
                at + 1 + item_len(&tokens[at + 1..])
            }
            (Some("path"), _, Some(TokenTree::Literal(path))) => {
                attributes.path = Some(path.to_string().trim_matches('"').to_owned());
                at + 1
            }
            _ => at + 1,
        }
    }

    /// `x;` or `x { … }` after `mod`.
    fn declare(&mut self, tokens: &[TokenTree], attributes: Attributes) -> usize {
        let name = word(tokens, 0).unwrap_or_default();
        let child = match group(tokens, 1, Delimiter::Brace) {
            Some(group) => {
                let mut module = Self::default();
                module.scan(&self::tokens(group.stream()), true);
                Child::Inline(module)
            }
            None => Child::File(attributes.path),
        };
        self.children.insert(name, child);
        3
    }

    /// A use tree below a prefix.
    fn bind(&mut self, tokens: &[TokenTree], prefix: &[String], is_public: bool) {
        for tree in tokens.split(|token| is(token, ',')) {
            let mut path = prefix.to_vec();
            let mut at = 0;
            // `::x` is another crate.
            if is_punct(tree, 0, ':') {
                continue;
            }
            while let Some(name) = word(tree, at) {
                path.push(name);
                at += 1;
                if !is_punct(tree, at, ':') {
                    break;
                }
                at += 2;
            }
            if let Some(group) = group(tree, at, Delimiter::Brace) {
                self.bind(&self::tokens(group.stream()), &path, is_public);
                continue;
            }
            let glob = is_punct(tree, at, '*').then(|| "*".to_owned());
            if glob.is_none() && path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            let renamed =
                word(tree, at).filter(|name| name == "as").and_then(|_| word(tree, at + 1));
            if let Some(name) = glob.or(renamed).or_else(|| path.last().cloned()) {
                self.bindings.push(Binding { name, path, is_public });
            }
        }
    }

    /// Everything else: a path, the name of an item, a macro, a group, or an irrelevant token.
    fn code(&mut self, tokens: &[TokenTree], at: usize, is_top: bool) -> usize {
        if let TokenTree::Group(group) = &tokens[at] {
            self.scan(&self::tokens(group.stream()), false);
        }
        let Some(first) = word(tokens, at) else { return 1 };
        // A method, a field, or the name after a type in angle brackets.
        if at > 0
            && (is(&tokens[at - 1], '.')
                || (is(&tokens[at - 1], ':') && is_path_separator(tokens, at - 1)))
        {
            return 1;
        }
        let path = path(tokens, at);
        let len = 3 * path.len() - 2;
        if is_punct(tokens, at + len, '!') {
            self.call(path.last().unwrap_or(&first), &tokens[at + len + 1..], is_top);
        }
        if is_top && path.len() == 1 {
            self.items.extend(defined(tokens, at));
        }
        self.names.insert(first);
        if path.len() > 1 {
            self.paths.insert(path);
        }
        len
    }

    /// `name!` before its arguments. A macro definition looks the same.
    fn call(&mut self, name: &str, tokens: &[TokenTree], is_top: bool) {
        if name == "macro_rules" && is_top {
            self.macros.extend(word(tokens, 0));
        }
        if let Some(TokenTree::Group(group)) = tokens.first() {
            self.calls.insert(name.to_owned());
            let arguments = self::tokens(group.stream());
            let words = (0..arguments.len()).filter_map(|at| word(&arguments, at));
            self.arguments.extend(words.map(|word| (name.to_owned(), word)));
        }
    }
}

/// The path that begins at a name.
fn path(tokens: &[TokenTree], at: usize) -> Vec<String> {
    let mut path: Vec<String> = word(tokens, at).into_iter().collect();
    let mut at = at + 1;
    while is_path_separator(tokens, at) {
        let Some(name) = word(tokens, at + 2) else { break };
        path.push(name);
        at += 3;
    }
    path
}

/// The name of the item that the keyword at `at` defines.
fn defined(tokens: &[TokenTree], at: usize) -> Option<String> {
    let keywords = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];
    // `const unsafe extern "C" fn x`: the name follows `fn`.
    let qualifiers = ["fn", "unsafe", "async", "extern"];
    let keyword = word(tokens, at)?;
    let name =
        word(tokens, at + 1).filter(|name| name != "mut").or_else(|| word(tokens, at + 2))?;
    (keywords.contains(&keyword.as_str()) && !qualifiers.contains(&name.as_str())).then_some(name)
}

/// True for the condition `test`, alone or among conditions that must all hold.
fn is_for_tests(condition: &Group) -> bool {
    let tokens = tokens(condition.stream());
    match (word(&tokens, 0).as_deref(), tokens.get(1)) {
        (Some("test"), None) => true,
        (Some("all"), Some(TokenTree::Group(all))) => self::tokens(all.stream())
            .split(|token| is(token, ','))
            .any(|part| word(part, 0).as_deref() == Some("test")),
        _ => false,
    }
}

/// The length of the item at the start: up to `;` or a body in braces.
fn item_len(tokens: &[TokenTree]) -> usize {
    let is_end = |token: &TokenTree| {
        is(token, ';')
            || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
    };
    tokens.iter().position(is_end).map_or(tokens.len(), |end| end + 1)
}

fn is(token: &TokenTree, punct: char) -> bool {
    matches!(token, TokenTree::Punct(p) if p.as_char() == punct)
}

fn is_punct(tokens: &[TokenTree], at: usize, punct: char) -> bool {
    tokens.get(at).is_some_and(|token| is(token, punct))
}

/// True for the second or the first half of `::`.
fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens, at, ':')
        && (is_punct(tokens, at + 1, ':') || at > 0 && is_punct(tokens, at - 1, ':'))
}

fn word(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => {
            Some(ident.to_string().trim_start_matches("r#").to_owned())
        }
        _ => None,
    }
}

fn group(tokens: &[TokenTree], at: usize, delimiter: Delimiter) -> Option<&Group> {
    match tokens.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bindings(text: &str) -> Vec<(String, String)> {
        scan(text).bindings.into_iter().map(|b| (b.name, b.path.join("::"))).collect()
    }

    fn pair(name: &str, path: &str) -> (String, String) {
        (name.to_owned(), path.to_owned())
    }

    #[test]
    fn a_use_tree_binds_each_of_its_names() {
        let bound = bindings("use a::{self, b::{C, d as E}, f::*}; use g;");
        let expected = [
            pair("a", "a"),
            pair("C", "a::b::C"),
            pair("E", "a::b::d"),
            pair("*", "a::f"),
            pair("g", "g"),
        ];
        assert_eq!(bound, expected);
    }

    #[test]
    fn a_use_is_public_with_any_visibility() {
        let uses =
            "pub use a; pub(crate) use b; pub(in crate::x) use c; use d; pub struct E; use f;";
        let public: Vec<bool> =
            scan(uses).bindings.iter().map(|binding| binding.is_public).collect();
        assert_eq!(public, [true, true, true, false, false]);
    }

    #[test]
    fn items_are_those_at_the_top() {
        let text = "pub const unsafe fn a() { fn no() {} } static mut B: u8 = 0; impl X { fn no2(&self) {} }
            macro_rules! no4 { () => {} } pub(crate) struct D { no3: u8 } const E: u8 = 1;";
        let items: Vec<String> = scan(text).items.into_iter().collect();
        assert_eq!(items, ["B", "D", "E", "a"]);
    }

    #[test]
    fn paths_are_read_in_types_and_bodies() {
        let module = scan("fn f(_: a::B<c::D>) -> [e::F; 2] { g::h::<i::J>().k::<l::M>() }");
        let paths: Vec<String> = module.paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["a::B", "c::D", "e::F", "g::h", "i::J", "l::M"]);
    }
}
