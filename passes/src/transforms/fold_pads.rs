//! Folds padding into the operation with windows that reads it.
//!
//! Where a tensor is padded with zeros for a convolution, or with the initial value for a `reduce_window`, the window pads
//! instead. Of a dimension that is split, the padded tensor has other blocks than the tensor itself: its devices would first
//! shift their parts by what the padding adds, and then exchange borders. Folded, they exchange borders alone.

use shardc_ir::{Dense, Module, OpId, OpKind, PadSpec, RegionId, ValueId};
use smallvec::SmallVec;

use crate::analysis::reducer::init_counts_for_nothing;
use crate::analysis::regions::program_ops;

/// Folds padding everywhere under `body`. Paddings that are no longer needed stay, unused.
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

/// Returns the convolution that pads its input itself, and that input.
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
        // Dilation would put gaps between the elements of the padding too, which the window's own padding has not.
        if spec.lhs_dilation.get(i).is_some_and(|&n| n != 1) {
            return None;
        }
        let (before, after) = spec.padding[i];
        spec.padding[i] = (before + low, after + high);
    }
    Some((OpKind::Convolution(spec), input))
}

/// Returns the `reduce_window` that pads its only input itself, and that input.
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

/// Returns how operand 0 of `op` is padded, what is padded and with what, if only around it: cutting off and interior padding
/// are no window's.
fn padding_of(module: &Module, op: OpId) -> Option<(&PadSpec, ValueId, ValueId)> {
    padding(module, module.def_op(*module.ops[op].operands.first()?)?)
}

/// Returns how a pad pads what with what, if only around it.
pub(super) fn padding(module: &Module, pad: OpId) -> Option<(&PadSpec, ValueId, ValueId)> {
    let pad = &module.ops[pad];
    let (OpKind::Pad(spec), &[input, value]) = (&pad.kind, pad.operands.as_slice()) else { return None };
    // A window pads with the number zero, which the stored zero of a quantized tensor need not be.
    if module.is_quantized(input) {
        return None;
    }
    let around = spec.low.iter().chain(&spec.high).all(|&n| n >= 0) && spec.interior.iter().all(|&n| n == 0);
    around.then_some((&**spec, input, value))
}

/// Whether every element is zero, and not the negative one, whose products have other signs.
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

/// Returns the bytes of an element of a constant of equal elements.
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
