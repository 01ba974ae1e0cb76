//! Plans the boundaries of manual computations: operands and results get the shardings that the computation lists, and its body is
//! planned along the free axes.

use shardc_ir::{Class, Diagnostic, ManualSpec, OpId, OpKind, ShardingId, TensorSharding, ValueId};

use super::available::AvailableCopies;
use super::{Gather, OpPlanner};
use crate::manual::{Scope, boundary_that_divides, device_groups, inside, mesh_of, renamed};
use crate::plan::prepare::meshes::{on_mesh, tidy};
use crate::report::byte_size::bytes_text;

impl OpPlanner<'_> {
    pub(super) fn manual_computation(
        &mut self,
        op: OpId,
        mut spec: ManualSpec,
        copies: &mut AvailableCopies,
    ) {
        if let Some(mesh) = mesh_of(self.rw.module, &spec) {
            // Renumbering the outer manual computation also renumbers the nested ones.
            let is_other = !self.mesh.has_devices_of(&self.rw.module.meshes[mesh]);
            if self.scope.is_none()
                && is_other
                && let Err(error) = renamed(self.rw.module, op, mesh, self.mesh_id)
            {
                self.errors.push(*error);
                return;
            }
            spec.manual_axes = on_mesh(self.rw.module, mesh, &spec.manual_axes, self.mesh_id);
        }
        let scope = self.scope.clone().unwrap_or_default().enter(self.mesh, &spec);
        let (operands, results) =
            (self.rw.module.ops[op].operands.clone(), self.rw.module.ops[op].results.clone());
        self.boundary(op, &scope, &operands, &mut spec.in_shardings);
        self.boundary(op, &scope, &results, &mut spec.out_shardings);
        for (i, &to) in spec.in_shardings.iter().enumerate() {
            self.require(op, i, to, copies);
        }
        let returns = self.inside(&scope, &results, &spec.out_shardings);
        if let &[body] = self.rw.module.ops[op].regions.as_slice() {
            let args = self.rw.module.regions[body].args.clone();
            let shardings = self.inside(&scope, &args, &spec.in_shardings);
            for (&arg, sharding) in args.iter().zip(shardings) {
                self.rw.module.shardings.set(arg, sharding);
            }
            let around = self.scope.replace(scope);
            self.region(body, &returns);
            self.scope = around;
        }
        let made = spec.out_shardings.clone();
        self.rw.module.ops[op].kind = OpKind::ManualComputation(Box::new(spec));
        self.rw.keep();
        for (i, made) in made.into_iter().enumerate() {
            if self.rw.module.stored(self.rw.module.ops[op].results[i]).is_some() {
                self.deliver(op, i, made, copies);
            }
        }
    }

    /// Computes the sharding of each of `values` at the boundary of the manual computation.
    fn boundary(&mut self, op: OpId, body: &Scope, values: &[ValueId], shardings: &mut [ShardingId]) {
        for (&value, id) in values.iter().zip(shardings) {
            let Some(ty) = self.rw.module.stored(value) else { continue };
            let closed = tidy(self.rw.module, self.rw.module.shardings.get(*id), self.mesh_id);
            let divided = boundary_that_divides(self.mesh, body, &closed, &ty.shape);
            if divided != closed {
                self.warn_of_boundary(op, value, &closed, &divided);
            }
            *id = self.rw.module.shardings.intern(divided);
        }
    }

    fn inside(&mut self, body: &Scope, values: &[ValueId], ids: &[ShardingId]) -> Vec<Option<ShardingId>> {
        let mut shardings = Vec::with_capacity(ids.len());
        for (&value, &id) in values.iter().zip(ids) {
            let sharding = inside(body, self.rw.module.shardings.get(id));
            let id =
                self.rw.module.stored(value).is_some().then(|| self.rw.module.shardings.intern(sharding));
            shardings.push(id);
        }
        shardings
    }

    fn warn_of_boundary(&mut self, op: OpId, value: ValueId, from: &TensorSharding, to: &TensorSharding) {
        let Some(ty) = self.rw.module.stored(value) else { return };
        let bytes = ty.num_bytes().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let mut warning = Diagnostic::warning(
            Class::Unsupported,
            "SH0310",
            format!(
                "{ty} ({}) is resharded from {} to {} at the boundary of a manual computation: the free axes do not evenly divide the block that remains after the manual axes are applied",
                bytes_text(bytes),
                from.display(self.mesh),
                to.display(self.mesh)
            ),
        )
        .at(self.rw.module.ops[op].span)
        .bytes(bytes)
        .hint("shard a dimension that the free axis divides");
        warning.user_loc = self.rw.module.user_loc(op);
        self.warnings.push(Gather { op, warning });
    }

    /// Rejects a collective or device query whose meaning is undefined in its enclosing manual computation.
    pub(super) fn check_manual_op(&self, op: OpId) -> Result<(), Box<Diagnostic>> {
        let data = &self.rw.module.ops[op];
        let Some(scope) = &self.scope else { return Ok(()) };
        match &data.kind {
            OpKind::ReplicaId | OpKind::PartitionId => Ok(()),
            _ => device_groups(self.rw.module, op, self.mesh, scope).map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Plans a manual computation with manual axis "a". Its operand has the sharding `outside`, and the computation lists the sharding
    /// `inside` for the operand.
    fn planned(outside: &str, inside: &str) -> Around {
        let program = format!(
            r#"func.func @main(%x: tensor<4x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {outside}>}})
                -> (tensor<4x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"a"}}, {{}}]>}}) {{
              %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, {inside}>] out_shardings=[<@mesh, [{{"a"}}, {{}}]>] manual_axes={{"a"}} (%arg0: tensor<2x8xf32>) {{
                %1 = stablehlo.negate %arg0 : tensor<2x8xf32>
                sdy.return %1 : tensor<2x8xf32>
              }} : (tensor<4x8xf32>) -> tensor<4x8xf32>
              return %0 : tensor<4x8xf32>
            }}"#
        );
        around("plan", r#""a"=2, "b"=4"#, &program)
    }

    #[test]
    fn an_operand_is_resharded_as_the_computation_lists_it() {
        let done = planned(r#"[{"b"}, {}]"#, r#"[{"a"}, {}]"#);
        assert_eq!(done.shardings("sdy.reshard"), [r#"[{"a"}, {}]"#]);
        assert_eq!(done.shardings("stablehlo.negate"), ["[{}, {}]"], "manual axes split nothing inside");
    }

    #[test]
    fn an_operand_that_comes_as_the_computation_lists_it_is_not_resharded() {
        let done = planned(r#"[{"a"}, {}]"#, r#"[{"a"}, {}]"#);
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_free_axis_that_does_not_divide_a_manual_block_is_gathered_with_a_warning() {
        let done = planned(r#"[{"a"}, {}]"#, r#"[{"a", "b"}, {}]"#);
        assert_eq!(done.warnings, ["SH0310"]);
        assert!(done.after.contains(r#"in_shardings=[<@mesh, [{"a"}, {}]>]"#), "{}", done.after);
    }
}
