//! Writes the final shardings of the propagation graph back to the module.

use rustc_hash::FxHashMap;
use shardc_ir::{
    AxisList, Class, DYNAMIC, Diagnostic, DimSharding, EntityRef, FuncId, Mesh, MeshId, Module, OpId, OpKind,
    PackedOption, RegionId, ShardingId, TensorSharding, ValueDef, ValueId,
};

use super::flow::{Parents, while_args};
use super::graph::{Graph, NONE, aliased_pairs};
use super::subjects::Subject;
use crate::report::byte_size::bytes_text;
use crate::sharding::manual;
use crate::sharding::sub_axes::{gcd, part, pre};

/// A value or function result whose sharding was overwritten, the value or function result that had the new sharding, and that sharding.
pub(super) type Agreed = (Subject, Subject, ShardingId);

/// Writes the final sharding of every value, with all dimensions closed. A value that no axis reached is replicated, if there is a mesh.
///
/// Arguments and results are visible outside of the function. On their dimensions that the user did not shard, inferred axes are kept only
/// if they divide the size, and sub-axes are removed.
///
/// Returns the arguments and results that took the sharding of the result or argument with which they are aliased. Results that lose axes
/// are added to `uneven`.
pub(super) fn write_back(
    module: &mut Module,
    func: FuncId,
    body: RegionId,
    graph: &Graph,
    given: &[u32],
    shardings: &[u32],
    uneven: &mut Vec<Diagnostic>,
) -> Vec<Agreed> {
    let Some(mesh) = default_mesh(module, shardings) else { return Vec::new() };
    let get = |module: &Module, id: u32| -> Option<TensorSharding> {
        (id != NONE).then(|| module.shardings.get(ShardingId::new(id as usize)).clone())
    };
    let num_args = module.regions[body].args.len();
    // Closed shardings are cached, since many values share few distinct shardings.
    let mut closed: FxHashMap<(u32, usize), ShardingId> = FxHashMap::default();
    for (slot, value) in graph.values.iter().enumerate() {
        let Some(value) = *value else { continue };
        let rank = module.rank(value);
        // Parameters come first in the graph.
        let is_arg = slot < num_args && module.def_op(value).is_none();
        // Function arguments, and values at the boundary of a manual computation, must be sharded evenly.
        let at_boundary = is_arg || is_manual_value(module, value);
        if !at_boundary {
            let id = *closed.entry((shardings[slot], rank)).or_insert_with(|| {
                let sharding = get(module, shardings[slot])
                    .map_or_else(|| TensorSharding::replicated(mesh, rank), |found| found.closed());
                module.shardings.intern(sharding)
            });
            module.shardings.set(value, Some(id));
            continue;
        }
        let sharding = match get(module, shardings[slot]) {
            Some(found) => {
                let user = get(module, given[slot]);
                evenly_split(module, &found, user.as_ref(), module.shape(value), is_arg).closed()
            }
            None => TensorSharding::replicated(mesh, rank),
        };
        let id = module.shardings.intern(sharding);
        module.shardings.set(value, Some(id));
    }
    for result in &graph.func_results {
        let first = graph.values.len() - module.funcs[func].results.len();
        let i = result.result as usize - first;
        let ty = module.funcs[func].results[i];
        let Some(tensor) = module.types.stored(ty) else { continue };
        let sharding = match get(module, shardings[result.result as usize]) {
            Some(found) => {
                let user = get(module, given[result.result as usize]);
                let even = evenly_split(module, &found, user.as_ref(), &tensor.shape, true);
                uneven.extend(uneven_result(module, func, i, &found, &even));
                even.closed()
            }
            None => TensorSharding::replicated(mesh, tensor.rank()),
        };
        let id = module.shardings.intern(sharding);
        let results = module.funcs[func].results.len();
        let list = &mut module.funcs[func].res_shardings;
        list.resize(results, PackedOption::default());
        list[i] = id.into();
    }
    // Aliased pairs are handled after trimming, which may have changed only one sharding of a pair.
    agree_on_aliases(module, func, body, graph, given)
}

