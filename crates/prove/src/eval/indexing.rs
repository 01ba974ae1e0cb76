//! Gather, scatter and slices at computed positions, as sums over positions.
//!
//! `gather(x, i)` is `sum over p of [p = clamp(i)] * x[p]`, and `scatter(x, i, u)` with addition is `x + sum over r of [p = i[r]] * u[r]`.
//! A scatter that replaces each element at most once selects between this sum and `x`. A lookup in a sharded table, with the offset of the
//! block subtracted from the indices, is then the part of this sum on a device.

use shardc_ir::{CompareDirection, GatherSpec, OpId, ReductionKind, ScatterSpec, reducer};

use super::{Eval, OrStop, Stop, regions};
use crate::algebra::{Linear, Range};
use crate::terms::{DEVICE, Digit, Kind, View};

/// The dimensions of the indices other than the index vector, in order.
fn index_batch(rank: usize, vector: u32) -> Vec<u32> {
    (0..rank as u32).filter(|&dim| dim != vector).collect()
}

/// The product and the sum of elements of a kind.
fn joins_of(kind: Kind) -> (ReductionKind, ReductionKind) {
    match kind {
        Kind::Bool => (ReductionKind::And, ReductionKind::Or),
        Kind::Real | Kind::Complex | Kind::Integer(_) => (ReductionKind::Mul, ReductionKind::Add),
    }
}

impl Eval<'_, '_> {
    /// `[position = index]` as a number of kind `kind`. The position is `slot`, plus `window` if that is a slot.
    fn equals(
        &mut self,
        kind: Kind,
        slot: (u32, u64),
        window: Option<(u32, u64)>,
        index: &View,
    ) -> Result<View, Stop> {
        let integers = self.terms.kind(index);
        let mut linear = Linear::default();
        let (position, size) = slot;
        if size > 1 {
            linear.parts.push((1, Digit::all(position, size)));
        }
        if let Some((slot, size)) = window.filter(|&(_, size)| size > 1) {
            linear.parts.push((-1, Digit::all(slot, size)));
        }
        // Without overflow, the type of the difference does not matter, but indices may be unsigned.
        let Some(position) = self.terms.linear(&linear, integers) else {
            return Stop::rule("the type of indices is too narrow");
        };
        let equal = self.terms.compare(CompareDirection::EQ, &position, index, true).or_stop()?;
        if kind == Kind::Bool { Ok(equal) } else { self.terms.indicator(kind, &equal).or_stop() }
    }

    /// The sum over a slot of a value where a test is one; for truth values, whether both are true anywhere.
    fn found(&mut self, test: &View, value: &View, slot: (u32, u64)) -> Result<View, Stop> {
        let kind = self.terms.kind(value);
        let (both, any) = joins_of(kind);
        let product = self.terms.join(both, kind, &[test.clone(), value.clone()]).or_stop()?;
        self.terms.reduce(any, kind, &product, &[slot]).or_stop()
    }

    /// The slice of `count` positions along a slot at a start that is in range.
    pub(super) fn window(
        &mut self,
        view: &View,
        slot: u32,
        size: u64,
        count: u64,
        start: &View,
    ) -> Result<View, Stop> {
        let kind = self.terms.kind(view);
        let position = self.terms.fresh();
        let moved = view.renamed(|old| if old == slot { position } else { old });
        let test = self.equals(kind, (position, size), Some((slot, count)), start)?;
        self.found(&test, &moved, (position, size))
    }

    /// An update along a slot at a start that is in range: whether a position is updated, and the update at each position.
    pub(super) fn placed(
        &mut self,
        update: &View,
        slot: u32,
        [size, count]: [u64; 2],
        start: &View,
    ) -> Result<(View, View), Stop> {
        let kind = self.terms.kind(update);
        let integers = self.terms.kind(start);
        let own = self.terms.fresh();
        let moved = update.renamed(|old| if old == slot { own } else { old });
        let test = self.equals(kind, (slot, size), Some((own, count)), start)?;
        let value = self.found(&test, &moved, (own, count))?;
        let position = Linear { base: 0, parts: vec![(1, Digit::all(slot, size))] };
        let position = self.terms.linear(&position, integers).or_stop()?;
        let above = self.terms.compare(CompareDirection::GE, &position, start, true).or_stop()?;
        let most = self.terms.integer(integers, count as i64 - 1);
        let end = self.terms.add(integers, start, &most).or_stop()?;
        let below = self.terms.compare(CompareDirection::LE, &position, &end, true).or_stop()?;
        let test = self.terms.join(ReductionKind::And, Kind::Bool, &[above, below]).or_stop()?;
        Ok((test, value))
    }

