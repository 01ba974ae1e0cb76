//! Residuals: values of the forward pass of a region that its backward pass uses.

use rustc_hash::FxHashSet;
use shardc_ir::{Access, DTypeClass, Effect, Module, OpId, OpKind, RegionId, ValueId, Work};

use crate::checkpoint::{Checkpoint, Keep};
use crate::replace::for_each_under;

/// Returns the values of `region` that `ops` (outside of the region) or the operations in their regions use; each once, in order of use.
pub(super) fn free_values(module: &Module, region: RegionId, ops: &[OpId]) -> Vec<ValueId> {
    let data = &module.regions[region];
    let mut inside: FxHashSet<ValueId> = data.args.iter().copied().collect();
    inside.extend(data.ops.iter().flat_map(|&op| module.ops[op].results.iter().copied()));
    let mut out = Vec::new();
    for_each_under(module, ops, |op| {
        for &value in &module.ops[op].operands {
            if inside.remove(&value) {
                out.push(value);
            }
        }
    });
    out
}

/// How the backward pass of a region obtains the forward values that it uses.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The values that the forward pass saves, in the order of the region.
    pub(super) kept: Vec<ValueId>,
    /// The operations that are recomputed, in order.
    pub(super) again: Vec<OpId>,
    /// The arguments that need not be saved and that the backward pass uses.
    pub(super) args: Vec<ValueId>,
    /// Whether a barrier ties recomputation to a cotangent. The barrier prevents CSE with the original computation, which would undo the
    /// memory savings.
    pub(super) held: bool,
}

/// Plans how the backward pass obtains the values `needed` of `region`. Arguments for which `is_at_hand` holds need not be saved. Cheap
/// operations are recomputed if that saves fewer bytes. Values that the checkpointing policy does not save are recomputed, too.
pub(super) fn plan(
    module: &Module,
    region: RegionId,
    needed: &[ValueId],
    is_at_hand: &dyn Fn(ValueId) -> bool,
    checkpoint: &Checkpoint,
) -> Plan {
    let mut inside: FxHashSet<ValueId> = FxHashSet::default();
    let mut derived: FxHashSet<ValueId> = FxHashSet::default();
    for &arg in &module.regions[region].args {
        inside.insert(arg);
        if is_at_hand(arg) {
            derived.insert(arg);
        }
    }
    let ops = &module.regions[region].ops;
    for &op in ops {
        let data = &module.ops[op];
        inside.extend(data.results.iter().copied());
        let is_derived = |v: &ValueId| !inside.contains(v) || derived.contains(v);
        if is_cheap(module, op) && data.operands.iter().all(is_derived) {
            derived.extend(data.results.iter().copied());
        }
    }
    let bytes = |v: ValueId| module.tensor(v).and_then(|ty| ty.num_bytes()).unwrap_or(i64::MAX);
    let mut wanted: FxHashSet<ValueId> = needed.iter().copied().collect();
    let mut out = Plan { held: checkpoint.keep != Keep::Everything, ..Plan::default() };
    for &op in ops.iter().rev() {
        let data = &module.ops[op];
        if !data.results.iter().any(|v| wanted.contains(v)) {
            continue;
        }
        let is_new = |v: &&ValueId| inside.contains(v) && !derived.contains(v) && !wanted.contains(v);
        if checkpoint.keep != Keep::Everything {
            if checkpoint.keeps(module, op) {
                out.kept.extend(data.results.iter().copied().filter(|v| wanted.contains(v)));
            } else {
                out.again.push(op);
                for_each_under(module, &[op], |op| {
                    wanted.extend(module.ops[op].operands.iter().copied().filter(|v| inside.contains(v)));
                });
            }
            continue;
        }
        let price: i64 = data.operands.iter().filter(is_new).map(|&v| bytes(v)).fold(0, i64::saturating_add);
        let gain: i64 = data.results.iter().map(|&v| bytes(v)).fold(0, i64::saturating_add);
        if is_cheap(module, op) && price < gain.max(1) {
            out.again.push(op);
            wanted.extend(data.operands.iter().copied().filter(|v| inside.contains(v)));
        } else {
            out.kept.extend(data.results.iter().copied().filter(|v| wanted.contains(v)));
        }
    }
    out.again.reverse();
    out.kept.reverse();
    for &arg in &module.regions[region].args {
        if wanted.contains(&arg) {
            if is_at_hand(arg) { out.args.push(arg) } else { out.kept.push(arg) }
        }
    }
    out
}

/// Whether an operation is cheap: it moves elements, compares or converts them, or operates on scalars.
fn is_cheap(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let def = data.kind.def();
    if def.effect != Effect::Pure || def.work != Work::Light || !data.regions.is_empty() {
        return false;
    }
    let is_small = || data.results.iter().all(|&v| module.tensor(v).is_some_and(|ty| ty.rank() == 0));
    let moves = matches!(def.access, Access::Rearranges | Access::Broadcasts | Access::SlicesAtRunTime);
    let decides = data.results.iter().all(|&v| {
        module
            .tensor(v)
            .is_some_and(|ty| !matches!(ty.dtype.class(), DTypeClass::Float | DTypeClass::Complex))
    });
    moves
        || decides
        || is_small()
        || matches!(data.kind, OpKind::Constant(_) | OpKind::Convert | OpKind::Select)
}
