//! The cost of slicing a sharded dimension, and of concatenating along a sharded dimension.

use shardc_ir::{Mesh, MeshId, Module, OpKind, SliceSpec, TensorSharding, ValueId};
use smallvec::SmallVec;

use crate::cost::{CostModel, Costs};
use crate::windows::{Along, Exchange, is_windowed, transfers};

/// A sharded dimension of a value.
pub(super) struct Line {
    pub(super) dim: usize,
    mesh: MeshId,
    /// The number of shards.
    pub(super) k: i64,
    /// The bytes of one row (one index along the dimension) on each device.
    row_bytes: f64,
    /// The costs along the axes of the dimension.
    costs: Costs,
}

impl Line {
    /// Returns dimension `dim` of a value; `None` if the dimension is not sharded.
    pub(super) fn of(module: &Module, value: ValueId, dim: usize, model: &CostModel) -> Option<Line> {
        let sharding = module.shardings.sharding_of(value)?;
        let mesh = &module.meshes[sharding.mesh];
        let k = sharding.shards(mesh, dim);
        if k < 2 || !is_plain(module, value) {
            return None;
        }
        let row_bytes = row_bytes(module, mesh, value, sharding, dim)?;
        let costs = model.on(mesh).along(sharding.axes(dim).iter().map(|axis| axis.axis));
        Some(Line { dim, mesh: sharding.mesh, k, row_bytes, costs })
    }

    /// Whether `range`, a slice of `value`, is evenly sharded along the dimension by the same axes as `value`.
    pub(super) fn splits_evenly(&self, module: &Module, value: ValueId, range: ValueId) -> bool {
        let axes = |v: ValueId| module.shardings.sharding_of(v).map(|sharding| sharding.axes(self.dim));
        let size = module.shape(range).get(self.dim);
        axes(value) == axes(range) && size.is_some_and(|size| size % self.k == 0)
    }

    /// Returns the cost of slicing or concatenating along the dimension, in bytes that a device sends; `None` if the exchange takes too
    /// many rounds.
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
        // A replicated result of sharded operands needs an all-reduce.
        if !is_split(result) {
            let is_sent = operands.iter().any(|&v| is_split(v));
            return Some(if is_sent {
                self.costs.all_reduce(size as f64 * self.row_bytes, self.k as f64)
            } else {
                0.0
            });
        }
        let is_whole = |i: usize| operands.get(i).is_some_and(|&v| !is_split(v));
        self.exchange(kind, &shapes, &is_whole, module.shape(result))
    }

    /// Returns the cost of an operation on operands of these shapes, in the unit of [`Line::cost`]. The result and its operands are sharded
    /// along the dimension, except operands for which `is_whole` returns true.
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
            Exchange::price(&transfer.held, &transfer.window, self.row_bytes, self.costs)
                .map(|price| price.cost)
        });
        costs.sum()
    }
}

/// Whether a value is a tensor with a static shape that is not quantized.
pub(super) fn is_plain(module: &Module, value: ValueId) -> bool {
    !module.is_quantized(value) && module.tensor(value).is_some_and(|ty| ty.is_static())
}

/// Whether a slice takes a range of dimension `dim`, and the other dimensions in full.
pub(super) fn cuts_only(spec: &SliceSpec, shape: &[i64], dim: usize) -> bool {
    (0..shape.len())
        .all(|d| spec.stride[d] == 1 && (d == dim || spec.start[d] == 0 && spec.limit[d] == shape[d]))
}

/// Returns the bytes of one row (one index along `dim`) of a value on each device.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{Around, around, op_named};

    /// Propagates in a program that slices an argument of 64 rows.
    fn sliced(dims: &str, start: i64, limit: i64) -> Around {
        let rows = limit - start;
        let program = format!(
            r#"func.func @main(%a: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}) -> tensor<{rows}x8xf32> {{
              %0 = stablehlo.slice %a [{start}:{limit}, 0:8] : (tensor<64x8xf32>) -> tensor<{rows}x8xf32>
              return %0 : tensor<{rows}x8xf32>
            }}"#
        );
        around("propagate", r#""x"=4"#, &program)
    }

    /// Returns the cost along dimension `dim` of a slice of rows 4 to 64.
    fn cost_of_slice(dims: &str, dim: usize) -> f64 {
        let done = sliced(dims, 4, 64);
        let op = &done.module.ops[op_named(&done.module, "stablehlo.slice")];
        let line = Line::of(&done.module, op.operands[0], dim, &CostModel::default()).unwrap();
        line.cost(&done.module, &op.kind, &op.operands, op.results[0]).unwrap()
    }

    #[test]
    fn a_slice_costs_a_halo_exchange_along_the_split_dimension_that_it_cuts() {
        assert!(cost_of_slice(r#"[{"x"}, {}]"#, 0) >= Costs::default().start());
        assert_eq!(cost_of_slice(r#"[{}, {"x"}]"#, 1), 0.0);
    }

    #[test]
    fn an_even_part_of_a_split_dimension_is_split_evenly() {
        for (rows, is_even) in [(32, true), (30, false)] {
            let done = sliced(r#"[{"x"}, {}]"#, 0, rows);
            let op = &done.module.ops[op_named(&done.module, "stablehlo.slice")];
            let line = Line::of(&done.module, op.operands[0], 0, &CostModel::default()).unwrap();
            assert_eq!(line.k, 4);
            assert_eq!(
                line.splits_evenly(&done.module, op.operands[0], op.results[0]),
                is_even,
                "{rows} rows"
            );
        }
    }

    #[test]
    fn an_unsplit_dimension_is_no_line() {
        let done = sliced(r#"[{}, {"x"}]"#, 0, 32);
        let op = &done.module.ops[op_named(&done.module, "stablehlo.slice")];
        assert!(Line::of(&done.module, op.operands[0], 0, &CostModel::default()).is_none());
        assert!(Line::of(&done.module, op.operands[0], 1, &CostModel::default()).is_some());
    }
}