    /// Component `at` of an index vector.
    fn component(&mut self, indices: &View, vector: u32, size: u64, at: usize) -> Result<View, Stop> {
        let range = Range { size, start: at as u64, limit: at as u64 + 1, stride: 1 };
        self.terms.slice(indices, vector, range).or_stop()
    }

    pub(super) fn gather(&mut self, op: OpId, spec: &GatherSpec) -> Result<View, Stop> {
        let data = &self.module.ops[op];
        let (operand, indices) = (self.value(data.operands[0])?, self.value(data.operands[1])?);
        let kind = self.kind(data.results[0]);
        let sizes = self.sizes(data.operands[0]);
        let index_sizes = self.sizes(data.operands[1]);
        let rank = self.module.rank(data.results[0]) as u32;
        let batch: Vec<u32> = (0..rank).filter(|dim| !spec.offset_dims.contains(dim)).collect();
        let vector = spec.index_vector_dim;
        let length = index_sizes.get(vector as usize).copied().unwrap_or(1);
        // The dimension of the result of each dimension of the indices; the index vector gets a slot of its own.
        let own = self.terms.fresh();
        let place = |slot: u32| index_batch(index_sizes.len(), vector).iter().position(|&dim| dim == slot);
        let indices = indices.renamed(|slot| match slot {
            _ if slot >= DEVICE => slot,
            _ if slot == vector => own,
            _ => place(slot).and_then(|at| batch.get(at)).copied().unwrap_or(slot),
        });
        // The slot of each dimension of the operand: a dimension of the result, or a position that an index selects.
        let mut offsets = spec.offset_dims.iter();
        let mut slots = Vec::new();
        let mut selected = Vec::new();
        for (dim, &size) in sizes.iter().enumerate() {
            let number = dim as u32;
            if let Some(at) = spec.operand_batching_dims.iter().position(|&d| d == number) {
                let index_dim = spec.start_indices_batching_dims[at];
                let Some(&slot) = place(index_dim).and_then(|at| batch.get(at)) else {
                    return Stop::rule("a batching dimension");
                };
                slots.push(slot);
                continue;
            }
            let window = spec.slice_sizes[dim] as u64;
            let is_collapsed = spec.collapsed_slice_dims.contains(&number);
            let result = if is_collapsed { None } else { offsets.next().copied() };
            let component = spec.start_index_map.iter().position(|&d| d == number);
            match (component, result) {
                // An index cannot move a window that is the entire dimension.
                (_, Some(slot)) if window == size => slots.push(slot),
                (Some(at), _) => {
                    let slot = self.terms.fresh();
                    slots.push(slot);
                    selected.push((slot, size, window, result, at));
                }
                // A window of the first positions.
                (None, _) => return Stop::rule("a gather of a part of a dimension that is not indexed"),
            }
        }
        let mut value = operand.renamed(|slot| slots.get(slot as usize).copied().unwrap_or(slot));
        for (slot, size, window, result, at) in selected {
            let index = self.component(&indices, own, length, at)?;
            let integers = self.terms.kind(&index);
            let (low, high) =
                (self.terms.integer(integers, 0), self.terms.integer(integers, (size - window) as i64));
            let index = self.terms.clamp(integers, &low, &index, &high).or_stop()?;
            if let Some(start) = self.terms.as_linear(&index).filter(|_| window == 1)
                && let Some(found) = self.terms.slice_at(&value, slot, size, 1, &start)
            {
                value = found;
                continue;
            }
            let test = self.equals(kind, (slot, size), result.map(|slot| (slot, window)), &index)?;
            value = self.found(&test, &value, (slot, size))?;
        }
        Ok(value)
    }

