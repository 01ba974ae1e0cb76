//! Collective combining: combines small independent collectives into one.
//!
//! Starting a collective has a fixed cost. Collectives of a region are combined if they have the same kind, replica groups and element
//! type, if their total size is small, and if they are close together or no result is needed before the last of them. Therefore, no
//! collective is delayed for long: gradients of several layers are combined, but the forward pass does not wait for the backward pass.
//!
//! In replica mode, an all-reduce takes several operands. For other collectives, the operands are flattened and concatenated, and the
//! result is sliced and reshaped. These copies pay off only for small operands, so the byte limit is lower.
//!
//! The *level* of an operation is the number of combinable collectives on the longest path to it; a combined collective has the highest
//! level of its members. Collectives of one level are independent, so combining them keeps the order of levels. Other operations keep
//! their order, except that the operands of a combined collective are computed before it.

use std::mem::discriminant;

use shardc_ir::{
    Build, Builder, DType, Effect, Module, OpId, OpKind, RegionId, SecondaryMap, SizeList, SliceSpec, TypeId,
    ValueId, Work,
};
use smallvec::SmallVec;

use super::deduplicate::same_devices;
use super::{CleanOptions, Combined};
use crate::analysis::reducer::reduction_of;
use crate::analysis::regions::has_program_regions;
use crate::localize::MARK;

/// Combines collectives under `region`. Returns the combined collectives.
pub(super) fn combine(module: &mut Module, region: RegionId, options: &CleanOptions) -> Vec<Combined> {
    let mut out = Vec::new();
    if options.combine_bytes == 0 {
        return out;
    }
    for at in 0..module.regions[region].ops.len() {
        let op = module.regions[region].ops[at];
        if !module.ops[op].regions.is_empty() && has_program_regions(&module.ops[op].kind) {
            for inner in module.ops[op].regions.clone() {
                out.extend(combine(module, inner, options));
            }
        }
    }
    let has_some = module.regions[region].ops.iter().filter(|&&op| can_combine(module, op).is_some()).count();
    if has_some > 1 {
        let order = Order::new(module, region);
        let groups = order.groups(module, options.combine_bytes);
        if !groups.is_empty() {
            out.extend(order.emit(module, region, &groups));
        }
    }
    out
}

/// The maximum number of operations between the first and the last collective of a group if one of its results is needed before the last
/// one.
const NEAR: usize = 128;

/// The divisor of the byte limit for collectives whose operands must be copied.
const COPIED: u64 = 256;

/// The operations of a region and their dependencies, indexed by position in the region.
struct Order {
    ops: Vec<OpId>,
    /// For each operation, the positions of the operations that it depends on: the producers of its operands and of the values that its
    /// regions use. An operation with side effects also depends on the previous operation with side effects.
    after: Vec<SmallVec<[u32; 3]>>,
    /// The position at which each operation is needed: its own position if it cannot be delayed, otherwise the first position at which
    /// an operation that depends on it is needed.
    needed: Vec<usize>,
    /// The position at which the first user of each operation is needed; the end of the region if there are no users.
    read: Vec<usize>,
}

impl Order {
    fn new(module: &Module, region: RegionId) -> Order {
        let ops = module.regions[region].ops.to_vec();
        // Maps each operation of this region to its position plus one, and all other operations to zero.
        let mut places: SecondaryMap<OpId, u32> = SecondaryMap::with_capacity(module.ops.len());
        for (at, &op) in (1..).zip(&ops) {
            places[op] = at;
        }
        let place = |v: ValueId| places[module.def_op(v)?].checked_sub(1);
        let mut after = Vec::with_capacity(ops.len());
        let mut last_effect = None;
        for (at, &op) in ops.iter().enumerate() {
            let mut deps: SmallVec<[u32; 3]> = SmallVec::new();
            let mut effect = has_effect(&module.ops[op].kind);
            let mut read = |op: OpId| {
                deps.extend(module.ops[op].operands.iter().filter_map(|&v| place(v)));
            };
            read(op);
            for &inner in &module.ops[op].regions {
                for nested in module.walk(inner) {
                    read(nested);
                    effect |= has_effect(&module.ops[nested].kind);
                }
            }
            if effect {
                // A dependency on the last operation with a side effect suffices, since that operation depends on the one before it.
                deps.extend(last_effect.replace(at as u32));
            }
            deps.sort_unstable();
            deps.dedup();
            after.push(deps);
        }
        let (needed, read) = Order::times(module, &ops, &after);
        Order { ops, after, needed, read }
    }

