//! Operations to be written. Attributes and types are references to [`Nodes`], and values are numbers.

use rustc_hash::FxHashSet;
use shardc_ir::OpId;
use smallvec::SmallVec;

use super::nodes::{Nodes, StrRef};
use crate::bytecode::attr::{AttrRef, TypeRef};
use crate::bytecode::properties::Names;

/// The form of a file.
#[derive(Debug)]
pub(super) struct Format {
    /// The version of the format.
    pub(super) version: u64,
    /// The name of the program that writes the file.
    pub(super) producer: String,
}

/// The names and values of attributes; a name is the attribute of a string.
pub(super) type Named = Vec<(AttrRef, AttrRef)>;

/// An operation.
#[derive(Debug)]
pub(super) struct Op {
    /// The name, with its dialect.
    pub(super) name: StrRef,
    /// The operation of the module, for messages.
    pub(super) origin: Option<OpId>,
    /// The location.
    pub(super) loc: AttrRef,
    /// The inherent attributes.
    pub(super) props: Named,
    /// The other attributes.
    pub(super) attrs: Named,
    /// The dictionary of attributes that are written with their names; without inherent attributes if these are separate.
    pub(super) dict: Option<AttrRef>,
    /// The dictionary of inherent attributes, if they are separate and not written in order.
    pub(super) given: Option<AttrRef>,
    /// The order of the inherent attributes, if they are separate.
    pub(super) order: Option<Names>,
    /// The values that are operands.
    pub(super) operands: SmallVec<[u32; 3]>,
    /// The values that are results.
    pub(super) results: SmallVec<[u32; 1]>,
    /// The blocks of the enclosing region that may follow.
    pub(super) successors: Vec<u32>,
    /// The regions.
    pub(super) regions: Vec<Region>,
}

/// A region.
#[derive(Debug, Default)]
pub(super) struct Region {
    /// The blocks, entry first.
    pub(super) blocks: Vec<Block>,
}

/// A block.
#[derive(Debug)]
pub(super) struct Block {
    /// The values that are arguments, with their locations.
    pub(super) args: Vec<(u32, AttrRef)>,
    /// The operations.
    pub(super) ops: Vec<Op>,
}

/// A file to be written.
#[derive(Debug, Default)]
pub(super) struct Program<'m> {
    /// Attributes and types.
    pub(super) nodes: Nodes<'m>,
    /// The type of each value.
    pub(super) values: Vec<TypeRef>,
    /// The outermost operation.
    pub(super) top: Option<Op>,
    /// The names of operations whose inherent attributes are written in order.
    pub(super) registered: FxHashSet<StrRef>,
    /// The text of the resources.
    pub(super) resources: Option<&'m str>,
}

impl Op {
    /// Creates an operation without attributes, operands, results and regions.
    pub(super) fn new(name: StrRef, loc: AttrRef) -> Self {
        Op {
            name,
            origin: None,
            loc,
            props: Vec::new(),
            attrs: Vec::new(),
            dict: None,
            given: None,
            order: None,
            operands: SmallVec::new(),
            results: SmallVec::new(),
            successors: Vec::new(),
            regions: Vec::new(),
        }
    }
}

impl Program<'_> {
    /// Creates an operation with the name `name`.
    pub(super) fn op(&mut self, name: &str, loc: AttrRef) -> Op {
        Op::new(self.nodes.word(name), loc)
    }

    /// Adds a value of a type, and returns its number.
    pub(super) fn value(&mut self, ty: TypeRef) -> u32 {
        self.values.push(ty);
        u32::try_from(self.values.len() - 1).unwrap_or(u32::MAX)
    }

    /// Returns the type of a value.
    pub(super) fn type_of(&self, value: u32) -> TypeRef {
        self.values.get(value as usize).copied().unwrap_or(TypeRef(u32::MAX))
    }
}
