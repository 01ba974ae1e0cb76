//! Rooted collective expansion: expands collectives that have a root to an `all_reduce`.
//!
//! * `collective_broadcast` becomes the sum of the root's value and zeros on the other devices. Bit patterns are summed as integers, so
//!   that every value arrives unchanged (`-0.0`, NaN payloads). The root is an operand (`has_dynamic_root`), or else the first device of
//!   each group. XLA's CPU and TPU compilers have no `collective_broadcast`, so [`expand_broadcasts`] expands both kinds for them.
//! * `collective_reduce` becomes an `all_reduce`: StableHLO defines its result on the root alone, and the root may be known only at run
//!   time.
//!
//! No XLA plugin supports a dynamic root or `collective_reduce` yet (StableHLO 1.20 and 1.21 introduced them).
//!
//! ```mlir
//! %1 = "stablehlo.collective_broadcast"(%0, %root) <{has_dynamic_root, replica_groups = dense<[[0, 2], [1, 3]]> ...}>
//! ```
//! becomes
//! ```mlir
//! %id = stablehlo.partition_id : tensor<ui32>
//! %place = stablehlo.dynamic_slice %places, %id, sizes = [1]    // %places = dense<[0, 0, 1, 1]>
//! %is_root = stablehlo.compare EQ, %place, %root
//! %sent = stablehlo.select %is_root, %bits, %zeros
//! %sum = "stablehlo.all_reduce"(%sent) ...                      // add
//! ```

use shardc_ir::reducer::reducer;
use shardc_ir::{
    BinaryOp, Build, CollectiveSpec, CompareDirection, CompareType, DType, Module, OpId, OpKind,
    ReductionKind, RegionId, ReplicaGroups, Rewriter, SizeList, TensorBuild, UnaryOp, ValueId, ValueMap,
    clone_region,
};
use smallvec::SmallVec;

type Values = SmallVec<[ValueId; 3]>;

/// Expands each `collective_broadcast` of a program that runs on `devices` devices, for a compiler that does not support it. An operation
/// is not expanded if its groups are not lists or its types are not plain tensors.
pub(super) fn expand_broadcasts(module: &mut Module, devices: i64) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut |rw, op| {
            if let OpKind::CollectiveBroadcast(spec) = rw.module.ops[op].kind.clone()
                && let Some(values) = broadcast(rw, op, &spec, devices)
            {
                rw.replace(&values);
            }
        });
    }
}

/// Inserts the sums that replace a `collective_broadcast`, in a program that runs on at least `devices` devices. `None` if it is not
/// expanded, because its groups are not lists or its types are not plain tensors.
pub(super) fn broadcast(
    rw: &mut Rewriter<'_>,
    op: OpId,
    spec: &CollectiveSpec,
    devices: i64,
) -> Option<Values> {
    let operands = rw.module.ops[op].operands.clone();
    let (roots, data) = match operands.split_last()? {
        (&roots, data) if spec.has_dynamic_root => (Some(roots), data),
        _ => (None, operands.as_slice()),
    };
    let groups = spec.groups.to_lists();
    let last = groups.iter().flatten().copied().max()?;
    let devices = (last + 1).max(devices);
    let place = place_in_group(rw, &groups, usize::try_from(devices).ok()?, spec)?;
    let sum = CollectiveSpec {
        groups: with_all_devices(groups, devices),
        mesh_axes: None,
        use_global_device_ids: spec.crosses_partitions(),
        has_dynamic_root: false,
        channel: spec.channel,
    };
    let mut values = Values::new();
    for (i, &value) in data.iter().enumerate() {
        let root = match roots {
            Some(roots) => {
                let root = rw.range(roots, 0, i as i64, i as i64 + 1);
                rw.tensor(OpKind::Reshape, &[root], &[], DType::I32)
            }
            None => rw.zeros(&[], DType::I32),
        };
        let equal = OpKind::Compare(CompareDirection::EQ, Some(CompareType::Signed));
        let is_root = rw.tensor(equal, &[place, root], &[], DType::I1);
        values.push(from_root(rw, value, is_root, &sum)?);
    }
    Some(values)
}

