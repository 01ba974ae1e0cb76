//! A module as operations with encoded attributes.

use shardc_ir::{Dense, Diagnostic, Func, Loc, LocId, MeshId, Module, OpId, OpKind, PackedOption, RegionId};
use shardc_ir::{SecondaryMap, TypeId, ValueId};

use super::nodes::{Field, code};
use super::program::{Block, Op, Program, Region};
use super::text;
use crate::bytecode::attr::{AttrRef, TypeRef};
use crate::codes;
use crate::printer::outline::{self, Item, Named, Outline, Parent, Parts, Value};

/// Converts a module to operations.
pub(super) fn lower(module: &Module, locations: bool) -> Result<Program<'_>, Diagnostic> {
    let mut program = Program::default();
    let unknown = program.nodes.unknown_loc();
    let mut lowerer = Lowerer {
        module,
        outline: Outline::new(module),
        program,
        unknown,
        locs: Vec::new(),
        types: SecondaryMap::new(),
        values: SecondaryMap::new(),
    };
    if locations {
        lowerer.locs()?;
    }
    lowerer.top()?;
    Ok(lowerer.program)
}

struct Lowerer<'m> {
    module: &'m Module,
    outline: Outline<'m>,
    program: Program<'m>,
    unknown: AttrRef,
    /// The attribute of each location, by its number; empty if locations are not written.
    locs: Vec<AttrRef>,
    types: SecondaryMap<TypeId, Option<TypeRef>>,
    /// The number of each value.
    values: SecondaryMap<ValueId, u32>,
}

impl<'m> Lowerer<'m> {
    /// Adds the locations of the module. The parts of a location precede it.
    fn locs(&mut self) -> Result<(), Diagnostic> {
        let module = self.module;
        for index in 0..module.locs.len() {
            let loc = module.locs.get(LocId::from_u32(index as u32));
            let made = self.made_loc(loc)?;
            self.locs.push(made);
        }
        Ok(())
    }

    fn made_loc(&mut self, loc: &'m Loc) -> Result<AttrRef, Diagnostic> {
        let nodes = &mut self.program.nodes;
        let known = |id: LocId| self.locs.get(id.as_u32() as usize).copied().unwrap_or(self.unknown);
        Ok(match loc {
            Loc::Unknown => self.unknown,
            Loc::File { file, line, col, to } => {
                let (line, col) = (u64::from(*line), u64::from(*col));
                let end = to.as_deref().map(|to| text::range_end(nodes, to, line)).transpose()?;
                nodes.file_loc(file.as_bytes(), text::Position { line, col, end })
            }
            Loc::Name { name, child } => {
                let child = child.map_or(self.unknown, known);
                // MLIR has no named location with an empty name.
                if name.is_empty() { child } else { nodes.name_loc(name.as_bytes(), child) }
            }
            Loc::CallSite { callee, caller } => nodes.call_loc(known(*callee), known(*caller)),
            Loc::Fused { metadata, children } => {
                let metadata = metadata.as_deref().map(|text| text::attr(nodes, text)).transpose()?;
                let children: Vec<_> = children.iter().map(|&id| known(id)).collect();
                nodes.fused_loc(&children, metadata)
            }
            Loc::Raw(text) => text::loc(nodes, text.trim())?,
        })
    }

    fn loc(&self, loc: PackedOption<LocId>) -> AttrRef {
        let known = loc.expand().and_then(|id| self.locs.get(id.as_u32() as usize));
        known.copied().unwrap_or(self.unknown)
    }

    fn ty(&mut self, id: TypeId) -> Result<TypeRef, Diagnostic> {
        if let Some(known) = self.types[id] {
            return Ok(known);
        }
        let ty = text::ty(&mut self.program.nodes, &self.module.types.display(id))?;
        self.types[id] = Some(ty);
        Ok(ty)
    }

    fn named(&mut self, named: Named<'m>) -> Result<Vec<(AttrRef, AttrRef)>, Diagnostic> {
        let mut entries = Vec::with_capacity(named.len() + 3);
        for (name, value) in named {
            let nodes = &mut self.program.nodes;
            let value = match value {
                Value::Text(text) => text::attr(nodes, &text)?,
                Value::Groups(groups) => match nodes.groups.get(&groups) {
                    Some(&known) => known,
                    None => {
                        let ids: Vec<i64> = groups.ids().collect();
                        let width = groups.first().map_or(0, shardc_ir::Group::len);
                        let made = nodes.int_tensor(&[groups.len() as i64, width as i64], &ids);
                        nodes.groups.insert(groups, made);
                        made
                    }
                },
            };
            entries.push((nodes.name(&name), value));
        }
        Ok(entries)
    }

