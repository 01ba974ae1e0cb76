//! Random gathers and scatters.

use super::Choices;
use super::emit::{Elem, Emitter, Tensor, list};

/// The common parameters of gather and scatter.
struct Take {
    /// The indexed dimension.
    along: usize,
    /// The size of the slices along the indexed dimension; `None` if it is collapsed.
    window: Option<i64>,
    /// The batching dimension of the indexed tensor, and that of the indices.
    batch: Option<(usize, usize)>,
    /// The shape of the slices.
    slices: Vec<i64>,
    /// The dimensions of the slices that are not dimensions of the indices.
    offset: Vec<usize>,
}

impl Take {
    /// Draws the parameters of a gather of slices of `x` at `indices`. In the result, the dimensions of the indices precede the offset
    /// dimensions, or follow them if `offset_first`.
    fn new(
        c: &mut Choices<'_>,
        x: &Tensor,
        indices: &Tensor,
        along: usize,
        batch: Option<(usize, usize)>,
        offset_first: bool,
    ) -> Take {
        let window = if c.one_in(3) { Some(c.of(&[1, 1, 2]).min(x.shape[along])) } else { None };
        let left: Vec<i64> = (0..x.rank())
            .filter(|&d| batch.is_none_or(|(b, _)| b != d))
            .filter_map(|d| if d == along { window } else { Some(x.shape[d]) })
            .collect();
        let (slices, first) = if offset_first {
            ([left.clone(), indices.shape.clone()].concat(), 0)
        } else {
            ([indices.shape.clone(), left.clone()].concat(), indices.rank())
        };
        Take { along, window, batch, slices, offset: (first..first + left.len()).collect() }
    }

    /// The collapsed dimensions.
    fn dropped(&self) -> String {
        list(self.window.is_none().then_some(self.along))
    }
}

impl Emitter {
    fn take(&mut self, x: &Tensor, indices: &Tensor, take: &Take) -> Tensor {
        let sizes = list((0..x.rank()).map(|d| match d == take.along {
            true => take.window.unwrap_or(1),
            false if take.batch.is_some_and(|(b, _)| b == d) => 1,
            false => x.shape[d],
        }));
        let batch = take
            .batch
            .map(|(a, b)| format!(", operand_batching_dims = [{a}], start_indices_batching_dims = [{b}]"))
            .unwrap_or_default();
        self.use_all(&[x, indices]);
        let text = format!(
            "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [{}]{batch}, start_index_map = [{}], index_vector_dim = {}>, indices_are_sorted = false, slice_sizes = array<i64: {sizes}>}}> : ({}, {})",
            x.name,
            indices.name,
            list(&take.offset),
            take.dropped(),
            take.along,
            indices.rank(),
            x.ty(),
            indices.ty()
        );
        self.push(&text, " -> ", &take.slices, x.elem, x.exact)
    }

    /// Inserts a barrier, because XLA's CPU back end may otherwise fuse incorrectly and read updates from a tensor while it scatters into
    /// that tensor.
    pub(super) fn apart(&mut self, x: Tensor) -> Tensor {
        self.use_all(&[&x]);
        let text = format!("stablehlo.optimization_barrier {}", x.name);
        self.push(&text, " : ", &x.shape, x.elem, x.exact)
    }

    pub(super) fn indices(&self, c: &mut Choices<'_>, fits: impl Fn(&Tensor) -> bool) -> Option<Tensor> {
        self.pick(c, |t| t.elem.is_int() && t.exact && t.rank() <= 2 && fits(t))
    }

    /// Gathers rows of a table.
    pub(crate) fn gather(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let x = self.pick(c, |t| t.rank() > 0)?;
        let indices = self.indices(c, |_| true)?;
        let (along, first) = (c.below(x.rank()), c.one_in(3));
        let take = Take::new(c, &x, &indices, along, None, first);
        Self::fits(&take.slices).then_some(())?;
        self.take(&x, &indices, &take);
        Some(())
    }

    /// Gathers elements along one dimension, with separate indices for each position along another dimension.
    pub(crate) fn gather_batched(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let (x, indices, take) = self.batched(c)?;
        self.take(&x, &indices, &take);
        Some(())
    }

    fn batched(&mut self, c: &mut Choices<'_>) -> Option<(Tensor, Tensor, Take)> {
        let x = self.pick(c, |t| t.rank() > 1)?;
        let along = c.below(x.rank());
        let both = (along + 1 + c.below(x.rank() - 1)) % x.rank();
        let indices =
            self.indices(c, |t| t.elements() != x.elements() && t.shape.contains(&x.shape[both]))?;
        let at = indices.shape.iter().position(|&n| n == x.shape[both])?;
        let take = Take::new(c, &x, &indices, along, Some((both, at)), false);
        Self::fits(&take.slices).then_some((x, indices, take))
    }

