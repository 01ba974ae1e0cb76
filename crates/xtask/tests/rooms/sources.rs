//! Finds the imports between the source files of a crate.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// A use of a room in another room.
#[derive(Debug)]
pub(crate) struct Use {
    /// The path from the crate root to the module that contains the use.
    module: Vec<String>,
    /// The path that is used, from the crate root.
    path: Vec<String>,
    /// The file.
    pub(crate) file: PathBuf,
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// The text of the line.
    pub(crate) text: String,
}

/// The imports of a crate.
#[derive(Debug)]
pub(crate) struct Crate {
    /// The file name of the crate root. Items that the root itself defines belong to a room of this name.
    root: String,
    /// The modules directly below the root.
    rooms: BTreeSet<String>,
    /// Paths of all modules from the root.
    modules: BTreeSet<Vec<String>>,
    /// Names that the root re-exports, each with its room, or `None` if it comes from another crate.
    exports: BTreeMap<String, Option<String>>,
    /// Names that the root defines itself.
    own: BTreeSet<String>,
    /// The rooms that the root re-exports by a glob (`pub use room::*`).
    globs: Vec<String>,
    uses: Vec<Use>,
    /// Imports whose room cannot be determined.
    pub(crate) unclear: Vec<Use>,
}

impl Crate {
    /// Reads a crate, beginning with its root file; `read` returns the text of a file. Test-only code is omitted.
    pub(crate) fn read(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Crate {
        let mut found = Crate {
            root: root.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            rooms: BTreeSet::new(),
            modules: BTreeSet::new(),
            exports: BTreeMap::new(),
            own: BTreeSet::new(),
            globs: Vec::new(),
            uses: Vec::new(),
            unclear: Vec::new(),
        };
        let folder = root.parent().unwrap_or(Path::new(""));
        let mut files = vec![(Vec::new(), vec![root.to_owned()])];
        while let Some((module, places)) = files.pop() {
            let Some((file, text)) = places.iter().find_map(|path| Some((path, read(path)?))) else {
                panic!("none of the files {places:?} of the module {} exists", module.join("::"));
            };
            let tokens: TokenStream =
                text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let lines: Vec<&str> = text.lines().collect();
            let mut scan = Scan { found: &mut found, file, lines: &lines, children: Vec::new() };
            scan.module_body(&module, tokens);
            for child in scan.children {
                let path: PathBuf = folder.join(child.iter().collect::<PathBuf>());
                files.push((child, vec![path.with_extension("rs"), path.join("mod.rs")]));
            }
        }
        found.sort_out();
        found
    }

    /// The edges between rooms, each with the first use.
    pub(crate) fn edges(&self) -> BTreeMap<(&str, &str), &Use> {
        let mut edges = BTreeMap::new();
        for used in &self.uses {
            let from = used.module.first().unwrap_or(&self.root);
            if let Some(to) = self.room_of(&used.path)
                && to != from
            {
                edges.entry((from.as_str(), to)).or_insert(used);
            }
        }
        edges
    }

    /// The edges between the children of each module, by the module's path, with the first use of each edge. If one module uses another,
    /// there is an edge between the two children at which the paths of the modules diverge. A path through a re-export names no module and
    /// is not an edge.
    pub(crate) fn levels(&self) -> BTreeMap<String, BTreeMap<(&str, &str), &Use>> {
        let mut levels: BTreeMap<String, BTreeMap<(&str, &str), &Use>> = BTreeMap::new();
        for used in &self.uses {
            let (module, path) = (&used.module, &used.path);
            let common = module.iter().zip(path).take_while(|(a, b)| a == b).count();
            if common > 0
                && let (Some(from), Some(to)) = (module.get(common), path.get(common))
                && self.modules.contains(&path[..=common])
            {
                let level = levels.entry(module[..common].join("::")).or_default();
                level.entry((from, to)).or_insert(used);
            }
        }
        levels
    }

    /// Returns the room of a path from the root, or `None` for a path outside of the crate.
    fn room_of(&self, path: &[String]) -> Option<&str> {
        let name = path.first()?;
        if let Some(room) = self.rooms.get(name) {
            return Some(room);
        }
        if self.own.contains(name) {
            return Some(&self.root);
        }
        match self.exports.get(name) {
            Some(room) => room.as_deref(),
            // With several glob re-exports, the room is ambiguous.
            None => self.globs.first().map(String::as_str),
        }
    }

    /// Resolves the uses, after the entire root has been read.
    fn sort_out(&mut self) {
        let rooms = &self.rooms;
        for room in self.exports.values_mut() {
            *room = room.take().filter(|name| rooms.contains(name));
        }
        self.globs.retain(|name| rooms.contains(name));
        for used in std::mem::take(&mut self.uses) {
            let name = used.path.first().map_or("*", String::as_str);
            let is_room = self.rooms.contains(name);
            let named = is_room || self.own.contains(name) || self.exports.contains_key(name);
            if named || name != "*" && self.globs.len() == 1 {
                // In the root, names of other crates cannot be distinguished from names of rooms.
                if is_room || !used.module.is_empty() {
                    self.uses.push(used);
                }
            } else if !used.module.is_empty() {
                self.unclear.push(used);
            }
        }
    }
}

struct Scan<'c, 'f> {
    found: &'c mut Crate,
    file: &'f Path,
    lines: &'f [&'f str],
    /// The paths of modules that are in separate files.
    children: Vec<Vec<String>>,
}

