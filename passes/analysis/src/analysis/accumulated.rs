//! Finds loop-carried accumulators.

use shardc_ir::{BinaryOp, Module, OpId, OpKind, RegionId, ValueId};

/// Returns the additions and subtractions that a loop body applies to carried value `i`, in order, each with the index of the operand that
/// is added to or subtracted from the carried value. Returns `None` if the body does anything else with the value. `only_reader` returns
/// the single user of a value.
pub fn additions(
    module: &Module,
    body: RegionId,
    i: usize,
    only_reader: impl Fn(ValueId) -> Option<OpId>,
) -> Option<Vec<(OpId, usize)>> {
    let end = module.terminator(body)?;
    let mut value = *module.regions[body].args.get(i)?;
    let mut additions = Vec::new();
    loop {
        // Another user would see the partial sum, so the reduction could not be deferred.
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
