//! Shape refinement: infers static types in a function whose parameters are static and whose body has dimensions of unknown size.
//!
//! JAX emits such functions for a call of an exported function with symbolic dimensions.
//!
//! Conditions, for each operation:
//! * the shape is an operand that is constant, or computed from constants and `get_dimension_size`;
//! * or the types of operands and regions determine the type.
//!
//! A size that cannot be derived stays dynamic. A shape assertion that holds is removed; one that fails is an error.
//!
//! ```mlir
//! // before
//! %0 = stablehlo.convert %arg0 : (tensor<4x8xf32>) -> tensor<?x8xf32>
//! %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?x8xf32>) -> tensor<i32>
//! %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
//! %3 = stablehlo.dynamic_iota %2, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
//! // after
//! %3 = stablehlo.iota dim = 0 : tensor<4xi32>
//! ```
//!
//! The walk is forward and visits each operation once: a shape depends only on preceding operations. A loop has the types of its initial
//! values.

mod custom_calls;
mod integers;
mod types;

use shardc_ir::{
    Build, DType, DYNAMIC, Diagnostic, FuncId, Module, OpId, OpKind, RegionId, Rewriter, TensorBuild, Type,
    ValueId,
};

use self::integers::{Integers, encode};
use self::types::{is_dynamic, manual_blocks, refine, refine_from, refine_results};
use super::decompose::static_form;

/// Refines the types in the body of a function, and its result types. Parameters keep their types.
///
/// # Errors
/// Returns SH0352 if a shape assertion does not hold.
pub fn refine_shapes(module: &mut Module, func: FuncId) -> Result<(), Vec<Diagnostic>> {
    let Some(body) = module.funcs[func].body else { return Ok(()) };
    let mut refiner = Refiner { integers: Integers::default(), errors: Vec::new() };
    refiner.region(&mut Rewriter::new(module), body);
    if !refiner.errors.is_empty() {
        return Err(refiner.errors);
    }
    if let Some(end) = module.terminator(body) {
        module.funcs[func].results = module.ops[end].operands.iter().map(|&v| module.values[v].ty).collect();
    }
    Ok(())
}

/// Whether a function body has dimensions of unknown size, or operations that refinement removes.
#[must_use]
pub fn has_unknown_shapes(module: &Module, body: RegionId) -> bool {
    let dynamic = |&value: &ValueId| is_dynamic(module, module.values[value].ty);
    let (ops, regions) = module.walk_with_regions(body, |_| true);
    regions.iter().any(|&region| module.regions[region].args.iter().any(dynamic))
        || ops.iter().any(|&op| {
            let data = &module.ops[op];
            data.results.iter().any(dynamic) || custom_calls::is_refined(data)
        })
}

struct Refiner {
    integers: Integers,
    errors: Vec<Diagnostic>,
}

