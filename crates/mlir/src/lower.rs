//! Functions, regions and operations.

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
use shardc_ir::{
    AttrDict, Diagnostic, Func, FuncId, Module, OpId, OpKind, RegionId, SecondaryMap, SpmdMode, ValueId,
};

use crate::{
    LowerOptions,
    attrs::{Attrs, Named, push_new},
    constant,
    locs::Locs,
    session::Session,
};

/// Regions within regions, so that neither this nor MLIR's own recursion overflows the stack.
const MAX_DEPTH: usize = 128;

/// Lowers a module and has MLIR verify the result.
pub(crate) fn lower<'c>(
    session: &'c Session,
    module: &Module,
    options: &LowerOptions,
) -> Result<MlirModule<'c>, Diagnostic> {
    let mut attrs = Attrs::new(session);
    let locs = Locs::new(&mut attrs, module, options.locations)?;
    let manual = match options.spmd_mode {
        SpmdMode::Replica => None,
        SpmdMode::Partition => Some(attrs.string("{manual}")),
    };
    if let Some(kept) = module.kept.first() {
        return Err(kept.unsupported("SH0508"));
    }
    let context = &session.context;
    let mut lowerer = Lowerer { context, module, attrs, locs, manual, values: SecondaryMap::new() };

    let region = Region::new();
    let body = region.append_block(Block::new(&[]));
    for func in module.funcs.keys() {
        // What a back end runs is called so.
        let is_run = options.num_devices.is_some() && module.entry() == Some(func);
        lowerer.func(func, is_run.then_some("main"), body)?;
    }
    let attributes = lowerer.module_attrs(options)?;
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
    /// The mark of a value that is what one device holds, where such marks are wanted.
    manual: Option<Attribute<'c>>,
    values: SecondaryMap<ValueId, Option<Value<'c, 'a>>>,
}

/// What the terminator of a region is called.
#[derive(Clone, Copy)]
enum Parent {
    Func,
    StableHlo,
}