impl Scan<'_, '_> {
    /// Reads the body of a module.
    fn module_body(&mut self, module: &[String], body: TokenStream) {
        let tokens: Vec<TokenTree> = body.into_iter().collect();
        if module.is_empty() {
            for pair in tokens.windows(2) {
                if let [TokenTree::Ident(word), TokenTree::Ident(name)] = pair
                    && defines(&word.to_string())
                {
                    self.found.own.insert(name.to_string());
                }
            }
        }
        self.tokens(module, &tokens);
    }

    /// Reads tokens of a module at any nesting level.
    fn tokens(&mut self, module: &[String], tokens: &[TokenTree]) {
        let mut at = 0;
        let mut public = false;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Punct(hash) if hash.as_char() == '#' => {
                    at += usize::from(is_punct(tokens.get(at), '!'));
                    let is_test =
                        matches!(tokens.get(at), Some(TokenTree::Group(g)) if is_for_tests(g.stream()));
                    at += 1;
                    if is_test {
                        at = end_of_item(tokens, at);
                    }
                }
                TokenTree::Ident(word) => {
                    let word = word.to_string();
                    match (&*word, tokens.get(at), tokens.get(at + 1)) {
                        ("mod", Some(TokenTree::Ident(name)), Some(body)) => {
                            at += 2;
                            self.module(module, &name.to_string(), body);
                        }
                        ("macro_rules", Some(_), Some(TokenTree::Ident(name))) => {
                            // An exported macro has a path directly below the crate root, as if the root re-exported or defined it.
                            match module.first() {
                                Some(room) => {
                                    self.found.exports.insert(name.to_string(), Some(room.clone()));
                                }
                                None => {
                                    self.found.own.insert(name.to_string());
                                }
                            }
                        }
                        ("use", Some(next), _) if !is_punct(Some(next), '<') => {
                            let end = (at..tokens.len()).find(|&i| is_punct(tokens.get(i), ';'));
                            let end = end.unwrap_or(tokens.len());
                            self.import(module, public, &mut Vec::new(), &tokens[at..end]);
                            at = end;
                        }
                        _ => {
                            at += self.path(module, tokens, at - 1) - 1;
                        }
                    }
                    public = word == "pub";
                }
                TokenTree::Group(group) => {
                    self.tokens(module, &group.stream().into_iter().collect::<Vec<_>>());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => public = false,
            }
        }
    }

    /// Records a module. Reads its body if it is inline; otherwise, its file is read later.
    fn module(&mut self, parent: &[String], name: &str, body: &TokenTree) {
        let path: Vec<String> = parent.iter().cloned().chain([name.to_owned()]).collect();
        if parent.is_empty() {
            self.found.rooms.insert(name.to_owned());
        }
        self.found.modules.insert(path.clone());
        match body {
            TokenTree::Group(group) => self.module_body(&path, group.stream()),
            _ => self.children.push(path),
        }
    }

    /// Reads the paths of an import; `before` is the path before its braces.
    fn import(&mut self, module: &[String], public: bool, before: &mut Vec<String>, tokens: &[TokenTree]) {
        let depth = before.len();
        let mut renamed = None;
        let mut tokens = tokens.iter();
        let start = tokens.as_slice().first().map_or_else(Span::call_site, TokenTree::span);
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => renamed = tokens.next().map(ToString::to_string),
                TokenTree::Ident(word) => before.push(word.to_string()),
                TokenTree::Punct(star) if star.as_char() == '*' => before.push("*".to_owned()),
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for part in inner.split(|token| is_punct(Some(token), ',')).filter(|p| !p.is_empty()) {
                        self.import(module, public, before, part);
                    }
                    before.truncate(depth);
                    return;
                }
                _ => {}
            }
        }
        let mut path = before.clone();
        before.truncate(depth);
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if module.is_empty() {
            self.export(public, renamed, path, start);
        } else {
            self.used(module, &path, start);
        }
    }

    /// Records an import in the root, which the entire crate can use under the imported name.
    fn export(&mut self, public: bool, renamed: Option<String>, mut path: Vec<String>, span: Span) {
        if matches!(&*path[0], "crate" | "self") {
            path.remove(0);
        }
        let (Some(first), Some(last)) = (path.first().cloned(), path.last().cloned()) else { return };
        if last == "*" {
            self.found.globs.push(first);
        } else {
            self.found.exports.insert(renamed.unwrap_or(last), Some(first.clone()));
        }
        if !public {
            self.push(&[], path, span);
        }
    }

    /// Reads a path in code. Returns the number of its tokens, at least one.
    fn path(&mut self, module: &[String], tokens: &[TokenTree], at: usize) -> usize {
        let mut path = Vec::new();
        let mut end = at;
        while let Some(TokenTree::Ident(word)) = tokens.get(end) {
            path.push(word.to_string());
            end += 1;
            let more = is_punct(tokens.get(end), ':') && is_punct(tokens.get(end + 1), ':');
            if !more || !matches!(tokens.get(end + 2), Some(TokenTree::Ident(_))) {
                break;
            }
            end += 2;
        }
        if path.len() > 1 {
            let span = tokens[at].span();
            if matches!(&*path[0], "crate" | "self" | "super") {
                self.used(module, &path, span);
            } else if module.is_empty() {
                self.push(module, path, span);
            }
        }
        end - at
    }

    /// Records a path that starts with `crate`, `self` or `super`. Other paths refer to other crates or to the same room.
    fn used(&mut self, module: &[String], path: &[String], span: Span) {
        let supers = path.iter().take_while(|word| *word == "super").count();
        let mut whole: Vec<String> = match &*path[0] {
            "crate" => Vec::new(),
            "self" => module.to_vec(),
            "super" => module[..module.len().saturating_sub(supers)].to_vec(),
            _ => return,
        };
        whole.extend(path.iter().skip(supers.max(1)).cloned());
        self.push(module, whole, span);
    }

    fn push(&mut self, module: &[String], path: Vec<String>, span: Span) {
        let line = span.start().line;
        self.found.uses.push(Use {
            module: module.to_vec(),
            path,
            file: self.file.to_owned(),
            line,
            text: self
                .lines
                .get(line.saturating_sub(1))
                .map_or_else(String::new, |text| text.trim().to_owned()),
        });
    }
}

