//! Sharding of a full state dict for a rank.

use indexmap::IndexMap;

use super::metadata::{FlatParameter, ShardMetadata, ShardedParameter};
use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::tensor::Tensor;

/// Layout of shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each parameter is flattened, and padded to a multiple of the number of ranks times `multiple` elements. PyTorch/XLA uses 128.
    Flat {
        /// The number of elements of each shard is padded to a multiple of this number.
        multiple: usize,
    },
    /// All parameters of one element type are flattened and concatenated, and the result is padded like a parameter in
    /// [`Layout::Flat`] (`flatten_parameters`).
    Flattened {
        /// The number of elements of each shard is padded to a multiple of this number.
        multiple: usize,
    },
    /// Each parameter is padded along its first dimension to a multiple of the number of ranks (`shard_param_on_dim_0`). Scalars cannot be
    /// sharded.
    FirstDimension,
}

/// How a model is sharded over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharding {
    /// Layout of shards.
    pub layout: Layout,
    /// Number of ranks.
    pub world_size: usize,
}

/// Returns the name that a parameter has in the root wrapper.
fn wrapped(name: &str) -> String {
    format!("_fsdp_wrapped_module._fpw_module.{name}")
}

/// Returns the name of a shard, without dots.
fn shard_name(original: &str) -> String {
    format!("_fsdp_shard.{original}").replace('.', "_FSDP_SHARD_SEPARATOR_")
}

/// Shards a model for a rank, and returns the rank's state dict and shard metadata. The model has one FSDP wrapper. Names and bytes are
/// those of PyTorch/XLA's `XlaFullyShardedDataParallel`. Tensors named in `buffers` are replicated. At most one unsharded tensor or flat
/// parameter is in memory at a time.
///
/// # Errors
/// The rank is not less than the number of ranks (SH1409), a parameter has no first dimension to shard (SH1408), or a tensor cannot be read
/// (SH1401).
pub fn shard(
    full: &StateDict,
    buffers: &[&str],
    sharding: Sharding,
    rank: usize,
) -> Result<(StateDict, ShardMetadata)> {
    let Sharding { layout, world_size } = sharding;
    if rank >= world_size {
        let text = format!("the rank must be less than the number of ranks, {world_size}, got {rank}");
        return Err(StateDictError::new(ErrorKind::Ranks, text));
    }
    let mut dict = StateDict::new();
    let mut metadata = ShardMetadata { world_size, rank, ..ShardMetadata::default() };
    let mut shards = IndexMap::new();
    let parameters = || full.iter().filter(|(name, _)| !buffers.contains(name));
    let mut add = |original: String, shape: &[usize], part: Tensor| {
        let name = shard_name(&original);
        shards.insert(name.clone(), ShardedParameter { shape: shape.to_vec(), name: original });
        dict.insert(name, part)
    };
    match layout {
        Layout::Flat { multiple } => {
            for (name, tensor) in parameters() {
                let part = flat_part(&[tensor], world_size, multiple, rank).map_err(|e| e.of_tensor(name))?;
                add(wrapped(name), tensor.shape(), part)?;
            }
        }
        Layout::FirstDimension => {
            for (name, tensor) in parameters() {
                let part = first_part(tensor, world_size, rank).map_err(|e| e.of_tensor(name))?;
                add(wrapped(name), tensor.shape(), part)?;
            }
        }
        Layout::Flattened { multiple } => {
            // A flat parameter of PyTorch/XLA has one element type. (PyTorch/XLA also separates trained from frozen parameters.)
            let mut groups: IndexMap<&str, Vec<(&str, &Tensor)>> = IndexMap::new();
            for (name, tensor) in parameters() {
                groups.entry(tensor.dtype().as_str()).or_default().push((name, tensor));
            }
            for (i, group) in groups.values().enumerate() {
                let tensors: Vec<&Tensor> = group.iter().map(|&(_, tensor)| tensor).collect();
                let sizes: Vec<usize> =
                    tensors.iter().map(|tensor| tensor.shape().iter().product()).collect();
                let part = flat_part(&tensors, world_size, multiple, rank)?;
                let flat = format!("_fsdp_wrapped_module.flat_param_{i}");
                metadata.flatten_info.insert(
                    flat.clone(),
                    FlatParameter {
                        names: group.iter().map(|(name, _)| format!("_fpw_module.{name}")).collect(),
                        shapes: tensors.iter().map(|tensor| tensor.shape().to_vec()).collect(),
                        sizes: sizes.clone(),
                    },
                );
                add(flat, &[sizes.iter().sum()], part)?;
            }
        }
    }
    for (name, tensor) in full.iter().filter(|(name, _)| buffers.contains(name)) {
        dict.insert(format!("_fsdp_wrapped_module.{name}"), tensor.clone())?;
    }
    metadata.shard_info.insert(String::new(), shards);
    Ok((dict, metadata))
}

/// Flattens, concatenates and pads tensors of one element type, and returns the shard of the result for `rank`.
fn flat_part(tensors: &[&Tensor], world_size: usize, multiple: usize, rank: usize) -> Result<Tensor> {
    let Some(dtype) = tensors.first().map(|tensor| tensor.dtype()) else {
        return Err(StateDictError::new(ErrorKind::Tensor, "there are no elements to shard"));
    };
    let mut all = Vec::new();
    for tensor in tensors {
        all.extend(tensor.read()?);
    }
    let size = dtype.bytes();
    let unit = world_size.checked_mul(multiple.max(1)).and_then(|n| n.checked_mul(size));
    let Some(padded) = unit.and_then(|unit| all.len().checked_next_multiple_of(unit)) else {
        return Err(StateDictError::new(ErrorKind::Tensor, "the padded size overflows"));
    };
    all.resize(padded, 0);
    let len = padded / world_size;
    Tensor::from_bytes(dtype, &[len / size], &all[rank * len..][..len])
}

/// Pads a tensor along its first dimension, divides that dimension evenly over ranks, and returns the shard for `rank`.
fn first_part(tensor: &Tensor, world_size: usize, rank: usize) -> Result<Tensor> {
    let [rows, rest @ ..] = tensor.shape() else {
        let text = "a scalar has no first dimension to shard";
        return Err(StateDictError::new(ErrorKind::Tensor, text)
            .hint("pass the scalar as a buffer, or use a layout with flat parameters"));
    };
    let part = rows.div_ceil(world_size);
    let (start, end) = ((rank * part).min(*rows), ((rank + 1) * part).min(*rows));
    let bounds = std::iter::once(start..end).chain(rest.iter().map(|&n| 0..n));
    let mut bytes = tensor.read_slice(&bounds.collect::<Vec<_>>())?;
    let row: usize = rest.iter().product::<usize>() * tensor.dtype().bytes();
    bytes.resize(part * row, 0);
    let shape: Vec<usize> = std::iter::once(part).chain(rest.iter().copied()).collect();
    Tensor::from_bytes(tensor.dtype(), &shape, bytes)
}
