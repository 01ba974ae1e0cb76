//! Cumulative reductions and associative scans.

use shardc_ir::{DType, OpKind, ReductionKind, WindowSpec, reducer};
use smallvec::SmallVec;

use crate::error::ErrorKind;
use crate::graph::Graph;
use crate::{Tensor, Tree, axes, number};

macro_rules! running {
    ($($(#[$doc:meta])* $name:ident $reverse:ident => $kind:ident,)*) => {
        impl<'g> Tensor<'g> {
            $($(#[$doc])*
            ///
            #[doc = concat!(
                "```\n# use shardc_graph::{DType, Graph, Mesh};\n",
                "# let g = Graph::new(\"step\", &Mesh::new(&[(\"x\", 1)]).unwrap());\n",
                "let x = g.parameter(\"x\", [2, 3], DType::F32);\n",
                "assert_eq!(x.", stringify!($name), "(1).shape(), [2, 3]);\n```"
            )]
            ///
            /// Reports an error if the tensor lacks the dimension, or the element type does not support the reduction.
            #[must_use]
            #[track_caller]
            pub fn $name(self, axis: i64) -> Tensor<'g> {
                self.running(stringify!($name), ReductionKind::$kind, axis, false)
            }

            $(#[$doc])*
            ///
            #[doc = concat!(
                "```\n# use shardc_graph::{DType, Graph, Mesh};\n",
                "# let g = Graph::new(\"step\", &Mesh::new(&[(\"x\", 1)]).unwrap());\n",
                "let x = g.parameter(\"x\", [2, 3], DType::F32);\n",
                "assert_eq!(x.", stringify!($reverse), "(1).shape(), [2, 3]);\n```"
            )]
            ///
            /// The reverse version reduces each element and all elements after it.
            ///
            /// Reports an error if the tensor lacks the dimension, or the element type does not support the reduction.
            #[must_use]
            #[track_caller]
            pub fn $reverse(self, axis: i64) -> Tensor<'g> {
                self.running(stringify!($reverse), ReductionKind::$kind, axis, true)
            })*
        }
    };
}

running! {
    /// Cumulative sum along dimension `axis`: the sum of each element and all elements before it.
    cumsum cumsum_reverse => Add,
    /// Cumulative product along dimension `axis`: the product of each element and all elements before it.
    cumprod cumprod_reverse => Mul,
    /// Cumulative maximum along dimension `axis`: the maximum of each element and all elements before it.
    cummax cummax_reverse => Max,
    /// Cumulative minimum along dimension `axis`: the minimum of each element and all elements before it.
    cummin cummin_reverse => Min,
}

impl<'g> Tensor<'g> {
    #[track_caller]
    fn running(self, op: &'static str, kind: ReductionKind, axis: i64, reverse: bool) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let (shape, dtype) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            let dim = axes::one(op, axis, &shape)?;
            if dtype == DType::I1 && matches!(kind, ReductionKind::Add | ReductionKind::Mul) {
                let text = format!("{op} does not support i1: convert the operand with .to(DType::I32)");
                return Err(ErrorKind::Operands(text));
            }
            let Some(start) = number::start(kind, dtype) else {
                return Err(ErrorKind::Operands(format!("{op} does not support the element type {dtype}")));
            };
            let start = m.typed(OpKind::Constant(shardc_ir::Dense::splat(&start)), &[], &[], dtype)?;
            let n = shape[dim];
            let mut padding = SmallVec::from_elem((0, 0), shape.len());
            let before = (n - 1).max(0);
            padding[dim] = if reverse { (0, before) } else { (before, 0) };
            let size = |d: usize| if d == dim { n.max(1) } else { 1 };
            let spec = WindowSpec {
                dimensions: (0..shape.len()).map(size).collect(),
                padding,
                ..WindowSpec::default()
            };
            let region = reducer::reducer(&mut m.state.module, kind, dtype);
            m.infer(OpKind::ReduceWindow(Box::new(spec)), &[values[0], start], &[region])
        })
    }

    /// Cumulative log-sum-exp along dimension `axis`, without overflow.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.cumlogsumexp(1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn cumlogsumexp(self, axis: i64) -> Tensor<'g> {
        self.graph().associative_scan(self, axis, false, Tensor::logaddexp)
    }

    /// Differences of adjacent elements along dimension `axis`; the size of the dimension decreases by one.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.diff(1).shape(), [2, 2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or is of type `i1`.
    #[must_use]
    #[track_caller]
    pub fn diff(self, axis: i64) -> Tensor<'g> {
        self.slice(axis, 1..) - self.slice(axis, ..-1)
    }
}

