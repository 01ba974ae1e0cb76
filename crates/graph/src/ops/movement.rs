//! Data movement operations.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use shardc_ir::{OpKind, PadSpec, SizeList, SliceSpec, ValueId};

use crate::axes::{self, Axes};
use crate::error::ErrorKind;
use crate::graph::{Graph, KindResult, Maker, check_shape};
use crate::{IntoShape, Operand, Tensor};

impl<'g> Tensor<'g> {
    /// Reshapes the tensor, in row-major order. One size may be -1 and is then inferred.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3, 4], F32);
    /// assert_eq!(x.reshape([6, 4]).shape(), [6, 4]);
    /// ```
    ///
    /// Reports an error if the shape has a different number of elements.
    #[must_use]
    #[track_caller]
    pub fn reshape(self, shape: impl IntoShape) -> Tensor<'g> {
        let shape = shape.into_shape();
        self.graph().make(&[self], |m, values| {
            let from = m.shape_of(values[0]);
            let shape = completed(&from, shape)?;
            reshape(m, values[0], &shape)
        })
    }

    /// Permutes the dimensions: dimension `i` of the result is dimension `permutation[i]` of this tensor.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3, 4], F32);
    /// assert_eq!(x.transpose(&[2, 0, 1]).shape(), [4, 2, 3]);
    /// ```
    ///
    /// Reports an error if `permutation` is not a permutation of the dimensions.
    #[must_use]
    #[track_caller]
    pub fn transpose(self, permutation: &[i64]) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let shape = m.shape_of(values[0]);
            let dims = axes::all("transpose", permutation, &shape)?;
            if dims.len() != shape.len() {
                let dims = permutation.to_vec();
                return Err(ErrorKind::Dimensions { op: "transpose", dims, shape });
            }
            transpose(m, values[0], &dims)
        })
    }

    /// Returns the transposed matrix: the tensor with its last two dimensions swapped.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.t().shape(), [3, 2]);
    /// ```
    ///
    /// Reports an error if the tensor has fewer than two dimensions.
    #[must_use]
    #[track_caller]
    pub fn t(self) -> Tensor<'g> {
        self.swap_axes(-1, -2)
    }

    /// Returns the tensor with two dimensions swapped.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3, 4], F32);
    /// assert_eq!(x.swap_axes(0, 2).shape(), [4, 3, 2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks one of the dimensions.
    #[must_use]
    #[track_caller]
    pub fn swap_axes(self, a: i64, b: i64) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let shape = m.shape_of(values[0]);
            let (a, b) = (axes::one("swap_axes", a, &shape)?, axes::one("swap_axes", b, &shape)?);
            let mut permutation: Vec<usize> = (0..shape.len()).collect();
            permutation.swap(a, b);
            transpose(m, values[0], &permutation)
        })
    }

    /// Returns the tensor with one dimension moved to another position; the other dimensions keep their order.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3, 4], F32);
    /// assert_eq!(x.move_axis(0, 2).shape(), [3, 4, 2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks one of the dimensions.
    #[must_use]
    #[track_caller]
    pub fn move_axis(self, from: i64, to: i64) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let shape = m.shape_of(values[0]);
            let (from, to) = (axes::one("move_axis", from, &shape)?, axes::one("move_axis", to, &shape)?);
            let mut permutation: Vec<usize> = (0..shape.len()).filter(|&d| d != from).collect();
            permutation.insert(to, from);
            transpose(m, values[0], &permutation)
        })
    }

    /// Broadcasts the tensor to a shape: dimension `i` of this tensor becomes dimension `places[i]` of the result. Other dimensions of
    /// the result, and dimensions of size one, are broadcast.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.broadcast_in_dim([2, 5, 3], &[0, 2]).shape(), [2, 5, 3]);
    /// ```
    ///
    /// Reports an error if `places` does not map each dimension of this tensor to one of the result, or if a size is neither one nor that
    /// of the result.
    #[must_use]
    #[track_caller]
    pub fn broadcast_in_dim(self, shape: impl IntoShape, places: &[i64]) -> Tensor<'g> {
        let shape = shape.into_shape();
        self.graph().make(&[self], |m, values| {
            check_shape(&shape)?;
            let (from, dtype) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            let op = "broadcast_in_dim";
            if places.len() != from.len() {
                return Err(ErrorKind::Dimensions { op, dims: places.to_vec(), shape: from });
            }
            let placed = axes::all(op, places, &shape)?;
            if from.iter().zip(&placed).any(|(&n, &d)| n != 1 && n != shape[d]) {
                return Err(ErrorKind::Shapes { op, left: from, right: shape.clone() });
            }
            let dims = placed.iter().map(|&d| d as u32).collect();
            m.typed(OpKind::BroadcastInDim { dims }, values, &shape, dtype)
        })
    }

    /// Inserts a dimension of size one, which is dimension `axis` of the result.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.expand_dims(1).shape(), [2, 1, 3]);
    /// ```
    ///
    /// Reports an error if the result has no such dimension.
    #[must_use]
    #[track_caller]
    pub fn expand_dims(self, axis: i64) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let mut shape = m.shape_of(values[0]);
            shape.push(1);
            let dim = axes::one("expand_dims", axis, &shape)?;
            shape.pop();
            shape.insert(dim, 1);
            reshape(m, values[0], &shape)
        })
    }

    /// Removes dimensions of size one.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 1, 3], F32);
    /// assert_eq!(x.squeeze(1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks one of the dimensions, or if the size of a dimension is not one.
    #[must_use]
    #[track_caller]
    pub fn squeeze(self, axes: impl Into<Axes>) -> Tensor<'g> {
        let axes = axes.into();
        self.graph().make(&[self], |m, values| {
            let shape = m.shape_of(values[0]);
            let mut dims = axes.sorted("squeeze", &shape)?;
            match axes {
                Axes::All => dims.retain(|d| shape[*d] == 1),
                Axes::Some(_) => {
                    if let Some(&d) = dims.iter().find(|d| shape[**d] != 1) {
                        return Err(ErrorKind::Dimensions { op: "squeeze", dims: vec![d as i64], shape });
                    }
                }
            }
            let kept: Vec<i64> = (0..shape.len()).filter(|d| !dims.contains(d)).map(|d| shape[d]).collect();
            reshape(m, values[0], &kept)
        })
    }

    /// Returns the slice of a range along dimension `axis`: `x.slice(0, 2..)`. Negative bounds count from the last: `x.slice(-1, -3..)`,
    /// `x.slice(0, (1, -1))`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3, 4], F32);
    /// assert_eq!(x.slice(2, 1..3).shape(), [2, 3, 2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or the range is out of bounds.
    #[must_use]
    #[track_caller]
    pub fn slice(self, axis: i64, range: impl SliceRange) -> Tensor<'g> {
        self.slice_by(axis, range, 1)
    }

    /// Returns every `step`-th slice of a range along dimension `axis`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3, 4], F32);
    /// assert_eq!(x.slice_by(2, 0..4, 2).shape(), [2, 3, 2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, the range is out of bounds, or the step is not positive.
    #[must_use]
    #[track_caller]
    pub fn slice_by(self, axis: i64, range: impl SliceRange, step: i64) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let shape = m.shape_of(values[0]);
            let dim = axes::one("slice", axis, &shape)?;
            let (from, to) = range.bounds(shape[dim]);
            let mut spec = whole(&shape);
            (spec.start[dim], spec.limit[dim], spec.stride[dim]) = (from, to, step);
            m.infer(OpKind::Slice(Box::new(spec)), values, &[])
        })
    }

    /// Returns the elements from `start` to `limit` (exclusive) with `stride`, along each dimension.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.slice_box(&[0, 1], &[2, 3], &[1, 1]).shape(), [2, 2]);
    /// ```
    ///
    /// Reports an error if the number of bounds is not the rank, or if they are outside the tensor.
    #[must_use]
    #[track_caller]
    pub fn slice_box(self, start: &[i64], limit: &[i64], stride: &[i64]) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let spec = SliceSpec {
                start: SizeList::from_slice(start),
                limit: SizeList::from_slice(limit),
                stride: SizeList::from_slice(stride),
            };
            m.infer(OpKind::Slice(Box::new(spec)), values, &[])
        })
    }

    /// Returns the slice at `index` along dimension `axis`, and removes that dimension. A negative `index` or `axis` counts from the
    /// last.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3, 4], F32);
    /// assert_eq!(x.at(1, 0).shape(), [2, 4]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or the index is out of bounds.
    #[must_use]
    #[track_caller]
    pub fn at(self, axis: i64, index: i64) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let shape = m.shape_of(values[0]);
            let dim = axes::one("at", axis, &shape)?;
            let at = if index < 0 { index + shape[dim] } else { index };
            let mut spec = whole(&shape);
            (spec.start[dim], spec.limit[dim]) = (at, at.saturating_add(1));
            let one = m.infer(OpKind::Slice(Box::new(spec)), values, &[])?;
            let rest: Vec<i64> = (0..shape.len()).filter(|&d| d != dim).map(|d| shape[d]).collect();
            reshape(m, one, &rest)
        })
    }

    /// Splits dimension `axis` into equal parts.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3, 4], F32);
    /// assert_eq!(x.split(2, 2)[1].shape(), [2, 3, 2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or its size is not a multiple of `parts`.
    #[must_use]
    #[track_caller]
    pub fn split(self, axis: i64, parts: usize) -> Vec<Tensor<'g>> {
        self.graph().make_many(&[self], parts, |m, values| {
            let shape = m.shape_of(values[0]);
            let dim = axes::one("split", axis, &shape)?;
            let n = parts as i64;
            if n == 0 || shape[dim] % n != 0 {
                let text = format!(
                    "split: dimension {dim} of a tensor of shape {shape:?} is not divisible by {parts}"
                );
                return Err(ErrorKind::Operands(text));
            }
            let size = shape[dim] / n;
            (0..n)
                .map(|i| {
                    let mut spec = whole(&shape);
                    (spec.start[dim], spec.limit[dim]) = (i * size, (i + 1) * size);
                    m.infer(OpKind::Slice(Box::new(spec)), values, &[])
                })
                .collect()
        })
    }

    /// Pads each dimension with `low` elements before and `high` after, all equal to `value`; negative amounts remove elements.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.pad(0.0, &[0, 1], &[0, 2]).shape(), [2, 6]);
    /// ```
    ///
    /// Reports an error if the number of padding amounts is not the rank, or if `value` is not a scalar of the element type.
    #[must_use]
    #[track_caller]
    pub fn pad(self, value: impl Into<Operand<'g>>, low: &[i64], high: &[i64]) -> Tensor<'g> {
        let interior = vec![0; low.len()];
        self.pad_with(value, low, high, &interior)
    }

    /// Pads with elements before, after and between the elements of each dimension, all equal to `value`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.pad_with(0.0, &[0, 0], &[0, 0], &[0, 1]).shape(), [2, 5]);
    /// ```
    ///
    /// Reports an error if the number of padding amounts is not the rank, or if `value` is not a scalar of the element type.
    #[must_use]
    #[track_caller]
    pub fn pad_with(
        self,
        value: impl Into<Operand<'g>>,
        low: &[i64],
        high: &[i64],
        interior: &[i64],
    ) -> Tensor<'g> {
        let value = value.into();
        let mut operands = vec![self];
        if let Operand::Tensor(tensor) = value {
            operands.push(tensor);
        }
        self.graph().make(&operands, |m, values| {
            let dtype = m.dtype_of(values[0]);
            let fill = match values.get(1) {
                Some(&fill) => fill,
                None => super::broadcast::number_of(m, &value, &[], dtype)?,
            };
            let spec = PadSpec {
                low: SizeList::from_slice(low),
                high: SizeList::from_slice(high),
                interior: SizeList::from_slice(interior),
            };
            m.infer(OpKind::Pad(Box::new(spec)), &[values[0], fill], &[])
        })
    }

    /// Reverses the elements along dimensions.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.flip(1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks one of the dimensions, or if a dimension is repeated.
    #[must_use]
    #[track_caller]
    pub fn flip(self, axes: impl Into<Axes>) -> Tensor<'g> {
        let axes = axes.into();
        self.graph().make(&[self], |m, values| {
            let dims = axes.sorted("flip", &m.shape_of(values[0]))?;
            m.infer(OpKind::Reverse { dims: dims.iter().map(|&d| d as u32).collect() }, values, &[])
        })
    }

    /// Rotates the elements by `shift` along dimension `axis`: `numpy.roll`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.roll(1, 0).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension.
    #[must_use]
    #[track_caller]
    pub fn roll(self, shift: i64, axis: i64) -> Tensor<'g> {
        let n = self.size(axis);
        if self.is_poisoned() || n == 0 || shift.rem_euclid(n) == 0 {
            return self;
        }
        let at = n - shift.rem_euclid(n);
        self.graph().concatenate(&[self.slice(axis, at..), self.slice(axis, ..at)], axis)
    }

    /// Repeats the tensor along each dimension: `numpy.tile`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.tile(&[2, 1]).shape(), [4, 3]);
    /// ```
    ///
    /// Reports an error if the number of repetitions is not the rank.
    #[must_use]
    #[track_caller]
    pub fn tile(self, times: &[i64]) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let (shape, dtype) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            if times.len() != shape.len() {
                return Err(ErrorKind::Rank { want: times.len(), shape });
            }
            let spread: Vec<i64> = times.iter().zip(&shape).flat_map(|(&n, &size)| [n, size]).collect();
            let whole: Vec<i64> =
                times.iter().zip(&shape).map(|(&n, &size)| n.saturating_mul(size)).collect();
            check_shape(&whole)?;
            let dims = (0..shape.len()).map(|d| 2 * d as u32 + 1).collect();
            let repeated = m.typed(OpKind::BroadcastInDim { dims }, values, &spread, dtype)?;
            reshape(m, repeated, &whole)
        })
    }
}

