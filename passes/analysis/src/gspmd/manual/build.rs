//! Builds the manual computation of a [`ManualPart`](super::ManualPart).

use rustc_hash::FxHashSet;
use shardc_ir::{
    AxisList, AxisRef, Diagnostic, ManualSpec, OpId, OpKind, ShardingId, TensorSharding, TypeId, ValueId,
    ValueMap, clone_op,
};

use super::{Former, ManualPart, Res, inputs};
use crate::gspmd::to_axes::without;

/// A manual computation whose operation is not created yet.
struct Draft {
    spec: ManualSpec,
    operands: Vec<ValueId>,
    /// The type of each argument of the body.
    arg_types: Vec<TypeId>,
    /// For each argument of the body, the local value that the argument replaces.
    locals: Vec<ValueId>,
    /// The operations of the body.
    members: Vec<OpId>,
    /// Maps values outside of the body to their copies in the body.
    map: ValueMap,
    /// The values that the body returns.
    returned: Vec<ValueId>,
    result_types: Vec<TypeId>,
    /// For each result, the global value that the result replaces.
    results: Vec<ValueId>,
}

impl Draft {
    /// Adds an operand, and the argument of type `ty` that replaces `local` in the body.
    fn add_operand(&mut self, sharding: ShardingId, value: ValueId, local: ValueId, ty: TypeId) {
        self.spec.in_shardings.push(sharding);
        self.operands.push(value);
        self.arg_types.push(ty);
        self.locals.push(local);
    }
}

impl Former<'_, '_> {
    /// Returns the operand for a value that enters the manual computation, and its in-sharding. If the value is a sharding constraint
    /// without other users, the operand of the constraint is returned instead.
    fn entering(&mut self, value: ValueId, local: ValueId, op: OpId) -> Res<(ValueId, TensorSharding)> {
        let module = &*self.import.rw.module;
        if let Some(def) = module.def_op(value) {
            if let OpKind::ShardingConstraint(id) = module.ops[def].kind {
                let sharding = module.shardings.get(id).clone();
                // The `in_sharding` replaces the constraint, unless the constraint has other users.
                let only = self.import.uses.of(value).len() == 1;
                let value = module.ops[def].operands.first().copied().filter(|_| only).unwrap_or(value);
                if only {
                    self.unused.insert(def);
                }
                return Ok((value, sharding));
            }
            if let Some(crossing) = self.import.crossings.get(&def)
                && !crossing.enters
                && let Some(index) = module.ops[def].results.iter().position(|&r| r == value)
                && let Some(sharding) = crossing.shardings.get(index)
            {
                return Ok((value, sharding.clone()));
            }
        }
        if let Some(sharding) = module.shardings.sharding_of(value) {
            return Ok((value, sharding.clone()));
        }
        if module.values[value].ty == module.values[local].ty {
            return Ok((value, TensorSharding::replicated(self.import.home.mesh, module.rank(value))));
        }
        let message = format!(
            "no sharding specifies how {} is sharded to the local type {}",
            module.types.display(module.values[value].ty),
            module.types.display(module.values[local].ty)
        );
        Err(self.error(
            op,
            message,
            "constrain the value with a custom_call @Sharding before it is converted to a local value",
        ))
    }

    /// Checks that the sharding of a value that enters or leaves the computation fits its global and local types, and interns the sharding.
    fn border(
        &mut self,
        op: OpId,
        sharding: TensorSharding,
        manual: &[AxisRef],
        whole: ValueId,
        local: ValueId,
    ) -> Res<ShardingId> {
        let module = &mut *self.import.rw.module;
        let mesh = &module.meshes[sharding.mesh];
        let is_manual = |axis: &AxisRef| manual.iter().any(|m| m.axis == axis.axis);
        if let (Some(whole), Some(local)) = (module.stored(whole), module.stored(local)) {
            let mut expected = whole.clone();
            for (n, dim) in expected.shape.iter_mut().zip(&sharding.dims) {
                let first = dim.axes.iter().take_while(|axis| is_manual(axis)).count();
                if dim.axes[first..].iter().any(is_manual) {
                    let message = format!(
                        "the sharding {} has a free axis before a manual axis of the same dimension",
                        sharding.display(mesh)
                    );
                    return Err(self.error(op, message, "shard each dimension along manual axes first"));
                }
                let parts = mesh.axes_size(&dim.axes[..first]);
                if *n != shardc_ir::DYNAMIC {
                    *n = (*n + parts - 1) / parts;
                }
            }
            if expected.shape != local.shape {
                let message = format!(
                    "{whole} sharded as {} has the local type {expected}, got {local}",
                    sharding.display(mesh)
                );
                return Err(Box::new(Diagnostic::invalid("SH0346", message).at(module.ops[op].span)));
            }
        }
        Ok(module.shardings.intern(sharding))
    }

