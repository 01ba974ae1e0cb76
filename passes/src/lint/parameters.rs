//! Large arguments that every device holds whole.
//!
//! Where a program shards its parameters, one that it leaves whole is probably forgotten, and is told. Where it shards
//! none of them, that is its strategy (data parallelism): told once, and only if much memory is at stake.

use indexmap::IndexMap;
use shardc_ir::{AxisRef, Class, Diagnostic, MeshId, TensorType};

use super::subject::{Subject, bytes_of, candidates, candidates_text, count, example, few, whole_bytes};
use crate::report::byte_size::bytes_text;

/// What all parameters have to take together, in units of [`LintOptions::min_bytes`](super::LintOptions::min_bytes),
/// before a program that shards none of them is told so.
const ALL_WHOLE: u64 = 1024;

/// See the module documentation.
pub(super) fn unsharded(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut whole: IndexMap<(&TensorType, MeshId), Vec<usize>> = IndexMap::new();
    for (i, ty, sharding) in subject.args() {
        let several = subject.mesh(sharding).num_devices() > 1;
        if several && sharding.is_unsplit() && whole_bytes(ty) >= subject.options.min_bytes.max(1) {
            whole.entry((ty, sharding.mesh)).or_default().push(i);
        }
    }
    if whole.is_empty() {
        return Vec::new();
    }
    let (split_bytes, whole_bytes) = parameter_bytes(subject);
    // By bytes: a program that splits its large weights and leaves many small biases whole shards its parameters.
    if split_bytes < whole_bytes {
        return all_whole(subject, &whole).into_iter().collect();
    }
    whole.iter().map(|(&(ty, mesh), args)| one_type(subject, ty, mesh, args)).collect()
}

/// Bytes of the parameters that are split, and of those that are whole. Parameters are arguments that are updated in
/// place; all arguments, where none is.
fn parameter_bytes(subject: &Subject<'_>) -> (u64, u64) {
    let any_updated = subject.args().any(|(i, ..)| subject.is_updated(i));
    let mut bytes = [0u64; 2];
    for (i, ty, sharding) in subject.args() {
        if !any_updated || subject.is_updated(i) {
            let sum = &mut bytes[usize::from(sharding.is_unsplit())];
            *sum = sum.saturating_add(whole_bytes(ty));
        }
    }
    (bytes[0], bytes[1])
}

/// The axis that splits most bytes of arguments: what others of their kind are split along.
fn usual_axis(subject: &Subject<'_>, mesh: MeshId) -> Option<AxisRef> {
    let mut bytes: IndexMap<AxisRef, u64> = IndexMap::new();
    for (_, ty, sharding) in subject.args().filter(|(_, _, s)| s.mesh == mesh) {
        for axis in sharding.split_axes() {
            let sum = bytes.entry(axis).or_default();
            *sum = sum.saturating_add(whole_bytes(ty));
        }
    }
    let most = bytes.values().copied().max()?;
    bytes.into_iter().find(|&(_, n)| n == most).map(|(axis, _)| axis)
}

fn one_type(subject: &Subject<'_>, ty: &TensorType, mesh_id: MeshId, args: &[usize]) -> Diagnostic {
    let (module, func) = (subject.module, &subject.module.funcs[subject.func]);
    let mesh = &module.meshes[mesh_id];
    let each = whole_bytes(ty);
    let first = args[0];
    let what = match args {
        [one] => format!("{}, {ty}, is", subject.arg_text(*one)),
        _ => format!("{} of type {ty} are", count(args.len(), "argument")),
    };
    let message =
        format!("{what} whole on each of {} devices: {} each", mesh.num_devices(), bytes_text(each));
    let mut warning = Diagnostic::warning(Class::InvalidInput, "", message).at(func.arg_span(first));
    if args.len() > 1 {
        let names = few(args.iter().map(|&i| subject.arg_name(i)));
        warning = warning.note(shardc_ir::Span::NONE, format!("they are {names}"));
    }
    let found = candidates(mesh, &ty.shape);
    let usual = usual_axis(subject, mesh_id);
    let best = found.iter().find(|(axis, _)| usual == Some(*axis)).or(found.first());
    warning = match best {
        Some((axis, dims)) => {
            // The largest dimension: it leaves the most to other axes.
            let dim = dims.iter().copied().max_by_key(|&d| (ty.shape[d], std::cmp::Reverse(d))).unwrap_or(0);
            let mut shape = ty.shape.clone();
            shape[dim] /= mesh.axis_size(*axis);
            warning.hint(format!(
                "{}; {} leaves {} per device",
                candidates_text(mesh, &found),
                example(module, mesh_id, ty.rank(), dim, *axis),
                bytes_text(bytes_of(ty, &shape)),
            ))
        }
        None => warning
            .hint("no axis of the mesh divides a dimension of it; a size that divides would need no padding"),
    };
    warning.user_loc = subject.arg_loc(first);
    warning.bytes(each.saturating_mul(args.len() as u64))
}

/// One warning for a program that leaves most of its parameters whole.
fn all_whole(
    subject: &Subject<'_>,
    whole: &IndexMap<(&TensorType, MeshId), Vec<usize>>,
) -> Option<Diagnostic> {
    let func = &subject.module.funcs[subject.func];
    let (mut total, mut num) = (0u64, 0usize);
    for ((ty, _), args) in whole {
        total = total.saturating_add(whole_bytes(ty).saturating_mul(args.len() as u64));
        num += args.len();
    }
    if total < subject.options.min_bytes.saturating_mul(ALL_WHOLE) {
        return None;
    }
    let ((ty, mesh_id), args) = whole.iter().max_by_key(|((ty, _), _)| whole_bytes(ty))?;
    let mesh = &subject.module.meshes[*mesh_id];
    let &first = args.first()?;
    let message = format!(
        "most parameters are whole on each of {} devices: {} of {} or more take {} on each",
        mesh.num_devices(),
        count(num, "argument"),
        bytes_text(subject.options.min_bytes),
        bytes_text(total),
    );
    let largest =
        format!("the largest is {}, {ty}, {}", subject.arg_text(first), bytes_text(whole_bytes(ty)));
    let mut warning = Diagnostic::warning(Class::InvalidInput, "", message)
        .at(func.arg_span(first))
        .note(func.span, largest);
    let found = candidates(mesh, &ty.shape);
    if let Some((axis, dims)) = found.first() {
        let example = example(subject.module, *mesh_id, ty.rank(), dims[0], *axis);
        warning = warning.hint(format!(
            "split them along the axis of the batch (FSDP): {example} on this one divides it by {}",
            mesh.axis_size(*axis)
        ));
    }
    warning.user_loc = subject.arg_loc(first);
    Some(warning.bytes(total))
}
