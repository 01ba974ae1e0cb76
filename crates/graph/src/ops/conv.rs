//! Convolutions and pooling.
//!
//! Dimensions are named by letters, as `jax.lax.conv_general_dilated` does: `N` the batch, `C` features, `I` and `O` features of a
//! kernel's input and output, all others spatial.

use shardc_ir::{ConvDims, ConvSpec, DType, KernelDims, OpKind, ReductionKind, WindowSpec, reducer};
use smallvec::SmallVec;

use crate::error::{ErrorKind, KindResult};
use crate::graph::Maker;
use crate::{Tensor, number};

/// How windows go over the edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// They do not.
    #[default]
    Valid,
    /// As far as it takes for `ceil(n / stride)` windows; where that is odd, further at the end.
    Same,
    /// As far as it takes for `ceil(n / stride)` windows; where that is odd, further at the start.
    SameLower,
    /// So many elements before and after, in each spatial dimension.
    Explicit(Vec<(i64, i64)>),
}

impl Padding {
    /// How many elements are before and after `n` elements with windows of `size`.
    fn amounts(&self, i: usize, n: i64, size: i64, stride: i64) -> Option<(i64, i64)> {
        let needed = || {
            let windows = (n + stride - 1) / stride;
            ((windows - 1) * stride + size - n).max(0)
        };
        match self {
            Padding::Valid => Some((0, 0)),
            Padding::Same => Some((needed() / 2, needed() - needed() / 2)),
            Padding::SameLower => Some((needed() - needed() / 2, needed() / 2)),
            Padding::Explicit(list) => list.get(i).copied(),
        }
    }
}

/// How a convolution goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conv {
    /// Letters of the input's dimensions: `NHWC`.
    pub lhs: String,
    /// Letters of the kernel's: `HWIO`.
    pub rhs: String,
    /// Letters of the output's: `NHWC`.
    pub out: String,
    /// Step of the windows in each spatial dimension; empty for one.
    pub strides: Vec<i64>,
    /// How they go over the edges.
    pub padding: Padding,
    /// Distance of the input's elements; empty for one.
    pub lhs_dilation: Vec<i64>,
    /// Distance of the kernel's elements; empty for one.
    pub rhs_dilation: Vec<i64>,
    /// Groups of features that have nothing to do with each other.
    pub feature_groups: i64,
    /// Groups of the batch that have nothing to do with each other.
    pub batch_groups: i64,
}

impl Default for Conv {
    /// Of images, with steps of one, without padding.
    fn default() -> Self {
        Conv {
            lhs: "NHWC".to_owned(),
            rhs: "HWIO".to_owned(),
            out: "NHWC".to_owned(),
            strides: Vec::new(),
            padding: Padding::Valid,
            lhs_dilation: Vec::new(),
            rhs_dilation: Vec::new(),
            feature_groups: 1,
            batch_groups: 1,
        }
    }
}

impl Conv {
    fn spec(&self, lhs: &[i64], rhs: &[i64]) -> KindResult<ConvSpec> {
        let wrong = |text: String| Err(ErrorKind::Operands(text));
        for (letters, shape) in [(&self.lhs, lhs), (&self.rhs, rhs), (&self.out, lhs)] {
            if letters.chars().count() != shape.len() {
                return wrong(format!("conv: the dimensions {letters:?} of a tensor of shape {shape:?}"));
            }
        }
        let place = |letters: &str, letter: char| letters.chars().position(|c| c == letter);
        let spatial: Vec<char> = self.lhs.chars().filter(|c| !"NC".contains(*c)).collect();
        let places = |letters: &str| spatial.iter().map(|&c| place(letters, c)).collect::<Option<Vec<_>>>();
        let all = (|| {
            let ends = |letters, a, b| Some((place(letters, a)?, place(letters, b)?, places(letters)?));
            Some((ends(&self.lhs, 'N', 'C')?, ends(&self.rhs, 'I', 'O')?, ends(&self.out, 'N', 'C')?))
        })();
        let Some((input, kernel, output)) = all else {
            let (lhs, rhs, out) = (&self.lhs, &self.rhs, &self.out);
            return wrong(format!("conv: the dimensions {lhs:?}, {rhs:?} and {out:?} do not go together"));
        };
        let n = spatial.len();
        let at = |list: &[i64], i: usize| list.get(i).copied().unwrap_or(1).max(1);
        let mut padding = SmallVec::new();
        for i in 0..n {
            let dilated = |size: i64, by: i64| if size == 0 { 0 } else { (size - 1) * by + 1 };
            let size = dilated(rhs[kernel.2[i]], at(&self.rhs_dilation, i));
            let of = dilated(lhs[input.2[i]], at(&self.lhs_dilation, i));
            match self.padding.amounts(i, of, size, at(&self.strides, i)) {
                Some(amounts) => padding.push(amounts),
                None => return wrong(format!("conv: {n} spatial dimensions need {n} amounts of padding")),
            }
        }
        let dims = |list: &[usize]| list.iter().map(|&d| d as u32).collect();
        let conv_dims = |(batch, feature, spatial): &(usize, usize, Vec<usize>)| ConvDims {
            batch: *batch as u32,
            feature: *feature as u32,
            spatial: dims(spatial),
        };
        let list = |list: &[i64]| (0..n).map(|i| at(list, i)).collect();
        Ok(ConvSpec {
            input: conv_dims(&input),
            kernel: KernelDims {
                input_feature: kernel.0 as u32,
                output_feature: kernel.1 as u32,
                spatial: dims(&kernel.2),
            },
            output: conv_dims(&output),
            strides: list(&self.strides),
            padding,
            lhs_dilation: list(&self.lhs_dilation),
            rhs_dilation: list(&self.rhs_dilation),
            feature_group_count: self.feature_groups,
            batch_group_count: self.batch_groups,
            ..ConvSpec::default()
        })
    }
}

