//! SPMD lowering: from a planned program on global shapes to the program that each device runs.
//!
//! Every value gets its local type, and every [`MeshCollective`](shardc_ir::MeshCollective) becomes StableHLO collectives with replica
//! groups. Operations that depend on the device's position in the mesh are rewritten:
//!
//! * an [`OpKind::Iota`] along a sharded dimension starts at the device's offset;
//! * slices, dynamic slices and gathers get the local sizes of dimensions that they do not slice;
//! * a gather or scatter over a sharded indexed dimension uses the indices that are in the device's block (see `index`);
//! * a collective of the input program, in a manual computation, also gets replica groups (see `manual`). The computation is then
//!   replaced by its body, whose values are already local;
//! * an operation whose windows cross block boundaries gets a halo exchange (see `halo`);
//! * before a reduction over a dimension that does not divide evenly, padding is replaced by the identity (see `mask`).
//!
//! The input must be planned, with its reshards lowered. This pass relies on the guarantees of the planner in [`support`](crate::plan).
//!
//! ```mlir
//! %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
//! %1 = all_reduce %0 over "x"        // mesh ["x"=2], both contracting dimensions are sharded by "x"
//! ```
//! becomes
//! ```mlir
//! %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
//! %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1]]>}> ... : (tensor<8x16xf32>) -> tensor<8x16xf32>
//! ```

mod addends;
mod collective;
mod coords;
mod dynamic;
mod exchange;
mod groups;
mod halo;
mod index;
mod loop_results;
mod loops;
mod manual;
mod mask;
mod one_device;
mod own_rows;
mod pieces;
mod sizes;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::discardable::SHARDING;
use shardc_ir::{
    Attr, Build, DType, Dense, Diagnostic, EntityRef, FuncId, Mesh, MeshId, Module, OpId, OpKind,
    QuantTensor, RegionId, ReplicaGroups, Rewriter, SPELLING_ATTR, ShardingId, SizeList, SpmdMode,
    TensorSharding, TensorType, Type, TypeId, ValueId,
};

use self::coords::Coords;
pub(crate) use self::loops::shield_loops;
use crate::analysis::regions::{has_program_regions, program_ops, program_parts};
use crate::cost::{CostModel, Costs};
use crate::manual::Scope;
use crate::plan::planned_mesh;
use crate::rules::SHARDING_RULE_ATTR;
use crate::transforms::legalize_backend::takes_mark;

/// The attribute that marks operations as already partitioned, in partition mode.
pub(crate) const MARK: &str = shardc_ir::discardable::GSPMD_SHARDING;

/// Localizes `func` and removes all shardings and meshes from the module.
///
/// # Errors
/// Returns an error if the module is not planned (internal), if a mask needs the identity of an element type without one (`SH0410`), or
/// if padding makes a tensor too large (`SH0414`).
pub fn localize(
    module: &mut Module,
    func: FuncId,
    mode: SpmdMode,
    planned: Option<MeshId>,
    model: &CostModel,
) -> Result<(), Vec<Diagnostic>> {
    let Some(body) = module.funcs[func].body else { return Ok(()) };
    // The global types are recorded before any operation is rewritten: the rewrite of an operation needs the global sizes of its operands,
    // which then already have local types. The list is indexed by value: a value beyond its end was created by this pass and is local.
    let global: Vec<TypeId> = module.values.values().map(|v| v.ty).collect();
    let mut values: Vec<ValueId> = Vec::new();
    let (ops, regions) = program_parts(module, body);
    for region in regions {
        values.extend(&module.regions[region].args);
    }
    for op in ops {
        let data = &module.ops[op];
        values.extend(&data.results);
        // In a program that is parsed from text, the result sharding of a collective is only in its attributes.
        if let (OpKind::MeshCollective(collective), &[result]) = (&data.kind, data.results.as_slice()) {
            module.shardings.set(result, Some(collective.out));
        }
    }
    let mut local = LocalTypes::default();
    for &value in &values {
        if let Some(sharding) = module.shardings.of(value) {
            module.values[value].ty = local.of(module, global[value.index()], sharding);
        }
    }
    // A program without sharded values uses the devices of its first mesh.
    let mesh = planned.or_else(|| planned_mesh(module, body)).or_else(|| module.meshes.keys().next());
    let mesh = mesh.map(|id| module.meshes[id].clone()).unwrap_or_default();
    on_one_mesh(module, &mesh, &values).map_err(|error| vec![*error])?;
    let devices = mesh.num_devices() as i64;
    let scope = Scope::default();
    let error = {
        let mut pass = Localizer {
            rw: Rewriter::new(module),
            at: OpId::new(0),
            coords: Coords::default(),
            global,
            costs: model.on(&mesh),
            mesh,
            scope,
            mode,
            next_channel: 1,
            listed_groups: FxHashSet::default(),
            error: None,
        };
        pass.region(body);
        pass.error
    };
    if let Some(error) = error {
        return Err(vec![*error]);
    }
    manual::inline_manual(module, body).map_err(|error| vec![*error])?;
    sizes::check(module, body).map_err(|error| vec![*error])?;
    if mode == SpmdMode::Partition {
        shield_loops(module, body);
    }
    signature(module, func, body, &mut local);
    strip(module, mode, devices);
    Ok(())
}