    /// Adds the modules that enclose the program, the module and its items.
    fn top(&mut self) -> Result<(), Diagnostic> {
        let module = self.module;
        let mut ops = Vec::new();
        for item in self.outline.items() {
            let op = match item {
                Item::Mesh(mesh) => self.mesh(mesh)?,
                Item::Func(func) => self.func(func)?,
                Item::Kept(kept) => {
                    self.kept(&kept.text, || kept.describe()).map_err(|error| error.at(kept.span))?
                }
            };
            ops.push(op);
        }
        let mut whole = self.module_op(module.name.as_deref(), &module.attrs, module.loc, ops)?;
        let outside = || "an operation outside the program".to_owned();
        for outer in module.enclosing.iter().rev() {
            let mut ops = Vec::new();
            for text in &outer.above {
                ops.push(self.kept(text, outside)?);
            }
            ops.push(whole);
            for text in &outer.below {
                ops.push(self.kept(text, outside)?);
            }
            whole = self.module_op(outer.name.as_deref(), &outer.attrs, outer.loc, ops)?;
        }
        self.program.top = Some(whole);
        self.program.resources = module.resources.as_deref();
        Ok(())
    }

    /// Adds an operation that the module keeps as text.
    fn kept(&mut self, text: &str, describe: impl FnOnce() -> String) -> Result<Op, Diagnostic> {
        // Only a dialect itself knows its syntax.
        if !text.starts_with(['"', '%']) {
            let message =
                format!("cannot encode {}, which is kept as text in the syntax of its dialect", describe());
            return Err(Diagnostic::unsupported(codes::NOT_WRITTEN, message)
                .hint("write it in MLIR's generic form, or write the module as text"));
        }
        super::kept::op(&mut self.program, text)
    }

    fn module_op(
        &mut self,
        name: Option<&str>,
        attrs: &'m shardc_ir::AttrDict,
        loc: PackedOption<LocId>,
        ops: Vec<Op>,
    ) -> Result<Op, Diagnostic> {
        let mut op = self.program.op("builtin.module", self.loc(loc));
        if let Some(name) = name {
            let nodes = &mut self.program.nodes;
            op.props.push((nodes.name("sym_name"), nodes.string(name.as_bytes().to_vec())));
        }
        op.attrs = self.named(outline::dict(attrs))?;
        op.regions.push(Region { blocks: vec![Block { args: Vec::new(), ops }] });
        Ok(op)
    }

    fn mesh(&mut self, id: MeshId) -> Result<Op, Diagnostic> {
        let module = self.module;
        let loc = self.loc(module.mesh_places[id].loc);
        let mut op = self.with_parts(self.outline.mesh(id), loc)?;
        let nodes = &mut self.program.nodes;
        let name = nodes.string(module.mesh_name(id).as_bytes().to_vec());
        op.props.push((nodes.name("sym_name"), name));
        Ok(op)
    }

    /// Creates an operation with the name and the attributes of `parts`.
    fn with_parts(&mut self, parts: Parts<'m>, loc: AttrRef) -> Result<Op, Diagnostic> {
        let mut op = self.program.op(parts.name, loc);
        op.props = self.named(parts.props)?;
        op.attrs = self.named(parts.attrs)?;
        Ok(op)
    }

