//! The results of the search: paths between two shardings of a value.

use shardc_ir::{MeshCollectiveKind, TensorSharding};

/// One collective of a path, and the sharding of its result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReshardStep {
    pub(crate) kind: MeshCollectiveKind,
    pub(crate) out: TensorSharding,
}

/// A path and its cost, in bytes that a device sends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    pub(crate) steps: Vec<ReshardStep>,
    pub(crate) cost: f64,
}

/// A value whose sharding changes.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) shape: &'a [i64],
    pub(super) element_bytes: f64,
}
