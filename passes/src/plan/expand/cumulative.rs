//! Two-stage prefix scan: cumulative sums, products, maxima and minima along a sharded dimension.
//!
//! Each device scans its own block. The totals, one row per block, are all-gathered and scanned. Each device then combines its block with
//! the total of the preceding blocks (of the following blocks, for a reverse scan). A halo exchange would send all elements, since the
//! windows extend over all blocks.
//!
//! Conditions:
//!
//! * The operation is a `reduce_window` with a window as large as the dimension, padded on one side by `n - 1`, as `jnp.cumsum` emits.
//!   Strides and dilations are one.
//! * The initial value is the identity of the reduction.
//! * No dimension is empty.
//!
//! ```mlir
//! %0 = "stablehlo.reduce_window"(%a, %zero) <{padding = [[0, 0], [63, 0]], window_dimensions = [1, 64]}> ... // [{}, {"x"}], "x"=4
//! ```
//! becomes
//! ```mlir
//! %0 = stablehlo.reshape %a : (tensor<6x64xf32>) -> tensor<6x4x16xf32>
//! %1 = "stablehlo.reduce_window"(%0, %zero) <{padding = [[0, 0], [0, 0], [15, 0]], ...}> ...
//! %2 = stablehlo.slice %1 [0:6, 0:4, 15:16]
//! %3 = sdy.reshard %2 <@mesh, [{}, {}, {}]>                                       // all_gather of the totals
//! %4 = stablehlo.pad %3, %zero, low = [0, 1, 0], high = [0, -1, 0], ...
//! %5 = "stablehlo.reduce_window"(%4, %zero) ...
//! %6 = stablehlo.broadcast_in_dim %5, ...
//! %7 = stablehlo.add %6, %1
//! %8 = stablehlo.reshape %7 : (tensor<6x4x16xf32>) -> tensor<6x64xf32>
//! ```

use shardc_ir::{
    Build, DimList, DimSharding, OpKind, PadSpec, SizeList, SliceSpec, TensorType, ValueId, ValueMap,
    WindowSpec, clone_region,
};

use super::Steps;
use crate::analysis::reducer::{init_counts_for_nothing, reduction_of};

/// Returns the dimension that a `reduce_window` of a tensor of this shape scans, and whether the scan is reversed; `None` if the operation
/// is not a prefix scan.
fn scanned_dim(spec: &WindowSpec, shape: &[i64]) -> Option<(usize, bool)> {
    let all_one = |list: &SizeList| list.iter().all(|&n| n == 1);
    if !all_one(&spec.strides) || !all_one(&spec.base_dilations) || !all_one(&spec.window_dilations) {
        return None;
    }
    let mut wide = spec.dimensions.iter().enumerate().filter(|&(_, &n)| n != 1);
    let (dim, &size) = wide.next()?;
    let padding = |d: usize| spec.padding.get(d).copied().unwrap_or((0, 0));
    let is_alone = wide.next().is_none() && (0..shape.len()).all(|d| d == dim || padding(d) == (0, 0));
    let n = *shape.get(dim)?;
    let backward = match padding(dim) {
        (low, 0) if low == n - 1 => false,
        (0, high) if high == n - 1 => true,
        _ => return None,
    };
    (is_alone && size == n).then_some((dim, backward))
}

/// Returns the `reduce_window` that scans dimension `dim` of `n` elements of a tensor of this rank; the inverse of
/// [`scanned_dim`].
fn scan_window(dim: usize, n: i64, rank: usize, backward: bool) -> WindowSpec {
    let mut dimensions = SizeList::from_elem(1, rank);
    dimensions[dim] = n;
    let padding = (0..rank).map(|d| match (d == dim, backward) {
        (false, _) => (0, 0),
        (true, false) => (n - 1, 0),
        (true, true) => (0, n - 1),
    });
    WindowSpec { dimensions, padding: padding.collect(), ..WindowSpec::default() }
}