/// If the shardings of a donated argument and its result still differ, the annotated sharding is used for both. If neither is annotated,
/// the sharding of the argument is used for both. If both are annotated, both stay unchanged.
///
/// Returns the arguments and results that took the sharding of the result or argument with which they are aliased.
fn agree_on_aliases(
    module: &mut Module,
    func: FuncId,
    body: RegionId,
    graph: &Graph,
    given: &[u32],
) -> Vec<Agreed> {
    let mut agreed = Vec::new();
    let first = graph.values.len() - module.funcs[func].results.len();
    let is_given = |module: &Module, slot: usize| {
        given.get(slot).is_some_and(|&id| {
            id != NONE && {
                let sharding = module.shardings.get(ShardingId::new(id as usize));
                sharding.dims.iter().any(|d| !d.open || !d.axes.is_empty())
            }
        })
    };
    for (arg, result) in aliased_pairs(module, func) {
        let Some(&value) = module.regions[body].args.get(arg) else { continue };
        if module.funcs[func].results.get(result) != Some(&module.values[value].ty) {
            continue;
        }
        let of_result = module.funcs[func].res_shardings.get(result).and_then(|id| id.expand());
        let (Some(a), Some(r)) = (module.shardings.of(value), of_result) else { continue };
        if a == r {
            continue;
        }
        let arg_given = graph.slot(value).is_some_and(|slot| is_given(module, slot as usize));
        match (arg_given, is_given(module, first + result)) {
            (true, true) => {}
            (false, true) => {
                module.shardings.set(value, Some(r));
                agreed.push((Subject::Value(value), Subject::Result(result as u32), r));
            }
            (_, false) => {
                module.funcs[func].res_shardings[result] = a.into();
                agreed.push((Subject::Result(result as u32), Subject::Value(value), a));
            }
        }
    }
    agreed
}

/// Writes the shardings of values and results that an axis reached, without closing them, to all places that hold them. Other shardings
/// are unchanged.
pub(super) fn write_changed(
    module: &mut Module,
    main: Option<FuncId>,
    graph: &Graph,
    given: &[u32],
    shardings: &[u32],
) {
    let changed = |slot: usize| {
        (shardings[slot] != given[slot] && shardings[slot] != NONE)
            .then(|| ShardingId::new(shardings[slot] as usize))
    };
    let parents = Parents::of_module(module);
    for (slot, value) in graph.values.iter().enumerate() {
        let (Some(value), Some(id)) = (*value, changed(slot)) else { continue };
        match module.values[value].def() {
            ValueDef::Result(op, i) => write_result(module, op, i as usize, value, id),
            ValueDef::Arg(region, i) => match parents.parent(region) {
                Some(op) => write_arg(module, op, i as usize, id),
                None => module.shardings.set(value, Some(id)),
            },
        }
    }
    let Some(func) = main else { return };
    let results = module.funcs[func].results.len();
    for result in &graph.func_results {
        if let Some(id) = changed(result.result as usize) {
            let i = result.result as usize - (graph.values.len() - results);
            let list = &mut module.funcs[func].res_shardings;
            list.resize(results, PackedOption::default());
            list[i] = id.into();
        }
    }
}

