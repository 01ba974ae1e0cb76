//! Rules of scatters.

use shardc_ir::reducer::reducer;
use shardc_ir::{
    BinaryOp, Build, CompareDirection, CompareType, DType, Diagnostic, DimList, Module, OpKind,
    ReductionKind, RegionId, ScatterSpec, TensorBuild, ValueId,
};

use super::{sum, unsupported};
use crate::emit::{Arithmetic, Emit};
use crate::linearize::expand::Combiner;
use crate::linearize::{At, Rule, Tangents};
use crate::places::{gather_of, thin};

/// One operand of a variadic scatter, with its updates, its result and their tangents.
#[derive(Clone, Copy)]
struct Lane {
    /// The operand.
    x: ValueId,
    updates: ValueId,
    y: ValueId,
    /// The indices, which all operands share.
    indices: ValueId,
    dx: Option<ValueId>,
    du: Option<ValueId>,
}

impl Lane {
    /// Returns the tangents of the operand and of the updates, with zeros for a symbolic zero.
    fn both(&self, at: &mut At<'_, '_>) -> [ValueId; 2] {
        let (x, updates) = (self.x, self.updates);
        [
            self.dx.unwrap_or_else(|| at.primal().zeros_like(x)),
            self.du.unwrap_or_else(|| at.primal().zeros_like(updates)),
        ]
    }
}

/// How a combiner combines an element with its update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combines {
    Adds,
    Subtracts,
    Multiplies,
    Picks,
    Writes,
}

/// Linearizes `scatter` with addition, multiplication, assignment, maximum or minimum; with unique indices, any element-wise combiner.
pub(super) fn scatter(at: &mut At<'_, '_>, spec: &ScatterSpec) -> Result<Rule, Box<Diagnostic>> {
    let data = &at.linear.module.ops[at.op];
    let (region, n) = (data.regions.first().copied(), data.results.len());
    let (operands, results) = (data.operands.clone(), data.results.clone());
    let Some(region) = region.filter(|_| operands.len() == 2 * n + 1) else { return Err(unsupported(at)) };
    let is_unique = spec.unique_indices == Some(true);
    let how: Option<Vec<Combines>> = (0..n).map(|i| combines(at.linear.module, region, i, n)).collect();
    let Some(how) = how else {
        return if is_unique { written(at, spec, region, n) } else { Err(unsupported(at)) };
    };
    let mut tangents = Tangents::new();
    for (i, how) in how.into_iter().enumerate() {
        let (x, updates) = (operands[i], operands[n + 1 + i]);
        let lane = Lane {
            x,
            updates,
            y: results[i],
            indices: operands[n],
            dx: at.linear.tangent(x),
            du: at.linear.tangent(updates),
        };
        if lane.dx.is_none() && lane.du.is_none() || !at.can_change(lane.y) {
            tangents.push(None);
            continue;
        }
        tangents.push(match how {
            Combines::Adds => {
                let both = lane.both(at);
                Some(on_tape(at, spec, lane, both, ReductionKind::Add)?)
            }
            Combines::Subtracts => {
                let [dx, du] = lane.both(at);
                let minus = if lane.du.is_some() { at.tape().neg(du) } else { du };
                Some(on_tape(at, spec, lane, [dx, minus], ReductionKind::Add)?)
            }
            Combines::Multiplies => multiply(at, spec, lane, is_unique)?,
            Combines::Picks => extreme(at, spec, lane)?,
            Combines::Writes if is_unique => {
                let [dx, du] = lane.both(at);
                let ty = at.linear.module.values[lane.y].ty;
                let dtype = at.linear.module.tensor(lane.y).map(|ty| ty.dtype);
                let Some(dtype) = dtype else { return Err(unsupported(at)) };
                let region = writer(at.linear.module, dtype);
                let kind = OpKind::Scatter(Box::new(spec.clone()));
                let op = at.tape().op(kind, &[dx, lane.indices, du], &[ty], &[region]);
                Some(at.linear.module.ops[op].results[0])
            }
            Combines::Writes => last_written(at, spec, lane)?,
        });
    }
    Ok(Rule::Tangents(tangents))
}

