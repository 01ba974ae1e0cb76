//! Lints about annotations that have no effect.

use shardc_ir::{Class, Diagnostic};

use super::subject::{AnnotatedValue, Subject};

/// Reports axes that shard a dimension of size one: one device along the axis holds the element, and the others hold padding.
pub(super) fn of_size_one(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.annotations().into_iter().filter_map(|annotation| size_one(subject, annotation)).collect()
}

fn size_one(subject: &Subject<'_>, annotation: AnnotatedValue<'_>) -> Option<Diagnostic> {
    let AnnotatedValue { what, ty, sharding, span, user_loc } = annotation;
    let mesh = &subject.base.meshes[sharding.mesh];
    let dim =
        (0..sharding.rank().min(ty.rank())).find(|&d| ty.shape[d] == 1 && sharding.shards(mesh, d) > 1)?;
    let parts = sharding.shards(mesh, dim);
    let message = format!(
        "the sharding {} of {what} shards dimension {dim}, which has size 1: one of {parts} devices holds the element, the others hold padding ({:.1}%)",
        sharding.display(mesh),
        100.0 * (parts - 1) as f64 / parts as f64,
    );
    let mut plain = sharding.clone();
    plain.dims[dim].axes.clear();
    let mut warning = Diagnostic::warning(Class::InvalidInput, "", message)
        .at(span)
        .hint(format!("write {}, so that every device holds the element", plain.display(mesh)));
    warning.user_loc = user_loc;
    Some(warning)
}
