//! Exchanges of parts of blocks: slices, pads, selections and permutes that differ between devices in a way that digits cannot describe.
//!
//! The value of each device is a list of pieces along one slot. A piece has the elements of a term at affine positions. If the pieces of
//! all devices together are blocks of one term, or of a concatenation, the value is that view.

mod device;
mod pieces;
mod refit;
mod windows;

use std::rc::Rc;

use shardc_ir::{EntityRef, OpId, OpKind, PadSpec, SliceSpec, ValueId};

use self::pieces::{Local, Piece, cut};
use super::Eval;
use crate::terms::{DEVICE, Digit, Op, View};

/// The most devices whose values are listed.
const MOST_DEVICES: u64 = 128;
/// The most positions of all devices at which a value that is not of the original is compared.
const MOST_POSITIONS: u64 = 1 << 10;
/// The values of all devices.
pub(crate) type Cases = Rc<Vec<Local>>;
impl Eval<'_, '_> {
    /// Describes the result of an operation by device if its view is not a term of the original. Returns a view of such a term, if the
    /// values of the devices are its blocks.
    pub(super) fn exchange(&mut self, op: OpId, view: &View) -> Option<View> {
        let module = self.module;
        let data = &module.ops[op];
        let &[result] = data.results.as_slice() else { return None };
        let is_known = (view.term.0 as usize) < self.known_terms;
        // The original has no terms of another program to look for.
        if self.known_terms == 0
            || is_known
            || self.devices.count > MOST_DEVICES
            || self.devices.count == 1
            || !moves(&data.kind)
        {
            return None;
        }
        let by_windows = self.is_across_windows(op);
        let cases = self.results_of(op, by_windows).or_else(|| self.results_of(op, !by_windows))?;
        let sizes = self.sizes(result);
        let found = self
            .terms
            .refit(&cases, &sizes, self.known_terms)
            .or_else(|| self.partial(op, &cases))
            .or_else(|| self.terms.refit_windows(&cases, &sizes, self.known_terms));
        *self.cases.get_mut(result.index())? = Some(Rc::new(cases));
        found
    }

    /// Whether an operand is windows along a dimension that the operation does not change. A value has pieces along one dimension, so that
    /// windows along another dimension are windows of windows.
    fn is_across_windows(&self, op: OpId) -> bool {
        let data = &self.module.ops[op];
        let is_changed = |value: ValueId, slot: u32| {
            let result = data.results.first().map(|&result| self.sizes(result));
            result.is_none_or(|sizes| sizes.get(slot as usize) != self.sizes(value).get(slot as usize))
        };
        data.operands.iter().any(|&value| {
            let view = self.values.get(value.index()).and_then(Option::as_ref);
            view.filter(|view| matches!(self.terms.node(view.term).op, Op::Windows(_)))
                .and_then(|view| view.index.last()?.first())
                .is_some_and(|digit| !is_changed(value, digit.slot))
        }) && !matches!(data.kind, OpKind::Select)
    }

    /// The result of an operation on each device. Operands are terms of windows, if `by_windows` holds and they are windows.
    fn results_of(&mut self, op: OpId, by_windows: bool) -> Option<Vec<Local>> {
        (0..self.devices.count).map(|device| self.local_result(op, device, by_windows)).collect()
    }

    /// The view of a received value that is not of the original, such as a partial sum. A value with constants is not complete yet.
    fn partial(&mut self, op: OpId, cases: &[Local]) -> Option<View> {
        let data = &self.module.ops[op];
        let has_constant =
            cases.iter().flat_map(|case| &case.pieces).any(|piece| piece.block.index.is_empty());
        let sizes = self.sizes(data.results[0]);
        let positions = sizes.iter().copied().max().unwrap_or(1).saturating_mul(cases.len() as u64);
        let is_moved = matches!(data.kind, OpKind::Select | OpKind::CollectivePermute(_));
        if has_constant || !is_moved || positions > MOST_POSITIONS {
            return None;
        }
        self.terms.refit(cases, &sizes, usize::MAX)
    }

