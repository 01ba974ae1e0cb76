//! Builds a module from records. Each attribute and type is converted to text once, and the text parser builds the operations. So bytecode
//! and text produce the same module. Only the elements of constants are passed to the parser as bytes.

use std::hash::{Hash as _, Hasher as _};

use rustc_hash::{FxHashMap, FxHasher};
use shardc_ir::{Dense, Diagnostic, KeptKind, LocId, Module, OpId, PackedOption, RegionId, TypeId, ValueId};
use smallvec::SmallVec;

use super::attr::{AttrRef, BAttr, BType, TypeRef};
use super::element_type::dtype;
use super::generic;
use super::ir::{Ir, NamedAttr, OpRecord, OpRef, RegionRef};
use super::locs::Locs;
use super::plan::{Plan, plan, walk};
use super::text::Pool;
use crate::codes;
use crate::lexer::{Failure, Res};
use crate::literals::elements::dense;
use crate::parser::records::{Entries, Maker, Record, check_kept, without_place};
use crate::syntax::{AttrType, row};

/// The limit on the text of attributes, in bytes per byte of the file.
const MAX_GROWTH: usize = 64;

/// The text size of attributes that is always permitted.
const MIN_LIMIT: usize = 64 << 20;

/// The maximum number of reported errors.
const MAX_ERRORS: usize = 20;

/// Builds a module from the records of a file of `size` bytes.
pub(super) fn build(ir: &Ir<'_>, size: usize) -> Result<Module, Vec<Diagnostic>> {
    let limit = size.saturating_mul(MAX_GROWTH).saturating_add(MIN_LIMIT).min(u32::MAX as usize - 1);
    let plan = plan(ir);
    let mut texts = Texts::new(ir, limit);
    let kept = texts.kept(&plan).map_err(all_of)?;
    for (op, as_text) in ir.ops.iter().zip(&kept.ops) {
        if *as_text {
            texts.ops.push(None);
            continue;
        }
        let done = texts.op(op);
        done.map_err(|failure| vec![with_place(failure, op, None)])?;
    }
    for &(ty, _) in ir.regions.iter().flat_map(|region| &region.blocks).flat_map(|block| &block.args) {
        texts.pool.ty(ty).map_err(all_of)?;
    }
    let locs = Locs::new(&ir.store, &mut texts.pool).map_err(all_of)?;
    // The text must be complete before operations are built: `Maker` borrows the text, and attributes are ranges of it.
    let Texts { pool, texts, ops, constants, .. } = texts;
    let (text, types) = pool.finish();
    let mut builder = Builder {
        ir,
        maker: Maker::new(&text),
        models: vec![None; texts.len()],
        texts,
        ops,
        type_places: types,
        types: vec![None; ir.store.types.len()],
        locs,
        values: vec![None; ir.values as usize],
        errors: Vec::new(),
        kept: kept.texts,
    };
    for (at, dense, ty) in constants {
        if let Ok(ty) = builder.ty(ty) {
            builder.maker.constant(at, dense, ty);
        }
    }
    builder.top(plan);
    builder.maker.module().resources = ir.resources.as_deref().map(Into::into);
    if builder.errors.is_empty() { Ok(builder.maker.finish()) } else { Err(builder.errors) }
}

fn all_of(failure: Failure) -> Vec<Diagnostic> {
    without_place(failure).into_iter().collect()
}

/// Returns the diagnostic of a failure, with the operation in which it occurred.
fn with_place(failure: Failure, op: &OpRecord<'_>, user_loc: Option<String>) -> Diagnostic {
    let mut diagnostic = without_place(failure).unwrap_or_else(|| {
        Diagnostic::invalid(codes::MALFORMED, "cannot read the operands of this operation")
    });
    if diagnostic.user_loc.is_none() {
        diagnostic.user_loc = user_loc;
    }
    diagnostic.note(shardc_ir::Span::NONE, format!("in the {} at byte {}", op.name, op.offset))
}

/// The inherent (`props`) and discardable attributes of an operation, each as a range of the generated text. Operations with the same name,
/// attributes and result types share it.
struct OpText<'a> {
    props: Entries<'a>,
    attrs: Entries<'a>,
    /// The size in bytes of the attributes' text.
    size: usize,
}

