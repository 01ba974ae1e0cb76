//! The arguments of slices and concatenations along a slot.
//!
//! | rewrite | condition |
//! |---|---|
//! | a sum of concatenations is a concatenation | at each position, at most one is not zero |
//! | an element-wise operation on slices is a slice of the operation | reals, the same range of the same positions |
//! | a reduction of a slice or concatenation is a slice or concatenation of reductions | along other dimensions |

use shardc_ir::ReductionKind;

use super::Range;
use super::pieces::number;
use super::reduce::Reduced;
use crate::terms::{Digit, Digits, Kind, Op, TermId, Terms, VarRole, View, replace};

/// The position along the dimension that a slice or concatenation adds.
struct Position {
    /// The number of the unit.
    unit: Digits,
    units: u64,
    /// The position in a unit.
    minor: Digits,
    minors: u64,
}

impl Terms {
    /// The number of units of a slice or concatenation, and the number of positions in a unit on which it depends.
    pub(crate) fn units(&self, term: TermId) -> Option<(u64, u64)> {
        let node = self.node(term);
        let units = match &node.op {
            &Op::Slice([_, start, limit, stride]) => ((limit - start) as u64).div_ceil(stride as u64),
            Op::Concat(sizes) => sizes.iter().map(|&size| size as u64).sum(),
            _ => return None,
        };
        let is_minor = |role: VarRole| matches!(role, VarRole::Minor { .. });
        let minors = node.vars.iter().filter(|var| is_minor(var.role)).map(|var| var.size).product();
        Some((units, minors))
    }

    fn position(&self, view: &View) -> Option<Position> {
        let (units, minors) = self.units(view.term)?;
        let whole: &[Digit] = if units * minors > 1 { view.index.last()? } else { &[] };
        let part = |stride: u64, size: u64| {
            let mut part = Digits::new();
            replace(Digit { slot: 0, stride, size }, whole, &mut part)?;
            Some(part)
        };
        Some(Position { unit: part(minors, units)?, units, minor: part(1, minors)?, minors })
    }

    /// Argument `arg` of a node whose core slot becomes `own`, in which a unit has `unit` positions.
    pub(super) fn piece(
        &self,
        view: &View,
        arg: usize,
        own: u32,
        unit: u64,
        minor: &[Digit],
    ) -> Option<View> {
        let mut bound: Vec<Option<Digits>> = Vec::new();
        for var in &self.node(view.term).vars {
            bound.push(match var.role {
                VarRole::Core { stride, .. } => {
                    Some(number(&[Digit { slot: own, stride: stride * unit, size: var.size }]))
                }
                VarRole::Minor { stride } => {
                    let mut part = Digits::new();
                    replace(Digit { slot: 0, stride, size: var.size }, minor, &mut part)?;
                    Some(part)
                }
                VarRole::Batch | VarRole::Reduced => None,
            });
        }
        self.argument(view, arg, &bound)
    }

    /// The arguments of a slice or concatenation along a slot as functions of a slot `own`, and the positions in a unit. `None` if the
    /// slot is not the position along the dimension that the operation adds.
    fn along(&self, view: &View, slot: u32, length: u64, own: u32) -> Option<(u64, Vec<View>)> {
        let position = self.position(view)?;
        let unit = match position.unit.as_slice() {
            [] if position.units == 1 => length,
            &[digit] if digit.slot == slot && digit.size == position.units && digit.end() == length => {
                digit.stride
            }
            _ => return None,
        };
        // Everything else depends only on the position in a unit.
        let has_dim = position.units * position.minors > 1;
        let others = view.index.len() - usize::from(has_dim);
        let rest = view.index.iter().take(others).flatten().chain(&position.minor);
        if !rest.into_iter().all(|digit| digit.slot != slot || unit.is_multiple_of(digit.end())) {
            return None;
        }
        let args = 0..self.node(view.term).args.len();
        let pieces: Option<Vec<View>> = args
            .map(|arg| {
                let piece = self.piece(view, arg, own, unit, &position.minor)?;
                Some(piece.renamed(|old| if old == slot { own } else { old }))
            })
            .collect();
        Some((unit, pieces?))
    }

    /// The parts of a concatenation along a slot of this length, as functions of a slot `own`, and their lengths.
    pub(super) fn parts(&self, view: &View, slot: u32, length: u64, own: u32) -> Option<Vec<(View, u64)>> {
        let Op::Concat(sizes) = &self.node(view.term).op else { return None };
        let (unit, pieces) = self.along(view, slot, length, own)?;
        Some(pieces.into_iter().zip(sizes).map(|(piece, &size)| (piece, size as u64 * unit)).collect())
    }

    /// The argument of a slice along a slot of this length, as a function of a slot `own`, and the range.
    pub(super) fn sliced(&self, view: &View, slot: u32, length: u64, own: u32) -> Option<(View, Range)> {
        let Op::Slice(place) = self.node(view.term).op else { return None };
        let [size, start, limit, stride] = place.map(|word| word as u64);
        let (unit, pieces) = self.along(view, slot, length, own)?;
        if stride != 1 && unit != 1 {
            return None;
        }
        let range = Range { size: size * unit, start: start * unit, limit: limit * unit, stride };
        Some((pieces.into_iter().next()?, range))
    }

    /// The slot and the length of the dimension that a concatenation adds, if all of it is along one slot.
    fn slot_of(&self, view: &View) -> Option<(u32, u64)> {
        let position = self.position(view)?;
        match position.unit.as_slice() {
            &[digit] if digit.size == position.units => Some((digit.slot, digit.end())),
            _ => None,
        }
    }

