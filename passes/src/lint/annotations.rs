//! Annotations that can be seen to have no effect.

use shardc_ir::{Class, Diagnostic, OpKind, Span, TensorSharding};

use super::subject::Subject;

/// Axes on dimensions of size one: one device of those along the axis holds the element, the others hold padding.
pub(super) fn of_size_one(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let (base, mut out) = (subject.base, Vec::new());
    let func = &base.funcs[subject.func];
    let mut check = |what: &str,
                     shape: &[i64],
                     sharding: &TensorSharding,
                     span: Span,
                     loc: Option<String>| {
        let mesh = &base.meshes[sharding.mesh];
        let dim =
            (0..sharding.rank().min(shape.len())).find(|&d| shape[d] == 1 && sharding.shards(mesh, d) > 1);
        let Some(dim) = dim else { return };
        let message = format!(
            "the sharding {} of {what} splits dimension {dim}, which has size 1: one device of {} holds it, the others padding",
            sharding.display(mesh),
            sharding.shards(mesh, dim),
        );
        let mut plain = sharding.clone();
        plain.dims[dim].axes.clear();
        let mut warning = Diagnostic::warning(Class::InvalidInput, "", message)
            .at(span)
            .hint(format!("write {}: every device then holds it", plain.display(mesh)));
        warning.user_loc = loc;
        out.push(warning);
    };
    for (i, &arg) in base.regions[subject.body].args.iter().enumerate() {
        if let Some(sharding) = base.shardings.sharding_of(arg) {
            check(&subject.arg_text(i), base.shape(arg), sharding, func.arg_span(i), subject.arg_loc(i));
        }
    }
    for (i, (id, &ty)) in func.res_shardings.iter().zip(&func.results).enumerate() {
        if let (Some(id), Some(ty)) = (id.expand(), base.types.stored(ty)) {
            check(&format!("result {i}"), &ty.shape, base.shardings.get(id), func.res_span(i), None);
        }
    }
    for op in base.walk(subject.body) {
        let data = &base.ops[op];
        if let (OpKind::ShardingConstraint(id), Some(&result)) = (&data.kind, data.results.first()) {
            let sharding = base.shardings.get(*id);
            check("this constraint", base.shape(result), sharding, data.span, base.user_loc(op));
        }
    }
    out
}
