//! Gives a partitioned program its global types again: the per-device program becomes the body of one `sdy.manual_computation`.
//!
//! Front ends whose runtime partitions with Shardy (JAX, PyTorch/XLA) compile this form as they compile the original program. They see the
//! global types and the shardings of arguments and results, and the collectives stay as they are.
//!
//! ```mlir
//! func.func @main(%x: tensor<4x8xf32>) -> tensor<8xf32> {
//!   %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
//!   %1 = "stablehlo.all_reduce"(%0) ... : (tensor<8xf32>) -> tensor<8xf32>
//!   return %1 : tensor<8xf32>
//! }
//! ```
//! becomes
//! ```mlir
//! sdy.mesh @mesh = <["x"=2]>
//! func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8xf32> {sdy.sharding = ...}) {
//!   %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%arg0: tensor<4x8xf32>) {
//!     ...
//!     sdy.return %2 : tensor<8xf32>
//!   } : (tensor<8x8xf32>) -> tensor<8xf32>
//!   return %0 : tensor<8xf32>
//! }
//! ```
//!
//! Conditions: devices are partitions, and shards are even. If a sharding is along a part of an axis or on a mesh with another device order, all
//! shardings are written on a mesh whose axes have prime sizes ([`RefinedMesh`]). A program for one device is left as it is: XLA runs no partitioner
//! for it, which would replace the manual computation.

use shardc_ir::discardable::GSPMD_SHARDING;
use shardc_ir::reducer::identity;
use shardc_ir::{
    AxisRef, Build, Builder, Diagnostic, DimSharding, FuncId, ManualSpec, MeshId, Module, OpKind,
    ReductionKind, RegionId, SpmdMode, TensorBuild, TensorSharding, Type, TypeId,
};
use smallvec::smallvec;

use crate::sharding::interface::{Interface, InterfaceTensor};
use crate::sharding::refined::RefinedMesh;

/// Wraps the body of the entry function, whose inputs and outputs `interface` describes.
///
/// # Errors
/// Devices are replicas (SH0513), or a tensor has uneven shards or is sharded on a mesh with another device order that no axes describe (SH0514).
pub fn wrap_in_manual_computation(module: &mut Module, interface: &Interface) -> Result<(), Diagnostic> {
    let Some((func, local)) = module.entry().and_then(|func| Some((func, module.funcs[func].body?))) else {
        return Err(module.no_entry());
    };
    if interface.mode == SpmdMode::Replica {
        let message = "a manual computation has collectives across partitions, but the devices of this program are replicas";
        return Err(Diagnostic::invalid("SH0513", message).hint("partition with `--spmd-mode partition`"));
    }
    unmark(module);
    if interface.mesh.num_devices() == 1 {
        return Ok(());
    }
    let refined = interface
        .inputs
        .iter()
        .chain(&interface.outputs)
        .any(needs_other_axes)
        .then(|| RefinedMesh::of(&interface.mesh));
    let whole = refined.as_ref().map_or(&interface.mesh, RefinedMesh::mesh).clone();
    let manual_axes = (0..whole.axes.len()).map(AxisRef::whole).collect();
    let mesh = module.add_mesh("mesh", whole);
    let mut sharding = |(i, tensor): (usize, &InterfaceTensor), kind: &str| {
        let found = on_mesh(mesh, tensor, interface, refined.as_ref()).map_err(|(reason, hint)| {
            let name = tensor.name.clone().unwrap_or_else(|| format!("{kind} {i}"));
            let message = format!("{name} cannot cross the border of a manual computation: {reason}");
            Diagnostic::unsupported("SH0514", message).hint(hint)
        })?;
        Ok(module.shardings.intern(found))
    };
    let inputs = interface.inputs.iter().enumerate();
    let in_shardings: Vec<_> =
        inputs.map(|input| sharding(input, "argument")).collect::<Result<_, Diagnostic>>()?;
    let outputs = interface.outputs.iter().enumerate();
    let out_shardings: Vec<_> =
        outputs.map(|output| sharding(output, "result")).collect::<Result<_, Diagnostic>>()?;
    let spec = ManualSpec { in_shardings, out_shardings, manual_axes };
    let (local_params, local_results) =
        (module.funcs[func].params.clone(), module.funcs[func].results.clone());
    let params = global_types(module, &interface.inputs, &local_params);
    let results = global_types(module, &interface.outputs, &local_results);
    wrap(module, (func, local), spec, (params, results));
    Ok(())
}

/// The types of unsharded arguments or results; tokens keep their type.
fn global_types(module: &mut Module, tensors: &[InterfaceTensor], local: &[TypeId]) -> Vec<TypeId> {
    let of = |(tensor, &local): (&InterfaceTensor, &TypeId)| match tensor.is_token {
        true => local,
        false => module.types.intern(Type::Tensor(tensor.global.clone())),
    };
    tensors.iter().zip(local).map(of).collect()
}

/// Whether the sharding of a tensor is not along whole axes of the program's mesh.
fn needs_other_axes(tensor: &InterfaceTensor) -> bool {
    let TensorSharding { dims, unreduced, .. } = &tensor.sharding;
    let mut axes = dims.iter().flat_map(|dim| &dim.axes).chain(unreduced);
    tensor.mesh.is_some() || axes.any(|axis| axis.sub.is_some())
}

