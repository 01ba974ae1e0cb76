//! Transposition of `while`: the transposed tape of the body, from the last iteration to the first.
//!
//! The forward loop saves the residuals of all iterations in stacked tensors, with one slice for each iteration. Two kinds of values are
//! not saved: invariant values, and values that the backward loop can recompute (the counter, and slices of invariant values at the
//! counter).

use rustc_hash::FxHashMap;
use shardc_ir::trip_count::counter;
use shardc_ir::{
    BinaryOp, Build, CompareDirection, DType, Diagnostic, InsertionPoint, Module, OpId, OpKind, RegionId,
    SizeList, TensorBuild, TypeId, ValueId,
};

use super::elementwise_loop;
use super::offload::{DEVICE, HOST, placed};
use super::residuals::{Plan, free_values, plan};
use super::slots::{self, Body, Carried};
use super::{Transposed, recompute};
use crate::checkpoint::Keep;
use crate::emit::{Arithmetic, Emit};
use crate::linearize::LoopTape;

/// Passes the cotangents of the results of `whole`, the loop on the tape, to its operands.
pub(super) fn transpose(
    t: &mut Transposed<'_, '_>,
    whole: OpId,
    looped: &LoopTape,
    asked: &[Option<ValueId>],
) -> Result<(), Box<Diagnostic>> {
    let Some(trips) = looped.trips else {
        return match elementwise_loop::transpose(t, whole, looped, asked) {
            true => Ok(()),
            false => Err(unknown_end(t.linear.module, looped.op)),
        };
    };
    let live = live(t, looped, asked);
    let at_hand = AtHand::of(t.linear.module, looped.op);
    let mut carried: Vec<usize> = (0..live.len()).filter(|&i| live[i]).collect();
    // The backward loop first carries the cotangents of the state that the loop changes, then the accumulated cotangents of values that the
    // loop only reads, as in a transposed scan.
    let body = t.linear.module.ops[looped.op].regions[1];
    let args = &t.linear.module.regions[body].args;
    carried.sort_by_key(|&i| at_hand.of.contains_key(&args[looped.carried[i]]));
    let types: Vec<TypeId> = carried.iter().map(|&i| t.linear.module.values[looped.args[i]].ty).collect();
    let counter_ty = t.linear.module.types.tensor(&[], DType::I32);
    let region = t.linear.module.add_region(&[&[counter_ty], types.as_slice()].concat());
    let args = t.linear.module.regions[region].args.clone();
    let k = args[0];

    // The transposed body.
    let mut inner = Transposed::new(t.linear);
    for (&i, &ct) in carried.iter().zip(&args[1..]) {
        if let Some(tangent) = looped.tape.returned[looped.carried[i]] {
            inner.ask(tangent, ct);
        }
    }
    inner.tape(&looped.tape, body)?;
    let mut next: Vec<ValueId> = Vec::new();
    for &i in &carried {
        let ct = inner.take(looped.args[i], whole);
        next.push(match ct {
            Some(ct) => ct,
            None => inner.emit(whole).zeros_like(looped.args[i]),
        });
    }
    let mut ops = inner.ops;
    let of_carried: Vec<Carried> = (carried.iter().zip(&args[1..]))
        .map(|(&i, &arg)| Carried { arg, from_zero: asked[i].is_none(), is_read: looped.inits[i].is_some() })
        .collect();
    let (module, op) = (&mut *t.linear.module, looped.op);
    let gone = slots::simplify(Body { module, op, trips, ops: &mut ops, next: &mut next }, &of_carried);

    // Finds the values of the forward body that the transposed body uses. The terminator is included, since a returned cotangent may also
    // be a value of the forward body.
    let end = t.linear.module.add_op(OpKind::Return, &next, &[], &[]);
    ops.push(end);
    let needed = free_values(t.linear.module, body, &ops);
    let mut policy = t.linear.checkpoint.clone();
    if t.linear.blocks.contains(&looped.op) {
        policy.keep = Keep::Nothing;
    }
    let residuals = plan(t.linear.module, body, &needed, &|arg| at_hand.of.contains_key(&arg), &policy);
    let mut outer = Outer { inits: Vec::new(), types: Vec::new(), args: Vec::new() };
    let mut before: Vec<OpId> = Vec::new();
    let map = {
        let stacks = keep(t, looped.op, trips, &residuals.kept);
        bring(t, whole, (region, k), &residuals, &at_hand, &stacks, &mut outer, &mut before)
    };
    let mut ops = recompute::place(t, &residuals, map, ops);
    ops.pop();
    let next = t.linear.module.ops[end].operands.to_vec();
    before.extend(ops);
    let mut ops = before;

    // The backward loop visits the iterations of the forward loop in reverse order.
    {
        let mut e = Emit::new(t.linear.module, &mut ops, whole);
        let one = e.splat(&1i32.to_le_bytes(), &[], DType::I32);
        let previous = e.sub(k, one);
        let returned: Vec<ValueId> = [&[previous], next.as_slice(), outer.args.as_slice()].concat();
        e.ret(&returned);
    }
    t.linear.module.set_ops(region, ops);

    let all_types: Vec<TypeId> = [&[counter_ty], types.as_slice(), outer.types.as_slice()].concat();
    let cond = condition(t, whole, &all_types);
    let mut inits = Vec::new();
    {
        let last = trips - 1;
        let mut e = t.emit(whole);
        inits.push(e.splat(&(last as i32).to_le_bytes(), &[], DType::I32));
        for &i in &carried {
            inits.push(match asked[i] {
                Some(ct) => ct,
                None => e.zeros_like(looped.args[i]),
            });
        }
    }
    inits.extend(&outer.inits);
    let back = t.emit(whole).op(OpKind::While, &inits, &all_types, &[cond, region]);
    let results = t.linear.module.ops[back].results.clone();
    for ((&i, &ct), gone) in carried.iter().zip(&results[1..]).zip(gone) {
        if let Some(tangent) = looped.inits[i].filter(|_| !gone) {
            t.ask(tangent, ct);
        }
    }
    Ok(())
}

