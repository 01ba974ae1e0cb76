//! Verifies the second part of invariant I13: no value in a `sdy.manual_computation` is sharded along its manual axes.

use super::Report;
use super::structure::Program;
use crate::{AxisRef, MeshId, OpId, OpKind, ShardingId, TensorSharding};

/// The axes that are manual in a body (including those of enclosing bodies), with their meshes.
type Bound = Vec<(MeshId, AxisRef)>;

pub(super) fn check(report: &mut Report<'_>, program: &Program) {
    if program.scopes.iter().all(|scope| scope.manual.is_none()) {
        return;
    }
    // An enclosing body precedes its nested bodies, so its axes are already in `bound`.
    let mut bound: Vec<Bound> = Vec::with_capacity(program.scopes.len());
    for scope in &program.scopes {
        let mut axes = Bound::new();
        if let Some(op) = scope.manual {
            // Only a manual computation inherits manual axes. The body of a function has no enclosing body; its `parent` is 0, which has no
            // meaning.
            axes.clone_from(&bound[scope.parent as usize]);
            axes.extend(manual_axes(report, op));
            axes.sort_unstable();
            axes.dedup();
        }
        bound.push(axes);
    }
    for (&op, &scope) in program.order.iter().zip(&program.scope) {
        let axes = &bound[scope as usize];
        if !axes.is_empty()
            && let Some(text) = used(report, op, axes)
        {
            let name = report.module.ops[op].kind.name();
            let message = format!(
                "{name} uses the axis {text}, which is manual in an enclosing sdy.manual_computation"
            );
            report.hinted(
                "SH0213",
                op,
                message,
                Some("a manual axis cannot be used in the body: each device runs the body on its own shard"),
            );
        }
    }
}

/// The manual axes of an operation, on the mesh of its shardings.
fn manual_axes(report: &Report<'_>, op: OpId) -> Bound {
    let module = report.module;
    let OpKind::ManualComputation(spec) = &module.ops[op].kind else { return Bound::new() };
    let meshes = spec.in_shardings.iter().chain(&spec.out_shardings).map(|&s| module.shardings.get(s).mesh);
    let Some(mesh) = meshes.into_iter().find(|&m| !module.meshes[m].axes.is_empty()) else {
        return Bound::new();
    };
    // The result contains full axes, since all sub-axes of a manual axis are manual.
    spec.manual_axes.iter().map(|a| (mesh, AxisRef { axis: a.axis, sub: None })).collect()
}

/// Returns the text of the first axis of `bound` that the shardings of an operation use.
fn used(report: &Report<'_>, op: OpId, bound: &Bound) -> Option<String> {
    let module = report.module;
    let data = &module.ops[op];
    let find = |mesh: MeshId, mut axes: Box<dyn Iterator<Item = AxisRef> + '_>| {
        axes.find(|a| bound.binary_search(&(mesh, AxisRef { axis: a.axis, sub: None })).is_ok())
            .map(|a| module.meshes[mesh].axis_text(a))
    };
    let in_sharding = |id: ShardingId| {
        let TensorSharding { mesh, dims: _, replicated, unreduced, reduction: _ } = module.shardings.get(id);
        let sharding = module.shardings.get(id);
        let axes = sharding.split_axes().chain(replicated.iter().copied()).chain(unreduced.iter().copied());
        find(*mesh, Box::new(axes))
    };
    let of_results = data.results.iter().filter_map(|&v| module.shardings.of(v)).find_map(in_sharding);
    of_results.or_else(|| match &data.kind {
        OpKind::ShardingConstraint(id) | OpKind::Reshard(id) | OpKind::DataFlowEdge(Some(id)) => {
            in_sharding(*id)
        }
        OpKind::NamedComputation(spec) => {
            let written = spec.in_shardings.iter().chain(&spec.out_shardings).flatten();
            written.copied().find_map(in_sharding)
        }
        OpKind::MeshCollective(spec) => in_sharding(spec.out),
        OpKind::ManualComputation(spec) => {
            let own =
                manual_axes(report, op).into_iter().find_map(|(m, a)| find(m, Box::new(std::iter::once(a))));
            own.or_else(|| spec.in_shardings.iter().chain(&spec.out_shardings).copied().find_map(in_sharding))
        }
        _ => None,
    })
}
