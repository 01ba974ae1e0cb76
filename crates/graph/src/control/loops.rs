//! `while` and `for`.

use std::ops::Range;
use std::panic::Location;

use shardc_ir::{DType, OpKind, TypeId};

use crate::Tensor;
use crate::Tree;
use crate::graph::{Built, Graph, carry_captured, same_types, types_of};

impl Graph {
    /// Runs `body` repeatedly while `cond`, which returns a scalar `i1`, is true. `cond` and `body` take the loop-carried value;
    /// `body` returns the next loop-carried value.
    ///
    /// A gradient requires a known trip count: use [`Graph::fori`] or [`Graph::scan`].
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let y = g.while_loop(x, |x| x.sum(..).lt(100.0), |x| x * 2.0);
    /// assert_eq!(y.shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if `cond` does not return a scalar `i1`, or `body` changes the shape or element type of the loop-carried value.
    #[track_caller]
    pub fn while_loop<'g, C: Tree<'g>>(
        &'g self,
        init: C,
        cond: impl FnOnce(C) -> Tensor<'g>,
        body: impl FnOnce(C) -> C,
    ) -> C {
        let (before, ()) = self.region_like("a loop", &init, |carried| (vec![cond(carried)], ()));
        let (after, ()) = self.region_like("a loop", &init, |carried| (body(carried).leaves(), ()));
        let carried = init.leaves();
        init.rebuilt(&self.make_loop("the body of a loop", &carried, 0..carried.len(), before, after))
    }

    /// Runs `body` for each number from `low` to `high`, exclusive. `body` takes the number, a scalar `i32`, and the loop-carried value,
    /// and returns the next loop-carried value.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let y = g.fori(0, 5, x, |_, x| x * 2.0);
    /// assert_eq!(y.shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if `body` changes the shape or element type of the loop-carried value.
    #[track_caller]
    pub fn fori<'g, C: Tree<'g>>(
        &'g self,
        low: i32,
        high: i32,
        init: C,
        body: impl FnOnce(Tensor<'g>, C) -> C,
    ) -> C {
        let line = Location::caller();
        let state = (self.constant(&[low], ()), init);
        let (before, ()) =
            self.region_like("a loop", &state, |(i, _)| (self.at_line(line, || vec![i.lt(high)]), ()));
        let (after, ()) = self.region_like("a loop", &state, |(i, carried)| {
            let carried = body(i, carried);
            (self.at_line(line, || (i + 1, carried).leaves()), ())
        });
        let carried = state.leaves();
        let end = self.make_loop("the body of a loop", &carried, 1..carried.len(), before, after);
        state.rebuilt(&end).1
    }

    /// Builds a while loop with condition region `before` and body region `after`; returns poisoned tensors if a region is missing. `given`
    /// is the range of the user's values in `carried`; the other values of `carried`, such as loop counters, precede or follow that range.
    #[track_caller]
    pub(super) fn make_loop<'g>(
        &'g self,
        what: &'static str,
        carried: &[Tensor<'g>],
        given: Range<usize>,
        before: Option<Built>,
        after: Option<Built>,
    ) -> Vec<Tensor<'g>> {
        let n = carried.len();
        let (Some(before), Some(after)) = (before, after) else { return self.poisoned(n) };
        self.make_many(carried, n, |m, values| {
            let module = &mut m.state.module;
            let truth = module.types.tensor(&[], DType::I1);
            same_types(module, "the condition of a loop", &[truth], &before.types)?;
            let own_behind = values.len() - given.end;
            let returned = given.start..after.types.len().saturating_sub(own_behind).max(given.start);
            same_types(module, what, &types_of(module, &values[given]), &after.types[returned])?;
            let regions = [before.region, after.region];
            let captured = carry_captured(module, &regions);
            let operands = [values, &captured].concat();
            let types: Vec<TypeId> = types_of(module, &operands);
            let mut made = m.with_types(OpKind::While, &operands, &types, &regions);
            made.truncate(n);
            Ok(made)
        })
    }
}
