//! Large values that are replicated on every device.

use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use shardc_ir::{Class, Diagnostic, OpId, OpKind, Span, TensorType};

use super::subject::{Subject, count, whole_bytes};
use crate::analysis::regions::{has_program_regions, program_ops};
use crate::driver::replicated::all_replicated;
use crate::plan::Plan;
use crate::report::byte_size::bytes_text;

/// The minimum size of a reported value, in units of [`LintOptions::min_bytes`](super::LintOptions::min_bytes).
const LARGE: u64 = 16;

/// Reports large replicated values, grouped by type. A type is reported if some operation computes a value of the type from a sharded
/// operand; if there is no such type, every type is reported. The values of other types are only counted. Exceptions:
///
/// * constants, and results of constraints;
/// * values of the size of a replicated argument (its gradient, its update) or computed from arguments only: the argument is reported
///   instead;
/// * all values, if nothing is sharded at all.
pub(super) fn replicated(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let module = subject.module;
    let ops = program_ops(module, subject.body);
    let is_split = |value| module.shardings.sharding_of(value).is_some_and(|s| !s.is_unsplit());
    let any_split = subject.args().any(|(_, _, s)| !s.is_unsplit())
        || ops.iter().any(|&op| module.ops[op].results.iter().any(|&v| is_split(v)));
    if !any_split {
        return Vec::new();
    }
    let whole_args: FxHashSet<Option<i64>> =
        subject.args().filter(|(_, _, s)| s.is_unsplit()).map(|(_, ty, _)| ty.num_elements()).collect();
    let least = subject.options.min_bytes.saturating_mul(LARGE).max(1);
    let mut kinds: IndexMap<&TensorType, (usize, Root)> = IndexMap::new();
    for op in ops {
        let data = &module.ops[op];
        let requested = matches!(data.kind, OpKind::ShardingConstraint(_) | OpKind::Reshard(_));
        if requested || has_program_regions(&data.kind) {
            continue;
        }
        for &value in &data.results {
            let (Some(ty), Some(sharding)) = (module.stored(value), module.shardings.sharding_of(value))
            else {
                continue;
            };
            let large = ty.is_static() && sharding.is_unsplit() && whole_bytes(ty) >= least;
            if !large
                || subject.is_constant(value)
                || whole_args.contains(&ty.num_elements())
                || subject.facts.requested.is_from_argument(subject.module, subject.body, value)
            {
                continue;
            }
            let split_operand = data.operands.iter().position(|&v| is_split(v));
            let root = Root { op, split_operand };
            let (count, best) = kinds.entry(ty).or_insert((0, root));
            *count += 1;
            // The finding is reported at an operation with a sharded operand, where the sharding is lost.
            if best.split_operand.is_none() && split_operand.is_some() {
                *best = root;
            }
        }
    }
    let any_root = kinds.values().any(|(_, root)| root.split_operand.is_some());
    let (reported, others): (Vec<_>, Vec<_>) =
        kinds.iter().partition(|(_, (_, root))| root.split_operand.is_some() || !any_root);
    let others: usize = others.iter().map(|(_, (num, _))| num).sum();
    reported.into_iter().map(|(ty, (num, root))| warning(subject, ty, *num, *root, others)).collect()
}

/// Reports a program in which every operation is computed on replicated values ([`all_replicated`]).
pub(super) fn everything(subject: &Subject<'_>, _: &Plan) -> Vec<Diagnostic> {
    all_replicated(subject.module, subject.body).into_iter().collect()
}

/// The operation at which a group of values is reported.
#[derive(Clone, Copy)]
struct Root {
    op: OpId,
    /// The index of the first sharded operand of the operation; `None` if no operand is sharded.
    split_operand: Option<usize>,
}

fn warning(subject: &Subject<'_>, ty: &TensorType, num: usize, root: Root, others: usize) -> Diagnostic {
    let module = subject.module;
    let data = &module.ops[root.op];
    let bytes = whole_bytes(ty);
    let message = format!(
        "the result of {}, {ty}, is replicated on every device: {}",
        data.kind.title(),
        bytes_text(bytes)
    );
    let mut warning = Diagnostic::warning(Class::InvalidInput, "", message).at(data.span);
    let split = root.split_operand.and_then(|i| Some((i, module.shardings.sharding_of(data.operands[i])?)));
    if let Some((i, sharding)) = split {
        let text = sharding.display(subject.mesh(sharding));
        warning = warning.note(Span::NONE, format!("operand {i} of this operation is sharded {text}"));
    }
    if num > 1 {
        warning = warning.note(Span::NONE, format!("{} of this type", count(num - 1, "more value")));
    }
    if others > 0 {
        let text =
            format!("also replicated: {} of other types, computed from these", count(others, "large value"));
        warning = warning.note(Span::NONE, text);
    }
    warning = warning.hint("constrain this result (sdy.sharding_constraint, with_sharding_constraint), or shard the arguments from which it is computed");
    warning.user_loc = module.user_loc(root.op);
    warning.bytes(bytes)
}