    pub(super) fn scatter(&mut self, op: OpId, spec: &ScatterSpec) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        let inputs = data.results.len();
        let reduction =
            data.regions.first().and_then(|&region| reducer::reduction_of(module, region, inputs));
        let is_sum = reduction == Some(ReductionKind::Add) && self.kind(data.results[0]) != Kind::Bool;
        let replaces = inputs == 1 && self.replaces(op, spec);
        if !is_sum && !replaces {
            return self.generic(op);
        }
        let indices = self.value(data.operands[inputs])?;
        let index_sizes = self.sizes(data.operands[inputs]);
        let mut results = Vec::new();
        for at in 0..inputs {
            let operand = self.value(data.operands[at])?;
            let update = self.value(data.operands[inputs + 1 + at])?;
            let sizes = self.sizes(data.operands[at]);
            let update_sizes = self.sizes(data.operands[inputs + 1 + at]);
            let shapes = [&sizes[..], &update_sizes[..]];
            let added = self.scattered(spec, &indices, &index_sizes, &update, shapes)?;
            let kind = self.kind(data.results[at]);
            results.push(if replaces {
                let all = self.terms.truth(true);
                let hit = self.scattered(spec, &indices, &index_sizes, &all, shapes)?;
                self.terms.select(kind, &hit, &added, &operand).or_stop()?
            } else {
                self.terms.add(kind, &operand, &added).or_stop()?
            });
        }
        Ok(results)
    }

    /// Whether a scatter replaces elements, each at most once.
    fn replaces(&self, op: OpId, spec: &ScatterSpec) -> bool {
        let data = &self.module.ops[op];
        let [_, indices, update] = data.operands.as_slice() else { return false };
        let text = data.regions.first().and_then(|&region| regions::text(self.module, region));
        let dims = self.sizes(*indices);
        let vectors = dims.iter().zip(0u32..).filter(|(_, dim)| *dim != spec.index_vector_dim);
        let is_once =
            vectors.map(|(&size, _)| size).product::<u64>() == 1 || spec.unique_indices == Some(true);
        is_once && text.as_deref() == Some("Return;1,\n") && self.module.rank(*update) > 0
    }

    /// The sum of the updates at each position.
    fn scattered(
        &mut self,
        spec: &ScatterSpec,
        indices: &View,
        index_sizes: &[u64],
        update: &View,
        [sizes, update_sizes]: [&[u64]; 2],
    ) -> Result<View, Stop> {
        let kind = self.terms.kind(update);
        let vector = spec.index_vector_dim;
        let length = index_sizes.get(vector as usize).copied().unwrap_or(1);
        let rows: Vec<u32> =
            (0..update_sizes.len() as u32).filter(|dim| !spec.update_window_dims.contains(dim)).collect();
        let index_dims = index_batch(index_sizes.len(), vector);
        // Slots of the updates: a dimension of the operand, or a fresh slot that is summed.
        let mut slots: Vec<u32> = update_sizes.iter().map(|_| self.terms.fresh()).collect();
        let mut summed: Vec<(u32, u64)> = Vec::new();
        for (at, &dim) in rows.iter().enumerate() {
            let index_dim = index_dims.get(at).copied().unwrap_or(u32::MAX);
            let batching = spec.scatter_indices_batching_dims.iter().position(|&d| d == index_dim);
            match batching.and_then(|at| spec.input_batching_dims.get(at)) {
                Some(&operand_dim) => slots[dim as usize] = operand_dim,
                None => summed.push((slots[dim as usize], update_sizes[dim as usize])),
            }
        }
        let is_window =
            |dim: u32| !spec.inserted_window_dims.contains(&dim) && !spec.input_batching_dims.contains(&dim);
        let windows: Vec<u32> = (0..sizes.len() as u32).filter(|&dim| is_window(dim)).collect();
        // Indexed dimensions, and the component of the index of each.
        let mut indexed: Vec<(u32, usize)> = Vec::new();
        for (&dim, &update_dim) in windows.iter().zip(&spec.update_window_dims) {
            let (size, window) = (sizes[dim as usize], update_sizes[update_dim as usize]);
            let component = spec.scatter_dims_to_operand_dims.iter().position(|&d| d == dim);
            match component {
                None if size == window => slots[update_dim as usize] = dim,
                None => return Stop::rule("a scatter into a part of a dimension that is not indexed"),
                // A window that does not fit is dropped as a whole: an equation for each position cannot express this.
                Some(_) if window != 1 => return Stop::rule("a scatter of windows"),
                Some(at) => indexed.push((dim, at)),
            }
        }
        for (at, &dim) in spec.scatter_dims_to_operand_dims.iter().enumerate() {
            if !is_window(dim) {
                indexed.push((dim, at));
            }
        }
        let own = self.terms.fresh();
        let place = |slot: u32| index_dims.iter().position(|&dim| dim == slot);
        let row_slots: Vec<u32> = rows.iter().map(|&dim| slots[dim as usize]).collect();
        let indices = indices.renamed(|slot| match slot {
            _ if slot >= DEVICE => slot,
            _ if slot == vector => own,
            _ => place(slot).and_then(|at| row_slots.get(at)).copied().unwrap_or(slot),
        });
        let mut value = update.renamed(|slot| slots.get(slot as usize).copied().unwrap_or(slot));
        let (both, any) = joins_of(kind);
        for (dim, at) in indexed {
            let index = self.component(&indices, own, length, at)?;
            let test = self.equals(kind, (dim, sizes[dim as usize]), None, &index)?;
            value = self.terms.join(both, kind, &[test, value]).or_stop()?;
        }
        self.terms.reduce(any, kind, &value, &summed).or_stop()
    }
}