/// The sharding of a tensor on the mesh of the manual computation, closed and without priorities. The error is why there is none, and what to do.
fn on_mesh(
    mesh: MeshId,
    tensor: &InterfaceTensor,
    interface: &Interface,
    refined: Option<&RefinedMesh>,
) -> Result<TensorSharding, (String, &'static str)> {
    let (sharding, own) = (&tensor.sharding, interface.mesh_of(tensor));
    for (d, (dim, &size)) in sharding.dims.iter().zip(&tensor.global.shape).enumerate() {
        let shards = own.axes_size(&dim.axes);
        if size % shards.max(1) != 0 {
            let reason = format!("{shards} shards of dimension {d}, of size {size}, are uneven");
            return Err((
                reason,
                "shard a dimension whose size the number of shards divides, or replicate it",
            ));
        }
    }
    let (dims, unreduced) = match refined {
        None => (sharding.dims.iter().map(|dim| dim.axes.to_vec()).collect(), sharding.unreduced.to_vec()),
        Some(refined) => refined.axes_of(sharding, own).ok_or_else(|| {
            let reason = "its mesh has another order of devices than that of the program".to_owned();
            (reason, "use one mesh for all shardings")
        })?,
    };
    let dims = dims.iter().map(|axes: &Vec<AxisRef>| DimSharding::closed(axes));
    let reduction = sharding.reduction;
    Ok(TensorSharding {
        unreduced: unreduced.into_iter().collect(),
        reduction,
        ..TensorSharding::from_dims(mesh, dims)
    })
}

/// Removes the marks of a partitioned program, because XLA adds those of the body itself.
fn unmark(module: &mut Module) {
    for func in module.funcs.values_mut() {
        for attrs in func.arg_attrs.iter_mut().chain(&mut func.res_attrs) {
            attrs.remove(GSPMD_SHARDING);
        }
    }
    for op in module.ops.values_mut() {
        op.attrs.remove(GSPMD_SHARDING);
    }
}

/// Replaces the body `local` of a function by a manual computation with this body.
fn wrap(
    module: &mut Module,
    (func, local): (FuncId, RegionId),
    mut spec: ManualSpec,
    (params, results): (Vec<TypeId>, Vec<TypeId>),
) {
    let res_shardings = spec.out_shardings.clone();
    let mut types = results.clone();
    let stacked = stack_terms(module, local, &mut spec, &mut types);
    let body = module.add_region(&params);
    let locs = module.regions[local].arg_locs.clone();
    module.regions[body].arg_locs = locs;
    let args = module.regions[body].args.clone();
    let mut b = Builder::new(module);
    let mut operands = Vec::with_capacity(args.len());
    for (&arg, &sharding) in args.iter().zip(&spec.in_shardings) {
        b.module.shardings.set(arg, Some(sharding));
        operands.push(if b.module.shardings.get(sharding).unreduced.is_empty() {
            arg
        } else {
            // XLA rejects other users of an unreduced argument whose results are reduced.
            b.alike(OpKind::ShardingConstraint(sharding), &[arg])
        });
    }
    let out_shardings = spec.out_shardings.clone();
    let manual = b.op(OpKind::ManualComputation(Box::new(spec)), &operands, &types, &[local]);
    let mut values = b.module.ops[manual].results.clone();
    for (&value, &sharding) in values.iter().zip(&out_shardings) {
        b.module.shardings.set(value, Some(sharding));
    }
    for (i, kind) in stacked {
        if let Some(reduced) = b.reduced(kind, values[i], smallvec![0]) {
            values[i] = b.alike(OpKind::ShardingConstraint(res_shardings[i]), &[reduced]);
        }
    }
    b.ret(&values);
    b.finish(body);
    let func = &mut module.funcs[func];
    (func.body, func.params, func.results) = (Some(body), params, results);
    func.res_shardings = res_shardings.into_iter().map(Into::into).collect();
}

/// Gives results that are unreduced by another reduction than a sum a new first dimension, in which each device has its term, because Shardy's manual
/// computations have only sums as unreduced results. Returns these results with their reductions: reduced over the new dimension, they are
/// unreduced again, without communication.
fn stack_terms(
    module: &mut Module,
    local: RegionId,
    spec: &mut ManualSpec,
    types: &mut [TypeId],
) -> Vec<(usize, ReductionKind)> {
    let Some(end) = module.terminator(local) else { return Vec::new() };
    let mut stacked = Vec::new();
    for (i, sharding) in spec.out_shardings.iter_mut().enumerate() {
        let found = module.shardings.get(*sharding).clone();
        let value = module.ops[end].operands[i];
        let (Some(global), Some(block)) = (module.types.as_tensor(types[i]), module.tensor(value)) else {
            continue;
        };
        let dtype = global.dtype;
        if found.unreduced.is_empty()
            || found.reduction == ReductionKind::Add
            || identity(found.reduction, dtype).is_none()
        {
            continue;
        }
        let mesh = found.mesh;
        let terms = module.meshes[mesh].axes_size(&found.unreduced);
        let global: Vec<i64> = std::iter::once(terms).chain(global.shape.iter().copied()).collect();
        let block: Vec<i64> = std::iter::once(1).chain(block.shape.iter().copied()).collect();
        let mut b = Builder::new(module);
        let dims = (1..block.len() as u32).collect();
        let Some(spread) = b.spread(value, dims, &block) else { continue };
        for op in b.take() {
            let last = module.regions[local].ops.len() - 1;
            module.insert_op(local, last, op);
        }
        module.ops[end].operands[i] = spread;
        types[i] = module.types.tensor(&global, dtype);
        let dims = std::iter::once(DimSharding::closed(&found.unreduced)).chain(found.dims);
        *sharding = module.shardings.intern(TensorSharding::from_dims(mesh, dims));
        stacked.push((i, found.reduction));
    }
    stacked
}
