//! Verifies C5: the parameters and results of the program match its interface.

use shardc_ir::{AxisRef, Diagnostic, FuncId, Module, Span, Type, TypeId};

use crate::sharding::axes::Part;
use crate::sharding::interface::{Interface, InterfaceTensor};

pub(super) fn check(
    module: &Module,
    func: FuncId,
    interface: &Interface,
    devices: usize,
    errors: &mut Vec<Diagnostic>,
) {
    let f = &module.funcs[func];
    let mut broken =
        |span: Span, message: String| errors.push(Diagnostic::internal("SH0463", message).at(span));
    if interface.mesh.num_devices() != devices {
        let message = format!(
            "the program is for {devices} devices, but its mesh has {}",
            interface.mesh.num_devices()
        );
        broken(f.span, message);
    }
    if (interface.inputs.len(), interface.outputs.len()) != (f.params.len(), f.results.len()) {
        broken(
            f.span,
            "the interface and the program have different numbers of parameters or results".to_owned(),
        );
        return;
    }
    for (i, (tensor, &ty)) in interface.inputs.iter().zip(&f.params).enumerate() {
        if let Some(fault) = fault(module, interface, tensor, ty) {
            broken(f.arg_span(i), format!("parameter {i}: {fault}"));
        }
        if let Some(result) = tensor.donated_to
            && f.results.get(result) != Some(&ty)
        {
            broken(
                f.arg_span(i),
                format!(
                    "parameter {i} cannot be donated to result {result} because their local types differ"
                ),
            );
        }
    }
    for (i, (tensor, &ty)) in interface.outputs.iter().zip(&f.results).enumerate() {
        if let Some(fault) = fault(module, interface, tensor, ty) {
            broken(f.res_span(i), format!("result {i}: {fault}"));
        }
    }
}