    /// Returns the value that the body returns for `value`. If `value` is the result of a sharding constraint in the body that only repeats
    /// the out-sharding and has no other user, the constraint is removed from `members`, and its operand is returned.
    fn leaving(
        &self,
        value: ValueId,
        sharding: &TensorSharding,
        manual: &[AxisRef],
        members: &mut Vec<OpId>,
    ) -> ValueId {
        let module = &*self.import.rw.module;
        let Some(def) = module.def_op(value).filter(|def| members.contains(def)) else { return value };
        let OpKind::ShardingConstraint(id) = module.ops[def].kind else { return value };
        let again = *module.shardings.get(id) == without(sharding, manual);
        match module.ops[def].operands.first() {
            Some(&operand) if again && self.import.uses.of(value).len() == 1 => {
                members.retain(|&op| op != def);
                operand
            }
            _ => value,
        }
    }

    /// Builds the manual computation of `part`. Returns `None` if no value leaves it and it has no side effects.
    pub(super) fn build(&mut self, part: &ManualPart) -> Res<Option<OpId>> {
        let all = part.entries.iter().chain(&part.exits).chain(&part.members);
        let Some(&anchor) = all.clone().next() else { return Ok(None) };
        let effects = part.members.iter().any(|&op| {
            let kind = &self.import.rw.module.ops[op].kind;
            matches!(kind, OpKind::Call { .. } | OpKind::CustomCall(_) | OpKind::Opaque(_))
        });
        if part.exits.is_empty() && !effects {
            return Ok(None);
        }
        let manual_axes = self.manual_axes(part, anchor)?;
        let mut draft = Draft {
            spec: ManualSpec { in_shardings: Vec::new(), out_shardings: Vec::new(), manual_axes },
            operands: Vec::new(),
            arg_types: Vec::new(),
            locals: Vec::new(),
            members: Vec::with_capacity(part.members.len()),
            map: ValueMap::new(),
            returned: Vec::new(),
            result_types: Vec::new(),
            results: Vec::new(),
        };
        self.enter(part, &mut draft)?;
        self.capture(part, &mut draft);
        draft.members.extend(&part.members);
        self.import.formed.extend(&part.members);
        self.leave(part, &mut draft)?;
        Ok(Some(self.finish(draft, anchor)))
    }

    /// Returns the axes that the manual computation of `part` makes manual, without those that are already manual in the enclosing
    /// computations.
    fn manual_axes(&self, part: &ManualPart, anchor: OpId) -> Res<AxisList> {
        let home = self.import.home.mesh;
        // If neither the calls nor other operations name axes (XLA's `{manual}`), all axes of the mesh are manual.
        let everything = || self.import.rw.module.meshes[home].all_axes();
        let axes = part
            .axes
            .clone()
            .or(part.fewest.clone())
            .unwrap_or_else(|| everything().iter().copied().collect());
        let mut manual: AxisList = axes.into_iter().filter(|axis| !self.context.contains(axis)).collect();
        manual.sort_unstable();
        if let Some(axis) = manual.iter().find(|axis| axis.sub.is_some()) {
            let text = self.import.rw.module.meshes[home].axis_text(*axis);
            return Err(self.error(
                anchor,
                format!("a sub-axis cannot be manual: {text}"),
                "leave out the mesh: it is then inferred from the shardings",
            ));
        }
        Ok(manual)
    }

    /// Adds the values that enter the manual computation through calls.
    fn enter(&mut self, part: &ManualPart, draft: &mut Draft) -> Res<()> {
        for &entry in &part.entries {
            let given = self.import.crossings.get(&entry).map(|c| c.shardings.clone()).unwrap_or_default();
            let (values, results) = (
                self.import.rw.module.ops[entry].operands.clone(),
                self.import.rw.module.ops[entry].results.clone(),
            );
            for (i, (&value, &local)) in values.iter().zip(&results).enumerate() {
                let (value, sharding) = match given.get(i) {
                    Some(sharding) => (value, sharding.clone()),
                    None => self.entering(value, local, entry)?,
                };
                let sharding = self.border(entry, sharding, &draft.spec.manual_axes, value, local)?;
                draft.add_operand(sharding, value, local, self.import.rw.module.values[local].ty);
            }
        }
        Ok(())
    }