/// Checks that every sharding refers to a mesh with the axes of the planned mesh. Axes are identified by index, and an index may denote a
/// different axis in another mesh.
fn on_one_mesh(module: &Module, mesh: &Mesh, values: &[ValueId]) -> Result<(), Box<Diagnostic>> {
    let other = values.iter().filter_map(|&v| module.shardings.sharding_of(v)).find(|sharding| {
        let own = &module.meshes[sharding.mesh];
        !own.is_maximal() && !own.axes.values().eq(mesh.axes.values())
    });
    let Some(sharding) = other else { return Ok(()) };
    let message = format!(
        "a sharding refers to {}, whose axes differ from those of the program's mesh",
        module.mesh_name(sharding.mesh)
    );
    Err(Box::new(Diagnostic::internal("SH0492", message)))
}

/// A cache that maps global types and shardings to local types.
#[derive(Default)]
struct LocalTypes(FxHashMap<(TypeId, ShardingId), TypeId>);

impl LocalTypes {
    fn of(&mut self, module: &mut Module, ty: TypeId, sharding: ShardingId) -> TypeId {
        if let Some(&known) = self.0.get(&(ty, sharding)) {
            return known;
        }
        let local = match module.types.get(ty) {
            Type::Tensor(tensor) => {
                let s = module.shardings.get(sharding);
                let shape = s.local_shape(&module.meshes[s.mesh], &tensor.shape);
                let tensor = TensorType { shape, ..tensor.clone() };
                module.types.intern(Type::Tensor(tensor))
            }
            Type::Quantized(tensor) => {
                let s = module.shardings.get(sharding);
                let shape = s.local_shape(&module.meshes[s.mesh], &tensor.shape);
                let tensor = QuantTensor { shape, ..(**tensor).clone() };
                module.types.intern(Type::Quantized(Box::new(tensor)))
            }
            Type::Token | Type::Tuple(_) | Type::Other(_) => ty,
        };
        self.0.insert((ty, sharding), local);
        local
    }
}

/// Updates the function type. If a donated argument and its result have different local types, the argument is donated to any result
/// instead (`jax.buffer_donor`).
fn signature(module: &mut Module, func: FuncId, body: RegionId, local: &mut LocalTypes) {
    let global_results = module.funcs[func].results.clone();
    let results: Vec<TypeId> = global_results
        .iter()
        .enumerate()
        .map(|(i, &ty)| match module.funcs[func].res_shardings.get(i).and_then(|s| s.expand()) {
            Some(sharding) => local.of(module, ty, sharding),
            None => ty,
        })
        .collect();
    let args = module.regions[body].args.clone();
    let params: Vec<TypeId> = args.iter().map(|&a| module.values[a].ty).collect();
    let f = &mut module.funcs[func];
    for (i, attrs) in f.arg_attrs.iter_mut().enumerate() {
        if let Some(result) = attrs.donated_to()
            && results.get(result) != params.get(i)
        {
            attrs.donate_to_any();
        }
    }
    f.params = params;
    f.results = results;
}

