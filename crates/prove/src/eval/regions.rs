//! Regions that combine elements, as text: equal texts are equal functions.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpKind, RegionId, ValueId};

/// The operations of a region, with values numbered in order. `None` if the region uses a value of another region, or has effects.
pub(super) fn text(module: &Module, region: RegionId) -> Option<String> {
    let mut numbers = FxHashMap::default();
    let mut out = String::new();
    write_region(module, region, &mut numbers, &mut out)?;
    Some(out)
}

fn write_region(
    module: &Module,
    region: RegionId,
    numbers: &mut FxHashMap<ValueId, usize>,
    out: &mut String,
) -> Option<()> {
    let define = |values: &[ValueId], numbers: &mut FxHashMap<ValueId, usize>| {
        for &value in values {
            let next = numbers.len();
            numbers.insert(value, next);
        }
    };
    define(&module.regions[region].args, numbers);
    for &op in &module.regions[region].ops {
        let data = &module.ops[op];
        let _ = write!(out, "{};", attributes(&data.kind)?);
        for value in &data.operands {
            let _ = write!(out, "{},", numbers.get(value)?);
        }
        for &result in &data.results {
            let _ = write!(out, ":{}", module.types.display(module.values[result].ty));
        }
        for &nested in &data.regions {
            out.push('{');
            write_region(module, nested, numbers, out)?;
            out.push('}');
        }
        define(&data.results, numbers);
        out.push('\n');
    }
    Some(())
}

/// The name and attributes of an operation. `None` for operations whose results are not a function of their operands.
pub(super) fn attributes(kind: &OpKind) -> Option<String> {
    use OpKind as K;
    match kind {
        K::Call { .. }
        | K::Composite(_)
        | K::PartitionId
        | K::ReplicaId
        | K::Rng(_)
        | K::Infeed(_)
        | K::Outfeed { .. }
        | K::Send(_)
        | K::Recv(_)
        | K::AsyncStart
        | K::AsyncDone
        | K::MeshCollective(_)
        | K::ManualComputation(_)
        | K::AllReduce(_)
        | K::AllGather { .. }
        | K::ReduceScatter { .. }
        | K::AllToAll { .. }
        | K::CollectivePermute(_)
        | K::CollectiveBroadcast(_)
        | K::CollectiveReduce(_)
        | K::CrossReplicaSum(_) => None,
        kind => Some(format!("{kind:?}")),
    }
}
