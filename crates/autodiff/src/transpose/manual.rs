//! Transposition of manual computations, by another manual computation.
//!
//! If a result is replicated along manual axes, its cotangent is divided equally between the replicas. If an operand is replicated along
//! manual axes, its cotangent is the sum over the replicas: the contributions of the devices are stacked along a new leading dimension,
//! which is sharded along these axes. The contributions are summed outside of the manual computation, where the sum may stay unreduced.
//! Residuals of the forward computation are stacked in the same way.

use rustc_hash::FxHashMap;
use shardc_ir::{
    AxisList, Build, Diagnostic, DimList, DimSharding, ManualSpec, MeshId, Module, OpId, OpKind, ShardingId,
    TensorBuild, TensorSharding, Type, TypeId, ValueId,
};

use super::residuals::{free_values, plan};
use super::{Transposed, recompute};
use crate::emit::{Arithmetic, Emit};
use crate::linearize::ManualTape;
use crate::linearize::manual::{mesh_of, repeated};

/// Passes the cotangents of the results of `whole`, the computation on the tape, to its operands.
pub(super) fn transpose(
    t: &mut Transposed<'_, '_>,
    whole: OpId,
    manual: &ManualTape,
    asked: &[Option<ValueId>],
) -> Result<(), Box<Diagnostic>> {
    let (forward, op) = (t.linear.module.ops[manual.op].clone(), manual.op);
    let OpKind::ManualComputation(spec) = &forward.kind else { return Ok(()) };
    let Some(mesh) = mesh_of(t.linear.module, spec) else { return Ok(()) };
    let body = forward.regions[0];
    let Some(terminator) = t.linear.module.terminator(body) else { return Ok(()) };
    let returned = t.linear.module.ops[terminator].operands.clone();
    let region = t.linear.module.add_region(&[]);
    let mut back = Back {
        spec: ManualSpec { manual_axes: spec.manual_axes.clone(), ..ManualSpec::default() },
        operands: Vec::new(),
    };

    // The cotangents of values in the body, on each device.
    let mut inner = Transposed::new(t.linear);
    for (i, &tangent) in manual.tape.returned.iter().enumerate() {
        let (Some(tangent), Some(ct)) = (tangent, asked[i]) else { continue };
        let ty = inner.linear.module.values[returned[i]].ty;
        let arg = inner.linear.module.add_arg(region, ty);
        back.operands.push(ct);
        back.spec.in_shardings.push(spec.out_shardings[i]);
        let (_, count) = repeated(inner.linear.module, spec, spec.out_shardings[i]);
        let part = match count {
            1 => arg,
            _ => {
                let mut e = inner.emit(whole);
                let share = e.number(1.0 / count as f64, arg);
                e.mul(arg, share)
            }
        };
        inner.ask(tangent, part);
    }
    inner.tape(&manual.tape, body)?;

    // The contributions of each device to the cotangents of operands.
    let outside = inner.linear.module.ops[whole].operands.to_vec();
    let (mut values, mut given, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for ((&i, &arg), &tangent) in manual.operands.iter().zip(&manual.args).zip(&outside) {
        let Some(ct) = inner.take(arg, whole) else { continue };
        let sharding = spec.in_shardings[i];
        let (axes, count) = repeated(inner.linear.module, spec, sharding);
        let ty = inner.linear.module.values[forward.operands[i]].ty;
        let is_stacked = count > 1;
        if is_stacked {
            values.push(in_front(&mut inner.emit(whole), ct));
            back.spec.out_shardings.push(stacked(inner.linear.module, mesh, &axes, sharding));
            types.push(with_count(inner.linear.module, ty, count));
        } else {
            values.push(ct);
            back.spec.out_shardings.push(sharding);
            types.push(ty);
        }
        given.push((tangent, is_stacked));
    }
    let mut ops = inner.ops;
    if values.is_empty() {
        return Ok(());
    }
    // The terminator is included when values of the forward body are searched below, since a returned cotangent may be one of them.
    let end = t.linear.module.add_op(OpKind::Return, &values, &[], &[]);
    ops.push(end);

    let needed = free_values(t.linear.module, body, &ops);
    let checkpoint = t.linear.checkpoint;
    let residuals = plan(t.linear.module, body, &needed, &|_| true, checkpoint);
    let mut stand_ins: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let args = t.linear.module.regions[body].args.clone();
    for &arg in &residuals.args {
        if let Some(i) = args.iter().position(|&a| a == arg) {
            let ty = t.linear.module.values[arg].ty;
            stand_ins.insert(arg, t.linear.module.add_arg(region, ty));
            back.operands.push(forward.operands[i]);
            back.spec.in_shardings.push(spec.in_shardings[i]);
        }
    }
    let mut first: Vec<OpId> = Vec::new();
    let stacks = keep_stacked(t, op, mesh, &residuals.kept);
    for (&value, &(stack, sharding)) in residuals.kept.iter().zip(&stacks) {
        let module = &mut *t.linear.module;
        let ty = module.values[value].ty;
        let row = with_count(module, ty, 1);
        let arg = module.add_arg(region, row);
        back.operands.push(stack);
        back.spec.in_shardings.push(sharding);
        let own = Emit::new(module, &mut first, whole).op1(OpKind::Reshape, &[arg], ty);
        stand_ins.insert(value, own);
    }
    first.extend(recompute::place(t, &residuals, stand_ins, ops));
    t.linear.module.set_ops(region, first);
    let kind = OpKind::ManualComputation(Box::new(back.spec));
    let made = t.emit(whole).op(kind, &back.operands, &types, &[region]);
    let results = t.linear.module.ops[made].results.clone();
    for (&(tangent, is_stacked), &ct) in given.iter().zip(&results) {
        let ct = match is_stacked {
            true => t.emit(whole).sum(ct, DimList::from_slice(&[0])).unwrap_or(ct),
            false => ct,
        };
        t.ask(tangent, ct);
    }
    Ok(())
}

/// The manual computation of the backward pass, under construction.
struct Back {
    spec: ManualSpec,
    operands: Vec<ValueId>,
}

/// Makes the forward computation return values of its body, stacked along a new leading dimension with an element for each device. Returns
/// the stacked values and their shardings.
fn keep_stacked(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    mesh: MeshId,
    values: &[ValueId],
) -> Vec<(ValueId, ShardingId)> {
    let OpKind::ManualComputation(mut spec) = t.linear.module.ops[op].kind.clone() else { return Vec::new() };
    let body = t.linear.module.ops[op].regions[0];
    let Some(end) = t.linear.module.terminator(body) else { return Vec::new() };
    let count = t.linear.module.meshes[mesh].axes_size(&spec.manual_axes);
    let mut ops = t.linear.module.regions[body].ops.to_vec();
    ops.pop();
    let mut out = Vec::new();
    for &value in values {
        let row = in_front(&mut Emit::new(t.linear.module, &mut ops, op), value);
        let module = &mut *t.linear.module;
        let rank = module.rank(value);
        let open = module.shardings.intern(TensorSharding::open(mesh, rank));
        let sharding = stacked(module, mesh, &spec.manual_axes, open);
        spec.out_shardings.push(sharding);
        module.ops[end].operands.push(row);
        let ty = with_count(module, module.values[value].ty, count);
        out.push((module.add_result(op, ty), sharding));
    }
    ops.push(end);
    t.linear.module.set_ops(body, ops);
    t.linear.module.ops[op].kind = OpKind::ManualComputation(spec);
    out
}

/// The value with a new leading dimension of size 1.
fn in_front(e: &mut Emit<'_>, value: ValueId) -> ValueId {
    let ty = e.type_of(value);
    let shape: Vec<i64> = std::iter::once(1).chain(ty.shape.iter().copied()).collect();
    e.tensor(OpKind::Reshape, &[value], &shape, ty.dtype)
}

/// The type with a new leading dimension of size `count`.
fn with_count(module: &mut Module, ty: TypeId, count: i64) -> TypeId {
    let Some(mut tensor) = module.types.as_tensor(ty).cloned() else { return ty };
    tensor.shape.insert(0, count);
    module.types.intern(Type::Tensor(tensor))
}

/// The sharding of a tensor with a new leading dimension that is sharded along `axes`.
fn stacked(module: &mut Module, mesh: MeshId, axes: &AxisList, rest: ShardingId) -> ShardingId {
    let rest = module.shardings.get(rest).dims.clone();
    let dims = std::iter::once(DimSharding::closed(axes)).chain(rest);
    module.shardings.intern(TensorSharding::from_dims(mesh, dims))
}