/// Returns how a combiner of `n` elements and `n` updates combines element `i` with update `i`. `None` if its result `i` depends on other
/// elements or updates, or if the combiner is not of a known form.
fn combines(module: &Module, region: RegionId, i: usize, n: usize) -> Option<Combines> {
    let data = &module.regions[region];
    let returned = *module.ops[module.terminator(region)?].operands.get(i)?;
    let (old, new) = (*data.args.get(i)?, *data.args.get(n + i)?);
    if returned == new {
        return Some(Combines::Writes);
    }
    let op = &module.ops[module.def_op(returned)?];
    let is_in_order = op.operands.as_slice() == [old, new];
    let OpKind::Binary(kind) = op.kind else { return None };
    if !is_in_order && op.operands.as_slice() != [new, old] {
        return None;
    }
    match kind {
        BinaryOp::Add => Some(Combines::Adds),
        BinaryOp::Subtract if is_in_order => Some(Combines::Subtracts),
        BinaryOp::Multiply => Some(Combines::Multiplies),
        BinaryOp::Maximum | BinaryOp::Minimum => Some(Combines::Picks),
        _ => None,
    }
}

/// Expands a scatter with any combiner and unique indices: elements are read, combined with the updates, and written.
fn written(
    at: &mut At<'_, '_>,
    spec: &ScatterSpec,
    region: RegionId,
    n: usize,
) -> Result<Rule, Box<Diagnostic>> {
    let operands = at.linear.module.ops[at.op].operands.clone();
    let Some(combiner) = Combiner::of(at.linear.module, region) else { return Err(unsupported(at)) };
    let (indices, mut args) = (operands[n], Vec::new());
    for i in 0..n {
        args.push(read_back(at, spec, operands[i], indices, operands[n + 1 + i])?);
    }
    args.extend_from_slice(&operands[n + 1..]);
    let mut e = at.primal();
    let combined = combiner.apply(&mut e, &args);
    let mut values = Vec::new();
    for (&x, &updates) in operands.iter().zip(&combined) {
        let (ty, dtype) = (e.module().values[x].ty, e.type_of(x).dtype);
        let region = writer(e.module(), dtype);
        let op = e.op(OpKind::Scatter(Box::new(spec.clone())), &[x, indices, updates], &[ty], &[region]);
        values.push(e.module().ops[op].results[0]);
    }
    Ok(Rule::Instead(values))
}

/// A combiner that returns the update.
fn writer(module: &mut Module, dtype: DType) -> RegionId {
    let scalar = module.types.tensor(&[], dtype);
    let region = module.add_region(&[scalar, scalar]);
    let new = module.regions[region].args[1];
    let end = module.add_op(OpKind::Return, &[new], &[], &[]);
    module.set_ops(region, vec![end]);
    region
}

/// Emits a scatter of tangents onto the tape.
fn on_tape(
    at: &mut At<'_, '_>,
    spec: &ScatterSpec,
    lane: Lane,
    [operand, updates]: [ValueId; 2],
    kind: ReductionKind,
) -> Result<ValueId, Box<Diagnostic>> {
    let indices = lane.indices;
    let ty = at.linear.module.values[lane.y].ty;
    let dtype = at.linear.module.tensor(lane.y).map(|ty| ty.dtype).ok_or_else(|| unsupported(at))?;
    let region = reducer(at.linear.module, kind, dtype);
    let kind = OpKind::Scatter(Box::new(spec.clone()));
    let op = at.tape().op(kind, &[operand, indices, updates], &[ty], &[region]);
    Ok(at.linear.module.ops[op].results[0])
}

/// Emits a scatter of values after the current operation.
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