impl<'m, 'c: 'a, 'a> Lowerer<'m, 'c, 'a> {
    fn module_attrs(&mut self, options: &LowerOptions) -> Result<Vec<Named<'c>>, Diagnostic> {
        let devices = options
            .num_devices
            .unwrap_or_else(|| self.module.meshes.values().map(|m| m.num_devices()).max().unwrap_or(1));
        let (replicas, partitions) = match options.spmd_mode {
            SpmdMode::Replica => (devices, 1),
            SpmdMode::Partition => (1, devices),
        };
        let mut out = Vec::new();
        if let Some(name) = &self.module.name {
            out.push((self.attrs.name("sym_name")?, self.attrs.string(name)));
        }
        for (name, count) in [("mhlo.num_partitions", partitions), ("mhlo.num_replicas", replicas)] {
            out.push((self.attrs.name(name)?, self.attrs.parse(&format!("{count} : i32"))?));
        }
        self.carried(&self.module.attrs, &mut out)?;
        Ok(out)
    }

    /// Adds attributes that shardc only carries, save shardings and what is there already.
    fn carried(&mut self, dict: &AttrDict, out: &mut Vec<Named<'c>>) -> Result<(), Diagnostic> {
        for (name, attr) in dict.iter() {
            // Names that begin with `shardc.` are notes that the reader leaves for the writer.
            if is_sharding(name) || name.starts_with("shardc.") {
                continue;
            }
            let attr = self.attrs.attr(attr)?;
            push_new(out, self.attrs.name(name)?, attr);
        }
        Ok(())
    }

    /// A function, under its own name or another.
    fn func(
        &mut self,
        id: FuncId,
        name: Option<&str>,
        module_body: BlockRef<'c, 'a>,
    ) -> Result<(), Diagnostic> {
        let func = &self.module.funcs[id];
        let at = |d: Diagnostic| if d.span.is_some() { d } else { d.at(func.span) };
        let mut attributes = self.func_attrs(func, name.unwrap_or(&func.name)).map_err(at)?;
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
            self.region(body, locs, &region, Parent::Func, 0).map_err(at)?;
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

    fn func_attrs(&mut self, func: &Func, name: &str) -> Result<Vec<Named<'c>>, Diagnostic> {
        let params = self.attrs.tys(self.module, func.params.iter().copied())?;
        let results = self.attrs.tys(self.module, func.results.iter().copied())?;
        let ty = TypeAttribute::new(FunctionType::new(self.context, &params, &results).into());
        let mut out = vec![
            (self.attrs.name("sym_name")?, self.attrs.string(name)),
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

    /// The attributes of all parameters or results; `None` if none has any.
    fn signature_attrs(
        &mut self,
        dicts: &[AttrDict],
        count: usize,
    ) -> Result<Option<Attribute<'c>>, Diagnostic> {
        let mut list = Vec::with_capacity(count);
        let mut any = false;
        for i in 0..count {
            let mut entries = Vec::new();
            if let Some(manual) = self.manual {
                entries.push((self.attrs.name("mhlo.sharding")?, manual));
            }
            if let Some(dict) = dicts.get(i) {
                self.carried(dict, &mut entries)?;
            }
            any |= !entries.is_empty();
            list.push(self.attrs.dict(&entries));
        }
        Ok(any.then(|| self.attrs.array(&list)))
    }

    /// Fills `out` with the one block of a region.
    fn region(
        &mut self,
        id: RegionId,
        arg_locs: Vec<melior::ir::Location<'c>>,
        out: &Region<'c>,
        parent: Parent,
        depth: usize,
    ) -> Result<(), Diagnostic> {
        if depth > MAX_DEPTH {
            return Err(Diagnostic::unsupported(
                "SH0507",
                format!("regions are nested more than {MAX_DEPTH} deep"),
            ));
        }
        let region = &self.module.regions[id];
        let types = self.attrs.tys(self.module, region.args.iter().map(|&v| self.module.values[v].ty))?;
        let arguments: Vec<_> = types.into_iter().zip(arg_locs).collect();
        let block: BlockRef<'c, 'a> = out.append_block(Block::new(&arguments));
        for (i, &arg) in region.args.iter().enumerate() {
            self.values[arg] = block.argument(i).ok().map(Into::into);
        }
        for &op in &region.ops {
            self.op(op, block, parent, depth).map_err(|d| self.located(d, op))?;
        }
        Ok(())
    }

    fn op(
        &mut self,
        id: OpId,
        block: BlockRef<'c, 'a>,
        parent: Parent,
        depth: usize,
    ) -> Result<(), Diagnostic> {
        let module = self.module;
        let op = &module.ops[id];
        let name = match self.plan(id, parent)? {
            Plan::Skip => return Ok(()),
            Plan::Forward => {
                for (&from, &to) in op.operands.iter().zip(&op.results) {
                    self.values[to] = Some(self.value(from)?);
                }
                return Ok(());
            }
            Plan::Emit(name) => name,
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
            self.region(r, locs, &region, Parent::StableHlo, depth + 1)?;
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

    /// What becomes of an operation.
    fn plan(&self, id: OpId, parent: Parent) -> Result<Plan<'m>, Diagnostic> {
        use OpKind as K;
        let op = &self.module.ops[id];
        Ok(match &op.kind {
            K::ShardingConstraint(_) | K::Reshard(_) | K::PropagationBarrier { .. } => Plan::Forward,
            K::DataFlowEdge(_) | K::FuncDataFlowEdge => Plan::Forward,
            K::ShardingGroup { .. } => Plan::Skip,
            K::MeshCollective(_) | K::ManualComputation(_) => {
                return Err(global(&format!("`{}`", op.kind.name())));
            }
            K::Return => Plan::Emit(match parent {
                Parent::Func => "func.return",
                Parent::StableHlo => "stablehlo.return",
            }),
            K::CustomCall(call) if CROSSINGS.contains(&&*call.target) => {
                return Err(global(&format!("`@{}`", call.target)));
            }
            K::CustomCall(call) if &*call.target == "Sharding" && self.is_identity(id) => Plan::Forward,
            K::Opaque(spec) => {
                let name = &*spec.name;
                let dialect = name.split_once('.').map_or("", |(dialect, _)| dialect);
                if matches!(dialect, "" | "builtin" | "func") {
                    return Err(Diagnostic::unsupported("SH0501", format!("`{name}` cannot be lowered")));
                }
                Plan::Emit(name)
            }
            K::Unary(_)
            | K::Binary(_)
            | K::Compare(..)
            | K::Select
            | K::Clamp
            | K::Convert
            | K::BitcastConvert
            | K::ReducePrecision { .. }
            | K::Constant(_)
            | K::Iota { .. }
            | K::BroadcastInDim { .. }
            | K::Reshape
            | K::Transpose { .. }
            | K::Reverse { .. }
            | K::Slice(_)
            | K::DynamicSlice { .. }
            | K::DynamicUpdateSlice
            | K::Concatenate { .. }
            | K::Pad(_)
            | K::DotGeneral(_)
            | K::Convolution(_)
            | K::Reduce { .. }
            | K::ReduceWindow(_)
            | K::SelectAndScatter(_)
            | K::Sort { .. }
            | K::Gather(_)
            | K::Scatter(_)
            | K::RngBitGenerator { .. }
            | K::Fft { .. }
            | K::Cholesky { .. }
            | K::TriangularSolve(_)
            | K::While
            | K::Case
            | K::If
            | K::OptimizationBarrier
            | K::Call { .. }
            | K::CustomCall(_)
            | K::Tuple
            | K::GetTupleElement { .. }
            | K::AfterAll
            | K::AllReduce(_)
            | K::AllGather { .. }
            | K::ReduceScatter { .. }
            | K::AllToAll { .. }
            | K::CollectivePermute(_)
            | K::CollectiveBroadcast(_)
            | K::PartitionId
            | K::BatchNorm(..)
            | K::Map { .. }
            | K::Rng(_)
            | K::Dynamic(_)
            | K::GetDimensionSize { .. }
            | K::SetDimensionSize { .. }
            | K::Broadcast { .. }
            | K::Einsum { .. }
            | K::UnaryEinsum { .. }
            | K::TorchIndexSelect { .. }
            | K::UniformQuantize
            | K::UniformDequantize
            | K::Composite(_)
            | K::AsyncStart
            | K::AsyncDone
            | K::CreateToken
            | K::Infeed(_)
            | K::Outfeed { .. }
            | K::Send(_)
            | K::Recv(_)
            | K::CollectiveReduce(_)
            | K::CrossReplicaSum(_)
            | K::Broadcasting(_)
            | K::ConstantLike(_)
            | K::TopK { .. }
            | K::RaggedDot(_)
            | K::Scan(_)
            | K::NamedComputation(_)
            | K::ReplicaId => Plan::Emit(op.kind.name()),
        })
    }

    /// Whether an operation has one operand and one result of the same type.
    fn is_identity(&self, id: OpId) -> bool {
        let op = &self.module.ops[id];
        let ty = |v: ValueId| self.module.values[v].ty;
        matches!((&op.operands[..], &op.results[..]), (&[a], &[b]) if ty(a) == ty(b))
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
                    if !is_sharding(&name) {
                        let value = self.attrs.parse(&text)?;
                        push_new(&mut out, self.attrs.name(&name)?, value);
                    }
                }
            }
        }
        // A terminator has no counterpart in XLA that could carry a mark. A loop or branch is left to XLA, which
        // wants the shardings inside and outside to agree, but takes values out of their tuples and puts others in.
        // One mark goes for all results of an operation, since XLA may change their number.
        let marked = !matches!(op.kind, OpKind::Return | OpKind::While | OpKind::Case | OpKind::If);
        if let Some(manual) = self.manual.filter(|_| marked) {
            out.push((self.attrs.name("mhlo.sharding")?, manual));
        }
        self.carried(&op.attrs, &mut out)?;
        Ok(out)
    }

    fn value(&self, id: ValueId) -> Result<Value<'c, 'a>, Diagnostic> {
        self.values[id]
            .ok_or_else(|| Diagnostic::internal("SH0504", format!("{id} is used before it is made")))
    }

    fn refused(&self, name: &str) -> Diagnostic {
        self.attrs.failure("SH0505", format!("MLIR does not build `{name}`"))
    }

    /// A diagnostic that has no place yet gets that of `op`.
    fn located(&self, diagnostic: Diagnostic, op: OpId) -> Diagnostic {
        if diagnostic.user_loc.is_some() || diagnostic.span.is_some() {
            return diagnostic;
        }
        let user_loc = self.module.user_loc(op);
        Diagnostic { user_loc, ..diagnostic.at(self.module.ops[op].span) }
    }
}

enum Plan<'m> {
    /// Nothing is left of it.
    Skip,
    /// Its results are its operands.
    Forward,
    /// An operation of this name.
    Emit(&'m str),
}

/// Calls with which GSPMD goes from global values to those of one device and back.
const CROSSINGS: [&str; 2] = ["SPMDFullToShardShape", "SPMDShardToFullShape"];

fn global(what: &str) -> Diagnostic {
    Diagnostic::internal("SH0501", format!("{what} is about global values and cannot be lowered"))
        .hint("partition the program first")
}

/// Attributes that speak of global values: they mean nothing in what one device runs.
fn is_sharding(name: &str) -> bool {
    matches!(name, "mhlo.sharding" | "sdy.sharding" | "sdy.sharding_rule")
}
