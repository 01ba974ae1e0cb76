//! Transposition of window reductions.

use shardc_ir::reducer::{identity, reducer};
use shardc_ir::{
    Build, CompareDirection, DType, OpId, OpKind, ReductionKind, RegionId, SizeList, TensorBuild, ValueId,
    WindowSpec,
};

use crate::emit::{Arithmetic, Emit};
use crate::linearize::window::{full, pairs};
use crate::transpose::Transposed;

/// For a window sum, the cotangent of an element is the sum of the cotangents of all windows that contain it. For a window maximum,
/// `select_and_scatter` adds the cotangent of each window to the element that is the maximum.
pub(super) fn reduce_window(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    spec: &WindowSpec,
    i: usize,
    asked: &[Option<ValueId>],
) -> Option<ValueId> {
    let operands = t.linear.module.ops[op].operands.clone();
    match *operands.as_slice() {
        [x, _, _, _] => {
            let ct = asked.get(1).copied().flatten()?;
            let (region, direction) = (t.linear.module.ops[op].regions[0], direction(t, op)?);
            debug_assert!(i == 1 && !t.linear.module.regions[region].args.is_empty());
            spread_back(&mut t.emit(op), spec, direction, x, ct)
        }
        [x, _] => {
            let ct = asked.first().copied().flatten()?;
            sum_of_windows(&mut t.emit(op), spec, x, ct)
        }
        _ => None,
    }
}

/// The cotangent of each source element of `select_and_scatter` is the cotangent at the selected position of its window.
pub(super) fn select_and_scatter(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    spec: &WindowSpec,
    ct: ValueId,
) -> Option<ValueId> {
    let (x, source) = (t.linear.module.ops[op].operands[0], t.linear.module.ops[op].operands[1]);
    let (direction, kind) = match direction(t, op)? {
        CompareDirection::GE | CompareDirection::GT => (CompareDirection::GE, ReductionKind::Max),
        CompareDirection::LE | CompareDirection::LT => (CompareDirection::LE, ReductionKind::Min),
        CompareDirection::EQ | CompareDirection::NE => return None,
    };
    let dtype = t.linear.module.tensor(x)?.dtype;
    let region = pairs(t.linear.module, direction, dtype);
    let mut e = t.emit(op);
    let ty = e.module().values[source].ty;
    let (init, zero) = (e.splat(&identity(kind, dtype)?, &[], dtype), e.zeros(&[], dtype));
    let made = e.op(OpKind::ReduceWindow(Box::new(spec.clone())), &[x, ct, init, zero], &[ty, ty], &[region]);
    e.module().ops[made].results.get(1).copied()
}

/// Returns the direction of the comparison in the region of a reduction of pairs: `GE` for the maximum, `LE` for the minimum.
fn direction(t: &Transposed<'_, '_>, op: OpId) -> Option<CompareDirection> {
    let region = t.linear.module.ops[op].regions[0];
    t.linear.module.regions[region].ops.iter().find_map(|&op| match t.linear.module.ops[op].kind {
        OpKind::Compare(direction, _) => Some(direction),
        _ => None,
    })
}

fn sum_of_windows(e: &mut Emit<'_>, spec: &WindowSpec, x: ValueId, ct: ValueId) -> Option<ValueId> {
    let (input, output) = (e.type_of(x), e.type_of(ct));
    let spec = full(spec);
    let reach = |n: i64, gap: i64| if n == 0 { 0 } else { (n - 1) * gap + 1 };
    // The padding belongs to the window operation: XLA's CPU compiler would fold a separate `pad` into dilated windows, and mistake these
    // for a copy.
    let padding = (0..input.shape.len()).map(|d| {
        let window = reach(spec.dimensions[d], spec.window_dilations[d]);
        let low = window - spec.padding[d].0 - 1;
        let size = reach(input.shape[d], spec.base_dilations[d]);
        (low, size + window - 1 - reach(output.shape[d], spec.strides[d]) - low)
    });
    let back = WindowSpec {
        padding: padding.collect(),
        dimensions: spec.dimensions,
        strides: spec.base_dilations,
        base_dilations: spec.strides,
        window_dilations: spec.window_dilations,
    };
    let zero = e.zeros(&[], output.dtype);
    let region = reducer(e.module(), ReductionKind::Add, output.dtype);
    let ty = e.module().types.tensor(&input.shape, output.dtype);
    let made = e.op(OpKind::ReduceWindow(Box::new(back)), &[ct, zero], &[ty], &[region]);
    let value = e.module().ops[made].results.first().copied()?;
    Some(e.convert(value, input.dtype))
}

fn spread_back(
    e: &mut Emit<'_>,
    spec: &WindowSpec,
    direction: CompareDirection,
    x: ValueId,
    ct: ValueId,
) -> Option<ValueId> {
    let ty = e.type_of(x);
    let select = comparison(e, direction, ty.dtype);
    let add = reducer(e.module(), ReductionKind::Add, ty.dtype);
    let zero = e.zeros(&[], ty.dtype);
    let window = WindowSpec {
        dimensions: spec.dimensions.clone(),
        strides: spec.strides.clone(),
        base_dilations: SizeList::new(),
        window_dilations: SizeList::new(),
        padding: spec.padding.clone(),
    };
    let id = e.module().values[x].ty;
    let made = e.op(OpKind::SelectAndScatter(Box::new(window)), &[x, ct, zero], &[id], &[select, add]);
    e.module().ops[made].results.first().copied()
}

/// A region that compares two scalars.
fn comparison(e: &mut Emit<'_>, direction: CompareDirection, dtype: DType) -> RegionId {
    let scalar = e.module().types.tensor(&[], dtype);
    let region = e.module().add_region(&[scalar, scalar]);
    let args = e.module().regions[region].args.clone();
    let truth = e.module().types.tensor(&[], DType::I1);
    let compare = e.module().add_op(OpKind::Compare(direction, None), &args, &[truth], &[]);
    let result = e.module().ops[compare].results.to_vec();
    let ret = e.module().add_op(OpKind::Return, &result, &[], &[]);
    e.module().set_ops(region, vec![compare, ret]);
    region
}
