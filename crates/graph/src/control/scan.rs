//! `scan`: a loop over the slices of tensors along their first dimension.

use std::panic::Location;

use crate::Tree;
use crate::error::ErrorKind;
use crate::graph::Graph;
use crate::{Operand, Tensor};

/// Options of [`Graph::scan_with`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanOptions {
    /// The trip count; required if the scan has no input tensors.
    pub length: Option<i64>,
    /// Whether to scan from the last slice to the first.
    pub reverse: bool,
}

impl Graph {
    /// Runs `body` for each slice of `xs` along the first dimension (`jax.lax.scan`). `body` takes the carry and the slices, and returns
    /// the next carry and one slice of the output. The scan returns the final carry, and the output slices stacked along a new first
    /// dimension.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let xs = g.parameter("xs", [5, 3], F32);
    /// let (sum, sums) = g.scan(g.zeros([3], F32), xs, |sum, x| (sum + x, sum));
    /// assert_eq!((sum.shape(), sums.shape()), (vec![3], vec![5, 3]));
    /// ```
    ///
    /// Reports an error if the tensors of `xs` differ in their first dimension, or `body` changes the shape or element type of the carry.
    #[track_caller]
    pub fn scan<'g, C: Tree<'g>, X: Tree<'g>, Y: Tree<'g>>(
        &'g self,
        init: C,
        xs: X,
        body: impl FnOnce(C, X) -> (C, Y),
    ) -> (C, Y) {
        self.scan_with(ScanOptions::default(), init, xs, body)
    }

    /// [`scan`](Graph::scan) with options: a given trip count, or reverse order.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh, ScanOptions};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let options = ScanOptions { length: Some(4), reverse: false };
    /// let (last, powers) = g.scan_with(options, g.scalar(1.0, F32), (), |x, ()| (x * 2.0, x));
    /// assert_eq!((last.rank(), powers.shape()), (0, vec![4]));
    /// ```
    ///
    /// Reports the errors of [`Graph::scan`], and an error if the trip count is unknown.
    #[track_caller]
    pub fn scan_with<'g, C: Tree<'g>, X: Tree<'g>, Y: Tree<'g>>(
        &'g self,
        options: ScanOptions,
        init: C,
        xs: X,
        body: impl FnOnce(C, X) -> (C, Y),
    ) -> (C, Y) {
        let line = Location::caller();
        let inputs = xs.leaves();
        let mut length = options.length;
        for &x in &inputs {
            let n = if x.is_poisoned() { continue } else { x.shape().first().copied() };
            match (length, n) {
                (Some(length), Some(n)) if n == length => {}
                (None, Some(n)) => length = Some(n),
                (length, _) => {
                    let length = length.map_or(String::new(), |n| format!(" of size {n}"));
                    let text = format!(
                        "scan needs tensors with a leading dimension{length}, got shape {:?}",
                        x.shape()
                    );
                    self.report(&[x], ErrorKind::Operands(text));
                }
            }
        }
        if length.is_none() && !inputs.iter().any(|x| x.is_poisoned()) {
            let text = "scan without input tensors needs an explicit length".to_owned();
            self.report(&[], ErrorKind::Operands(text));
        }
        let length = length.unwrap_or(1);
        let state = (self.constant(&[0i32], ()), init);
        let carried = state.leaves();
        let (after, (outputs, stacks)) = self.region_like("scan", &state, |(i, carry)| {
            let (at, slices) = self.at_line(line, || {
                let at = if options.reverse { (length - 1) - i } else { i };
                let slices: Vec<Tensor<'g>> = inputs.iter().map(|x| x.dynamic_index(0, at)).collect();
                (at, slices)
            });
            let (carry, outputs) = body(carry, xs.rebuilt(&slices));
            self.at_line(line, || {
                let mut returned = (i + 1, carry).leaves();
                let mut stacks = Vec::new();
                for part in outputs.leaves() {
                    let stack = self.stack_argument(part, length);
                    returned.push(stack.dynamic_update(part.expand_dims(0), &index_of(at, part)));
                    stacks.push((stack.shape(), stack.dtype()));
                }
                (returned, (outputs, stacks))
            })
        });
        // Each iteration overwrites its own slice, so the initial contents are never read.
        let empty = self.at_line(line, || {
            stacks.iter().map(|(shape, dtype)| self.zeros(shape, *dtype)).collect::<Vec<_>>()
        });
        let operands = [&carried[..], &empty].concat();
        let (before, ()) = self.region_like("scan", &operands, |args| {
            (self.at_line(line, || vec![args[0].lt(Operand::Integer(length))]), ())
        });
        let given = 1..carried.len();
        let made = self.make_loop("the body of a scan", &operands, given, before, after);
        let (end, stacked) = made.split_at(carried.len());
        let (_, end) = state.rebuilt(end);
        (end, outputs.rebuilt(stacked))
    }

    /// Adds an argument to the open region: a buffer for `length` stacked slices of the shape of `part`.
    #[track_caller]
    fn stack_argument<'g>(&'g self, part: Tensor<'g>, length: i64) -> Tensor<'g> {
        self.make(&[part], |m, values| {
            let shape = [&[length][..], &m.shape_of(values[0])].concat();
            let (dtype, region) = (m.dtype_of(values[0]), m.state.region());
            let module = &mut m.state.module;
            let ty = module.types.tensor(&shape, dtype);
            Ok(module.add_arg(region, ty))
        })
    }
}

/// Returns the start indices of a slice: `at` along the first dimension, zero along the others.
fn index_of<'g>(at: Tensor<'g>, part: Tensor<'g>) -> Vec<Tensor<'g>> {
    let zero = part.graph().constant(&[0i32], ());
    std::iter::once(at).chain(std::iter::repeat_n(zero, part.rank())).collect()
}
