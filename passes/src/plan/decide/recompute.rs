//! Rematerialization instead of resharding, for values computed from constants, iotas and scalars alone.
//!
//! A value that is computed from constants, iotas and scalars alone, for example a causal mask, is *free*: each device can recompute its
//! shard in any sharding, and nothing is sent.
//!
//! Conditions:
//!
//! * The value is free (see [`free_values`](crate::plan::free_values)).
//! * The value would otherwise be sent. A chain of several operations is not recomputed to replace a local slice.
//!
//! Some operations cannot compute a shard from shards of their operands, such as a reshape between dimensions that the axes do not divide.
//! Such an operation is recomputed on replicated values and its result is sliced, if that costs less than sending the result.
//!
//! ```mlir
//! %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
//! %1 = stablehlo.iota dim = 1 : tensor<8x8xi32>
//! %mask = stablehlo.compare GE, %0, %1 : ... -> tensor<8x8xi1>           // sharded along dimension 0
//! %2 = reshard %mask                                                     // to dimension 1: an all_to_all
//! ```
//! becomes
//! ```mlir
//! %3 = stablehlo.iota dim = 0 : tensor<8x8xi32>                          // sharded along dimension 1
//! %4 = stablehlo.iota dim = 1 : tensor<8x8xi32>
//! %2 = stablehlo.compare GE, %3, %4 : ... -> tensor<8x8xi1>
//! ```

use shardc_ir::{Dense, OpId, OpKind, ShardingId, TensorSharding, ValueId};
use smallvec::SmallVec;

use super::OpPlanner;
use super::available::AvailableCopies;
use super::site::site;
use crate::plan::free_values::repeat;
use crate::plan::support;
use crate::rules::rule_of;

/// The operand of a step: an existing value, or the result of an earlier step.
#[derive(Clone, Copy)]
enum Source {
    /// A value that exists already.
    Value(ValueId),
    /// The result of the step with this index.
    Step(usize),
}

/// One step of computing a value in another sharding.
struct Step {
    value: ValueId,
    to: ShardingId,
    /// The operation to recompute; if `None`, each device slices its shard out of the replicated value.
    op: Option<OpId>,
    operands: SmallVec<[Source; 3]>,
}

