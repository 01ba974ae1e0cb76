//! Finds the view of which the values of all devices are the blocks.

use super::pieces::{Block, Local, Piece, key, sorted};
use crate::algebra::Linear;
use crate::terms::{DEVICE, Digit, Digits, Op, TermId, Terms, VarRole, View, push};

/// The most positions, of all devices, at which pieces are compared.
pub(super) const MOST_POSITIONS: u64 = 1 << 21;
impl Terms {
    /// The view of one of the first `known` terms whose values on the devices are these. `sizes` are those of the local dimensions.
    pub(super) fn refit(&mut self, cases: &[Local], sizes: &[u64], known: usize) -> Option<View> {
        let is_one = cases.iter().all(|case| case.slot.is_none());
        if is_one {
            let blocks: Vec<&Block> =
                cases.iter().filter_map(|case| Some(&case.pieces.first()?.block)).collect();
            if let Some(view) = self.refit_blocks(&blocks).filter(|view| (view.term.0 as usize) < known) {
                return Some(view);
            }
        }
        let along = cases.iter().find_map(|case| case.slot);
        let slots =
            (0u32..).zip(sizes).filter(|&(slot, &size)| size > 1 && along.is_none_or(|own| own == slot));
        slots.into_iter().find_map(|(slot, &length)| {
            let lists: Option<Vec<Vec<Piece>>> = cases.iter().map(|case| case.pieces(slot, length)).collect();
            let lists = lists?;
            let view = self.refit_pieces(&lists, slot, length)?;
            let is_known = (view.term.0 as usize) < known;
            (is_known && self.is_pieces(&view, &lists, slot, length)).then_some(view)
        })
    }

    /// A candidate for a view with these pieces: a concatenation of the pieces of different devices, in the order of their first devices.
    fn refit_pieces(&mut self, lists: &[Vec<Piece>], slot: u32, length: u64) -> Option<View> {
        let keys: Vec<_> = lists.iter().map(|pieces| key(pieces, slot)).collect::<Option<Vec<_>>>()?;
        let mut order: Vec<usize> = Vec::new();
        let mut numbers = Vec::new();
        for own in &keys {
            let at = order.iter().position(|&device| keys[device] == *own);
            numbers.push(at.unwrap_or(order.len()) as i64);
            if at.is_none() {
                order.push(numbers.len() - 1);
            }
        }
        let mut parts = Linear::fit(&numbers, DEVICE)?.merged()?.parts;
        parts.sort_by_key(|&(coef, _)| std::cmp::Reverse(coef));
        let (mut digits, mut stride) = (Digits::new(), order.len() as i64);
        for &(coef, digit) in &parts {
            if coef.checked_mul(digit.size as i64) != Some(stride) {
                return None;
            }
            stride = coef;
            push(&mut digits, digit);
        }
        push(&mut digits, Digit::all(slot, length));
        if stride != 1 {
            return None;
        }
        // The pieces of all blocks, for each device: those of the devices that differ from it only in the number of the block.
        let with_block = |device: u64, block: i64| {
            parts.iter().fold(device, |device, &(coef, digit)| {
                let (own, new) = (device / digit.stride % digit.size, (block / coef) as u64 % digit.size);
                device - own * digit.stride + new * digit.stride
            })
        };
        let global = |device: u64| {
            let blocks = 0..order.len() as i64;
            let pieces = blocks.flat_map(|block| lists[with_block(device, block) as usize].clone());
            Local::of(slot, pieces.collect())
        };
        let joined: Vec<Local> = (0..lists.len() as u64).map(global).collect::<Option<_>>()?;
        let first = joined.first()?;
        let own = self.fresh();
        let kind = self.node(first.pieces.first()?.block.term).kind;
        let (mut views, mut lengths) = (Vec::new(), Vec::new());
        for (at, piece) in first.pieces.iter().enumerate() {
            let blocks: Option<Vec<&Block>> = joined
                .iter()
                .map(|local| {
                    local.pieces.get(at).filter(|other| other.length == piece.length).map(|p| &p.block)
                })
                .collect();
            let view = self.refit_blocks(&blocks?)?;
            views.push(view.renamed(|old| if old == slot { own } else { old }));
            lengths.push(piece.length);
        }
        let joined = self.concatenate(kind, own, &views, &lengths)?;
        joined.moved(|old| (old == own).then_some(&digits[..]))
    }

    /// Whether a view has these pieces on each device, at every position along a slot.
    fn is_pieces(&self, view: &View, lists: &[Vec<Piece>], slot: u32, length: u64) -> bool {
        if length.saturating_mul(lists.len() as u64) > MOST_POSITIONS {
            return false;
        }
        lists.iter().zip(0u64..).all(|(pieces, device)| {
            let mut positions = pieces.iter().flat_map(|piece| (0..piece.length).map(move |at| (piece, at)));
            (0..length).all(|at| {
                let own = self.element(view, device, slot, at);
                let other =
                    positions.next().and_then(|(piece, at)| piece.block.part(slot, piece.length, at, 1));
                own.is_some() && own == other.map(sorted)
            })
        })
    }

    /// The elements of a view on a device at one position along a slot. Concatenations are replaced by the argument at the position.
    fn element(&self, view: &View, device: u64, slot: u32, at: u64) -> Option<Block> {
        let mut index: Vec<Linear> = Vec::new();
        for number in &view.index {
            let mut linear = Linear::default();
            for &digit in number {
                linear = linear.times(digit.size as i64)?;
                let value = match digit.slot {
                    DEVICE => Linear::constant((device / digit.stride % digit.size) as i64),
                    own if own == slot => Linear::constant((at / digit.stride % digit.size) as i64),
                    _ => Linear { base: 0, parts: vec![(1, digit)] },
                };
                linear = linear.plus(&value, 1)?;
            }
            index.push(linear);
        }
        let (term, index) = self.expanded(view.term, index);
        let index = index.into_iter().map(|linear| (linear.base, linear.parts)).collect();
        Some(sorted(Block { term, index }))
    }

