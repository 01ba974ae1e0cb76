//! Values of devices as pieces of terms.

use crate::algebra::Linear;
use crate::terms::{Digit, TermId};

/// The most pieces of a value.
const MOST_PIECES: usize = 64;
/// Elements of a term: each index is an affine function of local positions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) term: TermId,
    pub(super) index: Vec<(i64, Vec<(i64, Digit)>)>,
}

/// A range of positions along the slot of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) length: u64,
    pub(super) block: Block,
}

/// The value of a device. Positions of a piece along the slot start at zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Local {
    pub(super) slot: Option<u32>,
    pub(super) pieces: Vec<Piece>,
}

impl Block {
    /// The coefficient of the position along a slot in each dimension. `None` if an index has only a digit of it.
    pub(super) fn along(&self, slot: u32, length: u64) -> Option<Vec<i64>> {
        let coef = |parts: &Vec<(i64, Digit)>| match parts
            .iter()
            .filter(|(_, d)| d.slot == slot)
            .collect::<Vec<_>>()[..]
        {
            [] => Some(0),
            [&(coef, digit)] if digit == Digit::all(slot, length) => Some(coef),
            _ => None,
        };
        self.index.iter().map(|(_, parts)| coef(parts)).collect()
    }

    /// The elements from `start` on, along a slot.
    pub(super) fn part(&self, slot: u32, length: u64, start: u64, count: u64) -> Option<Block> {
        if count == length {
            return Some(self.clone());
        }
        let coefs = self.along(slot, length)?;
        let mut index = Vec::new();
        for ((base, parts), coef) in self.index.iter().zip(coefs) {
            let mut parts: Vec<(i64, Digit)> =
                parts.iter().filter(|(_, d)| d.slot != slot).copied().collect();
            if coef != 0 && count > 1 {
                parts.push((coef, Digit::all(slot, count)));
            }
            index.push((base.checked_add(coef.checked_mul(start as i64)?)?, parts));
        }
        Some(Block { term: self.term, index })
    }

    /// This block followed by another along a slot, if both are one block.
    pub(super) fn joined(&self, slot: u32, lengths: [u64; 2], other: &Block) -> Option<Block> {
        if self.term != other.term {
            return None;
        }
        let (mine, theirs) = (self.along(slot, lengths[0])?, other.along(slot, lengths[1])?);
        let mut index = Vec::new();
        for (at, ((base, parts), (next, others))) in self.index.iter().zip(&other.index).enumerate() {
            let step = next - base;
            let coef = if lengths[0] > 1 {
                mine[at]
            } else if lengths[1] > 1 {
                theirs[at]
            } else {
                step
            };
            let agrees = (lengths[0] == 1 || mine[at] == coef) && (lengths[1] == 1 || theirs[at] == coef);
            let rest = |parts: &Vec<(i64, Digit)>| -> Vec<(i64, Digit)> {
                parts.iter().filter(|(_, d)| d.slot != slot).copied().collect()
            };
            if !agrees || step != coef.checked_mul(lengths[0] as i64)? || rest(parts) != rest(others) {
                return None;
            }
            let mut parts = rest(parts);
            if coef != 0 {
                parts.push((coef, Digit::all(slot, lengths[0] + lengths[1])));
            }
            index.push((*base, parts));
        }
        Some(Block { term: self.term, index })
    }
}

impl Local {
    /// The pieces along `slot`, which has this length.
    pub(super) fn pieces(&self, slot: u32, length: u64) -> Option<Vec<Piece>> {
        match (self.slot, self.pieces.as_slice()) {
            (Some(own), pieces) if own == slot => Some(pieces.to_vec()),
            (_, [only]) => Some(vec![Piece { length, block: only.block.clone() }]),
            _ => None,
        }
    }

