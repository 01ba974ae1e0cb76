//! Uneven blocks: a dimension whose size is not a multiple of its shards has arbitrary elements beyond its size.
//!
//! A padded value is a concatenation of the value and [`Terms::arbitrary`]. An arbitrary element is a set of values: it may have another
//! value at each position and at each use. A term that contains it therefore equals no term of the original, and rewrites remove it only
//! if the result does not depend on it.
//!
//! | rewrite | condition |
//! |---|---|
//! | an element-wise operation on padded values is a concatenation of the operation on their parts | |
//! | an operation on an arbitrary value is arbitrary | it is not a product with an indicator |
//! | a reduction over all positions of a padded value reduces its parts | |
//! | a part of a mask is computed from parts of its arguments | |

use shardc_ir::{CompareDirection, ReductionKind, UnaryOp};

use super::Range;
use super::pieces::number;
use super::reduce::Reduced;
use crate::terms::{
    ARBITRARY, DEVICE, Digit, Digits, FRESH, Kind, MINOR, Map, Op, TermId, Terms, View, count,
};

/// The deepest nesting of operations whose parts are computed from parts of arguments.
const DEEPEST: u32 = 12;

/// The position in each slot as a number in which digits are replaced by others; the new digits are paired with the old ones. `None` if the
/// old digits overlap, or if a digit of a view crosses them.
pub(crate) fn substitution(pairs: &[(Digit, Digit)], views: &[View]) -> Option<Vec<(u32, Digits)>> {
    let mut sorted = pairs.to_vec();
    sorted.sort_by_key(|(old, _)| (old.slot, old.stride));
    let mut numbers = Vec::new();
    for group in sorted.chunk_by(|a, b| a.0.slot == b.0.slot) {
        let slot = group.first()?.0.slot;
        let (mut low, mut list) = (1, Vec::new());
        for &(old, new) in group {
            if !old.stride.is_multiple_of(low) {
                return None;
            }
            list.push(Digit { slot, stride: low, size: old.stride / low });
            list.push(new);
            low = old.end();
        }
        let own = views.iter().flat_map(View::digits).filter(|digit| digit.slot == slot);
        let most = own.map(Digit::end).max().unwrap_or(1).max(low);
        if !most.is_multiple_of(low) {
            return None;
        }
        list.push(Digit { slot, stride: low, size: most / low });
        list.reverse();
        numbers.push((slot, number(&list)));
    }
    Some(numbers)
}

/// A view after a substitution.
pub(crate) fn substituted(view: &View, numbers: &[(u32, Digits)]) -> Option<View> {
    view.moved(|slot| numbers.iter().find(|(old, _)| *old == slot).map(|(_, number)| &number[..]))
}

/// The digits of a number, paired with digits of a slot that is the number.
pub(super) fn as_slot(digits: &[Digit], own: u32) -> Vec<(Digit, Digit)> {
    let mut stride = count(digits);
    let pair = |&old: &Digit| {
        stride /= old.size;
        (old, Digit { slot: own, stride, size: old.size })
    };
    digits.iter().map(pair).collect()
}

/// Views as functions of a slot, and the bounds of the parts of a concatenation among them.
struct Opened {
    slot: u32,
    views: Vec<View>,
    bounds: Vec<u64>,
}

impl Opened {
    fn size(&self) -> u64 {
        self.bounds.last().copied().unwrap_or(1)
    }
}

impl Terms {
    /// An arbitrary value.
    pub(crate) fn arbitrary(&mut self, kind: Kind) -> View {
        self.has_padding = true;
        self.leaf(Op::Unknown(ARBITRARY), kind, [])
    }

    pub(crate) fn is_arbitrary(&self, view: &View) -> bool {
        self.has_padding && self.node(view.term).op == Op::Unknown(ARBITRARY)
    }