/// Inserts the `all_reduce` of each operand of a `collective_reduce`. `None` if its groups are not lists.
pub(super) fn reduce(rw: &mut Rewriter<'_>, op: OpId, spec: &CollectiveSpec) -> Option<Values> {
    let data = rw.module.ops[op].clone();
    let &[body] = data.regions.as_slice() else { return None };
    if spec.groups.is_empty() {
        return None;
    }
    let spec = CollectiveSpec { has_dynamic_root: false, ..spec.clone() };
    let mut values = Values::new();
    for (&operand, &result) in data.operands.iter().zip(&data.results) {
        let region: RegionId = clone_region(rw.module, body, &mut ValueMap::new());
        let ty = rw.module.values[result].ty;
        let sum = rw.op(OpKind::AllReduce(Box::new(spec.clone())), &[operand], &[ty], &[region]);
        values.push(*rw.module.ops[sum].results.first()?);
    }
    Some(values)
}

/// Emits the index of the current device in its group, as a scalar; -1 if it is in no group.
fn place_in_group(
    rw: &mut Rewriter<'_>,
    groups: &[Vec<i64>],
    devices: usize,
    spec: &CollectiveSpec,
) -> Option<ValueId> {
    let mut places = vec![-1i32; devices];
    for group in groups {
        for (place, &device) in group.iter().enumerate().filter(|&(_, &device)| device >= 0) {
            *places.get_mut(usize::try_from(device).ok()?)? = i32::try_from(place).ok()?;
        }
    }
    let bytes = places.iter().flat_map(|place| place.to_le_bytes()).collect();
    let table = rw.elements(bytes, &[devices as i64], DType::I32);
    let id = if spec.crosses_partitions() { OpKind::PartitionId } else { OpKind::ReplicaId };
    let id = rw.tensor(id, &[], &[], DType::UI32);
    let id = rw.convert(id, DType::I32);
    let sizes = SizeList::from_slice(&[1]);
    let place = rw.tensor(OpKind::DynamicSlice { sizes }, &[table, id], &[1], DType::I32);
    Some(rw.tensor(OpKind::Reshape, &[place], &[], DType::I32))
}

/// Adds a group of one for each device without a group: every device must participate in an `all_reduce`.
fn with_all_devices(mut groups: Vec<Vec<i64>>, devices: i64) -> ReplicaGroups {
    let missing: Vec<i64> =
        (0..devices).filter(|id| !groups.iter().flatten().any(|other| other == id)).collect();
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
    groups.extend(missing.into_iter().map(|id| vec![id]));
    // `replica_groups` is a matrix; StableHLO pads short rows with -1.
    groups.iter_mut().for_each(|group| group.resize(longest, -1));
    ReplicaGroups::matrix(groups.concat(), longest)
}

/// Emits the value that the root of a group has, on every device of the group.
fn from_root(
    rw: &mut Rewriter<'_>,
    value: ValueId,
    is_root: ValueId,
    sum: &CollectiveSpec,
) -> Option<ValueId> {
    let ty = rw.module.tensor(value).filter(|ty| ty.is_static() && ty.encoding.is_none())?;
    let (dtype, shape) = (ty.dtype, ty.shape.to_vec());
    if let DType::C64 | DType::C128 = dtype {
        let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
        let mut parts = [value; 2];
        for (part_of, kind) in parts.iter_mut().zip([UnaryOp::Real, UnaryOp::Imag]) {
            let value = rw.tensor(OpKind::Unary(kind), &[value], &shape, part);
            *part_of = from_root(rw, value, is_root, sum)?;
        }
        return Some(rw.tensor(OpKind::Binary(BinaryOp::Complex), &parts, &shape, dtype));
    }
    // Back ends add 32-bit and 64-bit numbers; narrower bit patterns are widened.
    let same_width = match dtype.bits() {
        8 => DType::UI8,
        16 => DType::UI16,
        32 => DType::UI32,
        64 => DType::UI64,
        _ => dtype,
    };
    let is_float = dtype.is_float();
    if is_float && same_width == dtype {
        return None;
    }
    let bits = if is_float { rw.tensor(OpKind::BitcastConvert, &[value], &shape, same_width) } else { value };
    let narrow = if is_float { same_width } else { dtype };
    let wide = if narrow.bits() < 32 { DType::UI32 } else { narrow };
    let wide_bits = rw.convert(bits, wide);
    let zeros = rw.zeros(&shape, wide);
    let sent = rw.alike_to(OpKind::Select, &[is_root, wide_bits, zeros], wide_bits);
    let region = reducer(rw.module, ReductionKind::Add, wide);
    let ty = rw.module.values[sent].ty;
    let received = rw.op(OpKind::AllReduce(Box::new(sum.clone())), &[sent], &[ty], &[region]);
    let received = *rw.module.ops[received].results.first()?;
    let bits = rw.convert(received, narrow);
    Some(if is_float { rw.tensor(OpKind::BitcastConvert, &[bits], &shape, dtype) } else { bits })
}
