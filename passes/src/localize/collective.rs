//! Lowers collectives on global values to StableHLO collectives on local blocks.
//!
//! If a dimension does not divide evenly, blocks are padded before the collective splits them, and the excess is sliced off after it
//! concatenates them. Each device so gets its block of `ceil(n / k)`.

use rustc_hash::FxHashMap;
use shardc_ir::{
    AxisList, AxisMove, AxisRef, Channel, CollectiveSpec, DType, Diagnostic, Mesh, MeshCollective,
    MeshCollectiveKind, OpId, OpKind, PadSpec, ReductionKind, ReplicaGroups, SizeList, SliceSpec, SpmdMode,
    TensorSharding, Type, ValueId,
};
use smallvec::SmallVec;

use super::Localizer;
use crate::analysis::reducer::{encode, is_idempotent, reducer};

impl Localizer<'_> {
    pub(crate) fn mesh_collective(&mut self, op: OpId) {
        let OpKind::MeshCollective(collective) = self.rw.module.ops[op].kind.clone() else { return };
        let MeshCollective { mesh, kind, out } = *collective;
        let mesh = self.rw.module.meshes[mesh].clone();
        let operand = self.rw.module.ops[op].operands[0];
        let old = self.rw.module.ops[op].results[0];
        let target = self.rw.module.shape(old).to_vec();
        if target.contains(&0) && target.iter().all(|&n| n >= 0) {
            // Back ends refuse to send nothing; any tensor without elements is as good.
            let dtype = self.rw.module.stored(old).map_or(DType::F32, |t| t.dtype);
            let nothing = SmallVec::<[u8; 16]>::from_elem(0, dtype.bytes());
            let value = self.splat(&nothing, &target, dtype);
            let value = self.as_quantized_as(value, old);
            return self.replace(value);
        }
        let sent = self.as_stored(operand);
        let value = match kind {
            MeshCollectiveKind::AllGather(axes) => {
                let mut value = sent;
                for (dim, axes) in axes.iter().enumerate().filter(|(_, axes)| !axes.is_empty()) {
                    value = self.all_gather(&mesh, value, dim, axes);
                    // Before the next dimension is gathered, which then sends no padding of this one.
                    value = self.trim(value, dim, target[dim]);
                }
                value
            }
            MeshCollectiveKind::AllSlice(axes) => {
                let lists: Vec<Vec<AxisRef>> = axes.iter().map(|a| a.to_vec()).collect();
                self.all_slice(&mesh, sent, &lists, &target)
            }
            MeshCollectiveKind::AllToAll(moves) => {
                let mut value = sent;
                for AxisMove { axes, from, to } in moves {
                    let (from, to) = (from as usize, to as usize);
                    let group = mesh.axes_size(&axes);
                    let missing = target[to] * group - self.rw.module.shape(value)[to];
                    value = self.pad_to(value, to, target[to] * group);
                    if missing >= target[to] {
                        // XLA takes pieces that are all padding for what they are filled with, and then the pieces of one
                        // exchange may lie in memory in several orders, which its CPU back end refuses.
                        let ty = self.rw.module.values[value].ty;
                        value = self.emit(OpKind::OptimizationBarrier, &[value], ty);
                    }
                    let mut shape = self.rw.module.shape(value).to_vec();
                    shape[to] /= group;
                    shape[from] *= group;
                    let spec = self.on_channel(mesh.replica_groups(&axes));
                    let kind = OpKind::AllToAll {
                        split_dim: to as u32,
                        concat_dim: from as u32,
                        split_count: group as u32,
                        spec,
                    };
                    value = self.collective(kind, value, &shape);
                    value = self.trim(value, from, target[from]);
                }
                value
            }
            MeshCollectiveKind::CollectivePermute => {
                let (Some(from), to) =
                    (self.rw.module.shardings.sharding_of(operand), self.rw.module.shardings.get(out))
                else {
                    return;
                };
                let meshes = (&self.rw.module.meshes[from.mesh], &self.rw.module.meshes[to.mesh]);
                let pairs = permute_pairs(meshes, from, to, &self.scope.axes);
                let spec = self.on_channel(pairs);
                self.collective(OpKind::CollectivePermute(spec), sent, &target)
            }
            // The integers that stand for real numbers do not add up as these do.
            MeshCollectiveKind::ShardedToUnreduced(_) | MeshCollectiveKind::ReplicatedToUnreduced(_)
                if self.rw.module.is_quantized(operand) =>
            {
                self.fail_as_addend(operand);
                sent
            }
            MeshCollectiveKind::ShardedToUnreduced(axes) => {
                let by = self.rw.module.shardings.get(out).reduction;
                self.placed_as_addend(sent, &axes, &target, by)
            }
            MeshCollectiveKind::ReplicatedToUnreduced(axes) => {
                let by = self.rw.module.shardings.get(out).reduction;
                // The largest of equal numbers is that number.
                if is_idempotent(by) { sent } else { self.kept_by_first(sent, &axes, by) }
            }
            MeshCollectiveKind::Exchange => {
                let to = self.rw.module.shardings.get(out).clone();
                let (Some(from), Some(global)) =
                    (self.sharding(operand).cloned(), self.global(operand).map(|t| t.shape.clone()))
                else {
                    return;
                };
                self.exchange_pieces(&mesh, [&from, &to], &global, sent)
            }
            MeshCollectiveKind::AllReduce(axes, kind) => {
                let spec = self.groups(mesh.replica_groups(&axes));
                self.reducing(OpKind::AllReduce(spec), sent, &target, kind)
            }
            MeshCollectiveKind::ReduceScatter(axes, kind) => {
                let mut value = sent;
                for (dim, axes) in axes.iter().enumerate().filter(|(_, axes)| !axes.is_empty()) {
                    let group = mesh.axes_size(axes);
                    value = self.pad_to(value, dim, target[dim] * group);
                    let mut shape = self.rw.module.shape(value).to_vec();
                    shape[dim] /= group;
                    let spec = self.groups(mesh.replica_groups(axes));
                    let op = OpKind::ReduceScatter { dim: dim as u32, spec };
                    value = self.reducing(op, value, &shape, kind);
                }
                value
            }
        };
        let value = self.as_quantized_as(value, old);
        self.replace(value);
    }

    /// Quantized elements travel, and are padded, as the integers that are stored.
    fn as_stored(&mut self, value: ValueId) -> ValueId {
        let Some(stored) =
            self.rw.module.stored(value).filter(|_| self.rw.module.is_quantized(value)).cloned()
        else {
            return value;
        };
        let storage = self.rw.module.types.as_quantized(self.rw.module.values[value].ty);
        if storage.and_then(|tensor| tensor.element.storage?.dtype()) != Some(stored.dtype) {
            let ty = self.rw.module.types.display(self.rw.module.values[value].ty);
            let message =
                format!("devices would exchange parts of {ty}, whose elements have no type of their own");
            let hint = "store elements of 2, 4, 8, 16 or 32 bits, or reshard real numbers";
            self.fail(
                Diagnostic::unsupported("SH0413", message).at(self.rw.module.ops[self.at].span).hint(hint),
            );
        }
        let ty = self.rw.module.types.intern(Type::Tensor(stored));
        self.emit(OpKind::BitcastConvert, &[value], ty)
    }

    /// Stored integers become elements as those of `like`, if these are quantized.
    fn as_quantized_as(&mut self, value: ValueId, like: ValueId) -> ValueId {
        if !self.rw.module.is_quantized(like) {
            return value;
        }
        let ty = self.rw.module.values[like].ty;
        self.emit(OpKind::BitcastConvert, &[value], ty)
    }

    /// A collective's groups or pairs; in partition mode with a channel of its own, which says that ids are those of
    /// partitions.
    pub(super) fn on_channel(&mut self, groups: ReplicaGroups) -> Box<CollectiveSpec> {
        let channel = match self.mode {
            SpmdMode::Replica => None,
            SpmdMode::Partition => {
                self.next_channel += 1;
                Some(Channel::between_devices(self.next_channel - 1))
            }
        };
        let groups = self.shared(groups);
        Box::new(CollectiveSpec { groups, channel, ..CollectiveSpec::default() })
    }

    /// Returns groups equal to these that other collectives have too: lists are as long as there are devices.
    fn shared(&mut self, groups: ReplicaGroups) -> ReplicaGroups {
        if groups.as_strided().is_some() {
            return groups;
        }
        if let Some(known) = self.listed_groups.get(&groups) {
            return known.clone();
        }
        self.listed_groups.insert(groups.clone());
        groups
    }

    /// Returns the groups of an all-gather or reduction, where a channel alone would leave ids to be those of replicas.
    pub(super) fn groups(&mut self, groups: ReplicaGroups) -> Box<CollectiveSpec> {
        let mut spec = self.on_channel(groups);
        spec.use_global_device_ids = spec.channel.is_some();
        spec
    }

    /// A collective without a region, on a value of one block.
    pub(super) fn collective(&mut self, kind: OpKind, value: ValueId, shape: &[i64]) -> ValueId {
        self.sent(kind, value, shape, None)
    }

    fn reducing(&mut self, kind: OpKind, value: ValueId, shape: &[i64], reduction: ReductionKind) -> ValueId {
        self.sent(kind, value, shape, Some(reduction))
    }

    fn sent(
        &mut self,
        kind: OpKind,
        value: ValueId,
        shape: &[i64],
        reduction: Option<ReductionKind>,
    ) -> ValueId {
        let dtype = self.rw.module.tensor(value).map_or(DType::F32, |t| t.dtype);
        let carrier = carrier(dtype);
        // The sum of truth values is whether one of them is true, which back ends have as a reduction of its own.
        let reduction = reduction.map(|by| match by {
            ReductionKind::Add if dtype == DType::I1 => ReductionKind::Or,
            by => by,
        });
        let mut value = value;
        if carrier != dtype {
            let whole = self.rw.module.shape(value).to_vec();
            let ty = self.tensor_type(&whole, carrier);
            value = self.emit(OpKind::Convert, &[value], ty);
        }
        let region = reduction.map(|reduction| reducer(self.rw.module, reduction, carrier));
        let ty = self.tensor_type(shape, carrier);
        let mut result = self.emit(kind, &[value], ty);
        if let Some(op) = self.rw.module.def_op(result) {
            self.rw.module.ops[op].regions.extend(region);
        }
        if carrier != dtype {
            let ty = self.tensor_type(shape, dtype);
            result = self.emit(OpKind::Convert, &[result], ty);
        }
        result
    }

    fn all_gather(&mut self, mesh: &Mesh, value: ValueId, dim: usize, axes: &[AxisRef]) -> ValueId {
        let mut shape = self.rw.module.shape(value).to_vec();
        shape[dim] *= mesh.axes_size(axes);
        let spec = self.groups(mesh.replica_groups(axes));
        self.collective(OpKind::AllGather { dim: dim as u32, spec }, value, &shape)
    }

    /// Keeps the device's block of each dimension.
    fn all_slice(&mut self, mesh: &Mesh, operand: ValueId, axes: &[Vec<AxisRef>], target: &[i64]) -> ValueId {
        let mut value = operand;
        // A `dynamic_slice` brings its start into bounds: of `x: 6` over 4 devices the last would start at 4 instead
        // of 6, and have the third one's block as its own.
        for (dim, axes) in axes.iter().enumerate() {
            value = self.pad_to(value, dim, target[dim] * mesh.axes_size(axes));
        }
        let mut operands = vec![value];
        for (dim, axes) in axes.iter().enumerate() {
            let start = if axes.is_empty() { self.i32_scalar(0) } else { self.offset(axes, target[dim]) };
            operands.push(start);
        }
        let dtype = self.rw.module.tensor(value).map_or(DType::F32, |t| t.dtype);
        let ty = self.tensor_type(target, dtype);
        let sizes = SizeList::from_slice(target);
        self.emit(OpKind::DynamicSlice { sizes }, &operands, ty)
    }

    /// `value` with dimension `dim` grown to `size` by elements that mean nothing.
    fn pad_to(&mut self, value: ValueId, dim: usize, size: i64) -> ValueId {
        let Some(ty) = self.rw.module.tensor(value).cloned() else { return value };
        let missing = size - ty.shape[dim];
        if missing <= 0 {
            return value;
        }
        let rank = ty.rank();
        let zero = encode(ty.dtype, 0.0).unwrap_or_else(|| SmallVec::from_elem(0, ty.dtype.bytes()));
        let fill = self.splat(&zero, &[], ty.dtype);
        let none = SizeList::from_elem(0, rank);
        let mut high = none.clone();
        high[dim] = missing;
        let mut shape = ty.shape;
        shape[dim] = size;
        let ty = self.tensor_type(&shape, ty.dtype);
        let spec = PadSpec { low: none.clone(), high, interior: none };
        self.emit(OpKind::Pad(Box::new(spec)), &[value, fill], ty)
    }

    /// `value` with dimension `dim` cut to `size`.
    pub(super) fn trim(&mut self, value: ValueId, dim: usize, size: i64) -> ValueId {
        let Some(ty) = self.rw.module.tensor(value).cloned() else { return value };
        if ty.shape[dim] <= size {
            return value;
        }
        let rank = ty.rank();
        let mut limit = SizeList::from_slice(&ty.shape);
        limit[dim] = size;
        let spec =
            SliceSpec { start: SizeList::from_elem(0, rank), stride: SizeList::from_elem(1, rank), limit };
        let ty = self.tensor_type(&spec.limit.clone(), ty.dtype);
        self.emit(OpKind::Slice(Box::new(spec)), &[value], ty)
    }
}

