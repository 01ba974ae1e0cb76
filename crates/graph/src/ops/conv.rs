//! Convolutions.
//!
//! Dimensions are labeled by letters, as in `jax.lax.conv_general_dilated`: `N` is the batch, `C` the features, `I` and `O` the input and
//! output features of a kernel; all others are spatial.

use shardc_ir::{ConvDims, ConvSpec, KernelDims, OpKind};
use smallvec::SmallVec;

use crate::Tensor;
use crate::error::{ErrorKind, KindResult};

/// The padding of the windowed dimensions of a convolution or pooling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// No padding.
    #[default]
    Valid,
    /// Padding for `ceil(n / stride)` windows along `n` elements; if the total padding is odd, the extra element is at the end.
    Same,
    /// Padding for `ceil(n / stride)` windows along `n` elements; if the total padding is odd, the extra element is at the start.
    SameLower,
    /// The numbers of padding elements before and after each windowed dimension.
    Explicit(Vec<(i64, i64)>),
}

impl Padding {
    /// Returns the padding before and after windowed dimension `i`, which has `n` elements, for windows of `size`; `None` if an explicit
    /// list lacks the dimension.
    pub(super) fn amounts(&self, i: usize, n: i64, size: i64, stride: i64) -> Option<(i64, i64)> {
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

/// Dimension numbers and window of a convolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conv {
    /// Labels of the input dimensions, such as `NHWC`.
    pub lhs: String,
    /// Labels of the kernel dimensions, such as `HWIO`.
    pub rhs: String,
    /// Labels of the output dimensions, such as `NHWC`.
    pub out: String,
    /// Window strides of the spatial dimensions; one if empty.
    pub strides: Vec<i64>,
    /// Padding of the spatial dimensions.
    pub padding: Padding,
    /// Dilation of the input (transposed convolution); one if empty.
    pub lhs_dilation: Vec<i64>,
    /// Dilation of the kernel (atrous convolution); one if empty.
    pub rhs_dilation: Vec<i64>,
    /// Number of groups of input features that are convolved separately (`feature_group_count`).
    pub feature_groups: i64,
    /// Number of groups of the batch that are convolved separately (`batch_group_count`).
    pub batch_groups: i64,
}

impl Default for Conv {
    /// Returns a convolution of images, with strides of one and no padding.
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
                return wrong(format!(
                    "conv: the dimension labels {letters:?} do not match the rank of a tensor of shape {shape:?}"
                ));
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
            return wrong(format!("conv: incompatible dimension labels {lhs:?}, {rhs:?} and {out:?}"));
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
                None => {
                    return wrong(format!("conv: expected {n} pairs of padding, one per spatial dimension"));
                }
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
    /// Convolves this tensor with a kernel: `jax.lax.conv_general_dilated`.
    ///
    /// ```
    /// # use shardc_graph::{Conv, DType::F32, Graph, Mesh, Padding};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 8, 8, 3], F32);
    /// let k = g.parameter("k", [3, 3, 3, 16], F32);
    /// let conv = Conv { strides: vec![2, 2], padding: Padding::Same, ..Conv::default() };
    /// assert_eq!(x.conv(k, &conv).shape(), [2, 4, 4, 16]);
    /// ```
    ///
    /// Reports an error if the dimension labels or sizes do not match, or if the element types differ.
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

    /// Transposed convolution (`jax.lax.conv_transpose`), a convolution over the input dilated by `strides`. The kernel is not flipped; its
    /// dimension labels are those of [`Conv::rhs`]. `padding` is the padding of the corresponding forward convolution, except that
    /// [`Padding::Explicit`] pads the dilated input directly. `conv.lhs_dilation` is ignored.
    ///
    /// ```
    /// # use shardc_graph::{Conv, DType::F32, Graph, Mesh, Padding};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 8, 8, 3], F32);
    /// let k = g.parameter("k", [3, 3, 3, 16], F32);
    /// let conv = Conv { strides: vec![2, 2], padding: Padding::Same, ..Conv::default() };
    /// assert_eq!(x.conv_transpose(k, &conv).shape(), [2, 16, 16, 16]);
    /// ```
    ///
    /// Reports the errors of [`conv`](Tensor::conv).
    #[must_use]
    #[track_caller]
    pub fn conv_transpose(self, kernel: impl Into<Tensor<'g>>, conv: &Conv) -> Tensor<'g> {
        let kernel = kernel.into();
        let spatial: Vec<char> = conv.lhs.chars().filter(|c| !"NC".contains(*c)).collect();
        let sizes = kernel.shape();
        let size = |letter: char| conv.rhs.chars().position(|c| c == letter).and_then(|d| sizes.get(d));
        let mut padding = Vec::with_capacity(spatial.len());
        for (i, &letter) in spatial.iter().enumerate() {
            let at = |list: &[i64]| list.get(i).copied().unwrap_or(1).max(1);
            let k = (size(letter).copied().unwrap_or(1) - 1) * at(&conv.rhs_dilation) + 1;
            let stride = at(&conv.strides);
            padding.push(match &conv.padding {
                Padding::Explicit(list) => list.get(i).copied().unwrap_or((0, 0)),
                Padding::Valid => {
                    let all = k + stride - 2 + (k - stride).max(0);
                    (k - 1, all - (k - 1))
                }
                Padding::Same | Padding::SameLower => {
                    let all = k + stride - 2;
                    let low = if stride > k - 1 { k - 1 } else { (all + 1) / 2 };
                    (low, all - low)
                }
            });
        }
        let dilated = Conv {
            strides: Vec::new(),
            lhs_dilation: conv.strides.clone(),
            padding: Padding::Explicit(padding),
            ..conv.clone()
        };
        self.conv(kernel, &dilated)
    }
}
