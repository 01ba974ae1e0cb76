//! Expands manual computations into a program for one device: the reference semantics for `shardc verify`.
//!
//! The body is cloned once per manual coordinate, on that coordinate's slices of the operands. Collectives become arithmetic on the values
//! of the coordinates, and the results are reassembled. Apart from the interpretation of replica groups, the code shares nothing with
//! partitioning, so that it is an independent reference. The size of its output is proportional to the number of coordinates, so it is only
//! used for verification.

use std::collections::BTreeMap;

use shardc_ir::{
    AxisRef, Build, CompareDirection, CompareType, Dense, Diagnostic, FuncId, ManualSpec, Module, OpId,
    OpKind, ReductionKind, RegionId, Rewriter, ShardingId, SizeList, SliceSpec, TensorBuild, TensorType,
    TypeId, ValueId, ValueMap, clone_op,
};

use super::coordinates::ManualCoordinates;
use super::{Scope, device_groups, is_manual_op, mesh_of};
use crate::analysis::reducer::reduction_of;

/// Expands every manual computation of `func`, a function without calls. The shardings outside of manual computations do not change.
///
/// # Errors
/// Returns `SH0312` for a collective that the computation's coordinates cannot express, and `SH0314` for a body whose control flow or
/// boundary has values that are not tensors.
pub fn unroll_manual(module: &mut Module, func: FuncId) -> Result<(), Vec<Diagnostic>> {
    let Some(body) = module.funcs[func].body else { return Ok(()) };
    outside(&mut Rewriter::new(module), body).map_err(|error| vec![*error])
}

type Res<T> = Result<T, Box<Diagnostic>>;

/// Unrolls the manual computations in a region that is not inside a manual computation.
fn outside(rw: &mut Rewriter<'_>, region: RegionId) -> Res<()> {
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        if let OpKind::ManualComputation(spec) = &rw.module.ops[op].kind {
            // A computation without a mesh has no operands or results.
            let Some(mesh) = mesh_of(rw.module, spec) else {
                rw.erase();
                continue;
            };
            let coordinates = ManualCoordinates::new(rw.module.meshes[mesh].clone(), Scope::default());
            let mut maps = [ValueMap::new()];
            Unroll { rw, coordinates: &coordinates, at: op }.manual(op, &mut maps)?;
            let values: Vec<ValueId> = rw.module.ops[op].results.iter().map(|&v| maps[0].get(v)).collect();
            rw.replace(&values);
            continue;
        }
        for inner in rw.module.ops[op].regions.clone() {
            outside(rw, inner)?;
        }
    }
    Ok(())
}

/// Emits operations for all coordinates at the rewriter's insertion point.
struct Unroll<'a, 'm> {
    rw: &'a mut Rewriter<'m>,
    coordinates: &'a ManualCoordinates,
    /// The operation that is being unrolled.
    at: OpId,
}

impl Unroll<'_, '_> {
    fn go_to(&mut self, op: OpId) {
        self.at = op;
        self.rw.at_origin_of(op);
    }

    /// Emits the operations of a region for all coordinates. `maps` has, for each coordinate, the replacements of values. Returns for each
    /// coordinate the values that the region returns.
    fn region(&mut self, region: RegionId, maps: &mut [ValueMap]) -> Res<Vec<Vec<ValueId>>> {
        let mut returned = vec![Vec::new(); maps.len()];
        for op in self.rw.module.regions[region].ops.clone() {
            self.go_to(op);
            match &self.rw.module.ops[op].kind {
                OpKind::Return => {
                    for (values, map) in returned.iter_mut().zip(maps.iter()) {
                        *values = self.rw.module.ops[op].operands.iter().map(|&v| map.get(v)).collect();
                    }
                }
                OpKind::ManualComputation(_) => self.manual(op, maps)?,
                OpKind::While if self.has_collectives(op) => self.while_loop(op, maps)?,
                OpKind::Case | OpKind::If if self.has_collectives(op) => self.branches(op, maps)?,
                kind if is_manual_op(kind) => self.collective(op, maps)?,
                // The value is the same at all coordinates, so one operation is enough.
                OpKind::Constant(_) | OpKind::Iota { .. } => {
                    let result = self.rw.module.ops[op].results[0];
                    let Some((first, rest)) = maps.split_first_mut() else { continue };
                    let copy = clone_op(self.rw.module, op, first);
                    self.rw.insert(copy);
                    for map in rest {
                        map.insert(result, first.get(result));
                    }
                }
                _ => {
                    for map in maps.iter_mut() {
                        let copy = clone_op(self.rw.module, op, map);
                        self.rw.insert(copy);
                    }
                }
            }
        }
        Ok(returned)
    }

