//! `sdy-constant-or-scalar-merger`: merges equal constants, and equal broadcasts of one scalar, that have the same sharding and
//! are in the same region.

use shardc_ir::{AttrDict, Dense, DimList, Module, OpId, OpKind, RegionId, ShardingId, TypeId, ValueId};
use shardc_passes::internal::cse;

/// Operations with equal keys are merged.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    region: RegionId,
    ty: TypeId,
    sharding: Option<ShardingId>,
    attrs: AttrDict,
    what: What,
}

#[derive(PartialEq, Eq, Hash)]
enum What {
    Constant(Dense),
    Broadcast(ValueId, DimList),
}

/// Merges constants and broadcasts of scalars in a function body.
pub(super) fn merge(module: &mut Module, body: RegionId) {
    cse(module, body, key);
}

fn key(module: &Module, region: RegionId, op: OpId) -> Option<Key> {
    let data = &module.ops[op];
    let what = match &data.kind {
        // Cloning the constant is cheap, because both constants share the elements.
        OpKind::Constant(dense) => What::Constant(dense.clone()),
        OpKind::BroadcastInDim { dims } => {
            let &scalar =
                data.operands.first().filter(|&&v| module.tensor(v).is_some_and(|t| t.rank() == 0))?;
            What::Broadcast(scalar, dims.clone())
        }
        _ => return None,
    };
    let &result = data.results.first()?;
    let (ty, sharding) = (module.values[result].ty, module.shardings.of(result));
    Some(Key { region, ty, sharding, attrs: data.attrs.clone(), what })
}