    /// Draws a tensor, pairs of indices into two of its dimensions, these two dimensions, and the remaining dimensions.
    fn pairs(&mut self, c: &mut Choices<'_>) -> Option<(Tensor, Tensor, [usize; 2], Vec<usize>)> {
        let x = self.pick(c, |t| t.rank() > 1)?;
        let i = c.below(x.rank());
        let j = (i + 1 + c.below(x.rank() - 1)) % x.rank();
        let (first, second) = if c.one_in(2) {
            // The first index of each index pair is the pair's own position (an `iota`), so there are as many pairs as rows.
            let second = self.indices(c, |t| t.shape == [x.shape[i]])?;
            (self.count(c, x.shape[i], second.elem)?, second)
        } else {
            let first = self.indices(c, |t| t.rank() == 1)?;
            let second = self.indices(c, |t| t.shape == first.shape && t.elem == first.elem)?;
            (first, second)
        };
        let (n, elem) = (first.shape[0], first.elem);
        let column = |e: &mut Self, t: &Tensor| e.apply("stablehlo.reshape", &[t], "", &[n, 1], elem, true);
        let (a, b) = (column(self, &first), column(self, &second));
        let pairs = self.apply("stablehlo.concatenate", &[&a, &b], ", dim = 1", &[n, 2], elem, true);
        let left = (0..x.rank()).filter(|&d| d != i && d != j).collect();
        Some((x, pairs, [i, j], left))
    }

    /// Emits the numbers below `n`, in a form that front ends emit: an iota, an iota to whose negative elements `n` is added, or a
    /// quotient.
    fn count(&mut self, c: &mut Choices<'_>, n: i64, elem: Elem) -> Option<Tensor> {
        // The dividend of the quotient counts to twice `n`, which must fit in eight bits.
        let way = if n < 64 { c.below(3) } else { 0 };
        if way < 2 {
            let count = self.push("stablehlo.iota dim = 0", " : ", &[n], elem, true);
            if way == 0 || elem == Elem::UI32 {
                return Some(count);
            }
            let zero = self.constant("0", &[n], elem);
            let size = self.constant(&n.to_string(), &[n], elem);
            let back = self.apply("stablehlo.add", &[&count, &size], "", &[n], elem, true);
            let text = format!(
                "stablehlo.compare LT, {}, {}, SIGNED : ({}, {})",
                count.name,
                zero.name,
                count.ty(),
                zero.ty()
            );
            let is_negative = self.push(&text, " -> ", &[n], Elem::I1, true);
            return Some(self.apply(
                "stablehlo.select",
                &[&is_negative, &back, &count],
                "",
                &[n],
                elem,
                true,
            ));
        }
        let count = self.push("stablehlo.iota dim = 0", " : ", &[2 * n], elem, true);
        let two = self.constant("2", &[2 * n], elem);
        let half = self.apply("stablehlo.divide", &[&count, &two], "", &[2 * n], elem, true);
        let square = self.apply("stablehlo.reshape", &[&half], "", &[n, 2], elem, true);
        let text = format!("stablehlo.slice {} [0:{n}, 1:2] : ({})", square.name, square.ty());
        let column = self.push(&text, " -> ", &[n, 1], elem, true);
        Some(self.apply("stablehlo.reshape", &[&column], "", &[n], elem, true))
    }

    /// Gathers elements at pairs of indices.
    pub(crate) fn gather_pairs(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let (x, pairs, at, left) = self.pairs(c)?;
        self.take_pairs(&x, &pairs, at, &left);
        Some(())
    }

    fn take_pairs(&mut self, x: &Tensor, pairs: &Tensor, [i, j]: [usize; 2], left: &[usize]) -> Tensor {
        let mut shape = vec![pairs.shape[0]];
        shape.extend(left.iter().map(|&d| x.shape[d]));
        let sizes = list((0..x.rank()).map(|d| if left.contains(&d) { x.shape[d] } else { 1 }));
        self.use_all(&[x, pairs]);
        let text = format!(
            "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [{}, {}], start_index_map = [{i}, {j}], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: {sizes}>}}> : ({}, {})",
            x.name,
            pairs.name,
            list(1..=left.len()),
            i.min(j),
            i.max(j),
            x.ty(),
            pairs.ty()
        );
        self.push(&text, " -> ", &shape, x.elem, x.exact)
    }

