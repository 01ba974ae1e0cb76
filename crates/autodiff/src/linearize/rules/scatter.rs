//! Scatters.

use shardc_ir::reducer::{reducer, reduction_of};
use shardc_ir::{
    Build, CompareDirection, DType, Diagnostic, Module, OpKind, ReductionKind, RegionId, ScatterSpec,
    TensorBuild, ValueDef, ValueId,
};
use smallvec::smallvec;

use super::{sum, unsupported, written_out};
use crate::emit::{Arithmetic, Emit};
use crate::linearize::{At, Tangents};
use crate::places::gather_of;

/// `scatter` of one tensor, which adds, writes, multiplies, or takes the largest or smallest.
pub(super) fn scatter(at: &mut At<'_, '_>, spec: &ScatterSpec) -> Result<Tangents, Box<Diagnostic>> {
    let data = &at.linear.module.ops[at.op];
    let (region, n) = (data.regions.first().copied(), data.results.len());
    let Some(region) = region.filter(|_| n == 1) else { return Err(unsupported(at)) };
    let is_unique = spec.unique_indices == Some(true);
    let tangent = match reduction_of(at.linear.module, region, 1) {
        Some(ReductionKind::Add) => {
            let tangents = [written_out(at, 0), written_out(at, 2)];
            Some(on_tape(at, spec, tangents, ReductionKind::Add)?)
        }
        Some(ReductionKind::Mul) if is_unique => multiply(at, spec)?,
        Some(ReductionKind::Max | ReductionKind::Min) => extreme(at, spec)?,
        None if writes(at.linear.module, region) && is_unique => {
            let operands = [written_out(at, 0), at.operand(1), written_out(at, 2)];
            let ty = at.linear.module.values[at.result()].ty;
            let region = copy_region(at.linear.module, region);
            let op = at.tape().op(OpKind::Scatter(Box::new(spec.clone())), &operands, &[ty], &[region]);
            Some(at.linear.module.ops[op].results[0])
        }
        None if writes(at.linear.module, region) => last_written(at, spec)?,
        _ => return Err(unsupported(at)),
    };
    Ok(smallvec![tangent])
}

/// Whether a combiner takes what is new.
fn writes(module: &Module, region: RegionId) -> bool {
    let returned = module.terminator(region).and_then(|end| module.ops[end].operands.first());
    returned.is_some_and(|&v| matches!(module.values[v].def(), ValueDef::Arg(of, 1) if of == region))
}

fn copy_region(module: &mut Module, region: RegionId) -> RegionId {
    shardc_ir::clone_region(module, region, &mut shardc_ir::ValueMap::new())
}

/// A scatter of tangents, on the tape.
fn on_tape(
    at: &mut At<'_, '_>,
    spec: &ScatterSpec,
    [operand, updates]: [ValueId; 2],
    kind: ReductionKind,
) -> Result<ValueId, Box<Diagnostic>> {
    let indices = at.operand(1);
    let ty = at.linear.module.values[at.result()].ty;
    let dtype = at.linear.module.tensor(at.result()).map(|ty| ty.dtype).ok_or_else(|| unsupported(at))?;
    let region = reducer(at.linear.module, kind, dtype);
    let kind = OpKind::Scatter(Box::new(spec.clone()));
    let op = at.tape().op(kind, &[operand, indices, updates], &[ty], &[region]);
    Ok(at.linear.module.ops[op].results[0])
}

/// A scatter of numbers, behind the operation.
fn scattered(
    e: &mut Emit<'_>,
    spec: &ScatterSpec,
    [operand, indices, updates]: [ValueId; 3],
    kind: ReductionKind,
) -> ValueId {
    let (ty, dtype) = (e.module().values[operand].ty, e.type_of(operand).dtype);
    let region = reducer(e.module(), kind, dtype);
    let op = e.op(OpKind::Scatter(Box::new(spec.clone())), &[operand, indices, updates], &[ty], &[region]);
    e.module().ops[op].results[0]
}

/// What stands in `value` where updates go, like the updates.
fn read_back(at: &mut At<'_, '_>, spec: &ScatterSpec, value: ValueId) -> Result<ValueId, Box<Diagnostic>> {
    let (indices, updates) = (at.operand(1), at.operand(2));
    let error = unsupported(at);
    let mut e = at.primal();
    let (input, part) = (e.type_of(value), e.type_of(updates));
    let gather = gather_of(spec, &input.shape, &part.shape).ok_or(error)?;
    Ok(e.tensor(OpKind::Gather(Box::new(gather)), &[value, indices], &part.shape, input.dtype))
}

