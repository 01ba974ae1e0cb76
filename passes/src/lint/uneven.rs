//! Lints about dimensions that are sharded into blocks of different sizes.
//!
//! A device holds `ceil(n / k)` elements, so some devices hold padding. At the program's boundary the caller must pad; inside, padding
//! costs memory and computation.

use indexmap::IndexMap;
use shardc_ir::{AxisList, Class, Diagnostic, Mesh, MeshId, OpId, Span, TensorSharding, TensorType, ValueId};

use super::subject::{AnnotatedValue, Subject, bytes_of, count, local_bytes};
use crate::analysis::regions::program_ops;
use crate::report::byte_size::bytes_text;

/// Reports annotations that shard a dimension into more blocks than it has elements, so that some devices hold only padding.
pub(super) fn more_parts_than_elements(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.annotations().into_iter().filter_map(|annotation| more_parts(subject, annotation)).collect()
}

fn more_parts(subject: &Subject<'_>, annotation: AnnotatedValue<'_>) -> Option<Diagnostic> {
    let AnnotatedValue { what, ty, sharding, span, user_loc } = annotation;
    let mesh = &subject.base.meshes[sharding.mesh];
    let dim = overfull_dim(mesh, ty, sharding)?;
    let (n, k) = (ty.shape[dim], sharding.shards(mesh, dim));
    let message = format!(
        "dimension {dim} of {what}, {ty}, is sharded {}, into more blocks than it has elements: {}",
        axes_text(mesh, sharding.axes(dim)),
        blocks_text(n, k),
    );
    let hint = match divisor_of(mesh, n) {
        Some(axis) => format!("shard another dimension, or this one along {axis}"),
        None => format!("shard another dimension: no axis of the mesh divides {n}"),
    };
    let mut warning = Diagnostic::warning(Class::InvalidInput, "", message).at(span).hint(hint);
    warning.user_loc = user_loc;
    Some(warning)
}

/// Returns the first dimension with more than one element that is sharded into more blocks than it has elements. Dimensions of size one are
/// reported by another rule, [`of_size_one`](super::annotations::of_size_one).
fn overfull_dim(mesh: &Mesh, ty: &TensorType, sharding: &TensorSharding) -> Option<usize> {
    (0..sharding.rank().min(ty.rank())).find(|&d| ty.shape[d] > 1 && ty.shape[d] < sharding.shards(mesh, d))
}

/// Reports uneven sharding of arguments and results. Dimensions with more blocks than elements are left to another rule,
/// [`more_parts_than_elements`].
pub(super) fn parameters(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let (base, func) = (subject.base, &subject.module.funcs[subject.func]);
    let is_overfull = |ty: &TensorType, given: Option<&TensorSharding>| {
        given.is_some_and(|given| overfull_dim(&base.meshes[given.mesh], ty, given).is_some())
    };
    let mut out = Vec::new();
    for (i, ty, sharding) in subject.args() {
        if is_overfull(ty, base.shardings.sharding_of(base.regions[subject.body].args[i])) {
            continue;
        }
        let what = subject.arg_text(i);
        out.extend(parameter(subject, &what, func.arg_span(i), ty, sharding, subject.arg_loc(i)));
    }
    for (i, ty, sharding) in subject.results() {
        let given = base.funcs[subject.func].res_shardings.get(i).and_then(|id| id.expand());
        if is_overfull(ty, given.map(|id| base.shardings.get(id))) {
            continue;
        }
        out.extend(parameter(subject, &format!("result {i}"), func.res_span(i), ty, sharding, None));
    }
    out
}

fn parameter(
    subject: &Subject<'_>,
    what: &str,
    span: Span,
    ty: &TensorType,
    sharding: &TensorSharding,
    user_loc: Option<String>,
) -> Option<Diagnostic> {
    let mesh = subject.mesh(sharding);
    let dim = uneven_dim(mesh, ty, sharding)?;
    let (n, k) = (ty.shape[dim], sharding.shards(mesh, dim));
    let bytes = padding(mesh, ty, sharding);
    let message = format!(
        "dimension {dim} of {what}, {ty}, is sharded {}: {}",
        axes_text(mesh, sharding.axes(dim)),
        blocks_text(n, k),
    );
    let mut warning =
        Diagnostic::warning(Class::InvalidInput, "", message).at(span).hint(match divisor_of(mesh, n) {
            Some(axis) => {
                format!("pad the dimension to {} elements, or shard it along {axis}", n + (k - n % k))
            }
            None => {
                format!("pad the dimension to {} elements: no axis of the mesh divides {n}", n + (k - n % k))
            }
        });
    warning.user_loc = user_loc;
    Some(warning.bytes(bytes))
}

