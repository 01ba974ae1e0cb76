//! Cost of slicing a sharded dimension, and of concatenating along one.

use shardc_ir::{Mesh, MeshId, Module, OpKind, SliceSpec, TensorSharding, ValueId};
use smallvec::SmallVec;

use crate::cost;
use crate::windows::{Along, Exchange, is_windowed, transfers};

/// A sharded dimension of a result.
pub(super) struct Line {
    pub(super) dim: usize,
    mesh: MeshId,
    /// The number of shards.
    pub(super) k: i64,
    /// The bytes of one index along the dimension on each device.
    row_bytes: f64,
}

impl Line {
    /// Returns the dimension of a value, if it is sharded.
    pub(super) fn of(module: &Module, value: ValueId, dim: usize) -> Option<Line> {
        let sharding = module.shardings.sharding_of(value)?;
        let mesh = &module.meshes[sharding.mesh];
        let k = sharding.shards(mesh, dim);
        if k < 2 || !is_plain(module, value) {
            return None;
        }
        let row_bytes = row_bytes(module, mesh, value, sharding, dim)?;
        Some(Line { dim, mesh: sharding.mesh, k, row_bytes })
    }

    /// Whether `range`, a range of `value`, is sharded evenly and by the same axes along the dimension.
    pub(super) fn splits_evenly(&self, module: &Module, value: ValueId, range: ValueId) -> bool {
        let axes = |v: ValueId| module.shardings.sharding_of(v).map(|sharding| sharding.axes(self.dim));
        let size = module.shape(range).get(self.dim);
        axes(value) == axes(range) && size.is_some_and(|size| size % self.k == 0)
    }

    /// Returns the cost of an operation along the dimension, in bytes that a device sends; `None` if it takes too many rounds.
    pub(super) fn cost(
        &self,
        module: &Module,
        kind: &OpKind,
        operands: &[ValueId],
        result: ValueId,
    ) -> Option<f64> {
        let shapes: SmallVec<[&[i64]; 2]> = operands.iter().map(|&v| module.shape(v)).collect();
        let mesh = &module.meshes[self.mesh];
        let is_split = |v: ValueId| {
            module.shardings.sharding_of(v).is_some_and(|sharding| sharding.shards(mesh, self.dim) > 1)
        };
        let size = *module.shape(result).get(self.dim)?;
        if size == 0 {
            return Some(0.0);
        }
        // A replicated result is an all-reduce.
        if !is_split(result) {
            let is_sent = operands.iter().any(|&v| is_split(v));
            return Some(if is_sent {
                cost::all_reduce(size as f64 * self.row_bytes, self.k as f64)
            } else {
                0.0
            });
        }
        let is_whole = |i: usize| operands.get(i).is_some_and(|&v| !is_split(v));
        self.exchange(kind, &shapes, &is_whole, module.shape(result))
    }

    /// Returns the cost of an operation on operands of these shapes, as [`Line::cost`] does. The result and all operands are sharded along
    /// the dimension, except operands for which `is_whole` returns true.
    pub(super) fn exchange(
        &self,
        kind: &OpKind,
        operands: &[&[i64]],
        is_whole: &dyn Fn(usize) -> bool,
        result: &[i64],
    ) -> Option<f64> {
        if !is_windowed(kind, operands.first()?, self.dim) {
            return Some(0.0);
        }
        let along = Along::Result(self.dim);
        let transfers = transfers(kind, operands, is_whole, result, along, self.k)?;
        let costs = transfers.iter().map(|transfer| {
            Exchange::price(&transfer.held, &transfer.window, self.row_bytes).map(|price| price.cost)
        });
        costs.sum()
    }
}

/// Whether a value is a tensor with a static shape that is not quantized.
pub(super) fn is_plain(module: &Module, value: ValueId) -> bool {
    !module.is_quantized(value) && module.tensor(value).is_some_and(|ty| ty.is_static())
}

/// Whether a slice takes a range of dimension `dim`, and all of the others.
pub(super) fn cuts_only(spec: &SliceSpec, shape: &[i64], dim: usize) -> bool {
    (0..shape.len())
        .all(|d| spec.stride[d] == 1 && (d == dim || spec.start[d] == 0 && spec.limit[d] == shape[d]))
}

/// Returns the bytes of one index along `dim` of a value on each device.
fn row_bytes(
    module: &Module,
    mesh: &Mesh,
    value: ValueId,
    sharding: &TensorSharding,
    dim: usize,
) -> Option<f64> {
    let ty = module.tensor(value)?;
    let mut row = sharding.local_shape(mesh, &ty.shape);
    *row.get_mut(dim)? = 1;
    let elements: f64 = row.iter().map(|&n| n as f64).product();
    Some(elements * f64::from(ty.dtype.bits()) / 8.0)
}
