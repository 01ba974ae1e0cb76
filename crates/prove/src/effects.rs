//! Effects of programs that their results do not show. They are not compared.

use shardc_ir::{Attr, Effect, Module, OpId, OpKind};

use crate::eval::is_identity;
use crate::report::Place;

/// The operations that communicate with the host or over channels, and the custom calls that declare a side effect. Calls that choose
/// a memory declare one, so that compilers keep them, but only return their operand.
fn operations(module: &Module) -> impl Iterator<Item = OpId> {
    let has_effect = |op: &OpId| {
        let kind = &module.ops[*op].kind;
        let is_declared = |spec: &shardc_ir::CustomCallSpec| {
            !is_identity(&spec.target)
                && matches!(spec.props.get("has_side_effect"), Some(Attr::Bool(true) | Attr::Unit))
        };
        kind.def().effect == Effect::World || matches!(kind, OpKind::CustomCall(spec) if is_declared(spec))
    };
    module.ops.iter().map(|(op, _)| op).filter(has_effect)
}

/// Places of effects in the partitioned program, or one for the original if only it has effects.
pub(crate) fn places(original: &Module, partitioned: &Module) -> Vec<Place> {
    let place = |module: &Module, op: OpId, found: &str| Place {
        operation: module.ops[op].kind.name().to_owned(),
        span: if std::ptr::eq(module, partitioned) { module.ops[op].span } else { shardc_ir::Span::NONE },
        location: module.user_loc(op),
        found: found.to_owned(),
        needed: "effects are not compared".to_owned(),
        outputs: Vec::new(),
    };
    let mut places: Vec<Place> = operations(partitioned)
        .map(|op| place(partitioned, op, "an effect outside of the program"))
        .collect();
    if places.is_empty() {
        places.extend(
            operations(original).next().map(|op| place(original, op, "an effect that only the original has")),
        );
    }
    places
}
