//! The operations as encoded in a file: names, and attributes, types and values by index.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::attr::{AttrRef, Store, TypeRef};

/// The index of a region in [`Ir::regions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegionRef(pub(crate) u32);

/// The index of an operation in [`Ir::ops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpRef(pub(crate) u32);

/// A name and a value.
pub(crate) type NamedAttr<'b> = (Cow<'b, str>, AttrRef);

/// An operation.
#[derive(Clone, Debug)]
pub(crate) struct OpRecord<'b> {
    /// Full name, with dialect.
    pub(crate) name: Cow<'b, str>,
    /// The offset in the file.
    pub(crate) offset: usize,
    /// The location.
    pub(crate) loc: AttrRef,
    /// The attributes; in old versions of the format, these include inherent attributes.
    pub(crate) attrs: Vec<NamedAttr<'b>>,
    /// The inherent attributes that are stored separately from `attrs`.
    pub(crate) props: Vec<NamedAttr<'b>>,
    /// The types of the results.
    pub(crate) results: SmallVec<[TypeRef; 1]>,
    /// The operands, as indices of values.
    pub(crate) operands: SmallVec<[u32; 3]>,
    /// The successor blocks, as indices of blocks in the enclosing region.
    pub(crate) successors: SmallVec<[u32; 1]>,
    /// The regions.
    pub(crate) regions: SmallVec<[RegionRef; 1]>,
    /// The index of the first result; the other results have the following indices.
    pub(crate) first_value: u32,
}

impl OpRecord<'_> {
    /// Returns the value of an attribute, inherent or not.
    pub(crate) fn attr(&self, name: &str) -> Option<AttrRef> {
        self.props.iter().chain(&self.attrs).find(|(n, _)| n == name).map(|&(_, at)| at)
    }

    /// Removes an attribute, inherent or not, and returns its value.
    pub(crate) fn take_attr(&mut self, name: &str) -> Option<AttrRef> {
        for list in [&mut self.props, &mut self.attrs] {
            if let Some(at) = list.iter().position(|(n, _)| n == name) {
                return Some(list.remove(at).1);
            }
        }
        None
    }
}

/// A block.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockRecord {
    /// The types and locations of the block's arguments.
    pub(crate) args: Vec<(TypeRef, Option<AttrRef>)>,
    /// The index of the first argument; the other arguments have the following indices.
    pub(crate) first_value: u32,
    /// The operations, in order.
    pub(crate) ops: Vec<OpRef>,
}

/// A region: its blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegionRecord {
    /// The blocks, entry first.
    pub(crate) blocks: Vec<BlockRecord>,
}

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct Ir<'b> {
    /// Attributes and types.
    pub(crate) store: Store<'b>,
    /// All operations.
    pub(crate) ops: Vec<OpRecord<'b>>,
    /// All regions.
    pub(crate) regions: Vec<RegionRecord>,
    /// The operations at the top level, usually one module.
    pub(crate) top: Vec<OpRef>,
    /// The number of values.
    pub(crate) values: u32,
    /// The keys and contents of resources: `{-# ... #-}`.
    pub(crate) resources: Option<String>,
}

impl Ir<'_> {
    /// Returns the type of each value, by index.
    pub(crate) fn value_types(&self) -> Vec<Option<TypeRef>> {
        let mut types = vec![None; self.values as usize];
        let mut set = |number: u32, ty: TypeRef| {
            if let Some(slot) = types.get_mut(number as usize) {
                *slot = Some(ty);
            }
        };
        for block in self.regions.iter().flat_map(|region| &region.blocks) {
            (block.first_value..).zip(&block.args).for_each(|(number, &(ty, _))| set(number, ty));
        }
        for op in &self.ops {
            (op.first_value..).zip(&op.results).for_each(|(number, &ty)| set(number, ty));
        }
        types
    }
}