impl Refiner {
    fn region(&mut self, rw: &mut Rewriter<'_>, region: RegionId) {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            self.enter_regions(rw.module, op);
            for nested in rw.module.ops[op].regions.clone() {
                self.region(rw, nested);
            }
            self.op(rw, op);
        }
    }

    /// Refines the arguments of the regions of an operation from its operands.
    fn enter_regions(&mut self, module: &mut Module, op: OpId) {
        let (operands, regions) = (module.ops[op].operands.clone(), module.ops[op].regions.clone());
        match module.ops[op].kind.clone() {
            OpKind::While => {
                let body_end = regions.last().and_then(|&body| module.terminator(body));
                let yielded = body_end.map(|end| module.ops[end].operands.clone()).unwrap_or_default();
                for (i, &region) in regions.iter().enumerate() {
                    for (place, &arg) in module.regions[region].args.clone().iter().enumerate() {
                        let Some(&operand) = operands.get(place) else { continue };
                        refine_from(module, arg, operand);
                        // An integer that the loop carries unchanged always has its initial value.
                        let body_arg = regions.last().and_then(|&b| module.regions[b].args.get(place));
                        let is_invariant = body_arg.is_some() && yielded.get(place) == body_arg;
                        if is_invariant
                            && i < 2
                            && let Some(elements) = self.integers.of(module, operand)
                        {
                            self.integers.set(arg, elements);
                        }
                    }
                }
            }
            OpKind::NamedComputation(_) | OpKind::AsyncStart => {
                for &region in &regions {
                    for (&arg, &operand) in module.regions[region].args.clone().iter().zip(&operands) {
                        refine_from(module, arg, operand);
                    }
                }
            }
            OpKind::ManualComputation(spec) => {
                let Some(&body) = regions.first() else { return };
                let args = module.regions[body].args.clone();
                for ((&arg, &operand), &sharding) in args.iter().zip(&operands).zip(&spec.in_shardings) {
                    let global = module.shape(operand);
                    let blocks = manual_blocks(module, sharding, &spec.manual_axes, global.len());
                    let size = |(&n, &blocks): (&i64, &i64)| match n >= 0 && n % blocks == 0 {
                        true => n / blocks,
                        false => DYNAMIC,
                    };
                    let local: Vec<i64> = global.iter().zip(&blocks).map(size).collect();
                    refine(module, arg, &local);
                }
            }
            _ => {}
        }
    }

    fn op(&mut self, rw: &mut Rewriter<'_>, op: OpId) {
        match custom_calls::refine_call(rw, op, &self.integers) {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => return self.errors.push(*error),
        }
        refine_results(rw.module, op, &self.integers);
        let data = &rw.module.ops[op];
        let &[result] = data.results.as_slice() else { return };
        if let Some(elements) = self.integers.evaluate(rw.module, op) {
            let Some(ty) = rw.module.tensor(result).cloned() else { return };
            let value = rw.elements(encode(ty.dtype, &elements), &ty.shape, ty.dtype);
            return replace(rw, result, value);
        }
        match data.kind.clone() {
            // The conversion of a known integer to a float becomes a constant: a mean divides by the number of elements.
            OpKind::Convert if let Some(value) = self.float(rw, op, result) => replace(rw, result, value),
            OpKind::Dynamic(kind) => {
                if let Some(value) = static_form(rw, op, &kind) {
                    replace(rw, result, value);
                }
            }
            // A cast between a static and a dynamic type is redundant once both types are equal.
            OpKind::Convert if rw.module.shardings.of(result).is_none() => {
                let operand = rw.module.ops[op].operands[0];
                let types = [operand, result].map(|value| rw.module.values[value].ty);
                if types[0] == types[1] && matches!(rw.module.types.get(types[0]), Type::Tensor(_)) {
                    rw.replace(&[operand]);
                }
            }
            _ => {}
        }
    }
}

impl Refiner {
    /// Inserts a known integer, which `op` converts to a scalar of type `f32` or `f64`, as a constant of that type.
    fn float(&self, rw: &mut Rewriter<'_>, op: OpId, result: ValueId) -> Option<ValueId> {
        let ty = rw.module.tensor(result).filter(|ty| ty.rank() == 0)?;
        let operand = *rw.module.ops[op].operands.first()?;
        let &[n] = self.integers.of(rw.module, operand)?.as_slice() else { return None };
        let bytes = match ty.dtype {
            DType::F32 => (n as f32).to_le_bytes().to_vec(),
            DType::F64 => (n as f64).to_le_bytes().to_vec(),
            _ => return None,
        };
        let dtype = ty.dtype;
        Some(rw.splat(&bytes, &[], dtype))
    }
}

/// Replaces the result of the current operation by `value`, which gets the sharding of the result.
fn replace(rw: &mut Rewriter<'_>, result: ValueId, value: ValueId) {
    let sharding = rw.module.shardings.of(result);
    rw.module.shardings.set(value, sharding);
    rw.replace(&[value]);
}
