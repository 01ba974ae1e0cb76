//! Inference of operations with windows: convolution, `reduce_window`, `select_and_scatter`.

use super::reduction::{pairs, reduced};
use super::{Ctx, Fail, Res, Ty, Types, distinct_dims, ensure, shape_fits, shape_text, size_fits, tensor};
use smallvec::SmallVec;

use crate::{ConvSpec, DYNAMIC, DimList, Shape, SizeList, TensorType, WindowSpec};

/// A window along one dimension.
struct WindowDim {
    size: i64,
    stride: i64,
    pad: (i64, i64),
    base_dilation: i64,
    dilation: i64,
}

impl WindowDim {
    /// Returns the number of windows along `n` elements; `None` if it overflows.
    fn count(&self, n: i64) -> Option<i64> {
        if n == DYNAMIC || self.size == DYNAMIC {
            return Some(DYNAMIC);
        }
        let dilate = |n: i64, by: i64| {
            // `(n - 1) * by + 1` would give an empty dilated dimension a negative size.
            if n == 0 { Some(0) } else { n.checked_sub(1)?.checked_mul(by)?.checked_add(1) }
        };
        let padded = dilate(n, self.base_dilation)?.checked_add(self.pad.0)?.checked_add(self.pad.1)?;
        let window = dilate(self.size, self.dilation)?;
        // Negative padding may remove all elements.
        if padded <= 0 || window > padded {
            return Some(0);
        }
        padded.checked_sub(window)?.checked_div(self.stride)?.checked_add(1)
    }
}

/// Returns entry `d` of a list; an empty list means `default` everywhere.
fn entry<T: Copy>(list: &[T], d: usize, default: T) -> T {
    list.get(d).copied().unwrap_or(default)
}

/// Returns the number of windows in each dimension of `shape`.
fn windows(cx: &Ctx<'_>, spec: &WindowSpec, shape: &[i64]) -> Res<Shape> {
    let rank = shape.len();
    ensure!(
        spec.dimensions.len() == rank
            && [
                spec.strides.len(),
                spec.base_dilations.len(),
                spec.window_dilations.len(),
                spec.padding.len()
            ]
            .iter()
            .all(|&n| n == 0 || n == rank),
        "the window of {} must have one entry per dimension of shape {}",
        cx.name(),
        shape_text(shape)
    );
    let mut out = Shape::new();
    for (d, (&n, &size)) in shape.iter().zip(&spec.dimensions).enumerate() {
        let window = WindowDim {
            size,
            stride: entry(&spec.strides, d, 1),
            pad: entry(&spec.padding, d, (0, 0)),
            base_dilation: entry(&spec.base_dilations, d, 1),
            dilation: entry(&spec.window_dilations, d, 1),
        };
        out.push(count(cx, &window, n, d)?);
    }
    Ok(out)
}

fn count(cx: &Ctx<'_>, window: &WindowDim, n: i64, d: usize) -> Res<i64> {
    ensure!(
        window.stride > 0 && window.base_dilation > 0 && window.dilation > 0,
        "stride and dilations of {} must be positive in window dimension {d}",
        cx.name()
    );
    super::shape::checked(cx, window.count(n))
}

pub(crate) fn reduce_window(cx: &Ctx<'_>, spec: &WindowSpec) -> Res<Types> {
    let n = pairs(cx)?;
    ensure!(
        spec.dimensions.iter().all(|&n| n > 0),
        "window sizes {:?} of {} must be positive",
        spec.dimensions,
        cx.name()
    );
    let shape = windows(cx, spec, &cx.tensor(0)?.shape)?;
    let result = |i: usize| -> Res<Ty> {
        Ok(Ty::Tensor(TensorType::new(&shape, reduced(cx, n, i, &spec.dimensions)?)))
    };
    (0..n).map(result).collect()
}

pub(crate) fn select_and_scatter(cx: &Ctx<'_>, spec: &WindowSpec) -> Res<Types> {
    let (operand, source, init) = (cx.tensor(0)?, cx.tensor(1)?, cx.scalar(2)?);
    ensure!(
        operand.dtype == source.dtype && init.dtype == operand.dtype,
        "select_and_scatter of {operand}, {source} and {init}: element types differ"
    );
    let shape = windows(cx, spec, &operand.shape)?;
    ensure!(
        shape_fits(&shape, &source.shape),
        "the source of select_and_scatter is {source}, expected the shape of the windows, {}",
        shape_text(&shape)
    );
    let dtype = cx.accumulated(1, 0, operand.dtype)?;
    Ok(tensor(&operand.shape, dtype))
}

