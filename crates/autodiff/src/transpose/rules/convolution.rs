//! Transposition of convolutions.
//!
//! The cotangent of the input is a convolution of the output's cotangent with the reversed kernel. The cotangent of the kernel is a
//! convolution of the input with the output's cotangent, with features and batch swapped. Dilations and strides are swapped in both.

use shardc_ir::{ConvDims, ConvSpec, DimList, KernelDims, OpId, OpKind, SizeList, TensorBuild, ValueId};
use smallvec::SmallVec;

use crate::emit::{Arithmetic, Emit};
use crate::transpose::Transposed;

/// The cotangent of operand `i`, the input or the kernel.
pub(super) fn convolution(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    spec: &ConvSpec,
    i: usize,
    ct: ValueId,
) -> Option<ValueId> {
    let operands = t.linear.module.ops[op].operands.clone();
    let mut e = t.emit(op);
    let window = Window::of(&mut e, spec, &operands, ct);
    if i == 0 {
        of_input(&mut e, spec, &window, &operands, ct)
    } else {
        of_kernel(&mut e, spec, &window, &operands, ct)
    }
}

/// Window attributes and extents of a convolution, with one element for each spatial dimension.
struct Window {
    strides: SizeList,
    low: SizeList,
    lhs_dilation: SizeList,
    rhs_dilation: SizeList,
    reversal: SmallVec<[bool; 2]>,
    /// The extents of input, kernel and output, including dilation.
    input: SizeList,
    kernel: SizeList,
    output: SizeList,
}

impl Window {
    fn of(e: &mut Emit<'_>, spec: &ConvSpec, operands: &[ValueId], ct: ValueId) -> Window {
        let rank = spec.input.spatial.len();
        let or_ones =
            |list: &SizeList| if list.is_empty() { SizeList::from_elem(1, rank) } else { list.clone() };
        let (strides, lhs_dilation, rhs_dilation) =
            (or_ones(&spec.strides), or_ones(&spec.lhs_dilation), or_ones(&spec.rhs_dilation));
        let sizes = |e: &mut Emit<'_>, value: ValueId, dims: &DimList, gaps: &SizeList| -> SizeList {
            let shape = e.type_of(value).shape;
            let reach = |(&d, &gap): (&u32, &i64)| match shape[d as usize] {
                0 => 0,
                n => (n - 1) * gap + 1,
            };
            dims.iter().zip(gaps).map(reach).collect()
        };
        Window {
            low: (0..rank).map(|d| spec.padding.get(d).map_or(0, |&(low, _)| low)).collect(),
            reversal: (0..rank).map(|d| spec.reversal.get(d).copied().unwrap_or(false)).collect(),
            input: sizes(e, operands[0], &spec.input.spatial, &lhs_dilation),
            kernel: sizes(e, operands[1], &spec.kernel.spatial, &rhs_dilation),
            output: sizes(e, ct, &spec.output.spatial, &strides),
            strides,
            lhs_dilation,
            rhs_dilation,
        }
    }
}

fn of_input(
    e: &mut Emit<'_>,
    spec: &ConvSpec,
    window: &Window,
    operands: &[ValueId],
    ct: ValueId,
) -> Option<ValueId> {
    let groups = spec.feature_group_count.max(spec.batch_group_count);
    let (from, to) = (spec.kernel.output_feature, spec.kernel.input_feature);
    let kernel = if groups > 1 { move_groups(e, operands[1], from, to, groups) } else { operands[1] };
    let padding = (0..window.input.len())
        .map(|d| {
            let low = window.kernel[d] - window.low[d] - 1;
            (low, window.input[d] + window.kernel[d] - 1 - window.output[d] - low)
        })
        .collect();
    let back = ConvSpec {
        input: spec.output.clone(),
        kernel: KernelDims {
            input_feature: spec.kernel.output_feature,
            output_feature: spec.kernel.input_feature,
            spatial: spec.kernel.spatial.clone(),
        },
        output: spec.input.clone(),
        strides: window.lhs_dilation.clone(),
        padding,
        lhs_dilation: window.strides.clone(),
        rhs_dilation: window.rhs_dilation.clone(),
        reversal: window.reversal.iter().map(|reversed| !reversed).collect(),
        feature_group_count: groups,
        batch_group_count: 1,
        precision: spec.precision.iter().rev().copied().collect(),
    };
    let input = e.type_of(operands[0]);
    let dtype = e.type_of(ct).dtype;
    let mut shape: Vec<i64> = input.shape.to_vec();
    let (batch, feature) = (spec.input.batch as usize, spec.input.feature as usize);
    let by_batch = spec.batch_group_count > 1;
    if by_batch {
        shape[batch] /= groups;
        shape[feature] *= groups;
    }
    let made = e.tensor(OpKind::Convolution(Box::new(back)), &[ct, kernel], &shape, dtype);
    let made =
        if by_batch { move_groups(e, made, spec.input.feature, spec.input.batch, groups) } else { made };
    Some(e.convert(made, input.dtype))
}

