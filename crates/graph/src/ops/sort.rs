//! Sorting and arg-reductions.

use shardc_ir::{BinaryOp, CompareDirection, CompareType, DType, Dense, OpKind, RegionId, ValueId};

use crate::error::{ErrorKind, KindResult};
use crate::graph::Maker;
use crate::{Tensor, axes, number};

impl<'g> Tensor<'g> {
    /// Sorts in ascending order along dimension `axis`; the sort is stable.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.sort(1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or the element type is complex (unordered).
    #[must_use]
    #[track_caller]
    pub fn sort(self, axis: i64) -> Tensor<'g> {
        let sorted = self.graph().make_many(&[self], 1, |m, values| sort(m, values, axis));
        sorted[0]
    }

    /// Returns the indices that would sort the tensor along dimension `axis`, as `i32`: see [`sort`](Tensor::sort).
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.argsort(1).dtype(), DType::I32);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or the element type is complex (unordered).
    #[must_use]
    #[track_caller]
    pub fn argsort(self, axis: i64) -> Tensor<'g> {
        let sorted = self.graph().make_many(&[self], 2, |m, values| {
            let numbers = numbers(m, values[0], axis)?;
            sort(m, &[values[0], numbers], axis)
        });
        sorted[1]
    }

    /// Sorts this tensor in ascending order along dimension `axis`, and permutes `others`, which have the same shape, in the same way.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let y = g.parameter("y", [2, 3], F32);
    /// let sorted = x.sort_with(&[y], 1);
    /// assert_eq!((sorted.len(), sorted[1].shape()), (2, vec![2, 3]));
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, the element type is complex (unordered), or the shapes differ.
    #[must_use]
    #[track_caller]
    pub fn sort_with(self, others: &[Tensor<'g>], axis: i64) -> Vec<Tensor<'g>> {
        let all: Vec<Tensor<'g>> = std::iter::once(self).chain(others.iter().copied()).collect();
        self.graph().make_many(&all, all.len(), |m, values| sort(m, values, axis))
    }

    /// Sorts in descending order along dimension `axis`; NaN comes first, and equal elements are in reverse order:
    /// `jax.numpy.sort(.., descending=True)`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.sort_descending(1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or the element type is complex (unordered).
    #[must_use]
    #[track_caller]
    pub fn sort_descending(self, axis: i64) -> Tensor<'g> {
        self.sort(axis).flip(axis)
    }

    /// Returns the insertion index of each element of `queries` in this sorted tensor of rank one, as `i32`: the number of smaller
    /// elements, or of elements not larger if `right` (`numpy.searchsorted`). Each query is compared with all elements.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let edges = g.parameter("edges", [9], F32);
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(edges.searchsorted(x, false).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if this tensor is not of rank one, or if the element types differ.
    #[must_use]
    #[track_caller]
    pub fn searchsorted(self, queries: impl Into<Tensor<'g>>, right: bool) -> Tensor<'g> {
        let queries = queries.into();
        let [_] = self.dims();
        let query = queries.expand_dims(-1);
        let before = if right { self.le(query) } else { self.lt(query) };
        before.to(DType::I32).sum(-1)
    }

    /// Returns the `k` largest elements along the last dimension in descending order, and their indices, as `i32`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let (values, places) = x.top_k(2);
    /// assert_eq!((values.shape(), places.shape()), (vec![2, 2], vec![2, 2]));
    /// ```
    ///
    /// Reports an error if the last dimension has fewer than `k` elements, or if the element type is complex (unordered).
    #[must_use]
    #[track_caller]
    pub fn top_k(self, k: i64) -> (Tensor<'g>, Tensor<'g>) {
        let made = self
            .graph()
            .make_many(&[self], 2, |m, values| m.infer_many(OpKind::TopK { k, stable: None }, values, &[]));
        (made[0], made[1])
    }

    /// Returns the index of the largest element along dimension `axis`, which is removed, as `i32`; the first index on ties. NaN is larger
    /// than all numbers.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.argmax(1).shape(), [2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or the element type is complex (unordered).
    #[must_use]
    #[track_caller]
    pub fn argmax(self, axis: i64) -> Tensor<'g> {
        self.arg_extreme("argmax", axis, true)
    }

    /// Returns the index of the smallest element along dimension `axis`, which is removed, as `i32`; the first index on ties. NaN is
    /// smaller than all numbers.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.argmin(1).shape(), [2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or the element type is complex (unordered).
    #[must_use]
    #[track_caller]
    pub fn argmin(self, axis: i64) -> Tensor<'g> {
        self.arg_extreme("argmin", axis, false)
    }

    #[track_caller]
    fn arg_extreme(self, op: &'static str, axis: i64, largest: bool) -> Tensor<'g> {
        let made = self.graph().make_many(&[self], 2, |m, values| {
            let dtype = m.dtype_of(values[0]);
            let dim = axes::one(op, axis, &m.shape_of(values[0]))?;
            let Some(worst) = number::extreme(dtype, !largest) else {
                return Err(ErrorKind::Operands(format!("{op} does not support the element type {dtype}")));
            };
            let places = numbers(m, values[0], axis)?;
            let start = m.typed(OpKind::Constant(Dense::splat(&worst)), &[], &[], dtype)?;
            let first = m.filled(0.0, &[], DType::I32)?;
            let region = pick(m, dtype, largest);
            let dims = [dim as u32].into_iter().collect();
            m.infer_many(OpKind::Reduce { dims }, &[values[0], places, start, first], &[region])
        });
        made[1]
    }
}

/// Creates an iota along a dimension, in the shape of a value.
fn numbers(m: &mut Maker<'_>, value: ValueId, axis: i64) -> KindResult<ValueId> {
    let shape = m.shape_of(value);
    let dim = axes::one("sort", axis, &shape)?;
    m.typed(OpKind::Iota { dim: dim as u32 }, &[], &shape, DType::I32)
}

/// Sorts the first value along dimension `axis`, and permutes the other values in the same way.
fn sort(m: &mut Maker<'_>, values: &[ValueId], axis: i64) -> KindResult<Vec<ValueId>> {
    let dim = axes::one("sort", axis, &m.shape_of(values[0]))?;
    let dtype = m.dtype_of(values[0]);
    if number::extreme(dtype, true).is_none() {
        return Err(ErrorKind::Operands(format!("sort does not support the element type {dtype}")));
    }
    let scalars: Vec<_> = values
        .iter()
        .flat_map(|&value| {
            let dtype = m.dtype_of(value);
            let ty = m.state.module.types.tensor(&[], dtype);
            [ty, ty]
        })
        .collect();
    let module = &mut m.state.module;
    let region = module.add_region(&scalars);
    let (a, b) = (module.regions[region].args[0], module.regions[region].args[1]);
    let truth = module.types.tensor(&[], DType::I1);
    // Floats are compared in total order: NaN comes last.
    let how = if dtype.is_float() { Some(CompareType::TotalOrder) } else { None };
    let less = module.add_op(OpKind::Compare(CompareDirection::LT, how), &[a, b], &[truth], &[]);
    let result = module.ops[less].results[0];
    let end = module.add_op(OpKind::Return, &[result], &[], &[]);
    module.set_ops(region, vec![less, end]);
    m.infer_many(OpKind::Sort { dim: Some(dim as i64), stable: Some(true) }, values, &[region])
}

/// Creates a region that selects the larger or smaller of two elements, with its index.
fn pick(m: &mut Maker<'_>, dtype: DType, largest: bool) -> RegionId {
    let module = &mut m.state.module;
    let (of, place) = (module.types.tensor(&[], dtype), module.types.tensor(&[], DType::I32));
    let truth = module.types.tensor(&[], DType::I1);
    let region = module.add_region(&[of, place, of, place]);
    let args = module.regions[region].args.clone();
    let &[x, i, y, j] = args.as_slice() else { return region };
    let mut ops = Vec::new();
    let mut add = |kind: OpKind, operands: &[ValueId], ty| {
        let op = module.add_op(kind, operands, &[ty], &[]);
        ops.push(op);
        module.ops[op].results[0]
    };
    let better = if largest { CompareDirection::GT } else { CompareDirection::LT };
    let compare = |direction| OpKind::Compare(direction, None);
    let wins = add(compare(better), &[x, y], truth);
    let is_nan = add(compare(CompareDirection::NE), &[x, x], truth);
    let wins = add(OpKind::Binary(BinaryOp::Or), &[wins, is_nan], truth);
    let same = add(compare(CompareDirection::EQ), &[x, y], truth);
    let earlier = add(compare(CompareDirection::LT), &[i, j], truth);
    let ties = add(OpKind::Binary(BinaryOp::And), &[same, earlier], truth);
    let at = add(OpKind::Binary(BinaryOp::Or), &[wins, ties], truth);
    let value = add(OpKind::Select, &[wins, x, y], of);
    let place = add(OpKind::Select, &[at, i, j], place);
    let end = module.add_op(OpKind::Return, &[value, place], &[], &[]);
    ops.push(end);
    module.set_ops(region, ops);
    region
}
