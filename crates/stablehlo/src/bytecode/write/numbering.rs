//! The order of attributes, types and operation names in a file.
//!
//! It is the order of MLIR's writer: by the number of references, then grouped by dialect among the entries whose indices take the same
//! number of bytes. Without references, entries are in the order in which they are found: the operations of a region, then the regions of
//! its operations, last region first.

use std::collections::hash_map::Entry as Slot;

use rustc_hash::FxHashMap;

use super::nodes::{Field, Node, Nodes, StrRef};
use super::program::{Format, Op, Program, Region};
use crate::bytecode::attr::{AttrRef, TypeRef};
use crate::bytecode::properties::is_packed;

/// An attribute, a type or an operation name in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<T> {
    /// The attribute, type or name.
    pub(super) item: T,
    /// The number of the dialect.
    pub(super) dialect: u32,
    refs: u32,
}

/// The entries of one kind, in the order of the file once they are sorted.
#[derive(Debug)]
pub(super) struct Order<T> {
    /// The entries.
    pub(super) entries: Vec<Entry<T>>,
    /// The position of each item in `entries`, by its index; `u32::MAX` if it is not in the file.
    places: Vec<u32>,
}

impl<T: Copy> Order<T> {
    fn new(count: usize) -> Self {
        Order { entries: Vec::new(), places: vec![u32::MAX; count] }
    }

    /// Counts a reference to the item with this index. Returns whether it is the first.
    fn count(&mut self, index: u32, item: T) -> bool {
        let Some(place) = self.places.get_mut(index as usize) else { return false };
        if let Some(entry) = self.entries.get_mut(*place as usize) {
            entry.refs += 1;
            return false;
        }
        *place = self.entries.len() as u32;
        self.entries.push(Entry { item, dialect: 0, refs: 1 });
        true
    }

    fn set_dialect(&mut self, index: u32, dialect: u32) {
        let place = self.places.get(index as usize).copied().unwrap_or(u32::MAX);
        if let Some(entry) = self.entries.get_mut(place as usize) {
            entry.dialect = dialect;
        }
    }

    fn sort(&mut self, index: impl Fn(T) -> u32) {
        self.entries.sort_by_key(|entry| std::cmp::Reverse(entry.refs));
        // The numbers of entries per group, and the dialect that comes first in a group, are those of MLIR's writer.
        let (mut rest, mut size, mut first) = (&mut self.entries[..], 0u64, 0);
        for bytes in 1..9u32 {
            size = (1u64 << (7 * bytes)).wrapping_sub(size);
            let count = usize::try_from(size).map_or(rest.len(), |size| size.min(rest.len()));
            let (group, others) = rest.split_at_mut(count);
            group.sort_by_key(|entry| (entry.dialect != first, entry.dialect));
            first = group.last().map_or(first, |entry| entry.dialect);
            rest = others;
            if rest.is_empty() {
                break;
            }
        }
        for (place, entry) in (0..).zip(&self.entries) {
            if let Some(slot) = self.places.get_mut(index(entry.item) as usize) {
                *slot = place;
            }
        }
    }

    /// Returns the position of the item with this index.
    pub(super) fn place(&self, index: u32) -> u64 {
        u64::from(self.places.get(index as usize).copied().unwrap_or(0))
    }
}

/// The contents of a file, numbered.
pub(super) struct Numbering<'p, 'm> {
    program: &'p Program<'m>,
    format: &'p Format,
    pub(super) attrs: Order<AttrRef>,
    pub(super) types: Order<TypeRef>,
    pub(super) names: Order<StrRef>,
    /// The names of the dialects, by number.
    pub(super) dialects: Vec<&'p str>,
    dialect_numbers: FxHashMap<&'p str, u32>,
    /// The keys of the resources to which attributes refer, by dialect.
    pub(super) resources: Vec<(u32, StrRef)>,
}

/// An attribute or type to be numbered.
#[derive(Clone, Copy)]
enum Item {
    Attr(AttrRef),
    Type(TypeRef),
}