/// The type that elements are sent as. XLA's CPU back end loses all but the first of numbers of two bits in a byte.
fn carrier(dtype: DType) -> DType {
    match dtype {
        DType::I2 => DType::I8,
        DType::UI2 => DType::UI8,
        other => other,
    }
}

/// Who sends to whom so that every device gets its block under `to`, when each block is on as many devices
/// before as after. A device keeps what it already has where it can. Every device is a source and a target
/// once. What devices hold differs along the axes that are `manual` where the collective stands. The two shardings may be
/// on meshes with the same axes and the devices in different orders.
fn permute_pairs(
    meshes: (&Mesh, &Mesh),
    from: &TensorSharding,
    to: &TensorSharding,
    manual: &[AxisRef],
) -> ReplicaGroups {
    // A block has a number over the dimensions, the axes of pending sums and those that are manual: a pending sum is a different
    // addend on each device along its axes.
    let parts = |sharding: &TensorSharding| -> Vec<AxisList> {
        let apart = sharding.unreduced.iter().chain(manual).map(|&axis| AxisList::from_iter([axis]));
        sharding.dims.iter().map(|dim| dim.axes.clone()).chain(apart).collect()
    };
    let (held, wanted) = (parts(from), parts(to));
    let sizes: Vec<i64> = (0..held.len().max(wanted.len()))
        .map(|part| {
            let size =
                |mesh: &Mesh, parts: &[AxisList]| parts.get(part).map_or(1, |axes| mesh.axes_size(axes));
            size(meshes.0, &held).max(size(meshes.1, &wanted))
        })
        .collect();
    let (has, wants) = (Blocks::new(meshes.0, &held, &sizes), Blocks::new(meshes.1, &wanted, &sizes));
    let own: FxHashMap<i64, i64> = (0..meshes.0.num_devices())
        .map(|position| (meshes.0.device_at(position), has.at(position)))
        .collect();
    // Devices that have a block and want another, as a list through `before` for each block; the last one sends first.
    let devices = meshes.1.num_devices();
    let mut holders: FxHashMap<i64, usize> = FxHashMap::default();
    let mut before = vec![usize::MAX; devices];
    let keeps = |position: usize| own.get(&meshes.1.device_at(position)) == Some(&wants.at(position));
    for position in (0..devices).filter(|&position| !keeps(position)) {
        if let Some(&block) = own.get(&meshes.1.device_at(position)) {
            before[position] = holders.insert(block, position).unwrap_or(usize::MAX);
        }
    }
    ReplicaGroups::pairs((0..devices).filter_map(|position| {
        let target = meshes.1.device_at(position);
        if keeps(position) {
            return Some((target, target));
        }
        let last = holders.get_mut(&wants.at(position))?;
        let source = *last;
        *last = *before.get(source)?;
        Some((meshes.1.device_at(source), target))
    }))
}

/// Which block each position of a mesh has, as a number.
struct Blocks {
    /// Stride and size of each axis, with what one step along it adds to the number.
    digits: Vec<(i64, i64, i64)>,
}

impl Blocks {
    /// Numbers blocks over `parts`, of which one counts to the size of the same place.
    fn new(mesh: &Mesh, parts: &[AxisList], sizes: &[i64]) -> Blocks {
        let (mut digits, mut below) = (Vec::new(), 1_i64);
        for (axes, &size) in parts.iter().zip(sizes) {
            let mut step = below;
            for &axis in axes.iter().rev() {
                digits.push((mesh.stride(axis), mesh.axis_size(axis), step));
                step = step.saturating_mul(mesh.axis_size(axis));
            }
            below = below.saturating_mul(size);
        }
        Blocks { digits }
    }

    fn at(&self, position: usize) -> i64 {
        self.digits.iter().map(|&(stride, size, step)| position as i64 / stride % size * step).sum()
    }
}
