//! Finds the windows of a term that the values of all devices are: blocks with halos.

use super::pieces::{Block, Local, Piece, sorted};
use super::refit::MOST_POSITIONS;
use crate::algebra::{Linear, Windows};
use crate::terms::{DEVICE, Digit, Digits, Op, TermId, Terms, View, push};

/// The elements of a term along one of its dimensions, on one device.
struct Source {
    block: Block,
    /// The position of the first element of the device in the dimension.
    start: i64,
}

impl Terms {
    /// The view whose values on the devices are windows of one of the first `known` terms, or windows of such windows.
    pub(super) fn refit_windows(&mut self, cases: &[Local], sizes: &[u64], known: usize) -> Option<View> {
        let along = cases.iter().find_map(|case| case.slot);
        let slots =
            (0u32..).zip(sizes).filter(|&(slot, &size)| size > 1 && along.is_none_or(|own| own == slot));
        slots.into_iter().find_map(|(slot, &length)| {
            let lists: Option<Vec<Vec<Piece>>> = cases.iter().map(|case| case.pieces(slot, length)).collect();
            self.refit_windows_along(&lists?, (slot, length), known)
        })
    }

    fn refit_windows_along(
        &mut self,
        lists: &[Vec<Piece>],
        (slot, length): (u32, u64),
        known: usize,
    ) -> Option<View> {
        if length.saturating_mul(lists.len() as u64) > MOST_POSITIONS {
            return None;
        }
        let (term, dim) = self.candidate(lists, slot, known)?;
        let sources: Vec<Source> =
            lists.iter().map(|pieces| source(pieces, (term, dim), slot)).collect::<Option<_>>()?;
        let size = *self.node(term).dims.get(dim)?;
        let starts: Vec<i64> = sources.iter().map(|source| source.start).collect();
        let fit = Linear::fit(&starts, DEVICE)?.merged()?;
        let windows = match fit.parts.as_slice() {
            // Windows whose fill was masked once more are the same windows.
            [] if (fit.base, size) == (0, length) => None,
            [] => return None,
            _ => Some(window_number(&fit)?),
        };
        let is_literal = |piece: &Piece| matches!(self.node(piece.block.term).op, Op::Literal(_));
        if windows.as_ref().is_none_or(|&(_, step)| step >= length) && !lists.iter().flatten().any(is_literal)
        {
            // Slices of blocks without halos.
            return None;
        }
        let fill = self.windows_fill(lists, &sources, (slot, length), (dim, size))?;
        // The other dimensions of the term.
        let blocks: Vec<Block> = sources
            .into_iter()
            .map(|source| {
                let mut block = source.block;
                block.index[dim] = (0, vec![(1, Digit::all(slot, size))]);
                block
            })
            .collect();
        let inner = self.refit_blocks(&blocks.iter().collect::<Vec<_>>())?;
        let Some((number, step)) = windows else { return Some(inner) };
        if step >= length && fill.is_none() {
            return None;
        }
        let kind = self.kind(&inner);
        self.windows(kind, slot, &Windows { inner, number, step, length, start: fit.base, size, fill })
    }

    /// The newest term of which several elements along a slot are on the devices, and their dimension.
    fn candidate(&self, lists: &[Vec<Piece>], slot: u32, known: usize) -> Option<(TermId, usize)> {
        let pieces = lists.iter().flatten().filter(|piece| piece.length > 1);
        let own = pieces
            .filter(|piece| self.is_source(piece.block.term, known))
            .filter_map(|piece| Some((piece.block.term, only_dim(&piece.block.along(slot, piece.length)?)?)));
        own.max()
    }

    /// Whether a term is of the original, or windows of such a term.
    pub(crate) fn is_source(&self, mut term: TermId, known: usize) -> bool {
        while term.0 as usize >= known {
            let node = self.node(term);
            match (&node.op, node.args.first()) {
                (Op::Windows(_), Some(arg)) => term = arg.term,
                _ => return false,
            }
        }
        true
    }

