//! Results of a manual computation that may differ between devices along manual axes that their shardings do not use.
//!
//! If the sharding of a result does not use a manual axis, devices along that axis must return equal blocks, because the block of one
//! device is used for all of them. `jax.shard_map` checks this by the axes over which a value varies (`check_vma`). This check uses the
//! device relations of the convergence analysis. It also handles a psum over devices in a different order, and a coordinate that is
//! computed from the device ID.

use shardc_ir::{AxisList, AxisRef, Mesh, Module, OpId, OpKind};

use super::{Flow, ManualContext, cuts_of, enumerated};
use crate::collectives::verify::agreement::Agreement;
use crate::collectives::verify::coordinates::Coordinates;
use crate::collectives::verify::relations::Relations;
use crate::manual::{Scope, mesh_of};

/// Returns, for each result of the manual computation `op`, the manual axes that its sharding does not use although
/// its blocks may differ along them. `outer` are the axes of the enclosing computations. Callees are analyzed;
/// functions must not be recursive.
#[must_use]
pub fn axes_results_vary_along(module: &Module, op: OpId, outer: &[AxisRef]) -> Vec<AxisList> {
    let OpKind::ManualComputation(spec) = &module.ops[op].kind else { return Vec::new() };
    let Some(mesh) = mesh_of(module, spec).map(|mesh| &module.meshes[mesh]) else { return Vec::new() };
    let left_out: Vec<AxisList> = spec
        .out_shardings
        .iter()
        .map(|&sharding| {
            let split: AxisList = module.shardings.get(sharding).split_axes().collect();
            let is_left = |axis: &AxisRef| {
                !mesh.is_trivial(*axis) && !split.iter().any(|split| split.axis == axis.axis)
            };
            spec.manual_axes.iter().copied().filter(is_left).collect()
        })
        .collect();
    if left_out.iter().all(AxisList::is_empty) {
        return left_out;
    }
    let devices = mesh.num_devices();
    let of_coordinates = Coordinates::new(devices, cuts_of(module, op, mesh))
        .map(|coordinates| varying(Flow::new(module, devices, coordinates), op, mesh, outer, &left_out));
    let is_settled = |found: &Vec<AxisList>| found.iter().all(AxisList::is_empty);
    if let Some(found) = of_coordinates.as_ref().filter(|found| is_settled(found)) {
        return found.clone();
    }
    // If there are too many devices to inspect each, devices count as different unless coordinates prove them equivalent.
    let few = module.ops[op].regions.iter().find_map(|&region| enumerated(module, region, devices).ok());
    match few {
        Some(each) => varying(Flow::new(module, devices, each), op, mesh, outer, &left_out),
        None => of_coordinates.unwrap_or(left_out),
    }
}

/// Returns those of the axes `left_out` along which devices may hold different values of a result.
fn varying<'m, R: Relations>(
    mut flow: Flow<'m, R>,
    op: OpId,
    mesh: &'m Mesh,
    outer: &[AxisRef],
    left_out: &[AxisList],
) -> Vec<AxisList> {
    flow.follows_calls = true;
    let axes: AxisList = outer.iter().copied().filter(|&axis| !mesh.is_trivial(axis)).collect();
    // Values from outside the computation may differ along the manual axes of enclosing computations.
    let around = flow.relations.blocks(mesh, &axes);
    for &operand in &flow.module.ops[op].operands {
        flow.of[operand] = around;
    }
    flow.written = Some(ManualContext { mesh, scope: Scope { axes } });
    flow.op(op, Agreement::ALIKE);
    let results = flow.module.ops[op].results.iter().zip(left_out);
    results
        .map(|(&result, axes)| {
            // Equivalence is transitive: devices that agree along each axis agree along all of them.
            let differs = |&axis: &AxisRef| {
                flow.relations.divergence(&mesh.replica_groups(&[axis]), flow.of[result]).is_some()
            };
            axes.iter().copied().filter(differs).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is known about the argument of the second call: facts about the argument of the first call must not be used for it.
    #[test]
    fn calls_of_one_function_are_analyzed_separately() {
        let program = r#"
          sdy.mesh @mesh = <["x"=4]>
          func.func @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>) {
            %r:3 = sdy.manual_computation(%n) in_shardings=[<@mesh, []>]
                out_shardings=[<@mesh, []>, <@mesh, []>, <@mesh, []>] manual_axes={"x"} (%m: tensor<i32>) {
              %id = stablehlo.partition_id : tensor<ui32>
              %own = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
              %a = func.call @next(%own) : (tensor<i32>) -> tensor<i32>
              %b = func.call @next(%m) : (tensor<i32>) -> tensor<i32>
              %d = stablehlo.subtract %b, %a : tensor<i32>
              %e = stablehlo.subtract %a, %own : tensor<i32>
              sdy.return %b, %d, %e : tensor<i32>, tensor<i32>, tensor<i32>
            } : (tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>)
            return %r#0, %r#1, %r#2 : tensor<i32>, tensor<i32>, tensor<i32>
          }
          func.func private @next(%n: tensor<i32>) -> tensor<i32> {
            %one = stablehlo.constant dense<1> : tensor<i32>
            %r = stablehlo.add %n, %one : tensor<i32>
            return %r : tensor<i32>
          }"#;
        let module = shardc_stablehlo::parse(program).expect("a program");
        let body = module.entry().and_then(|func| module.funcs[func].body).expect("a body");
        let found = axes_results_vary_along(&module, module.regions[body].ops[0], &[]);
        let along_x: AxisList = std::iter::once(AxisRef::whole(0)).collect();
        assert_eq!(found, [AxisList::new(), along_x, AxisList::new()]);
    }
}
