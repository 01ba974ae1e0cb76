//! A program in double precision: every float narrower than `f64` becomes `f64`, every `complex<f32>` becomes `complex<f64>`.
//!
//! Widening separates rounding from a bug if the results of a partitioned program differ from those of its original: both programs are
//! widened and run again. Differences from the order of summation almost vanish, while a difference caused by a bug remains.
//!
//! **Invariant.** A `bitcast_convert` still operates on the narrow type: conversions are inserted before and after it.

use std::collections::HashMap;

use shardc_ir::{
    Build, DType, Dense, EntityRef, Module, OpId, OpKind, RegionId, Rewriter, Type, TypeId, ValueId, verify,
};
use shardc_passes::rules::is_identity_call;
use shardc_runtime::HostArray;

/// The type that replaces `dtype`.
pub(crate) fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => DType::F64,
        DType::C64 => DType::C128,
        other => other,
    }
}

/// Converts an array to the wide type of its elements, without changing their values. Returns `None` if the conversion fails.
pub(crate) fn widen_array(array: &HostArray) -> Option<HostArray> {
    let to = wide(array.dtype);
    if to == array.dtype {
        return Some(array.clone());
    }
    HostArray::from_f64(to, &array.shape, &array.to_f64_vec()).ok()
}

/// Converts a module to double precision. Returns `None` if the conversion would change the module's meaning: the module has calls that are
/// specific to an element type, 8-bit or quantized types, which round by design, or operations unknown to shardc.
pub(crate) fn widen(module: &Module) -> Option<Module> {
    let mut module = module.clone();
    let ops: Vec<OpId> = module.bodies().flat_map(|body| module.walk(body)).collect();
    if !ops.iter().all(|&op| means_the_same(&module, op)) {
        return None;
    }
    let types = widen_types(&mut module)?;
    let of = |ty: TypeId| types.get(ty.index()).copied().unwrap_or(ty);
    // Operands and results of a cast keep their types; conversions are inserted below.
    let casts: Vec<OpId> =
        ops.iter().copied().filter(|&op| matches!(module.ops[op].kind, OpKind::BitcastConvert)).collect();
    let narrow: HashMap<OpId, (TypeId, TypeId)> = casts
        .iter()
        .filter_map(|&op| {
            let data = &module.ops[op];
            let (operand, result) = (*data.operands.first()?, *data.results.first()?);
            Some((op, (module.values[operand].ty, module.values[result].ty)))
        })
        .collect();
    for &op in &ops {
        widen_constant(&mut module, op)?;
        if let OpKind::DotGeneral(spec) = &mut module.ops[op].kind {
            // The algorithm specifies a precision for the operands and the accumulation, which f64 replaces.
            spec.algorithm = None;
        }
    }
    for value in module.values.values_mut() {
        value.ty = of(value.ty);
    }
    for func in module.funcs.values_mut() {
        for ty in func.params.iter_mut().chain(&mut func.results) {
            *ty = of(*ty);
        }
    }
    if !casts.is_empty() {
        let bodies: Vec<RegionId> = module.bodies().collect();
        let mut rw = Rewriter::new(&mut module);
        for body in bodies {
            rw.each_op(body, &mut |rw, op| {
                if let Some(&(from, to)) = narrow.get(&op) {
                    convert_around_cast(rw, op, from, to);
                }
            });
        }
    }
    verify(&module).is_ok().then_some(module)
}

/// Whether an operation has the same meaning on wide types, only with higher precision.
fn means_the_same(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let rounds = |value: &ValueId| match module.types.get(module.values[*value].ty) {
        Type::Tensor(tensor) => {
            tensor.dtype.is_float() && tensor.dtype.bits() < 16 || tensor.dtype == DType::TF32
        }
        Type::Quantized(_) | Type::Other(_) => true,
        Type::Token | Type::Tuple(_) => false,
    };
    let by_name = match &data.kind {
        // These custom calls represent shardings or memory placements.
        OpKind::CustomCall(call) => {
            matches!(&*call.target, "Sharding" | "SPMDFullToShardShape" | "SPMDShardToFullShape")
                || is_identity_call(&call.target)
        }
        OpKind::Opaque(_)
        | OpKind::ConstantLike(_)
        | OpKind::Rng(_)
        | OpKind::Infeed(_)
        | OpKind::Outfeed { .. }
        | OpKind::Send(_)
        | OpKind::Recv(_)
        | OpKind::UniformQuantize
        | OpKind::UniformDequantize
        | OpKind::Constant(Dense::Resource(_) | Dense::Raw(_)) => false,
        _ => true,
    };
    by_name && !data.operands.iter().chain(&data.results).any(rounds)
}