fn write_result(module: &mut Module, op: OpId, i: usize, value: ValueId, id: ShardingId) {
    let types: Vec<usize> = module.ops[op].results.iter().map(|&v| module.rank(v)).collect();
    let open = open_like(module, id, &types);
    match &mut module.ops[op].kind {
        OpKind::DataFlowEdge(sharding) => *sharding = Some(id),
        OpKind::ManualComputation(spec) => {
            if let Some(sharding) = spec.out_shardings.get_mut(i) {
                *sharding = id;
            }
        }
        OpKind::NamedComputation(spec) => {
            if let Some(sharding) = spec.out_shardings.get_or_insert(open).get_mut(i) {
                *sharding = id;
            }
        }
        kind => {
            match kind {
                OpKind::ShardingConstraint(sharding) | OpKind::Reshard(sharding) => *sharding = id,
                OpKind::MeshCollective(spec) => spec.out = id,
                _ => {}
            }
            module.shardings.set(value, Some(id));
            // `#sdy.sharding_per_value` is one attribute for all results, so results that no axis reached get an open sharding in it.
            for (other, &sharding) in module.ops[op].results.clone().into_iter().zip(&open) {
                if module.shardings.of(other).is_none() && module.stored(other).is_some() {
                    module.shardings.set(other, Some(sharding));
                }
            }
        }
    }
}

/// Writes the sharding of a region argument to the operation that owns the region.
fn write_arg(module: &mut Module, op: OpId, i: usize, id: ShardingId) {
    match module.ops[op].kind.clone() {
        OpKind::ManualComputation(mut spec) => {
            if let Some(outside) = manual::outside(module, &spec, i, id) {
                spec.in_shardings[i] = outside;
                module.ops[op].kind = OpKind::ManualComputation(spec);
            }
        }
        OpKind::NamedComputation(mut spec) => {
            let types: Vec<usize> = module.ops[op].operands.iter().map(|&v| module.rank(v)).collect();
            let open = open_like(module, id, &types);
            if let Some(sharding) = spec.in_shardings.get_or_insert(open).get_mut(i) {
                *sharding = id;
            }
            module.ops[op].kind = OpKind::NamedComputation(spec);
        }
        _ => {}
    }
}

/// Returns an open sharding for each of these tensor ranks, on the mesh of sharding `id`.
fn open_like(module: &mut Module, id: ShardingId, ranks: &[usize]) -> Vec<ShardingId> {
    let mesh = module.shardings.get(id).mesh;
    ranks.iter().map(|&rank| module.shardings.intern(TensorSharding::open(mesh, rank))).collect()
}

/// Trims inferred shardings to axes that divide the dimension size; see [`keep_dividing_axes`](super::keep_dividing_axes).
pub(super) fn keep_dividing_axes(module: &mut Module, func: FuncId, body: RegionId) {
    let divide = |module: &mut Module, id: ShardingId, shape: &[i64]| {
        let sharding = evenly_split(module, module.shardings.get(id), None, shape, false);
        module.shardings.intern(sharding)
    };
    let shape = |module: &Module, value: ValueId| module.shape(value).to_vec();
    for arg in module.regions[body].args.clone() {
        if let Some(id) = module.shardings.of(arg) {
            let shape = shape(module, arg);
            let id = divide(module, id, &shape);
            module.shardings.set(arg, Some(id));
        }
    }
    for i in 0..module.funcs[func].res_shardings.len() {
        let ty = module.funcs[func].results.get(i).and_then(|&ty| module.types.stored(ty));
        let shape = ty.map_or_else(Vec::new, |tensor| tensor.shape.to_vec());
        if let Some(id) = module.funcs[func].res_shardings[i].expand() {
            let id = divide(module, id, &shape);
            module.funcs[func].res_shardings[i] = id.into();
        }
    }
    for op in module.walk(body) {
        let (operands, results) = (module.ops[op].operands.clone(), module.ops[op].results.clone());
        let mut spec = match &module.ops[op].kind {
            OpKind::ManualComputation(spec) => spec.clone(),
            OpKind::Call { .. } => {
                for result in results {
                    if let Some(id) = module.shardings.of(result) {
                        let shape = shape(module, result);
                        let id = divide(module, id, &shape);
                        module.shardings.set(result, Some(id));
                    }
                }
                continue;
            }
            _ => continue,
        };
        let sides =
            operands.iter().zip(&mut spec.in_shardings).chain(results.iter().zip(&mut spec.out_shardings));
        for (&value, id) in sides {
            let shape = shape(module, value);
            *id = divide(module, *id, &shape);
        }
        module.ops[op].kind = OpKind::ManualComputation(spec);
    }
}