    /// The tensor that a view pads with a scalar along a slot, with the padding before it, its size, and the padding after it.
    pub(crate) fn unpadded(&mut self, view: &View, fill: &View, slot: u32) -> Option<(View, [u64; 3])> {
        let (own, size) = self.slot_of(view)?;
        let parts = self.parts(view, own, size, own)?;
        let (mut at, mut found) = (0, None);
        for (piece, length) in parts {
            if piece != *fill && found.replace((piece, [at, length, size - at - length])).is_some() {
                return None;
            }
            at += length;
        }
        found.filter(|_| own == slot)
    }

    /// The concatenation that a sum of two concatenations is, if one of them is zero at each position.
    pub(super) fn interleaved(&mut self, kind: Kind, a: &View, b: &View) -> Option<View> {
        let zero = self.integer(kind, 0);
        let (slot, size) = self.slot_of(a)?;
        if self.slot_of(b)? != (slot, size) {
            return None;
        }
        let own = self.fresh();
        let lists = [self.parts(a, slot, size, own)?, self.parts(b, slot, size, own)?];
        if lists.iter().any(|parts| parts.iter().all(|(part, _)| *part != zero)) {
            return None;
        }
        let mut bounds: Vec<u64> = Vec::new();
        for parts in &lists {
            let ends = parts.iter().scan(0, |at, (_, length)| {
                *at += length;
                Some(*at)
            });
            bounds.extend(ends);
        }
        bounds.push(0);
        bounds.sort_unstable();
        bounds.dedup();
        let (mut views, mut lengths) = (Vec::new(), Vec::new());
        for pair in bounds.windows(2) {
            let &[low, high] = pair else { continue };
            let mut chosen = zero.clone();
            for parts in &lists {
                let mut at = 0;
                for (part, length) in parts {
                    if at <= low && high <= at + length && *part != zero {
                        if chosen != zero {
                            return None;
                        }
                        chosen = self.slice(part, own, Range::new(*length, low - at, high - at))?;
                    }
                    at += length;
                }
            }
            views.push(chosen);
            lengths.push(high - low);
        }
        let joined = self.concatenate(kind, own, &views, &lengths)?;
        Some(joined.renamed(|old| if old == own { slot } else { old }))
    }

    /// An element-wise operation on arguments of which some are slices, as a slice of the operation on the arguments of these slices. `None`
    /// if there are none, or if they have different ranges, or if another argument depends on their positions.
    pub(super) fn outside(
        &mut self,
        args: &[View],
        apply: impl FnOnce(&mut Self, &[View]) -> Option<View>,
    ) -> Option<View> {
        // Masks and lookups are recognized by their tests and indices, which stay as they are.
        if args.iter().any(|view| self.kind(view) != Kind::Real) {
            return None;
        }
        let is_slice = |view: &View| matches!(self.node(view.term).op, Op::Slice(_));
        let first = args.iter().find(|view| is_slice(view))?;
        let Op::Slice(place) = self.node(first.term).op else { return None };
        let (units, minors) = self.units(first.term)?;
        let [size, start, limit, stride] = place.map(|word| word as u64);
        if units * minors <= 1 || (stride != 1 && minors != 1) {
            return None;
        }
        let added = first.index.last()?.clone();
        let overlaps = |digit: &Digit| {
            added
                .iter()
                .any(|own| own.slot == digit.slot && own.stride < digit.end() && digit.stride < own.end())
        };
        let own = self.fresh();
        let minor = number(&[Digit::all(own, minors)]);
        let mut inner = Vec::new();
        for view in args {
            if !view.digits().any(|digit| overlaps(&digit)) {
                inner.push(view.clone());
                continue;
            }
            let is_same = self.node(view.term).op == Op::Slice(place)
                && self.units(view.term) == Some((units, minors))
                && view.index.last() == Some(&added);
            let others = view.index.len().checked_sub(1)?;
            if !is_same || view.index.iter().take(others).flatten().any(overlaps) {
                return None;
            }
            inner.push(self.piece(view, 0, own, minors, &minor)?);
        }
        let result = apply(self, &inner)?;
        let range = Range { size: size * minors, start: start * minors, limit: limit * minors, stride };
        let sliced = self.slice(&result, own, range)?;
        sliced.moved(|slot| (slot == own).then_some(&added[..]))
    }

    /// Reduces the arguments of a slice or concatenation instead; `None` if the view is not one, or is reduced along the dimension that it
    /// adds.
    pub(super) fn reduce_pieces(
        &mut self,
        join: ReductionKind,
        kind: Kind,
        view: &View,
        slots: &[Reduced],
    ) -> Option<View> {
        let (units, minors) = self.units(view.term)?;
        let added = if units * minors > 1 { view.index.last()?.clone() } else { Digits::new() };
        if added.iter().any(|digit| slots.iter().any(|&(slot, _)| slot == digit.slot)) {
            return None;
        }
        let op = self.node(view.term).op.clone();
        let own = self.fresh();
        let minor = number(&[Digit::all(own, minors)]);
        let mut pieces = Vec::new();
        for arg in 0..self.node(view.term).args.len() {
            let piece = self.piece(view, arg, own, minors, &minor)?;
            pieces.push(self.reduce(join, kind, &piece, slots)?);
        }
        let joined = match op {
            Op::Concat(sizes) => {
                let sizes: Vec<u64> = sizes.into_iter().map(|size| size as u64 * minors).collect();
                self.concatenate(kind, own, &pieces, &sizes)?
            }
            Op::Slice(place) => {
                let [size, start, limit, stride] = place.map(|word| word as u64);
                if stride != 1 && minors != 1 {
                    return None;
                }
                let range =
                    Range { size: size * minors, start: start * minors, limit: limit * minors, stride };
                self.slice(pieces.first()?, own, range)?
            }
            _ => return None,
        };
        joined.moved(|slot| (slot == own).then_some(&added[..]))
    }
}