impl Steps<'_, '_> {
    /// Expands a prefix scan along a sharded dimension.
    pub(super) fn cumulative(&mut self) -> Option<()> {
        let data = &self.rw.module.ops[self.at];
        let OpKind::ReduceWindow(spec) = &data.kind else { return None };
        let (&[operand, init], &[region]) = (data.operands.as_slice(), data.regions.as_slice()) else {
            return None;
        };
        let ty = self.rw.module.tensor(operand)?.clone();
        let (dim, backward) = scanned_dim(spec, &ty.shape)?;
        let [split] = self.split_dims(operand, [dim])?[..] else { return None };
        let kind = reduction_of(self.rw.module, region, 1)?;
        // Both scans start from the initial value and use it as padding. An initial value that is not the identity, such as 1 in a sum,
        // would be counted several times.
        if !init_counts_for_nothing(self.rw.module, self.at) || ty.shape.contains(&0) {
            return None;
        }
        let parts = self.blocks(operand, &[split], init)?;
        let of_parts = self.rw.module.tensor(parts)?.clone();
        let dims = self.rw.module.shardings.sharding_of(parts)?.dims.to_vec();
        let (k, block) = (of_parts.shape[dim], of_parts.shape[dim + 1]);
        let within = self.scan(parts, init, dim + 1, backward, &of_parts, &dims)?;

        let last = if backward { 0 } else { block - 1 };
        let totals = self.cut_at(within, dim + 1, last, &dims)?;
        let mut whole = dims.clone();
        whole[dim] = DimSharding::default();
        let totals = self.reshard(totals, &whole);
        // The shift makes the scan of the totals exclusive: without it, each device would also add its own total. Every device computes
        // this scan of `k` rows, so no device waits for its predecessor.
        let others = self.shift(totals, init, dim, backward, &whole)?;
        let of_others = self.rw.module.tensor(others)?.clone();
        let others = self.scan(others, init, dim, backward, &of_others, &whole)?;

        let same: DimList = (0..of_parts.rank() as u32).collect();
        let broadcast = OpKind::BroadcastInDim { dims: same };
        let others = self.emit(broadcast, &[others], &of_parts.shape, ty.dtype, &dims);
        let both = if backward { [within, others] } else { [others, within] };
        let scanned = self.emit(OpKind::Binary(kind.op()), &both, &of_parts.shape, ty.dtype, &dims);

        let mut operands = [scanned];
        let mut last = OpKind::Reshape;
        if k * block != ty.shape[dim] {
            let mut padded = ty.shape.to_vec();
            padded[dim] = k * block;
            let mut merged = dims.clone();
            merged.remove(dim + 1);
            operands = [self.emit(OpKind::Reshape, &operands, &padded, ty.dtype, &merged)];
            last = OpKind::Slice(Box::new(SliceSpec {
                start: SizeList::from_elem(0, ty.rank()),
                limit: SizeList::from_slice(&ty.shape),
                stride: SizeList::from_elem(1, ty.rank()),
            }));
        }
        let data = &mut self.rw.module.ops[self.at];
        data.kind = last;
        data.operands = operands.into_iter().collect();
        data.regions.clear();
        Some(())
    }

    /// Returns `value` scanned along `dim` with the reduction of the current operation.
    fn scan(
        &mut self,
        value: ValueId,
        init: ValueId,
        dim: usize,
        backward: bool,
        ty: &TensorType,
        dims: &[DimSharding],
    ) -> Option<ValueId> {
        let region = *self.rw.module.ops[self.at].regions.first()?;
        let region = clone_region(self.rw.module, region, &mut ValueMap::new());
        let spec = scan_window(dim, ty.shape[dim], ty.rank(), backward);
        let ty = self.rw.module.types.tensor(&ty.shape, ty.dtype);
        let scan = self.rw.op(OpKind::ReduceWindow(Box::new(spec)), &[value, init], &[ty], &[region]);
        let result = *self.rw.module.ops[scan].results.first()?;
        self.place(result, dims);
        Some(result)
    }

    /// Returns row `i` of `value` along `dim`; the dimension remains, with size one.
    fn cut_at(&mut self, value: ValueId, dim: usize, i: i64, dims: &[DimSharding]) -> Option<ValueId> {
        let ty = self.rw.module.tensor(value)?.clone();
        let mut start = SizeList::from_elem(0, ty.rank());
        let mut limit = SizeList::from_slice(&ty.shape);
        (start[dim], limit[dim]) = (i, i + 1);
        let mut shape = ty.shape.to_vec();
        shape[dim] = 1;
        let stride = SizeList::from_elem(1, ty.rank());
        let kind = OpKind::Slice(Box::new(SliceSpec { start, limit, stride }));
        Some(self.emit(kind, &[value], &shape, ty.dtype, dims))
    }