/// Returns for each differentiable carried value whether it has a cotangent in some iteration.
fn live(t: &Transposed<'_, '_>, looped: &LoopTape, asked: &[Option<ValueId>]) -> Vec<bool> {
    let module = &*t.linear.module;
    let mut live: Vec<bool> = asked.iter().map(Option::is_some).collect();
    loop {
        let mut wanted: rustc_hash::FxHashSet<ValueId> = (0..live.len())
            .filter(|&i| live[i])
            .filter_map(|i| looped.tape.returned[looped.carried[i]])
            .collect();
        for &op in looped.tape.ops.iter().rev() {
            let data = &module.ops[op];
            if data.results.iter().any(|v| wanted.contains(v)) {
                wanted.extend(data.operands.iter().copied().filter(|&v| t.linear.is_tangent(v)));
            }
        }
        let next: Vec<bool> =
            live.iter().zip(&looped.args).map(|(&was, arg)| was || wanted.contains(arg)).collect();
        if next == live {
            return live;
        }
        live = next;
    }
}

/// The arguments of a loop's body that are not saved, since the backward loop can recompute them in each iteration.
struct AtHand {
    of: FxHashMap<ValueId, KnownArgument>,
}

#[derive(Clone, Copy, Debug)]
enum KnownArgument {
    /// The argument is invariant: in each iteration, it is equal to this initial value.
    Same(ValueId),
    /// The argument is a counter with this start and step.
    Counts(i64, i64),
}

impl AtHand {
    fn of(module: &Module, op: OpId) -> AtHand {
        let data = &module.ops[op];
        let body = data.regions[1];
        let args = &module.regions[body].args;
        let mut of = FxHashMap::default();
        let Some(end) = module.terminator(body) else { return AtHand { of } };
        for (i, (&arg, &returned)) in args.iter().zip(&module.ops[end].operands).enumerate() {
            if arg == returned {
                of.insert(arg, KnownArgument::Same(data.operands[i]));
            } else if let Some((start, step)) = counter(module, op, i) {
                of.insert(arg, KnownArgument::Counts(start, step));
            }
        }
        AtHand { of }
    }
}

