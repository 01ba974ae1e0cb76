//! Lowers collectives on global values to StableHLO collectives on local blocks.
//!
//! If a dimension does not divide evenly, blocks are padded before a collective that splits them, and the excess is sliced off after a
//! collective that concatenates them. So each device gets a block of `ceil(n / k)` elements.

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
            // Back ends reject collectives on empty tensors. All empty tensors are equal, so a constant replaces the result.
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
                    // Padding is sliced off before the next dimension is all-gathered, so that it is not sent again.
                    value = self.trim(value, dim, target[dim]);
                }
                value
            }
            MeshCollectiveKind::AllSlice(axes) => {
                let lists: Vec<Vec<AxisRef>> = axes.iter().map(|a| a.to_vec()).collect();
                self.all_slice(&mesh, sent, &lists, &target)
            }
            MeshCollectiveKind::AllToAll(moves) => self.all_to_all(&mesh, sent, &moves, &target),
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
            // Partial sums of quantized values are not supported: the sum of storage integers does not represent the sum of the real
            // numbers.
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
                // All devices may keep the value if the reduction is idempotent: a reduction of equal values then returns the value itself.
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
                self.reduce_scatter(&mesh, sent, &axes, &target, kind)
            }
        };
        let value = self.as_quantized_as(value, old);
        self.replace(value);
    }

    /// Emits one all-to-all for each entry of `moves`: it moves an axis from one dimension that it shards to another.
    fn all_to_all(&mut self, mesh: &Mesh, mut value: ValueId, moves: &[AxisMove], target: &[i64]) -> ValueId {
        for AxisMove { axes, from, to } in moves {
            let (from, to) = (*from as usize, *to as usize);
            let group = mesh.axes_size(axes);
            let missing = target[to] * group - self.rw.module.shape(value)[to];
            value = self.pad_to(value, to, target[to] * group);
            if missing >= target[to] {
                // XLA splits the operand of an all-to-all into pieces, and folds a piece that is only padding to a constant. The pieces may
                // then have different layouts, which XLA's CPU back end rejects.
                let ty = self.rw.module.values[value].ty;
                value = self.emit(OpKind::OptimizationBarrier, &[value], ty);
            }
            let mut shape = self.rw.module.shape(value).to_vec();
            shape[to] /= group;
            shape[from] *= group;
            let spec = self.on_channel(mesh.replica_groups(axes));
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

    /// Emits one reduce-scatter for each dimension that becomes sharded.
    fn reduce_scatter(
        &mut self,
        mesh: &Mesh,
        mut value: ValueId,
        axes: &[AxisList],
        target: &[i64],
        kind: ReductionKind,
    ) -> ValueId {
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

    /// Converts quantized elements to their storage integers, which can be sent and padded.
    fn as_stored(&mut self, value: ValueId) -> ValueId {
        let Some(stored) =
            self.rw.module.stored(value).filter(|_| self.rw.module.is_quantized(value)).cloned()
        else {
            return value;
        };
        let storage = self.rw.module.types.as_quantized(self.rw.module.values[value].ty);
        if storage.and_then(|tensor| tensor.element.storage?.dtype()) != Some(stored.dtype) {
            let ty = self.rw.module.types.display(self.rw.module.values[value].ty);
            let message = format!(
                "devices cannot exchange shards of {ty} because no element type has its storage width"
            );
            let hint = "use a storage type of 2, 4, 8, 16 or 32 bits, or reshard dequantized values";
            self.fail(
                Diagnostic::unsupported("SH0413", message).at(self.rw.module.ops[self.at].span).hint(hint),
            );
        }
        let ty = self.rw.module.types.intern(Type::Tensor(stored));
        self.emit(OpKind::BitcastConvert, &[value], ty)
    }

    /// Converts storage integers back to the quantized type of `like`, if `like` is quantized.
    fn as_quantized_as(&mut self, value: ValueId, like: ValueId) -> ValueId {
        if !self.rw.module.is_quantized(like) {
            return value;
        }
        let ty = self.rw.module.values[like].ty;
        self.emit(OpKind::BitcastConvert, &[value], ty)
    }

    /// Returns the attributes of a collective with the given groups or pairs. In partition mode, the collective has a new channel, so that
    /// ids are partition ids.
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

    /// Returns a shared copy of `groups` if an earlier collective has an equal list, since a list has as many entries as devices.
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

    /// Returns the attributes of an all-gather or reduction with the given groups. Such a collective also needs `use_global_device_ids`:
    /// with a channel alone, ids are replica ids.
    pub(super) fn groups(&mut self, groups: ReplicaGroups) -> Box<CollectiveSpec> {
        let mut spec = self.on_channel(groups);
        spec.use_global_device_ids = spec.channel.is_some();
        spec
    }

    /// Emits a collective without a region.
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
        // A sum of booleans is a logical or, which back ends support.
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

    /// Slices the device's block out of `operand`, dimension by dimension.
    fn all_slice(&mut self, mesh: &Mesh, operand: ValueId, axes: &[Vec<AxisRef>], target: &[i64]) -> ValueId {
        let mut value = operand;
        // The value is padded, since `dynamic_slice` clamps its start. With 6 elements over 4 devices, the last device would start at 4
        // instead of 6, and get the third device's block.
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

    /// Pads dimension `dim` of `value` to `size`. The contents of the padding are irrelevant.
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

    /// Slices dimension `dim` of `value` to `size`.
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

/// Returns the element type in which collectives send `dtype`. Two-bit elements are converted, since XLA's CPU back end loses all but the
/// first such element of each byte.
fn carrier(dtype: DType) -> DType {
    match dtype {
        DType::I2 => DType::I8,
        DType::UI2 => DType::UI8,
        other => other,
    }
}

/// Returns the source-target pairs by which every device receives its block under `to`. Each block must be on as many devices before as
/// after. Every device is a source once and a target once; a device that already has its block sends to itself. Values may also differ
/// along the `manual` axes of the enclosing manual computation. The two meshes have the same axes, but may order devices differently.
fn permute_pairs(
    meshes: (&Mesh, &Mesh),
    from: &TensorSharding,
    to: &TensorSharding,
    manual: &[AxisRef],
) -> ReplicaGroups {
    // Blocks are numbered over dimensions, unreduced axes and manual axes, since devices hold different partial sums along an unreduced
    // axis.
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
    // For each block, a list of the devices that hold the block but need another one, linked by `before`. The last device in the list sends
    // first.
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

/// Computes the block number of each position of a mesh.
struct Blocks {
    /// For each axis, its stride, its size, and the difference of the block numbers of adjacent coordinates along it.
    digits: Vec<(i64, i64, i64)>,
}

impl Blocks {
    /// Numbers the blocks in mixed radix. Each element of `parts` is a list of axes that shard one dimension; `sizes` are the products of
    /// their sizes.
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