    /// Whether the operation contains collectives in its regions, so that coordinates cannot execute it independently.
    fn has_collectives(&self, op: OpId) -> bool {
        let inner = self.rw.module.ops[op].regions.iter().flat_map(|&r| self.rw.module.walk(r));
        inner
            .map(|op| &self.rw.module.ops[op].kind)
            .any(|k| is_manual_op(k) || matches!(k, OpKind::ManualComputation(_)))
    }

    /// Unrolls a manual computation, possibly nested in another one.
    fn manual(&mut self, op: OpId, maps: &mut [ValueMap]) -> Res<()> {
        let (OpKind::ManualComputation(spec), &[body]) =
            (&self.rw.module.ops[op].kind, self.rw.module.ops[op].regions.as_slice())
        else {
            return Err(self.refuse("a manual computation without a body"));
        };
        let spec: ManualSpec = (**spec).clone();
        let coordinates = self.coordinates.enter(&spec);
        let inner = coordinates.count() / self.coordinates.count().max(1);
        let mut inner_maps = vec![ValueMap::new(); coordinates.count()];
        for (i, &arg) in self.rw.module.regions[body].args.clone().iter().enumerate() {
            let operand = self.rw.module.ops[op].operands[i];
            let sharding = self.rw.module.shardings.get(spec.in_shardings[i]).clone();
            let is_manual = |axis: &&AxisRef| coordinates.scope.axes.iter().any(|m| m.axis == axis.axis);
            let pending: Vec<AxisRef> = sharding.unreduced.iter().filter(is_manual).copied().collect();
            if !pending.is_empty() && !self.is_only_completed(body, arg, sharding.reduction) {
                return Err(
                    self.refuse("an unreduced value that enters a manual computation along its manual axes")
                );
            }
            for (coordinate, map) in inner_maps.iter_mut().enumerate() {
                let whole = maps[coordinate / inner].get(operand);
                let block = coordinates.block(coordinate, &sharding);
                let mut part = self.block(whole, self.rw.module.values[arg].ty, &block)?;
                // The value is divided into partial values. For maximum and minimum, which are idempotent, every coordinate gets the full
                // value. For a sum, the first coordinate gets the value, and the others get zeros.
                if sharding.reduction == ReductionKind::Add
                    && coordinates.index_along(coordinate, &pending) > 0
                {
                    let ty = self.tensor(part)?;
                    part = self.rw.zeros(&ty.shape, ty.dtype);
                }
                map.insert(arg, part);
            }
        }
        let mut inside = Unroll { rw: &mut *self.rw, coordinates: &coordinates, at: op };
        let returned = inside.region(body, &mut inner_maps)?;
        self.go_to(op);
        for (i, &result) in self.rw.module.ops[op].results.clone().iter().enumerate() {
            for (outer, map) in maps.iter_mut().enumerate() {
                let own = outer * inner..(outer + 1) * inner;
                let parts = own.map(|coordinate| (coordinate, returned[coordinate][i]));
                let whole = self.assemble(&coordinates, parts, spec.out_shardings[i])?;
                map.insert(result, whole);
            }
        }
        Ok(())
    }

