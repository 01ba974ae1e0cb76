//! Manual computations, whose values are local along their axes already.

use shardc_ir::{DType, Diagnostic, Module, OpId, OpKind, RegionId, SpmdMode, ValueMap, clone_region};

use super::{Localizer, Place};
use crate::manual::{device_groups, takes_global_ids};

impl Localizer<'_> {
    /// A collective of the program: its groups name devices, in the way of the mode. One of several values becomes
    /// one for each, since back ends ask of such values that they be of one shape, or refuse them.
    pub(super) fn collective_of_program(&mut self, op: OpId, place: &mut Place<'_>) {
        let mut groups = match device_groups(self.module, op, &self.mesh, &self.scope) {
            Ok(groups) => groups,
            Err(error) => return self.fail(*error),
        };
        let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
        groups.iter_mut().for_each(|group| group.resize(longest, -1));
        let by_global_ids = takes_global_ids(&self.module.ops[op].kind);
        for i in 1..self.module.ops[op].operands.len() {
            let (spec, groups) = (self.module.ops[op].clone(), groups.clone());
            let regions: Vec<RegionId> = spec
                .regions
                .iter()
                .map(|&region| clone_region(self.module, region, &mut ValueMap::new()))
                .collect();
            let (operand, old) = (spec.operands[i], spec.results[i]);
            let value = self.emit(place, spec.kind, &[operand], self.module.values[old].ty);
            if let Some(one) = self.module.def_op(value) {
                self.module.ops[one].regions.extend(regions);
                self.name_devices(one, groups, by_global_ids);
            }
            self.attach(old, value);
        }
        self.module.ops[op].operands.truncate(1);
        self.module.ops[op].results.truncate(1);
        self.name_devices(op, groups, by_global_ids);
        place.out.push(op);
    }

    fn name_devices(&mut self, op: OpId, groups: Vec<Vec<i64>>, by_global_ids: bool) {
        let spec = if by_global_ids { self.groups(groups) } else { self.on_channel(groups) };
        if let Some(old) = self.module.ops[op].kind.collective_mut() {
            *old = *spec;
        }
    }

    /// Partitions of the program are devices, which are replicas in that mode. Those that differ along free axes are one to
    /// the program: it is told the number of the first of them.
    pub(super) fn partition_id(&mut self, op: OpId, place: &mut Place<'_>) {
        if self.scope.is_full(&self.mesh) {
            if self.mode == SpmdMode::Replica {
                self.module.ops[op].kind = OpKind::ReplicaId;
            }
            return place.out.push(op);
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
        let number = self.entry(place, &axes, &table);
        let ty = self.tensor_type(&[], DType::UI32);
        let value = self.emit(place, OpKind::Convert, &[number], ty);
        self.attach(self.module.ops[op].results[0], value);
    }

    /// The program has one replica.
    pub(super) fn replica_id(&mut self, op: OpId, place: &mut Place<'_>) {
        let old = self.module.ops[op].results[0];
        let zero = self.splat(place, &[0; 4], &[], DType::UI32);
        self.attach(old, zero);
    }
}

/// Puts the body of each manual computation of a localized function in its place.
///
/// # Errors
/// A value has another local type inside than outside (internal).
pub(super) fn inline_manual(module: &mut Module, body: RegionId) -> Result<(), Box<Diagnostic>> {
    let is_manual = |module: &Module, op: OpId| matches!(module.ops[op].kind, OpKind::ManualComputation(_));
    if !module.walk(body).into_iter().any(|op| is_manual(module, op)) {
        return Ok(());
    }
    let mut forward = ValueMap::new();
    region(module, body, &mut forward)
}

fn region(module: &mut Module, id: RegionId, forward: &mut ValueMap) -> Result<(), Box<Diagnostic>> {
    let ops = std::mem::take(&mut module.regions[id].ops);
    let mut out = Vec::with_capacity(ops.len());
    for op in ops {
        forward.rewrite(&mut module.ops[op].operands);
        let is_manual = matches!(module.ops[op].kind, OpKind::ManualComputation(_));
        if let (true, &[body]) = (is_manual, module.ops[op].regions.as_slice()) {
            for (i, &arg) in module.regions[body].args.iter().enumerate() {
                let operand = module.ops[op].operands[i];
                if module.values[arg].ty != module.values[operand].ty {
                    return Err(disagree(module, op));
                }
                forward.insert(arg, operand);
            }
            region(module, body, forward)?;
            let mut inner = std::mem::take(&mut module.regions[body].ops);
            let returned = inner.pop().map(|ret| module.ops[ret].operands.clone()).unwrap_or_default();
            out.extend(inner);
            for (i, &result) in module.ops[op].results.iter().enumerate() {
                if returned.get(i).is_none_or(|&v| module.values[v].ty != module.values[result].ty) {
                    return Err(disagree(module, op));
                }
                forward.insert(result, returned[i]);
            }
            continue;
        }
        for inner in module.ops[op].regions.clone() {
            region(module, inner, forward)?;
        }
        out.push(op);
    }
    module.regions[id].ops = out;
    Ok(())
}

fn disagree(module: &Module, op: OpId) -> Box<Diagnostic> {
    let message = "the two sides of a manual computation disagree on what a device has";
    Box::new(Diagnostic::internal("SH0491", message).at(module.ops[op].span))
}