fn of_kernel(
    e: &mut Emit<'_>,
    spec: &ConvSpec,
    window: &Window,
    operands: &[ValueId],
    ct: ValueId,
) -> Option<ValueId> {
    let padding = (0..window.input.len())
        .map(|d| {
            let high = window.output[d] - window.input[d] + window.kernel[d] - window.low[d] - 1;
            (window.low[d], high)
        })
        .collect();
    let swapped = |dims: &ConvDims| ConvDims {
        batch: dims.feature,
        feature: dims.batch,
        spatial: dims.spatial.clone(),
    };
    let back = ConvSpec {
        input: swapped(&spec.input),
        kernel: KernelDims {
            input_feature: spec.output.batch,
            output_feature: spec.output.feature,
            spatial: spec.output.spatial.clone(),
        },
        output: ConvDims {
            batch: spec.kernel.input_feature,
            feature: spec.kernel.output_feature,
            spatial: spec.kernel.spatial.clone(),
        },
        strides: window.rhs_dilation.clone(),
        padding,
        lhs_dilation: window.lhs_dilation.clone(),
        rhs_dilation: window.strides.clone(),
        reversal: SmallVec::new(),
        feature_group_count: spec.batch_group_count,
        batch_group_count: spec.feature_group_count,
        precision: spec.precision.clone(),
    };
    let kernel = e.type_of(operands[1]);
    let dtype = e.type_of(ct).dtype;
    let made = e.tensor(OpKind::Convolution(Box::new(back)), &[operands[0], ct], &kernel.shape, dtype);
    let dims: DimList = spec
        .kernel
        .spatial
        .iter()
        .zip(&window.reversal)
        .filter(|(_, reversed)| **reversed)
        .map(|(&d, _)| d)
        .collect();
    let made = if dims.is_empty() { made } else { e.alike(OpKind::Reverse { dims }, &[made]) };
    Some(e.convert(made, kernel.dtype))
}

/// Moves the major part of dimension `from`, the group index, to the major part of dimension `to`.
fn move_groups(e: &mut Emit<'_>, value: ValueId, from: u32, to: u32, groups: i64) -> ValueId {
    let ty = e.type_of(value);
    let (from, to) = (from as usize, to as usize);
    let mut split: Vec<i64> = ty.shape.to_vec();
    split[from] /= groups;
    split.insert(from, groups);
    let parted = e.tensor(OpKind::Reshape, &[value], &split, ty.dtype);
    // `at` maps dimensions of `value` to those of `parted`. The group dimension moves to directly before dimension `to`.
    let at = |d: usize| if d < from { d } else { d + 1 };
    let mut order: Vec<u32> = Vec::new();
    for d in 0..ty.shape.len() {
        if d == to {
            order.push(from as u32);
        }
        order.push(at(d) as u32);
    }
    let moved: Vec<i64> = order.iter().map(|&d| split[d as usize]).collect();
    let permutation: DimList = order.iter().copied().collect();
    let turned = e.tensor(OpKind::Transpose { permutation }, &[parted], &moved, ty.dtype);
    let mut shape: Vec<i64> = ty.shape.to_vec();
    shape[from] /= groups;
    shape[to] *= groups;
    e.tensor(OpKind::Reshape, &[turned], &shape, ty.dtype)
}