    /// Computes the positions at which each operation and its first user are needed. One backward pass suffices: users are visited before
    /// the producers of their operands.
    fn times(module: &Module, ops: &[OpId], after: &[SmallVec<[u32; 3]>]) -> (Vec<usize>, Vec<usize>) {
        let mut read = vec![ops.len(); ops.len()];
        let mut needed = vec![0; ops.len()];
        for (at, &op) in ops.iter().enumerate().rev() {
            needed[at] = if can_wait(module, op) { read[at] } else { at };
            for &dep in &after[at] {
                let first = &mut read[dep as usize];
                *first = needed[at].min(*first);
            }
        }
        (needed, read)
    }

    /// Returns the groups of two or more collectives to combine, as positions in program order.
    ///
    /// Operations are visited in the order in which they are needed. While no result of a group is needed, no visited operation depends on
    /// the group, so it may still get a higher level and new members.
    fn groups(&self, module: &Module, limit: u64) -> Vec<Vec<usize>> {
        struct Open {
            level: u32,
            members: Vec<usize>,
            bytes: u64,
            needed: usize,
        }
        let mut levels: Vec<u32> = vec![0; self.ops.len()];
        let mut open: Vec<Open> = Vec::new();
        let mut closed: Vec<Vec<usize>> = Vec::new();
        let limit_of = |at: usize| if goes_flat(module, self.ops[at]) { limit / COPIED } else { limit };
        let is_small = |at: usize| can_combine(module, self.ops[at]).filter(|&bytes| bytes <= limit_of(at));
        // Whether each operation is a collective that may be combined. Such a collective adds one to the levels of the operations that
        // depend on it.
        let mut counts: Vec<bool> = vec![false; self.ops.len()];
        let mut order: Vec<usize> = (0..self.ops.len()).collect();
        // The order in which operations are needed is also topological: dependencies are needed no later than their dependents.
        order.sort_by_key(|&at| (self.needed[at], at));
        for at in order {
            let deps = self.after[at].iter().map(|&dep| dep as usize);
            levels[at] = deps.map(|dep| levels[dep] + u32::from(counts[dep])).max().unwrap_or(0);
            let Some(bytes) = is_small(at) else { continue };
            counts[at] = true;
            // A group accepts no more members once one of its results is already needed and its first member is more than `NEAR` operations
            // before this collective. A collective is needed at its own position, so collectives are visited in program order and
            // `members[0]` is the first.
            let may_join = |one: &Open| at < one.needed || at - one.members[0] <= NEAR;
            for done in open.extract_if(.., |one| !may_join(one)) {
                closed.push(done.members);
            }
            let fits = |one: &Open| {
                (at < one.needed || one.level == levels[at])
                    && can_be_one(module, self.ops[one.members[0]], self.ops[at])
            };
            let found = open.iter().position(fits);
            if let Some(one) = found.map(|i| &mut open[i])
                && one.bytes + bytes <= limit_of(at)
            {
                one.members.push(at);
                one.bytes += bytes;
                one.needed = one.needed.min(self.read[at]);
                if levels[at] > one.level {
                    one.level = levels[at];
                    one.members.iter().for_each(|&member| levels[member] = one.level);
                }
                levels[at] = one.level;
                continue;
            }
            // The group is full. A new group that begins with this collective replaces it.
            if let Some(i) = found {
                closed.push(open.swap_remove(i).members);
            }
            open.push(Open { level: levels[at], members: vec![at], bytes, needed: self.read[at] });
        }
        closed.extend(open.into_iter().map(|one| one.members));
        closed.retain(|members| members.len() > 1);
        closed.sort_unstable();
        closed
    }