    /// Adds the outer values that operations of the body use directly, as replicated operands.
    fn capture(&mut self, part: &ManualPart, draft: &mut Draft) {
        let home = self.import.home.mesh;
        let mut inner: FxHashSet<ValueId> = draft.locals.iter().copied().collect();
        for &op in &part.members {
            inner.extend(&self.import.rw.module.ops[op].results);
        }
        let mesh =
            draft.spec.in_shardings.first().map_or(home, |&id| self.import.rw.module.shardings.get(id).mesh);
        // If some axis is not manual, captured values get open shardings, so that propagation may shard them along it.
        let axes = draft.spec.manual_axes.len() + self.context.len();
        let free = axes < self.import.rw.module.meshes[mesh].axes.len();
        for &op in part.members.iter().chain(&part.exits) {
            for value in inputs(self.import.rw.module, op) {
                if inner.contains(&value) {
                    continue;
                }
                inner.insert(value);
                if let Some(def) = self.import.rw.module.def_op(value)
                    && matches!(self.import.rw.module.ops[def].kind, OpKind::Constant(_))
                {
                    // The constant is cloned into the body, which saves an argument. Its outer sharding has no meaning there.
                    draft.members.push(clone_op(self.import.rw.module, def, &mut draft.map));
                    let copy = draft.map.get(value);
                    self.import.rw.module.shardings.set(copy, None);
                    continue;
                }
                let rank = self.import.rw.module.rank(value);
                let whole = match free {
                    true => TensorSharding::open(mesh, rank),
                    false => TensorSharding::replicated(mesh, rank),
                };
                let sharding = self.import.rw.module.shardings.intern(whole);
                draft.add_operand(sharding, value, value, self.import.rw.module.values[value].ty);
            }
        }
    }

    /// Adds the values that leave the manual computation through calls.
    fn leave(&mut self, part: &ManualPart, draft: &mut Draft) -> Res<()> {
        for &exit in &part.exits {
            let shardings = self.import.crossings.get(&exit).map(|c| c.shardings.clone()).unwrap_or_default();
            let data = self.import.rw.module.ops[exit].clone();
            for ((&value, &result), sharding) in data.operands.iter().zip(&data.results).zip(shardings) {
                let manual = &draft.spec.manual_axes;
                let value = self.leaving(value, &sharding, manual, &mut draft.members);
                let sharding = self.border(exit, sharding, manual, result, value)?;
                draft.spec.out_shardings.push(sharding);
                draft.returned.push(value);
                draft.result_types.push(self.import.rw.module.values[result].ty);
                draft.results.push(result);
            }
        }
        Ok(())
    }

    /// Creates the operation, with the location of `anchor`.
    fn finish(&mut self, draft: Draft, anchor: OpId) -> OpId {
        let Draft {
            spec,
            operands,
            arg_types,
            locals,
            mut members,
            mut map,
            returned,
            result_types,
            results,
        } = draft;
        let module = &mut *self.import.rw.module;
        let region = module.add_region(&arg_types);
        for (&local, &arg) in locals.iter().zip(&module.regions[region].args.clone()) {
            map.insert(local, arg);
        }
        let mut inside = members.clone();
        inside.extend(
            members.iter().flat_map(|&op| module.ops[op].regions.clone()).flat_map(|r| module.walk(r)),
        );
        for op in inside {
            map.rewrite(&mut module.ops[op].operands);
        }
        let returned: Vec<ValueId> = returned.into_iter().map(|v| map.get(v)).collect();
        let ret = module.add_op(OpKind::Return, &returned, &[], &[]);
        members.push(ret);
        module.set_ops(region, members);
        let op =
            module.add_op(OpKind::ManualComputation(Box::new(spec)), &operands, &result_types, &[region]);
        for new in [op, ret] {
            module.ops[new].span = module.ops[anchor].span;
            module.ops[new].loc = module.ops[anchor].loc;
        }
        let new = module.ops[op].results.clone();
        for (old, new) in results.into_iter().zip(new) {
            self.import.replaced.insert(old, new);
        }
        op
    }
}