/// The elements of `value` at the positions of the updates, in the shape of the updates.
fn read_back(
    at: &mut At<'_, '_>,
    spec: &ScatterSpec,
    value: ValueId,
    indices: ValueId,
    updates: ValueId,
) -> Result<ValueId, Box<Diagnostic>> {
    let error = unsupported(at);
    let mut e = at.primal();
    let (input, part) = (e.type_of(value), e.type_of(updates));
    let gather = gather_of(spec, &input.shape, &part.shape).ok_or(error)?;
    Ok(e.tensor(OpKind::Gather(Box::new(gather)), &[value, indices], &part.shape, input.dtype))
}

/// `y = x u` at an update's position. The tangent is `dx u + x du`; if several updates have the same position, each term is also multiplied
/// by the other updates.
fn multiply(
    at: &mut At<'_, '_>,
    spec: &ScatterSpec,
    lane: Lane,
    is_unique: bool,
) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let Lane { x, indices, updates, .. } = lane;
    let of_operand = match lane.dx {
        Some(dx) => Some(on_tape(at, spec, lane, [dx, updates], ReductionKind::Mul)?),
        None => None,
    };
    let of_updates = match lane.du {
        Some(du) => {
            let others = match is_unique {
                true => read_back(at, spec, x, indices, updates)?,
                false => others(at, spec, lane)?,
            };
            let change = at.tape().mul(du, others);
            let zeros = at.primal().zeros_like(x);
            Some(on_tape(at, spec, lane, [zeros, change], ReductionKind::Add)?)
        }
        None => None,
    };
    Ok(sum(at, &[of_operand, of_updates]))
}

/// Returns the product of the element at an update's position and all other updates of that position. It is computed as the product of all
/// nonzero factors divided by the update, and is zero if another factor is zero.
fn others(at: &mut At<'_, '_>, spec: &ScatterSpec, lane: Lane) -> Result<ValueId, Box<Diagnostic>> {
    let Lane { x, indices, updates, .. } = lane;
    let (product, zeros, is_zero, nonzero) = {
        let mut e = at.primal();
        let (zero, one) = (e.number(0.0, updates), e.number(1.0, updates));
        let shape = e.type_of(updates).shape;
        let equal = OpKind::Compare(CompareDirection::EQ, None);
        let is_zero = e.tensor(equal, &[updates, zero], &shape, DType::I1);
        let nonzero = e.alike_to(OpKind::Select, &[is_zero, one, updates], updates);
        let product = scattered(&mut e, spec, [x, indices, nonzero], ReductionKind::Mul);
        let counted = e.alike_to(OpKind::Select, &[is_zero, one, zero], updates);
        let none = e.zeros_like(x);
        (product, scattered(&mut e, spec, [none, indices, counted], ReductionKind::Add), is_zero, nonzero)
    };
    let product = read_back(at, spec, product, indices, updates)?;
    let zeros = read_back(at, spec, zeros, indices, updates)?;
    let mut e = at.primal();
    let (zero, own) = (e.number(0.0, updates), e.number(1.0, updates));
    let own = e.alike_to(OpKind::Select, &[is_zero, own, zero], updates);
    let shape = e.type_of(updates).shape;
    let only_own = e.tensor(OpKind::Compare(CompareDirection::EQ, None), &[zeros, own], &shape, DType::I1);
    let quotient = e.div(product, nonzero);
    Ok(e.alike_to(OpKind::Select, &[only_own, quotient, zero], updates))
}

/// Each element has the tangent of the operand or update that is the maximum or minimum; equal values contribute equal shares.
fn extreme(at: &mut At<'_, '_>, spec: &ScatterSpec, lane: Lane) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let Lane { x, indices, updates, y, .. } = lane;
    let there = read_back(at, spec, y, indices, updates)?;
    let (of_operand, of_updates, count) = {
        let mut e = at.primal();
        let equal = |e: &mut Emit<'_>, a: ValueId, b: ValueId| {
            let ty = e.type_of(a);
            let is = e.tensor(OpKind::Compare(CompareDirection::EQ, None), &[a, b], &ty.shape, DType::I1);
            e.convert(is, ty.dtype)
        };
        let (of_operand, of_updates) = (equal(&mut e, x, y), equal(&mut e, updates, there));
        let count = scattered(&mut e, spec, [of_operand, indices, of_updates], ReductionKind::Add);
        (of_operand, of_updates, count)
    };
    let [none, nothing] = {
        let mut e = at.primal();
        [e.zeros_like(x), e.zeros_like(updates)]
    };
    let dx = lane.dx.map_or(none, |dx| at.tape().mul(dx, of_operand));
    let du = lane.du.map_or(nothing, |du| at.tape().mul(du, of_updates));
    let total = on_tape(at, spec, lane, [dx, du], ReductionKind::Add)?;
    Ok(Some(at.tape().div(total, count)))
}

