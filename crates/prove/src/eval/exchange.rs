//! Exchanges of parts of blocks: slices, pads, selections and permutes that differ between devices in a way that digits cannot describe.
//!
//! The value of each device is a list of pieces along one slot. A piece has the elements of a term at affine positions. If the pieces of
//! all devices together are blocks of one term, or of a concatenation, the value is that view.

use std::rc::Rc;

use shardc_ir::{CompareDirection, EntityRef, OpId, OpKind, UnaryOp, ValueId};

use super::Eval;
use crate::algebra::Linear;
use crate::terms::{DEVICE, Digit, Digits, Join, Kind, Map, Op, TermId, Terms, VarRole, View, push};

/// The most devices whose values are listed.
const MOST_DEVICES: u64 = 128;
/// The most pieces of a value.
const MOST_PIECES: usize = 64;

/// The most positions, of all devices, at which pieces are compared.
const MOST_POSITIONS: u64 = 1 << 21;

/// Elements of a term: each index is an affine function of local positions.
#[derive(Clone, Debug, PartialEq)]
struct Block {
    term: TermId,
    index: Vec<(i64, Vec<(i64, Digit)>)>,
}

/// A range of positions along the slot of a value.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    length: u64,
    block: Block,
}

/// The value of a device. Positions of a piece along the slot start at zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Local {
    slot: Option<u32>,
    pieces: Vec<Piece>,
}

/// The values of all devices.
pub(crate) type Cases = Rc<Vec<Local>>;

