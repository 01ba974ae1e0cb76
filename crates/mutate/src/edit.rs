//! Changes of programs that several mutations make.

use std::collections::BTreeSet;

use shardc_ir::{Module, OpId, OpKind, RegionId, Span, ValueId};

/// The operations of the program in order. Regions of control flow are entered, but not regions that combine two elements.
pub(crate) fn ops(module: &Module) -> Vec<OpId> {
    let enters = |kind: &OpKind| matches!(kind, OpKind::While | OpKind::If | OpKind::Case);
    module.bodies().flat_map(|body| module.walk_where(body, enters)).collect()
}

/// The region that contains an operation, and its index there.
pub(crate) fn place(module: &Module, op: OpId) -> Option<(RegionId, usize)> {
    let regions = module.bodies().flat_map(|body| module.regions_under(body));
    regions.into_iter().find_map(|region| {
        let at = module.regions[region].ops.iter().position(|&other| other == op)?;
        Some((region, at))
    })
}

/// Replaces the uses of a value, except in one operation.
pub(crate) fn replace(module: &mut Module, old: ValueId, new: ValueId, except: Option<OpId>) {
    for (_, data) in module.ops.iter_mut().filter(|(op, _)| Some(*op) != except) {
        data.operands.iter_mut().filter(|operand| **operand == old).for_each(|operand| *operand = new);
    }
}

/// Removes an operation from its region.
pub(crate) fn remove(module: &mut Module, op: OpId) {
    if let Some((region, _)) = place(module, op) {
        module.retain_ops(region, |_, other| other != op);
    }
}

/// Inserts a new operation before or after another, with the position of the other in the text. The results have the types of `types`.
pub(crate) fn insert(
    module: &mut Module,
    at: OpId,
    is_after: bool,
    (kind, operands, regions): (OpKind, &[ValueId], &[RegionId]),
    types: &[ValueId],
) -> Option<OpId> {
    let (region, index) = place(module, at)?;
    let types: Vec<_> = types.iter().map(|&value| module.values[value].ty).collect();
    let op = module.add_op(kind, operands, &types, regions);
    module.ops[op].span = module.ops[at].span;
    module.insert_op(region, index + usize::from(is_after), op);
    Some(op)
}

/// The positions in the text of the producers of operands and of the users of results.
pub(crate) fn neighbors(module: &Module, op: OpId) -> Vec<Span> {
    let uses = module.uses();
    let data = &module.ops[op];
    let producers = data.operands.iter().filter_map(|&value| module.def_op(value));
    let users = data.results.iter().flat_map(|&value| uses.of(value).iter().map(|(user, _)| *user));
    producers.chain(users).map(|op| module.ops[op].span).collect()
}

/// The values that an operation and its regions use.
pub(crate) fn used(module: &Module, op: OpId) -> BTreeSet<ValueId> {
    let inner = module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
    std::iter::once(op).chain(inner).flat_map(|op| module.ops[op].operands.iter().copied()).collect()
}