/// Copies the shardings of values to operations, and closes all shardings of the module. Also removes sharding groups, since propagation
/// has already applied them.
pub(super) fn write_ops(module: &mut Module, body: RegionId) {
    let mut has_groups = false;
    let ops = module.walk(body);
    for &op in &ops {
        let results = module.ops[op].results.clone();
        match &module.ops[op].kind {
            OpKind::ShardingConstraint(_) => {
                if let Some(id) = results.first().and_then(|&v| module.shardings.of(v)) {
                    module.ops[op].kind = OpKind::ShardingConstraint(id);
                }
            }
            OpKind::While => {
                for (i, &result) in results.iter().enumerate() {
                    let id = module.shardings.of(result);
                    for arg in while_args(module, op, i) {
                        module.shardings.set(arg, id);
                    }
                }
            }
            OpKind::ManualComputation(spec) => {
                let mut new = (**spec).clone();
                for (i, id) in new.out_shardings.iter_mut().enumerate() {
                    if let Some(found) = results.get(i).and_then(|&v| module.shardings.of(v)) {
                        *id = found;
                    }
                }
                let args =
                    module.ops[op].regions.first().map_or(Vec::new(), |&r| module.regions[r].args.clone());
                let spec = new.clone();
                for (i, id) in new.in_shardings.iter_mut().enumerate() {
                    let inside = args.get(i).and_then(|&v| module.shardings.of(v));
                    if let Some(found) = inside.and_then(|inside| manual::outside(module, &spec, i, inside)) {
                        let sharding = module.shardings.get(found);
                        *id = module.shardings.intern(sharding.closed());
                    }
                }
                module.ops[op].kind = OpKind::ManualComputation(Box::new(new));
            }
            OpKind::NamedComputation(spec) => {
                let mut new = (**spec).clone();
                let args = module.ops[op].regions.first().map(|&r| module.regions[r].args.as_slice());
                let all = |values: &[ValueId]| -> Option<Vec<ShardingId>> {
                    values.iter().map(|&v| module.shardings.of(v)).collect()
                };
                new.in_shardings = args.and_then(all);
                new.out_shardings = all(&results);
                module.ops[op].kind = OpKind::NamedComputation(Box::new(new));
            }
            OpKind::ShardingGroup { .. } => has_groups = true,
            _ => {}
        }
    }
    if has_groups {
        let mut regions = vec![body];
        regions.extend(ops.iter().flat_map(|&op| module.ops[op].regions.iter().copied()));
        for region in regions {
            module.retain_ops(region, |module, op| {
                !matches!(module.ops[op].kind, OpKind::ShardingGroup { .. })
            });
        }
    }
}

/// Returns the mesh of the first sharding. If there is no sharding, returns the first mesh. Ignores maximal meshes (one device).
fn default_mesh(module: &Module, shardings: &[u32]) -> Option<MeshId> {
    let used = shardings
        .iter()
        .filter(|&&s| s != NONE)
        .map(|&s| module.shardings.get(ShardingId::new(s as usize)).mesh);
    let usable = |id: &MeshId| !module.meshes[*id].is_maximal();
    used.into_iter().find(usable).or_else(|| module.meshes.keys().find(usable))
}

fn is_manual_value(module: &Module, value: ValueId) -> bool {
    module.def_op(value).is_some_and(|op| matches!(module.ops[op].kind, OpKind::ManualComputation(_)))
}