impl Block {
    /// The coefficient of the position along a slot in each dimension. `None` if an index has only a digit of it.
    fn along(&self, slot: u32, length: u64) -> Option<Vec<i64>> {
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
    fn part(&self, slot: u32, length: u64, start: u64, count: u64) -> Option<Block> {
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
    fn joined(&self, slot: u32, lengths: [u64; 2], other: &Block) -> Option<Block> {
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
    fn pieces(&self, slot: u32, length: u64) -> Option<Vec<Piece>> {
        match (self.slot, self.pieces.as_slice()) {
            (Some(own), pieces) if own == slot => Some(pieces.to_vec()),
            (_, [only]) => Some(vec![Piece { length, block: only.block.clone() }]),
            _ => None,
        }
    }

    /// The pieces of a range.
    fn range(&self, slot: u32, length: u64, start: u64, limit: u64) -> Option<Vec<Piece>> {
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
    fn of(slot: u32, pieces: Vec<Piece>) -> Option<Local> {
        let mut merged: Vec<Piece> = Vec::new();
        for piece in pieces.into_iter().filter(|piece| piece.length > 0) {
            if let Some(last) = merged.last_mut() {
                if let Some(block) = last.block.joined(slot, [last.length, piece.length], &piece.block) {
                    *last = Piece { length: last.length + piece.length, block };
                    continue;
                }
            }
            merged.push(piece);
        }
        let slot = (merged.len() > 1).then_some(slot);
        (!merged.is_empty() && merged.len() <= MOST_PIECES).then_some(Local { slot, pieces: merged })
    }

    /// Renames slots; the numbers of slots that are not renamed are the position in another form.
    fn moved<'a>(&self, number: impl Fn(u32) -> Option<&'a [Digit]>) -> Option<Local> {
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

/// The value of a view on a device, if its positions on the device are constant.
fn local(view: &View, device: u64) -> Option<Local> {
    let mut index = Vec::new();
    for number in &view.index {
        let linear = at_device(
            number.iter().rev().scan(1i64, |weight, &digit| {
                let own = *weight;
                *weight = weight.checked_mul(digit.size as i64)?;
                Some((own, digit))
            }),
            device,
        )?;
        index.push((linear.base, linear.merged()?.parts));
    }
    Some(Local { slot: None, pieces: vec![Piece { length: 0, block: Block { term: view.term, index } }] })
}

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

/// A block with its indices in canonical form.
fn sorted(block: Block) -> Block {
    let canonical = |(base, parts): (i64, Vec<(i64, Digit)>)| {
        let linear = Linear { base, parts };
        linear.merged().map_or((linear.base, linear.parts), |linear| (linear.base, linear.parts))
    };
    Block { term: block.term, index: block.index.into_iter().map(canonical).collect() }
}

/// The term, the indices that depend on the position along a slot, and the length of each piece.
type Key = Vec<(TermId, Vec<(i64, i64)>, u64)>;

/// What is the same in equal blocks of the slot. Other indices may differ between devices.
fn key(pieces: &[Piece], slot: u32) -> Option<Key> {
    let one = |piece: &Piece| {
        let coefs = piece.block.along(slot, piece.length)?;
        let index = piece.block.index.iter().zip(&coefs);
        let own = index
            .map(|((base, _), &coef)| if coef == 0 && piece.length > 1 { (0, 0) } else { (*base, coef) });
        Some((piece.block.term, own.collect(), piece.length))
    };
    pieces.iter().map(one).collect()
}

/// The positions along a slot at which something holds, as disjoint ranges in order.
type Ranges = Vec<(u64, u64)>;

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
    /// The affine function that an integer is on a device.
    fn on_device(&self, view: &View, device: u64) -> Option<Linear> {
        let node = self.node(view.term);
        if let Some(linear) = self.as_linear(view) {
            return at_device(linear.parts.iter().copied(), device).and_then(|found| {
                Some(Linear { base: found.base.checked_add(linear.base)?, parts: found.parts })
            });
        }
        match &node.op {
            Op::Constant(bytes) => {
                let Kind::Integer(dtype) = node.kind else { return None };
                let at = local(view, device)?;
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
                super::elements::integer(dtype, element).map(Linear::constant)
            }
            Op::Join(Join::Add) => {
                let args = self.arguments(view)?;
                let sum = args
                    .iter()
                    .try_fold(Linear::default(), |sum, arg| sum.plus(&self.on_device(arg, device)?, 1))?;
                let (low, high) = sum.range()?;
                Terms::fits(node.kind, low, high).then_some(sum)
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
    fn holds(&self, view: &View, device: u64, slot: u32, length: u64) -> Option<Ranges> {
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
            Op::Join(Join::And) => args.iter().try_fold(all(), |ranges, arg| {
                Some(intersection(&ranges, &self.holds(arg, device, slot, length)?))
            }),
            Op::Join(Join::Or) => {
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

    /// The view whose values on the devices are these, with lengths of the local dimensions.
    fn refit(&mut self, cases: &[Local], sizes: &[u64]) -> Option<View> {
        let is_one = cases.iter().all(|case| case.slot.is_none());
        if is_one {
            let blocks: Vec<&Block> =
                cases.iter().filter_map(|case| Some(&case.pieces.first()?.block)).collect();
            return self.refit_blocks(&blocks);
        }
        let slot = cases.iter().find_map(|case| case.slot)?;
        let length = *sizes.get(slot as usize)?;
        let lists: Option<Vec<Vec<Piece>>> = cases.iter().map(|case| case.pieces(slot, length)).collect();
        let lists = lists?;
        let view = self.refit_pieces(&lists, slot, length)?;
        self.is_pieces(&view, &lists, slot, length).then_some(view)
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
        for (coef, digit) in parts {
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
        let joined = Local::of(slot, order.iter().flat_map(|&device| lists[device].clone()).collect())?;
        let own = self.fresh();
        let kind = self.node(joined.pieces.first()?.block.term).kind;
        let (mut views, mut lengths) = (Vec::new(), Vec::new());
        for piece in &joined.pieces {
            let coefs = piece.block.along(slot, piece.length)?;
            // Along other dimensions, each device has the block of its own pieces.
            let on_device = |list: &Vec<Piece>| {
                let mut block = piece.block.clone();
                if let Some(other) = list.iter().find(|other| other.block.term == block.term) {
                    for (at, &coef) in coefs.iter().enumerate() {
                        if coef == 0 && piece.length > 1 {
                            block.index[at] = other.block.index[at].clone();
                        }
                    }
                }
                block
            };
            let blocks: Vec<Block> = lists.iter().map(on_device).collect();
            let view = self.refit_blocks(&blocks.iter().collect::<Vec<_>>())?;
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
        let mut term = view.term;
        while let Op::Concat(sizes) = &self.node(term).op {
            let node = self.node(term);
            // The position in the concatenation is the last index.
            let position = index.pop()?;
            if !position.parts.is_empty() {
                return None;
            }
            let (mut arg, mut rest) = (0, position.base);
            while rest >= *sizes.get(arg)? {
                rest -= sizes[arg];
                arg += 1;
            }
            let mut batch = index.iter();
            let mut values = Vec::new();
            for var in &node.vars {
                values.push(match var.role {
                    VarRole::Batch => batch.next()?.clone(),
                    VarRole::Core { stride, .. } => {
                        Linear::constant((rest as u64 / stride % var.size) as i64)
                    }
                    VarRole::Reduced => return None,
                });
            }
            let chosen = node.args.get(arg)?;
            let mut inner = Vec::new();
            for vars in &chosen.index {
                let mut linear = Linear::default();
                for &var in vars {
                    linear = linear.times(node.vars[usize::from(var)].size as i64)?;
                    linear = linear.plus(&values[usize::from(var)], 1)?;
                }
                inner.push(linear);
            }
            (term, index) = (chosen.term, inner);
        }
        let index = index.into_iter().map(|linear| (linear.base, linear.parts)).collect();
        Some(sorted(Block { term, index }))
    }

    /// The view whose value on each device is a block; one block is the same on all devices.
    fn refit_blocks(&mut self, blocks: &[&Block]) -> Option<View> {
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
                    let range = crate::algebra::Range { size, start: first, limit: first + count, stride: 1 };
                    let view = self.slice(&view, slot, range)?;
                    view.renamed(|old| if old == slot { digit.slot } else { old })
                }
            };
        }
        Some(view)
    }
}

impl Eval<'_, '_> {
    /// Describes the result of an operation by device if its view is not a term of the original. Returns a view of such a term, if the
    /// values of the devices are its blocks.
    pub(super) fn exchange(&mut self, op: OpId, view: &View) -> Option<View> {
        let module = self.module;
        let data = &module.ops[op];
        let &[result] = data.results.as_slice() else { return None };
        let is_known = (view.term.0 as usize) < self.known_terms;
        if is_known || self.devices.count > MOST_DEVICES || self.devices.count == 1 || !moves(&data.kind) {
            return None;
        }
        let cases: Option<Vec<Local>> =
            (0..self.devices.count).map(|device| self.local_result(op, device)).collect();
        let cases = cases?;
        let found = self.terms.refit(&cases, &self.sizes(result));
        *self.cases.get_mut(result.index())? = Some(Rc::new(cases));
        found.filter(|view| (view.term.0 as usize) < self.known_terms)
    }

    /// The value of an operand on a device.
    fn local_value(&self, value: ValueId, device: u64) -> Option<Local> {
        if let Some(cases) = self.cases.get(value.index())?.as_ref() {
            return Some(cases.get(device as usize)?.clone());
        }
        let view = self.values.get(value.index())?.as_ref()?;
        // Values that depend on the device in another way are not moved pieces of the original.
        local(view, device)
    }

    fn local_result(&mut self, op: OpId, device: u64) -> Option<Local> {
        let module = self.module;
        let data = &module.ops[op];
        let operand = |eval: &Self, at: usize| eval.local_value(*data.operands.get(at)?, device);
        let sizes = self.sizes(*data.operands.first()?);
        match &data.kind {
            OpKind::Convert if self.kind(data.operands[0]) == self.kind(data.results[0]) => operand(self, 0),
            OpKind::Slice(spec) => {
                let mut value = operand(self, 0)?;
                for (dim, &size) in sizes.iter().enumerate() {
                    let (start, limit) = (spec.start[dim] as u64, spec.limit[dim] as u64);
                    if spec.stride[dim] != 1 {
                        return None;
                    }
                    value = cut(&value, dim, size, start, limit)?;
                }
                Some(value)
            }
            OpKind::DynamicSlice { sizes: counts } => {
                let mut value = operand(self, 0)?;
                for (dim, &size) in sizes.iter().enumerate() {
                    let count = counts[dim] as u64;
                    let start = self.start_on(data.operands[dim + 1], device, size - count)?;
                    value = cut(&value, dim, size, start, start + count)?;
                }
                Some(value)
            }
            OpKind::DynamicUpdateSlice => {
                let (value, update) = (operand(self, 0)?, operand(self, 1)?);
                let counts = self.sizes(data.operands[1]);
                let mut cuts = (0..sizes.len()).filter(|&dim| counts[dim] != sizes[dim]);
                let Some(dim) = cuts.next() else { return Some(update) };
                if cuts.next().is_some() {
                    return None;
                }
                let (slot, size, count) = (dim as u32, sizes[dim], counts[dim]);
                let start = self.start_on(data.operands[dim + 2], device, size - count)?;
                let mut pieces = value.range(slot, size, 0, start)?;
                pieces.extend(update.pieces(slot, count)?);
                pieces.extend(value.range(slot, size, start + count, size)?);
                Local::of(slot, pieces)
            }
            OpKind::Pad(spec) => {
                let mut value = operand(self, 0)?;
                let fill = operand(self, 1)?.pieces.first()?.block.clone();
                for (dim, &size) in sizes.iter().enumerate() {
                    let (low, high) =
                        (u64::try_from(spec.low[dim]).ok()?, u64::try_from(spec.high[dim]).ok()?);
                    if spec.interior[dim] != 0 {
                        return None;
                    }
                    if (low, high) != (0, 0) {
                        let piece = |length: u64| Piece { length, block: fill.clone() };
                        let mut pieces = vec![piece(low)];
                        pieces.extend(value.pieces(dim as u32, size)?);
                        pieces.push(piece(high));
                        value = Local::of(dim as u32, pieces)?;
                    }
                }
                Some(value)
            }
            OpKind::Concatenate { dim } => {
                let mut pieces = Vec::new();
                for (at, &value) in data.operands.iter().enumerate() {
                    let size = self.sizes(value)[*dim as usize];
                    pieces.extend(operand(self, at)?.pieces(*dim, size)?);
                }
                Local::of(*dim, pieces)
            }
            OpKind::Select => {
                let test = self.values[data.operands[0].index()].clone()?;
                let (yes, no) = (operand(self, 1)?, operand(self, 2)?);
                let own = test.digits().map(|digit| digit.slot).find(|&slot| slot != DEVICE);
                let slot = own.or(yes.slot).or(no.slot).unwrap_or(0);
                let sizes = self.sizes(data.operands[1]);
                let length = sizes.get(slot as usize).copied().unwrap_or(1);
                let holds = self.terms.holds(&test, device, slot, length)?;
                if holds == [(0, length)] {
                    return Some(yes);
                }
                if holds.is_empty() {
                    return Some(no);
                }
                let (mut at, mut pieces) = (0, Vec::new());
                for (low, high) in holds {
                    pieces.extend(no.range(slot, length, at, low)?);
                    pieces.extend(yes.range(slot, length, low, high)?);
                    at = high;
                }
                pieces.extend(no.range(slot, length, at, length)?);
                Local::of(slot, pieces)
            }
            OpKind::CollectivePermute(spec) => {
                let source = self.source(spec, device)?;
                match source {
                    Some(source) => self.local_value(data.operands[0], source),
                    None => {
                        let kind = self.kind(data.results[0]);
                        local(&self.terms.integer(kind, 0), device)
                    }
                }
            }
            OpKind::Transpose { permutation } => {
                let value = operand(self, 0)?;
                let place = |slot: u32| permutation.iter().position(|&dim| dim == slot);
                let numbers: Vec<[Digit; 1]> = (0u32..)
                    .zip(&sizes)
                    .map(|(dim, &size)| [Digit::all(place(dim).unwrap_or(0) as u32, size)])
                    .collect();
                value.moved(|slot| numbers.get(slot as usize).map(|number| &number[..]))
            }
            OpKind::BroadcastInDim { dims } => {
                let value = operand(self, 0)?;
                let numbers: Vec<[Digit; 1]> =
                    dims.iter().zip(&sizes).map(|(&dim, &size)| [Digit::all(dim, size)]).collect();
                value.moved(|slot| numbers.get(slot as usize).map(|number| &number[..]))
            }
            OpKind::Reshape => {
                let value = operand(self, 0)?;
                let numbers = super::movement::reshape_numbers(&sizes, &self.sizes(data.results[0]))?;
                value.moved(|slot| numbers.get(slot as usize).map(|number| &number[..]))
            }
            _ => None,
        }
    }

    /// The start index of a slice on a device, clamped.
    fn start_on(&self, value: ValueId, device: u64, most: u64) -> Option<u64> {
        let start = self.terms.on_device(self.values[value.index()].as_ref()?, device)?;
        start.parts.is_empty().then(|| start.base.clamp(0, most as i64) as u64)
    }
}

/// The positions from `start` to `limit` of a dimension.
fn cut(value: &Local, dim: usize, size: u64, start: u64, limit: u64) -> Option<Local> {
    if (start, limit) == (0, size) {
        return Some(value.clone());
    }
    Local::of(dim as u32, value.range(dim as u32, size, start, limit)?)
}

/// Whether an operation only moves elements.
fn moves(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Convert
            | OpKind::Slice(_)
            | OpKind::DynamicSlice { .. }
            | OpKind::DynamicUpdateSlice
            | OpKind::Pad(_)
            | OpKind::Concatenate { .. }
            | OpKind::Select
            | OpKind::CollectivePermute(_)
            | OpKind::Transpose { .. }
            | OpKind::BroadcastInDim { .. }
            | OpKind::Reshape
    )
}
