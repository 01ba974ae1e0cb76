//! Preparation of shardings for planning: every tensor gets a closed sharding on the same mesh.

mod close;
pub(crate) mod device_order;
mod dynamic;
mod maximal;
pub(crate) mod meshes;
mod quantized;
mod small_dims;

use shardc_ir::{Diagnostic, FuncId, Module, ShardingId};

pub(crate) use self::close::{close_results, unified_mesh};
use super::{Planning, body_of};

/// The pass `legalize-shardings`: rejects or removes shardings that a tensor cannot have.
///
/// * A warning (SH0311) reports each maximal sharding (one device); a later pass replaces it by a replicated sharding.
/// * Axes on a quantized dimension with per-axis scales are removed; if the program itself requests them, it is rejected (SH0319).
/// * A sharded tensor with dynamic dimensions is rejected (SH0315).
///
/// # Errors
/// Returns SH0301, SH0315 or SH0319.
pub(crate) fn legalize_shardings(
    module: &mut Module,
    func: FuncId,
    planning: &mut Planning,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let body = body_of(module, func)?;
    *planning = Planning { notes: maximal::notes(module, func, body), ..Planning::default() };
    quantized::replicate_scaled_dims(module, func, body)?;
    dynamic::check(module, func, body)?;
    Ok(planning.notes.clone())
}

/// The pass `unify-meshes`: converts the shardings of all tensors to closed shardings on one mesh, without priorities.
///
/// A reshard permutes the blocks of a parameter whose mesh lists its devices in a different order.
///
/// ```mlir
/// sdy.mesh @data = <["data"=8]>
/// sdy.mesh @ab = <["a"=2, "b"=4]>
/// func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@data, [{"data"}]>}, ...)
/// ```
/// becomes
/// ```mlir
/// func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ab, [{"a", "b"}]>}, ...)
/// ```
///
/// # Errors
/// Returns SH0301, SH0302 (the meshes have no common refinement) or SH0303 (there is no mesh).
pub(crate) fn unify_meshes(
    module: &mut Module,
    func: FuncId,
    planning: &mut Planning,
) -> Result<(), Vec<Diagnostic>> {
    let body = body_of(module, func)?;
    let mesh = meshes::common_mesh(module, func, body).map_err(|error| vec![*error])?;
    // Device orders are read before shardings are closed: closing converts all of them to the common mesh, and the device order of a
    // parameter would be lost.
    let entering = device_order::entering(module, body, mesh);
    close::close_shardings(module, body, mesh);
    device_order::enter(module, body, &entering);
    *planning =
        Planning { mesh: Some(mesh), notes: std::mem::take(&mut planning.notes), ..Planning::default() };
    Ok(())
}

/// The pass `replicate-small-dims`: removes axes from dimensions with fewer elements than shards (see [`small_dims`]).
///
/// # Errors
/// Returns SH0301 or SH0391.
pub(crate) fn replicate_small_dims(
    module: &mut Module,
    func: FuncId,
    planning: &mut Planning,
) -> Result<(), Vec<Diagnostic>> {
    let (body, mesh) = planning.place(module, func)?;
    let declared: Vec<Option<ShardingId>> =
        module.funcs[func].res_shardings.iter().map(|sharding| sharding.expand()).collect();
    small_dims::remove_axes(module, body, mesh, &declared, &planning.costs);
    Ok(())
}
