//! Free values: values computed from constants, iotas and scalars alone, such as a causal mask. They are available in any sharding: each
//! device recomputes its shard, and nothing is sent.
//!
//! Conditions:
//!
//! * Every operation that computes the value is pure, is cheap or element-wise, has one result and no region, and can be partitioned.
//! * All types are static. The leaves are constants, iotas and scalars; a scalar must not be unreduced.
//! * At most `MAX_OPS` operations compute the value.

use shardc_ir::{
    Access, Dense, Effect, Module, OpId, OpKind, Parts, RegionId, Rewriter, SecondaryMap, TensorSharding,
    ValueId, ValueMap, Work, clone_region,
};
use smallvec::SmallVec;

use crate::analysis::reducer::{is_idempotent, is_identity};
use crate::analysis::regions::program_ops;

/// The maximum number of operations that are recomputed for one value.
const MAX_OPS: u8 = 32;

/// The values of a program that are available in any sharding without communication. For each free value, the number of operations that
/// compute it from constants, iotas and scalars; zero for all other values.
#[derive(Default)]
pub(crate) struct FreeValues(SecondaryMap<ValueId, u8>);

impl FreeValues {
    /// Finds the free values in `body` and its nested regions.
    pub(crate) fn under(module: &Module, body: RegionId) -> FreeValues {
        let mut free = FreeValues(SecondaryMap::new());
        for op in program_ops(module, body) {
            free.note(module, op);
        }
        free
    }

    /// Records whether the result of `op` is free. The operands of `op` must already be recorded.
    pub(crate) fn note(&mut self, module: &Module, op: OpId) {
        if let &[result] = module.ops[op].results.as_slice() {
            let count = self.count(module, op);
            if count > 0 {
                self.0[result] = count;
            }
        }
    }

    /// Whether `value` is available in any sharding without communication.
    pub(crate) fn is_free(&self, value: ValueId) -> bool {
        self.0[value] > 0
    }

    /// Returns how many operations compute `value` from constants, iotas and scalars; zero if it is not free.
    pub(crate) fn num_ops(&self, value: ValueId) -> u8 {
        self.0[value]
    }

    /// Records that `copy` has the same elements as `value`.
    pub(crate) fn note_copy(&mut self, copy: ValueId, value: ValueId) {
        let count = self.0[value];
        if count > 0 {
            self.0[copy] = count;
        }
    }

    /// Returns the number of operations that compute the result of `op` from constants, iotas and scalars; zero if the result is not free.
    fn count(&self, module: &Module, op: OpId) -> u8 {
        let data = &module.ops[op];
        match &data.kind {
            OpKind::Constant(_) | OpKind::Iota { .. } => return 1,
            OpKind::ShardingConstraint(_) | OpKind::Reshard(_) => {
                return data.operands.first().map_or(0, |&operand| self.0[operand]);
            }
            _ => {}
        }
        let def = data.kind.def();
        let is_light = def.work == Work::Light || def.access == Access::SamePlace;
        let in_parts = matches!(def.parts, Parts::AlongPassThrough | Parts::Depends);
        let is_such = def.effect == Effect::Pure && is_light && in_parts;
        let values = || data.operands.iter().chain(&data.results);
        if !is_such || data.operands.is_empty() || !data.regions.is_empty() {
            return 0;
        }
        if !values().all(|&v| module.tensor(v).is_some_and(|ty| ty.is_static())) {
            return 0;
        }
        let mut count = 1u8;
        for &operand in &data.operands {
            // A scalar is available on every device, unless it is unreduced.
            let is_scalar = module.rank(operand) == 0
                && module.shardings.sharding_of(operand).is_none_or(|s| s.unreduced.is_empty());
            match self.0[operand] {
                _ if is_scalar => {}
                0 => return 0,
                more => count = count.saturating_add(more),
            }
        }
        if count > MAX_OPS || module.rank(data.results[0]) == 0 { 0 } else { count }
    }

    /// Whether `value` is available in `sharding` without communication. If `sharding` is unreduced, every device holds the same partial
    /// value, so this value must be the identity of the reduction, or the reduction must be idempotent.
    pub(crate) fn is_free_in(
        &self,
        module: &Module,
        value: ValueId,
        sharding: Option<&TensorSharding>,
    ) -> bool {
        let kind = module.def_op(value).map(|op| &module.ops[op].kind);
        let is_splat = matches!(kind, Some(OpKind::Constant(Dense::Splat(_))));
        // A constant with a list of elements is always replicated: every device has all elements.
        let is_listed = matches!(kind, Some(OpKind::Constant(_))) && !is_splat;
        let fits = |s: &TensorSharding| {
            s.unreduced.is_empty()
                || !is_listed && is_identity(module, value, s.reduction)
                || is_idempotent(s.reduction) && is_splat
        };
        self.is_free(value) && sharding.is_none_or(fits)
    }
}