/// Fails unless the dimension numbers of a convolution's tensor contain each of its dimensions once.
fn all_dims(cx: &Ctx<'_>, what: &str, others: [u32; 2], spatial: &[u32], rank: usize) -> Res<()> {
    let all: DimList = others.into_iter().chain(spatial.iter().copied()).collect();
    ensure!(
        all.len() == rank,
        "the {what} of convolution has rank {rank}, but its dimension numbers are {all:?}"
    );
    distinct_dims(cx.name(), what, &all, rank)
}

/// Infers a convolution whose padding is operand 2.
pub(crate) fn dynamic_convolution(cx: &Ctx<'_>, spec: &ConvSpec) -> Res<Types> {
    let padding = cx.tensor(2)?;
    let spatial = spec.input.spatial.len() as i64;
    ensure!(
        padding.dtype.is_integer() && padding.shape.as_slice() == [spatial, 2],
        "the padding of dynamic_conv must be integers of shape [{spatial}, 2], got {padding}"
    );
    match cx.constant(2) {
        Some(list) => {
            let pairs = list.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            convolution(cx, &ConvSpec { padding: pairs, ..spec.clone() })
        }
        None => {
            // Strides, dilations and reversal are checked only if the padding is known.
            let numbers = ConvSpec {
                strides: SizeList::new(),
                lhs_dilation: SizeList::new(),
                rhs_dilation: SizeList::new(),
                reversal: SmallVec::new(),
                ..spec.clone()
            };
            convolution(cx, &numbers)?;
            Err(Fail::Free)
        }
    }
}

pub(crate) fn convolution(cx: &Ctx<'_>, spec: &ConvSpec) -> Res<Types> {
    let (input, kernel) = (cx.tensor(0)?, cx.tensor(1)?);
    let rank = input.rank();
    ensure!(
        rank >= 2 && kernel.rank() == rank,
        "convolution of {input} with {kernel}: the ranks must be equal and at least 2"
    );
    ensure!(input.dtype == kernel.dtype, "convolution of {input} with {kernel}: the element types differ");
    ensure!(
        spec.precision.len() <= 2,
        "convolution must have at most one precision per operand, got {}",
        spec.precision.len()
    );
    let (from, by, to) = (&spec.input, &spec.kernel, &spec.output);
    all_dims(cx, "input", [from.batch, from.feature], &from.spatial, rank)?;
    all_dims(cx, "kernel", [by.input_feature, by.output_feature], &by.spatial, rank)?;
    all_dims(cx, "output", [to.batch, to.feature], &to.spatial, rank)?;
    let spatial = rank - 2;
    ensure!(
        [
            spec.strides.len(),
            spec.padding.len(),
            spec.lhs_dilation.len(),
            spec.rhs_dilation.len(),
            spec.reversal.len()
        ]
        .iter()
        .all(|&n| n == 0 || n == spatial),
        "the window of convolution must have one entry per spatial dimension ({spatial})"
    );
    let (features, batches) = (spec.feature_group_count, spec.batch_group_count);
    ensure!(
        features > 0 && batches > 0 && (features == 1 || batches == 1),
        "convolution with feature_group_count {features} and batch_group_count {batches}: both must be positive, and one must be 1"
    );
    let at = |t: &TensorType, d: u32| t.shape[d as usize];
    let in_batch =
        super::shape::divided(cx, at(input, spec.input.batch), batches, spec.input.batch as usize)?;
    let in_feature =
        super::shape::divided(cx, at(input, spec.input.feature), features, spec.input.feature as usize)?;
    ensure!(
        size_fits(in_feature, at(kernel, spec.kernel.input_feature)),
        "convolution of {input} with {kernel}: with feature_group_count {features}, the kernel must have {in_feature} input features"
    );
    let out_feature = at(kernel, spec.kernel.output_feature);
    // One of the two counts is 1, which divides every size; the other must divide the number of output features.
    for groups in [features, batches] {
        super::shape::divided(cx, out_feature, groups, spec.kernel.output_feature as usize)?;
    }
    let mut shape = Shape::from_elem(0, rank);
    shape[spec.output.batch as usize] = in_batch;
    shape[spec.output.feature as usize] = out_feature;
    for i in 0..spatial {
        let window = WindowDim {
            size: at(kernel, spec.kernel.spatial[i]),
            stride: entry(&spec.strides, i, 1),
            pad: entry(&spec.padding, i, (0, 0)),
            base_dilation: entry(&spec.lhs_dilation, i, 1),
            dilation: entry(&spec.rhs_dilation, i, 1),
        };
        shape[spec.output.spatial[i] as usize] = count(cx, &window, at(input, spec.input.spatial[i]), i)?;
    }
    Ok(tensor(&shape, input.dtype))
}