/// `y = x u` where an update goes: the tensor changes by `dx u`, and an update by `x du`.
fn multiply(at: &mut At<'_, '_>, spec: &ScatterSpec) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let (x, indices, updates) = (at.operand(0), at.operand(1), at.operand(2));
    let of_operand = at.tangent(0).map(|dx| {
        let factor = {
            let mut e = at.primal();
            let ones = e.number(1.0, x);
            scattered(&mut e, spec, [ones, indices, updates], ReductionKind::Mul)
        };
        at.tape().mul(dx, factor)
    });
    let of_updates = match at.tangent(2) {
        Some(du) => {
            let there = read_back(at, spec, x)?;
            let change = at.tape().mul(du, there);
            let zeros = at.primal().zeros_like(x);
            Some(on_tape(at, spec, [zeros, change], ReductionKind::Add)?)
        }
        None => None,
    };
    Ok(sum(at, &[of_operand, of_updates]))
}

/// Each element changes as what it was taken from; equals share the change.
fn extreme(at: &mut At<'_, '_>, spec: &ScatterSpec) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let (x, indices, updates, y) = (at.operand(0), at.operand(1), at.operand(2), at.result());
    let there = read_back(at, spec, y)?;
    let error = unsupported(at);
    let (of_operand, of_updates, count) = {
        let mut e = at.primal();
        let equal = |e: &mut Emit<'_>, a: ValueId, b: ValueId| {
            let ty = e.type_of(a);
            let is = e.tensor(OpKind::Compare(CompareDirection::EQ, None), &[a, b], &ty.shape, DType::I1);
            e.convert(is, ty.dtype)
        };
        let _ = error;
        let (of_operand, of_updates) = (equal(&mut e, x, y), equal(&mut e, updates, there));
        let count = scattered(&mut e, spec, [of_operand, indices, of_updates], ReductionKind::Add);
        (of_operand, of_updates, count)
    };
    let (dx, du) = (written_out(at, 0), written_out(at, 2));
    let (dx, du) = {
        let mut tape = at.tape();
        (tape.mul(dx, of_operand), tape.mul(du, of_updates))
    };
    let total = on_tape(at, spec, [dx, du], ReductionKind::Add)?;
    Ok(Some(at.tape().div(total, count)))
}

/// Of updates that go to one place the last one written counts, whichever that is: each is numbered, and those count whose
/// number stands where they went.
fn last_written(at: &mut At<'_, '_>, spec: &ScatterSpec) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let (x, indices, updates) = (at.operand(0), at.operand(1), at.operand(2));
    let region = at.linear.module.ops[at.op].regions[0];
    let error = unsupported(at);
    let (written, numbers) = {
        let mut e = at.primal();
        let shape = e.type_of(updates).shape;
        // All elements of a window have one number.
        let rows: Vec<i64> = (0..shape.len())
            .filter(|&d| !spec.update_window_dims.contains(&(d as u32)))
            .map(|d| shape[d])
            .collect();
        let count: i64 = rows.iter().product();
        let line = e.tensor(OpKind::Iota { dim: 0 }, &[], &[count], DType::I32);
        let one = e.number(1.0, line);
        let line = e.add(line, one);
        let grid = e.tensor(OpKind::Reshape, &[line], &rows, DType::I32);
        let dims = (0..shape.len() as u32).filter(|d| !spec.update_window_dims.contains(d)).collect();
        let numbers = e.spread(grid, dims, &shape).ok_or(error)?;
        let like = e.type_of(x).shape;
        let nothing = e.zeros(&like, DType::I32);
        let scalar = e.module().types.tensor(&[], DType::I32);
        let module = e.module();
        let write = module.add_region(&[scalar, scalar]);
        let new = module.regions[write].args[1];
        let end = module.add_op(OpKind::Return, &[new], &[], &[]);
        module.set_ops(write, vec![end]);
        let ty = module.values[nothing].ty;
        let kind = OpKind::Scatter(Box::new(spec.clone()));
        let op = e.op(kind, &[nothing, indices, numbers], &[ty], &[write]);
        debug_assert!(writes(e.module(), region));
        (e.module().ops[op].results[0], numbers)
    };
    let there = read_back(at, spec, written)?;
    let (stays, counts, zero, none) = {
        let mut e = at.primal();
        let nothing = e.number(0.0, written);
        let (shape, part) = (e.type_of(written).shape, e.type_of(numbers).shape);
        let equal = OpKind::Compare(CompareDirection::EQ, None);
        let stays = e.tensor(equal.clone(), &[written, nothing], &shape, DType::I1);
        let counts = e.tensor(equal, &[there, numbers], &part, DType::I1);
        (stays, counts, e.zeros_like(x), e.zeros_like(updates))
    };
    let dx = match at.tangent(0) {
        Some(dx) => at.tape().alike_to(OpKind::Select, &[stays, dx, zero], x),
        None => zero,
    };
    match at.tangent(2) {
        Some(du) => {
            let du = at.tape().alike_to(OpKind::Select, &[counts, du, none], updates);
            Ok(Some(on_tape(at, spec, [dx, du], ReductionKind::Add)?))
        }
        None => Ok(Some(dx)),
    }
}