    /// The pieces of a range.
    pub(super) fn range(&self, slot: u32, length: u64, start: u64, limit: u64) -> Option<Vec<Piece>> {
        let (mut at, mut out) = (0, Vec::new());
        for piece in self.pieces(slot, length)? {
            let (low, high) = (start.max(at), limit.min(at + piece.length));
            if low < high {
                let block = piece.block.part(slot, piece.length, low - at, high - low)?;
                out.push(Piece { length: high - low, block });
            }
            at += piece.length;
        }
        Some(out)
    }

    /// Joins adjacent pieces that are one block.
    pub(super) fn of(slot: u32, pieces: Vec<Piece>) -> Option<Local> {
        let mut merged: Vec<Piece> = Vec::new();
        for piece in pieces.into_iter().filter(|piece| piece.length > 0) {
            if let Some(last) = merged.last_mut()
                && let Some(block) = last.block.joined(slot, [last.length, piece.length], &piece.block)
            {
                *last = Piece { length: last.length + piece.length, block };
                continue;
            }
            merged.push(piece);
        }
        let slot = (merged.len() > 1).then_some(slot);
        (!merged.is_empty() && merged.len() <= MOST_PIECES).then_some(Local { slot, pieces: merged })
    }

    /// Renames slots; the numbers of slots that are not renamed are the position in another form.
    pub(super) fn moved<'a>(&self, number: impl Fn(u32) -> Option<&'a [Digit]>) -> Option<Local> {
        let slot = match self.slot {
            None => None,
            Some(slot) => match number(slot) {
                None => Some(slot),
                Some([only]) if only.stride == 1 => Some(only.slot),
                Some(_) => return None,
            },
        };
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            let mut index = Vec::new();
            for (base, parts) in &piece.block.index {
                let linear = Linear { base: *base, parts: parts.clone() };
                let linear = match (self.slot, slot) {
                    // The pieces have positions of their own along the slot.
                    (Some(old), Some(new)) => {
                        let mut renamed = linear.clone();
                        renamed.parts.retain(|(_, digit)| digit.slot != old);
                        let mut moved = renamed.moved(&number)?;
                        for &(coef, digit) in linear.parts.iter().filter(|(_, digit)| digit.slot == old) {
                            moved.parts.push((coef, Digit { slot: new, ..digit }));
                        }
                        moved
                    }
                    _ => linear.moved(&number)?,
                };
                index.push((linear.base, linear.parts));
            }
            pieces.push(Piece { length: piece.length, block: Block { term: piece.block.term, index } });
        }
        Some(Local { slot, pieces })
    }
}
/// A block with its indices in canonical form.
pub(super) fn sorted(block: Block) -> Block {
    let canonical = |(base, parts): (i64, Vec<(i64, Digit)>)| {
        let linear = Linear { base, parts };
        linear.merged().map_or((linear.base, linear.parts), |linear| (linear.base, linear.parts))
    };
    Block { term: block.term, index: block.index.into_iter().map(canonical).collect() }
}

/// The term, the indices that depend on the position along a slot, and the length of each piece.
pub(super) type Key = Vec<(TermId, Vec<(i64, i64)>, u64)>;

/// The properties that equal blocks of the slot share. Other indices may differ between devices.
pub(super) fn key(pieces: &[Piece], slot: u32) -> Option<Key> {
    let one = |piece: &Piece| {
        let coefs = piece.block.along(slot, piece.length)?;
        let index = piece.block.index.iter().zip(&coefs);
        let own = index
            .map(|((base, _), &coef)| if coef == 0 && piece.length > 1 { (0, 0) } else { (*base, coef) });
        Some((piece.block.term, own.collect(), piece.length))
    };
    pieces.iter().map(one).collect()
}
/// The positions from `start` to `limit` of a dimension.
pub(super) fn cut(value: &Local, dim: usize, size: u64, start: u64, limit: u64) -> Option<Local> {
    if (start, limit) == (0, size) {
        return Some(value.clone());
    }
    Local::of(dim as u32, value.range(dim as u32, size, start, limit)?)
}
