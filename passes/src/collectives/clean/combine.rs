//! Combines small collectives that do not depend on each other.
//!
//! Each start of a collective costs time that a few bytes do not. Those of a region that are of one kind, over the same
//! devices and of one element type become one as long as they stay small together, and stand near each other or are not
//! needed before the last of them: none has to wait long for the others. So the gradients of several layers travel
//! together, and nothing of the forward pass waits for the backward pass.
//!
//! Between replicas, all-reduces take several operands as they are. Others take one: theirs are made flat, put end to
//! end, and cut up again afterwards, which pays off for fewer bytes.
//!
//! The *level* of an operation is the number of collectives that may be combined on the longest way to it, where those
//! that became one are of the level of the last of them. Those of one level do not depend on each other, so that no order
//! of levels is broken when they become one. An operation moves only in front of one that now has to wait for it.

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

/// Combines under `region`; returns what became one.
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

/// How many operations may be between collectives that wait for each other.
const NEAR: usize = 128;

/// Operands that have to be copied there and back are combined while they have this part of the bytes that others may.
const COPIED: u64 = 256;

/// The operations of a region, by their places in it.
struct Order {
    ops: Vec<OpId>,
    /// What each has to come after: what makes its operands, and those of operations in its regions. Effects keep their
    /// order.
    after: Vec<SmallVec<[u32; 3]>>,
    /// Where each is needed: where it stands if it cannot wait, else where what cannot wait first depends on it.
    needed: Vec<usize>,
    /// Where the first reader of each is needed; the end of the region where there is none.
    read: Vec<usize>,
}

impl Order {
    fn new(module: &Module, region: RegionId) -> Order {
        let ops = module.regions[region].ops.to_vec();
        // One more than the place; zero for what is elsewhere.
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
                // One edge to the last effect is enough: it has one to the effect before it.
                deps.extend(last_effect.replace(at as u32));
            }
            deps.sort_unstable();
            deps.dedup();
            after.push(deps);
        }
        let (needed, read) = Order::times(module, &ops, &after);
        Order { ops, after, needed, read }
    }

    /// Computes where each operation is needed, and where its first reader is, in one pass backwards: `needed` of a reader is
    /// final before that of what it reads.
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

    /// Collectives that become one, by their places: groups of two and more, each in order.
    ///
    /// Operations are seen in the order in which they are needed. So nothing that was seen depends on a group that is not
    /// needed yet: its level may still rise, and whatever comes may join it.
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
        // Whether each counts for the levels of what comes after it.
        let mut counts: Vec<bool> = vec![false; self.ops.len()];
        let mut order: Vec<usize> = (0..self.ops.len()).collect();
        // A topological order too: what an operation depends on is needed no later than the operation.
        order.sort_by_key(|&at| (self.needed[at], at));
        for at in order {
            let deps = self.after[at].iter().map(|&dep| dep as usize);
            levels[at] = deps.map(|dep| levels[dep] + u32::from(counts[dep])).max().unwrap_or(0);
            let Some(bytes) = is_small(at) else { continue };
            counts[at] = true;
            // What is neither near nor can wait is left behind.
            // Collectives cannot wait, so they come in the order of the text and `members[0]` is the first.
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
            // Full: what comes later may still fit into a group of its own, in the place of this one.
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

    /// Puts the region together again, with one collective for each group where the first of it is needed.
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
            // Members wait until one of them is needed; at the end nothing waits any longer.
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

    /// Appends what is on the stack, last first, each after all that it has to come after: a depth-first topological sort, with
    /// a stack of its own since chains of operations are as long as programs. Members of a group are one node.
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

/// A region while it is put together again. Operations are named by their old places.
struct Emission<'a, 'm> {
    /// What becomes one.
    groups: &'a [Vec<usize>],
    /// The group that each operation is in.
    group_of: &'a [Option<usize>],
    /// What has its new place.
    done: Vec<bool>,
    /// Has the operations in their new order.
    builder: Builder<'m>,
    /// What became one.
    combined: Vec<Combined>,
}

/// Whether an operation does something that is not in its results, its regions left out: such operations keep their order.
fn has_effect(kind: &OpKind) -> bool {
    match kind.def().effect {
        Effect::Draws | Effect::World | Effect::Unknown => true,
        // Collectives that do not depend on each other may meet in any order, as long as it is the same on all devices.
        Effect::Collective => false,
        Effect::Pure | Effect::DeviceNumber | Effect::MayNotEnd | Effect::Holds | Effect::Ends => false,
    }
}

/// Whether an operation may as well be done where its results are needed: not what the devices do most of the time, so that
/// what computes goes on meanwhile.
fn can_wait(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    data.kind.def().work == Work::Light && !has_program_regions(&data.kind) && module.is_pure(data)
}

/// The bytes that a device puts in or gets out, whichever are more, if this is a collective that can be combined with others.
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
    // Back ends combine truth values in ways of their own.
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
    // Dimensions do not matter: what is put end to end has lost them, and the rest has none.
    discriminant(&one.kind) == discriminant(&other.kind)
        && same_devices(x, y)
        && dtype(one) == dtype(other)
        && reduction(one) == reduction(other)
        && one.attrs == other.attrs
}

/// Appends one collective in place of `members`, and defines their results by it.
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

/// Whether the operands of several such collectives have to be put end to end.
fn goes_flat(module: &Module, op: OpId) -> bool {
    match &module.ops[op].kind {
        // XLA's CPU back end mixes up the elements of several values that are gathered together and that it lays out
        // differently. XLA's partitioner refuses several operands in programs that are partitioned already.
        OpKind::AllReduce(spec) => spec.channel.is_some(),
        _ => true,
    }
}

/// Gives the first member the operands and results of all.
fn side_by_side(b: &mut Builder<'_>, first: OpId, members: &[OpId]) {
    for &op in &members[1..] {
        let operand = b.module.ops[op].operands[0];
        b.module.ops[first].operands.push(operand);
        // The member that is gone keeps a result of its own.
        let result = b.module.renew_result(op, 0);
        b.module.give_result(first, result);
    }
    b.insert(first);
}

/// Emits one collective over the operands made flat; with a row for each device of a group, of what goes in where devices keep
/// parts, of what comes out where they gather them. Returns the collective.
fn end_to_end(builder: &mut Builder<'_>, members: &[OpId]) -> OpId {
    let module = &*builder.module;
    let first = members[0];
    let kind = module.ops[first].kind.clone();
    let group = kind.collective().and_then(|spec| spec.groups.first()).map_or(1, |g| g.len() as i64);
    // A device's part must stay in one piece when operands are put end to end: row `d` is what device `d` keeps or gave.
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

/// Returns the dimension that a collective splits or concatenates.
fn changed_dim(kind: &OpKind) -> usize {
    match kind {
        OpKind::ReduceScatter { dim, .. } | OpKind::AllGather { dim, .. } => *dim as usize,
        _ => 0,
    }
}

/// Makes operations that come from the place of another and carry its mark.
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

    /// Returns `value` as `rows` rows, one for each part of dimension `dim`.
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

    /// Returns rows in the shape of `like`, of whose dimension `dim` each is a part: the inverse of [`Made::rows`].
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