/// The values that the backward loop carries unchanged.
struct Outer {
    inits: Vec<ValueId>,
    types: Vec<TypeId>,
    args: Vec<ValueId>,
}

impl Outer {
    fn carry(&mut self, module: &mut Module, region: RegionId, value: ValueId) -> ValueId {
        if let Some(i) = self.inits.iter().position(|&v| v == value) {
            return self.args[i];
        }
        let ty = module.values[value].ty;
        let arg = module.add_arg(region, ty);
        self.inits.push(value);
        self.types.push(ty);
        self.args.push(arg);
        arg
    }
}

/// Makes the forward loop save values of its body, each value in a stacked tensor with a slice for each iteration. Returns these tensors.
fn keep(t: &mut Transposed<'_, '_>, op: OpId, trips: i64, values: &[ValueId]) -> Vec<ValueId> {
    if values.is_empty() {
        return Vec::new();
    }
    let body = t.linear.module.ops[op].regions[1];
    let Some(end) = t.linear.module.terminator(body) else { return Vec::new() };
    let number = trip_number(t, op);
    let mut stacks = Vec::new();
    for &value in values {
        let ty = t.linear.module.tensor(value).cloned();
        let Some(ty) = ty else { continue };
        let shape: Vec<i64> = std::iter::once(trips).chain(ty.shape.iter().copied()).collect();
        let slot: Vec<i64> = std::iter::once(1).chain(ty.shape.iter().copied()).collect();
        let zeros = before(t, op, |e| e.zeros(&shape, ty.dtype));
        let (arg, result) = carry(t.linear.module, op, zeros);
        stacks.push(result);
        let mut ops = t.linear.module.regions[body].ops.to_vec();
        ops.pop();
        let is_away = t.linear.checkpoint.offload.takes(t.linear.module, value);
        if is_away {
            t.linear.at_host.insert(result);
        }
        let mut e = Emit::new(t.linear.module, &mut ops, op);
        let kept = if is_away { placed(&mut e, value, HOST) } else { value };
        let row = e.tensor(OpKind::Reshape, &[kept], &slot, ty.dtype);
        let mut operands = vec![arg, row, number];
        let zero = e.splat(&0i32.to_le_bytes(), &[], DType::I32);
        operands.extend(ty.shape.iter().map(|_| zero));
        let next = e.alike(OpKind::DynamicUpdateSlice, &operands);
        ops.push(end);
        t.linear.module.set_ops(body, ops);
        t.linear.module.ops[end].operands.push(next);
    }
    stacks
}

