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
//! Conditions: devices are partitions, one mesh, and even shards along whole axes. A program for one device is left as it is: XLA runs no
//! partitioner for it, which would replace the manual computation.

use shardc_ir::discardable::GSPMD_SHARDING;
use shardc_ir::{
    AxisRef, Diagnostic, DimSharding, FuncId, ManualSpec, Mesh, MeshId, Module, OpKind, RegionId, ShardingId,
    SpmdMode, TensorSharding, Type, TypeId,
};

use crate::sharding::interface::{Interface, InterfaceTensor};

/// Wraps the body of the entry function, whose inputs and outputs `interface` describes.
///
/// # Errors
/// Devices are replicas (SH0513), or a tensor has uneven shards, is sharded along a part of an axis, on a mesh with another device order, or is a
/// token (SH0514).
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
    let mesh = module.add_mesh("mesh", interface.mesh.clone());
    let sharding = |module: &mut Module, (i, tensor): (usize, &InterfaceTensor), kind: &str| {
        check(tensor, &interface.mesh).map_err(|(reason, hint)| {
            let name = tensor.name.clone().unwrap_or_else(|| format!("{kind} {i}"));
            let message = format!("{name} cannot cross the border of a manual computation: {reason}");
            Diagnostic::unsupported("SH0514", message).hint(hint)
        })?;
        Ok(of_mesh(module, mesh, tensor))
    };
    let inputs = interface.inputs.iter().enumerate();
    let in_shardings: Vec<_> =
        inputs.map(|input| sharding(module, input, "argument")).collect::<Result<_, Diagnostic>>()?;
    let outputs = interface.outputs.iter().enumerate();
    let out_shardings: Vec<_> =
        outputs.map(|output| sharding(module, output, "result")).collect::<Result<_, Diagnostic>>()?;
    let manual_axes = (0..interface.mesh.axes.len()).map(AxisRef::whole).collect();
    let spec = ManualSpec { in_shardings, out_shardings, manual_axes };
    let results: Vec<TypeId> = interface
        .outputs
        .iter()
        .map(|output| module.types.intern(Type::Tensor(output.global.clone())))
        .collect();
    let params: Vec<TypeId> = interface
        .inputs
        .iter()
        .map(|input| module.types.intern(Type::Tensor(input.global.clone())))
        .collect();
    wrap(module, (func, local), spec, (params, results));
    Ok(())
}

/// Returns why a tensor cannot be an operand or a result of a manual computation, and what to do.
fn check(tensor: &InterfaceTensor, mesh: &Mesh) -> Result<(), (String, &'static str)> {
    if tensor.is_token {
        return Err((
            "it is a token".to_owned(),
            "use the per-device program instead, whose interface may have tokens",
        ));
    }
    if tensor.mesh.is_some() {
        let reason = "its mesh has another order of devices than that of the program".to_owned();
        return Err((reason, "use one mesh for all shardings"));
    }
    for (d, (dim, &size)) in tensor.sharding.dims.iter().zip(&tensor.global.shape).enumerate() {
        if dim.axes.iter().any(|axis| axis.sub.is_some()) {
            let reason = format!("dimension {d} is sharded along a part of an axis");
            return Err((reason, "split the axis of the mesh in two, and shard along whole axes"));
        }
        let shards: i64 = dim.axes.iter().map(|axis| mesh.axis_size(*axis)).product();
        if size % shards.max(1) != 0 {
            let reason = format!("{shards} shards of dimension {d}, of size {size}, are uneven");
            return Err((
                reason,
                "shard a dimension whose size the number of shards divides, or replicate it",
            ));
        }
    }
    Ok(())
}

/// Interns the sharding of a tensor on `mesh`, closed and without priorities.
fn of_mesh(module: &mut Module, mesh: MeshId, tensor: &InterfaceTensor) -> ShardingId {
    let dims = tensor.sharding.dims.iter().map(|dim| DimSharding::closed(&dim.axes));
    let sharding = TensorSharding::from_dims(mesh, dims);
    module.shardings.intern(sharding)
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
    spec: ManualSpec,
    (params, results): (Vec<TypeId>, Vec<TypeId>),
) {
    let body = module.add_region(&params);
    let locs = module.regions[local].arg_locs.clone();
    module.regions[body].arg_locs = locs;
    let args = module.regions[body].args.clone();
    for (&arg, &sharding) in args.iter().zip(&spec.in_shardings) {
        module.shardings.set(arg, Some(sharding));
    }
    let out_shardings = spec.out_shardings.clone();
    let manual = module.add_op(OpKind::ManualComputation(Box::new(spec)), &args, &results, &[local]);
    let values = module.ops[manual].results.clone();
    for (&value, &sharding) in values.iter().zip(&out_shardings) {
        module.shardings.set(value, Some(sharding));
    }
    let end = module.add_op(OpKind::Return, &values, &[], &[]);
    module.set_ops(body, vec![manual, end]);
    let func = &mut module.funcs[func];
    (func.body, func.params, func.results) = (Some(body), params, results);
    func.res_shardings = out_shardings.into_iter().map(Into::into).collect();
}
