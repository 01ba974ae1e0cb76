//! Inlines manual computations, whose values are already local along their manual axes, and lowers their collectives.

use shardc_ir::{
    DType, Diagnostic, Group, Module, OpId, OpKind, RegionId, ReplicaGroups, Rewriter, SpmdMode, ValueId,
    ValueMap, clone_region,
};

use super::Localizer;
use crate::manual::{device_groups, takes_global_ids};

impl Localizer<'_> {
    /// Localizes a collective of the input program: its groups are converted to device ids, in the form that the mode requires. A
    /// collective of several values becomes one collective per value, since back ends require equal shapes or reject several values.
    pub(super) fn collective_of_program(&mut self, op: OpId) {
        let mut groups = match device_groups(self.rw.module, op, &self.mesh, &self.scope) {
            Ok(groups) => groups,
            Err(error) => return self.fail(*error),
        };
        if groups.group_size().is_none() {
            // `replica_groups` is a matrix; StableHLO pads short rows with -1.
            let longest = groups.iter().map(Group::len).max().unwrap_or(0);
            groups.edit(|groups| groups.iter_mut().for_each(|group| group.resize(longest, -1)));
        }
        let by_global_ids = takes_global_ids(&self.rw.module.ops[op].kind);
        for i in 1..self.rw.module.ops[op].operands.len() {
            let (spec, groups) = (self.rw.module.ops[op].clone(), groups.clone());
            let regions: Vec<RegionId> = spec
                .regions
                .iter()
                .map(|&region| clone_region(self.rw.module, region, &mut ValueMap::new()))
                .collect();
            let (operand, old) = (spec.operands[i], spec.results[i]);
            let value = self.emit(spec.kind, &[operand], self.rw.module.values[old].ty);
            if let Some(one) = self.rw.module.def_op(value) {
                self.rw.module.ops[one].regions.extend(regions);
                self.name_devices(one, groups, by_global_ids);
            }
            self.attach(old, value);
        }
        self.rw.module.ops[op].operands.truncate(1);
        self.rw.module.ops[op].results.truncate(1);
        self.name_devices(op, groups, by_global_ids);
    }

    fn name_devices(&mut self, op: OpId, groups: ReplicaGroups, by_global_ids: bool) {
        let spec = if by_global_ids { self.groups(groups) } else { self.on_channel(groups) };
        if let Some(old) = self.rw.module.ops[op].kind.collective_mut() {
            *old = *spec;
        }
    }

    /// Localizes `ragged_all_to_all`, whose groups and channel are in its configuration. A channel is only written in partition mode:
    /// XLA's TPU compiler aborts on a channel in replica mode.
    pub(super) fn ragged_all_to_all(&mut self, op: OpId) {
        match device_groups(self.rw.module, op, &self.mesh, &self.scope) {
            Ok(groups) => {
                let spec = self.on_channel(groups);
                self.rw.module.ops[op].set_ragged_all_to_all(&spec);
            }
            Err(error) => self.fail(*error),
        }
    }

    /// Localizes `partition_id`. In replica mode it becomes `replica_id`. In a manual computation, devices that differ only along free axes
    /// are one partition, and `partition_id` is the id of the first of these devices.
    pub(super) fn partition_id(&mut self, op: OpId) {
        if self.scope.is_full(&self.mesh) {
            if self.mode == SpmdMode::Replica {
                self.rw.module.ops[op].kind = OpKind::ReplicaId;
            }
            return;
        }
        let axes = self.scope.axes.clone();
        let mut table = vec![None; usize::try_from(self.mesh.axes_size(&axes)).unwrap_or(0)];
        for position in 0..self.mesh.num_devices() {
            let coordinate = self.mesh.linear_coordinate(position, &axes);
            if let Some(first) = usize::try_from(coordinate).ok().and_then(|i| table.get_mut(i)) {
                first.get_or_insert(self.mesh.device_at(position) as i32);
            }
        }
        let table: Vec<i32> = table.into_iter().map(Option::unwrap_or_default).collect();
        let number = self.entry(&axes, &table);
        let ty = self.tensor_type(&[], DType::UI32);
        let value = self.emit(OpKind::Convert, &[number], ty);
        self.replace(value);
    }

    /// Localizes `replica_id`: it is zero, since the program has one replica.
    pub(super) fn replica_id(&mut self) {
        let zero = self.splat(&[0; 4], &[], DType::UI32);
        self.replace(zero);
    }
}

/// Inlines the manual computations of a localized function.
///
/// # Errors
/// Returns an internal error if a value has different local types inside and outside.
pub(super) fn inline_manual(module: &mut Module, body: RegionId) -> Result<(), Box<Diagnostic>> {
    let is_manual = |module: &Module, op: OpId| matches!(module.ops[op].kind, OpKind::ManualComputation(_));
    if !module.walk(body).into_iter().any(|op| is_manual(module, op)) {
        return Ok(());
    }
    inline_region(&mut Rewriter::new(module), body)
}

fn inline_region(rw: &mut Rewriter<'_>, region: RegionId) -> Result<(), Box<Diagnostic>> {
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        let data = &rw.module.ops[op];
        let is_manual = matches!(data.kind, OpKind::ManualComputation(_));
        if let (true, &[body]) = (is_manual, data.regions.as_slice()) {
            let operands = data.operands.clone();
            for (i, arg) in rw.module.regions[body].args.clone().into_iter().enumerate() {
                if rw.module.values[arg].ty != rw.module.values[operands[i]].ty {
                    return Err(disagree(rw.module, op));
                }
                rw.stand_for(arg, operands[i]);
            }
            inline_region(rw, body)?;
            let returned = rw.splice(body);
            for (i, &result) in rw.module.ops[op].results.iter().enumerate() {
                let ty = |v: ValueId| rw.module.values[v].ty;
                if returned.get(i).is_none_or(|&v| ty(v) != ty(result)) {
                    return Err(disagree(rw.module, op));
                }
            }
            rw.replace(&returned);
            continue;
        }
        for inner in rw.module.ops[op].regions.clone() {
            inline_region(rw, inner)?;
        }
    }
    Ok(())
}

fn disagree(module: &Module, op: OpId) -> Box<Diagnostic> {
    let message = "a value has different local types inside and outside of a manual computation";
    Box::new(Diagnostic::internal("SH0491", message).at(module.ops[op].span))
}