/// The text of attributes, types, and operations kept as text.
struct Texts<'a, 'b> {
    ir: &'a Ir<'b>,
    pool: Pool<'a, 'b>,
    texts: Vec<OpText<'a>>,
    /// The index in `texts` of each operation; `None` for operations kept as text.
    ops: Vec<Option<u32>>,
    /// The index of the last operation with each hash of name, attributes and result types.
    by_hash: FxHashMap<u64, usize>,
    /// Constants whose elements are passed as bytes: the offset of the placeholder in the text, the elements, and the type.
    constants: Vec<(usize, Dense, TypeRef)>,
    /// The total size in bytes of the text of all operations' attributes, and of operations kept as text.
    carried: usize,
    limit: usize,
}

impl<'a, 'b> Texts<'a, 'b> {
    fn new(ir: &'a Ir<'b>, limit: usize) -> Self {
        Texts {
            ir,
            pool: Pool::new(&ir.store, limit),
            texts: Vec::new(),
            ops: Vec::with_capacity(ir.ops.len()),
            by_hash: FxHashMap::default(),
            constants: Vec::new(),
            carried: 0,
            limit,
        }
    }

    /// Writes the operations that the module keeps as text.
    fn kept(&mut self, plan: &Plan) -> Res<KeptTexts> {
        let mut kept = KeptTexts { ops: vec![false; self.ir.ops.len()], texts: FxHashMap::default() };
        let outer = plan.outer.iter().flat_map(|outer| outer.above.iter().chain(&outer.below)).copied();
        let items = plan.items.iter().filter(|(_, kept)| kept.is_some()).map(|&(at, _)| at);
        let all: Vec<OpRef> = outer.chain(items).collect();
        if all.is_empty() {
            return Ok(kept);
        }
        let types = self.ir.value_types();
        for at in all {
            let text = generic::text(self.ir, &mut self.pool, &types, at)?;
            if let (Err(failure), Some(op)) = (check_kept(&text), self.ir.ops.get(at.0 as usize)) {
                return Err(with_place(failure, op, None).into());
            }
            self.carried = self.carried.saturating_add(text.len());
            kept.texts.insert(at.0, text);
            for inner in walk(self.ir, at) {
                if let Some(as_text) = kept.ops.get_mut(inner.0 as usize) {
                    *as_text = true;
                }
            }
        }
        Ok(kept)
    }

    fn op(&mut self, op: &'a OpRecord<'b>) -> Res<()> {
        let earlier = self.by_hash.insert(hash(op), self.ops.len());
        let same = earlier.filter(|&at| self.ir.ops.get(at).is_some_and(|other| is_same(other, op)));
        let shared = same.and_then(|at| self.ops.get(at).copied().flatten());
        let index = match shared {
            Some(index) => index,
            None => self.new_text(op)?,
        };
        // An attribute counts once for each operation that has it, although the text is shared: a small file may refer to a large
        // attribute any number of times.
        let size = self.texts.get(index as usize).map_or(0, |text| text.size);
        self.carried = self.carried.saturating_add(size);
        if self.carried > self.limit {
            let message =
                format!("the attributes of this bytecode take more than {} bytes as text", self.limit);
            return Err(Diagnostic::unsupported(codes::TOO_LARGE, message).into());
        }
        for &ty in &op.results {
            self.pool.ty(ty)?;
        }
        self.ops.push(Some(index));
        Ok(())
    }

    fn new_text(&mut self, op: &'a OpRecord<'b>) -> Res<u32> {
        let mut size = 0;
        let props = self.entries(op, &op.props, &mut size)?;
        let attrs = self.entries(op, &op.attrs, &mut size)?;
        let index = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(OpText { props, attrs, size });
        Ok(index)
    }

