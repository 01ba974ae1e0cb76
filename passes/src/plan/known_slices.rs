//! Converts `dynamic_slice` and `gather` with constant indices to `slice`.
//!
//! A `gather` qualifies if it takes a range, or rows at equal distances (`x[jnp.arange(8, 40)]`). Along a sharded dimension, a `gather`
//! needs an all-reduce of all rows that it reads, but a slice needs only a halo exchange at block boundaries.
//!
//! Conditions:
//!
//! * The sliced dimension is sharded, and all types are static.
//! * The start indices of a window are constants; they are clamped as StableHLO specifies.
//! * Rows at equal distances are in ascending order, and within bounds.
//!
//! ```mlir
//! %0 = stablehlo.dynamic_slice %a, %c100, %c0, sizes = [60, 8] : (tensor<64x8xf32>, ...) -> tensor<60x8xf32>
//! ```
//! becomes
//! ```mlir
//! %0 = stablehlo.slice %a [4:64, 0:8] : (tensor<64x8xf32>) -> tensor<60x8xf32>
//! ```

use rustc_hash::FxHashMap;
use shardc_ir::{
    Build, GatherSpec, Module, OpId, OpKind, RegionId, Rewriter, SizeList, SliceSpec, TensorSharding, ValueId,
};

use crate::analysis::integer_fold::IntegerFold;
use crate::analysis::regions::{program_ops, program_regions};

/// Replaces `dynamic_slice` and `gather` at constant indices along a sharded dimension by slices, in `body` and its nested regions, after
/// propagation.
pub(super) fn known_slices(module: &mut Module, body: RegionId) {
    let mut found = FxHashMap::default();
    let mut fold = IntegerFold::new(module);
    for op in program_ops(module, body) {
        if let Some(spec) = known_slice(module, &mut fold, op).filter(|spec| is_split(module, op, spec)) {
            found.insert(op, spec);
        }
    }
    if found.is_empty() {
        return;
    }
    let mut rw = Rewriter::new(module);
    for region in program_regions(rw.module, body) {
        if !rw.module.regions[region].ops.iter().any(|op| found.contains_key(op)) {
            continue;
        }
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            if let Some(spec) = found.remove(&op) {
                slice(&mut rw, op, spec);
            }
        }
    }
}

/// Replaces `op` by the slice of its first operand, or by a reshape of that slice if dimensions of size one are dropped.
fn slice(rw: &mut Rewriter<'_>, op: OpId, spec: SliceSpec) {
    let (operand, result) = (rw.module.ops[op].operands[0], rw.module.ops[op].results[0]);
    let shape = taken(&spec);
    let mut kind = OpKind::Slice(Box::new(spec));
    let mut source = operand;
    if rw.module.shape(result) != shape.as_slice() {
        let sharding = with_ones(rw.module, result, &shape);
        let Some(dtype) = rw.module.tensor(operand).map(|ty| ty.dtype) else { return };
        let ty = rw.module.types.tensor(&shape, dtype);
        source = rw.op1(kind, &[operand], ty);
        let sharding = sharding.map(|sharding| rw.module.shardings.intern(sharding));
        rw.module.shardings.set(source, sharding);
        kind = OpKind::Reshape;
    }
    let data = &mut rw.module.ops[op];
    data.kind = kind;
    data.operands = [source].into_iter().collect();
}

/// If `value` is a reshape of a value of shape `shape` that drops dimensions of size one, returns the sharding of the value before the
/// reshape.
fn with_ones(module: &Module, value: ValueId, shape: &[i64]) -> Option<TensorSharding> {
    let sharding = module.shardings.sharding_of(value)?;
    let mut kept = module.shape(value).iter().zip(&sharding.dims).peekable();
    let dims = shape.iter().map(|n| match kept.next_if(|(m, _)| *m == n) {
        Some((_, dim)) => dim.axes.clone(),
        None => Default::default(),
    });
    let dims: Vec<_> = dims.collect();
    Some(TensorSharding::from_axes(sharding.mesh, dims.iter().map(|axes| axes.as_slice())))
}