    /// Whether every user of an unreduced argument is a collective that reduces it with its own reduction. The way in which the value is
    /// divided into partial values then does not affect the result.
    fn is_only_completed(&self, body: RegionId, arg: ValueId, kind: ReductionKind) -> bool {
        let module = &*self.rw.module;
        let is_idempotent = matches!(kind, ReductionKind::Max | ReductionKind::Min);
        let completes = |op: OpId| {
            let data = &module.ops[op];
            let reduces = |region: &RegionId| reduction_of(module, *region, 1) == Some(kind);
            matches!(data.kind, OpKind::AllReduce(_) | OpKind::ReduceScatter { .. })
                && data.regions.first().is_some_and(reduces)
        };
        let mut readers = module.walk(body).into_iter().filter(|&op| module.ops[op].operands.contains(&arg));
        (is_idempotent || kind == ReductionKind::Add) && readers.all(completes)
    }

    /// Returns the block of `whole` that has type `ty`. `block` is the index of the block along each dimension.
    fn block(&mut self, whole: ValueId, ty: TypeId, block: &[i64]) -> Res<ValueId> {
        if self.rw.module.values[whole].ty == ty {
            return Ok(whole);
        }
        let Some(part) = self.rw.module.types.as_tensor(ty).cloned() else {
            return Err(self.refuse("a manual computation on values that are not tensors"));
        };
        let start: SizeList = block.iter().zip(&part.shape).map(|(i, n)| i * n).collect();
        Ok(self.slice(whole, &start, &part))
    }

    fn slice(&mut self, whole: ValueId, start: &[i64], part: &TensorType) -> ValueId {
        let spec = SliceSpec {
            start: start.iter().copied().collect(),
            limit: start.iter().zip(&part.shape).map(|(i, n)| i + n).collect(),
            stride: SizeList::from_elem(1, part.shape.len()),
        };
        let ty = self.rw.module.types.tensor(&part.shape, part.dtype);
        self.emit(OpKind::Slice(Box::new(spec)), &[whole], ty)
    }

    /// Assembles a value from the blocks of the coordinates. Coordinates with the same block are required to have equal values, so the
    /// first is used.
    fn assemble(
        &mut self,
        coordinates: &ManualCoordinates,
        parts: impl Iterator<Item = (usize, ValueId)>,
        sharding: ShardingId,
    ) -> Res<ValueId> {
        let sharding = self.rw.module.shardings.get(sharding).clone();
        let mut blocks = BTreeMap::<Vec<i64>, ValueId>::new();
        for (coordinate, part) in parts {
            let mut place = coordinates.block(coordinate, &sharding);
            place.push(coordinates.index_along(coordinate, &sharding.unreduced));
            blocks.entry(place).or_insert(part);
        }
        let addends = grouped(blocks);
        let mut blocks = BTreeMap::new();
        for (place, addends) in addends {
            blocks.insert(place, self.combine(&addends, sharding.reduction)?);
        }
        for dim in (0..sharding.rank()).rev() {
            let mut joined = BTreeMap::new();
            for (place, parts) in grouped(blocks) {
                joined.insert(place, self.concatenate(&parts, dim)?);
            }
            blocks = joined;
        }
        blocks.into_values().next().ok_or_else(|| self.refuse("a manual computation without devices"))
    }

    fn concatenate(&mut self, parts: &[ValueId], dim: usize) -> Res<ValueId> {
        if let &[only] = parts {
            return Ok(only);
        }
        let mut ty = self.tensor(parts[0])?;
        ty.shape[dim] = parts.iter().map(|&p| self.rw.module.shape(p)[dim]).sum();
        let ty = self.rw.module.types.tensor(&ty.shape, ty.dtype);
        Ok(self.emit(OpKind::Concatenate { dim: dim as u32 }, parts, ty))
    }

