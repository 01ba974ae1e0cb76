//! The contents of `get_shard_metadata()`.

use indexmap::IndexMap;
use shardc_ir::DType;

/// Shard metadata of a rank: `get_shard_metadata()` of PyTorch/XLA's FSDP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardMetadata {
    /// The shards of each FSDP wrapper: by the name of the wrapped module (empty for the root), then by the name of the shard.
    pub shard_info: IndexMap<String, IndexMap<String, ShardedParameter>>,
    /// The original parameters that are concatenated in each flat parameter, by the full name of the flat parameter.
    pub flatten_info: IndexMap<String, FlatParameter>,
    /// The original element types of buffers that were cast, by full name (`buffer_info`).
    pub buffer_dtypes: IndexMap<String, DType>,
    /// Number of ranks.
    pub world_size: usize,
    /// The rank of the file, from 0.
    pub rank: usize,
}

/// Describes the original parameter from which a shard was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardedParameter {
    /// The unsharded shape (`_orig_size`).
    pub shape: Vec<usize>,
    /// The name within the wrapper (`_orig_name`).
    pub name: String,
}

/// The components of a flat parameter: the original parameters that are concatenated in it, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlatParameter {
    /// The name of each component within the wrapper.
    pub names: Vec<String>,
    /// The shape of each component.
    pub shapes: Vec<Vec<usize>>,
    /// The number of elements of each component.
    pub sizes: Vec<usize>,
}