    /// Whether a view is a concatenation of which a part is arbitrary, or that only the partitioned program has, along devices, and of which
    /// a part is a literal: blocks are padded with zeros when their sizes change.
    pub(crate) fn is_padded(&self, view: &View) -> bool {
        let node = self.node(view.term);
        let is_fill = |term: TermId| {
            let is_block =
                view.index.last().is_some_and(|added| added.iter().any(|digit| digit.slot >= DEVICE));
            let is_new = self.originals > 0 && view.term.0 as usize >= self.originals && is_block;
            let op = &self.node(term).op;
            (is_new && matches!(op, Op::Literal(_))) || *op == Op::Unknown(ARBITRARY)
        };
        (self.has_padding || self.originals > 0)
            && matches!(node.op, Op::Concat(_))
            && node.args.iter().any(|arg| is_fill(arg.term))
    }

    /// Whether a view is of one of the first `known` terms, with or without padding. Literals are padding too, if `with_literals` holds.
    pub(crate) fn is_known(&self, view: &View, known: usize, with_literals: bool) -> bool {
        let mut stack = vec![view.term];
        while let Some(term) = stack.pop() {
            if (term.0 as usize) < known {
                continue;
            }
            let node = self.node(term);
            let is_fill = |term: TermId| match self.node(term).op {
                Op::Unknown(ARBITRARY) => true,
                Op::Literal(_) => with_literals,
                _ => false,
            };
            if matches!(node.op, Op::Concat(_)) && node.args.iter().any(|arg| is_fill(arg.term)) {
                stack.extend(node.args.iter().map(|arg| arg.term).filter(|&arg| !is_fill(arg)));
            } else {
                return false;
            }
        }
        true
    }

    /// A value of `size` positions along a slot with arbitrary elements behind it.
    pub(crate) fn padded(
        &mut self,
        kind: Kind,
        view: &View,
        slot: u32,
        [size, total]: [u64; 2],
    ) -> Option<View> {
        if size == total {
            return Some(view.clone());
        }
        if size == 0 || total < size {
            return None;
        }
        let fill = self.arbitrary(kind);
        self.concatenate(kind, slot, &[view.clone(), fill], &[size, total - size])
    }

    /// Views as functions of the position along the dimension that the concatenation `along` adds.
    fn opened_along(&mut self, along: &View, views: &[View]) -> Option<Opened> {
        let slot = self.fresh();
        let digits = along.index.last()?;
        let numbers = substitution(&as_slot(digits, slot), views)?;
        let size = count(digits);
        let moved: Option<Vec<View>> = views.iter().map(|view| substituted(view, &numbers)).collect();
        let first = substituted(along, &numbers)?;
        let (mut at, mut bounds) = (0, vec![0]);
        for (_, length) in self.parts(&first, slot, size, slot)? {
            at += length;
            bounds.push(at);
        }
        (at == size).then_some(Opened { slot, views: moved?, bounds })
    }

    /// The part of each view between two positions along a slot.
    fn parts_between(&mut self, opened: &Opened, low: u64, high: u64) -> Option<Vec<View>> {
        let range = Range::new(opened.size(), low, high);
        opened.views.iter().map(|view| self.part(view, opened.slot, range)).collect()
    }

    /// An element-wise operation on arguments of which one is padded, as a concatenation. `None` if none is.
    pub(super) fn over_padding(
        &mut self,
        args: &[View],
        apply: impl FnMut(&mut Self, &[View]) -> Option<View>,
    ) -> Option<View> {
        self.over_other_padding(args, MINOR, apply)
    }

    /// An operation that computes along a slot, on arguments of which one is padded along another slot.
    pub(super) fn over_other_padding(
        &mut self,
        args: &[View],
        used: u32,
        mut apply: impl FnMut(&mut Self, &[View]) -> Option<View>,
    ) -> Option<View> {
        if !self.has_padding && self.originals == 0 {
            return None;
        }
        let is_batch = |digit: &Digit| digit.slot != used && !(MINOR..FRESH).contains(&digit.slot);
        let is_over = |view: &&View| view.index.last().is_some_and(|added| added.iter().all(is_batch));
        let along = args.iter().find(|view| self.is_padded(view) && is_over(view))?;
        let opened = self.opened_along(along, args)?;
        let (mut views, mut lengths) = (Vec::new(), Vec::new());
        for pair in opened.bounds.windows(2) {
            let &[low, high] = pair else { continue };
            let parts = self.parts_between(&opened, low, high)?;
            let result = apply(self, &parts)?;
            // Padding that is not zero any more is forgotten, but not data that another argument has at these positions.
            let is_scalar = |view: &View| self.is_literal(view) || self.is_arbitrary(view);
            let mut pairs = opened.views.iter().zip(&parts);
            let is_padding = pairs.all(|(view, part)| !view.uses(opened.slot) || is_scalar(part));
            views.push(match is_padding && !is_scalar(&result) {
                true => {
                    let kind = self.kind(&result);
                    self.arbitrary(kind)
                }
                false => result,
            });
            lengths.push(high - low);
        }
        let kind = self.kind(views.first()?);
        let joined = self.concatenate_parts(kind, opened.slot, &views, &lengths)?;
        let digits = along.index.last()?;
        joined.moved(|slot| (slot == opened.slot).then_some(&digits[..]))
    }

