//! The operations of a file, decoded to records.

use std::borrow::Cow;

use shardc_ir::Diagnostic;
use smallvec::SmallVec;

use super::attr::{AttrRef, BAttr, TypeRef};
use super::file::{File, PROPERTIES};
use super::ir::{BlockRecord, Ir, NamedAttr, OpRecord, OpRef, RegionRecord, RegionRef};
use super::properties;
use super::reader::{ByteCursor, section};
use crate::codes;
use crate::lexer::Res;

/// The maximum nesting of regions: that of the text parser, plus the module's region.
const MAX_DEPTH: u32 = crate::parser::MAX_DEPTH + 1;

/// From this version on, regions that are isolated from above are stored in separate sections.
pub(super) const LAZY_LOADING: u64 = 2;

/// From this version on, use-list orders are encoded.
pub(super) const USE_LIST_ORDERS: u64 = 3;

/// From this version on, unknown locations of block arguments are omitted.
pub(super) const ELIDED_ARG_LOCATIONS: u64 = 4;

/// The flags of an operation's record: which fields are present.
pub(super) mod has {
    pub(in crate::bytecode) const ATTRS: u8 = 1;
    pub(in crate::bytecode) const RESULTS: u8 = 1 << 1;
    pub(in crate::bytecode) const OPERANDS: u8 = 1 << 2;
    pub(in crate::bytecode) const SUCCESSORS: u8 = 1 << 3;
    pub(in crate::bytecode) const REGIONS: u8 = 1 << 4;
    pub(in crate::bytecode) const USE_LIST_ORDERS: u8 = 1 << 5;
    pub(in crate::bytecode) const PROPERTIES: u8 = 1 << 6;
}

/// The value numbers of a region. In the file, they start at `first` and count from the enclosing isolated region. `base` is the number of
/// the region's first value in the whole program.
#[derive(Clone, Copy)]
struct Values {
    first: u32,
    base: u32,
    count: u32,
    defined: u32,
}

struct Body<'b> {
    file: File<'b>,
    ir: Ir<'b>,
    /// The value numbers of each enclosing region, outermost first.
    scopes: Vec<Values>,
    /// The index in `scopes` of the innermost isolated region.
    isolated: usize,
    depth: u32,
}

/// Decodes the section of operations.
pub(super) fn read<'b>(file: File<'b>, mut c: ByteCursor<'b>) -> Res<Ir<'b>> {
    let mut body = Body { file, ir: Ir::default(), scopes: Vec::new(), isolated: 0, depth: 0 };
    let top = body.block(&mut c)?;
    c.end("the operations")?;
    body.ir.top = top.ops;
    body.ir.store = body.file.store;
    Ok(body.ir)
}

impl<'b> Body<'b> {
    fn attr(&self, c: &mut ByteCursor<'b>) -> Res<AttrRef> {
        c.index(self.file.store.attrs.len(), "an attribute").map(AttrRef)
    }

    fn ty(&self, c: &mut ByteCursor<'b>) -> Res<TypeRef> {
        c.index(self.file.store.types.len(), "a type").map(TypeRef)
    }

    /// Defines the next `count` values of the current region. Returns the index of the first in the whole program.
    fn define(&mut self, c: &ByteCursor<'b>, count: usize) -> Res<u32> {
        let Some(scope) = self.scopes.last_mut() else {
            return if count == 0 {
                Ok(0)
            } else {
                Err(c.malformed("values outside of regions are not allowed"))
            };
        };
        let first = scope.defined;
        match u32::try_from(count).ok().and_then(|count| first.checked_add(count)) {
            Some(end) if end <= scope.count => {
                scope.defined = end;
                Ok(scope.base + first)
            }
            _ => Err(c.malformed(format!("expected {} values in this region, found more", scope.count))),
        }
    }

    /// Reads an operand, and returns its value number in the whole program. The file stores value numbers that count from the enclosing
    /// isolated region.
    fn operand(&self, c: &mut ByteCursor<'b>) -> Res<u32> {
        let scopes = self.scopes.get(self.isolated..).unwrap_or(&[]);
        let limit = scopes.last().map_or(0, |scope| scope.first + scope.count);
        let at = c.index(limit as usize, "a value")?;
        let scope = scopes.partition_point(|scope| scope.first + scope.count <= at);
        Ok(scopes.get(scope).map_or(0, |scope| scope.base + (at - scope.first)))
    }

