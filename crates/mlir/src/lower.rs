//! Lowering of functions, regions and operations.

use melior::{
    Context,
    ir::{
        Attribute, Block, BlockLike, Module as MlirModule, Region, RegionLike, Type, Value,
        attribute::TypeAttribute,
        block::BlockRef,
        operation::{OperationBuilder, OperationLike},
        r#type::FunctionType,
    },
};
use shardc_ir::{AttrDict, Diagnostic, Func, FuncId, Module, OpId, OpKind, RegionId, SecondaryMap, ValueId};

use crate::{
    attrs::{Attrs, Named, push_new},
    constant,
    locs::Locs,
    session::Session,
};

/// Builds the MLIR module of a legalized module, and verifies it with MLIR.
pub(crate) fn lower<'c>(
    session: &'c Session,
    module: &Module,
    locations: bool,
) -> Result<MlirModule<'c>, Diagnostic> {
    let mut attrs = Attrs::new(session);
    let locs = Locs::new(&mut attrs, module, locations)?;
    let context = &session.context;
    let mut lowerer = Lowerer { context, module, attrs, locs, values: SecondaryMap::new() };

    let region = Region::new();
    let body = region.append_block(Block::new(&[]));
    for func in module.funcs.keys() {
        lowerer.func(func, body)?;
    }
    let attributes = lowerer.module_attrs()?;
    let op = OperationBuilder::new("builtin.module", lowerer.locs.of(module.loc))
        .add_attributes(&attributes)
        .add_regions([region])
        .build();
    let out =
        op.ok().and_then(MlirModule::from_operation).ok_or_else(|| lowerer.refused("builtin.module"))?;
    if !out.as_operation().verify() {
        return Err(session.failure("SH0505", "MLIR rejects the lowered program"));
    }
    Ok(out)
}

struct Lowerer<'m, 'c, 'a> {
    context: &'c Context,
    module: &'m Module,
    attrs: Attrs<'c>,
    locs: Locs<'c>,
    values: SecondaryMap<ValueId, Option<Value<'c, 'a>>>,
}

/// The kind of the operation that encloses a region. It determines the name of the region's terminator.
#[derive(Clone, Copy)]
enum Parent {
    Func,
    StableHlo,
    Sdy,
}

