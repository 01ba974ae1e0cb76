//! Removes the meshes and shardings of a program, so that others can be chosen.

use shardc_ir::discardable::{NUM_PARTITIONS, SHARDING};
use shardc_ir::{Diagnostic, Module, OpId, OpKind, PackedOption, Rewriter};

/// Removes meshes, shardings of values and results, sharding constraints, reshards, propagation barriers and sharding groups. Does nothing
/// to sharding rules of custom calls, which do not depend on a mesh.
///
/// # Errors
/// The program has a manual computation, whose body is written for the devices of its mesh (SH0338).
pub fn forget_shardings(module: &mut Module) -> Result<(), Vec<Diagnostic>> {
    let bodies: Vec<_> = module.bodies().collect();
    let ops = bodies.iter().flat_map(|&body| module.walk(body));
    let manual: Vec<Diagnostic> = ops
        .filter(|&op| matches!(module.ops[op].kind, OpKind::ManualComputation(_)))
        .map(|op| {
            let message =
                "the body of a manual computation depends on the mesh, so the mesh cannot be removed";
            Diagnostic::invalid("SH0338", message).at(module.ops[op].span)
        })
        .collect();
    if !manual.is_empty() {
        return Err(manual);
    }
    for body in bodies {
        Rewriter::new(module).each_op(body, &mut |rw, op| {
            let data = &rw.module.ops[op];
            match (&data.kind, data.operands.as_slice()) {
                (
                    OpKind::ShardingConstraint(_) | OpKind::Reshard(_) | OpKind::PropagationBarrier { .. },
                    &[operand],
                ) => rw.replace(&[operand]),
                (OpKind::ShardingGroup { .. }, _) => rw.erase(),
                _ => {}
            }
        });
    }
    for func in module.funcs.values_mut() {
        func.res_shardings.fill(PackedOption::default());
    }
    let ops: Vec<OpId> = module.bodies().flat_map(|body| module.walk(body)).collect();
    for op in ops {
        let op = &mut module.ops[op];
        // The sharding attribute of an operation without results names the device that runs the operation.
        op.attrs.remove(SHARDING);
        match &mut op.kind {
            OpKind::DataFlowEdge(sharding) => *sharding = None,
            OpKind::NamedComputation(spec) => (spec.in_shardings, spec.out_shardings) = (None, None),
            _ => {}
        }
    }
    module.shardings.clear_values();
    module.attrs.remove(NUM_PARTITIONS);
    module.mesh_names.clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_mesh_is_left() {
        let text = r#"
          sdy.mesh @mesh = <["data"=4]>
          func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
              -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
            sdy.sharding_group %x group_id = 0 : tensor<8x4xf32>
            %0 = sdy.sharding_constraint %x <@mesh, [{}, {}]> : tensor<8x4xf32>
            %1 = stablehlo.tanh %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>]>} : tensor<8x4xf32>
            return %1 : tensor<8x4xf32>
          }"#;
        let mut module = shardc_stablehlo::parse(text).unwrap();
        forget_shardings(&mut module).unwrap();
        shardc_ir::verify(&module).unwrap();
        let printed = shardc_stablehlo::print(&module, &shardc_stablehlo::PrintOptions::default());
        assert!(!printed.contains("sdy") && printed.contains("stablehlo.tanh %arg0"), "{printed}");
    }

    #[test]
    fn a_manual_computation_is_an_error() {
        let text = r#"
          sdy.mesh @mesh = <["data"=4]>
          func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
            %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"}
                (%y: tensor<2xf32>) { sdy.return %y : tensor<2xf32> } : (tensor<8xf32>) -> tensor<8xf32>
            return %0 : tensor<8xf32>
          }"#;
        let mut module = shardc_stablehlo::parse(text).unwrap();
        assert_eq!(forget_shardings(&mut module).unwrap_err()[0].code, "SH0338");
    }
}
