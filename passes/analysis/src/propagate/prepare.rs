//! Checks before propagation, and the initial shardings.

use rustc_hash::FxHashMap;
use shardc_ir::{
    AxisList, AxisRef, Diagnostic, EntityRef, FuncId, Module, OpId, OpKind, RegionId, ShardingId, Span,
    TensorSharding, Type, ValueDef, ValueId,
};

use super::flow::Parents;
use super::graph::{Graph, NONE};
use super::groups;
use super::provenance::Recorder;
use super::subjects::{AnnotationSource, Subject};

/// Checks that every sharding fits its tensor and its mesh (SH0802). Returns which kinds of operations the function has.
pub(super) fn check(module: &Module, func: FuncId, body: RegionId) -> Result<Kinds, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut check = |id: ShardingId, rank: Option<usize>, span: Span| {
        let sharding = module.shardings.get(id);
        if let Err(what) = check_one(module, sharding, rank) {
            errors.push(Diagnostic::invalid("SH0802", what).at(span));
        }
    };
    let rank = |value: ValueId| module.stored(value).map(|t| t.rank());
    let data = &module.funcs[func];
    for &arg in &module.regions[body].args {
        if let Some(id) = module.shardings.of(arg) {
            check(id, rank(arg), data.span);
        }
    }
    for (id, &ty) in data.res_shardings.iter().zip(&data.results) {
        if let Some(id) = id.expand() {
            check(id, module.types.stored(ty).map(|t| t.rank()), data.span);
        }
    }
    let mut kinds = Kinds::default();
    for op in module.walk(body) {
        let data = &module.ops[op];
        kinds.see(&data.kind);
        for &result in &data.results {
            if let Some(id) = module.shardings.of(result) {
                check(id, rank(result), data.span);
            }
        }
        match &data.kind {
            OpKind::ShardingConstraint(id) | OpKind::Reshard(id) => {
                check(*id, data.results.first().and_then(|&v| rank(v)), data.span);
            }
            OpKind::ManualComputation(spec) => {
                for (id, &value) in spec.in_shardings.iter().zip(&data.operands) {
                    check(*id, rank(value), data.span);
                }
                for (id, &value) in spec.out_shardings.iter().zip(&data.results) {
                    check(*id, rank(value), data.span);
                }
            }
            _ => {}
        }
    }
    if kinds.groups {
        errors.extend(groups::check(module, &[body]));
    }
    if errors.is_empty() { Ok(kinds) } else { Err(errors) }
}

/// Which kinds of operations a function has, among the kinds that need extra steps. A step is skipped if the function has no operation of
/// its kind, since each walk over a large program takes time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds {
    /// Whether there are sharding groups.
    pub(super) groups: bool,
    /// Whether there are manual computations.
    pub(super) manual: bool,
    /// Whether there are sharding constraints.
    pub(super) constraints: bool,
    /// Whether there are named computations.
    pub(super) named: bool,
    /// Whether there are loops.
    pub(super) loops: bool,
}

impl Kinds {
    fn see(&mut self, kind: &OpKind) {
        match kind {
            OpKind::ShardingGroup { .. } => self.groups = true,
            OpKind::ManualComputation(_) => self.manual = true,
            OpKind::ShardingConstraint(_) => self.constraints = true,
            OpKind::NamedComputation(_) => self.named = true,
            OpKind::While => self.loops = true,
            _ => {}
        }
    }
}

fn check_one(module: &Module, sharding: &TensorSharding, rank: Option<usize>) -> Result<(), String> {
    let Some(mesh) = module.meshes.get(sharding.mesh) else {
        return Err("a sharding refers to a mesh that does not exist".to_owned());
    };
    let Some(rank) = rank else {
        return match sharding.rank() {
            0 => Ok(()),
            n => Err(format!("a value that is not a ranked tensor has a sharding of rank {n}")),
        };
    };
    if sharding.rank() != rank && !mesh.is_maximal() {
        return Err(format!("a tensor of rank {rank} has a sharding of rank {}", sharding.rank()));
    }
    let all: AxisList = sharding
        .split_axes()
        .chain(sharding.replicated.iter().copied())
        .chain(sharding.unreduced.iter().copied())
        .collect();
    for (i, &axis) in all.iter().enumerate() {
        let Some((name, &size)) = mesh.axes.get_index(usize::from(axis.axis)) else {
            return Err("a sharding refers to an axis that its mesh does not have".to_owned());
        };
        // Later sub-axis arithmetic uses `u32` (`sharding::sub_axes`) and divides by sizes.
        if size <= 0 || size > i64::from(u32::MAX) {
            return Err(format!("the size of axis \"{name}\" must be from 1 to {}, got {size}", u32::MAX));
        }
        if let Some(sub) = axis.sub {
            let parts = i64::from(sub.pre).saturating_mul(i64::from(sub.size));
            if parts == 0 || size % parts != 0 {
                return Err(format!(
                    "\"{name}\":({}){} is not a sub-axis of an axis of size {size}",
                    sub.pre, sub.size
                ));
            }
        }
        if all[..i].iter().any(|&other| crate::sharding::sub_axes::overlaps(axis, other)) {
            return Err(format!("axis \"{name}\" is used twice in one sharding"));
        }
    }
    Ok(())
}