/// Inserts one operation before a loop.
fn before(t: &mut Transposed<'_, '_>, op: OpId, make: impl FnOnce(&mut Emit<'_>) -> ValueId) -> ValueId {
    let mut ops = Vec::new();
    let value = make(&mut Emit::new(t.linear.module, &mut ops, op));
    for made in ops {
        t.linear.insertions.insert(&mut InsertionPoint::Before(op), made);
    }
    value
}

/// Adds a carried value to a loop. Returns the body's argument and the loop's result. The body does not return the carried value yet.
fn carry(module: &mut Module, op: OpId, init: ValueId) -> (ValueId, ValueId) {
    let ty = module.values[init].ty;
    module.ops[op].operands.push(init);
    let regions = module.ops[op].regions.clone();
    let args: Vec<ValueId> = regions.iter().map(|&region| module.add_arg(region, ty)).collect();
    (args[1], module.add_result(op, ty))
}

/// The iteration index in the body of a forward loop, an `i32` scalar.
fn trip_number(t: &mut Transposed<'_, '_>, op: OpId) -> ValueId {
    let module = &*t.linear.module;
    let body = module.ops[op].regions[1];
    let args = module.regions[body].args.clone();
    let counts = |i: &usize| {
        counter(module, op, *i) == Some((0, 1))
            && module.tensor(args[*i]).is_some_and(|ty| ty.dtype == DType::I32)
    };
    if let Some(i) = (0..args.len()).find(counts) {
        return args[i];
    }
    let zero = before(t, op, |e| e.splat(&0i32.to_le_bytes(), &[], DType::I32));
    let (arg, _) = carry(t.linear.module, op, zero);
    let Some(end) = t.linear.module.terminator(body) else { return arg };
    let mut ops = t.linear.module.regions[body].ops.to_vec();
    ops.pop();
    let mut e = Emit::new(t.linear.module, &mut ops, op);
    let one = e.splat(&1i32.to_le_bytes(), &[], DType::I32);
    let next = e.add(arg, one);
    ops.push(end);
    t.linear.module.set_ops(body, ops);
    t.linear.module.ops[end].operands.push(next);
    arg
}

/// Makes values of the forward body available in the backward body. Returns a map from each value to its replacement.
#[allow(clippy::too_many_arguments, reason = "the arguments describe the two loops")]
fn bring(
    t: &mut Transposed<'_, '_>,
    whole: OpId,
    (region, k): (RegionId, ValueId),
    residuals: &Plan,
    at_hand: &AtHand,
    stacks: &[ValueId],
    outer: &mut Outer,
    ops: &mut Vec<OpId>,
) -> FxHashMap<ValueId, ValueId> {
    let mut map: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    for (&value, &stack) in residuals.kept.iter().zip(stacks) {
        let arg = outer.carry(t.linear.module, region, stack);
        let Some(ty) = t.linear.module.tensor(value).cloned() else { continue };
        let is_away = t.linear.checkpoint.offload.takes(t.linear.module, value);
        let mut e = Emit::new(t.linear.module, ops, whole);
        let zero = e.splat(&0i32.to_le_bytes(), &[], DType::I32);
        let mut operands = vec![arg, k];
        operands.extend(ty.shape.iter().map(|_| zero));
        let sizes: SizeList = std::iter::once(1).chain(ty.shape.iter().copied()).collect();
        let slot = e.tensor(OpKind::DynamicSlice { sizes: sizes.clone() }, &operands, &sizes, ty.dtype);
        let row = e.tensor(OpKind::Reshape, &[slot], &ty.shape, ty.dtype);
        map.insert(value, if is_away { placed(&mut e, row, DEVICE) } else { row });
    }
    for &arg in &residuals.args {
        let value = match at_hand.of.get(&arg) {
            Some(&KnownArgument::Same(init)) => outer.carry(t.linear.module, region, init),
            Some(&KnownArgument::Counts(start, step)) => {
                let mut e = Emit::new(t.linear.module, ops, whole);
                let Some(dtype) = e.dtype(arg) else { continue };
                let number = e.convert(k, dtype);
                let steps = if step == 1 {
                    number
                } else {
                    let step = e.number(step as f64, number);
                    e.mul(number, step)
                };
                if start == 0 {
                    steps
                } else {
                    let start = e.number(start as f64, number);
                    e.binary(BinaryOp::Add, start, steps)
                }
            }
            None => continue,
        };
        map.insert(arg, value);
    }
    map
}

/// Builds the condition of the backward loop: true while iterations remain.
fn condition(t: &mut Transposed<'_, '_>, whole: OpId, types: &[TypeId]) -> RegionId {
    let region = t.linear.module.add_region(types);
    let k = t.linear.module.regions[region].args[0];
    let mut ops = Vec::new();
    let mut e = Emit::new(t.linear.module, &mut ops, whole);
    let zero = e.splat(&0i32.to_le_bytes(), &[], DType::I32);
    let signed = Some(shardc_ir::CompareType::Signed);
    let more = e.tensor(OpKind::Compare(CompareDirection::GE, signed), &[k, zero], &[], DType::I1);
    e.ret(&[more]);
    t.linear.module.set_ops(region, ops);
    region
}

/// The error for a loop with an unknown trip count that is not element-wise.
fn unknown_end(module: &Module, op: OpId) -> Box<Diagnostic> {
    let message = "cannot differentiate a while loop with an unknown trip count in reverse mode";
    let hint = "use an integer counter with constant step and bound (as jax.lax.scan and fori_loop with constant bounds do), use only \
     elementwise operations in the body, or use forward mode (jvp)";
    let mut error = Diagnostic::unsupported("SH1004", message).at(module.ops[op].span).hint(hint);
    error.user_loc = module.user_loc(op);
    Box::new(error)
}
