//! Operations that move elements.

use shardc_ir::{DType, OpId, OpKind, SpliceSpec};

use super::Device;
use super::operands::{all, cut, places, scalars, split_first};
use crate::array::{Array, Dims};
use crate::error::Fault;
use crate::kernels::{gather, moves};
use crate::numbers::Domain;

impl<D: Domain> Device<'_, '_, D> {
    /// Evaluates an operation that moves elements; `None` for other operations.
    pub(super) fn moved(&self, op: OpId, operands: &[Array<D>]) -> Result<Option<Array<D>>, Fault> {
        let static_dims = || {
            let dims = self.static_dims(op, 0)?;
            self.charge_result(&dims, self.result_dtype(op, 0)?)?;
            Ok::<Dims, Fault>(dims)
        };
        let result = match &self.module.ops[op].kind {
            OpKind::Iota { dim } => moves::iota(static_dims()?, self.result_dtype(op, 0)?, *dim as usize)?,
            OpKind::BroadcastInDim { dims } => {
                let [a] = all(operands)?;
                moves::broadcast(a, &places(dims), static_dims()?)?
            }
            OpKind::Broadcast { sizes } => {
                let [a] = all(operands)?;
                let to: Vec<usize> = (sizes.len()..sizes.len() + a.rank()).collect();
                moves::broadcast(a, &to, static_dims()?)?
            }
            OpKind::Reshape => {
                let [a] = all(operands)?;
                a.clone().reshaped(self.static_dims(op, 0)?)?
            }
            OpKind::Transpose { permutation } => {
                let [a] = all(operands)?;
                moves::transpose(a, &places(permutation))?
            }
            OpKind::Reverse { dims } => {
                let [a] = all(operands)?;
                moves::reverse(a, &places(dims))?
            }
            OpKind::Slice(spec) => {
                let [a] = all(operands)?;
                moves::slice(a, &spec.start, &spec.limit, &spec.stride)?
            }
            OpKind::DynamicSlice { sizes } => {
                let (first, starts) = split_first(operands)?;
                let sizes: Dims = sizes.iter().map(|&n| n.max(0) as usize).collect();
                moves::dynamic_slice(first, &scalars(starts)?, &sizes)?
            }
            OpKind::Concatenate { dim } => moves::concatenate(operands, *dim as usize)?,
            OpKind::Splice(spec) => splice(operands, spec)?,
            OpKind::Pad(spec) => {
                static_dims()?;
                let [a, value] = all(operands)?;
                moves::pad(a, value, &spec.low, &spec.high, &spec.interior)?
            }
            OpKind::Gather(spec) => {
                static_dims()?;
                let [a, indices] = all(operands)?;
                gather::gather(a, indices, spec, &spec.slice_sizes)?
            }
            OpKind::TorchIndexSelect { dim, batch_dims } => {
                static_dims()?;
                let [a, indices] = all(operands)?;
                index_select(a, indices, *dim, *batch_dims)?
            }
            OpKind::GetDimensionSize { dim } => {
                let [a] = all(operands)?;
                let size = a.dims().get(*dim as usize).copied();
                Array::scalar(DType::I32, size.map_or(0, |n| n as i64))?
            }
            OpKind::SetDimensionSize { dim } => {
                let [a, size] = all(operands)?;
                resized(a, *dim as usize, size.to_index()?)?
            }
            _ => return Ok(None),
        };
        Ok(Some(result))
    }
}

/// Concatenates ranges of operands.
fn splice<D: Domain>(operands: &[Array<D>], spec: &SpliceSpec) -> Result<Array<D>, Fault> {
    let piece = |piece: &shardc_ir::SplicePiece| match operands.get(piece.operand as usize) {
        Some(a) => cut(a, spec.dim as usize, piece.start, piece.limit - piece.start),
        None => Fault::invalid("a piece of an operand that does not exist"),
    };
    let pieces = spec.pieces.iter().map(piece).collect::<Result<Vec<_>, Fault>>()?;
    moves::concatenate(&pieces, spec.dim as usize)
}

/// The first elements of a dimension.
fn resized<D: Domain>(a: &Array<D>, dim: usize, size: i64) -> Result<Array<D>, Fault> {
    cut(a, dim, 0, size.clamp(0, a.dims().get(dim).map_or(0, |&n| n as i64)))
}

/// Takes slices along a dimension at the positions in `indices`; the first dimensions of both are batching dimensions.
fn index_select<D: Domain>(
    a: &Array<D>,
    indices: &Array<D>,
    dim: i64,
    batch: i64,
) -> Result<Array<D>, Fault> {
    let place =
        |n: i64, rank: usize| usize::try_from(if n < 0 { n + rank as i64 } else { n }).unwrap_or(rank);
    let (dim, batch) = (place(dim, a.rank()) as u32, place(batch, indices.rank()) as u32);
    let rank = a.rank() as u32;
    let own = indices.rank() as u32 - batch.min(indices.rank() as u32);
    // Result dimensions: those of the operand before `dim`, of the indices, of the operand after `dim`.
    let offsets = (batch..dim).chain(dim + own..rank - 1 + own);
    let spec = shardc_ir::GatherSpec {
        offset_dims: offsets.collect(),
        collapsed_slice_dims: [dim].into_iter().collect(),
        operand_batching_dims: (0..batch).collect(),
        start_indices_batching_dims: (0..batch).collect(),
        start_index_map: [dim].into_iter().collect(),
        index_vector_dim: indices.rank() as u32,
        slice_sizes: shardc_ir::SizeList::new(),
        indices_are_sorted: None,
    };
    let is_one = |d: u32| d == dim || d < batch;
    let sizes: Vec<i64> =
        (0..rank).map(|d| if is_one(d) { 1 } else { a.dims()[d as usize] as i64 }).collect();
    gather::gather(a, indices, &spec, &sizes)
}
