//! Integers and truth values on one device.

use shardc_ir::{CompareDirection, ReductionKind, UnaryOp};

use super::pieces::{Block, Local, Piece};
use crate::algebra::Linear;
use crate::eval::elements::integer;
use crate::terms::{DEVICE, Digit, Kind, Map, Op, Terms, View};

/// An affine function with the digits of the device replaced by their values.
fn at_device(parts: impl Iterator<Item = (i64, Digit)>, device: u64) -> Option<Linear> {
    let mut linear = Linear::default();
    for (coef, digit) in parts {
        if digit.slot == DEVICE {
            let value = (device / digit.stride % digit.size) as i64;
            linear.base = linear.base.checked_add(coef.checked_mul(value)?)?;
        } else {
            linear.parts.push((coef, digit));
        }
    }
    Some(linear)
}
/// The positions along a slot at which something holds, as disjoint ranges in order.
pub(super) type Ranges = Vec<(u64, u64)>;

fn complement(ranges: &Ranges, length: u64) -> Ranges {
    let (mut at, mut out) = (0, Vec::new());
    for &(low, high) in ranges {
        if at < low {
            out.push((at, low));
        }
        at = high;
    }
    if at < length {
        out.push((at, length));
    }
    out
}

fn intersection(a: &Ranges, b: &Ranges) -> Ranges {
    let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x.0.max(y.0), x.1.min(y.1))));
    pairs.filter(|(low, high)| low < high).collect()
}
impl Terms {
    /// The value of a view on a device.
    pub(super) fn local(&self, view: &View, device: u64) -> Option<Local> {
        let mut index = Vec::new();
        for number in &view.index {
            let mut weight = 1i64;
            let mut parts = Vec::new();
            for &digit in number.iter().rev() {
                parts.push((weight, digit));
                weight = weight.checked_mul(digit.size as i64)?;
            }
            index.push(at_device(parts.into_iter(), device)?.merged()?);
        }
        let (term, index) = self.expanded(view.term, index);
        let index = index.into_iter().map(|linear| (linear.base, linear.parts)).collect();
        Some(Local { slot: None, pieces: vec![Piece { length: 0, block: Block { term, index } }] })
    }

    /// The affine function that an integer is on a device.
    pub(super) fn on_device(&self, view: &View, device: u64) -> Option<Linear> {
        let node = self.node(view.term);
        if let Some(linear) = self.as_linear(view) {
            return at_device(linear.parts.iter().copied(), device).and_then(|found| {
                Some(Linear { base: found.base.checked_add(linear.base)?, parts: found.parts })
            });
        }
        match &node.op {
            Op::Constant(bytes) => {
                let Kind::Integer(dtype) = node.kind else { return None };
                let at = self.local(view, device)?;
                let [piece] = at.pieces.as_slice() else { return None };
                let mut place = 0u64;
                for ((base, parts), size) in piece.block.index.iter().zip(&node.dims) {
                    if !parts.is_empty() {
                        return None;
                    }
                    place = place * size + *base as u64;
                }
                let width = dtype.bytes();
                let start = usize::try_from(place).ok()?.checked_mul(width)?;
                let element = bytes.get(start..start + width)?;
                integer(dtype, element).map(Linear::constant)
            }
            Op::Join(ReductionKind::Add) => {
                let args = self.arguments(view)?;
                let sum = args
                    .iter()
                    .try_fold(Linear::default(), |sum, arg| sum.plus(&self.on_device(arg, device)?, 1))?;
                let (low, high) = sum.range()?;
                Terms::fits(node.kind, low, high).then_some(sum)
            }
            Op::Join(ReductionKind::Mul) => {
                let args = self.arguments(view)?;
                let [a, b] = args.as_slice() else { return None };
                let (factor, other) = match (self.as_integer(a), self.as_integer(b)) {
                    (Some(factor), _) => (factor, b),
                    (_, Some(factor)) => (factor, a),
                    _ => return None,
                };
                let product = self.on_device(other, device)?.times(factor)?;
                let (low, high) = product.range()?;
                Terms::fits(node.kind, low, high).then_some(product)
            }
            Op::Map(Map::Convert) if matches!(node.kind, Kind::Integer(_)) => {
                let linear = self.on_device(&self.arguments(view)?.pop()?, device)?;
                let (low, high) = linear.range()?;
                Terms::fits(node.kind, low, high).then_some(linear)
            }
            _ => None,
        }
    }

    /// The positions along a slot at which a truth value holds on a device.
    pub(super) fn holds(&self, view: &View, device: u64, slot: u32, length: u64) -> Option<Ranges> {
        let node = self.node(view.term);
        let all = || vec![(0, length)];
        if let Some(value) = self.as_integer(view) {
            return Some(if value != 0 { all() } else { Vec::new() });
        }
        let args = self.arguments(view)?;
        match &node.op {
            Op::Map(Map::Unary(UnaryOp::Not)) => {
                Some(complement(&self.holds(args.first()?, device, slot, length)?, length))
            }
            Op::Join(ReductionKind::And) => args.iter().try_fold(all(), |ranges, arg| {
                Some(intersection(&ranges, &self.holds(arg, device, slot, length)?))
            }),
            Op::Join(ReductionKind::Or) => {
                let none = args.iter().try_fold(all(), |ranges, arg| {
                    let other = complement(&self.holds(arg, device, slot, length)?, length);
                    Some(intersection(&ranges, &other))
                });
                Some(complement(&none?, length))
            }
            Op::Map(Map::Compare(direction @ (CompareDirection::GE | CompareDirection::GT))) => {
                let [a, b] = args.as_slice() else { return None };
                let strict = Linear::constant(i64::from(*direction == CompareDirection::GT));
                let difference = self.on_device(a, device)?.plus(&self.on_device(b, device)?, -1)?;
                let difference = difference.plus(&strict, -1)?;
                match difference.parts.as_slice() {
                    [] => Some(if difference.base >= 0 { all() } else { Vec::new() }),
                    &[(coef, digit)] if digit == Digit::all(slot, length) => {
                        // The first position at which a growing function is not negative.
                        let first = |base: i64, coef: i64| {
                            (-base).div_euclid(coef) + i64::from((-base).rem_euclid(coef) != 0)
                        };
                        let clip = |at: i64| at.clamp(0, length as i64) as u64;
                        let range = if coef > 0 {
                            (clip(first(difference.base, coef)), length)
                        } else {
                            (0, clip(difference.base.div_euclid(-coef).saturating_add(1)))
                        };
                        Some(if range.0 < range.1 { vec![range] } else { Vec::new() })
                    }
                    _ => None,
                }
            }
            Op::Map(Map::IsZero) => {
                let difference = self.on_device(args.first()?, device)?;
                let is_constant = difference.parts.is_empty();
                is_constant.then(|| if difference.base == 0 { all() } else { Vec::new() })
            }
            _ => None,
        }
    }
}
