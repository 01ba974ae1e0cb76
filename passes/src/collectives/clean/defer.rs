//! Deferred reduction: moves the all-reduce of a loop-carried accumulator after the loop.
//!
//! A loop over layers or micro-batches adds an all-reduced gradient to a carried value in each iteration. Devices can accumulate partial
//! sums and reduce them once, after the loop.
//!
//! Conditions:
//! * the body does nothing else with the carried value;
//! * the loop is known to run at least once;
//! * the per-device size of the unreduced accumulator exceeds that of the reduced one by at most `keep_bytes`.
//!
//! A gradient may be reduced in a narrower type than it is accumulated in (mixed precision: `bf16` and `f32`), transposed before it is
//! added (JAX, for weights), or scaled (the mean over micro-batches). These linear operations (`analysis/linear_forms.rs`) are then
//! applied to partial sums, and the accumulator is reduced in its own type and layout. This requires a trip count that is large enough
//! for one reduction of the accumulator to send no more bytes than all reductions in the loop.

use shardc_ir::{
    BinaryOp, Build, Builder, Dense, Module, OpId, OpKind, PackedOption, ReductionKind, RegionId, Rewriter,
    SecondaryMap, ShardingId, TensorSharding, ValueId,
};

use crate::analysis::reducer::{identity, is_identity};
use crate::analysis::regions::has_program_regions;
use crate::analysis::trip_count;
use crate::analysis::{accumulated, linear_forms};

/// Defers reductions in a function body of a planned module. The values that each loop carries may grow by at most `keep_bytes` per
/// device. Returns the number of deferred reductions. Reshards that are no longer needed remain as dead code.
pub(crate) fn defer_sums(module: &mut Module, body: RegionId, keep_bytes: u64) -> usize {
    if keep_bytes == 0 {
        return 0;
    }
    let mut readers = Readers::default();
    for op in module.walk(body) {
        for &value in &module.ops[op].operands {
            readers.add(value, op);
        }
    }
    visit(&mut Rewriter::new(module), body, keep_bytes, &mut readers)
}

/// The number of uses of each value, and its last user.
#[derive(Default)]
struct Readers {
    count: SecondaryMap<ValueId, u32>,
    last: SecondaryMap<ValueId, PackedOption<OpId>>,
}

impl Readers {
    fn add(&mut self, value: ValueId, op: OpId) {
        self.count[value] += 1;
        self.last[value] = op.into();
    }

    /// Returns the user of a value that has exactly one use; `None` for any other value.
    fn only(&self, value: ValueId) -> Option<OpId> {
        self.last[value].expand().filter(|_| self.count[value] == 1)
    }
}

fn visit(rw: &mut Rewriter<'_>, region: RegionId, keep_bytes: u64, readers: &mut Readers) -> usize {
    let mut deferred = 0;
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        if has_program_regions(&rw.module.ops[op].kind) {
            for inner in rw.module.ops[op].regions.clone() {
                deferred += visit(rw, inner, keep_bytes, readers);
            }
        }
        if matches!(rw.module.ops[op].kind, OpKind::While) && trip_count::runs(rw.module, op) {
            let mut budget = keep_bytes;
            let mut after = Vec::new();
            for i in 0..rw.module.ops[op].operands.len() {
                if let Some(sum) = accumulator(rw.module, op, i, readers, &mut budget) {
                    after.extend(rewrite(rw, op, i, &sum, readers));
                    deferred += 1;
                }
            }
            rw.keep();
            after.into_iter().for_each(|completion| rw.insert(completion));
        }
    }
    deferred
}

/// A loop-carried value to which the body only adds.
struct Accumulator {
    /// The additions in order.
    additions: Vec<Addition>,
    pending: TensorSharding,
    wanted: ShardingId,
}

/// An addition in the loop body of which one operand is computed, by linear operations only, from a reduced value (the result of a
/// reshard).
struct Addition {
    op: OpId,
    /// The operand index of the reduced value in the addition.
    side: usize,
    /// The linear operations between the reshard and the addition, in order: each with the index of the operand that becomes unreduced,
    /// and the unreduced sharding of its result.
    forms: Vec<(OpId, usize, TensorSharding)>,
    pending: ValueId,
}