    /// The value of an operand on a device.
    fn local_value(&self, value: ValueId, device: u64, by_windows: bool) -> Option<Local> {
        let is_windows = |view: &View| matches!(self.terms.node(view.term).op, Op::Windows(_));
        if !(by_windows && self.values.get(value.index())?.as_ref().is_some_and(is_windows))
            && let Some(cases) = self.cases.get(value.index())?.as_ref()
        {
            return Some(cases.get(device as usize)?.clone());
        }
        let view = self.values.get(value.index())?.as_ref()?;
        // Values that depend on the device in another way are not moved pieces of the original.
        self.terms.local(view, device)
    }

    fn local_result(&mut self, op: OpId, device: u64, by_windows: bool) -> Option<Local> {
        let module = self.module;
        let data = &module.ops[op];
        let operand = |eval: &Self, at: usize| eval.local_value(*data.operands.get(at)?, device, by_windows);
        let sizes = self.sizes(*data.operands.first()?);
        match &data.kind {
            OpKind::Convert if self.kind(data.operands[0]) == self.kind(data.results[0]) => operand(self, 0),
            OpKind::Slice(spec) => sliced(operand(self, 0)?, spec, &sizes),
            OpKind::DynamicSlice { sizes: counts } => {
                let mut value = operand(self, 0)?;
                for (dim, &size) in sizes.iter().enumerate() {
                    let count = counts[dim] as u64;
                    let start = self.start_on(data.operands[dim + 1], device, size - count)?;
                    value = cut(&value, dim, size, start, start + count)?;
                }
                Some(value)
            }
            OpKind::DynamicUpdateSlice => self.updated(op, device, by_windows, &sizes),
            OpKind::Pad(spec) => padded(operand(self, 0)?, &operand(self, 1)?, spec, &sizes),
            OpKind::Concatenate { dim } => {
                let mut pieces = Vec::new();
                for (at, &value) in data.operands.iter().enumerate() {
                    let size = self.sizes(value)[*dim as usize];
                    pieces.extend(operand(self, at)?.pieces(*dim, size)?);
                }
                Local::of(*dim, pieces)
            }
            OpKind::Select => self.selected(op, device, by_windows),
            OpKind::CollectivePermute(spec) => {
                let source = self.source(spec, device)?;
                match source {
                    Some(source) => self.local_value(data.operands[0], source, by_windows),
                    None => {
                        let kind = self.kind(data.results[0]);
                        {
                            let zero = self.terms.integer(kind, 0);
                            self.terms.local(&zero, device)
                        }
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

    /// The operand of a selection at each position.
    fn selected(&mut self, op: OpId, device: u64, by_windows: bool) -> Option<Local> {
        let data = &self.module.ops[op];
        let operand = |eval: &Self, at: usize| eval.local_value(*data.operands.get(at)?, device, by_windows);
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

    /// An operand with an update at a start that is known on the device.
    fn updated(&self, op: OpId, device: u64, by_windows: bool, sizes: &[u64]) -> Option<Local> {
        let data = &self.module.ops[op];
        let value = self.local_value(*data.operands.first()?, device, by_windows)?;
        let update = self.local_value(*data.operands.get(1)?, device, by_windows)?;
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

    /// The start index of a slice on a device, clamped.
    fn start_on(&self, value: ValueId, device: u64, most: u64) -> Option<u64> {
        let start = self.terms.on_device(self.values[value.index()].as_ref()?, device)?;
        start.parts.is_empty().then(|| start.base.clamp(0, most as i64) as u64)
    }
}
fn sliced(mut value: Local, spec: &SliceSpec, sizes: &[u64]) -> Option<Local> {
    for (dim, &size) in sizes.iter().enumerate() {
        if spec.stride[dim] != 1 {
            return None;
        }
        value = cut(&value, dim, size, spec.start[dim] as u64, spec.limit[dim] as u64)?;
    }
    Some(value)
}

fn padded(mut value: Local, fill: &Local, spec: &PadSpec, sizes: &[u64]) -> Option<Local> {
    let fill = &fill.pieces.first()?.block;
    for (dim, &size) in sizes.iter().enumerate() {
        let (low, high) = (u64::try_from(spec.low[dim]).ok()?, u64::try_from(spec.high[dim]).ok()?);
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
