//! Defers the completion of sums that a loop only adds up until after the loop.
//!
//! A loop over layers or micro-batches adds a gradient, summed over devices, to a carried value each time round. The
//! devices may as well each add up their own addends, and complete the sum at the end: one collective instead of one each
//! time. That is legal where the body does nothing else with the carried value, and is done where the loop is known to
//! run, and the pending sum is not much larger on a device than the complete one.
//!
//! A gradient may be summed in a narrower type than it is accumulated in, as mixed precision has it (`bf16` and `f32`), and JAX
//! transposes that of a weight before it is added. The devices widen and transpose their addends then, of which nothing is lost, and
//! the sum is completed in the form in which it is added, where the loop runs so often that this sends no more.

use shardc_ir::{
    BinaryOp, Build, Builder, DType, Dense, Module, OpId, OpKind, PackedOption, ReductionKind, RegionId,
    Rewriter, SecondaryMap, ShardingId, TensorSharding, ValueId,
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
    pending: TensorSharding,
    wanted: ShardingId,
}

/// An operation that adds a completed sum, which is the reshard of a pending one.
struct Addition {
    op: OpId,
    /// Which operand the sum is.
    side: usize,
    /// What makes another form of the sum before it is added, in order, and how the pending sum lies in it.
    forms: Vec<(OpId, TensorSharding)>,
    pending: ValueId,
}

/// The operations that alone bring a value to the form in which it is added, in order, and that value.
fn forms(module: &Module, added: ValueId, readers: &Readers) -> (Vec<OpId>, ValueId) {
    let (mut ops, mut value) = (Vec::new(), added);
    while let Some(op) = module.def_op(value).filter(|&op| is_form(module, op)) {
        let operand = module.ops[op].operands[0];
        if readers.only(operand).is_none() {
            break;
        }
        ops.push(op);
        value = operand;
    }
    ops.reverse();
    (ops, value)
}

/// Whether an operation gives the numbers that it takes: in a wider type, or in another order of dimensions.
fn is_form(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let dtype = |value: &ValueId| module.tensor(*value).map(|ty| ty.dtype);
    match (&data.kind, data.operands.first().and_then(dtype), data.results.first().and_then(dtype)) {
        (OpKind::Transpose { .. }, ..) => true,
        // Every number of a type of fewer bits is one of these, too.
        (OpKind::Convert, Some(from), Some(to @ (DType::F32 | DType::F64))) => {
            from.is_float() && from.bits() < to.bits()
        }
        _ => false,
    }
}

/// How what an operation makes of a value is split, where the value is split so.
fn formed(module: &Module, op: OpId, sharding: &TensorSharding) -> TensorSharding {
    let mut formed = sharding.clone();
    if let OpKind::Transpose { permutation } = &module.ops[op].kind {
        formed.dims = permutation.iter().map(|&dim| sharding.dims[dim as usize].clone()).collect();
    }
    formed
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
    let is_wanted = |value| {
        let sharding = module.shardings.get(module.shardings.of(value)?);
        Some(sharding.same_placement(module.shardings.get(wanted)))
    };
    let mut additions = Vec::new();
    let mut pending: Option<TensorSharding> = None;
    // Anybody else who reads a value on the way would see an addend in place of the sum.
    for (addition, side) in accumulated::additions(module, body, i, |value| readers.only(value))? {
        let data = &module.ops[addition];
        let added = data.operands[side];
        readers.only(added)?;
        let (ops, completed) = forms(module, added, readers);
        let (source, sharding) = pending_source(module, completed)?;
        let bits = |value| module.tensor(value).map(|ty| u64::from(ty.dtype.bits()));
        if bits(completed)?.saturating_mul(trip_count::trips(module, op)) < bits(added)? {
            return None;
        }
        let mut lies = module.shardings.get(sharding).clone();
        let mut forms = Vec::new();
        for op in ops {
            lies = formed(module, op, &lies);
            forms.push((op, lies.clone()));
        }
        // All addends must be pending along one list of axes, since one reshard completes them.
        let is_alike = pending.get_or_insert_with(|| lies.clone()).same_placement(&lies);
        if !is_wanted(added)? || !is_wanted(data.results[0])? || !is_alike {
            return None;
        }
        additions.push(Addition { op: addition, side, forms, pending: source });
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

/// Carries the pending sum from zero. Returns what completes it after the loop.
fn rewrite(rw: &mut Rewriter<'_>, op: OpId, i: usize, sum: &Accumulator, readers: &mut Readers) -> Vec<OpId> {
    let module = &mut *rw.module;
    let &Accumulator { ref additions, ref pending, wanted } = sum;
    let pending = Some(module.shardings.intern(pending.clone()));
    let (first, result) = (module.ops[op].operands[i], module.ops[op].results[i]);
    let ty = module.values[result].ty;
    let zero = module.tensor(result).and_then(|t| identity(ReductionKind::Add, t.dtype)).unwrap_or_default();
    // The value that goes in is whole: as an addend it would count once for each device, so it is added after the loop.
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
        // What read the addend was a reshard, which is dead.
        let (reader, operand) =
            addition.forms.first().map_or((addition.op, addition.side), |&(form, _)| (form, 0));
        module.ops[reader].operands[operand] = addition.pending;
        readers.last[addition.pending] = reader.into();
        for (form, lies) in &addition.forms {
            let lies = module.shardings.intern(lies.clone());
            module.shardings.set(module.ops[*form].results[0], Some(lies));
        }
        module.shardings.set(module.ops[addition.op].results[0], pending);
    }
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