    fn entries(
        &mut self,
        op: &OpRecord<'b>,
        named: &'a [NamedAttr<'b>],
        size: &mut usize,
    ) -> Res<Entries<'a>> {
        let mut entries = Entries::with_capacity(named.len());
        for (name, value) in named {
            let range = match self.ir.store.attr(*value) {
                BAttr::Unit => None,
                BAttr::Dense { ty, bytes } if is_constant(op, name) => match self.elements(*ty, bytes) {
                    Some(dense) => {
                        let place = self.pool.placeholder();
                        self.constants.push((place.start, dense, *ty));
                        Some(place)
                    }
                    None => Some(self.pool.attr(*value)?),
                },
                _ => Some(self.pool.attr(*value)?),
            };
            let length = range.as_ref().map_or(0, ExactSizeIterator::len);
            *size = size.saturating_add(name.len()).saturating_add(length);
            entries.push((&**name, range));
        }
        Ok(entries)
    }

    fn elements(&mut self, ty: TypeRef, bytes: &[u8]) -> Option<Dense> {
        let BType::Tensor { shape, element, .. } = self.ir.store.ty(ty) else { return None };
        let dtype = dtype(&self.ir.store, *element)?;
        self.pool.ty(ty).ok()?;
        dense(dtype, shape, bytes)
    }
}

/// Returns the hash of what [`is_same`] compares.
fn hash(op: &OpRecord<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    (&*op.name, op.props.len(), op.attrs.len(), &op.results[..]).hash(&mut hasher);
    for (name, value) in op.props.iter().chain(&op.attrs) {
        (name.len(), value).hash(&mut hasher);
    }
    hasher.finish()
}

/// Whether the names, attributes and result types of two operations are the same.
fn is_same(a: &OpRecord<'_>, b: &OpRecord<'_>) -> bool {
    a.name == b.name && a.results == b.results && a.props == b.props && a.attrs == b.attrs
}

/// Operations that the module keeps as text.
struct KeptTexts {
    /// Whether each operation is inside an operation kept as text, by index of the operation.
    ops: Vec<bool>,
    /// The texts, by index of the operation.
    texts: FxHashMap<u32, String>,
}

/// Whether the attribute is the value of a constant, whose elements a module stores as bytes.
fn is_constant(op: &OpRecord<'_>, name: &str) -> bool {
    row(&op.name).and_then(|row| row.attr(name)).is_some_and(|(_, ty)| ty == AttrType::Dense)
}

struct Builder<'a, 'b> {
    ir: &'a Ir<'b>,
    maker: Maker<'a>,
    texts: Vec<OpText<'a>>,
    /// The index in `texts` of each operation; `None` for operations kept as text.
    ops: Vec<Option<u32>>,
    /// The last operation without regions that has each of the `texts`: an operation whose operands have the same types is a copy of it.
    models: Vec<Option<OpId>>,
    /// The offset in the text at which each type starts, by type index; `None` if no text refers to the type.
    type_places: Vec<Option<usize>>,
    types: Vec<Option<TypeId>>,
    locs: Locs,
    values: Vec<Option<ValueId>>,
    errors: Vec<Diagnostic>,
    /// The texts of operations kept as text, by index of the operation.
    kept: FxHashMap<u32, String>,
}

impl<'a, 'b> Builder<'a, 'b> {
    fn ty(&mut self, at: TypeRef) -> Res<TypeId> {
        let index = at.0 as usize;
        if let Some(Some(ty)) = self.types.get(index) {
            return Ok(*ty);
        }
        let Some(Some(place)) = self.type_places.get(index).copied() else {
            return Err(Diagnostic::internal(codes::MALFORMED, "a bytecode type has no textual form").into());
        };
        let ty = self.maker.ty(place)?;
        if let Some(slot) = self.types.get_mut(index) {
            *slot = Some(ty);
        }
        Ok(ty)
    }

    fn loc(&mut self, at: AttrRef) -> Res<LocId> {
        self.locs.get(&self.ir.store, &mut self.maker, at)
    }

    /// Builds the enclosing modules, the module and its items.
    fn top(&mut self, plan: Plan) {
        let inner: Vec<Option<OpRef>> = plan.outer.iter().skip(1).map(|outer| outer.op).collect();
        for (outer, inner) in plan.outer.into_iter().zip(inner.into_iter().chain([plan.module])) {
            self.describe(outer.op);
            for &at in outer.above.iter().chain(&inner).chain(&outer.below) {
                self.symbol(at);
            }
            let mut texts = |items: Vec<OpRef>| -> Vec<Box<str>> {
                items.iter().filter_map(|at| self.kept.remove(&at.0)).map(Into::into).collect()
            };
            let (above, below) = (texts(outer.above), texts(outer.below));
            self.maker.enclose(above, below);
        }
        self.describe(plan.module);
        self.items(&plan.items);
    }