impl<'m, 'c: 'a, 'a> Lowerer<'m, 'c, 'a> {
    fn module_attrs(&mut self) -> Result<Vec<Named<'c>>, Diagnostic> {
        let mut out = Vec::new();
        if let Some(name) = &self.module.name {
            out.push((self.attrs.name("sym_name")?, self.attrs.string(name)));
        }
        self.carried(&self.module.attrs, &mut out)?;
        Ok(out)
    }

    /// Adds the attributes of `dict` to `out`, except those whose name `out` already has.
    fn carried(&mut self, dict: &AttrDict, out: &mut Vec<Named<'c>>) -> Result<(), Diagnostic> {
        for (name, attr) in dict.iter() {
            let attr = self.attrs.attr(attr)?;
            push_new(out, self.attrs.name(name)?, attr);
        }
        Ok(())
    }

    fn func(&mut self, id: FuncId, module_body: BlockRef<'c, 'a>) -> Result<(), Diagnostic> {
        let func = &self.module.funcs[id];
        let at = |d: Diagnostic| if d.span.is_some() { d } else { d.at(func.span) };
        let mut attributes = self.func_attrs(func).map_err(at)?;
        self.carried(&func.attrs, &mut attributes).map_err(at)?;

        let region = Region::new();
        if let Some(body) = func.body {
            let locs = self.module.regions[body]
                .args
                .iter()
                .enumerate()
                .map(|(i, _)| {
                    func.arg_locs.get(i).map_or_else(|| self.locs.of(func.loc), |&l| self.locs.of(l))
                })
                .collect();
            self.region(body, locs, &region, Parent::Func).map_err(at)?;
        }
        let op = OperationBuilder::new("func.func", self.locs.of(func.loc))
            .add_attributes(&attributes)
            .add_regions([region])
            .build();
        match op {
            Ok(op) => {
                module_body.append_operation(op);
                Ok(())
            }
            Err(_) => Err(at(self.refused("func.func"))),
        }
    }

    fn func_attrs(&mut self, func: &Func) -> Result<Vec<Named<'c>>, Diagnostic> {
        let params = self.attrs.tys(self.module, func.params.iter().copied())?;
        let results = self.attrs.tys(self.module, func.results.iter().copied())?;
        let ty = TypeAttribute::new(FunctionType::new(self.context, &params, &results).into());
        let mut out = vec![
            (self.attrs.name("sym_name")?, self.attrs.string(&func.name)),
            (self.attrs.name("function_type")?, ty.into()),
        ];
        if let Some(visibility) = func.visibility.word() {
            out.push((self.attrs.name("sym_visibility")?, self.attrs.string(visibility)));
        }
        for (name, dicts, count) in
            [("arg_attrs", &func.arg_attrs, params.len()), ("res_attrs", &func.res_attrs, results.len())]
        {
            if let Some(list) = self.signature_attrs(dicts, count)? {
                out.push((self.attrs.name(name)?, list));
            }
        }
        Ok(out)
    }

    /// Returns the attributes of all parameters or results; `None` if no parameter or result has any.
    fn signature_attrs(
        &mut self,
        dicts: &[AttrDict],
        count: usize,
    ) -> Result<Option<Attribute<'c>>, Diagnostic> {
        let mut list = Vec::with_capacity(count);
        let mut any = false;
        for i in 0..count {
            let mut entries = Vec::new();
            if let Some(dict) = dicts.get(i) {
                self.carried(dict, &mut entries)?;
            }
            any |= !entries.is_empty();
            list.push(self.attrs.dict(&entries));
        }
        Ok(any.then(|| self.attrs.array(&list)))
    }

    /// Lowers the single block of a region, and adds it to the MLIR region `out`.
    fn region(
        &mut self,
        id: RegionId,
        arg_locs: Vec<melior::ir::Location<'c>>,
        out: &Region<'c>,
        parent: Parent,
    ) -> Result<(), Diagnostic> {
        let region = &self.module.regions[id];
        let types = self.attrs.tys(self.module, region.args.iter().map(|&v| self.module.values[v].ty))?;
        let arguments: Vec<_> = types.into_iter().zip(arg_locs).collect();
        let block: BlockRef<'c, 'a> = out.append_block(Block::new(&arguments));
        for (i, &arg) in region.args.iter().enumerate() {
            self.values[arg] = block.argument(i).ok().map(Into::into);
        }
        for &op in &region.ops {
            self.op(op, block, parent).map_err(|d| self.located(d, op))?;
        }
        Ok(())
    }

    fn op(&mut self, id: OpId, block: BlockRef<'c, 'a>, parent: Parent) -> Result<(), Diagnostic> {
        let module = self.module;
        let op = &module.ops[id];
        let name = match (&op.kind, parent) {
            (OpKind::Return, Parent::Func) => "func.return",
            (OpKind::Return, Parent::StableHlo) => "stablehlo.return",
            (OpKind::Return, Parent::Sdy) => "sdy.return",
            (OpKind::Opaque(spec), _) => &*spec.name,
            (kind, _) => kind.name(),
        };
        let operands: Vec<Value<'c, 'a>> =
            op.operands.iter().map(|&v| self.value(v)).collect::<Result<_, _>>()?;
        let results: Vec<Type<'c>> =
            self.attrs.tys(module, op.results.iter().map(|&v| module.values[v].ty))?;
        let attributes = self.op_attrs(id)?;
        let location = self.locs.of(op.loc);
        let mut regions = Vec::with_capacity(op.regions.len());
        for &r in &op.regions {
            let region = Region::new();
            let given = &module.regions[r];
            let locs = (0..given.args.len())
                .map(|i| given.arg_locs.get(i).map_or(location, |&loc| self.locs.of(loc)))
                .collect();
            let parent = match op.kind {
                OpKind::ManualComputation(_) | OpKind::NamedComputation(_) => Parent::Sdy,
                _ => Parent::StableHlo,
            };
            self.region(r, locs, &region, parent)?;
            regions.push(region);
        }
        let built = OperationBuilder::new(name, location)
            .add_operands(&operands)
            .add_results(&results)
            .add_attributes(&attributes)
            .add_regions_vec(regions)
            .build()
            .map_err(|_| self.refused(name))?;
        let placed = block.append_operation(built);
        for (i, &result) in op.results.iter().enumerate() {
            self.values[result] = placed.result(i).ok().map(Into::into);
        }
        Ok(())
    }

    fn op_attrs(&mut self, id: OpId) -> Result<Vec<Named<'c>>, Diagnostic> {
        let module = self.module;
        let op = &module.ops[id];
        let mut out: Vec<Named<'c>> = Vec::new();
        match &op.kind {
            OpKind::Constant(value) => {
                let Some(&result) = op.results.first() else {
                    return Err(Diagnostic::internal("SH0506", "a constant has no result"));
                };
                let ty = module.values[result].ty;
                let value = constant::dense(&mut self.attrs, module, value, ty)?;
                out.push((self.attrs.name("value")?, value));
            }
            OpKind::Call { callee } => {
                out.push((self.attrs.name("callee")?, self.attrs.symbol(callee)));
            }
            OpKind::Opaque(spec) => self.carried(&spec.props, &mut out)?,
            _ => {
                for (name, text) in shardc_stablehlo::properties(module, id) {
                    let value = self.attrs.parse(&text)?;
                    push_new(&mut out, self.attrs.name(&name)?, value);
                }
            }
        }
        self.carried(&op.attrs, &mut out)?;
        Ok(out)
    }

    fn value(&self, id: ValueId) -> Result<Value<'c, 'a>, Diagnostic> {
        self.values[id]
            .ok_or_else(|| Diagnostic::internal("SH0504", format!("{id} is used before its definition")))
    }

    fn refused(&self, name: &str) -> Diagnostic {
        self.attrs.failure("SH0505", format!("MLIR rejects the operation `{name}`"))
    }

    /// Adds the location of `op` to a diagnostic that has none.
    fn located(&self, diagnostic: Diagnostic, op: OpId) -> Diagnostic {
        if diagnostic.user_loc.is_some() || diagnostic.span.is_some() {
            return diagnostic;
        }
        let user_loc = self.module.user_loc(op);
        Diagnostic { user_loc, ..diagnostic.at(self.module.ops[op].span) }
    }
}