/// If several updates write to one position, only the update that is written last has a derivative, but StableHLO does not specify which
/// update that is. To find it, consecutive numbers are scattered in place of the updates: an update is written last if its number is at its
/// position afterwards.
fn last_written(
    at: &mut At<'_, '_>,
    spec: &ScatterSpec,
    lane: Lane,
) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let Lane { x, indices, updates, .. } = lane;
    let [whole, part] = [x, updates].map(|value| at.primal().type_of(value).shape);
    // Overlapping windows can differ only along the dimensions that they do not cover entirely.
    let thin = thin(spec, &whole, &part).ok_or_else(|| unsupported(at))?;
    let shape_of = |shape: &[i64], dims: &[u32]| dims.iter().map(|&d| shape[d as usize]).collect::<Vec<_>>();
    let thin_part = shape_of(&part, &thin.of_updates);
    let (written, numbers) = {
        let error = unsupported(at);
        let mut e = at.primal();
        // All elements of a window get the same number.
        let windows = &thin.spec.update_window_dims;
        let dims: DimList = (0..thin_part.len() as u32).filter(|d| !windows.contains(d)).collect();
        let rows = shape_of(&thin_part, &dims);
        let line = e.tensor(OpKind::Iota { dim: 0 }, &[], &[rows.iter().product()], DType::I32);
        let one = e.number(1.0, line);
        let line = e.add(line, one);
        let grid = e.tensor(OpKind::Reshape, &[line], &rows, DType::I32);
        let numbers = e.spread(grid, dims, &thin_part).ok_or(error)?;
        let nothing = e.zeros(&shape_of(&whole, &thin.of_operand), DType::I32);
        let write = writer(e.module(), DType::I32);
        let ty = e.module().values[nothing].ty;
        let kind = OpKind::Scatter(Box::new(thin.spec.clone()));
        let op = e.op(kind, &[nothing, indices, numbers], &[ty], &[write]);
        (e.module().ops[op].results[0], numbers)
    };
    let there = read_back(at, &thin.spec, written, indices, numbers)?;
    let (stays, counts, zero, none) = {
        let error = unsupported(at);
        let mut e = at.primal();
        let equal = |e: &mut Emit<'_>, a, b| {
            let shape = e.type_of(a).shape;
            e.tensor(
                OpKind::Compare(CompareDirection::EQ, Some(CompareType::Signed)),
                &[a, b],
                &shape,
                DType::I1,
            )
        };
        let nothing = e.number(0.0, written);
        let (stays, counts) = (equal(&mut e, written, nothing), equal(&mut e, there, numbers));
        let stays = e.spread(stays, thin.of_operand, &whole);
        let counts = e.spread(counts, thin.of_updates, &part);
        let (Some(stays), Some(counts)) = (stays, counts) else { return Err(error) };
        (stays, counts, e.zeros_like(x), e.zeros_like(updates))
    };
    let dx = match lane.dx {
        Some(dx) => at.tape().alike_to(OpKind::Select, &[stays, dx, zero], x),
        None => zero,
    };
    match lane.du {
        Some(du) => {
            let du = at.tape().alike_to(OpKind::Select, &[counts, du, none], updates);
            Ok(Some(on_tape(at, spec, lane, [dx, du], ReductionKind::Add)?))
        }
        None => Ok(Some(dx)),
    }
}