/// Returns the slice of the first operand that is equivalent to an operation, if its indices are constant.
fn known_slice(module: &Module, fold: &mut IntegerFold<'_>, op: OpId) -> Option<SliceSpec> {
    let data = &module.ops[op];
    let is_known = |&v: &ValueId| module.tensor(v).is_some_and(|ty| ty.is_static());
    if !data.operands.iter().chain(&data.results).all(is_known) {
        return None;
    }
    match (&data.kind, data.operands.as_slice()) {
        (OpKind::DynamicSlice { sizes }, [operand, starts @ ..]) => {
            let mut spec = first_elements(sizes);
            for (d, (&start, n)) in starts.iter().zip(module.shape(*operand)).enumerate() {
                shift(&mut spec, d, fold.number(start, None)?.clamp(0, n - sizes[d]));
            }
            Some(spec)
        }
        (OpKind::Gather(spec), &[operand, indices]) => gathered(module, fold, spec, operand, indices),
        _ => None,
    }
}

/// Returns the slice that is equivalent to a gather of one window, or of rows at equal distances whose dimension keeps its position.
fn gathered(
    module: &Module,
    fold: &mut IntegerFold<'_>,
    spec: &GatherSpec,
    operand: ValueId,
    indices: ValueId,
) -> Option<SliceSpec> {
    let is_in_order = spec.offset_dims.windows(2).all(|pair| pair[0] < pair[1]);
    if !is_in_order || !spec.operand_batching_dims.is_empty() {
        return None;
    }
    let shape = module.shape(operand);
    let vector_dim = spec.index_vector_dim as usize;
    let component = |i: i64| (vector_dim < module.rank(indices)).then_some((vector_dim, i));
    let rows: Vec<usize> = (0..module.rank(indices)).filter(|&d| d != vector_dim).collect();
    let mut slice = first_elements(&spec.slice_sizes);
    match (rows.as_slice(), spec.start_index_map.as_slice()) {
        ([], dims) => {
            for (&d, i) in dims.iter().zip(0..) {
                let d = d as usize;
                // The start is clamped so that the window fits.
                let last = shape.get(d)? - spec.slice_sizes.get(d)?;
                shift(&mut slice, d, fold.number(indices, component(i))?.clamp(0, last));
            }
        }
        (&[row], &[d]) if spec.collapsed_slice_dims.as_slice() == [d] => {
            let stays = !spec.offset_dims.contains(&d);
            let len = *module.shape(indices).get(row)?;
            let places = fold.progression(indices, component(0), len)?;
            let d = d as usize;
            let is_within = places.step > 0 && places.start >= 0 && places.last() < *shape.get(d)?;
            (stays && is_within).then_some(())?;
            (slice.start[d], slice.limit[d], slice.stride[d]) =
                (places.start, places.last() + 1, places.step);
        }
        _ => return None,
    }
    Some(slice)
}

/// Returns the slice of these sizes that starts at index zero.
fn first_elements(sizes: &[i64]) -> SliceSpec {
    SliceSpec {
        start: SizeList::from_elem(0, sizes.len()),
        limit: SizeList::from_slice(sizes),
        stride: SizeList::from_elem(1, sizes.len()),
    }
}

fn shift(spec: &mut SliceSpec, dim: usize, by: i64) {
    spec.start[dim] += by;
    spec.limit[dim] += by;
}

/// Returns the shape of the result of a slice.
fn taken(spec: &SliceSpec) -> SizeList {
    let size = |d: usize| (spec.limit[d] - spec.start[d] + spec.stride[d] - 1) / spec.stride[d];
    (0..spec.start.len()).map(size).collect()
}