/// Clones `op`, which has one result, with these operands and this result sharding.
pub(crate) fn repeat(
    rw: &mut Rewriter<'_>,
    op: OpId,
    operands: &[ValueId],
    sharding: TensorSharding,
) -> ValueId {
    let kind = rw.module.ops[op].kind.clone();
    let ty = rw.module.values[rw.module.ops[op].results[0]].ty;
    let copy = rw.op1_like(op, kind, operands, ty);
    let regions = rw.module.ops[op].regions.clone();
    let regions = regions.into_iter().map(|region| clone_region(rw.module, region, &mut ValueMap::new()));
    let regions: SmallVec<[RegionId; 1]> = regions.collect();
    if let Some(repeated) = rw.module.def_op(copy) {
        rw.module.ops[repeated].regions = regions;
    }
    let sharding = rw.module.shardings.intern(sharding);
    rw.module.shardings.set(copy, Some(sharding));
    copy
}

#[cfg(test)]
mod tests {
    use shardc_ir::{AxisRef, MeshId, ReductionKind};
    use shardc_stablehlo::parse;

    use super::*;

    /// Returns a program with its operations and its free values.
    fn free(operations: &str) -> (Module, Vec<OpId>, FreeValues) {
        let program = format!(
            r#"sdy.mesh @mesh = <["x"=4]>
            func.func @main(%a: tensor<8x8xf32>, %s: tensor<f32>) {{
              {operations}
              return
            }}"#
        );
        let module = parse(&program).unwrap();
        let body = module.funcs[module.entry().unwrap()].body.unwrap();
        let free = FreeValues::under(&module, body);
        let ops = program_ops(&module, body);
        (module, ops, free)
    }

    /// Returns for each operation of a program how many operations compute it from constants, iotas and scalars.
    fn counts(operations: &str) -> Vec<u8> {
        let (module, ops, free) = free(operations);
        ops.iter().filter_map(|&op| module.ops[op].results.first()).map(|&v| free.num_ops(v)).collect()
    }

    #[test]
    fn a_causal_mask_is_free() {
        let mask = "%i = stablehlo.iota dim = 0 : tensor<8x8xi32>
            %j = stablehlo.iota dim = 1 : tensor<8x8xi32>
            %c = stablehlo.compare GE, %i, %j : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>";
        assert_eq!(counts(mask), [1, 1, 3]);
    }

    #[test]
    fn a_value_of_an_argument_is_not_free() {
        let scaled = "%i = stablehlo.iota dim = 0 : tensor<8x8xf32>
            %m = stablehlo.multiply %i, %a : tensor<8x8xf32>";
        assert_eq!(counts(scaled), [1, 0]);
    }

    #[test]
    fn a_scalar_argument_that_is_broadcast_is_free() {
        assert_eq!(
            counts("%b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8x8xf32>"),
            [1]
        );
    }

    #[test]
    fn a_long_chain_is_not_free() {
        let mut chain = "%v0 = stablehlo.iota dim = 0 : tensor<8x8xf32>\n".to_owned();
        for i in 1..=MAX_OPS {
            chain += &format!("%v{i} = stablehlo.negate %v{} : tensor<8x8xf32>\n", i - 1);
        }
        let counts = counts(&chain);
        assert_eq!(counts[usize::from(MAX_OPS) - 1..], [MAX_OPS, 0]);
    }

    #[test]
    fn partial_sums_are_free_if_all_devices_may_have_the_same() {
        let (module, ops, free) = free(
            "%zeros = stablehlo.constant dense<0.0> : tensor<8x8xf32>
            %ones = stablehlo.constant dense<1.0> : tensor<8x8xf32>",
        );
        let [zeros, ones] = [0, 1].map(|i| module.ops[ops[i]].results[0]);
        let mesh: MeshId = module.meshes.keys().next().unwrap();
        let axis: AxisRef = module.meshes[mesh].all_axes()[0];
        let unreduced = |reduction| TensorSharding {
            unreduced: [axis].into_iter().collect(),
            reduction,
            ..TensorSharding::replicated(mesh, 2)
        };
        let (sum, maximum) = (unreduced(ReductionKind::Add), unreduced(ReductionKind::Max));
        assert!(free.is_free_in(&module, zeros, Some(&sum)));
        assert!(!free.is_free_in(&module, ones, Some(&sum)), "four devices would add up to 4");
        assert!(free.is_free_in(&module, ones, Some(&maximum)));
    }
}