    fn combine(&mut self, parts: &[ValueId], kind: ReductionKind) -> Res<ValueId> {
        let Some((&first, rest)) = parts.split_first() else {
            return Err(self.refuse("a group without devices"));
        };
        let mut sum = first;
        for &part in rest {
            sum = self.emit(OpKind::Binary(kind.op()), &[sum, part], self.rw.module.values[first].ty);
        }
        Ok(sum)
    }

    /// Unrolls a collective, or an operation that returns the device ID.
    fn collective(&mut self, op: OpId, maps: &mut [ValueMap]) -> Res<()> {
        let kind = self.rw.module.ops[op].kind.clone();
        let result_ty = self.rw.module.values[self.rw.module.ops[op].results[0]].ty;
        match kind {
            OpKind::PartitionId | OpKind::ReplicaId => {
                let result = self.rw.module.ops[op].results[0];
                for (coordinate, map) in maps.iter_mut().enumerate() {
                    let id = if matches!(kind, OpKind::PartitionId) {
                        self.coordinates.device(coordinate)
                    } else {
                        0
                    };
                    let id =
                        self.emit(OpKind::Constant(Dense::splat(&(id as u32).to_le_bytes())), &[], result_ty);
                    map.insert(result, id);
                }
                return Ok(());
            }
            _ => {}
        }
        let groups = device_groups(self.rw.module, op, &self.coordinates.mesh, &self.coordinates.scope)?;
        let groups = self.coordinates.groups(&groups);
        let (operands, results) =
            (self.rw.module.ops[op].operands.clone(), self.rw.module.ops[op].results.clone());
        for (&operand, &result) in operands.iter().zip(&results) {
            let given: Vec<ValueId> = maps.iter().map(|map| map.get(operand)).collect();
            let part = self.tensor(result)?;
            let mut taken: Vec<Option<ValueId>> = vec![None; given.len()];
            for group in &groups {
                let values: Vec<ValueId> = group.iter().map(|&coordinate| given[coordinate]).collect();
                self.exchange(op, &kind, &values, &part, |member, value| taken[group[member]] = Some(value))?;
            }
            for (map, value) in maps.iter_mut().zip(taken) {
                // A device that is not a target of any pair gets zeros, by the definition of `collective_permute` and
                // `collective_broadcast`.
                let value = match value {
                    Some(value) => value,
                    None => {
                        let ty = self.rw.module.types.tensor(&part.shape, part.dtype);
                        self.emit(OpKind::Constant(Dense::splat(&vec![0; part.dtype.bytes()])), &[], ty)
                    }
                };
                map.insert(result, value);
            }
        }
        Ok(())
    }

    /// Computes the results of the members of one group (or source-target pair) from their operands `values`. Passes each result to `take`,
    /// with the index of the member in the group.
    fn exchange(
        &mut self,
        op: OpId,
        kind: &OpKind,
        values: &[ValueId],
        part: &TensorType,
        mut take: impl FnMut(usize, ValueId),
    ) -> Res<()> {
        match kind {
            OpKind::AllReduce(_) | OpKind::ReduceScatter { .. } => {
                // The region combines two elements, regardless of the number of operands.
                let region = self.rw.module.ops[op].regions.first();
                let reduction = region.and_then(|&r| reduction_of(self.rw.module, r, 1));
                let Some(reduction) = reduction else {
                    return Err(self.refuse("a collective whose reducer has more than one operation"));
                };
                let sum = self.combine(values, reduction)?;
                for member in 0..values.len() {
                    let value = match kind {
                        OpKind::ReduceScatter { dim, .. } => {
                            let mut start = vec![0; part.shape.len()];
                            start[*dim as usize] = member as i64 * part.shape[*dim as usize];
                            self.slice(sum, &start, part)
                        }
                        _ => sum,
                    };
                    take(member, value);
                }
            }
            OpKind::AllGather { dim, .. } => {
                let all = self.concatenate(values, *dim as usize)?;
                (0..values.len()).for_each(|member| take(member, all));
            }
            OpKind::AllToAll { split_dim, concat_dim, .. } => {
                let (split, concat) = (*split_dim as usize, *concat_dim as usize);
                let mut piece = self.tensor(values[0])?;
                piece.shape[split] /= values.len() as i64;
                for member in 0..values.len() {
                    let mut start = vec![0; piece.shape.len()];
                    start[split] = member as i64 * piece.shape[split];
                    let pieces: Vec<ValueId> =
                        values.iter().map(|&value| self.slice(value, &start, &piece)).collect();
                    let value = self.concatenate(&pieces, concat)?;
                    take(member, value);
                }
            }
            OpKind::CollectivePermute(_) => {
                if let &[source, _] = values {
                    take(1, source);
                }
            }
            OpKind::CollectiveBroadcast(_) => {
                (0..values.len()).for_each(|member| take(member, values[0]));
            }
            _ => return Err(self.refuse("this kind of collective")),
        }
        Ok(())
    }

