//! Asynchronous collective calls: replaces pairs of custom calls such as `@"reduce-scatter-start"` and `@"reduce-scatter-done"`
//! by the collective that they start and await.
//!
//! JAX 0.12 emits such pairs for `jax.lax`'s asynchronous collectives. The collective's attributes are JSON in the front end attribute
//! `async_collective_config`; the reduction is the called computation. The back end schedules the collective.
//!
//! ```mlir
//! %1 = stablehlo.custom_call @"all-gather-start"(%0) {mhlo.frontend_attributes = {async_collective_config =
//!   "{\22all_gather_dimension\22: 0, \22replica_groups\22: [[0, 1]], \22channel_id\22: 1}"}} : (tensor<2xf32>) -> tensor<4xf32>
//! %2 = stablehlo.custom_call @"all-gather-done"(%1) : (tensor<4xf32>) -> tensor<4xf32>
//! ```
//! becomes
//! ```mlir
//! %2 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0, replica_groups = dense<[[0, 1]]>, ...}> : (tensor<2xf32>) -> tensor<4xf32>
//! ```

use serde::Deserialize;
use shardc_ir::reducer::{reducer, reduction_of};
use shardc_ir::{
    Attr, Build, Channel, CollectiveSpec, Module, OpId, OpKind, RegionId, ReplicaGroups, Rewriter, ValueId,
};

/// The names of collectives. Appending `-start` or `-done` gives the target of the call that starts or awaits the collective.
const NAMES: [&str; 5] = ["all-gather", "all-reduce", "all-to-all", "collective-permute", "reduce-scatter"];

/// The attributes of a collective, in JAX's format.
#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    replica_groups: Vec<Vec<i64>>,
    /// The source-target pairs of a permute.
    #[serde(default)]
    permutation: Vec<(i64, i64)>,
    all_gather_dimension: Option<u32>,
    scatter_dimension: Option<u32>,
    split_dimension: Option<u32>,
    concat_dimension: Option<u32>,
    split_count: Option<u32>,
    channel_id: Option<i64>,
    #[serde(default)]
    use_global_device_ids: bool,
}

/// Whether an operation starts or awaits a collective.
pub(super) fn is_async(kind: &OpKind) -> bool {
    matches!(kind, OpKind::CustomCall(call) if half_of(&call.target).is_some())
}

/// Returns the collective that a call of `target` starts or awaits. The boolean is true if the call starts the collective.
fn half_of(target: &str) -> Option<(&'static str, bool)> {
    NAMES.into_iter().find_map(|name| match target.strip_prefix(name)? {
        "-start" => Some((name, true)),
        "-done" => Some((name, false)),
        _ => None,
    })
}

/// Inserts the collective that a call starts and returns its result; for a call that awaits a collective, returns the operand. `None` if
/// the call is not replaced, because its configuration is not in JAX's format.
pub(super) fn collective(rw: &mut Rewriter<'_>, op: OpId) -> Option<ValueId> {
    let data = rw.module.ops[op].clone();
    let (&[operand], &[result], OpKind::CustomCall(call)) =
        (data.operands.as_slice(), data.results.as_slice(), &data.kind)
    else {
        return None;
    };
    let ty = rw.module.values[result].ty;
    let (name, true) = half_of(&call.target)? else {
        return (rw.module.values[operand].ty == ty).then_some(operand);
    };
    let Attr::Str(config) = data.attrs.frontend()?.get("async_collective_config")? else { return None };
    let config: Config = serde_json::from_str(config).ok()?;
    let width = config.replica_groups.iter().map(Vec::len).max().unwrap_or(0);
    if config.replica_groups.iter().any(|group| group.len() != width) {
        return None;
    }
    let groups = match name {
        "collective-permute" => ReplicaGroups::pairs(config.permutation),
        _ => ReplicaGroups::matrix(config.replica_groups.concat(), width),
    };
    let takes_global_ids = matches!(name, "all-gather" | "all-reduce" | "reduce-scatter");
    let spec = Box::new(CollectiveSpec {
        groups,
        mesh_axes: None,
        channel: config.channel_id.map(|handle| Channel { handle, ty: 1 }),
        use_global_device_ids: config.use_global_device_ids && takes_global_ids,
        has_dynamic_root: false,
    });
    let reduction = match name {
        "all-reduce" | "reduce-scatter" => Some(called_reducer(rw.module, op, operand)?),
        _ => None,
    };
    let kind = match name {
        "all-gather" => OpKind::AllGather { dim: config.all_gather_dimension?, spec },
        "all-reduce" => OpKind::AllReduce(spec),
        "all-to-all" => OpKind::AllToAll {
            split_dim: config.split_dimension?,
            concat_dim: config.concat_dimension?,
            split_count: config.split_count?,
            spec,
        },
        "collective-permute" => OpKind::CollectivePermute(spec),
        _ => OpKind::ReduceScatter { dim: config.scatter_dimension?, spec },
    };
    let regions: &[RegionId] = reduction.as_slice();
    let started = rw.op(kind, &[operand], &[ty], regions);
    rw.module.ops[started].results.first().copied()
}

/// Returns the reduction function that the call `op` names, as a region on elements of the type of `operand`.
fn called_reducer(module: &mut Module, op: OpId, operand: ValueId) -> Option<RegionId> {
    let OpKind::CustomCall(call) = &module.ops[op].kind else { return None };
    let Attr::Array(called) = call.props.get("called_computations")? else { return None };
    let [Attr::Symbol(name)] = called.as_slice() else { return None };
    let func = *module.func_names.get(name)?;
    let kind = reduction_of(module, module.funcs[func].body?, 1)?;
    let dtype = module.tensor(operand)?.dtype;
    Some(reducer(module, kind, dtype))
}
