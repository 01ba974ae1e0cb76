//! Slices, concatenations and updates along one slot.
//!
//! | rewrite | condition |
//! |---|---|
//! | a slice of a concatenation is a slice of one of its arguments | the range is in the argument |
//! | a slice of an update is a slice of the operand or of the update | likewise |
//! | a slice of an affine function is affine | |
//! | a slice at an affine start selects digits | the start is a multiple of the size |
//! | a sum of concatenations is a concatenation | at each position, at most one is not zero |
//! | a reduction of a slice or concatenation is a slice or concatenation of reductions | along other dimensions |

use super::Linear;
use super::reduce::Reduced;
use shardc_ir::ReductionKind;

use crate::terms::{CORE, Digit, Digits, Kind, Op, Terms, VarRole, View, push};

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A number that is the entire position in slots of these sizes, from major to minor.
fn number(digits: &[Digit]) -> Digits {
    let mut number = Digits::new();
    digits.iter().for_each(|&digit| push(&mut number, digit));
    number
}

/// A range of positions in a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) size: u64,
    pub(crate) start: u64,
    pub(crate) limit: u64,
    pub(crate) stride: u64,
}

/// The deepest nesting of slices of pieces.
const DEEPEST: u32 = 256;

impl Terms {
    /// Argument `arg` of a node whose core slot becomes `slot`, with positions in units of `unit` positions of `slot`.
    fn piece(&self, view: &View, arg: usize, slot: u32, unit: u64) -> Option<View> {
        let vars = &self.node(view.term).vars;
        let bound: Vec<Option<Digits>> = vars
            .iter()
            .map(|var| match var.role {
                VarRole::Core { stride, .. } => {
                    Some(number(&[Digit { slot, stride: stride * unit, size: var.size }]))
                }
                VarRole::Batch | VarRole::Reduced => None,
            })
            .collect();
        self.argument(view, arg, &bound)
    }

    /// The slice of a concatenation or update that is in one of its arguments.
    fn slice_of_piece(&mut self, view: &View, slot: u32, range: Range) -> Option<View> {
        let [added] = view.index.last()?.as_slice() else { return None };
        let unit = added.stride;
        if added.slot != slot || added.end() != range.size || range.stride != 1 {
            return None;
        }
        // The argument, the position of its first element, its size.
        let pieces: Vec<(usize, u64, u64)> = match &self.node(view.term).op {
            Op::Concat(sizes) => {
                let mut at = 0;
                let ends = sizes.iter().enumerate().map(|(arg, &size)| {
                    at += size as u64;
                    (arg, (at - size as u64) * unit, size as u64 * unit)
                });
                ends.collect()
            }
            &Op::Update([start, size, _]) if unit == 1 => {
                let (start, end) = (start as u64, (start + size) as u64);
                if range.limit <= start || range.start >= end {
                    vec![(0, 0, range.size)]
                } else {
                    vec![(1, start, end - start)]
                }
            }
            _ => return None,
        };
        let within =
            |&&(_, first, size): &&(usize, u64, u64)| range.start >= first && range.limit <= first + size;
        let &(arg, first, size) = pieces.iter().find(within)?;
        // The piece gets a slot of its own, of which the minor digits are those of the old slot.
        let own = self.fresh();
        let piece = self.piece(view, arg, own, unit)?;
        let piece = piece.renamed(|old| if old == slot { own } else { old });
        let inner = Range { size, start: range.start - first, limit: range.limit - first, stride: 1 };
        // Each iteration of a loop may update the same value.
        if self.nesting >= DEEPEST {
            return None;
        }
        self.nesting += 1;
        let sliced = self.slice(&piece, own, inner);
        self.nesting -= 1;
        let sliced = sliced?;
        Some(sliced.renamed(|old| if old == own { slot } else { old }))
    }

    /// A slice along one slot.
    pub(crate) fn slice(&mut self, view: &View, slot: u32, range: Range) -> Option<View> {
        let Range { size, start, limit, stride } = range;
        if (start == 0 && limit == size && stride == 1) || !view.uses(slot) {
            return Some(view.clone());
        }
        if let Some(linear) = self.as_linear(view)
            && let Some(view) = self.slice_linear(&linear, slot, range, self.kind(view))
        {
            return Some(view);
        }
        if let Some(view) = self.slice_of_piece(view, slot, range) {
            return Some(view);
        }
        let unit = if stride == 1 { gcd(gcd(start, limit), size) } else { 1 };
        let count = (limit - start).div_ceil(stride) / unit;
        let split = number(&[Digit::all(CORE, size / unit), Digit::all(slot, unit)]);
        let moved = view.moved(|old| (old == slot).then_some(&split[..]))?;
        let place = [size / unit, start / unit, limit / unit, stride].map(|word| word as i64);
        let added = number(&[Digit { slot, stride: unit, size: count }]);
        let kind = self.kind(view);
        self.build(Op::Slice(vec![place]), kind, &[moved], &[], &[added])
    }

