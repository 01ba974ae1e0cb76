//! What a loop adds up.

use shardc_ir::{BinaryOp, Module, OpId, OpKind, RegionId, ValueId};

/// Returns the additions and subtractions that a loop body makes to carried value `i`, in order, each with the number of the operand
/// that is added or subtracted; `None` if it does anything else with that. `only_reader` tells which operation alone reads a value, once.
pub(crate) fn additions(
    module: &Module,
    body: RegionId,
    i: usize,
    only_reader: impl Fn(ValueId) -> Option<OpId>,
) -> Option<Vec<(OpId, usize)>> {
    let end = module.terminator(body)?;
    let mut value = *module.regions[body].args.get(i)?;
    let mut additions = Vec::new();
    loop {
        // Who else reads a value on the way sees a part of the sum, which may then not be completed later.
        let reader = only_reader(value)?;
        let data = &module.ops[reader];
        if reader == end {
            return (data.operands.get(i) == Some(&value)).then_some(additions);
        }
        let &[a, b] = data.operands.as_slice() else { return None };
        match data.kind {
            OpKind::Binary(BinaryOp::Add) => {}
            OpKind::Binary(BinaryOp::Subtract) if a == value && b != value => {}
            _ => return None,
        }
        additions.push((reader, usize::from(a == value)));
        value = data.results[0];
    }
}