/// Returns `found` with inferred axes trimmed to those that divide their dimension; annotated dimensions stay unchanged. With
/// `only_whole_axes`, inferred sub-axes are removed as well.
fn evenly_split(
    module: &Module,
    found: &TensorSharding,
    user: Option<&TensorSharding>,
    shape: &[i64],
    only_whole_axes: bool,
) -> TensorSharding {
    let mesh = &module.meshes[found.mesh];
    // Eight rows over `["x"=2, "y"=3]` keep "x". Six rows over `["x"=4]` keep half of "x", `"x":(1)2`. With `only_whole_axes` and an open
    // dimension, six rows keep nothing.
    let mut out = found.clone();
    // Divisibility of a dynamic size is unknown; planning handles it.
    if shape.contains(&DYNAMIC) {
        return out;
    }
    for (d, (dim, &n)) in out.dims.iter_mut().zip(shape).enumerate() {
        let given = user.and_then(|u| u.dims.get(d));
        if given.is_some_and(|g| g.axes == dim.axes) {
            continue;
        }
        if n % mesh.axes_size(&dim.axes) != 0 {
            // The body of a manual computation has the sizes that its annotated axes imply, whether they divide or not.
            let written = given.filter(|g| !only_whole_axes && dim.axes.starts_with(&g.axes));
            let even = dividing(mesh, dim, n);
            let axes = written.filter(|g| g.axes.len() > even.len()).map_or(even, |g| g.axes.clone());
            // The trimmed axes are not the annotated ones, so the priority of the annotation does not apply to them.
            (dim.axes, dim.priority) = (axes, None);
        }
        if only_whole_axes {
            whole_axes(dim);
        }
    }
    out
}

/// Returns a warning (SH0808) if propagation found the sharding `found` for a result of the function, but the result gets the sharding
/// `even`, because axes do not divide a dimension.
fn uneven_result(
    module: &Module,
    func: FuncId,
    i: usize,
    found: &TensorSharding,
    even: &TensorSharding,
) -> Option<Diagnostic> {
    let data = &module.funcs[func];
    let ty = module.types.stored(data.results[i])?;
    let mesh = &module.meshes[found.mesh];
    // `lost` returns whether dimension `d` lost axes because they do not divide it. A dimension of one element does not count, since it
    // cannot be sharded.
    let lost = |d: &usize| {
        let parts = mesh.axes_size(&found.dims[*d].axes);
        ty.shape[*d] > 1 && found.dims[*d].axes.len() > even.dims[*d].axes.len() && ty.shape[*d] % parts != 0
    };
    let dim = (0..found.rank()).find(lost)?;
    let parts = mesh.axes_size(&found.dims[dim].axes);
    let bytes = u64::try_from(ty.num_bytes()?).ok()?;
    let message = format!(
        "result {i}, {ty}, is computed with sharding {} and returned with sharding {}, because the size {} of dimension {dim} is not divisible by {parts} (result size: {})",
        found.closed().display(mesh),
        even.closed().display(mesh),
        ty.shape[dim],
        bytes_text(bytes),
    );
    let warning = Diagnostic::warning(Class::InvalidInput, "SH0808", message).at(data.span).bytes(bytes);
    Some(warning.hint(format!(
        "annotate the result with {} to keep it sharded with a shorter last block, or pad dimension {dim} to a multiple of {parts}",
        found.closed().display(mesh)
    )))
}

/// Removes the first sub-axis and all later axes if the dimension is open.
pub fn whole_axes(dim: &mut DimSharding) {
    if dim.open {
        let whole = dim.axes.iter().take_while(|a| a.sub.is_none()).count();
        dim.axes.truncate(whole);
    }
}

/// Returns the longest prefix, from major to minor, of a dimension's axes whose total size divides the dimension's size. The last axis of
/// the prefix may be cut to a sub-axis.
fn dividing(mesh: &Mesh, dim: &DimSharding, size: i64) -> AxisList {
    let mut left = size;
    let mut out = AxisList::new();
    for &axis in &dim.axes {
        let n = mesh.axis_size(axis);
        let common = gcd(n, left);
        if common == 1 {
            break;
        }
        if common != n {
            out.push(part(axis, pre(axis), common as u32));
            break;
        }
        out.push(axis);
        left /= common;
    }
    out
}