    /// An operation that computes along core slots. It is arbitrary if an argument is.
    pub(crate) fn core(&mut self, text: &str, kind: Kind, args: &[View], added: &[Digits]) -> Option<View> {
        if let Some(view) = self.over_padding(args, |terms, args| terms.core(text, kind, args, added)) {
            return Some(view);
        }
        if let Some(view) = self.absorbed(kind, args, false) {
            return Some(view);
        }
        self.build(Op::Core(text.into()), kind, args, &[], added)
    }

    /// A product or another operation whose result is arbitrary because an argument is. A product with an indicator may still be zero.
    pub(super) fn absorbed(&mut self, kind: Kind, args: &[View], is_product: bool) -> Option<View> {
        if !self.has_padding || !args.iter().any(|view| self.is_arbitrary(view)) {
            return None;
        }
        if is_product && args.iter().any(|view| self.is_indicator(view)) {
            return None;
        }
        Some(self.arbitrary(kind))
    }

    /// Whether an indicator among factors depends on the positions of a padded factor.
    pub(super) fn masks_padding(&self, args: &[View]) -> bool {
        let padded = args.iter().filter(|view| self.is_padded(view));
        let added: Vec<Digit> = padded.filter_map(|view| view.index.last()).flatten().copied().collect();
        let overlaps = |digit: Digit| {
            let same = added.iter().filter(|own| own.slot == digit.slot);
            same.into_iter().any(|own| own.stride < digit.end() && digit.stride < own.end())
        };
        args.iter().any(|view| self.is_indicator(view) && view.digits().any(overlaps))
    }

    /// Whether a product may still lose an arbitrary factor, because an indicator is not decided.
    pub(super) fn is_masked(&self, args: &[View]) -> bool {
        args.iter().any(|view| self.is_arbitrary(view))
            && args.iter().any(|view| self.is_indicator(view))
            && !args.iter().any(|view| self.as_integer(view) == Some(0))
    }

    /// The part of a view in a range of a slot. Slices of masks and of other element-wise operations are computed from slices of arguments.
    pub(crate) fn part(&mut self, view: &View, slot: u32, range: Range) -> Option<View> {
        if !view.uses(slot) {
            return Some(view.clone());
        }
        let node = self.node(view.term);
        let (op, kind) = (node.op.clone(), node.kind);
        if matches!(op, Op::Concat(_))
            && let Some(view) = self.part_of_concat(view, slot, range)
        {
            return Some(view);
        }
        let is_mask = kind != Kind::Real || self.is_indicator(view) || op == Op::Map(Map::Select);
        let args = if matches!(op, Op::Map(_) | Op::Join(_)) { self.arguments(view)? } else { Vec::new() };
        let is_masked = args.iter().any(|arg| self.is_indicator(arg) || self.is_padded(arg));
        if !args.is_empty() && (is_mask || is_masked) && self.nesting < DEEPEST {
            self.nesting += 1;
            let parts: Option<Vec<View>> = args.iter().map(|arg| self.part(arg, slot, range)).collect();
            let applied = parts.and_then(|parts| self.applied(&op, kind, &parts));
            self.nesting -= 1;
            if applied.is_some() {
                return applied;
            }
        }
        self.slice(view, slot, range)
    }

