//! What `get_shard_metadata()` says.

use indexmap::IndexMap;
use shardc_ir::DType;

/// What the shards of a rank are shards of: `get_shard_metadata()` of PyTorch/XLA's FSDP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardMetadata {
    /// For each wrapper, by the name of its module (empty for the root): its shards by their own names.
    pub shard_info: IndexMap<String, IndexMap<String, ShardedParameter>>,
    /// What each flat parameter is put together of, by its full name.
    pub flatten_info: IndexMap<String, FlatParameter>,
    /// The element types that buffers had before they were cast, by full name (`buffer_info`).
    pub buffer_dtypes: IndexMap<String, DType>,
    /// How many ranks there are.
    pub world_size: usize,
    /// Whose file this is, from 0.
    pub rank: usize,
}

/// What a shard is a part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardedParameter {
    /// The shape of the whole parameter (`_orig_size`).
    pub shape: Vec<usize>,
    /// Its name within the wrapper (`_orig_name`).
    pub name: String,
}

/// What a flat parameter is put together of, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlatParameter {
    /// Names within the wrapper.
    pub names: Vec<String>,
    /// Shapes, as many as names.
    pub shapes: Vec<Vec<usize>>,
    /// Numbers of elements, as many as names.
    pub sizes: Vec<usize>,
}