/// Removes shardings and meshes, sets the number of devices, and in partition mode marks all operations as already partitioned.
fn strip(module: &mut Module, mode: SpmdMode, devices: i64) {
    let (partitions, replicas) = match mode {
        SpmdMode::Replica => (1, devices),
        SpmdMode::Partition => (devices, 1),
    };
    module.set_process_counts(replicas, partitions);
    module.shardings.clear_values();
    module.mesh_names.clear();
    // With one partition, XLA's partitioner does not run and does not remove `mhlo.sharding` attributes, which become invalid when XLA
    // removes tuples.
    let is_marked = partitions > 1;
    for func in module.funcs.values_mut() {
        func.res_shardings.fill(None.into());
        if is_marked {
            for attrs in func.arg_attrs.iter_mut().chain(&mut func.res_attrs) {
                attrs.set(MARK, Attr::Str("{manual}".into()));
            }
        }
    }
    let ops: Vec<OpId> = module.bodies().flat_map(|body| program_ops(module, body)).collect();
    let is_product = |op: &OpId| {
        let data = &module.ops[*op];
        matches!(data.kind, OpKind::DotGeneral(_)) && data.operands.iter().any(|&v| module.is_quantized(v))
    };
    let is_quantized_product: FxHashSet<OpId> = ops.iter().copied().filter(is_product).collect();
    for op_id in ops {
        let op = &mut module.ops[op_id];
        // The recorded source syntax does not apply to the rewritten operation. Quantized matmuls keep it, since the verifier has weaker
        // requirements for their older form.
        if !is_quantized_product.contains(&op_id) {
            op.attrs.remove(SPELLING_ATTR);
        }
        // A sharding rule is removed, since its sizes are global.
        op.attrs.remove(SHARDING_RULE_ATTR);
        // The sharding attribute of an operation without results names the device that runs the operation.
        op.attrs.remove(SHARDING);
        // A collective may refer to a mesh, and the meshes were removed above.
        if let Some(spec) = op.kind.collective_mut() {
            spec.mesh_axes = None;
        }
        match &mut op.kind {
            OpKind::DataFlowEdge(sharding) => *sharding = None,
            OpKind::NamedComputation(spec) => (spec.in_shardings, spec.out_shardings) = (None, None),
            _ => {}
        }
        if is_marked && takes_mark(&op.kind) {
            op.attrs.set(MARK, Attr::Str("{manual}".into()));
        }
    }
}

pub(crate) struct Localizer<'m> {
    rw: Rewriter<'m>,
    /// The operation that is being localized.
    at: OpId,
    /// The device coordinates that the current region has computed.
    coords: Coords,
    /// The global type of each value of the planned program.
    global: Vec<TypeId>,
    /// The mesh that all shardings refer to.
    mesh: Mesh,
    /// The costs on the mesh. Exchanges are planned with the same costs as in planning, so that both choose the same rounds.
    costs: Costs,
    /// The manual axes at the current operation.
    scope: Scope,
    mode: SpmdMode,
    next_channel: i64,
    /// The non-strided groups and pairs of the collectives so far, so that equal lists can be shared.
    listed_groups: FxHashSet<ReplicaGroups>,
    error: Option<Box<Diagnostic>>,
}