/// Reports uneven sharding inside the program that causes much padding. Dimensions with the same size and the same axes are one finding.
pub(super) fn values(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let module = subject.module;
    let mut kinds: IndexMap<(i64, MeshId, &AxisList), UnevenSplit> = IndexMap::new();
    for op in program_ops(module, subject.body) {
        for &value in &module.ops[op].results {
            if subject.is_constant(value) {
                continue;
            }
            let (Some(ty), Some(sharding)) = (module.stored(value), module.shardings.sharding_of(value))
            else {
                continue;
            };
            let mesh = subject.mesh(sharding);
            let Some(dim) = uneven_dim(mesh, ty, sharding).filter(|_| ty.is_static()) else { continue };
            // Values are grouped by size and axes, so that a hundred layers with one uneven dimension are one finding.
            let key = (ty.shape[dim], sharding.mesh, &sharding.dims[dim].axes);
            let kind = kinds.entry(key).or_default();
            kind.values += 1;
            let bytes = padding(mesh, ty, sharding);
            if kind.largest.is_none_or(|(_, _, _, most)| bytes > most) {
                kind.largest = Some((op, value, dim, bytes));
            }
        }
    }
    let mut out = Vec::new();
    for ((n, mesh_id, axes), kind) in kinds {
        let Some((op, value, dim, bytes)) = kind.largest else { continue };
        if bytes < subject.options.min_bytes {
            continue;
        }
        let (mesh, data) = (&module.meshes[mesh_id], &module.ops[op]);
        let Some(ty) = module.stored(value) else { continue };
        let message = format!(
            "dimension {dim} of the result of {}, {ty}, is sharded {}: {}, {} of padding per device in this value",
            data.kind.title(),
            axes_text(mesh, axes),
            blocks_text(n, mesh.axes_size(axes)),
            bytes_text(bytes),
        );
        let mut warning = Diagnostic::warning(Class::InvalidInput, "", message)
            .at(data.span)
            .hint("choose a divisible size, or constrain the value to axes that divide it");
        if kind.values > 1 {
            warning = warning
                .note(Span::NONE, format!("{} sharded like this", count(kind.values - 1, "more value")));
        }
        warning.user_loc = module.user_loc(op);
        out.push(warning.bytes(bytes));
    }
    out
}

/// Values with a dimension of the same size that the same axes shard unevenly.
#[derive(Default)]
struct UnevenSplit {
    values: usize,
    /// For the value with the most padding: its operation, the value, the index of the dimension, and the bytes of padding.
    largest: Option<(OpId, ValueId, usize, u64)>,
}

/// Returns the first dimension whose size is not divisible by its number of shards; dimensions of size one are skipped.
fn uneven_dim(mesh: &Mesh, ty: &TensorType, sharding: &TensorSharding) -> Option<usize> {
    (0..sharding.rank().min(ty.rank()))
        .find(|&d| ty.shape[d] > 1 && ty.shape[d] % sharding.shards(mesh, d) != 0)
}

/// Returns the bytes of padding on a device: the size of its block minus an even share of the tensor.
fn padding(mesh: &Mesh, ty: &TensorType, sharding: &TensorSharding) -> u64 {
    let shards: i64 = (0..sharding.rank()).map(|d| sharding.shards(mesh, d)).product();
    local_bytes(mesh, ty, sharding)
        .saturating_sub(bytes_of(ty, &ty.shape) / u64::try_from(shards).unwrap_or(1).max(1))
}

fn axes_text(mesh: &Mesh, axes: &[shardc_ir::AxisRef]) -> String {
    let names: Vec<String> = axes.iter().map(|&a| format!("\"{}\"", mesh.axis_text(a))).collect();
    format!("{} ways along {}", mesh.axes_size(axes), names.join(" and "))
}

/// Describes the blocks: `126 elements in 8 blocks of 16, 2 of padding (1.6%)`.
fn blocks_text(n: i64, k: i64) -> String {
    let block = n / k + i64::from(n % k > 0);
    let all = block.saturating_mul(k);
    let share = 100.0 * (all - n) as f64 / all as f64;
    format!("{n} elements in {k} blocks of {block}, {} of padding ({share:.1}%)", all - n)
}

/// Returns the largest axis whose size divides `n`, as text.
fn divisor_of(mesh: &Mesh, n: i64) -> Option<String> {
    let axes = mesh.all_axes().into_iter().filter(|&a| !mesh.is_trivial(a) && n % mesh.axis_size(a) == 0);
    let largest = axes.max_by_key(|&a| mesh.axis_size(a))?;
    Some(format!("\"{}\", which divides it", mesh.axis_name(largest)))
}
