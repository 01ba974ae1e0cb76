//! Results that the compiler writes to additional memory.

use rustc_hash::FxHashSet;
use shardc_ir::{AttrDict, FuncId, Module, OpKind, ValueId};

/// Returns the results of loops that are aliased to an argument that the loop also reads, as when a scan reads a stack and returns its
/// new rows. XLA's `CopyInsertion` gives such a result memory of its own.
pub(super) fn beside_arguments(module: &Module, func: FuncId) -> FxHashSet<ValueId> {
    let data = &module.funcs[func];
    let Some(body) = data.body.map(|body| &module.regions[body]) else { return FxHashSet::default() };
    let returned = body.ops.last().map_or(&[][..], |&last| &module.ops[last].operands);
    let aliased = body.args.iter().zip(&data.arg_attrs).filter_map(|(&arg, attrs)| {
        let &result = returned.get(AttrDict::donated_to(attrs)?)?;
        let op = &module.ops[module.def_op(result)?];
        let at = op.results.iter().position(|&v| v == result)?;
        let reads = op.operands.iter().enumerate().any(|(i, &operand)| operand == arg && i != at);
        (matches!(op.kind, OpKind::While) && reads).then_some(result)
    });
    aliased.collect()
}
