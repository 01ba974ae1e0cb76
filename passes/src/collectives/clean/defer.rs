//! Defers the completion of sums that a loop only adds up until after the loop.
//!
//! A loop over layers or micro-batches adds a gradient, summed over devices, to a carried value each time round. The
//! devices may as well each add up their own addends, and complete the sum at the end: one collective instead of one each
//! time. That is legal where the body does nothing else with the carried value, and is done where the loop is known to
//! run, and the pending sum is not much larger on a device than the complete one.
//!
//! A gradient may be summed in a narrower type than it is accumulated in: `bf16` and `f32`, as mixed precision has it. Addends are widened then,
//! which loses nothing, and the sum is completed in the wider type, where the loop runs so often that this sends no more.

use shardc_ir::{
    BinaryOp, Build, Builder, DType, Dense, Module, OpId, OpKind, PackedOption, ReductionKind, RegionId,
    Rewriter, SecondaryMap, ShardingId, ValueId,
};

use crate::analysis::accumulated;
use crate::analysis::reducer::{identity, is_identity};
use crate::analysis::regions::has_program_regions;
use crate::analysis::trip_count;
use crate::transforms::merge_reductions::pending_source;

/// Defers sums under a function body of a planned module; each loop may keep `keep_bytes` more for it. Returns the number of
/// sums. The reshards that are no longer needed stay, unused.
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

/// How many operands each value is, and the last operation that has it.
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

    /// Returns the operation that alone reads a value, once.
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

/// A carried value to which the body only adds.
struct Accumulator {
    /// The additions in order.
    additions: Vec<Addition>,
    pending: ShardingId,
    wanted: ShardingId,
}

/// An operation that adds a completed sum, which is the reshard of a pending one.
struct Addition {
    op: OpId,
    /// Which operand the sum is.
    side: usize,
    /// What converts the sum to a wider type before it is added, if anything does.
    widened: Option<OpId>,
    pending: ValueId,
}

/// What widens a number to make a value.
fn widening(module: &Module, value: ValueId) -> Option<(OpId, ValueId)> {
    let op = module.def_op(value)?;
    let &[narrow] = module.ops[op].operands.as_slice() else { return None };
    let (from, to) = (module.tensor(narrow)?.dtype, module.tensor(value)?.dtype);
    // Every number of a type of fewer bits is one of these, too.
    let is_wide = matches!(to, DType::F32 | DType::F64) && from.is_float() && from.bits() < to.bits();
    (is_wide && matches!(module.ops[op].kind, OpKind::Convert)).then_some((op, narrow))
}

/// Returns carried value `i` of a loop, if it is an accumulator.
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
    // A condition on the sum would see an addend of it.
    if readers.count[in_cond] != 0 {
        return None;
    }
    let same = |a: ShardingId, b: ShardingId| module.shardings.get(a).same_placement(module.shardings.get(b));
    let mut additions = Vec::new();
    let mut pending = None;
    // Anybody else who reads a value on the way would see an addend in place of the sum.
    for (addition, side) in accumulated::additions(module, body, i, |value| readers.only(value))? {
        let data = &module.ops[addition];
        let added = data.operands[side];
        readers.only(added)?;
        let widening = widening(module, added);
        let completed = widening.map_or(added, |(_, narrow)| narrow);
        readers.only(completed)?;
        let (source, sharding) = pending_source(module, completed)?;
        let bits = |value| module.tensor(value).map(|ty| u64::from(ty.dtype.bits()));
        if bits(completed)?.saturating_mul(trip_count::trips(module, op)) < bits(added)? {
            return None;
        }
        // All addends must be pending along one list of axes, since one reshard completes them.
        let is_wanted = |value| Some(same(module.shardings.of(value)?, wanted));
        if !is_wanted(completed)? || !is_wanted(added)? || !same(*pending.get_or_insert(sharding), sharding) {
            return None;
        }
        if !same(module.shardings.of(data.results[0])?, wanted) {
            return None;
        }
        let widened = widening.map(|(convert, _)| convert);
        additions.push(Addition { op: addition, side, widened, pending: source });
    }
    let pending = pending?;
    let bytes = |sharding: ShardingId| -> Option<u64> {
        let (ty, sharding) = (module.tensor(arg)?, module.shardings.get(sharding));
        let shape = sharding.local_shape(&module.meshes[sharding.mesh], &ty.shape);
        u64::try_from(shape.iter().product::<i64>()).ok()?.checked_mul(ty.dtype.bytes() as u64)
    };
    *budget = budget.checked_sub(bytes(pending)?.saturating_sub(bytes(wanted)?))?;
    Some(Accumulator { additions, pending, wanted })
}

/// Carries the pending sum from zero. Returns what completes it after the loop.
fn rewrite(rw: &mut Rewriter<'_>, op: OpId, i: usize, sum: &Accumulator, readers: &mut Readers) -> Vec<OpId> {
    let module = &mut *rw.module;
    let &Accumulator { ref additions, pending, wanted } = sum;
    let (first, result) = (module.ops[op].operands[i], module.ops[op].results[i]);
    let ty = module.values[result].ty;
    let zero = module.tensor(result).and_then(|t| identity(ReductionKind::Add, t.dtype)).unwrap_or_default();
    // The value that goes in is whole: as an addend it would count once for each device, so it is added after the loop.
    let zeros = rw.op1(OpKind::Constant(Dense::splat(&zero)), &[], ty);
    let module = &mut *rw.module;
    module.shardings.set(zeros, Some(pending));
    module.ops[op].operands[i] = zeros;
    readers.add(zeros, op);
    for region in module.ops[op].regions.clone() {
        let arg = module.regions[region].args[i];
        module.shardings.set(arg, Some(pending));
    }
    for addition in additions {
        // What read the addend was a reshard, which is dead.
        let (reader, operand) = match addition.widened {
            Some(convert) => {
                module.shardings.set(module.ops[convert].results[0], Some(pending));
                (convert, 0)
            }
            None => (addition.op, addition.side),
        };
        module.ops[reader].operands[operand] = addition.pending;
        readers.last[addition.pending] = reader.into();
        module.shardings.set(module.ops[addition.op].results[0], Some(pending));
    }
    module.renew_result(op, i);
    let carried = module.ops[op].results[i];
    module.shardings.set(carried, Some(pending));
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
