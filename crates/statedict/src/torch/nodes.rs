//! The objects of a pickle while it is read.

use std::sync::Arc;

use shardc_ir::DType;

use super::globals::Global;
use crate::tensor::Tensor;

/// The index of an object.
pub(crate) type Id = u32;

/// An object during unpickling. Objects refer to each other by index, so that cycles, which a pickle can create, are harmless.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    List(Vec<Id>),
    Tuple(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Global(Global),
    Storage(Storage),
    Tensor(Tensor),
    /// An object of a metadata class, with its arguments or attributes.
    Object(&'static str, Id),
}

/// A storage of the container.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    /// The element type; `None` for an untyped storage, whose tensor specifies the type.
    pub(crate) dtype: Option<DType>,
    /// The byte offset of the storage in the file; `len` is its length in bytes.
    pub(crate) start: u64,
    pub(crate) len: u64,
}

/// The objects created so far.
pub(crate) struct Nodes(pub(super) Vec<Node>);

impl Nodes {
    pub(crate) fn get(&self, id: Id) -> &Node {
        self.0.get(id as usize).unwrap_or(&Node::None)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}