    fn slice_linear(&mut self, linear: &Linear, slot: u32, range: Range, kind: Kind) -> Option<View> {
        let mut sliced = Linear::constant(linear.base);
        for &(coef, digit) in &linear.parts {
            if digit.slot != slot {
                sliced.parts.push((coef, digit));
                continue;
            }
            if digit != Digit::all(slot, range.size) {
                return None;
            }
            let count = (range.limit - range.start).div_ceil(range.stride);
            sliced.base = sliced.base.checked_add(coef.checked_mul(range.start as i64)?)?;
            if count > 1 {
                sliced.parts.push((coef.checked_mul(range.stride as i64)?, Digit::all(slot, count)));
            }
        }
        self.linear(&sliced, kind)
    }

    /// A slice of `count` positions along a slot at an affine start, which is in range; `None` if it does not select digits.
    pub(crate) fn slice_at(
        &mut self,
        view: &View,
        slot: u32,
        size: u64,
        count: u64,
        start: &Linear,
    ) -> Option<View> {
        let start = start.merged()?;
        let mut rest = u64::try_from(start.base).ok()?;
        let mut parts = start.parts;
        parts.sort_by_key(|&(coef, _)| coef);
        // Digits of the position, from minor to major. A gap is a digit whose value is constant.
        let mut digits = vec![Digit::all(slot, count)];
        let mut gaps: Vec<(u32, u64, u64)> = Vec::new();
        let mut stride = count;
        let last = (i64::try_from(size).ok()?, Digit::all(slot, 1));
        for (coef, digit) in parts.into_iter().chain([last]) {
            let coef = u64::try_from(coef).ok()?;
            if !coef.is_multiple_of(stride) {
                return None;
            }
            if coef > stride {
                let gap = coef / stride;
                let value = rest / stride % gap;
                rest -= value * stride;
                let own = self.fresh();
                digits.push(Digit::all(own, gap));
                gaps.push((own, gap, value));
                stride = coef;
            }
            digits.push(digit);
            stride *= digit.size;
        }
        if rest != 0 || stride != size {
            return None;
        }
        digits.reverse();
        let position = number(&digits);
        let mut moved = view.moved(|old| (old == slot).then_some(&position[..]))?;
        for (own, size, value) in gaps {
            moved = self.slice(&moved, own, Range { size, start: value, limit: value + 1, stride: 1 })?;
        }
        Some(moved)
    }
}

impl Terms {
    pub(crate) fn concatenate(&mut self, kind: Kind, dim: u32, args: &[View], sizes: &[u64]) -> Option<View> {
        if let [only] = args {
            return Some(only.clone());
        }
        let unit = sizes.iter().copied().fold(0, gcd);
        let mut moved = Vec::new();
        for (at, (view, size)) in args.iter().zip(sizes).enumerate() {
            let split = number(&[Digit::all(CORE + at as u32, size / unit), Digit::all(dim, unit)]);
            moved.push(view.moved(|old| (old == dim).then_some(&split[..]))?);
        }
        let total = sizes.iter().sum::<u64>() / unit;
        let added = number(&[Digit { slot: dim, stride: unit, size: total }]);
        let units = sizes.iter().map(|&size| (size / unit) as i64).collect();
        self.build(Op::Concat(units), kind, &moved, &[], &[added])
    }

    /// Operand 0 with operand 1 written at a static start.
    pub(crate) fn update(
        &mut self,
        kind: Kind,
        slot: u32,
        args: [&View; 2],
        [start, count, size]: [u64; 3],
    ) -> Option<View> {
        let mut moved = Vec::new();
        for (at, (view, length)) in args.into_iter().zip([size, count]).enumerate() {
            let own = number(&[Digit::all(CORE + at as u32, length)]);
            moved.push(view.moved(|old| (old == slot).then_some(&own[..]))?);
        }
        let added = number(&[Digit::all(slot, size)]);
        let place = [start as i64, count as i64, size as i64];
        self.build(Op::Update(place), kind, &moved, &[], &[added])
    }
}

/// A part of a concatenation: its first position, its length, and its elements along a slot; `None` if all are the fill value.
type Part = (u64, u64, Option<(View, u32)>);