impl Localizer<'_> {
    fn region(&mut self, region: RegionId) {
        self.rw.enter(region);
        // Each region computes its own coordinates: for a loop, this is cheaper than an additional captured value.
        let around = std::mem::take(&mut self.coords);
        while let Some(op) = self.rw.next_op() {
            self.at = op;
            self.op(op);
            if has_program_regions(&self.rw.module.ops[op].kind) {
                let mut outer = None;
                if let OpKind::ManualComputation(spec) = &self.rw.module.ops[op].kind {
                    let scope = self.scope.enter(&self.mesh, spec);
                    outer = Some(std::mem::replace(&mut self.scope, scope));
                }
                for inner in self.rw.module.ops[op].regions.clone() {
                    self.region(inner);
                }
                if let Some(scope) = outer {
                    self.scope = scope;
                }
            }
        }
        self.coords = around;
    }

    fn fail(&mut self, error: Diagnostic) {
        self.error.get_or_insert_with(|| Box::new(error));
    }

    /// Returns the global type of a value of the planned program; `None` for a value that this pass created.
    fn global(&self, value: ValueId) -> Option<&TensorType> {
        self.rw.module.types.stored(*self.global.get(value.index())?)
    }

    fn sharding(&self, value: ValueId) -> Option<&TensorSharding> {
        self.rw.module.shardings.sharding_of(value)
    }

    /// Whether dimension `dim` of `value` is sharded, so that devices hold different blocks of it.
    fn is_split(&self, value: ValueId, dim: usize) -> bool {
        self.sharding(value).is_some_and(|s| !s.axes(dim).is_empty())
    }

    /// Whether dimension `dim` of `value` is sharded unevenly, so that its last blocks contain padding.
    fn is_padded(&self, value: ValueId, dim: usize) -> bool {
        let (Some(s), Some(ty)) = (self.sharding(value), self.global(value)) else { return false };
        let k = s.shards(&self.rw.module.meshes[s.mesh], dim);
        ty.shape[dim] % k != 0
    }

    /// Inserts an operation with one result and with the source location of the operation that is being localized.
    fn emit(&mut self, kind: OpKind, operands: &[ValueId], ty: TypeId) -> ValueId {
        self.rw.op1(kind, operands, ty)
    }

    fn tensor_type(&mut self, shape: &[i64], dtype: DType) -> TypeId {
        self.rw.module.types.tensor(shape, dtype)
    }

    /// Emits a constant of equal elements.
    fn splat(&mut self, bytes: &[u8], shape: &[i64], dtype: DType) -> ValueId {
        let ty = self.tensor_type(shape, dtype);
        self.emit(OpKind::Constant(Dense::splat(bytes)), &[], ty)
    }

    fn i32_splat(&mut self, value: i64, shape: &[i64]) -> ValueId {
        self.splat(&(value as i32).to_le_bytes(), shape, DType::I32)
    }

    /// Gives `op` a new result `i`. Returns the old result, which the caller must define, and the new one.
    fn detach_result(&mut self, op: OpId, i: usize) -> (ValueId, ValueId) {
        (self.rw.module.renew_result(op, i), self.rw.module.ops[op].results[i])
    }

    /// Makes `old` the result of the producer of `value`.
    fn attach(&mut self, old: ValueId, value: ValueId) {
        self.rw.module.values[old].ty = self.rw.module.values[value].ty;
        self.rw.module.take_over(value, old);
    }

    /// Replaces the result of the current operation with `value`, and erases the current operation.
    fn replace(&mut self, value: ValueId) {
        self.attach(self.rw.module.ops[self.at].results[0], value);
        self.rw.erase();
    }

    fn op(&mut self, op: OpId) {
        let operands = self.rw.module.ops[op].operands.clone();
        match &self.rw.module.ops[op].kind {
            OpKind::Iota { dim } => {
                let dim = *dim as usize;
                self.iota(op, dim);
            }
            OpKind::Slice(_) => {
                if self.own_rows(op) {
                    return;
                }
                let local = self.rw.module.shape(self.rw.module.ops[op].results[0]).to_vec();
                let split: Vec<bool> = (0..local.len()).map(|d| self.is_split(operands[0], d)).collect();
                if self.halo(op) {
                    return;
                }
                if let OpKind::Slice(spec) = &mut self.rw.module.ops[op].kind {
                    for d in (0..local.len()).filter(|&d| split[d]) {
                        spec.limit[d] = local[d];
                    }
                }
            }
            OpKind::DynamicSlice { .. } => {
                self.keep_inside(op);
                if self.partial_slice(op) {
                    return;
                }
                let local = self.rw.module.shape(operands[0]).to_vec();
                let split: Vec<bool> = (0..local.len()).map(|d| self.is_split(operands[0], d)).collect();
                if let OpKind::DynamicSlice { sizes } = &mut self.rw.module.ops[op].kind {
                    for d in (0..local.len()).filter(|&d| split[d]) {
                        sizes[d] = local[d];
                    }
                }
                self.start_at_zero(op, 1, &split);
            }
            OpKind::DynamicUpdateSlice => {
                if self.partial_update(op) {
                    return;
                }
                let rank = self.rw.module.rank(operands[0]);
                let split: Vec<bool> = (0..rank).map(|d| self.is_split(operands[0], d)).collect();
                self.start_at_zero(op, 2, &split);
            }
            OpKind::Reduce { .. } => {
                self.mask_reduce(op);
                self.keep_init(op);
            }
            OpKind::DotGeneral(_) | OpKind::RaggedDot(_) => self.mask_contraction(op),
            OpKind::Convolution(_) => {
                // Masking needs the global group count. With 8 groups over 8 devices, the local count is 1, and features would be treated
                // as contracting dimensions.
                self.mask_contraction(op);
                self.keep_own_groups(op);
                self.halo(op);
            }
            OpKind::Splice(_) => self.splice(op),
            OpKind::Pad(_)
            | OpKind::Concatenate { .. }
            | OpKind::Reverse { .. }
            | OpKind::ReduceWindow(_)
            | OpKind::SelectAndScatter(_) => {
                self.halo(op);
            }
            OpKind::Gather(_) => self.gather(op),
            OpKind::Scatter(_) => self.scatter(op),
            OpKind::MeshCollective(_) => self.mesh_collective(op),
            OpKind::AllReduce(_)
            | OpKind::AllGather { .. }
            | OpKind::ReduceScatter { .. }
            | OpKind::AllToAll { .. }
            | OpKind::CollectivePermute(_)
            | OpKind::CollectiveBroadcast(_) => self.collective_of_program(op),
            OpKind::CustomCall(_) if self.rw.module.ops[op].ragged_all_to_all().is_some() => {
                self.ragged_all_to_all(op);
            }
            OpKind::PartitionId => self.partition_id(op),
            OpKind::Rng(_) => self.drawn_by_one(op),
            OpKind::ReplicaId => self.replica_id(),
            OpKind::Reshard(_) | OpKind::ShardingConstraint(_) | OpKind::Call { .. } => {
                let name = self.rw.module.ops[op].kind.name().to_owned();
                self.fail(
                    Diagnostic::internal("SH0490", format!("{name} must be removed before localization"))
                        .at(self.rw.module.ops[op].span),
                );
            }
            // Other operations stay the same on local shapes: the planner all-gathers operands that must be replicated (`plan/support.rs`,
            // using `Parts` of the operation table).
            _ => {}
        }
    }

    /// Sets the starts along sharded dimensions to zero: a window of the whole dimension always starts at zero. The start is explicit
    /// because XLA may merge this slice with the slice that cut the block, and would add both starts.
    fn start_at_zero(&mut self, op: OpId, first: usize, split: &[bool]) {
        for d in (0..split.len()).filter(|&d| split[d]) {
            let Some(&start) = self.rw.module.ops[op].operands.get(first + d) else { continue };
            let Some(dtype) = self.rw.module.tensor(start).map(|t| t.dtype) else { continue };
            let zero = self.splat(&vec![0; dtype.bytes()], &[], dtype);
            self.rw.module.ops[op].operands[first + d] = zero;
        }
    }

    /// Localizes an iota: it starts at the device's offset. The sum is computed as `i32` and then converted, so that narrow floats round
    /// as in the global iota.
    fn iota(&mut self, op: OpId, dim: usize) {
        let old = self.rw.module.ops[op].results[0];
        if !self.is_split(old, dim) {
            return;
        }
        let shape = self.rw.module.shape(old).to_vec();
        if let Type::Quantized(local) = self.rw.module.types.get(self.rw.module.values[old].ty).clone() {
            let value = self.quantized_iota(old, dim, *local);
            return self.replace(value);
        }
        let dtype = self.rw.module.tensor(old).map_or(DType::I32, |t| t.dtype);
        let index = self.global_index(old, dim, &shape);
        let ty = self.tensor_type(&shape, dtype);
        let value = if dtype == DType::I32 {
            let zero = self.i32_splat(0, &shape);
            self.emit(OpKind::Binary(shardc_ir::BinaryOp::Add), &[index, zero], ty)
        } else {
            self.emit(OpKind::Convert, &[index], ty)
        };
        self.replace(value);
    }

    /// Localizes a quantized iota: the device creates the global iota and slices its block, since there is no conversion to quantized
    /// elements.
    fn quantized_iota(&mut self, old: ValueId, dim: usize, local: QuantTensor) -> ValueId {
        let axes = self.sharding(old).map(|s| s.axes(dim).to_vec()).unwrap_or_default();
        let (block, sizes) = (local.shape[dim], SizeList::from_slice(&local.shape));
        let mut whole = local.clone();
        whole.shape[dim] = block.saturating_mul(self.mesh.axes_size(&axes));
        let whole = self.rw.module.types.intern(Type::Quantized(Box::new(whole)));
        let local = self.rw.module.types.intern(Type::Quantized(Box::new(local)));
        let mut operands = vec![self.emit(OpKind::Iota { dim: dim as u32 }, &[], whole)];
        for d in 0..sizes.len() {
            let start = if d == dim { self.offset(&axes, block) } else { self.i32_scalar(0) };
            operands.push(start);
        }
        self.emit(OpKind::DynamicSlice { sizes }, &operands, local)
    }
}
