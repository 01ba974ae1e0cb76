//! Pad folding: moves explicit padding into the window of a convolution or `reduce_window`.
//!
//! The block boundaries of a padded tensor differ from those of its input. If a padded dimension is sharded, devices would first shift
//! blocks by the padding, then exchange halos. After folding they only exchange halos.
//!
//! Conditions:
//! * edges are not negative, and there is no interior padding;
//! * a convolution is padded with positive zero, in spatial dimensions without `lhs_dilation`;
//! * a `reduce_window` with one input is padded with its neutral initial value, and has no base dilation;
//! * the input is not quantized.
//!
//! ```mlir
//! %0 = stablehlo.pad %x, %zero, low = [0, 1, 0, 0], high = [0, 2, 1, 0], interior = [0, 0, 0, 0]
//! %1 = stablehlo.convolution(%0, %k) ... window = {pad = [[0, 1], [0, 0]], ...}
//! ```
//! becomes
//! ```mlir
//! %1 = stablehlo.convolution(%x, %k) ... window = {pad = [[1, 3], [0, 1]], ...}
//! ```

use shardc_ir::{Dense, Module, OpId, OpKind, PadSpec, RegionId, ValueId};
use smallvec::SmallVec;

use crate::analysis::reducer::init_counts_for_nothing;
use crate::analysis::regions::program_ops;

/// Folds padding everywhere under `body`. Folded pads remain as dead code.
pub fn fold_pads(module: &mut Module, body: RegionId) {
    for op in program_ops(module, body) {
        let folded = match &module.ops[op].kind {
            OpKind::Convolution(_) => into_convolution(module, op),
            OpKind::ReduceWindow(_) => into_window(module, op),
            _ => None,
        };
        if let Some((kind, input)) = folded {
            module.ops[op].kind = kind;
            module.ops[op].operands[0] = input;
        }
    }
}

/// Returns the convolution with the padding folded in, and its unpadded input.
fn into_convolution(module: &Module, op: OpId) -> Option<(OpKind, ValueId)> {
    let OpKind::Convolution(spec) = &module.ops[op].kind else { return None };
    let (pad, input, value) = padding_of(module, op)?;
    if !is_zero(module, value) {
        return None;
    }
    let mut spec = spec.clone();
    let spatial = spec.input.spatial.len();
    spec.padding.resize(spatial, (0, 0));
    for (dim, (&low, &high)) in pad.low.iter().zip(&pad.high).enumerate() {
        if (low, high) == (0, 0) {
            continue;
        }
        let i = spec.input.spatial.iter().position(|&d| d as usize == dim)?;
        // Dilation would also insert gaps between padding elements, but the window's own padding has no gaps.
        if spec.lhs_dilation.get(i).is_some_and(|&n| n != 1) {
            return None;
        }
        let (before, after) = spec.padding[i];
        spec.padding[i] = (before + low, after + high);
    }
    Some((OpKind::Convolution(spec), input))
}

/// Returns the `reduce_window` with the padding folded in, and its unpadded input.
fn into_window(module: &Module, op: OpId) -> Option<(OpKind, ValueId)> {
    let data = &module.ops[op];
    let (OpKind::ReduceWindow(spec), &[_, init]) = (&data.kind, data.operands.as_slice()) else {
        return None;
    };
    let (pad, input, value) = padding_of(module, op)?;
    let is_same = scalar(module, init)? == scalar(module, value)? && init_counts_for_nothing(module, op);
    if !is_same || spec.base_dilations.iter().any(|&n| n != 1) {
        return None;
    }
    let mut spec = spec.clone();
    spec.padding.resize(pad.low.len(), (0, 0));
    for ((before, after), (low, high)) in spec.padding.iter_mut().zip(pad.low.iter().zip(&pad.high)) {
        *before += low;
        *after += high;
    }
    Some((OpKind::ReduceWindow(spec), input))
}

/// Returns the pad that produces operand 0 of `op`, its input and its padding value, under the conditions of [`padding`].
fn padding_of(module: &Module, op: OpId) -> Option<(&PadSpec, ValueId, ValueId)> {
    padding(module, module.def_op(*module.ops[op].operands.first()?)?)
}

/// Returns the attributes of a pad, its input and its padding value; `None` if edges are negative or there is interior padding.
pub(super) fn padding(module: &Module, pad: OpId) -> Option<(&PadSpec, ValueId, ValueId)> {
    let pad = &module.ops[pad];
    let (OpKind::Pad(spec), &[input, value]) = (&pad.kind, pad.operands.as_slice()) else { return None };
    // A window pads with zero, but the storage value zero of a quantized tensor may represent a different number.
    if module.is_quantized(input) {
        return None;
    }
    let around = spec.low.iter().chain(&spec.high).all(|&n| n >= 0) && spec.interior.iter().all(|&n| n == 0);
    around.then_some((&**spec, input, value))
}

/// Whether every element is positive zero: products with -0.0 have a different sign.
pub(super) fn is_zero(module: &Module, mut value: ValueId) -> bool {
    while let Some(op) = module.def_op(value) {
        let op = &module.ops[op];
        match &op.kind {
            OpKind::Constant(Dense::Splat(bytes)) => return bytes.iter().all(|&b| b == 0),
            OpKind::Convert | OpKind::Reshape | OpKind::BroadcastInDim { .. } => value = op.operands[0],
            _ => return false,
        }
    }
    false
}

/// Returns the element bytes of a splat constant.
fn scalar(module: &Module, mut value: ValueId) -> Option<SmallVec<[u8; 16]>> {
    loop {
        let op = &module.ops[module.def_op(value)?];
        match &op.kind {
            OpKind::Constant(Dense::Splat(bytes)) => return Some(bytes.clone()),
            OpKind::Reshape | OpKind::BroadcastInDim { .. } => value = op.operands[0],
            _ => return None,
        }
    }
}