    /// Defines the symbol of an operation outside the program, so that duplicates are reported.
    fn symbol(&mut self, at: OpRef) {
        let ir = self.ir;
        let Some(op) = ir.ops.get(at.0 as usize) else { return };
        if let Some(name) = op.attr("sym_name").and_then(|name| ir.store.text(name)) {
            let done = self.maker.symbol(name);
            self.tell(done, op);
        }
    }

    /// Sets the name, attributes and location of a module.
    fn describe(&mut self, at: Option<OpRef>) {
        let ir = self.ir;
        if let Some(at) = at
            && let Some(op) = ir.ops.get(at.0 as usize)
        {
            let done = self.record(at, op).and_then(|record| self.maker.describe(record));
            self.tell(done, op);
        }
    }

    /// If building the operation `op` failed, records the error.
    fn tell<T>(&mut self, done: Res<T>, op: &OpRecord<'_>) {
        let Err(failure) = done else { return };
        if matches!(failure, Failure::Silent) && !self.errors.is_empty() {
            return;
        }
        let place = self.loc(op.loc).ok().and_then(|loc| {
            let (file, line, col) = self.maker.module().locs.file_position(loc)?;
            Some(format!("{file}:{line}:{col}"))
        });
        self.errors.push(with_place(failure, op, place));
    }

    /// Builds the items of a module. Meshes come first, because earlier functions may use them.
    fn items(&mut self, items: &[(OpRef, Option<KeptKind>)]) {
        let ir = self.ir;
        let ops = || items.iter().filter_map(|&(at, kept)| Some((at, ir.ops.get(at.0 as usize)?, kept)));
        let mut meshes = Vec::new();
        for (at, op, _) in ops().filter(|(_, op, _)| op.name == "sdy.mesh") {
            let made = self.record(at, op).and_then(|record| {
                let loc = record.loc;
                Ok((at, self.maker.mesh(record)?, loc))
            });
            match made {
                Ok(mesh) => meshes.push(mesh),
                Err(failure) => self.tell::<()>(Err(failure), op),
            }
        }
        let mut meshes = meshes.into_iter().peekable();
        let mut others_above = 0;
        for (at, op, kept) in ops() {
            if self.errors.len() >= MAX_ERRORS {
                return;
            }
            if let Some(kind) = kept {
                let name = op.attr("sym_name").and_then(|name| ir.store.text(name));
                let text = self.kept.remove(&at.0).unwrap_or_default();
                let done = self.maker.keep(kind, name, text, others_above);
                self.tell(done, op);
                others_above += 1;
            } else if op.name == "sdy.mesh" {
                if let Some((_, name, loc)) = meshes.next_if(|(mesh, ..)| *mesh == at) {
                    self.maker.place_mesh(&name, loc, others_above);
                }
                others_above += 1;
            } else {
                let errors = self.errors.len();
                let done = self.func(at, op);
                if self.errors.len() == errors {
                    self.tell(done, op);
                }
            }
        }
    }

    fn func(&mut self, at: OpRef, op: &'a OpRecord<'b>) -> Res<()> {
        let [body] = op.regions[..] else {
            return Err(Diagnostic::invalid(codes::COUNT, "a function must have one region").into());
        };
        let mut record = self.record(at, op)?;
        let empty = self.ir.regions.get(body.0 as usize).is_none_or(|region| region.blocks.is_empty());
        if !empty {
            record.regions.push(self.region(body)?);
        }
        self.maker.func(record)
    }