    /// Returns `value` shifted by one row along `dim`, forward or backward, with `fill` in the vacant row.
    fn shift(
        &mut self,
        value: ValueId,
        fill: ValueId,
        dim: usize,
        backward: bool,
        dims: &[DimSharding],
    ) -> Option<ValueId> {
        let ty = self.rw.module.tensor(value)?.clone();
        let none = SizeList::from_elem(0, ty.rank());
        let (mut low, mut high) = (none.clone(), none.clone());
        (low[dim], high[dim]) = if backward { (-1, 1) } else { (1, -1) };
        let kind = OpKind::Pad(Box::new(PadSpec { low, high, interior: none }));
        Some(self.emit(kind, &[value, fill], &ty.shape, ty.dtype, dims))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{Around, around};

    #[test]
    fn prefix_scan_windows_are_recognized() {
        for backward in [false, true] {
            let spec = scan_window(1, 8, 3, backward);
            assert_eq!(scanned_dim(&spec, &[4, 8, 2]), Some((1, backward)));
            assert_eq!(scanned_dim(&spec, &[4, 9, 2]), None, "a window of another size");
            let strided = WindowSpec { strides: SizeList::from_slice(&[1, 2, 1]), ..spec };
            assert_eq!(scanned_dim(&strided, &[4, 8, 2]), None, "every second window");
        }
        let both = WindowSpec {
            dimensions: SizeList::from_slice(&[4, 8]),
            padding: [(3, 0), (7, 0)].into_iter().collect(),
            ..WindowSpec::default()
        };
        assert_eq!(scanned_dim(&both, &[4, 8]), None, "along two dimensions");
    }

    /// Expands a window sum along dimension 1 that starts from `init`.
    fn expanded(dims: &str, init: &str, padding: &str, window: i64) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<6x62xf32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}) -> tensor<6x62xf32> {{
              %init = stablehlo.constant dense<{init}> : tensor<f32>
              %r = "stablehlo.reduce_window"(%a, %init) <{{padding = dense<[[0, 0], {padding}]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, {window}>}}> ({{
                ^bb0(%p: tensor<f32>, %q: tensor<f32>):
                  %s = stablehlo.add %p, %q : tensor<f32>
                  stablehlo.return %s : tensor<f32>
              }}) : (tensor<6x62xf32>, tensor<f32>) -> tensor<6x62xf32>
              return %r : tensor<6x62xf32>
            }}"#
        );
        around("expand-sharded-ops", r#""x"=4"#, &program)
    }

    const SPLIT: &str = r#"[{}, {"x"}]"#;

    #[test]
    fn a_prefix_sum_scans_blocks_and_their_totals() {
        let done = expanded(SPLIT, "0.0", "[61, 0]", 62);
        assert_eq!(done.shardings("stablehlo.reduce_window"), [r#"[{}, {"x"}, {}]"#, "[{}, {}, {}]"]);
        assert_eq!(done.shardings("sdy.reshard"), ["[{}, {}, {}]"]);
        assert!(
            done.after.contains("[0:6, 0:4, 15:16]"),
            "the last row of a block is its total: {}",
            done.after
        );
        assert!(done.after.contains("low = [0, 1, 0], high = [0, -1, 0]"), "{}", done.after);
    }

    #[test]
    fn a_reverse_scan_adds_the_totals_of_the_blocks_after() {
        let done = expanded(SPLIT, "0.0", "[0, 61]", 62);
        assert!(
            done.after.contains("[0:6, 0:4, 0:1]"),
            "the first row of a block is its total: {}",
            done.after
        );
        assert!(done.after.contains("low = [0, -1, 0], high = [0, 1, 0]"), "{}", done.after);
    }

    #[test]
    fn a_scan_along_an_unsplit_dimension_stays() {
        assert!(expanded("[{}, {}]", "0.0", "[61, 0]", 62).is_same());
        assert!(expanded(r#"[{"x"}, {}]"#, "0.0", "[61, 0]", 62).is_same());
    }

    #[test]
    fn a_scan_from_another_value_than_the_identity_stays() {
        assert!(expanded(SPLIT, "1.0", "[61, 0]", 62).is_same());
    }

    #[test]
    fn windows_that_are_smaller_than_the_dimension_stay() {
        assert!(expanded(SPLIT, "0.0", "[3, 0]", 4).is_same());
    }
}
