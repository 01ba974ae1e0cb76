//! Choices that StableHLO leaves to the implementation, and the assumptions that [`verify`](super::verify()) makes about them.

use shardc_ir::reducer::{is_identity, reduction_of};
use shardc_ir::{Module, OpId, OpKind};

/// The assumptions that [`verify`](super::verify()) makes about a program, one sentence each without a full stop.
#[must_use]
pub fn assumptions(original: &Module) -> Vec<String> {
    let ops: Vec<OpId> = original.bodies().flat_map(|body| original.walk(body)).collect();
    let reduces = ops.into_iter().filter(|&op| starts_elsewhere(original, op)).count();
    let of = match reduces {
        0 => return Vec::new(),
        1 => "1 reduce has".to_owned(),
        n => format!("{n} reduces have"),
    };
    vec![format!(
        "{of} an initial value that is not known to be the identity: the original and the partitioned program apply it once, but \
         XLA may apply it several times or not at all"
    )]
}

/// Whether an operation is a reduction whose initial value may differ from the identity of the reduction.
fn starts_elsewhere(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let inputs = data.results.len();
    let (OpKind::Reduce { .. }, Some(&region)) = (&data.kind, data.regions.first()) else { return false };
    let Some(kind) = reduction_of(module, region, inputs) else { return false };
    data.operands.iter().skip(inputs).any(|&value| !is_identity(module, value, kind))
}
