//! Lints about large arguments that are replicated on every device.
//!
//! If a program shards most of its parameters, each large replicated one is reported: its annotation was probably forgotten. If a program
//! shards few parameters or none, this is probably intended (data parallelism). Such a program gets a single warning, and only if the
//! replicated parameters take much memory.

use indexmap::IndexMap;
use shardc_ir::{AxisRef, Class, Diagnostic, MeshId, TensorType};

use super::subject::{Subject, bytes_of, candidates, candidates_text, count, example, few, whole_bytes};
use crate::report::byte_size::bytes_text;

/// Unsharded parameters are reported together only if they have at least this size, in units of
/// [`LintOptions::min_bytes`](super::LintOptions::min_bytes).
const ALL_WHOLE: u64 = 1024;

/// Reports large replicated arguments, as described in the module documentation.
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
    // Bytes are compared, not counts: a program that shards its large weights and replicates many small biases shards most of its
    // parameters.
    if split_bytes < whole_bytes {
        return all_whole(subject, &whole).into_iter().collect();
    }
    whole.iter().map(|(&(ty, mesh), args)| one_type(subject, ty, mesh, args)).collect()
}

/// Returns the bytes of sharded and of replicated parameters. Parameters are the donated arguments, or all arguments if none is donated.
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

/// Returns the axis that shards the most bytes of arguments.
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
        format!("{what} replicated on each of {} devices: {} each", mesh.num_devices(), bytes_text(each));
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
            // The largest dimension is chosen, since further axes can probably divide it too.
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
        None => warning.hint(
            "no axis of the mesh divides a dimension of this argument; choose a divisible size to avoid padding",
        ),
    };
    warning.user_loc = subject.arg_loc(first);
    warning.bytes(each.saturating_mul(args.len() as u64))
}

/// Returns one warning for a program that replicates most of its parameters.
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
        "most parameters are replicated on each of {} devices: {} of at least {} take {} per device",
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
            "shard them along the axis of the batch (FSDP): {example} on this argument divides its size by {}",
            mesh.axis_size(*axis)
        ));
    }
    warning.user_loc = subject.arg_loc(first);
    Some(warning.bytes(total))
}