    fn func(&mut self, func: &'m Func) -> Result<Op, Diagnostic> {
        let at = |error: Diagnostic| if error.span.is_some() { error } else { error.at(func.span) };
        let loc = self.loc(func.loc);
        let mut op = self.with_parts(self.outline.func(func), loc).map_err(at)?;
        let mut fields = code(2);
        for list in [&func.params, &func.results] {
            fields.push(Field::Int(list.len() as u64));
            for &ty in list.iter() {
                fields.push(Field::Type(self.ty(ty).map_err(at)?));
            }
        }
        let nodes = &mut self.program.nodes;
        let ty = nodes.builtin_type(fields);
        let ty = nodes.builtin([Field::Int(6), Field::Type(ty)]);
        op.props.push((nodes.name("function_type"), ty));
        op.props.push((nodes.name("sym_name"), nodes.string(func.name.as_bytes().to_vec())));
        if let Some(word) = func.visibility.word() {
            op.props.push((nodes.name("sym_visibility"), nodes.string(word.as_bytes().to_vec())));
        }
        let blocks = match func.body {
            Some(body) => vec![self.block(body, &func.arg_locs, loc, Parent::Func).map_err(at)?],
            None => Vec::new(),
        };
        op.regions.push(Region { blocks });
        Ok(op)
    }

    /// Adds the only block of a region.
    fn block(
        &mut self,
        region: RegionId,
        locs: &[PackedOption<LocId>],
        default: AttrRef,
        parent: Parent,
    ) -> Result<Block, Diagnostic> {
        let data = &self.module.regions[region];
        let mut block =
            Block { args: Vec::with_capacity(data.args.len()), ops: Vec::with_capacity(data.ops.len()) };
        for (i, &arg) in data.args.iter().enumerate() {
            let loc = locs.get(i).map_or(default, |&loc| self.loc(loc));
            let value = self.define(arg)?;
            block.args.push((value, loc));
        }
        for &op in &data.ops {
            let made = self.op(op, parent).map_err(|error| located(self.module, error, op))?;
            block.ops.push(made);
        }
        Ok(block)
    }

    fn define(&mut self, value: ValueId) -> Result<u32, Diagnostic> {
        let ty = self.ty(self.module.values[value].ty)?;
        let number = self.program.value(ty);
        // Zero stands for a value without definition.
        self.values[value] = number + 1;
        Ok(number)
    }

    fn op(&mut self, id: OpId, parent: Parent) -> Result<Op, Diagnostic> {
        let module = self.module;
        let data = &module.ops[id];
        let loc = self.loc(data.loc);
        let mut op = self.with_parts(self.outline.op(id, parent), loc)?;
        op.origin = Some(id);
        if let (OpKind::Constant(dense), &[result]) = (&data.kind, &data.results[..]) {
            let value = self.constant(dense, module.values[result].ty)?;
            op.props.push((self.program.nodes.name("value"), value));
        }
        for &operand in &data.operands {
            match self.values[operand].checked_sub(1) {
                Some(number) => op.operands.push(number),
                None => {
                    let message = format!("{operand} is used before its definition");
                    return Err(Diagnostic::internal(codes::UNKNOWN_VALUE, message));
                }
            }
        }
        for &region in &data.regions {
            let locs = self.outline.arg_locs(region);
            let block = self.block(region, locs, loc, Parent::of(module, id))?;
            // An empty block without arguments is an empty region.
            let empty = block.args.is_empty() && block.ops.is_empty();
            op.regions.push(Region { blocks: if empty { Vec::new() } else { vec![block] } });
        }
        for &result in &data.results {
            let number = self.define(result)?;
            op.results.push(number);
        }
        Ok(op)
    }

    fn constant(&mut self, dense: &'m Dense, ty: TypeId) -> Result<AttrRef, Diagnostic> {
        let module = self.module;
        let tensor = module.types.as_tensor(ty);
        let count = tensor.and_then(|tensor| usize::try_from(tensor.num_elements()?).ok());
        if let (Some(tensor), Some(count)) = (tensor, count)
            && let Some(bytes) = text::stored(tensor.dtype, dense, count)
        {
            let ty = self.ty(ty)?;
            return Ok(text::constant(&mut self.program.nodes, ty, bytes));
        }
        // Constants of quantized types, resources, and constants that a module keeps as text.
        let mut written = String::new();
        crate::literals::dense::push(&mut written, module, dense, Some(ty));
        text::attr(&mut self.program.nodes, &written)
    }
}

/// Adds the location of `op` to an error that has none.
pub(super) fn located(module: &Module, error: Diagnostic, op: OpId) -> Diagnostic {
    if error.user_loc.is_some() || error.span.is_some() {
        return error;
    }
    let user_loc = module.user_loc(op);
    Diagnostic { user_loc, ..error.at(module.ops[op].span) }
}
