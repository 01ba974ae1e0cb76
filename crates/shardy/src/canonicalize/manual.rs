//! Simplification of manual computations: inlines those with one device along the manual axes, and drops unused operands.

use shardc_ir::{InsertionPoint, ManualSpec, OpId, OpKind, RegionId};

use super::Round;

impl Round<'_> {
    /// Simplifies a manual computation.
    pub(super) fn manual(&mut self, op: OpId, spec: &ManualSpec) {
        let Some(&body) = self.module.ops[op].regions.first() else { return };
        if self.drop_unused(op, spec, body) || !self.is_redundant(spec) {
            return;
        }
        let args = self.module.regions[body].args.clone();
        let operands = self.module.ops[op].operands.clone();
        for (&arg, &operand) in args.iter().zip(&operands) {
            self.forward.insert(arg, operand);
        }
        let mut at = InsertionPoint::Before(op);
        let mut returned = self.insertions.splice(self.module, &mut at, body);
        self.forward.rewrite(&mut returned);
        for (&result, value) in self.module.ops[op].results.clone().iter().zip(returned) {
            self.forward.insert(result, value);
        }
        self.gone[op] = true;
        self.changed = true;
    }

    /// Removes operands that the body does not use; returns whether any were removed.
    fn drop_unused(&mut self, op: OpId, spec: &ManualSpec, body: RegionId) -> bool {
        let args = self.module.regions[body].args.clone();
        let used: Vec<bool> = args.iter().map(|&v| self.uses_of(v) > 0).collect();
        if used.iter().all(|&used| used) {
            return false;
        }
        for (i, operand) in self.module.ops[op].operands.clone().into_iter().enumerate() {
            if !used[i] {
                let count = self.uses_of(operand).saturating_sub(1);
                self.count[shardc_ir::EntityRef::index(operand)] = count;
            }
        }
        let mut spec = spec.clone();
        keep(&mut spec.in_shardings, &used);
        let mut operands = self.module.ops[op].operands.to_vec();
        keep(&mut operands, &used);
        self.module.ops[op].operands = operands.into();
        self.module.ops[op].kind = OpKind::ManualComputation(Box::new(spec));
        self.module.retain_args(body, |i| used.get(i).copied().unwrap_or(true));
        self.changed = true;
        true
    }

    /// Whether all manual axes have size one. Also true for a computation without operands and results, whose `spec` has no manual axes.
    fn is_redundant(&self, spec: &ManualSpec) -> bool {
        let Some(&first) = spec.in_shardings.iter().chain(&spec.out_shardings).next() else { return true };
        let mesh = &self.module.meshes[self.module.shardings.get(first).mesh];
        spec.manual_axes
            .iter()
            .all(|&axis| mesh.axes.get_index(usize::from(axis.axis)).is_some_and(|(_, &n)| n == 1))
    }
}

fn keep<T>(list: &mut Vec<T>, used: &[bool]) {
    let mut used = used.iter();
    list.retain(|_| used.next().copied().unwrap_or(true));
}