impl Terms {
    /// The slot, the size and the parts of a concatenation along a slot.
    fn parts(&mut self, view: &View, fill: &View) -> Option<(u32, u64, Vec<Part>)> {
        let Op::Concat(sizes) = self.node(view.term).op.clone() else { return None };
        let &[added] = view.index.last()?.as_slice() else { return None };
        let (slot, unit) = (added.slot, added.stride);
        let (mut at, mut parts) = (0, Vec::new());
        for (arg, size) in sizes.into_iter().enumerate() {
            let (own, length) = (self.fresh(), size as u64 * unit);
            let piece = self.piece(view, arg, own, unit)?;
            let piece = piece.renamed(|old| if old == slot { own } else { old });
            let is_filled = piece == *fill;
            parts.push((at, length, (!is_filled).then_some((piece, own))));
            at += length;
        }
        (added.end() == at).then_some((slot, at, parts))
    }

    /// The tensor that a view pads with a scalar along a slot, with the padding before it, its size, and the padding after it.
    pub(crate) fn unpadded(&mut self, view: &View, fill: &View, slot: u32) -> Option<(View, [u64; 3])> {
        let (own, size, parts) = self.parts(view, fill)?;
        let mut filled = parts.into_iter().filter_map(|(at, length, part)| Some((at, length, part?)));
        let (at, length, (piece, from)) = filled.next()?;
        if own != slot || filled.next().is_some() {
            return None;
        }
        let piece = piece.renamed(|old| if old == from { slot } else { old });
        Some((piece, [at, length, size - at - length]))
    }

    /// The concatenation that a sum of two concatenations is, if one of them is zero at each position.
    pub(super) fn interleaved(&mut self, kind: Kind, a: &View, b: &View) -> Option<View> {
        let zero = self.integer(kind, 0);
        let (slot, size, first) = self.parts(a, &zero)?;
        let (other, length, second) = self.parts(b, &zero)?;
        let has_zero = |parts: &[Part]| parts.iter().any(|(_, _, part)| part.is_none());
        if other != slot || length != size || !has_zero(&first) || !has_zero(&second) {
            return None;
        }
        let mut bounds: Vec<u64> =
            first.iter().chain(&second).flat_map(|part| [part.0, part.0 + part.1]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let own = self.fresh();
        let (mut views, mut lengths) = (Vec::new(), Vec::new());
        for pair in bounds.windows(2) {
            let &[low, high] = pair else { continue };
            let covers = |part: &&Part| part.0 <= low && high <= part.0 + part.1;
            let pair = [first.iter().find(covers)?, second.iter().find(covers)?];
            let view = match pair {
                [(_, _, Some(_)), (_, _, Some(_))] => return None,
                [(start, size, Some((piece, from))), _] | [_, (start, size, Some((piece, from)))] => {
                    let range = Range { size: *size, start: low - start, limit: high - start, stride: 1 };
                    self.slice(piece, *from, range)?.renamed(|old| if old == *from { own } else { old })
                }
                _ => self.integer(kind, 0),
            };
            views.push(view);
            lengths.push(high - low);
        }
        let joined = self.concatenate(kind, own, &views, &lengths)?;
        let position = number(&[Digit::all(slot, size)]);
        joined.moved(|old| (old == own).then_some(&position[..]))
    }

    /// Reduces the arguments of a slice or concatenation instead; `None` if the view is not one, or is reduced along its core slot.
    pub(super) fn reduce_pieces(
        &mut self,
        join: ReductionKind,
        kind: Kind,
        view: &View,
        slots: &[Reduced],
    ) -> Option<View> {
        let op = self.node(view.term).op.clone();
        let added = match op {
            // A slice of one element adds no dimension.
            Op::Slice(_) if view.index.len() == self.batch_dims(view) => Digits::new(),
            Op::Slice(_) | Op::Concat(_) => view.index.last()?.clone(),
            _ => return None,
        };
        if added.iter().any(|digit| slots.iter().any(|&(slot, _)| slot == digit.slot)) {
            return None;
        }
        let own = self.fresh();
        let mut pieces = Vec::new();
        for arg in 0..self.node(view.term).args.len() {
            let piece = self.piece(view, arg, own, 1)?;
            pieces.push(self.reduce(join, kind, &piece, slots)?);
        }
        let joined = match op {
            Op::Concat(sizes) => {
                let sizes: Vec<u64> = sizes.into_iter().map(|size| size as u64).collect();
                self.concatenate(kind, own, &pieces, &sizes)?
            }
            Op::Slice(places) => {
                let &[[size, start, limit, stride]] = places.as_slice() else { return None };
                let [size, start, limit, stride] = [size, start, limit, stride].map(|word| word as u64);
                self.slice(pieces.first()?, own, Range { size, start, limit, stride })?
            }
            _ => return None,
        };
        joined.moved(|slot| (slot == own).then_some(&added[..]))
    }

    /// The number of dimensions of a term that are batch variables.
    fn batch_dims(&self, view: &View) -> usize {
        self.node(view.term).vars.iter().filter(|var| var.role == VarRole::Batch).count()
    }
}
