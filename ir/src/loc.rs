//! MLIR source locations: positions in the user's Python or Rust program.

use cranelift_entity::EntityRef;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::LocId;

/// A location, as in MLIR's builtin dialect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Loc {
    /// `loc(unknown)`.
    Unknown,
    /// `"file.py":12:5`.
    File {
        /// Path as written.
        file: Box<str>,
        /// The line, counted from 1.
        line: u32,
        /// The column, counted from 1.
        col: u32,
        /// The end of a location that is a range of positions (`to 12:9`), verbatim.
        to: Option<Box<str>>,
    },
    /// `"name"(child)`.
    Name {
        /// The name, unescaped.
        name: Box<str>,
        /// The location that the name is attached to.
        child: Option<LocId>,
    },
    /// `callsite(callee at caller)`.
    CallSite {
        /// The location in the called function.
        callee: LocId,
        /// The location of the call.
        caller: LocId,
    },
    /// `fused<metadata>[a, b]`.
    Fused {
        /// The metadata attribute, verbatim.
        metadata: Option<Box<str>>,
        /// The locations that are fused.
        children: Vec<LocId>,
    },
    /// Any other location, verbatim.
    Raw(Box<str>),
}

/// Interned locations, which always include [`Loc::Unknown`].
#[derive(Clone, Debug)]
pub struct LocTable {
    set: IndexSet<Loc, FxBuildHasher>,
}

impl Default for LocTable {
    fn default() -> Self {
        LocTable { set: IndexSet::from_iter([Loc::Unknown]) }
    }
}

impl LocTable {
    /// The handle of [`Loc::Unknown`], used for entities without a location.
    #[must_use]
    pub fn unknown() -> LocId {
        LocId::from_u32(0)
    }

    /// Interns `loc`, and returns its handle.
    pub fn intern(&mut self, loc: Loc) -> LocId {
        LocId::new(self.set.insert_full(loc).0)
    }

    /// The location of a handle.
    #[must_use]
    pub fn get(&self, id: LocId) -> &Loc {
        &self.set[id.index()]
    }

    /// Number of distinct locations, the unknown one included.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// The innermost file position of a location: `(file, line, column)`.
    #[must_use]
    pub fn file_position(&self, id: LocId) -> Option<(&str, u32, u32)> {
        match self.get(id) {
            Loc::Unknown | Loc::Raw(_) => None,
            Loc::File { file, line, col, .. } => Some((file, *line, *col)),
            Loc::Name { child, .. } => child.and_then(|c| self.file_position(c)),
            Loc::CallSite { callee, caller } => {
                self.file_position(*callee).or_else(|| self.file_position(*caller))
            }
            Loc::Fused { children, .. } => children.iter().find_map(|&c| self.file_position(c)),
        }
    }
}
