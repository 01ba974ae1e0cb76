//! Lints about donated arguments and the results that reuse their memory.

use shardc_ir::{AttrDict, Class, Diagnostic};

use super::subject::{Subject, local_bytes};
use crate::report::byte_size::bytes_text;

/// Reports donated arguments whose sharding differs from that of the result that reuses their memory. If the local shapes differ too, the
/// memory cannot be reused at all.
pub(super) fn disagreeing(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let func = &subject.module.funcs[subject.func];
    let mut out = Vec::new();
    for (i, ty, sharding) in subject.args() {
        let Some(result) = func.arg_attrs.get(i).and_then(AttrDict::donated_to) else { continue };
        let pair = subject.results().find(|&(r, ..)| r == result);
        let Some((r, result_ty, other)) = pair else { continue };
        if sharding.same_placement(other) {
            continue;
        }
        let (mesh, other_mesh) = (subject.mesh(sharding), subject.mesh(other));
        let (given, taken) = (local_bytes(mesh, ty, sharding), local_bytes(other_mesh, result_ty, other));
        // Shapes are compared, not sizes in bytes: two shardings of an 8x8 tensor over 2 devices, `[{"x"}, {}]` and `[{}, {"x"}]`, have
        // blocks of 4x8 and 8x4, and no buffer fits both.
        let fits = sharding.local_shape(mesh, &ty.shape) == other.local_shape(other_mesh, &result_ty.shape);
        let loss = if fits {
            "a caller that feeds the result back in must reshard it".to_owned()
        } else {
            format!("the memory cannot be reused, which costs {} per device", bytes_text(taken.min(given)))
        };
        let message = format!(
            "{} is donated to result {r}, but is sharded {}, and the result is sharded {}: {loss}",
            subject.arg_text(i),
            sharding.display(mesh),
            other.display(other_mesh)
        );
        let mut warning = Diagnostic::warning(Class::InvalidInput, "", message)
            .at(func.arg_span(i))
            .note(func.res_span(r), "the result".to_owned())
            .hint(format!("annotate the result like the argument: {}", sharding.display(mesh)));
        warning.user_loc = subject.arg_loc(i);
        out.push(if fits { warning } else { warning.bytes(taken.min(given)) });
    }
    out
}