impl Graph {
    /// Inclusive prefix scan of the slices of all tensors of `xs` along dimension `axis`, with an associative `combine`. If `reverse`, the
    /// scan starts at the last slice. `combine` is called on batches of slices; the number of calls is logarithmic in the number of slices
    /// (Blelloch, "Prefix Sums and Their Applications", 1990).
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8], F32);
    /// assert_eq!(g.associative_scan(x, 0, false, |a, b| a * b).shape(), [8]);
    /// ```
    ///
    /// Reports an error if the tensors lack the dimension or differ in its size.
    #[track_caller]
    pub fn associative_scan<'g, T: Tree<'g>>(
        &'g self,
        xs: T,
        axis: i64,
        reverse: bool,
        combine: impl Fn(T, T) -> T,
    ) -> T {
        let leaves = xs.leaves();
        let n = leaves.first().map_or(0, |x| axes::size(&x.shape(), axis));
        let whole =
            |x: &Tensor<'g>| !x.is_poisoned() && axes::one("associative_scan", axis, &x.shape()).is_ok();
        if !leaves.iter().all(|x| whole(x) && x.size(axis) == n) {
            if !leaves.iter().any(|x| x.is_poisoned()) {
                let text = format!("associative_scan needs tensors of equal size along dimension {axis}");
                self.report(&leaves, ErrorKind::Operands(text));
            }
            return xs.rebuilt(&self.poisoned(leaves.len()));
        }
        let turned = |xs: T| if reverse { xs.map(|x| x.flip(axis)) } else { xs };
        turned(prefixes(turned(xs), n, axis, &combine))
    }
}

/// Returns the inclusive prefix scan of `n` slices, for the associative `combine`.
#[track_caller]
fn prefixes<'g, T: Tree<'g>>(xs: T, n: i64, axis: i64, combine: &impl Fn(T, T) -> T) -> T {
    if n < 2 {
        return xs;
    }
    let every = |from: i64, to: i64| xs.map(|x| x.slice_by(axis, from..to, 2));
    let odd = prefixes(combine(every(0, n - 1), every(1, n)), n / 2, axis, combine);
    if n == 2 {
        return joined(&xs.map(|x| x.slice(axis, 0..1)), &odd, axis);
    }
    let before = odd.map(|x| x.slice(axis, 0..(n - 1) / 2));
    let even = combine(before, every(2, n));
    let first = xs.map(|x| x.slice(axis, 0..1)).leaves();
    let parts =
        first.iter().zip(even.leaves()).map(|(first, rest)| first.graph().concatenate(&[*first, rest], axis));
    joined(&even.rebuilt(&parts.collect::<Vec<_>>()), &odd, axis)
}

/// Interleaves the slices of two trees, starting with the first slice of `even`.
#[track_caller]
fn joined<'g, T: Tree<'g>>(even: &T, odd: &T, axis: i64) -> T {
    let both: Vec<Tensor<'g>> = even
        .leaves()
        .into_iter()
        .zip(odd.leaves())
        .map(|(even, odd)| {
            let dim = if axis < 0 { axis + even.rank() as i64 } else { axis } as usize;
            let along = |n: i64| (0..even.rank()).map(|d| if d == dim { n } else { 0 }).collect::<Vec<i64>>();
            let longer = even.size(axis) - odd.size(axis);
            let even = even.pad_with(0, &along(0), &along(1 - longer), &along(1));
            let odd = odd.pad_with(0, &along(1), &along(longer), &along(1));
            if even.dtype() == DType::I1 { even | odd } else { even + odd }
        })
        .collect();
    even.rebuilt(&both)
}
