//! Values on a single device (maximal sharding).

use shardc_ir::{
    Diagnostic, FuncId, InsertionPoint, MeshId, Module, OpId, OpKind, ShardingId, TensorSharding,
};

use super::{Inserter, Use};
use crate::shardings::equivalent;

/// Checks that no argument or result of a function is on a single device.
pub(super) fn check(module: &Module, func: FuncId) -> Vec<Diagnostic> {
    let data = &module.funcs[func];
    let args = data.body.map_or(&[][..], |body| &module.regions[body].args);
    let args = args.iter().map(|&v| module.shardings.of(v)).enumerate().map(|(i, id)| ("argument", i, id));
    let results =
        data.res_shardings.iter().map(|id| id.expand()).enumerate().map(|(i, id)| ("result", i, id));
    args.chain(results)
        .filter(|&(.., id)| id.is_some_and(|id| is_on_one_device(module, id)))
        .map(|(what, i, _)| {
            let message = format!("{what} {i} of @{} must not be on a single device", data.name);
            Diagnostic::invalid("SH0822", message).at(data.span)
        })
        .collect()
}

fn is_on_one_device(module: &Module, id: ShardingId) -> bool {
    module.meshes[module.shardings.get(id).mesh].is_maximal()
}

impl Inserter<'_> {
    /// For an operation with a result on a single device: replicates its operands, then transfers them to that device, and
    /// reshards its results back. Returns whether the operation has such a result.
    pub(super) fn one_device(&mut self, op: OpId) -> bool {
        let results = self.module.ops[op].results.clone();
        let given: Vec<Option<ShardingId>> = results.iter().map(|&v| self.sharding(v)).collect();
        let single = |module: &Module, id: Option<ShardingId>| id.filter(|&id| is_on_one_device(module, id));
        let meshes: Vec<MeshId> = given
            .iter()
            .filter_map(|&id| single(self.module, id))
            .map(|id| self.module.shardings.get(id).mesh)
            .collect();
        let (Some(&first), Some(&last)) = (meshes.first(), meshes.last()) else { return false };
        if meshes
            .iter()
            .any(|&mesh| self.module.meshes[mesh].device_ids != self.module.meshes[first].device_ids)
        {
            let error = Diagnostic::invalid(
                "SH0822",
                "the results of this operation are on different single devices",
            );
            self.errors.push(error.at(self.module.ops[op].span));
            return true;
        }
        let Some(all) = self.mesh_of_all() else { return true };
        let on_device = TensorSharding::replicated(last, 0);
        let mut at = InsertionPoint::Before(op);
        for operand in 0..self.module.ops[op].operands.len() {
            self.operand_to_device(Use { op, operand }, all, &on_device, &mut at);
        }
        let mut at = InsertionPoint::After(op, 0);
        for (&result, given) in results.iter().zip(given) {
            if self.module.stored(result).is_none() {
                let whole = self.module.shardings.intern(TensorSharding::replicated(all, 0));
                self.module.shardings.set(result, Some(whole));
                continue;
            }
            let whole = TensorSharding::replicated(all, self.module.rank(result));
            let whole = self.module.shardings.intern(whole);
            let target = given.filter(|&id| !is_on_one_device(self.module, id)).unwrap_or(whole);
            let mut value = result;
            for step in [Some(whole), (target != whole).then_some(target)].into_iter().flatten() {
                let reshard = self.new_op(value, OpKind::Reshard(step));
                self.insertions.insert(&mut at, reshard);
                value = self.module.ops[reshard].results[0];
            }
            self.forward.insert(result, value);
            let id = self.module.shardings.intern(on_device.clone());
            self.places.set(self.module, result, id);
        }
        true
    }

    fn operand_to_device(
        &mut self,
        used: Use,
        all: MeshId,
        on_device: &TensorSharding,
        at: &mut InsertionPoint,
    ) {
        let value = self.value(used);
        if self.module.stored(value).is_none() {
            return;
        }
        let whole = TensorSharding::replicated(all, self.module.rank(value));
        let have = self.sharding(value);
        let sharding = have.map_or(&whole, |id| self.module.shardings.get(id)).clone();
        let id = self.module.shardings.intern(on_device.clone());
        if sharding.mesh == on_device.mesh && equivalent(self.module, have, Some(id)) {
            return;
        }
        let is_whole = sharding.is_unsplit() && sharding.unreduced.is_empty() && sharding.mesh == all;
        if !is_whole {
            self.reshard(used, value, whole, at);
        }
        self.reshard(used, self.value(used), on_device.clone(), at);
    }

    /// Returns the first named mesh that has axes, as opposed to the meshes of single devices.
    fn mesh_of_all(&self) -> Option<MeshId> {
        let mut named = self.module.mesh_names.values().copied();
        named.find(|&mesh| !self.module.meshes[mesh].axes.is_empty())
    }
}