/// Returns the wide type of each type of the module, by type index, or `None` if a tuple has an unknown element type.
fn widen_types(module: &mut Module) -> Option<Vec<TypeId>> {
    let mut out = Vec::with_capacity(module.types.len());
    for i in 0..module.types.len() {
        let id = TypeId::new(i);
        let new = match module.types.get(id).clone() {
            Type::Tensor(mut tensor) => {
                tensor.dtype = wide(tensor.dtype);
                module.types.intern(Type::Tensor(tensor))
            }
            // The element types of a tuple precede the tuple.
            Type::Tuple(items) => {
                let items = items.iter().map(|item| out.get(item.index()).copied());
                let items = items.collect::<Option<Vec<TypeId>>>()?;
                module.types.intern(Type::Tuple(items))
            }
            Type::Token | Type::Quantized(_) | Type::Other(_) => id,
        };
        out.push(new);
    }
    Some(out)
}

fn widen_constant(module: &mut Module, op: OpId) -> Option<()> {
    let dtype = match module.ops[op].results.first().and_then(|&result| module.tensor(result)) {
        Some(tensor) if wide(tensor.dtype) != tensor.dtype => tensor.dtype,
        _ => return Some(()),
    };
    let OpKind::Constant(dense) = &mut module.ops[op].kind else { return Some(()) };
    let widened = |bytes: &[u8]| {
        let array = HostArray::new(dtype, &[bytes.len() / dtype.bytes()], bytes.to_vec()).ok()?;
        widen_array(&array).map(|array| array.data)
    };
    *dense = match dense {
        Dense::Splat(bytes) => Dense::splat(&widened(bytes)?),
        Dense::Elements(bytes) => Dense::elements(widened(bytes)?),
        Dense::Resource(_) | Dense::Raw(_) => return None,
    };
    Some(())
}

/// Inserts conversions before and after the cast `op`, which casts `from` to `to`.
fn convert_around_cast(rw: &mut Rewriter<'_>, op: OpId, from: TypeId, to: TypeId) {
    let (operand, result) = (rw.module.ops[op].operands[0], rw.module.ops[op].results[0]);
    if rw.module.values[operand].ty != from {
        rw.module.ops[op].operands[0] = rw.op1(OpKind::Convert, &[operand], from);
    }
    if rw.module.values[result].ty != to {
        // `op` becomes the conversion, so that existing uses of its result use the converted value.
        let operand = rw.module.ops[op].operands[0];
        let cast = rw.op1(OpKind::BitcastConvert, &[operand], to);
        rw.module.ops[op].kind = OpKind::Convert;
        rw.module.ops[op].operands[0] = cast;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiler;

    fn widened(text: &str) -> Option<String> {
        let module = Compiler::read(text.as_bytes()).unwrap();
        widen(&module)
            .map(|module| shardc_stablehlo::print(&module, &shardc_stablehlo::PrintOptions::default()))
    }

    #[test]
    fn floats_are_widened_and_bits_are_not() {
        let text = widened(
            "func.func @main(%a: tensor<2xf32>, %n: tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>) {
               %0 = stablehlo.constant dense<[1.5, 0xFF800000]> : tensor<2xf32>
               %1 = stablehlo.bitcast_convert %n : (tensor<2xi32>) -> tensor<2xf32>
               %2 = stablehlo.add %0, %1 : tensor<2xf32>
               %3 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2xi32>
               return %2, %3 : tensor<2xf32>, tensor<2xi32>
             }",
        )
        .unwrap();
        for line in [
            "(%arg0: tensor<2xf64>, %arg1: tensor<2xi32>) -> (tensor<2xf64>, tensor<2xi32>)",
            "stablehlo.constant dense<[1.500000e+00, 0xFFF0000000000000]> : tensor<2xf64>",
            "stablehlo.bitcast_convert %arg1 : (tensor<2xi32>) -> tensor<2xf32>",
            "stablehlo.convert %0 : (tensor<2xf32>) -> tensor<2xf64>",
            "stablehlo.convert %arg0 : (tensor<2xf64>) -> tensor<2xf32>",
            "(tensor<2xf32>) -> tensor<2xi32>",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn type_specific_programs_are_not_widened() {
        let call = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
               %0 = stablehlo.custom_call @sgemm(%a) : (tensor<2xf32>) -> tensor<2xf32>
               return %0 : tensor<2xf32>
             }";
        assert_eq!(widened(call), None);
        let moved = call.replace("sgemm", "annotate_device_placement");
        assert!(widened(&moved).unwrap().contains("(tensor<2xf64>) -> tensor<2xf64>"));
    }
}