    /// Rebuilds the region, with one collective for each group at the position where its first member is needed.
    fn emit(&self, module: &mut Module, region: RegionId, groups: &[Vec<usize>]) -> Vec<Combined> {
        let mut group_of: Vec<Option<usize>> = vec![None; self.ops.len()];
        for (g, members) in groups.iter().enumerate() {
            members.iter().for_each(|&at| group_of[at] = Some(g));
        }
        let mut emission = Emission {
            groups,
            group_of: &group_of,
            done: vec![false; self.ops.len()],
            builder: Builder::new(module),
            combined: Vec::with_capacity(groups.len()),
        };
        let last = self.ops.len().saturating_sub(1);
        for (at, group) in group_of.iter().enumerate() {
            // This loop emits operations outside of groups, in order. A group is emitted when such an operation, or the end of the region,
            // needs one of its results.
            if group.is_none() {
                let waiting = if at == last { groups.iter().map(|g| g[0]).collect() } else { Vec::new() };
                let mut stack: Vec<(usize, bool)> = vec![(at, false)];
                stack.extend(waiting.into_iter().rev().map(|first| (first, false)));
                self.bring(stack, &mut emission);
            }
        }
        emission.builder.finish(region);
        emission.combined
    }

    /// Emits the operations on the stack, from the top, each after the operations that it depends on. An entry is an operation, and whether
    /// its dependencies were already pushed. This is a depth-first topological sort in which a group is one node. The stack is explicit,
    /// since dependency chains can be as long as the program.
    fn bring(&self, mut stack: Vec<(usize, bool)>, emission: &mut Emission<'_, '_>) {
        while let Some((at, ready)) = stack.pop() {
            if emission.done[at] {
                continue;
            }
            let alone = [at];
            let members: &[usize] = emission.group_of[at].map_or(&alone, |g| &emission.groups[g]);
            if ready {
                members.iter().for_each(|&member| emission.done[member] = true);
                let ops: SmallVec<[OpId; 4]> = members.iter().map(|&member| self.ops[member]).collect();
                match ops.as_slice() {
                    [op] => emission.builder.insert(*op),
                    all => emission.combined.push(combine_members(&mut emission.builder, all)),
                }
                continue;
            }
            stack.push((at, true));
            let deps = members.iter().flat_map(|&member| &self.after[member]).map(|&dep| dep as usize);
            let mut missing: SmallVec<[usize; 4]> = deps.filter(|&dep| !emission.done[dep]).collect();
            missing.sort_unstable();
            missing.dedup();
            stack.extend(missing.into_iter().rev().map(|dep| (dep, false)));
        }
    }
}

/// A region that is being rebuilt. Operations are identified by their old positions.
struct Emission<'a, 'm> {
    /// The groups of collectives to combine, as positions.
    groups: &'a [Vec<usize>],
    /// For each operation, the index in `groups` of its group; `None` if it is not combined.
    group_of: &'a [Option<usize>],
    /// Whether each operation has been emitted.
    done: Vec<bool>,
    /// The operations in their new order.
    builder: Builder<'m>,
    /// The combined collectives.
    combined: Vec<Combined>,
}

/// Whether an operation has side effects, not counting the operations in its regions. Operations with side effects keep their order.
fn has_effect(kind: &OpKind) -> bool {
    match kind.def().effect {
        Effect::Draws | Effect::World | Effect::Unknown => true,
        // Independent collectives may run in any order that is the same on all devices.
        Effect::Collective => false,
        Effect::Pure | Effect::DeviceNumber | Effect::MayNotEnd | Effect::Holds | Effect::Ends => false,
    }
}

/// Whether an operation may be delayed until its results are needed. Expensive operations are not delayed, so that they overlap with
/// collectives.
fn can_wait(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    data.kind.def().work == Work::Light && !has_program_regions(&data.kind) && module.is_pure(data)
}

/// Returns the larger of the operand size and the result size of a collective, in bytes per device. Returns `None` if `op` is not a
/// collective that can be combined.
fn can_combine(module: &Module, op: OpId) -> Option<u64> {
    let data = &module.ops[op];
    let (&[operand], &[result]) = (data.operands.as_slice(), data.results.as_slice()) else { return None };
    match &data.kind {
        OpKind::AllReduce(_) | OpKind::ReduceScatter { .. } => {
            reduction_of(module, *data.regions.first()?, 1)?;
        }
        OpKind::AllGather { .. } | OpKind::CollectivePermute(_) => {}
        _ => return None,
    }
    let ty = module.tensor(operand)?;
    // Back ends handle collectives of `i1` in different ways, so these are not combined.
    if ty.dtype == DType::I1 || ty.shape.contains(&0) {
        return None;
    }
    let bytes = ty.num_bytes()?.max(module.tensor(result)?.num_bytes()?);
    u64::try_from(bytes).ok()
}