    /// The elements of a term at an index, as elements of the argument of a slice, or of the argument of a concatenation in which all
    /// positions are.
    pub(super) fn expanded(&self, mut term: TermId, mut index: Vec<Linear>) -> (TermId, Vec<Linear>) {
        while let Some(inner) = self.inside(term, &index) {
            (term, index) = inner;
        }
        (term, index)
    }

    /// One step of `expanded`; `None` if the operation has no such argument.
    fn inside(&self, term: TermId, index: &[Linear]) -> Option<(TermId, Vec<Linear>)> {
        let node = self.node(term);
        let (units, minors) = self.units(term)?;
        // The dimension that the operation adds is the last one; one element adds none.
        let added = if units * minors > 1 { index.last()?.clone() } else { Linear::default() };
        let minor_count = i64::try_from(minors).ok()?;
        let (arg, position, length) = match &node.op {
            &Op::Slice([size, start, _, stride]) => {
                if stride != 1 && minors != 1 {
                    return None;
                }
                let start = Linear::constant(start.checked_mul(minor_count)?);
                (0, added.times(stride)?.plus(&start, 1)?, size * minor_count)
            }
            Op::Concat(sizes) => {
                let (low, high) = added.range()?;
                let mut first = 0;
                let place = sizes.iter().position(|size| {
                    let is_inside = low >= first && high < first + size * minor_count;
                    first += if is_inside { 0 } else { size * minor_count };
                    is_inside
                })?;
                (place, added.plus(&Linear::constant(first), -1)?, sizes[place] * minor_count)
            }
            _ => return None,
        };
        let chosen = node.args.get(arg)?;
        let mut inner = Vec::new();
        for vars in &chosen.index {
            inner.push(self.inner_index(term, vars, index, &position, (length as u64, minors))?);
        }
        Some((chosen.term, inner))
    }

    /// The index of an argument of a slice or concatenation in one dimension, at a position along the core slot of the argument.
    pub(super) fn inner_index(
        &self,
        term: TermId,
        vars: &[u16],
        index: &[Linear],
        position: &Linear,
        (length, minors): (u64, u64),
    ) -> Option<Linear> {
        let node = self.node(term);
        // The parts of the index: values, or digits of the position with their strides.
        let mut parts: Vec<(Result<Linear, u64>, u64)> = Vec::new();
        for &var in vars {
            let at = usize::from(var);
            let size = node.vars[at].size;
            let stride = match node.vars[at].role {
                VarRole::Batch => {
                    let before = node.vars[..at].iter().filter(|var| var.role == VarRole::Batch).count();
                    parts.push((Ok(index.get(before)?.clone()), size));
                    continue;
                }
                VarRole::Core { stride, .. } => stride * minors,
                VarRole::Minor { stride } => stride,
                VarRole::Reduced => return None,
            };
            match parts.last_mut() {
                Some((Err(major), count)) if *major == stride * size => {
                    (*major, *count) = (stride, *count * size);
                }
                _ => parts.push((Err(stride), size)),
            }
        }
        let mut number = Linear::default();
        for (part, size) in parts {
            let value = match part {
                Ok(value) => value,
                Err(1) if size == length => position.clone(),
                Err(stride) if stride * size == length => position.quotient(stride as i64)?,
                Err(stride) => position.quotient(stride as i64)?.remainder(size as i64)?,
            };
            number = number.times(size as i64)?.plus(&value, 1)?;
        }
        Some(number)
    }

    /// The view whose value on each device is a block; one block is the same on all devices.
    pub(super) fn refit_blocks(&mut self, blocks: &[&Block]) -> Option<View> {
        let first = *blocks.first()?;
        if blocks.iter().any(|block| block.term != first.term || block.index.len() != first.index.len()) {
            return None;
        }
        let dims = self.node(first.term).dims.clone();
        let slots: Vec<u32> = dims.iter().map(|_| self.fresh()).collect();
        let mut view = View {
            term: first.term,
            index: dims
                .iter()
                .zip(&slots)
                .map(|(&size, &slot)| std::iter::once(Digit::all(slot, size)).collect())
                .collect(),
        };
        for (at, (&size, &slot)) in dims.iter().zip(&slots).enumerate() {
            if blocks.iter().any(|block| block.index[at].1 != first.index[at].1) {
                return None;
            }
            let bases: Vec<i64> = blocks.iter().map(|block| block.index[at].0).collect();
            let mut start = Linear::fit(&bases, DEVICE)?;
            start.parts.extend(&first.index[at].1);
            let start = start.merged()?;
            let (low, high) = start.range()?;
            if low < 0 || high >= size as i64 {
                return None;
            }
            view = match self.slice_at(&view, slot, size, 1, &start) {
                Some(view) => view,
                None => {
                    // A range that does not start at a multiple of its length.
                    let &[(1, digit)] = start.parts.as_slice() else { return None };
                    let (first, count) = (start.base as u64, digit.size);
                    if digit != Digit::all(digit.slot, count) {
                        return None;
                    }
                    let range = crate::algebra::Range::new(size, first, first + count);
                    let view = self.slice(&view, slot, range)?;
                    view.renamed(|old| if old == slot { digit.slot } else { old })
                }
            };
        }
        Some(view)
    }
}
