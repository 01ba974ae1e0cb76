//! Linearization of manual computations.

use shardc_ir::{AxisList, Build, Diagnostic, ManualSpec, MeshId, Module, ShardingId, TypeId, ValueId};
use smallvec::SmallVec;

use super::{At, ManualTape, Nested, Tangents};

/// Returns the mesh of a manual computation; `None` if the computation has neither operands nor results.
pub(crate) fn mesh_of(module: &Module, spec: &ManualSpec) -> Option<MeshId> {
    let mut meshes = spec.in_shardings.iter().chain(&spec.out_shardings);
    meshes
        .clone()
        .map(|&id| module.shardings.get(id).mesh)
        .find(|&id| !module.meshes[id].axes.is_empty())
        .or_else(|| meshes.next().map(|&id| module.shardings.get(id).mesh))
}

/// The manual axes along which a value with this sharding is replicated, and the number of replicas.
pub(crate) fn repeated(module: &Module, spec: &ManualSpec, sharding: ShardingId) -> (AxisList, i64) {
    let sharding = module.shardings.get(sharding);
    let splits: Vec<_> = sharding.split_axes().collect();
    let axes: AxisList = spec.manual_axes.iter().copied().filter(|axis| !splits.contains(axis)).collect();
    let count = mesh_of(module, spec).map_or(1, |mesh| module.meshes[mesh].axes_size(&axes));
    (axes, count)
}

/// Linearizes the body; the tape gets a manual computation over the body's tape.
pub(super) fn manual_computation(at: &mut At<'_, '_>) -> Result<Tangents, Box<Diagnostic>> {
    let (region, operands, results) = {
        let data = &at.linear.module.ops[at.op];
        (data.regions[0], data.operands.clone(), data.results.clone())
    };
    let args = at.linear.module.regions[region].args.clone();
    let changing: Vec<usize> = (0..operands.len()).filter(|&i| at.tangent(i).is_some()).collect();
    let types: Vec<TypeId> = changing.iter().map(|&i| at.linear.module.values[args[i]].ty).collect();
    // A temporary region, whose arguments are the tangents of the body's arguments.
    let scratch = at.linear.module.add_region(&types);
    let tangents = at.linear.module.regions[scratch].args.clone();
    for (&i, &tangent) in changing.iter().zip(&tangents) {
        at.linear.set_tangent(args[i], tangent);
    }
    let given: SmallVec<[ValueId; 4]> = changing.iter().filter_map(|&i| at.tangent(i)).collect();
    let tape = at.linear.region(region)?;
    let types: Vec<TypeId> = results.iter().map(|&v| at.linear.module.values[v].ty).collect();
    let (kind, op) = (at.kind(), at.op);
    let whole = at.tape().op(kind, &given, &types, &[]);
    let made = at.linear.module.ops[whole].results.clone();
    let out = made.iter().zip(&tape.returned).map(|(&v, t)| t.map(|_| v)).collect();
    at.linear
        .nested
        .insert(whole, Nested::Manual(ManualTape { op, operands: changing, args: tangents.to_vec(), tape }));
    Ok(out)
}