    /// Unrolls a loop that contains collectives. The new loop runs until the last coordinate is done; coordinates that are done earlier
    /// keep their values, like inactive threads of a GPU warp.
    fn while_loop(&mut self, op: OpId, maps: &mut [ValueMap]) -> Res<()> {
        let data = self.rw.module.ops[op].clone();
        let &[cond, body] = data.regions.as_slice() else { return Err(self.refuse("a loop without a body")) };
        let types: Vec<TypeId> = data.results.iter().map(|&r| self.rw.module.values[r].ty).collect();
        let all_types: Vec<TypeId> = maps.iter().flat_map(|_| types.iter().copied()).collect();
        let operands: Vec<ValueId> = maps
            .iter()
            .flat_map(|map| data.operands.iter().map(|&v| map.get(v)).collect::<Vec<_>>())
            .collect();

        let new_cond = self.rw.module.add_region(&all_types);
        self.rw.enter(new_cond);
        let predicates = self.predicates(cond, new_cond, maps, types.len())?;
        let any = self.combine(&predicates, ReductionKind::Or)?;
        self.emit_return(&[any]);
        self.rw.leave();

        let new_body = self.rw.module.add_region(&all_types);
        self.rw.enter(new_body);
        self.go_to(op);
        let predicates = self.predicates(cond, new_body, maps, types.len())?;
        let mut inner_maps = self.with_args(body, new_body, maps, types.len());
        let returned = self.region(body, &mut inner_maps)?;
        let args = self.rw.module.regions[new_body].args.clone();
        let mut next = Vec::with_capacity(args.len());
        for (coordinate, values) in returned.iter().enumerate() {
            for (i, &value) in values.iter().enumerate() {
                next.push(self.select(predicates[coordinate], value, args[coordinate * types.len() + i])?);
            }
        }
        self.emit_return(&next);
        self.rw.leave();

        self.go_to(op);
        let copy = self.rw.op(OpKind::While, &operands, &all_types, &[new_cond, new_body]);
        for (coordinate, map) in maps.iter_mut().enumerate() {
            for (i, &result) in data.results.iter().enumerate() {
                map.insert(result, self.rw.module.ops[copy].results[coordinate * types.len() + i]);
            }
        }
        Ok(())
    }

    /// Returns for each coordinate whether it executes another iteration. The operations of the condition `cond` are emitted with the
    /// arguments of `region`, which hold the loop-carried values of all coordinates.
    fn predicates(
        &mut self,
        cond: RegionId,
        region: RegionId,
        maps: &[ValueMap],
        n: usize,
    ) -> Res<Vec<ValueId>> {
        let mut maps = self.with_args(cond, region, maps, n);
        let returned = self.region(cond, &mut maps)?;
        let first = |values: &Vec<ValueId>| values.first().copied();
        returned
            .iter()
            .map(first)
            .collect::<Option<_>>()
            .ok_or_else(|| self.refuse("a loop without a condition"))
    }

