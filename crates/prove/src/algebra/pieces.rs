//! Slices, concatenations and updates along one slot.
//!
//! | rewrite | condition |
//! |---|---|
//! | a slice of a concatenation is a concatenation of slices of its arguments | the stride is 1, or one argument has all elements |
//! | a slice of a slice is one slice | |
//! | a slice of an update is a slice of the operand or of the update | the range is in one of them |
//! | a slice of an affine function is affine | |
//! | a slice at an affine start selects digits | the start is a multiple of the size |
//! | a concatenation of concatenations is one concatenation | along the same slot |
//! | adjacent slices in a concatenation are one slice, and adjacent equal scalars are one argument | |
//!
//! Positions of a slice or concatenation are in units, of which all starts and sizes are multiples. The position in a unit is the same for
//! all arguments, and may be split between devices.

use super::Linear;
use crate::terms::{CORE, Digit, Digits, Kind, MINOR, Op, Terms, View, push};

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A number with these digits, from major to minor.
pub(super) fn number(digits: &[Digit]) -> Digits {
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

impl Range {
    /// The positions from `start` to `limit` of a slot.
    pub(crate) fn new(size: u64, start: u64, limit: u64) -> Range {
        Range { size, start, limit, stride: 1 }
    }

    /// The number of positions.
    pub(crate) fn count(self) -> u64 {
        (self.limit - self.start).div_ceil(self.stride)
    }
}

/// The deepest nesting of slices: each iteration of a loop may update the same value.
const DEEPEST: u32 = 256;

impl Terms {
    /// A slice along one slot.
    pub(crate) fn slice(&mut self, view: &View, slot: u32, range: Range) -> Option<View> {
        if self.nesting >= DEEPEST {
            return None;
        }
        self.nesting += 1;
        let sliced = self.slice_inside(view, slot, range);
        self.nesting -= 1;
        sliced
    }

    fn slice_inside(&mut self, view: &View, slot: u32, range: Range) -> Option<View> {
        let limit = range.start + (range.count() - 1) * range.stride + 1;
        let stride = if range.count() == 1 { 1 } else { range.stride };
        let range = Range { limit, stride, ..range };
        let Range { size, start, .. } = range;
        if (start == 0 && limit == size && stride == 1) || !view.uses(slot) {
            return Some(view.clone());
        }
        if let Some(linear) = self.as_linear(view)
            && let Some(view) = self.slice_linear(&linear, slot, range, self.kind(view))
        {
            return Some(view);
        }
        match self.node(view.term).op {
            Op::Concat(_) => {
                if let Some(view) = self.slice_of_concat(view, slot, range) {
                    return Some(view);
                }
                if self.is_padded(view)
                    && let Some(view) = self.part_of_concat(view, slot, range)
                {
                    return Some(view);
                }
            }
            Op::Slice(_) => {
                if let Some(view) = self.slice_of_slice(view, slot, range) {
                    return Some(view);
                }
            }
            Op::Update(_) => {
                if let Some(view) = self.slice_of_update(view, slot, range) {
                    return Some(view);
                }
            }
            _ => {}
        }
        let unit = if stride == 1 { gcd(gcd(start, limit), size) } else { 1 };
        self.slice_in_units(view, slot, range, unit).or_else(|| self.slice_in_units(view, slot, range, 1))
    }

    /// A slice in these units. `None` if the digits of the view have no boundaries at the units.
    fn slice_in_units(&mut self, view: &View, slot: u32, range: Range, unit: u64) -> Option<View> {
        let Range { size, start, limit, stride } = range;
        let split = number(&[Digit::all(CORE, size / unit), Digit::all(MINOR, unit)]);
        let moved = view.moved(|old| (old == slot).then_some(&split[..]))?;
        let place = [size / unit, start / unit, limit / unit, stride].map(|word| word as i64);
        let added = number(&[Digit { slot, stride: unit, size: range.count() / unit }]);
        let kind = self.kind(view);
        self.build_units(Op::Slice(place), kind, &[moved], &[], &[added], slot)
    }

    fn slice_of_concat(&mut self, view: &View, slot: u32, range: Range) -> Option<View> {
        let own = self.fresh();
        let (mut at, mut views, mut lengths) = (0, Vec::new(), Vec::new());
        for (part, length) in self.parts(view, slot, range.size, own)? {
            let (low, high) = (range.start.max(at), range.limit.min(at + length));
            if low < high {
                if range.stride != 1 && (low, high) != (range.start, range.limit) {
                    return None;
                }
                let inner = Range { size: length, start: low - at, limit: high - at, stride: range.stride };
                views.push(self.slice(&part, own, inner)?);
                lengths.push(inner.count());
            }
            at += length;
        }
        let kind = self.kind(view);
        let joined = self.concatenate(kind, own, &views, &lengths)?;
        Some(joined.renamed(|old| if old == own { slot } else { old }))
    }

    fn slice_of_slice(&mut self, view: &View, slot: u32, range: Range) -> Option<View> {
        let own = self.fresh();
        let (source, outer) = self.sliced(view, slot, range.size, own)?;
        let start = outer.start + range.start * outer.stride;
        let stride = outer.stride * range.stride;
        let limit = start + (range.count() - 1) * stride + 1;
        let view = self.slice(&source, own, Range { size: outer.size, start, limit, stride })?;
        Some(view.renamed(|old| if old == own { slot } else { old }))
    }

    /// The slice of an update that is in one of its arguments.
    fn slice_of_update(&mut self, view: &View, slot: u32, range: Range) -> Option<View> {
        let Op::Update([first, count, size]) = self.node(view.term).op else { return None };
        let ([first, count, size], whole) =
            ([first, count, size].map(|word| word as u64), view.index.last()?);
        if whole.as_slice() != [Digit::all(slot, size)] || range.stride != 1 {
            return None;
        }
        let (arg, at, length) = if range.limit <= first || range.start >= first + count {
            (0, 0, size)
        } else {
            (1, first, count)
        };
        if range.start < at || range.limit > at + length {
            return None;
        }
        if view.index.iter().rev().skip(1).flatten().any(|digit| digit.slot == slot) {
            return None;
        }
        let own = self.fresh();
        let piece = self.piece(view, arg, own, 1, &[])?;
        let sliced = self.slice(&piece, own, Range::new(length, range.start - at, range.limit - at))?;
        Some(sliced.renamed(|old| if old == own { slot } else { old }))
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
            let count = range.count();
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
        let mut digits = vec![Ok(Digit::all(slot, count))];
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
                digits.push(Err((gap, value)));
                stride = coef;
            }
            digits.push(Ok(digit));
            stride *= digit.size;
        }
        if rest != 0 || stride != size {
            return None;
        }
        // The rest of the position, from major to minor.
        let mut left = (self.fresh(), size);
        let mut moved = view.renamed(|old| if old == slot { left.0 } else { old });
        for digit in digits.into_iter().rev() {
            match digit {
                Ok(digit) => {
                    let inner = (self.fresh(), left.1 / digit.size);
                    let split = number(&[digit, Digit::all(inner.0, inner.1)]);
                    moved = moved.moved(|old| (old == left.0).then_some(&split[..]))?;
                    left = inner;
                }
                Err((gap, value)) => {
                    let length = left.1 / gap;
                    moved =
                        self.slice(&moved, left.0, Range::new(left.1, value * length, (value + 1) * length))?;
                    left.1 = length;
                }
            }
        }
        Some(moved)
    }
}