/// Returns loop-carried value `i` as an accumulator. Returns `None` if its reductions cannot be deferred within `budget`.
fn accumulator(
    module: &Module,
    op: OpId,
    i: usize,
    readers: &Readers,
    budget: &mut u64,
) -> Option<Accumulator> {
    let &[cond, body] = module.ops[op].regions.as_slice() else { return None };
    let (&in_cond, &arg) = (module.regions[cond].args.get(i)?, module.regions[body].args.get(i)?);
    let wanted = module.shardings.of(arg)?;
    identity(ReductionKind::Add, module.tensor(arg)?.dtype)?;
    // A loop condition that reads the accumulator would see a partial sum.
    if readers.count[in_cond] != 0 {
        return None;
    }
    let is_wanted = |value| {
        let sharding = module.shardings.get(module.shardings.of(value)?);
        Some(sharding.same_placement(module.shardings.get(wanted)))
    };
    let mut additions = Vec::new();
    let mut pending: Option<TensorSharding> = None;
    // Any other user of an intermediate value would see a partial sum.
    for (addition, side) in accumulated::additions(module, body, i, |value| readers.only(value))? {
        let data = &module.ops[addition];
        let added = data.operands[side];
        let chain = linear_forms::chain(module, added, &|value| readers.only(value).is_some())?;
        let sent = |value| linear_forms::bytes(module, value).and_then(|n| u64::try_from(n).ok());
        if sent(chain.completed)?.saturating_mul(trip_count::trips(module, op)) < sent(added)? {
            return None;
        }
        let mut lies = chain.pending;
        let mut forms = Vec::new();
        for (op, i) in chain.forms {
            lies = linear_forms::formed(module, op, i, &lies)?;
            forms.push((op, i, lies.clone()));
        }
        // All added partial sums must be unreduced along the same axes, since one reshard after the loop reduces their sum.
        let is_alike = pending.get_or_insert_with(|| lies.clone()).same_placement(&lies);
        if !is_wanted(added)? || !is_wanted(data.results[0])? || !is_alike {
            return None;
        }
        additions.push(Addition { op: addition, side, forms, pending: chain.source });
    }
    let pending = pending?;
    let bytes = |sharding: &TensorSharding| -> Option<u64> {
        let ty = module.tensor(arg)?;
        let shape = sharding.local_shape(&module.meshes[sharding.mesh], &ty.shape);
        u64::try_from(shape.iter().product::<i64>()).ok()?.checked_mul(ty.dtype.bytes() as u64)
    };
    let more = bytes(&pending)?.saturating_sub(bytes(module.shardings.get(wanted))?);
    *budget = budget.checked_sub(more)?;
    Some(Accumulator { additions, pending, wanted })
}

/// If `form` multiplies partial sums by a factor that is the same for all elements, replaces the factor by a constant with the sharding of
/// the partial sums.
fn rescale(rw: &mut Rewriter<'_>, form: OpId, i: usize, lies: &TensorSharding) -> Option<()> {
    let scale = linear_forms::needs_new_scale(rw.module, form, i, lies)?;
    let bytes = linear_forms::uniform(rw.module, scale)?;
    let ty = rw.module.values[scale].ty;
    let new = rw.op1(OpKind::Constant(Dense::splat(&bytes)), &[], ty);
    let sharding = rw.module.shardings.intern(lies.completed());
    rw.module.shardings.set(new, Some(sharding));
    *rw.module.ops[form].operands.get_mut(1 - i)? = new;
    Some(())
}

/// Makes the loop carry the unreduced sum, starting at zero. Returns the operations that reduce it after the loop.
fn rewrite(rw: &mut Rewriter<'_>, op: OpId, i: usize, sum: &Accumulator, readers: &mut Readers) -> Vec<OpId> {
    let module = &mut *rw.module;
    let &Accumulator { ref additions, ref pending, wanted } = sum;
    let pending = Some(module.shardings.intern(pending.clone()));
    let (first, result) = (module.ops[op].operands[i], module.ops[op].results[i]);
    let ty = module.values[result].ty;
    let zero = module.tensor(result).and_then(|t| identity(ReductionKind::Add, t.dtype)).unwrap_or_default();
    // The initial value is already reduced: if the partial sums started with it, it would be counted once per device. It is added after
    // the loop.
    let zeros = rw.op1(OpKind::Constant(Dense::splat(&zero)), &[], ty);
    let module = &mut *rw.module;
    module.shardings.set(zeros, pending);
    module.ops[op].operands[i] = zeros;
    readers.add(zeros, op);
    for region in module.ops[op].regions.clone() {
        let arg = module.regions[region].args[i];
        module.shardings.set(arg, pending);
    }
    for addition in additions {
        // The only user of the partial sum was a reshard, which is now dead.
        let (reader, operand) =
            addition.forms.first().map_or((addition.op, addition.side), |&(form, i, _)| (form, i));
        rw.module.ops[reader].operands[operand] = addition.pending;
        readers.last[addition.pending] = reader.into();
        for (form, i, lies) in &addition.forms {
            rescale(rw, *form, *i, lies);
            let lies = rw.module.shardings.intern(lies.clone());
            let result = rw.module.ops[*form].results[0];
            rw.module.shardings.set(result, Some(lies));
        }
        let sum = rw.module.ops[addition.op].results[0];
        rw.module.shardings.set(sum, pending);
    }
    let module = &mut *rw.module;
    module.renew_result(op, i);
    let carried = module.ops[op].results[i];
    module.shardings.set(carried, pending);
    let mut b = Builder::new(module);
    b.from_op(additions.last().map_or(op, |addition| addition.op));
    let reshard = b.op(OpKind::Reshard(wanted), &[carried], &[ty], &[]);
    readers.add(carried, reshard);
    let mut last = b.module.ops[reshard].results[0];
    if !is_identity(b.module, first, ReductionKind::Add) {
        b.module.shardings.set(last, Some(wanted));
        let add = b.op(OpKind::Binary(BinaryOp::Add), &[first, last], &[ty], &[]);
        readers.add(last, add);
        readers.last[first] = add.into();
        last = b.module.ops[add].results[0];
    } else {
        readers.count[first] -= 1;
    }
    b.module.take_over(last, result);
    b.take()
}