    /// Scatters with addition to elements at pairs of indices.
    pub(crate) fn scatter_pairs(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let (x, pairs, [i, j], left) = self.pairs(c)?;
        let taken = self.take_pairs(&x, &pairs, [i, j], &left);
        let updates = self.apart(taken);
        let (name, exact) = match x.elem {
            Elem::F32 => ("add", false),
            Elem::I32 | Elem::I8 | Elem::UI32 => ("add", true),
            Elem::I1 => ("or", true),
            Elem::C64 => ("add", false),
        };
        let n = self.fresh();
        let elem = x.elem.text();
        self.use_all(&[&x, &pairs, &updates]);
        let text = format!(
            "\"stablehlo.scatter\"({}, {}, {}) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [{}, {}], scatter_dims_to_operand_dims = [{i}, {j}], index_vector_dim = 1>, unique_indices = false}}> ({{\n^bb0(%a{n}: tensor<{elem}>, %b{n}: tensor<{elem}>):\n  %c{n} = stablehlo.{name} %a{n}, %b{n} : tensor<{elem}>\n  stablehlo.return %c{n} : tensor<{elem}>\n}}) : ({}, {}, {})",
            x.name,
            pairs.name,
            updates.name,
            list(1..=left.len()),
            i.min(j),
            i.max(j),
            x.ty(),
            pairs.ty(),
            updates.ty()
        );
        self.push(&text, " -> ", &x.shape, x.elem, exact && x.exact);
        Some(())
    }

    /// Scatters rows into a table with a combiner. The order of updates must not matter, so rows are not simply replaced. The indices
    /// differ in size from the table, because XLA's CPU back end reads them while it scatters, even from the output buffer.
    pub(crate) fn scatter(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let (x, indices, take) = if c.one_in(4) {
            self.batched(c)?
        } else {
            let x = self.pick(c, |t| t.rank() > 0)?;
            let indices = self.indices(c, |t| t.elements() != x.elements())?;
            let (along, first) = (c.below(x.rank()), c.one_in(3));
            let take = Take::new(c, &x, &indices, along, None, first);
            Self::fits(&take.slices).then_some((x, indices, take))?
        };
        let (name, exact) = match x.elem {
            Elem::F32 => c.of(&[("add", false), ("maximum", true), ("multiply", false)]),
            Elem::I32 | Elem::I8 | Elem::UI32 => {
                c.of(&[("add", true), ("maximum", true), ("multiply", true), ("xor", true)])
            }
            Elem::I1 => c.of(&[("or", true), ("and", true), ("xor", true)]),
            Elem::C64 => ("add", false),
        };
        let updates = match self.pick(c, |t| t.shape == take.slices && t.elem == x.elem) {
            Some(updates) => updates,
            None => {
                let taken = self.take(&x, &indices, &take);
                self.apart(taken)
            }
        };
        let batch = take
            .batch
            .map(|(a, b)| format!(", input_batching_dims = [{a}], scatter_indices_batching_dims = [{b}]"))
            .unwrap_or_default();
        let n = self.fresh();
        let elem = x.elem.text();
        self.use_all(&[&x, &indices, &updates]);
        let text = format!(
            "\"stablehlo.scatter\"({}, {}, {}) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [{}]{batch}, scatter_dims_to_operand_dims = [{}], index_vector_dim = {}>, unique_indices = false}}> ({{\n^bb0(%a{n}: tensor<{elem}>, %b{n}: tensor<{elem}>):\n  %c{n} = stablehlo.{name} %a{n}, %b{n} : tensor<{elem}>\n  stablehlo.return %c{n} : tensor<{elem}>\n}}) : ({}, {}, {})",
            x.name,
            indices.name,
            updates.name,
            list(&take.offset),
            take.dropped(),
            take.along,
            indices.rank(),
            x.ty(),
            indices.ty(),
            updates.ty()
        );
        self.push(&text, " -> ", &x.shape, x.elem, exact && x.exact && updates.exact);
        Some(())
    }

    /// Scatters rows into zeros, each at most once, as tokens are dispatched to experts.
    pub(crate) fn scatter_unique(&mut self, c: &mut Choices<'_>) -> Option<()> {
        let updates = self.pick(c, |t| t.rank() > 0)?;
        let (n, step) = (updates.shape[0], c.of(&[1, 2]));
        let rows = c.of(&[n, 2 * n, n - 1]).max(1);
        let shape = [&[rows], &updates.shape[1..]].concat();
        Self::fits(&shape).then_some(())?;
        let count = self.push("stablehlo.iota dim = 0", " : ", &[n], Elem::I32, true);
        let by = self.constant(&step.to_string(), &[n], Elem::I32);
        let indices = self.apply("stablehlo.multiply", &[&count, &by], "", &[n], Elem::I32, true);
        let updates = self.apart(updates);
        let zeros = self.constant(updates.elem.zero(), &shape, updates.elem);
        let m = self.fresh();
        let elem = updates.elem.text();
        self.use_all(&[&indices, &updates]);
        let text = format!(
            "\"stablehlo.scatter\"({}, {}, {}) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}}> ({{\n^bb0(%a{m}: tensor<{elem}>, %b{m}: tensor<{elem}>):\n  stablehlo.return %b{m} : tensor<{elem}>\n}}) : ({}, {}, {})",
            zeros.name,
            indices.name,
            updates.name,
            list(1..updates.rank()),
            zeros.ty(),
            indices.ty(),
            updates.ty()
        );
        self.push(&text, " -> ", &shape, updates.elem, updates.exact);
        Some(())
    }
}
