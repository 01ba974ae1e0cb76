//! Operations that move elements: reshape, slices, concatenation, updates.

use shardc_ir::{OpId, PadSpec, ReductionKind, SliceSpec};

use super::{Eval, OrStop, Stop};
use crate::algebra::Range;
use crate::terms::{Digit, Digits, Kind, View, push};

/// A number with these digits, from major to minor.
fn number(digits: &[Digit]) -> Digits {
    let mut number = Digits::new();
    digits.iter().for_each(|&digit| push(&mut number, digit));
    number
}

/// The position in each dimension before a reshape, as digits of the dimensions after it.
pub(super) fn reshape_numbers(from: &[u64], to: &[u64]) -> Option<Vec<Digits>> {
    let position: Vec<Digit> = to.iter().zip(0u32..).map(|(&size, dim)| Digit::all(dim, size)).collect();
    let mut stride: u64 = from.iter().product();
    let place = |&size: &u64| {
        stride /= size;
        let mut number = Digits::new();
        crate::terms::replace(Digit { slot: 0, stride, size }, &position, &mut number)?;
        Some(number)
    };
    from.iter().map(place).collect()
}

impl Eval<'_, '_> {
    /// A pad without interior padding is a concatenation.
    pub(super) fn pad(&mut self, op: OpId, spec: &PadSpec) -> Result<View, Stop> {
        let data = &self.module.ops[op];
        if spec.interior.iter().any(|&count| count != 0) {
            return Ok(self.generic(op)?.remove(0));
        }
        let (mut view, fill) = (self.value(data.operands[0])?, self.value(data.operands[1])?);
        let kind = self.kind(data.results[0]);
        for (dim, &size) in self.sizes(data.operands[0]).iter().enumerate() {
            let slot = dim as u32;
            let [low, high] = [spec.low[dim], spec.high[dim]];
            let (start, limit) = ((-low).max(0) as u64, size - (-high).max(0) as u64);
            if start >= limit {
                return Stop::rule("a pad that removes all elements");
            }
            view = self.terms.slice(&view, slot, Range { size, start, limit, stride: 1 }).or_stop()?;
            let parts = [(fill.clone(), low), (view.clone(), (limit - start) as i64), (fill.clone(), high)];
            let parts = parts.into_iter().filter(|(_, length)| *length > 0);
            let (views, lengths): (Vec<View>, Vec<u64>) =
                parts.map(|(view, length)| (view, length as u64)).unzip();
            view = self.terms.concatenate(kind, slot, &views, &lengths).or_stop()?;
        }
        Ok(view)
    }

    pub(super) fn reshape(&mut self, op: OpId) -> Result<View, Stop> {
        let data = &self.module.ops[op];
        let view = self.value(data.operands[0])?;
        let (from, to) = (self.sizes(data.operands[0]), self.sizes(data.results[0]));
        let linear = self.terms.fresh();
        let mut stride: u64 = from.iter().product();
        let places: Vec<Digits> = from
            .iter()
            .map(|&size| {
                stride /= size;
                number(&[Digit { slot: linear, stride, size }])
            })
            .collect();
        let position: Vec<Digit> =
            to.iter().enumerate().map(|(dim, &size)| Digit::all(dim as u32, size)).collect();
        let position = number(&position);
        let moved = view.moved(|slot| places.get(slot as usize).map(|place| &place[..]));
        let moved = moved.and_then(|view| view.moved(|slot| (slot == linear).then_some(&position[..])));
        match moved {
            Some(view) => Ok(view),
            None => Ok(self.generic(op)?.remove(0)),
        }
    }

    pub(super) fn slice(&mut self, op: OpId, spec: &SliceSpec) -> Result<View, Stop> {
        let data = &self.module.ops[op];
        let mut view = self.value(data.operands[0])?;
        for (dim, &size) in self.sizes(data.operands[0]).iter().enumerate() {
            let range = Range {
                size,
                start: spec.start[dim] as u64,
                limit: spec.limit[dim] as u64,
                stride: spec.stride[dim] as u64,
            };
            view = self.terms.slice(&view, dim as u32, range).or_stop()?;
        }
        Ok(view)
    }

    pub(super) fn concatenate(&mut self, op: OpId, dim: u32) -> Result<View, Stop> {
        let data = &self.module.ops[op];
        let args = self.operands(op)?;
        let sizes: Vec<u64> = data.operands.iter().map(|&value| self.sizes(value)[dim as usize]).collect();
        let kind = self.kind(data.results[0]);
        self.terms.concatenate(kind, dim, &args, &sizes).or_stop()
    }

    /// The start index of a dynamic slice along one dimension, clamped to the range.
    fn start(&mut self, view: &View, size: u64, count: u64) -> Result<View, Stop> {
        let kind = self.terms.kind(view);
        let low = self.terms.integer(kind, 0);
        let high = self.terms.integer(kind, (size - count) as i64);
        self.terms.clamp(kind, &low, view, &high).or_stop()
    }

    pub(super) fn dynamic_slice(&mut self, op: OpId, counts: &[i64]) -> Result<View, Stop> {
        let data = &self.module.ops[op];
        let args = self.operands(op)?;
        let [operand, starts @ ..] = args.as_slice() else { return Stop::rule("no operand") };
        let mut view = operand.clone();
        for (dim, &size) in self.sizes(data.operands[0]).iter().enumerate() {
            let (slot, count) = (dim as u32, counts[dim] as u64);
            if count == size || !view.uses(slot) {
                continue;
            }
            let start = self.start(&starts[dim], size, count)?;
            let linear = self.terms.as_linear(&start);
            let sliced = linear.and_then(|start| self.terms.slice_at(&view, slot, size, count, &start));
            view = match (sliced, self.terms.as_integer(&start)) {
                (Some(view), _) => view,
                (None, Some(start)) => {
                    let start = start as u64;
                    let range = Range { size, start, limit: start + count, stride: 1 };
                    self.terms.slice(&view, slot, range).or_stop()?
                }
                (None, None) => self.window(&view, slot, size, count, &start)?,
            };
        }
        Ok(view)
    }

    pub(super) fn dynamic_update_slice(&mut self, op: OpId) -> Result<View, Stop> {
        let data = &self.module.ops[op];
        let args = self.operands(op)?;
        let [operand, update, starts @ ..] = args.as_slice() else { return Stop::rule("no operand") };
        let (sizes, counts) = (self.sizes(data.operands[0]), self.sizes(data.operands[1]));
        let kind = self.kind(data.results[0]);
        let cut: Vec<usize> = (0..sizes.len()).filter(|&dim| counts[dim] != sizes[dim]).collect();
        let mut bounds = Vec::new();
        for &dim in &cut {
            bounds.push((dim, self.start(&starts[dim], sizes[dim], counts[dim])?));
        }
        if let [(dim, start)] = bounds.as_slice()
            && let Some(start) = self.terms.as_integer(start)
        {
            let (slot, size, count) = (*dim as u32, sizes[*dim], counts[*dim]);
            return self.terms.update(kind, slot, [operand, update], [start as u64, count, size]).or_stop();
        }
        // The update at a position that is in range, else the operand.
        let (mut value, mut tests) = (update.clone(), Vec::new());
        for (dim, start) in bounds {
            let (slot, size, count) = (dim as u32, sizes[dim], counts[dim]);
            let (test, moved) = self.placed(&value, slot, [size, count], &start)?;
            tests.push(test);
            value = moved;
        }
        let test = self.terms.join(ReductionKind::And, Kind::Bool, &tests).or_stop()?;
        self.terms.select(kind, &test, &value, operand).or_stop()
    }
}