    /// Returns the record of an operation without its regions.
    fn record(&mut self, at: OpRef, op: &'a OpRecord<'b>) -> Res<Record<'a>> {
        let text = self.text_of(at).and_then(|index| self.texts.get(index));
        let (props, attrs) =
            text.map_or_else(Default::default, |text| (text.props.clone(), text.attrs.clone()));
        let mut operands = SmallVec::with_capacity(op.operands.len());
        for &value in &op.operands {
            match self.values.get(value as usize).copied().flatten() {
                Some(value) => operands.push(value),
                None => {
                    let message = "an operand is used before its definition";
                    return Err(Diagnostic::invalid(codes::UNKNOWN_VALUE, message).into());
                }
            }
        }
        let results = op.results.iter().map(|&ty| self.ty(ty)).collect::<Res<_>>()?;
        let loc = Some(self.loc(op.loc)?);
        Ok(Record { name: &op.name, props, attrs, operands, results, regions: SmallVec::new(), loc })
    }

    fn region(&mut self, at: RegionRef) -> Res<RegionId> {
        let ir = self.ir;
        let blocks = ir.regions.get(at.0 as usize).map_or(&[][..], |region| &region.blocks);
        let region = self.maker.module().add_region(&[]);
        let [block] = blocks else {
            if blocks.is_empty() {
                return Ok(region);
            }
            // Valid programs do not reach this line: functions with several blocks are kept as text.
            return Err(Diagnostic::internal(codes::NOT_READ, "a region with several blocks").into());
        };
        let mut locs: Vec<PackedOption<LocId>> = Vec::with_capacity(block.args.len());
        for (number, &(ty, loc)) in (block.first_value..).zip(&block.args) {
            let ty = self.ty(ty)?;
            let value = self.maker.module().add_arg(region, ty);
            self.define(number, value);
            locs.push(match loc {
                Some(loc) => self.loc(loc)?.into(),
                None => self.maker.loc(shardc_ir::Loc::Unknown)?.into(),
            });
        }
        self.maker.arg_locs(region, locs);
        let mut ops = Vec::with_capacity(block.ops.len());
        for &at in &block.ops {
            let Some(op) = ir.ops.get(at.0 as usize) else { continue };
            let errors = self.errors.len();
            match self.op(at, op) {
                Ok(op) => ops.push(op),
                Err(failure) => {
                    // If the operation failed because of an error inside its region, that error is already recorded.
                    if self.errors.len() == errors {
                        self.tell::<()>(Err(failure), op);
                    }
                    return Err(Failure::Silent);
                }
            }
        }
        self.maker.module().set_ops(region, ops);
        Ok(region)
    }

    fn define(&mut self, number: u32, value: ValueId) {
        if let Some(slot) = self.values.get_mut(number as usize) {
            *slot = Some(value);
        }
    }

    fn op(&mut self, at: OpRef, op: &'a OpRecord<'b>) -> Res<OpId> {
        if matches!(&*op.name, "func.func" | "builtin.module" | "sdy.mesh") {
            let message = format!("{} is allowed only at the top level", op.name);
            return Err(Diagnostic::unsupported(codes::NOT_READ, message).into());
        }
        let id = match self.copy_of_model(at, op)? {
            Some(id) => id,
            None => self.new_op(at, op)?,
        };
        let results = self.maker.module().ops[id].results.clone();
        for (number, value) in (op.first_value..).zip(results) {
            self.define(number, value);
        }
        Ok(id)
    }

    /// Returns the index in `texts` of an operation.
    fn text_of(&self, at: OpRef) -> Option<usize> {
        self.ops.get(at.0 as usize).copied().flatten().map(|index| index as usize)
    }

    /// Builds an operation as a copy of an earlier one, if there is one with the same text and operands of the same types.
    fn copy_of_model(&mut self, at: OpRef, op: &OpRecord<'b>) -> Res<Option<OpId>> {
        let model = self.text_of(at).and_then(|index| self.models.get(index).copied().flatten());
        let Some(model) = model.filter(|_| op.regions.is_empty()) else { return Ok(None) };
        let module = self.maker.module();
        let expected = &module.ops[model].operands;
        let mut operands = SmallVec::with_capacity(expected.len());
        for (&number, &other) in op.operands.iter().zip(expected) {
            match self.values.get(number as usize).copied().flatten() {
                Some(value) if module.values[value].ty == module.values[other].ty => operands.push(value),
                _ => return Ok(None),
            }
        }
        if op.operands.len() != expected.len() {
            return Ok(None);
        }
        let loc = self.loc(op.loc)?;
        Ok(Some(self.maker.copy(model, operands, loc)))
    }

    fn new_op(&mut self, at: OpRef, op: &'a OpRecord<'b>) -> Res<OpId> {
        let mut record = self.record(at, op)?;
        for &region in &op.regions {
            record.regions.push(self.region(region)?);
        }
        let id = self.maker.op(record)?;
        if op.regions.is_empty()
            && let Some(slot) = self.text_of(at).and_then(|index| self.models.get_mut(index))
        {
            *slot = Some(id);
        }
        Ok(id)
    }
}