    /// Returns `maps` (one for each coordinate) with the arguments of the region `old` mapped to arguments of `new`, which has `n`
    /// arguments for each coordinate.
    fn with_args(&self, old: RegionId, new: RegionId, maps: &[ValueMap], n: usize) -> Vec<ValueMap> {
        let mut maps = maps.to_vec();
        for (coordinate, map) in maps.iter_mut().enumerate() {
            for (i, &arg) in self.rw.module.regions[old].args.iter().enumerate() {
                map.insert(arg, self.rw.module.regions[new].args[coordinate * n + i]);
            }
        }
        maps
    }

    fn emit_return(&mut self, values: &[ValueId]) {
        let ret = self.rw.module.add_op(OpKind::Return, values, &[], &[]);
        self.rw.insert(ret);
    }

    /// Unrolls branches that contain collectives: all branches are computed, and each coordinate selects the results of the branch that it
    /// takes. The reference thus computes more than the program.
    fn branches(&mut self, op: OpId, maps: &mut [ValueMap]) -> Res<()> {
        let data = self.rw.module.ops[op].clone();
        let mut given = Vec::with_capacity(data.regions.len());
        for &branch in &data.regions {
            given.push(self.region(branch, &mut maps.to_vec())?);
        }
        self.go_to(op);
        let bool_ty = self.rw.module.types.tensor(&[], shardc_ir::DType::I1);
        for (coordinate, map) in maps.iter_mut().enumerate() {
            let index = map.get(data.operands[0]);
            for (i, &result) in data.results.iter().enumerate() {
                // `case` takes the last branch for every index that is out of range.
                let Some((last, others)) = given.split_last() else { continue };
                let mut value = last[coordinate][i];
                for (branch, given) in others.iter().enumerate() {
                    let taken = match data.kind {
                        OpKind::Case => {
                            let ty = self.rw.module.values[index].ty;
                            let number = Dense::splat(&(branch as i32).to_le_bytes());
                            let number = self.emit(OpKind::Constant(number), &[], ty);
                            let equal = OpKind::Compare(CompareDirection::EQ, Some(CompareType::Signed));
                            self.emit(equal, &[index, number], bool_ty)
                        }
                        _ => index,
                    };
                    value = self.select(taken, given[coordinate][i], value)?;
                }
                map.insert(result, value);
            }
        }
        Ok(())
    }

    fn select(&mut self, pred: ValueId, on_true: ValueId, on_false: ValueId) -> Res<ValueId> {
        self.tensor(on_true)?;
        Ok(self.emit(OpKind::Select, &[pred, on_true, on_false], self.rw.module.values[on_true].ty))
    }

    fn tensor(&self, value: ValueId) -> Res<TensorType> {
        self.rw
            .module
            .tensor(value)
            .cloned()
            .ok_or_else(|| self.refuse("a collective, branch or loop on a value that is not a tensor"))
    }

    fn emit(&mut self, kind: OpKind, operands: &[ValueId], ty: TypeId) -> ValueId {
        self.rw.op1(kind, operands, ty)
    }

    fn refuse(&self, what: &str) -> Box<Diagnostic> {
        let message = format!("cannot unroll {what} to a program for one device");
        Box::new(Diagnostic::unsupported("SH0314", message).at(self.rw.module.ops[self.at].span))
    }
}

/// Groups blocks that differ only in the last component of their index. The key is the index without the last component, and each list is
/// ordered by that component.
fn grouped(values: BTreeMap<Vec<i64>, ValueId>) -> BTreeMap<Vec<i64>, Vec<ValueId>> {
    let mut groups = BTreeMap::<Vec<i64>, Vec<ValueId>>::new();
    for (mut place, value) in values {
        place.pop();
        groups.entry(place).or_default().push(value);
    }
    groups
}