/// Whether a slice cuts a sharded dimension of the first operand of `op`.
fn is_split(module: &Module, op: OpId, spec: &SliceSpec) -> bool {
    let operand = module.ops[op].operands[0];
    let shape = module.shape(operand);
    let Some(sharding) = module.shardings.sharding_of(operand) else { return false };
    let cuts = |d: usize| spec.start[d] != 0 || spec.stride[d] != 1 || spec.limit[d] != shape[d];
    !module.is_quantized(operand)
        && sharding.unreduced.is_empty()
        && (0..shape.len()).any(|d| cuts(d) && !sharding.axes(d).is_empty())
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    const ROWS: &str = r#"[{"x"}, {}]"#;

    /// Folds a gather from a table of 64 rows.
    fn folded(dims: &str, ty: &str, lookup: &str) -> Around {
        let program = format!(
            r#"func.func @main(%x: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}, %i: tensor<i32>) -> {ty} {{
              {lookup}
              return %r : {ty}
            }}"#
        );
        around("fold-slices", r#""x"=4"#, &program)
    }

    /// Folds a dynamic slice of 60 rows from row `start` on.
    fn sliced(dims: &str, start: &str) -> Around {
        folded(
            dims,
            "tensor<60x8xf32>",
            &format!(
                "%at = {start} : tensor<i32>
                %zero = stablehlo.constant dense<0> : tensor<i32>
                %r = stablehlo.dynamic_slice %x, %at, %zero, sizes = [60, 8] : (tensor<64x8xf32>, tensor<i32>, tensor<i32>) -> tensor<60x8xf32>"
            ),
        )
    }

    #[test]
    fn a_dynamic_slice_at_a_constant_row_is_a_slice() {
        let done = sliced(ROWS, "stablehlo.constant dense<3>");
        assert!(done.after.contains("stablehlo.slice %arg0 [3:63, 0:8]"), "{}", done.after);
    }

    #[test]
    fn a_start_out_of_bounds_is_clamped() {
        let done = sliced(ROWS, "stablehlo.constant dense<100>");
        assert!(done.after.contains("stablehlo.slice %arg0 [4:64, 0:8]"), "{}", done.after);
    }

    #[test]
    fn a_dynamic_slice_at_an_unknown_row_stays() {
        assert!(sliced(ROWS, "stablehlo.negate %i").is_same());
    }

    #[test]
    fn a_dynamic_slice_along_an_unsplit_dimension_stays() {
        assert!(sliced(r#"[{}, {"x"}]"#, "stablehlo.constant dense<3>").is_same());
    }

    /// Folds a gather of 32 rows; `row` is the index of row `i`.
    fn looked_up(row: &str) -> Around {
        folded(
            ROWS,
            "tensor<32x8xf32>",
            &format!(
                r#"%n = stablehlo.iota dim = 0 : tensor<32x1xi32>
                {row}
                %r = "stablehlo.gather"(%x, %at) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}}> : (tensor<64x8xf32>, tensor<32x1xi32>) -> tensor<32x8xf32>"#
            ),
        )
    }

    #[test]
    fn rows_at_equal_distances_are_a_strided_slice() {
        let done = looked_up(
            "%two = stablehlo.constant dense<2> : tensor<32x1xi32>
            %at = stablehlo.multiply %n, %two : tensor<32x1xi32>",
        );
        assert!(done.after.contains("stablehlo.slice %arg0 [0:63:2, 0:8]"), "{}", done.after);
    }

    #[test]
    fn rows_in_descending_order_stay() {
        let done = looked_up(
            "%last = stablehlo.constant dense<40> : tensor<32x1xi32>
            %at = stablehlo.subtract %last, %n : tensor<32x1xi32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn rows_out_of_bounds_stay() {
        let done = looked_up(
            "%first = stablehlo.constant dense<33> : tensor<32x1xi32>
            %at = stablehlo.add %first, %n : tensor<32x1xi32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_row_that_is_dropped_is_a_slice_and_a_reshape() {
        let done = folded(
            ROWS,
            "tensor<8xf32>",
            r#"%at = stablehlo.constant dense<[70]> : tensor<1xi32>
            %r = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<1xi32>) -> tensor<8xf32>"#,
        );
        assert!(done.after.contains("stablehlo.slice %arg0 [63:64, 0:8]"), "{}", done.after);
        assert_eq!(done.shardings("stablehlo.reshape"), ["[{}]"]);
    }
}
