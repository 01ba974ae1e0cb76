//! The programs that fuzzers damage.

use std::{cell::Cell, fs, io, path::Path};

use shardc::Compiler;

use super::outcome::quietly;
use super::rng::{Rng, hash};
use crate::{files, root, shared};

/// Programs larger than this make each case slow and find nothing more.
const MAX_BYTES: usize = 12 * 1024;
/// So many programs are looked at for one that compiles; then any will do.
const TRIES: u64 = 12;

/// Which programs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Those of the checkout: the same everywhere.
    Checkout,
    /// The corpus of real programs and the peers' own tests too, where they lie beside the checkout.
    Everywhere,
}

/// How far a program as it is comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// It is refused.
    Refused,
    /// It is read and verified.
    Reads,
    /// It is partitioned.
    Partitions,
}

/// A program.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file, from where all programs are, and the number of the program in it.
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

    /// How far the program comes. Found out once.
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

/// All programs of some kinds.
#[derive(Debug)]
pub struct Sources {
    texts: Vec<Source>,
    bytecode: Vec<Source>,
}

impl Sources {
    /// Reads them.
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
            // Some of the peers' tests are text in other encodings.
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

    /// A program as text that comes as far as `least`, or any where there is none at hand.
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

    /// A program as bytecode.
    pub(crate) fn bytecode(&self, rng: &mut Rng) -> &Source {
        chosen(&self.bytecode, rng.word())
    }

    /// A program as text whose name begins with `prefix`.
    pub(crate) fn under(&self, prefix: &str, rng: &mut Rng) -> &Source {
        chosen(self.texts.iter().filter(|source| source.name.starts_with(prefix)), rng.word())
    }
}

/// The program whose name and `key` make the smallest number. A program that is added changes few choices, so that the
/// numbers of cases keep their meaning.
fn chosen<'a>(sources: impl IntoIterator<Item = &'a Source>, key: u64) -> &'a Source {
    match sources.into_iter().min_by_key(|source| hash(&[key], &source.name)) {
        Some(source) => source,
        None => unreachable!("the checkout has programs"),
    }
}
