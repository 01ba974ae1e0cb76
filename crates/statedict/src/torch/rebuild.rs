//! Rebuilding a tensor from its storage, like `torch._utils._rebuild_tensor_v2`.

use std::sync::Arc;

use shardc_ir::DType;

use super::nodes::{Id, Node, Nodes};
use crate::error::{ErrorKind, Result, StateDictError};
use crate::file::DataFile;
use crate::tensor::Tensor;

/// The maximum rank of a tensor: PyTorch supports at most 64.
const MOST_DIMENSIONS: usize = 64;

/// Returns the tensor for the arguments of `_rebuild_tensor_v2`: storage, offset, sizes, strides, requires_grad, hooks, and optionally
/// a dict with the conjugate and negative bits.
pub(super) fn tensor(
    file: &Arc<DataFile>,
    nodes: &Nodes,
    arguments: &[&Node],
    dtype: Option<DType>,
) -> Result<Tensor> {
    let wrong = |text: &str| StateDictError::new(ErrorKind::Pickle, format!("a tensor of the pickle {text}"));
    let [
        Node::Storage(storage),
        Node::Int(first),
        Node::Tuple(sizes),
        Node::Tuple(strides),
        _,
        hooks,
        rest @ ..,
    ] = arguments
    else {
        return Err(wrong("is not built from a storage, an offset, sizes and strides"));
    };
    match (hooks, rest) {
        (Node::None, [] | [Node::None]) => {}
        (Node::Dict(hooks), [] | [Node::None]) if hooks.is_empty() => {}
        (Node::Dict(hooks), [Node::Dict(bits)]) if hooks.is_empty() && bits.is_empty() => {}
        _ => {
            return Err(wrong("has hooks, or is a conjugated or negated view")
                .hint("call .resolve_conj().clone() on the tensor before saving"));
        }
    }
    let Some(dtype) = dtype.or(storage.dtype) else { return Err(wrong("has no element type")) };
    if sizes.len() > MOST_DIMENSIONS {
        return Err(wrong(&format!("has {} dimensions", sizes.len())));
    }
    let number = |id: &Id| match nodes.get(*id) {
        Node::Int(n) => u64::try_from(*n).ok(),
        _ => None,
    };
    let numbers = |ids: &[Id]| ids.iter().map(number).collect::<Option<Vec<u64>>>();
    let (Ok(first), Some(sizes), Some(strides)) = (u64::try_from(*first), numbers(sizes), numbers(strides))
    else {
        return Err(wrong("has an offset, size or stride that is negative or not a number"));
    };
    let shape: Vec<usize> = sizes.into_iter().map(|n| n as usize).collect();
    let room = storage.len / dtype.bytes() as u64;
    Tensor::strided(dtype, &shape, &strides, file.clone(), (storage.start, room), first)
}
