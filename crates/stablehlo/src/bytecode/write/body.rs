//! The section of operations, and the inherent attributes to which they refer.

use rustc_hash::FxHashMap;

use super::bytes::Bytes;
use super::nodes::{BUILTIN, Field};
use super::numbering::Numbering;
use super::program::{Format, Op, Program, Region};
use crate::bytecode::attr::AttrRef;
use crate::bytecode::body::{ELIDED_ARG_LOCATIONS, LAZY_LOADING, USE_LIST_ORDERS, has};
use crate::bytecode::file::PROPERTIES;
use crate::bytecode::properties::is_packed;
use crate::bytecode::reader::section;

/// The writer of operations.
pub(super) struct Body<'p, 'm> {
    program: &'p Program<'m>,
    format: &'p Format,
    numbering: &'p Numbering<'p, 'm>,
    /// The number of each value within the enclosing isolated operation.
    values: Vec<u32>,
    /// For each operation with regions, in preorder: whether its regions use no values from outside.
    isolated: Vec<bool>,
    next_isolated: usize,
    /// The encodings of inherent attributes, and their indices.
    entries: Vec<Vec<u8>>,
    known: FxHashMap<Vec<u8>, u64>,
}

impl<'p, 'm> Body<'p, 'm> {
    pub(super) fn new(
        program: &'p Program<'m>,
        format: &'p Format,
        numbering: &'p Numbering<'p, 'm>,
    ) -> Self {
        Body {
            program,
            format,
            numbering,
            values: vec![0; program.values.len()],
            isolated: super::isolation::isolated(program),
            next_isolated: 0,
            entries: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    /// Writes the operations.
    pub(super) fn section(&mut self) -> Bytes<'static> {
        let mut out = Bytes::default();
        let program = self.program;
        out.flagged(u64::from(program.top.is_some()), false);
        if let Some(top) = &program.top {
            self.op(&mut out, top, 0);
        }
        out
    }

    /// Writes the inherent attributes of the operations that were written.
    pub(super) fn properties(&self) -> Bytes<'static> {
        let mut out = Bytes::default();
        out.varint(self.entries.len() as u64);
        for entry in &self.entries {
            out.varint(entry.len() as u64);
            out.raw(entry);
        }
        out
    }

    fn attr(&self, at: AttrRef) -> u64 {
        self.numbering.attrs.place(at.0)
    }

    fn ty(&self, value: u32) -> u64 {
        self.numbering.types.place(self.program.type_of(value).0)
    }

    /// Writes an operation. `first` is the first free number of a value after those of the enclosing region.
    fn op(&mut self, out: &mut Bytes<'_>, op: &'p Op, first: u32) {
        out.varint(self.numbering.names.place(op.name.0));
        let mask_at = out.len();
        let mut mask = 0;
        out.byte(0);
        out.varint(self.attr(op.loc));
        if let Some(dict) = op.dict {
            mask |= has::ATTRS;
            out.varint(self.attr(dict));
        }
        if self.format.version >= PROPERTIES
            && let Some(entry) = self.entry(op)
        {
            mask |= has::PROPERTIES;
            out.varint(entry);
        }
        if !op.results.is_empty() {
            mask |= has::RESULTS;
            out.varint(op.results.len() as u64);
            op.results.iter().for_each(|&result| out.varint(self.ty(result)));
        }
        if !op.operands.is_empty() {
            mask |= has::OPERANDS;
            out.varint(op.operands.len() as u64);
            for &operand in &op.operands {
                out.varint(self.values.get(operand as usize).map_or(0, |&number| u64::from(number)));
            }
        }
        if !op.successors.is_empty() {
            mask |= has::SUCCESSORS;
            out.varint(op.successors.len() as u64);
            op.successors.iter().for_each(|&block| out.varint(u64::from(block)));
        }
        if op.regions.is_empty() {
            out.set(mask_at, mask);
            return;
        }
        out.set(mask_at, mask | has::REGIONS);
        let isolated = self.isolated.get(self.next_isolated).copied().unwrap_or(false);
        self.next_isolated += 1;
        out.flagged(op.regions.len() as u64, isolated);
        let first = if isolated { 0 } else { first };
        if isolated && self.format.version >= LAZY_LOADING {
            let mut inner = Bytes::default();
            op.regions.iter().for_each(|region| self.region(&mut inner, region, first));
            out.section(section::IR, inner);
        } else {
            op.regions.iter().for_each(|region| self.region(out, region, first));
        }
    }

