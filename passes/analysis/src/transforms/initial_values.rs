//! Reduction initial value normalization: replaces the initial value of a `reduce` by the identity, and combines the result with the
//! initial value afterwards.
//!
//! StableHLO does not specify how often an implementation uses the initial value. XLA's CPU compiler adds it once for each partial sum of a
//! vectorized loop, and drops it if one element is reduced; so the result depends on the shape. After this pass, each result contains the
//! initial value exactly once.
//!
//! Conditions: the initial value is not known to be the identity, and the body is one commutative operation ([`reduction_of`]) that has an
//! identity for the element type.
//!
//! ```mlir
//! %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %zero = stablehlo.constant dense<-0.0> : tensor<f32>
//! %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
//! %1 = stablehlo.add %0, %c : tensor<f32>
//! ```

use shardc_ir::reducer::{exact_zero, identity, is_identity, reduction_of};
use shardc_ir::{Build, DimList, Module, OpId, OpKind, ReductionKind, Rewriter, TensorBuild, ValueId};

/// Combines initial values with the results of reductions.
pub(super) fn combine_afterwards(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut combine);
    }
}

fn combine(rw: &mut Rewriter<'_>, op: OpId) {
    let data = &rw.module.ops[op];
    let (OpKind::Reduce { .. }, Some(&region)) = (&data.kind, data.regions.first()) else { return };
    let inputs = data.results.len();
    let Some(kind) = reduction_of(rw.module, region, inputs) else { return };
    let (operands, results) = (data.operands.clone(), data.results.clone());
    let Some(initial) = operands.get(inputs..) else { return };
    if initial.iter().all(|&value| is_identity(rw.module, value, kind)) {
        return;
    }
    let neutral_element = |rw: &Rewriter<'_>, value: ValueId| {
        let dtype = rw.module.stored(value)?.dtype;
        let element = identity(kind, dtype)?;
        // The identity of addition is -0.0 for floats: adding 0.0 would turn -0.0 into 0.0.
        Some((if kind == ReductionKind::Add { exact_zero(dtype) } else { element }, dtype))
    };
    let elements: Option<Vec<_>> = initial.iter().map(|&value| neutral_element(rw, value)).collect();
    let Some(elements) = elements else { return };
    for (i, (element, dtype)) in elements.into_iter().enumerate() {
        let neutral = rw.splat(&element, &[], dtype);
        rw.module.ops[op].operands[inputs + i] = neutral;
    }
    rw.keep();
    for (&result, &value) in results.iter().zip(initial) {
        let shape = rw.module.shape(result).to_vec();
        let value = if shape.is_empty() { Some(value) } else { rw.spread(value, DimList::new(), &shape) };
        if let Some(value) = value {
            let combined = rw.binary(kind.op(), result, value);
            rw.stand_for(result, combined);
        }
    }
}