impl Graph {
    /// Concatenates tensors along dimension `axis`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let y = g.parameter("y", [2, 3], F32);
    /// assert_eq!(g.concatenate(&[x, y], 0).shape(), [4, 3]);
    /// ```
    ///
    /// Reports an error if there are no tensors, if they lack the dimension, or if they differ in element type or in another dimension.
    #[track_caller]
    pub fn concatenate<'g>(&'g self, parts: &[Tensor<'g>], axis: i64) -> Tensor<'g> {
        self.make(parts, |m, values| concatenate(m, values, axis))
    }

    /// Stacks tensors of one shape along a new dimension, which is dimension `axis` of the result.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let y = g.parameter("y", [2, 3], F32);
    /// assert_eq!(g.stack(&[x, y], 0).shape(), [2, 2, 3]);
    /// ```
    ///
    /// Reports an error if there are no tensors, or if they differ in shape or element type.
    #[track_caller]
    pub fn stack<'g>(&'g self, parts: &[Tensor<'g>], axis: i64) -> Tensor<'g> {
        let parts: Vec<Tensor<'g>> = parts.iter().map(|part| part.expand_dims(axis)).collect();
        self.concatenate(&parts, axis)
    }
}

fn concatenate(m: &mut Maker<'_>, values: &[ValueId], axis: i64) -> KindResult<ValueId> {
    let op = "concatenate";
    let Some(&first) = values.first() else {
        return Err(ErrorKind::Operands("concatenate needs at least one tensor".to_owned()));
    };
    let (shape, dtype) = (m.shape_of(first), m.dtype_of(first));
    let dim = axes::one(op, axis, &shape)?;
    for &value in values {
        let (other, right) = (m.shape_of(value), m.dtype_of(value));
        if right != dtype {
            return Err(ErrorKind::DTypes { op, left: dtype, right });
        }
        let same = shape.len() == other.len()
            && shape.iter().zip(&other).enumerate().all(|(d, (a, b))| d == dim || a == b);
        if !same {
            return Err(ErrorKind::Shapes { op, left: shape, right: other });
        }
    }
    m.infer(OpKind::Concatenate { dim: dim as u32 }, values, &[])
}

/// Returns the shape with -1 replaced by the inferred size; an error unless it has as many elements as shape `from`.
fn completed(from: &[i64], mut shape: Vec<i64>) -> KindResult<Vec<i64>> {
    let have: i64 = from.iter().product();
    if let Some(free) = shape.iter().position(|&n| n == -1) {
        let others: i64 = shape.iter().enumerate().filter(|(i, _)| *i != free).map(|(_, &n)| n).product();
        if others <= 0 || have % others != 0 {
            let text = format!("cannot reshape {have} elements to {shape:?}");
            return Err(ErrorKind::Operands(text));
        }
        shape[free] = have / others;
    }
    check_shape(&shape)?;
    let want = shape.iter().product();
    if have == want { Ok(shape) } else { Err(ErrorKind::ElementCount { have, want, shape }) }
}

/// Returns a value reshaped to a shape with the same number of elements.
pub(crate) fn reshape(m: &mut Maker<'_>, value: ValueId, shape: &[i64]) -> KindResult<ValueId> {
    if m.shape_of(value) == shape {
        return Ok(value);
    }
    let dtype = m.dtype_of(value);
    m.typed(OpKind::Reshape, &[value], shape, dtype)
}

pub(crate) fn transpose(m: &mut Maker<'_>, value: ValueId, permutation: &[usize]) -> KindResult<ValueId> {
    if permutation.iter().enumerate().all(|(i, &d)| i == d) {
        return Ok(value);
    }
    let permutation = permutation.iter().map(|&d| d as u32).collect();
    m.infer(OpKind::Transpose { permutation }, &[value], &[])
}

/// Creates a slice specification that selects all elements of a tensor of this shape.
fn whole(shape: &[i64]) -> SliceSpec {
    SliceSpec {
        start: SizeList::from_elem(0, shape.len()),
        limit: SizeList::from_slice(shape),
        stride: SizeList::from_elem(1, shape.len()),
    }
}

/// A range of elements along a dimension: a Rust range, or a pair of bounds. Negative bounds count from the last.
pub trait SliceRange {
    /// Returns the first element and the end (exclusive), along a dimension of size `n`.
    fn bounds(self, n: i64) -> (i64, i64);
}

/// Resolves a bound: negative bounds count from the end.
fn counted(at: i64, n: i64) -> i64 {
    if at < 0 { at + n } else { at }
}

impl SliceRange for (i64, i64) {
    fn bounds(self, n: i64) -> (i64, i64) {
        (counted(self.0, n), counted(self.1, n))
    }
}

impl SliceRange for Range<i64> {
    fn bounds(self, n: i64) -> (i64, i64) {
        (counted(self.start, n), counted(self.end, n))
    }
}

impl SliceRange for RangeInclusive<i64> {
    fn bounds(self, n: i64) -> (i64, i64) {
        (counted(*self.start(), n), counted(*self.end(), n) + 1)
    }
}

impl SliceRange for RangeFrom<i64> {
    fn bounds(self, n: i64) -> (i64, i64) {
        (counted(self.start, n), n)
    }
}

impl SliceRange for RangeTo<i64> {
    fn bounds(self, n: i64) -> (i64, i64) {
        (0, counted(self.end, n))
    }
}

impl SliceRange for RangeToInclusive<i64> {
    fn bounds(self, n: i64) -> (i64, i64) {
        (0, counted(self.end, n) + 1)
    }
}

impl SliceRange for RangeFull {
    fn bounds(self, n: i64) -> (i64, i64) {
        (0, n)
    }
}