    fn region(&mut self, c: &mut ByteCursor<'b>) -> Res<RegionRecord> {
        let blocks = c.count("blocks")?;
        if blocks == 0 {
            return Ok(RegionRecord::default());
        }
        let place = *c;
        // The number of values is limited by the remaining bytes: each value has a type, which takes at least one byte.
        let count = c.count("values")?;
        let Some((count, base, end)) = u32::try_from(count)
            .ok()
            .and_then(|count| Some((count, self.ir.values, self.ir.values.checked_add(count)?)))
        else {
            return Err(place.malformed("expected fewer than 4294967296 values"));
        };
        self.ir.values = end;
        let scopes = self.scopes.get(self.isolated..).unwrap_or(&[]);
        let first = scopes.last().map_or(0, |scope| scope.first + scope.count);
        if first.checked_add(count).is_none() {
            return Err(place.malformed("expected fewer than 4294967296 values"));
        }
        self.scopes.push(Values { first, base, count, defined: 0 });
        let blocks = (0..blocks).map(|_| self.block(c)).collect::<Res<_>>()?;
        // The declared number of values must be exact, so that no table is longer than the file.
        if let Some(scope) = self.scopes.pop().filter(|scope| scope.defined != count) {
            return Err(
                c.malformed(format!("expected {count} values in this region, found {}", scope.defined))
            );
        }
        Ok(RegionRecord { blocks })
    }

    fn block(&mut self, c: &mut ByteCursor<'b>) -> Res<BlockRecord> {
        let (count, has_args) = c.flagged_count("operations")?;
        let mut block = BlockRecord::default();
        if has_args {
            let args = c.count("arguments")?;
            for _ in 0..args {
                block.args.push(self.arg(c)?);
            }
            block.first_value = self.define(c, args)?;
            if self.file.version >= USE_LIST_ORDERS && c.bool()? {
                use_list_orders(c, args)?;
            }
        }
        for _ in 0..count {
            let op = self.op(c)?;
            block.ops.push(op);
        }
        Ok(block)
    }

    fn arg(&mut self, c: &mut ByteCursor<'b>) -> Res<(TypeRef, Option<AttrRef>)> {
        if self.file.version < ELIDED_ARG_LOCATIONS {
            let ty = self.ty(c)?;
            return Ok((ty, Some(self.attr(c)?)));
        }
        let place = *c;
        let (at, has_loc) = c.flagged()?;
        let ty = TypeRef(place.indexed(at, self.file.store.types.len(), "a type")?);
        let loc = if has_loc { Some(self.attr(c)?) } else { None };
        Ok((ty, loc))
    }

    fn op(&mut self, c: &mut ByteCursor<'b>) -> Res<OpRef> {
        let place = *c;
        let name = c.index(self.file.ops.len(), "an operation name")?;
        let Some(name) = self.file.ops.get(name as usize) else {
            return Err(place.malformed("expected an operation name"));
        };
        let (name, registered) = (name.name.clone(), name.registered);
        let mask = c.byte()?;
        let mut op = OpRecord {
            name: name.into(),
            offset: place.offset(),
            loc: self.attr(c)?,
            attrs: Vec::new(),
            props: Vec::new(),
            results: SmallVec::new(),
            operands: SmallVec::new(),
            successors: SmallVec::new(),
            regions: SmallVec::new(),
            first_value: 0,
        };
        if mask & has::ATTRS != 0 {
            let at = *c;
            let dict = self.attr(c)?;
            op.attrs = self.dict(&at, dict)?;
            if self.file.version < PROPERTIES {
                let all = std::mem::take(&mut op.attrs);
                (op.props, op.attrs) =
                    all.into_iter().partition(|(name, _)| properties::is_inherent(&op.name, name));
            }
        }
        if mask & has::PROPERTIES != 0 {
            let Some(registered) = registered else {
                let message = format!("expected no properties before version {PROPERTIES} of the format");
                return Err(c.malformed(message));
            };
            op.props = self.properties(c, &op.name, registered)?;
        }
        if mask & has::RESULTS != 0 {
            for _ in 0..c.count("results")? {
                op.results.push(self.ty(c)?);
            }
        }
        if mask & has::OPERANDS != 0 {
            for _ in 0..c.count("operands")? {
                op.operands.push(self.operand(c)?);
            }
        }
        if mask & has::SUCCESSORS != 0 {
            for _ in 0..c.count("successors")? {
                op.successors.push(c.index(u32::MAX as usize, "a block")?);
            }
        }
        if self.file.version >= USE_LIST_ORDERS && mask & has::USE_LIST_ORDERS != 0 {
            use_list_orders(c, op.results.len())?;
        }
        op.first_value = if self.scopes.is_empty() { 0 } else { self.define(c, op.results.len())? };
        if mask & has::REGIONS != 0 {
            let (count, isolated) = c.flagged_count("regions")?;
            op.regions = self.regions(c, count, isolated)?;
        }
        let at = u32::try_from(self.ir.ops.len()).unwrap_or(u32::MAX);
        self.ir.ops.push(op);
        Ok(OpRef(at))
    }

