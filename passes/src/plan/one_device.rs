//! Values on one named device (`<[], device_ids=[3]>`): Shardy has them, a program that all devices run has not.

use shardc_ir::{Diagnostic, FuncId, Module, OpKind, RegionId, ShardingId, Span};

/// Refuses values that are on one device only: every device runs the same program.
pub(super) fn check(module: &Module, func: FuncId, body: RegionId) -> Result<(), Vec<Diagnostic>> {
    if module.meshes.values().all(|mesh| !mesh.is_maximal()) {
        return Ok(());
    }
    let refused = |id: ShardingId, span: Span, what: String| {
        let mesh = &module.meshes[module.shardings.get(id).mesh];
        let device = mesh.device_ids.as_ref().and_then(|ids| ids.first()).filter(|_| mesh.is_maximal())?;
        let message = format!("{what} is on device {device} only");
        Some(
            Diagnostic::unsupported("SH0311", message).at(span).hint(
                "every device runs the same program: replicate the value, or split it along a mesh axis",
            ),
        )
    };
    let data = &module.funcs[func];
    let args = module.regions[body].args.iter().enumerate().filter_map(|(i, &arg)| {
        refused(module.shardings.of(arg)?, data.span, format!("argument {i} of @{}", data.name))
    });
    let results = data
        .res_shardings
        .iter()
        .enumerate()
        .filter_map(|(i, id)| refused(id.expand()?, data.span, format!("result {i} of @{}", data.name)));
    let ops = module.walk(body);
    let ops = ops.into_iter().filter_map(|op| {
        let op = &module.ops[op];
        let asked = match &op.kind {
            OpKind::ShardingConstraint(id) | OpKind::Reshard(id) => Some(*id),
            _ => None,
        };
        let mut ids = asked.into_iter().chain(op.results.iter().filter_map(|&r| module.shardings.of(r)));
        ids.find_map(|id| refused(id, op.span, format!("the result of {}", op.kind.name())))
    });
    let errors: Vec<Diagnostic> = args.chain(results).chain(ops).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