impl OpPlanner<'_> {
    /// Returns `value` rematerialized in the sharding `to`, if a reshard would send it.
    pub(super) fn rematerialized_if_sent(
        &mut self,
        value: ValueId,
        to: ShardingId,
        copies: &mut AvailableCopies,
    ) -> Option<ValueId> {
        let module = &*self.rw.module;
        let (from, ty) = (module.shardings.sharding_of(value)?, module.tensor(value)?);
        let is_sent = self.free.is_free(value)
            && self.planner.cost(from, module.shardings.get(to), ty) >= self.planner.costs().start();
        is_sent.then(|| self.recomputed(value, to, copies))?
    }

    /// Rematerializes `value` in the sharding `to`, if it [is free](crate::plan::free_values::FreeValues::is_free). `None` if it is not
    /// free, or if a local slice has the same effect.
    pub(super) fn recomputed(
        &mut self,
        value: ValueId,
        to: ShardingId,
        copies: &mut AvailableCopies,
    ) -> Option<ValueId> {
        let module = &*self.rw.module;
        let wanted = module.shardings.get(to);
        if !self.free.is_free_in(module, value, Some(wanted)) {
            return None;
        }
        // Recomputing several operations costs more than a local slice of the existing value.
        let (from, ty) = (module.shardings.sharding_of(value)?, module.tensor(value)?);
        let is_simple = self.free.num_ops(value) == 1;
        if !is_simple
            && from.unreduced.is_empty()
            && self.planner.cost(from, wanted, ty) < self.planner.costs().start()
        {
            return None;
        }
        if !wanted.unreduced.is_empty() {
            let op = module.def_op(value).filter(|_| is_simple)?;
            let (operands, sharding) = (module.ops[op].operands.clone(), wanted.clone());
            let copy = repeat(&mut self.rw, op, &operands, sharding);
            self.free.note_copy(copy, value);
            return Some(copy);
        }
        let mut steps = Vec::new();
        let source = self.source(value, to, copies, &mut steps)?;
        let mut made: Vec<ValueId> = Vec::with_capacity(steps.len());
        let made_of = |source: Source, made: &[ValueId]| match source {
            Source::Value(value) => value,
            Source::Step(i) => made[i],
        };
        for step in steps {
            let operands: SmallVec<[ValueId; 3]> = step.operands.iter().map(|&s| made_of(s, &made)).collect();
            let copy = match step.op {
                Some(op) => {
                    let sharding = self.rw.module.shardings.get(step.to).clone();
                    repeat(&mut self.rw, op, &operands, sharding)
                }
                None => self.reshard(operands[0], step.to),
            };
            self.free.note_copy(copy, step.value);
            if step.value != value || step.to != to {
                copies.insert(step.value, step.to, copy);
            }
            made.push(copy);
        }
        Some(made_of(source, &made))
    }

    /// Appends the steps that compute `value` in the sharding `to`, and returns their result. `to` must have no unreduced axes.
    fn source(
        &mut self,
        value: ValueId,
        to: ShardingId,
        copies: &AvailableCopies,
        steps: &mut Vec<Step>,
    ) -> Option<Source> {
        let module = &*self.rw.module;
        let (from, wanted) = (module.shardings.sharding_of(value)?, module.shardings.get(to));
        if from.same_placement(wanted) {
            return Some(Source::Value(value));
        }
        if let Some(copy) = copies.get(value, to) {
            return Some(Source::Value(copy));
        }
        if let Some(i) = steps.iter().position(|step| step.value == value && step.to == to) {
            return Some(Source::Step(i));
        }
        let op = module.def_op(value).filter(|_| self.free.is_free(value))?;
        let data = &module.ops[op];
        let step = match &data.kind {
            OpKind::ShardingConstraint(_) | OpKind::Reshard(_) => {
                return self.source(data.operands[0], to, copies, steps);
            }
            OpKind::Constant(Dense::Splat(_)) | OpKind::Iota { .. } => {
                Step { value, to, op: Some(op), operands: SmallVec::new() }
            }
            OpKind::Constant(_) if !from.is_unsplit() => return None,
            OpKind::Constant(_) => {
                Step { value, to, op: None, operands: SmallVec::from_slice(&[Source::Value(value)]) }
            }
            _ => match self.operands_for(op, to) {
                Some(requested) => {
                    let mut operands = SmallVec::new();
                    for (operand, sharding) in data.operands.clone().into_iter().zip(requested) {
                        let sharding = self.rw.module.shardings.intern(sharding);
                        operands.push(self.source(operand, sharding, copies, steps)?);
                    }
                    Step { value, to, op: Some(op), operands }
                }
                None => {
                    let ty = module.tensor(value)?;
                    let bytes = ty.num_bytes()? as f64 * f64::from(self.free.num_ops(value));
                    let sent = self.planner.cost(from, wanted, ty);
                    if wanted.is_unsplit() || self.planner.costs().compute(0.0, bytes) > sent {
                        return None;
                    }
                    let rank = ty.rank();
                    let whole = self.replicated(rank);
                    let whole = self.source(value, whole, copies, steps)?;
                    Step { value, to, op: None, operands: SmallVec::from_slice(&[whole]) }
                }
            },
        };
        steps.push(step);
        Some(Source::Step(steps.len() - 1))
    }

    /// Returns operand shardings from which each device can compute its shard of the result in the sharding `to` without communication;
    /// `None` if there are none.
    fn operands_for(&self, op: OpId, to: ShardingId) -> Option<SmallVec<[TensorSharding; 4]>> {
        let module = &*self.rw.module;
        let rule = support::planning_rule(module, op, rule_of(module, op)?);
        let none = AvailableCopies::default();
        let mut site = site(
            module,
            (self.mesh, self.mesh_id, self.planner.costs()),
            None,
            op,
            &rule,
            &none,
            &self.free,
        )?;
        site.tensors.last_mut()?.sharding = module.shardings.get(to);
        site.operands_of_parts()
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Plans a program in which the mask `%c`, sharded by `dims`, selects from an argument that is sharded along dimension 1.
    fn planned(first: &str, dims: &str) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}}, %k: tensor<8x8xi32>)
                -> (tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}}) {{
              %i = {first} : tensor<8x8xi32>
              %j = stablehlo.iota dim = 1 : tensor<8x8xi32>
              %c = stablehlo.compare GE, %i, %j : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
              %m = sdy.sharding_constraint %c <@mesh, {dims}> : tensor<8x8xi1>
              %r = stablehlo.select %m, %a, %a : tensor<8x8xi1>, tensor<8x8xf32>
              return %r : tensor<8x8xf32>
            }}"#
        );
        around("plan", r#""x"=4"#, &program)
    }

    #[test]
    fn a_causal_mask_is_computed_again_instead_of_an_all_to_all() {
        let done = planned("stablehlo.iota dim = 0", r#"[{"x"}, {}]"#);
        let (given, wanted) = (r#"[{"x"}, {}]"#, r#"[{}, {"x"}]"#);
        assert_eq!(done.shardings("stablehlo.compare"), [given, wanted]);
        assert_eq!(done.shardings("stablehlo.iota"), [given, given, wanted, wanted]);
        assert_eq!(done.shardings("sdy.reshard"), [given], "that of the constraint");
    }

    #[test]
    fn a_mask_of_an_argument_is_sent() {
        let done = planned("stablehlo.negate %k", r#"[{"x"}, {}]"#);
        assert_eq!(done.shardings("stablehlo.compare").len(), 1, "{}", done.after);
        assert_eq!(done.added("sdy.reshard"), 2, "{}", done.after);
    }

    #[test]
    fn a_replicated_mask_is_sliced_and_not_computed_again() {
        let done = planned("stablehlo.iota dim = 0", "[{}, {}]");
        assert_eq!(done.shardings("stablehlo.compare"), ["[{}, {}]"]);
        assert_eq!(done.shardings("sdy.reshard"), ["[{}, {}]", r#"[{}, {"x"}]"#]);
    }
}
