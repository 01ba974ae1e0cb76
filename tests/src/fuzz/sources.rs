//! The programs that fuzzers corrupt.

use std::{cell::Cell, fs, io, path::Path};

use shardc::Compiler;

use super::outcome::quietly;
use super::rng::{Rng, hash};
use crate::{files, root, shared};

/// The maximum size of a program. Larger programs make cases slower, but do not lead to more findings.
const MAX_BYTES: usize = 12 * 1024;
/// Number of attempts to find a program that compiles; after that any program is used.
const TRIES: u64 = 12;

/// The set of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Programs of the checkout: the same on every machine.
    Checkout,
    /// Also the shared corpus of real programs, and test files of other projects, if available.
    Everywhere,
}

/// The furthest stage that an unchanged program reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// The program is rejected.
    Refused,
    /// The program is parsed and verified.
    Reads,
    /// The program is partitioned.
    Partitions,
}

/// A program.
#[derive(Debug)]
pub(crate) struct Source {
    /// The path of the file relative to the common root, and the index of the program in it.
    pub(crate) name: String,
    /// Text without comment lines, or bytecode.
    pub(crate) bytes: Vec<u8>,
    level: Cell<Option<Level>>,
}

impl Source {
    /// The program as text; empty for bytecode.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    /// The furthest stage of the program, computed once.
    pub(crate) fn level(&self) -> Level {
        if let Some(level) = self.level.get() {
            return level;
        }
        let found = quietly(|| match Compiler::read(&self.bytes) {
            Err(_) => Level::Refused,
            Ok(module) => match Compiler::new().partition_module(module) {
                Err(_) => Level::Reads,
                Ok(_) => Level::Partitions,
            },
        });
        let level = found.unwrap_or(Level::Refused);
        self.level.set(Some(level));
        level
    }
}

/// All programs, by kind.
#[derive(Debug)]
pub struct Sources {
    texts: Vec<Source>,
    bytecode: Vec<Source>,
}

impl Sources {
    /// Loads the programs.
    ///
    /// # Errors
    /// A folder or file cannot be read.
    pub fn load(from: From) -> io::Result<Sources> {
        let mut sources = Sources { texts: Vec::new(), bytecode: Vec::new() };
        let checkout = root().join("..");
        for dir in ["tests/programs", "tests/filetests", "crates/stablehlo/tests/data"] {
            sources.add(&checkout, &checkout.join(dir))?;
        }
        if let (From::Everywhere, Some(shared)) = (from, shared()) {
            for dir in ["corpus", "conformance"].map(|dir| shared.join(dir)).iter().filter(|dir| dir.is_dir())
            {
                sources.add(&shared, dir)?;
            }
        }
        Ok(sources)
    }

    fn add(&mut self, base: &Path, dir: &Path) -> io::Result<()> {
        let named = |path: &Path| path.strip_prefix(base).unwrap_or(path).to_string_lossy().into_owned();
        let source = |name, bytes| Source { name, bytes, level: Cell::new(None) };
        for path in files(dir, "mlir")? {
            // Some test files of other projects are not in UTF-8.
            let Ok(text) = String::from_utf8(fs::read(&path)?) else { continue };
            for (n, program) in text.split("// -----").enumerate() {
                let lines = program.lines().filter(|line| !line.trim_start().starts_with("//"));
                let program: String =
                    lines.filter(|line| !line.trim().is_empty()).flat_map(|line| [line, "\n"]).collect();
                if !program.is_empty() && program.len() <= MAX_BYTES {
                    self.texts.push(source(format!("{}#{n}", named(&path)), program.into_bytes()));
                }
            }
        }
        for extension in ["mlirbc", "bc"] {
            for path in files(dir, extension)? {
                let bytes = fs::read(&path)?;
                if bytes.len() <= 4 * MAX_BYTES {
                    self.bytecode.push(source(named(&path), bytes));
                }
            }
        }
        Ok(())
    }

    /// Chooses a text program that reaches at least stage `least`, or any program if none is found.
    pub(crate) fn text(&self, rng: &mut Rng, least: Level) -> &Source {
        let key = rng.word();
        let found = (0..TRIES).map(|n| chosen(&self.texts, hash(&[key, n], "")));
        let mut found = found.peekable();
        while let Some(source) = found.next() {
            if source.level() >= least || found.peek().is_none() {
                return source;
            }
        }
        chosen(&self.texts, key)
    }

    /// A bytecode program.
    pub(crate) fn bytecode(&self, rng: &mut Rng) -> &Source {
        chosen(&self.bytecode, rng.word())
    }

    /// A text program whose name begins with `prefix`.
    pub(crate) fn under(&self, prefix: &str, rng: &mut Rng) -> &Source {
        chosen(self.texts.iter().filter(|source| source.name.starts_with(prefix)), rng.word())
    }
}

/// The program with the smallest hash of its name and `key` (rendezvous hashing). If programs are added, few choices change, so most case
/// numbers keep their inputs.
fn chosen<'a>(sources: impl IntoIterator<Item = &'a Source>, key: u64) -> &'a Source {
    match sources.into_iter().min_by_key(|source| hash(&[key], &source.name)) {
        Some(source) => source,
        None => unreachable!("the checkout has programs"),
    }
}