/// Checks that every tensor shape is static and that there are no tuples: factors need sizes.
pub(super) fn check_shapes(module: &Module, body: RegionId) -> Result<(), Vec<Diagnostic>> {
    let wrong = |&(_, value): &(OpId, ValueId)| {
        let ty = module.values[value].ty;
        let is_tuple = matches!(module.types.get(ty), Type::Tuple(_));
        is_tuple || module.types.stored(ty).is_some_and(|tensor| !tensor.is_static())
    };
    let ops = module.walk(body);
    let mut results = ops.iter().flat_map(|&op| module.ops[op].results.iter().map(move |&value| (op, value)));
    match results.find(wrong) {
        None => Ok(()),
        Some((op, value)) => {
            let what = match module.stored(value) {
                Some(_) => "a tensor whose shape is not static",
                None => "a tuple",
            };
            Err(vec![
                Diagnostic::unsupported(
                    "SH0805",
                    format!(
                        "shardings cannot propagate through {}, which produces {what}",
                        module.ops[op].kind.title()
                    ),
                )
                .at(module.ops[op].span)
                .hint("give every tensor a static shape, and replace tuples by their elements"),
            ])
        }
    }
}

/// Returns a sharding without axes of size 1: they shard nothing, but would prevent other axes from sharding their dimension.
pub(super) fn without_trivial_axes(module: &Module, sharding: &TensorSharding) -> TensorSharding {
    let mesh = &module.meshes[sharding.mesh];
    let keep = |axes: &AxisList| -> AxisList {
        axes.iter().copied().filter(|&a: &AxisRef| !mesh.is_trivial(a)).collect()
    };
    let mut out = sharding.clone();
    for dim in &mut out.dims {
        dim.axes = keep(&dim.axes);
        if dim.axes.is_empty() && !dim.open {
            dim.priority = None;
        }
    }
    out.replicated = keep(&out.replicated);
    out.unreduced = keep(&out.unreduced);
    out.tidied()
}

/// Returns the initial sharding of each slot (values that share a sharding): that of the value in the program, if it has one.
pub(super) fn initial_shardings(
    module: &mut Module,
    main: Option<FuncId>,
    graph: &Graph,
    parents: &Parents,
) -> Vec<u32> {
    let mut out = vec![NONE; graph.values.len()];
    for (slot, value) in graph.values.iter().enumerate() {
        let Some(value) = *value else { continue };
        let mut id = module.shardings.of(value);
        match module.values[value].def() {
            ValueDef::Result(op, i) => match &module.ops[op].kind {
                OpKind::ShardingConstraint(given) | OpKind::Reshard(given) => id = Some(*given),
                OpKind::MeshCollective(collective) => id = Some(collective.out),
                OpKind::DataFlowEdge(given) => id = given.or(id),
                OpKind::ManualComputation(spec) => id = spec.out_shardings.get(i as usize).copied(),
                OpKind::NamedComputation(spec) => {
                    id = spec.out_shardings.as_ref().and_then(|list| list.get(i as usize).copied());
                }
                _ => {}
            },
            ValueDef::Arg(region, i) => match parents.parent(region).map(|op| &module.ops[op].kind) {
                Some(OpKind::ManualComputation(spec)) => {
                    let spec = spec.clone();
                    id = crate::sharding::manual::inside(module, &spec, i as usize);
                }
                Some(OpKind::NamedComputation(spec)) => {
                    id = spec.in_shardings.as_ref().and_then(|list| list.get(i as usize).copied());
                }
                _ => {}
            },
        }
        if let Some(id) = id {
            out[slot] = id.index() as u32;
        }
    }
    for result in &graph.func_results {
        let Some(func) = main else { break };
        let first = graph.values.len() - module.funcs[func].results.len();
        let given = module.funcs[func].res_shardings.get(result.result as usize - first);
        if let Some(id) = given.and_then(|id| id.expand()) {
            out[result.result as usize] = id.index() as u32;
        }
    }
    out
}

/// Records from which annotation each slot (values that share a sharding) got its initial sharding. `applied` lists the values that got the
/// sharding of a constraint.
pub(super) fn annotations(
    module: &Module,
    graph: &Graph,
    given: &[u32],
    parents: &Parents,
    applied: &[(ValueId, AnnotationSource)],
) -> Recorder {
    let mut recorder = Recorder::new(graph);
    let applied: FxHashMap<ValueId, AnnotationSource> = applied.iter().copied().collect();
    for (slot, &id) in given.iter().enumerate() {
        if id == NONE {
            continue;
        }
        let mut id = ShardingId::new(id as usize);
        let annotation = match recorder.subject(slot as u32) {
            Subject::Result(i) => AnnotationSource::Result(i),
            Subject::Value(value) => match (applied.get(&value), module.values[value].def()) {
                (Some(&annotation), _) => annotation,
                (None, ValueDef::Result(op, i)) => match &module.ops[op].kind {
                    OpKind::ShardingConstraint(_) | OpKind::Reshard(_) => AnnotationSource::Constraint(op),
                    OpKind::ManualComputation(_) => AnnotationSource::ManualOut(op, i),
                    _ => AnnotationSource::Operation(op, i),
                },
                (None, ValueDef::Arg(region, i)) => match parents.parent(region) {
                    None => AnnotationSource::Argument(i),
                    Some(op) => {
                        // The sharding of the operand also has the manual axes of the computation, so it is recorded instead of that of the
                        // argument.
                        if let OpKind::ManualComputation(spec) = &module.ops[op].kind
                            && let Some(&outside) = spec.in_shardings.get(i as usize)
                        {
                            id = outside;
                        }
                        AnnotationSource::ManualIn(op, i)
                    }
                },
            },
        };
        recorder.annotated(slot as u32, module.shardings.get(id), annotation);
    }
    recorder
}