impl<'p, 'm> Numbering<'p, 'm> {
    /// Numbers everything that the operations refer to.
    pub(super) fn new(program: &'p Program<'m>, format: &'p Format) -> Self {
        let (attrs, types) = program.nodes.counts();
        let mut numbering = Numbering {
            program,
            format,
            attrs: Order::new(attrs),
            types: Order::new(types),
            names: Order::new(program.nodes.string_count()),
            dialects: Vec::new(),
            dialect_numbers: FxHashMap::default(),
            resources: Vec::new(),
        };
        let mut regions: Vec<&'p Region> = Vec::new();
        if let Some(top) = &program.top {
            numbering.op(top);
            regions.extend(&top.regions);
        }
        while let Some(region) = regions.pop() {
            for block in &region.blocks {
                for &(value, loc) in &block.args {
                    numbering.item(Item::Attr(loc));
                    numbering.item(Item::Type(program.type_of(value)));
                }
                block.ops.iter().for_each(|op| numbering.op(op));
            }
            let ops = region.blocks.iter().flat_map(|block| &block.ops);
            regions.extend(ops.flat_map(|op| &op.regions));
        }
        numbering.attrs.sort(|at| at.0);
        numbering.types.sort(|at| at.0);
        numbering.names.sort(|at| at.0);
        numbering
    }

    fn nodes(&self) -> &'p Nodes<'m> {
        &self.program.nodes
    }

    /// Returns the number of a dialect.
    pub(super) fn dialect(&mut self, name: &'p str) -> u32 {
        match self.dialect_numbers.entry(name) {
            Slot::Occupied(slot) => *slot.get(),
            Slot::Vacant(slot) => {
                self.dialects.push(name);
                *slot.insert(self.dialects.len() as u32 - 1)
            }
        }
    }

    fn op(&mut self, op: &'p Op) {
        if self.names.count(op.name.0, op.name) {
            let name = self.nodes().text(op.name);
            let dialect = self.dialect(name.split_once('.').map_or(name, |(dialect, _)| dialect));
            self.names.set_dialect(op.name.0, dialect);
        }
        for &result in &op.results {
            self.item(Item::Type(self.program.type_of(result)));
        }
        op.dict.iter().for_each(|&dict| self.item(Item::Attr(dict)));
        op.given.iter().for_each(|&given| self.item(Item::Attr(given)));
        if op.order.is_some() {
            // Inherent attributes are in the order of their names, which is their order in the file.
            for &(name, value) in &op.props {
                let name = self.nodes().string_of(name).unwrap_or(b"");
                if !std::str::from_utf8(name).is_ok_and(|name| is_packed(name, self.format.version)) {
                    self.item(Item::Attr(value));
                }
            }
        }
        self.item(Item::Attr(op.loc));
    }

    /// Numbers an attribute or type, and those to which it refers.
    fn item(&mut self, item: Item) {
        let mut stack = vec![item];
        while let Some(item) = stack.pop() {
            let node = match item {
                Item::Attr(at) if self.attrs.count(at.0, at) => self.nodes().attr_at(at),
                Item::Type(at) if self.types.count(at.0, at) => self.nodes().type_at(at),
                Item::Attr(_) | Item::Type(_) => continue,
            };
            let (dialect, fields) = match node {
                Some(Node::Coded { dialect, fields }) => (self.dialect(dialect), &fields[..]),
                Some(Node::Text { dialect, .. }) => {
                    let name = self.nodes().text(*dialect);
                    (self.dialect(name), &[][..])
                }
                None => continue,
            };
            match item {
                Item::Attr(at) => self.attrs.set_dialect(at.0, dialect),
                Item::Type(at) => self.types.set_dialect(at.0, dialect),
            }
            for field in fields {
                if let Field::Resource(key) = field
                    && !self.resources.contains(&(dialect, *key))
                {
                    self.resources.push((dialect, *key));
                }
            }
            // The first reference is numbered first, with all to which it refers.
            stack.extend(fields.iter().rev().filter_map(|field| match field {
                Field::Attr(at) | Field::OptAttr(Some(at)) => Some(Item::Attr(*at)),
                Field::Type(at) => Some(Item::Type(*at)),
                _ => None,
            }));
        }
    }
}