fn can_be_one(module: &Module, a: OpId, b: OpId) -> bool {
    let (one, other) = (&module.ops[a], &module.ops[b]);
    let dtype = |op: &shardc_ir::Op| module.tensor(op.operands[0]).map(|t| t.dtype);
    let reduction = |op: &shardc_ir::Op| op.regions.first().and_then(|&r| reduction_of(module, r, 1));
    let (Some(x), Some(y)) = (one.kind.collective(), other.kind.collective()) else { return false };
    // Gather and scatter dimensions may differ: operands of all-gathers and reduce-scatters are flattened.
    discriminant(&one.kind) == discriminant(&other.kind)
        && same_devices(x, y)
        && dtype(one) == dtype(other)
        && reduction(one) == reduction(other)
        && one.attrs == other.attrs
}

/// Appends one collective that replaces `members`, and defines their results.
fn combine_members(b: &mut Builder<'_>, members: &[OpId]) -> Combined {
    let first = members[0];
    let op = if goes_flat(b.module, first) {
        end_to_end(b, members)
    } else {
        side_by_side(b, first, members);
        first
    };
    Combined { op, members: members.to_vec() }
}

/// Whether combining `op` with other collectives requires flattening and concatenating operands. If not, the combined collective has
/// several operands.
fn goes_flat(module: &Module, op: OpId) -> bool {
    match &module.ops[op].kind {
        // Only an all-reduce without a channel (replica mode) gets several operands. XLA's partitioner rejects several operands in programs
        // that are already partitioned. XLA's CPU back end confuses elements in an all-gather of several operands with different layouts.
        OpKind::AllReduce(spec) => spec.channel.is_some(),
        _ => true,
    }
}

/// Emits the first member, with the operands and results of all members.
fn side_by_side(b: &mut Builder<'_>, first: OpId, members: &[OpId]) {
    for &op in &members[1..] {
        let operand = b.module.ops[op].operands[0];
        b.module.ops[first].operands.push(operand);
        // The first member, which now also reduces the operand of `op`, defines the result value that `op` defined before. `op`, which is
        // no longer in the region, gets a new, unused result.
        let result = b.module.renew_result(op, 0);
        b.module.give_result(first, result);
    }
    b.insert(first);
}

/// Emits one collective over the flattened operands, and returns it. Operands of a reduce-scatter and results of an all-gather have one
/// row for each device of a group.
fn end_to_end(builder: &mut Builder<'_>, members: &[OpId]) -> OpId {
    let module = &*builder.module;
    let first = members[0];
    let kind = module.ops[first].kind.clone();
    let group = kind.collective().and_then(|spec| spec.groups.first()).map_or(1, |g| g.len() as i64);
    // The elements of one device must be contiguous in the concatenation: row `d` belongs to device `d` of the group.
    let (kind, rows_in, rows_out) = match kind {
        OpKind::ReduceScatter { spec, .. } => (OpKind::ReduceScatter { dim: 0, spec }, group, 1),
        OpKind::AllGather { spec, .. } => (OpKind::AllGather { dim: 0, spec }, 1, group),
        other => (other, 1, 1),
    };
    let dtype = module.tensor(module.ops[first].operands[0]).map_or(DType::F32, |t| t.dtype);
    let mut b = Made { builder, like: first };
    let mut flat = Vec::with_capacity(members.len());
    let mut width = 0;
    for &op in members {
        b.like = op;
        let row = b.rows(
            b.builder.module.ops[op].operands[0],
            changed_dim(&b.builder.module.ops[op].kind),
            rows_in,
            dtype,
        );
        width += b.builder.module.shape(row)[1];
        flat.push(row);
    }
    b.like = first;
    let all = b.make(OpKind::Concatenate { dim: 1 }, &flat, &[rows_in, width], dtype);
    let done = b.make(kind, &[all], &[rows_out, width], dtype);
    let collective = b.builder.module.def_op(done).unwrap_or(first);
    b.builder.module.ops[collective].attrs = b.builder.module.ops[first].attrs.clone();
    b.builder.module.ops[collective].regions = std::mem::take(&mut b.builder.module.ops[first].regions);
    let mut start = 0;
    for (&op, &row) in members.iter().zip(&flat) {
        let size = b.builder.module.shape(row)[1];
        b.like = op;
        let spec = SliceSpec {
            start: SizeList::from_slice(&[0, start]),
            limit: SizeList::from_slice(&[rows_out, start + size]),
            stride: SizeList::from_slice(&[1, 1]),
        };
        let part = b.make(OpKind::Slice(Box::new(spec)), &[done], &[rows_out, size], dtype);
        start += size;
        let result = b.builder.module.ops[op].results[0];
        let value = b.unrows(part, result, changed_dim(&b.builder.module.ops[op].kind), rows_out, dtype);
        b.builder.module.renew_result(op, 0);
        b.builder.module.take_over(value, result);
    }
    collective
}