pub(crate) fn is_punct(token: Option<&TokenTree>, c: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == c)
}

/// Whether a keyword begins the definition of a named item.
fn defines(word: &str) -> bool {
    matches!(word, "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union")
}

/// Whether an attribute is `cfg(test)`, alone or with other conditions.
pub(crate) fn is_for_tests(attribute: TokenStream) -> bool {
    let mut tokens = attribute.into_iter();
    let is_cfg = matches!(tokens.next(), Some(TokenTree::Ident(word)) if word == "cfg");
    let words = tokens.next().map(|condition| condition.to_string()).unwrap_or_default();
    let words: Vec<&str> = words.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    is_cfg && words.contains(&"test") && !words.contains(&"not")
}

/// The index after the end of the item at `at`: a module, function, import or field.
pub(crate) fn end_of_item(tokens: &[TokenTree], mut at: usize) -> usize {
    let (mut is_import, mut is_list) = (false, true);
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Ident(word) if word == "use" => (is_import, is_list) = (true, false),
            TokenTree::Ident(word)
                if matches!(&*word.to_string(), "fn" | "impl" | "mod" | "struct" | "trait") =>
            {
                is_list = false;
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !is_import => break,
            TokenTree::Punct(punct) if punct.as_char() == ';' || punct.as_char() == ',' && is_list => break,
            _ => {}
        }
    }
    at
}