    fn region(&mut self, out: &mut Bytes<'_>, region: &'p Region, first: u32) {
        out.varint(region.blocks.len() as u64);
        if region.blocks.is_empty() {
            return;
        }
        // All values of a region are numbered before those of nested regions.
        let mut next = first;
        for block in &region.blocks {
            let results = block.ops.iter().flat_map(|op| &op.results);
            for &value in block.args.iter().map(|(value, _)| value).chain(results) {
                if let Some(slot) = self.values.get_mut(value as usize) {
                    *slot = next;
                }
                next += 1;
            }
        }
        out.varint(u64::from(next - first));
        for block in &region.blocks {
            out.flagged(block.ops.len() as u64, !block.args.is_empty());
            if !block.args.is_empty() {
                out.varint(block.args.len() as u64);
                for &(value, loc) in &block.args {
                    let ty = self.ty(value);
                    if self.format.version < ELIDED_ARG_LOCATIONS {
                        out.varint(ty);
                        out.varint(self.attr(loc));
                        continue;
                    }
                    let unknown = self.program.nodes.fields_of(loc, BUILTIN) == Some(&[Field::Int(15)]);
                    out.flagged(ty, !unknown);
                    if !unknown {
                        out.varint(self.attr(loc));
                    }
                }
                if self.format.version >= USE_LIST_ORDERS {
                    // No orders of uses follow.
                    out.byte(0);
                }
            }
            block.ops.iter().for_each(|op| self.op(out, op, next));
        }
    }

    /// Returns the index of the inherent attributes of an operation; `None` if it has no such attributes.
    fn entry(&mut self, op: &Op) -> Option<u64> {
        let mut out = Bytes::default();
        match op.given {
            Some(given) => out.varint(self.attr(given)),
            None => self.native(&mut out, op)?,
        }
        let entry = out.finish();
        if let Some(&known) = self.known.get(&entry) {
            return Some(known);
        }
        let at = self.entries.len() as u64;
        self.known.insert(entry.clone(), at);
        self.entries.push(entry);
        Some(at)
    }

    /// Writes inherent attributes in the order of their names, without the names.
    fn native(&self, out: &mut Bytes<'_>, op: &Op) -> Option<()> {
        let names = op.order.as_ref().filter(|names| !names.is_empty())?;
        let value = |name: &str| {
            let is =
                |(at, _): &&(AttrRef, AttrRef)| self.program.nodes.string_of(*at) == Some(name.as_bytes());
            op.props.iter().find(is).map(|&(_, value)| value)
        };
        let mut packed = Vec::new();
        for &(name, optional) in names {
            match (value(name), optional) {
                _ if is_packed(name, self.format.version) => packed.push(value(name)),
                (Some(value), false) => out.varint(self.attr(value)),
                (Some(value), true) => out.flagged(self.attr(value), true),
                (None, _) => out.varint(0),
            }
        }
        packed.into_iter().for_each(|sizes| self.sizes(out, sizes));
        Some(())
    }

    /// Writes the sizes of groups of operands or results. If at least half of them are zero, the others are written with their places.
    fn sizes(&self, out: &mut Bytes<'_>, at: Option<AttrRef>) {
        let fields = at.and_then(|at| self.program.nodes.fields_of(at, BUILTIN)).unwrap_or(&[]);
        let bytes = fields
            .iter()
            .find_map(|field| if let Field::Blob(bytes) = field { Some(&**bytes) } else { None });
        let (chunks, _) = bytes.unwrap_or(&[]).as_chunks::<4>();
        let sizes: Vec<u64> = chunks.iter().map(|&chunk| u64::from(u32::from_le_bytes(chunk))).collect();
        let given: Vec<(usize, u64)> =
            sizes.iter().copied().enumerate().filter(|&(_, size)| size != 0).collect();
        let last = given.last().map_or(0, |&(at, _)| at);
        if last > MAX_SPARSE || given.len() > sizes.len() / 2 {
            out.flagged(sizes.len() as u64, false);
            sizes.into_iter().for_each(|size| out.varint(size));
            return;
        }
        out.flagged(given.len() as u64, true);
        if given.is_empty() {
            return;
        }
        let bits = usize::BITS - last.leading_zeros();
        out.varint(u64::from(bits));
        given.into_iter().for_each(|(at, size)| out.varint(size << bits | at as u64));
    }
}

/// The greatest place of a size that is not zero in the sparse form.
const MAX_SPARSE: usize = 256;