impl<'g> Tensor<'g> {
    /// Sums of products of this tensor's windows with a kernel: `jax.lax.conv_general_dilated`.
    ///
    /// Reported: the dimensions' letters or sizes do not go together, or the element types differ.
    #[must_use]
    #[track_caller]
    pub fn conv(self, kernel: impl Into<Tensor<'g>>, conv: &Conv) -> Tensor<'g> {
        self.graph().make(&[self, kernel.into()], |m, values| {
            let (left, right) = (m.dtype_of(values[0]), m.dtype_of(values[1]));
            if left != right {
                return Err(ErrorKind::DTypes { op: "conv", left, right });
            }
            let spec = conv.spec(&m.shape_of(values[0]), &m.shape_of(values[1]))?;
            m.infer(OpKind::Convolution(Box::new(spec)), values, &[])
        })
    }

    /// The largest element of each window. Sizes and steps are of the dimensions between the first, the batch, and the last, the
    /// features.
    ///
    /// Reported: there is not one size and step per dimension between, or the elements have no order.
    #[must_use]
    #[track_caller]
    pub fn max_pool(self, sizes: &[i64], strides: &[i64], padding: &Padding) -> Tensor<'g> {
        self.pool(ReductionKind::Max, sizes, strides, padding)
    }

    /// The mean of each window; elements of the padding are not counted.
    ///
    /// Reported: there is not one size and step per dimension between, or the elements are no floats.
    #[must_use]
    #[track_caller]
    pub fn avg_pool(self, sizes: &[i64], strides: &[i64], padding: &Padding) -> Tensor<'g> {
        let sum = self.pool(ReductionKind::Add, sizes, strides, padding);
        if *padding == Padding::Valid {
            return sum / sizes.iter().product::<i64>() as f64;
        }
        let ones = self.full_like(1.0);
        sum / ones.pool(ReductionKind::Add, sizes, strides, padding)
    }

    /// Reduces each window.
    #[track_caller]
    fn pool(self, kind: ReductionKind, sizes: &[i64], strides: &[i64], padding: &Padding) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let (shape, dtype) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            let spatial = shape.len().saturating_sub(2);
            if sizes.len() != spatial || strides.len() != spatial {
                let text = format!("a tensor of shape {shape:?} is pooled along {spatial} dimensions");
                return Err(ErrorKind::Operands(text));
            }
            let start = start_of(m, kind, dtype)?;
            let around = |list: &[i64], edge: i64| {
                std::iter::once(edge).chain(list.iter().copied()).chain([edge]).collect()
            };
            let mut amounts = SmallVec::from_elem((0, 0), 1);
            for i in 0..spatial {
                match padding.amounts(i, shape[i + 1], sizes[i], strides[i].max(1)) {
                    Some(pair) => amounts.push(pair),
                    None => {
                        let text = format!("{spatial} dimensions need {spatial} amounts of padding");
                        return Err(ErrorKind::Operands(text));
                    }
                }
            }
            amounts.push((0, 0));
            let spec = WindowSpec {
                dimensions: around(sizes, 1),
                strides: around(strides, 1),
                padding: amounts,
                ..WindowSpec::default()
            };
            let region = reducer::reducer(&mut m.state.module, kind, dtype);
            m.infer(OpKind::ReduceWindow(Box::new(spec)), &[values[0], start], &[region])
        })
    }
}

/// What a reduction begins with.
fn start_of(m: &mut Maker<'_>, kind: ReductionKind, dtype: DType) -> KindResult<shardc_ir::ValueId> {
    let start = match kind {
        ReductionKind::Max => number::extreme(dtype, false),
        _ => number::encode(dtype, 0.0),
    };
    let Some(start) = start else {
        return Err(ErrorKind::Operands(format!("pooling does not take elements of type {dtype}")));
    };
    m.typed(OpKind::Constant(shardc_ir::Dense::splat(&start)), &[], &[], dtype)
}