    /// The literal at positions that are not in the term; an inner `None` if there are no such positions. Compares all elements.
    fn windows_fill(
        &mut self,
        lists: &[Vec<Piece>],
        sources: &[Source],
        (slot, length): (u32, u64),
        (dim, size): (usize, u64),
    ) -> Option<Option<View>> {
        let mut fill = None;
        for (pieces, source) in lists.iter().zip(sources) {
            let mut at = source.start;
            for piece in pieces {
                for place in 0..piece.length {
                    let found = self.element_of(piece.block.part(slot, piece.length, place, 1)?);
                    if (0..i64::try_from(size).ok()?).contains(&at) {
                        let mut own = source.block.clone();
                        own.index[dim] = (at, Vec::new());
                        if self.element_of(own) != found {
                            return None;
                        }
                    } else if !matches!(self.node(found.term).op, Op::Literal(_))
                        || fill.replace(found.term).is_some_and(|other| other != found.term)
                    {
                        return None;
                    }
                    at += 1;
                }
            }
            if at != source.start + i64::try_from(length).ok()? {
                return None;
            }
        }
        Some(fill.map(|term| View { term, index: Default::default() }))
    }

    /// Elements as elements of the innermost term.
    fn element_of(&self, block: Block) -> Block {
        let index = block.index.into_iter().map(|(base, parts)| Linear { base, parts }).collect();
        let (mut term, mut index) = self.expanded(block.term, index);
        while let Some(inner) = self.inside_windows(term, &index) {
            (term, index) = self.expanded(inner.0, inner.1);
        }
        let index = index.into_iter().map(|linear| (linear.base, linear.parts)).collect();
        sorted(Block { term, index })
    }

    /// Elements of windows as elements of the argument, or as the fill.
    fn inside_windows(&self, term: TermId, index: &[Linear]) -> Option<(TermId, Vec<Linear>)> {
        let node = self.node(term);
        let Op::Windows([_, step, _, start, size]) = node.op else { return None };
        let [batch @ .., window, place] = index else { return None };
        let at = window.times(step)?.plus(place, 1)?.plus(&Linear::constant(start), 1)?;
        let (low, high) = at.range()?;
        if high < 0 || low >= size {
            return Some((node.args.get(1)?.term, Vec::new()));
        }
        if low < 0 || high >= size {
            return None;
        }
        let arg = node.args.first()?;
        let mut inner = Vec::new();
        for vars in &arg.index {
            inner.push(self.inner_index(term, vars, batch, &at, (size as u64, 1))?);
        }
        Some((arg.term, inner))
    }
}

/// The only dimension whose index is the position along a slot plus a constant.
fn only_dim(coefs: &[i64]) -> Option<usize> {
    let mut used = (0..coefs.len()).filter(|&dim| coefs[dim] != 0);
    let dim = used.next()?;
    (used.next().is_none() && coefs[dim] == 1).then_some(dim)
}

/// The elements of a term on a device, of which one piece has several along a slot.
fn source(pieces: &[Piece], (term, dim): (TermId, usize), slot: u32) -> Option<Source> {
    let mut at = 0;
    for piece in pieces {
        let coefs = piece.block.along(slot, piece.length)?;
        if piece.length > 1 && piece.block.term == term && only_dim(&coefs) == Some(dim) {
            let (base, parts) = piece.block.index.get(dim)?;
            let is_position = parts.as_slice() == [(1, Digit::all(slot, piece.length))];
            let start = base.checked_sub(i64::try_from(at).ok()?)?;
            return is_position.then(|| Source { block: piece.block.clone(), start });
        }
        at += piece.length;
    }
    None
}

/// The digits of the number of the window of a device, and the distance of windows.
fn window_number(starts: &Linear) -> Option<(Digits, u64)> {
    let mut parts = starts.parts.clone();
    parts.sort_by_key(|&(coef, _)| coef);
    let step = parts.first().map(|&(coef, _)| coef).filter(|&coef| coef > 0)?;
    let (mut digits, mut next) = (Digits::new(), step);
    for &(coef, digit) in &parts {
        if coef != next {
            return None;
        }
        next = coef.checked_mul(i64::try_from(digit.size).ok()?)?;
    }
    for &(_, digit) in parts.iter().rev() {
        push(&mut digits, digit);
    }
    Some((digits, step as u64))
}