impl Terms {
    pub(crate) fn concatenate(&mut self, kind: Kind, dim: u32, args: &[View], sizes: &[u64]) -> Option<View> {
        // Padding along other dimensions is outside, except for that of padding.
        if !args.iter().any(|view| self.is_literal(view) || self.is_arbitrary(view))
            && let Some(view) =
                self.over_other_padding(args, dim, |terms, args| terms.concatenate(kind, dim, args, sizes))
        {
            return Some(view);
        }
        self.nested(|terms| terms.concatenate_parts(kind, dim, args, sizes))
    }

    /// A concatenation of arguments whose padding along other dimensions stays inside.
    pub(super) fn concatenate_parts(
        &mut self,
        kind: Kind,
        dim: u32,
        args: &[View],
        sizes: &[u64],
    ) -> Option<View> {
        let own = self.fresh();
        let mut list: Vec<(View, u64)> = Vec::new();
        for (view, &size) in args.iter().zip(sizes) {
            let renamed = view.renamed(|old| if old == dim { own } else { old });
            match self.parts(&renamed, own, size, own) {
                Some(parts) => parts.into_iter().for_each(|part| self.append(&mut list, own, part)),
                None => self.append(&mut list, own, (renamed, size)),
            }
        }
        if let [(only, _)] = list.as_slice() {
            return Some(only.renamed(|old| if old == own { dim } else { old }));
        }
        let unit = list.iter().fold(0, |unit, (_, size)| gcd(unit, *size));
        self.concatenation(kind, dim, own, &list, unit)
            .or_else(|| self.concatenation(kind, dim, own, &list, 1))
    }

    /// The concatenation of parts along a slot `own` in these units. `None` if the digits of a part have no boundaries at the units.
    fn concatenation(
        &mut self,
        kind: Kind,
        dim: u32,
        own: u32,
        list: &[(View, u64)],
        unit: u64,
    ) -> Option<View> {
        let mut moved = Vec::new();
        for (at, (view, size)) in list.iter().enumerate() {
            let split = number(&[Digit::all(CORE + at as u32, size / unit), Digit::all(MINOR, unit)]);
            moved.push(view.moved(|old| (old == own).then_some(&split[..]))?);
        }
        let total = list.iter().map(|(_, size)| size / unit).sum::<u64>();
        let added = number(&[Digit { slot: dim, stride: unit, size: total }]);
        let units = list.iter().map(|(_, size)| (size / unit) as i64).collect();
        self.build_units(Op::Concat(units), kind, &moved, &[], &[added], dim)
    }

    /// Appends a part of a concatenation along a slot; it may continue the last part.
    fn append(&mut self, list: &mut Vec<(View, u64)>, slot: u32, (view, size): (View, u64)) {
        if let Some((last, length)) = list.last_mut() {
            if *last == view && !view.uses(slot) {
                *length += size;
                return;
            }
            if let Some(joined) = self.continued(slot, (last, *length), (&view, size)) {
                (*last, *length) = (joined, *length + size);
                return;
            }
        }
        list.push((view, size));
    }

    /// Two adjacent slices of one view as one slice.
    fn continued(&mut self, slot: u32, first: (&View, u64), second: (&View, u64)) -> Option<View> {
        let is_slice = |view: &View| matches!(self.node(view.term).op, Op::Slice(_));
        if !is_slice(first.0) || !is_slice(second.0) {
            return None;
        }
        let own = self.fresh();
        let (source, one) = self.sliced(first.0, slot, first.1, own)?;
        let (other, two) = self.sliced(second.0, slot, second.1, own)?;
        if source != other
            || one.limit != two.start
            || (one.stride, two.stride) != (1, 1)
            || one.size != two.size
        {
            return None;
        }
        let joined = self.slice(&source, own, Range::new(one.size, one.start, two.limit))?;
        Some(joined.renamed(|old| if old == own { slot } else { old }))
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