    fn regions(
        &mut self,
        c: &mut ByteCursor<'b>,
        count: usize,
        isolated: bool,
    ) -> Res<SmallVec<[RegionRef; 1]>> {
        if count == 0 {
            return Ok(SmallVec::new());
        }
        if self.depth >= MAX_DEPTH {
            let message =
                format!("regions are nested more than {MAX_DEPTH} levels deep, at byte {}", c.offset());
            return Err(Diagnostic::unsupported(codes::NESTING, message).into());
        }
        self.depth += 1;
        let outer = self.isolated;
        if isolated {
            self.isolated = self.scopes.len();
        }
        let mut own = None;
        if isolated && self.file.version >= LAZY_LOADING {
            let place = *c;
            let (id, contents) = c.section()?;
            if id != section::IR {
                let message =
                    format!("expected a section of operations, found a {} section", section::name(id));
                return Err(place.malformed(message));
            }
            own = Some(contents);
        }
        let c = own.as_mut().unwrap_or(c);
        let mut regions = SmallVec::new();
        for _ in 0..count {
            let region = self.region(c)?;
            regions.push(RegionRef(u32::try_from(self.ir.regions.len()).unwrap_or(u32::MAX)));
            self.ir.regions.push(region);
        }
        if let Some(own) = own {
            own.end("the regions of an operation")?;
        }
        self.isolated = outer;
        self.depth -= 1;
        Ok(regions)
    }

    /// Returns the entries of a dictionary attribute.
    fn dict(&self, place: &ByteCursor<'b>, at: AttrRef) -> Res<Vec<NamedAttr<'b>>> {
        let BAttr::Dict(entries) = self.file.store.attr(at) else {
            return Err(place.malformed("expected a dictionary of attributes"));
        };
        if let Some(name) = self.file.store.repeated_name(entries) {
            return Err(place.malformed(format!("this dictionary has the key `{name}` twice")));
        }
        entries
            .iter()
            .map(|&(name, value)| match self.file.store.attr(name) {
                BAttr::Str { bytes: Cow::Borrowed(bytes), .. } => std::str::from_utf8(bytes)
                    .map(|name| (Cow::Borrowed(name), value))
                    .map_err(|_| place.malformed("expected UTF-8 names in this dictionary")),
                _ => Err(place.malformed("expected strings as names in this dictionary")),
            })
            .collect()
    }

    /// Reads the inherent attributes of an operation. They are encoded as a dictionary if the writer did not register the operation.
    fn properties(&mut self, c: &mut ByteCursor<'b>, op: &str, registered: bool) -> Res<Vec<NamedAttr<'b>>> {
        let at = c.index(self.file.properties.len(), "a properties entry")?;
        let Some(&entry) = self.file.properties.get(at as usize) else { return Ok(Vec::new()) };
        if registered {
            return properties::read(&mut self.file.store, op, entry, self.file.version);
        }
        let mut entry = entry;
        let place = entry;
        let dict = self.attr(&mut entry)?;
        entry.end("the properties of an operation")?;
        self.dict(&place, dict)
    }
}

/// Skips use-list orders, which a module does not store.
fn use_list_orders(c: &mut ByteCursor<'_>, values: usize) -> Res<()> {
    let count = if values > 1 { c.count("use-list orders")? } else { 1 };
    for _ in 0..count {
        if values > 1 {
            c.index(values, "a value")?;
        }
        let (indices, _) = c.flagged_count("uses")?;
        for _ in 0..indices {
            c.varint()?;
        }
    }
    Ok(())
}