/// Returns the error in a parameter or result of type `ty`, or `None` if it matches its interface.
fn fault(module: &Module, interface: &Interface, tensor: &InterfaceTensor, ty: TypeId) -> Option<String> {
    let InterfaceTensor { global, local_shape, sharding, .. } = tensor;
    if tensor.is_token != matches!(module.types.get(ty), Type::Token) {
        return Some(format!("its type is {}", module.types.display(ty)));
    }
    // For a quantized tensor, the interface describes the storage type.
    let local = module.types.stored(ty)?;
    if local.dtype != global.dtype || local.shape != *local_shape {
        return Some(format!(
            "its local type {local} does not match its interface, whose global type is {global}"
        ));
    }
    if sharding.rank() != global.rank() {
        return Some(format!(
            "its sharding has {} dimensions, expected the rank of {global}",
            sharding.rank()
        ));
    }
    let mesh = interface.mesh_of(tensor);
    let is_split = |axis: &AxisRef| {
        let part = Part::of(mesh, *axis);
        sharding.split_axes().any(|split| Part::of(mesh, split).overlaps(part))
    };
    if let Some(&axis) = sharding.unreduced.iter().find(|axis| is_split(axis)) {
        let axis = mesh.axis_text(axis);
        return Some(format!("it is both sharded and unreduced along \"{axis}\""));
    }
    for (dim, (&whole, &block)) in global.shape.iter().zip(local_shape).enumerate() {
        let shards = sharding.shards(mesh, dim);
        if shards == 1 && whole == block {
            continue;
        }
        // A dynamic dimension, whose size is negative, cannot be sharded; the check of `whole` rejects it.
        let padding = block.saturating_mul(shards).saturating_sub(whole);
        if whole < 0 || padding < 0 || padding >= shards {
            return Some(format!(
                "dimension {dim} of {global} does not have {shards} blocks of size {block}"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use shardc_ir::{Module, ReductionKind};

    use super::*;
    use crate::driver::context::PassContext;
    use crate::driver::partition::partition_propagated;
    use crate::propagate::{PropagateOptions, propagate};

    /// Ten rows on four devices, and a result of eight rows that reuses the memory of a parameter.
    const PROGRAM: &str = r#"
        sdy.mesh @mesh = <["x"=4]>
        func.func @main(%a: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                        %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, tf.aliasing_output = 1 : i32})
            -> (tensor<10xf32>, tensor<8xf32>) {
          %0 = stablehlo.negate %a : tensor<10xf32>
          %1 = stablehlo.negate %b : tensor<8xf32>
          return %0, %1 : tensor<10xf32>, tensor<8xf32>
        }"#;

    fn partitioned() -> (Module, FuncId, Interface) {
        partitioned_from(PROGRAM)
    }

    fn partitioned_from(program: &str) -> (Module, FuncId, Interface) {
        let mut module = shardc_stablehlo::parse(program).expect("a program");
        propagate(&mut module, &PropagateOptions::default()).expect("propagates");
        let entry = module.entry().expect("an entry");
        let done = partition_propagated(&mut module, &PassContext::default()).expect("partitions");
        (module, entry, done.interface)
    }

    #[test]
    fn quantized_parameters_are_checked_too() {
        let program = r#"
            sdy.mesh @mesh = <["x"=4]>
            func.func @main(%a: tensor<8x!quant.uniform<i8:f32, 0.5>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
                -> tensor<8x!quant.uniform<i8:f32, 0.5>> {
              return %a : tensor<8x!quant.uniform<i8:f32, 0.5>>
            }"#;
        let (module, func, right) = partitioned_from(program);
        let mut errors = Vec::new();
        check(&module, func, &right, 4, &mut errors);
        assert_eq!(errors, []);
        let mut wrong = right;
        wrong.inputs[0].local_shape[0] = 3;
        check(&module, func, &wrong, 4, &mut errors);
        assert!(
            errors
                .iter()
                .any(|e| e.message.contains("parameter 0: its local type tensor<2xi8> does not match")),
            "{errors:?}"
        );
    }

    #[test]
    fn broken_interfaces_are_detected() {
        type Break = fn(&mut Interface);
        let breakages: &[(&str, Break)] = &[
            ("parameter 0: its local type tensor<3xf32> does not match", |i| i.inputs[0].local_shape[0] = 2),
            ("dimension 0 of tensor<13xf32> does not have 4 blocks of size 3", |i| {
                i.inputs[0].global.shape[0] = 13
            }),
            ("dimension 0 of tensor<8xf32> does not have 4 blocks of size 3", |i| {
                i.inputs[0].global.shape[0] = 8
            }),
            ("dimension 0 of tensor<10xf32> does not have 1 blocks of size 3", |i| {
                i.inputs[0].sharding.dims[0].axes.clear()
            }),
            (
                "its local type tensor<2xf32> does not match its interface, whose global type is tensor<8xf64>",
                |i| {
                    i.outputs[1].global.dtype = shardc_ir::DType::F64;
                },
            ),
            ("it is both sharded and unreduced along \"x\"", |i| {
                let sharding = &mut i.outputs[1].sharding;
                sharding.unreduced = sharding.dims[0].axes.clone();
                sharding.reduction = ReductionKind::Add;
            }),
            ("parameter 1 cannot be donated to result 0", |i| i.inputs[1].donated_to = Some(0)),
            ("the program is for 4 devices, but its mesh has 8", |i| {
                i.mesh = shardc_ir::Mesh::new([("x", 8)])
            }),
            ("different numbers of parameters or results", |i| i.outputs.truncate(1)),
        ];
        let (module, func, right) = partitioned();
        let mut errors = Vec::new();
        check(&module, func, &right, 4, &mut errors);
        assert_eq!(errors, []);
        for (text, edit) in breakages {
            let mut wrong = right.clone();
            edit(&mut wrong);
            let mut errors = Vec::new();
            check(&module, func, &wrong, 4, &mut errors);
            assert!(errors.iter().any(|e| e.message.contains(text)), "{text}: {errors:?}");
            assert!(errors.iter().all(|e| e.code == "SH0463" && e.class == shardc_ir::Class::Internal));
        }
    }
}