/// Returns the dimension along which a reduce-scatter or all-gather changes the size; 0 for other collectives.
fn changed_dim(kind: &OpKind) -> usize {
    match kind {
        OpKind::ReduceScatter { dim, .. } | OpKind::AllGather { dim, .. } => *dim as usize,
        _ => 0,
    }
}

/// Builds operations that have the location of `like`, and its [`MARK`] attribute ("already partitioned").
struct Made<'a, 'm> {
    builder: &'a mut Builder<'m>,
    like: OpId,
}

impl Made<'_, '_> {
    fn make(&mut self, kind: OpKind, operands: &[ValueId], shape: &[i64], dtype: DType) -> ValueId {
        let ty: TypeId = self.builder.module.types.tensor(shape, dtype);
        self.builder.from_op(self.like);
        let op = self.builder.op(kind, operands, &[ty], &[]);
        let module = &mut *self.builder.module;
        if let Some(mark) = module.ops[self.like].attrs.get(MARK).cloned() {
            module.ops[op].attrs.set(MARK, mark);
        }
        module.ops[op].results[0]
    }

    /// Reshapes `value` to `rows` rows, one for each block of dimension `dim`.
    fn rows(&mut self, value: ValueId, dim: usize, rows: i64, dtype: DType) -> ValueId {
        let mut shape = self.builder.module.shape(value).to_vec();
        let elements: i64 = shape.iter().product();
        let mut value = value;
        if rows > 1 && dim > 0 {
            shape[dim] /= rows;
            shape.insert(dim, rows);
            value = self.make(OpKind::Reshape, &[value], &shape, dtype);
            shape[..=dim].rotate_right(1);
            let permutation = [dim].into_iter().chain((0..shape.len()).filter(|&d| d != dim));
            let permutation = permutation.map(|d| d as u32).collect();
            value = self.make(OpKind::Transpose { permutation }, &[value], &shape, dtype);
        }
        self.reshape(value, &[rows, elements / rows], dtype)
    }

    /// Reshapes rows, each a block of dimension `dim`, to the shape of `like`: the inverse of [`Made::rows`].
    fn unrows(&mut self, value: ValueId, like: ValueId, dim: usize, rows: i64, dtype: DType) -> ValueId {
        let whole = self.builder.module.shape(like).to_vec();
        let mut value = value;
        if rows > 1 && dim > 0 {
            let mut shape = whole.clone();
            shape[dim] /= rows;
            shape.insert(0, rows);
            value = self.make(OpKind::Reshape, &[value], &shape, dtype);
            shape[..=dim].rotate_left(1);
            let permutation = (1..=dim).chain([0]).chain(dim + 1..shape.len()).map(|d| d as u32).collect();
            value = self.make(OpKind::Transpose { permutation }, &[value], &shape, dtype);
        }
        self.reshape(value, &whole, dtype)
    }

    fn reshape(&mut self, value: ValueId, shape: &[i64], dtype: DType) -> ValueId {
        if self.builder.module.shape(value) == shape {
            value
        } else {
            self.make(OpKind::Reshape, &[value], shape, dtype)
        }
    }
}