    /// The part of a concatenation along another slot.
    pub(super) fn part_of_concat(&mut self, view: &View, slot: u32, range: Range) -> Option<View> {
        let digits = view.index.last()?.clone();
        if digits.iter().any(|digit| digit.slot == slot) {
            return None;
        }
        let opened = self.opened_along(view, std::slice::from_ref(view))?;
        let (mut views, mut lengths) = (Vec::new(), Vec::new());
        for pair in opened.bounds.windows(2) {
            let &[low, high] = pair else { continue };
            let whole = self.parts_between(&opened, low, high)?;
            views.push(self.part(whole.first()?, slot, range)?);
            lengths.push(high - low);
        }
        let kind = self.kind(view);
        let joined = self.concatenate_parts(kind, opened.slot, &views, &lengths)?;
        joined.moved(|own| (own == opened.slot).then_some(&digits[..]))
    }

    /// An element-wise operation of a node on other arguments.
    fn applied(&mut self, op: &Op, kind: Kind, args: &[View]) -> Option<View> {
        match (op, args) {
            (Op::Join(join), args) => self.join(*join, kind, args),
            (Op::Map(Map::Indicator), [test]) => self.indicator(kind, test),
            (Op::Map(Map::IsZero), [value]) => {
                let own = self.kind(value);
                let zero = self.integer(own, 0);
                self.compare(CompareDirection::EQ, value, &zero, true)
            }
            (Op::Map(Map::Compare(direction)), [a, b]) => self.compare(*direction, a, b, true),
            (Op::Map(Map::Unary(UnaryOp::Not)), [test]) => self.unary(UnaryOp::Not, kind, test),
            (Op::Map(Map::Select), [test, a, b]) => self.select(kind, test, a, b),
            (Op::Map(Map::Clamp), [x, low, high]) => self.clamp(kind, low, x, high),
            (Op::Map(Map::Convert), [x]) => self.convert(kind, x),
            (Op::Map(Map::Binary(op)), [a, b]) => self.binary(*op, kind, a, b),
            (Op::Map(Map::Unary(op)), [x]) => self.unary(*op, kind, x),
            (Op::Map(map), args) => self.map(map.clone(), kind, args),
            _ => None,
        }
    }

    /// A reduction over all positions of a padded value, or of a product with one, as a reduction of its parts. `None` if it is not one, or if
    /// it is arbitrary.
    pub(super) fn reduce_padded(
        &mut self,
        join: ReductionKind,
        kind: Kind,
        view: &View,
        slots: &[Reduced],
    ) -> Option<View> {
        let is_product = self.node(view.term).op == Op::Join(ReductionKind::Mul);
        let factors = if is_product { self.arguments(view)? } else { vec![view.clone()] };
        let has_all = |view: &View| view.index.last().is_some_and(|digits| is_covered(digits, slots));
        let along = factors.iter().find(|view| self.is_padded(view) && has_all(view))?;
        let opened = self.opened_along(along, &factors)?;
        let digits = along.index.last()?;
        let mut results = Vec::new();
        for pair in opened.bounds.windows(2) {
            let &[low, high] = pair else { continue };
            let parts = self.parts_between(&opened, low, high)?;
            let product = if is_product {
                self.join(ReductionKind::Mul, kind, &parts)?
            } else {
                parts.first()?.clone()
            };
            let own = replaced(slots, digits, (opened.slot, high - low));
            results.push(self.reduce(join, kind, &product, &own)?);
        }
        self.join(join, kind, &results)
    }
}

/// Slots without those of these digits, and another one.
pub(super) fn replaced(slots: &[Reduced], digits: &[Digit], own: Reduced) -> Vec<Reduced> {
    let is_other = |slot: &&Reduced| digits.iter().all(|digit| digit.slot != slot.0);
    slots.iter().filter(is_other).copied().chain([own]).collect()
}

/// Whether a number has all positions of reduced slots, and nothing else.
pub(super) fn is_covered(digits: &[Digit], slots: &[Reduced]) -> bool {
    let size = |slot: u32| slots.iter().find(|(own, _)| *own == slot).map(|(_, size)| *size);
    let covered =
        |slot: u32| digits.iter().filter(|digit| digit.slot == slot).map(|digit| digit.size).product();
    !digits.is_empty() && digits.iter().all(|digit| size(digit.slot) == Some(covered(digit.slot)))
}
