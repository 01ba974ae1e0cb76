//! SPMD planning: decides how each operation is partitioned over the devices, and inserts explicit reshards (pass `plan`).
//!
//! For each operation the planner picks the axes that shard each factor of its sharding rule (see `assign`). It inserts an explicit
//! [`OpKind::Reshard`] where an operand has a different sharding, or where propagation chose a different sharding for the result.
//!
//! * Tensors that agree on every factor need no decision. Otherwise each tensor proposes an assignment, and the cheapest wins. The cost is
//!   the bytes that reshards send, plus arithmetic and memory traffic, in one unit (see [`cost`](crate::cost)).
//! * Axes that are unused because the operation needs a dimension unsharded may shard another dimension: all-to-alls before and after the
//!   operation send less than an all-gather. If two tensors use an axis for different factors, such as a table and its indices, the axis
//!   may move to a factor that both tensors have (`Site::exchanged`).
//! * Later operations reuse the result of an earlier reshard (`available`).
//! * If a contracting or reduced dimension is sharded, the result is *unreduced* (partial sums). The following reshard reduces it: an
//!   all-reduce, or a reduce-scatter if the requested sharding uses the axes.
//!
//! Conditions: every tensor has a closed sharding on the same mesh (see the pass `unify-meshes`).
//!
//! ```mlir
//! %0 = stablehlo.dot_general %a, %b, ... // %a: [{}, {"x"}], %b: [{"x"}, {}], result: [{}, {}]
//! ```
//! becomes
//! ```mlir
//! %0 = stablehlo.dot_general %a, %b, ... // [{}, {}], unreduced={"x"}
//! %1 = sdy.reshard %0 <@mesh, [{}, {}]>  // lowered to an all_reduce
//! ```

pub(super) mod assign;
pub(super) mod available;
mod carry;
mod decisions;
mod degenerate;
mod effects;
mod few_rows;
mod gather_warning;
mod gathered;
mod loop_invariant;
mod manual;
mod quantized;
mod recompute;
pub(super) mod site;
mod smallest_value;

use rustc_hash::FxHashSet;
use shardc_ir::{
    Build, DType, Dense, Diagnostic, FuncId, Interrupt, Mesh, MeshId, Module, OpId, OpKind, ReductionKind,
    RegionId, Rewriter, ShardingId, TensorSharding, Uses, ValueId,
};
use smallvec::SmallVec;

use self::available::AvailableCopies;
use self::decisions::Decisions;
pub(crate) use self::gathered::{Requests, gathered};
use self::loop_invariant::LoopInvariance;
use self::site::site;
use self::smallest_value::{EarlierReshard, earlier_reshard};
use super::Planning;
use super::free_values::{FreeValues, repeat};
use super::prepare::{close_results, device_order};
use crate::analysis::trip_count::run_counts;
use crate::manual::{Scope, is_manual_op};
use crate::report::warnings::counted;
use crate::reshard::Planner;
use crate::rules::sharding_rule::ShardingRule;

/// A warning about an all-gather that no annotation requests.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    /// The operation that uses the replicated value.
    pub(crate) op: OpId,
    /// The warning. It gives the bytes of the replicated operand on each device, summed over the executions of the operation.
    pub(crate) warning: Diagnostic,
}

/// The warnings and notes of planning.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) gathers: Vec<Gather>,
    /// Reshards between the steps into which an operation was expanded.
    pub(crate) between_steps: FxHashSet<OpId>,
    /// Other warnings.
    pub(crate) notes: Vec<Diagnostic>,
}

/// Plans the operations of `func`. Collectives that are hoisted out of a loop keep at most `keep_bytes` live in it
/// ([`CleanOptions::keep_bytes`](crate::collectives::clean::CleanOptions::keep_bytes)).
///
/// # Errors
/// Returns an error if an operation cannot be partitioned (`SH03xx`), or if planning was interrupted.
pub(crate) fn plan(
    module: &mut Module,
    func: FuncId,
    planning: &mut Planning,
    keep_bytes: u64,
    interrupt: &Interrupt,
) -> Result<Plan, Vec<Diagnostic>> {
    let (body, mesh_id) = planning.place(module, func)?;
    let results = close_results(module, func, body, mesh_id);
    let mesh = module.meshes[mesh_id].clone();
    let free = FreeValues::under(module, body);
    let uses = module.uses();
    let (mut gathers, notes, errors) = {
        let mut planner = OpPlanner {
            rw: Rewriter::new(module),
            mesh: &mesh,
            mesh_id,
            scope: None,
            invariance: None,
            uses,
            keep_bytes,
            interrupt,
            interrupted: false,
            planner: Planner::new(&mesh, &planning.costs),
            decisions: Decisions::default(),
            free,
            warnings: Vec::new(),
            notes: Vec::new(),
            errors: Vec::new(),
        };
        planner.region(body, &results);
        (planner.warnings, planner.notes, planner.errors)
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    if !gathers.is_empty() {
        let runs = run_counts(module, body);
        gathers = gathers
            .into_iter()
            .map(|gather| Gather { warning: counted(gather.warning, runs[gather.op]), ..gather })
            .collect();
    }
    let leaving = device_order::leaving(module, func, mesh_id);
    device_order::leave(module, body, &leaving);
    Ok(Plan { gathers, between_steps: std::mem::take(&mut planning.between_steps), notes })
}

pub(super) struct OpPlanner<'m> {
    rw: Rewriter<'m>,
    mesh: &'m Mesh,
    mesh_id: MeshId,
    /// The manual axes of the enclosing manual computation; `None` outside of one.
    scope: Option<Scope>,
    /// The enclosing loop, if its trip count is known.
    invariance: Option<LoopInvariance>,
    /// The uses of values before planning. They are still exact for loops that are not planned yet.
    uses: Uses,
    /// The bytes that hoisting may keep live in a loop ([`CleanOptions::keep_bytes`](crate::collectives::clean::CleanOptions::keep_bytes)).
    keep_bytes: u64,
    /// The interrupt that may end planning early.
    interrupt: &'m Interrupt,
    /// Whether planning was interrupted.
    interrupted: bool,
    planner: Planner<'m>,
    decisions: Decisions,
    /// Values that are never sent, because they can be rematerialized from constants, iotas and scalars.
    free: FreeValues,
    warnings: Vec<Gather>,
    notes: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

/// The decision for one operation.
struct Decision {
    /// The shardings of the operands, then of the results as produced by the operation.
    shardings: SmallVec<[TensorSharding; 4]>,
    warning: Option<Gather>,
}

impl OpPlanner<'_> {
    /// Plans a region; the values that its terminator returns get the shardings `returns`.
    fn region(&mut self, region: RegionId, returns: &[Option<ShardingId>]) {
        self.region_of(None, region, returns);
    }

    /// Plans a region that may be the body of a loop.
    fn region_of(
        &mut self,
        invariance: Option<LoopInvariance>,
        region: RegionId,
        returns: &[Option<ShardingId>],
    ) {
        let outer = std::mem::replace(&mut self.invariance, invariance);
        self.rw.enter(region);
        // Each region has its own copies, since a copy that is created in a branch does not dominate the code after the branch.
        let mut copies = AvailableCopies::default();
        while let Some(op) = self.rw.next_op() {
            // After an interrupt, the remaining operations are still visited, so that every entered region is exited.
            if !self.is_interrupted() {
                self.op(op, returns, &mut copies);
            }
        }
        self.invariance = outer;
    }

    /// Whether planning must end early. The first call that returns true also reports the reason as an error.
    fn is_interrupted(&mut self) -> bool {
        if !self.interrupted
            && let Err(interruption) = self.interrupt.check()
        {
            self.interrupted = true;
            self.errors.push(interruption.to_diagnostic());
        }
        self.interrupted
    }

    fn op(&mut self, op: OpId, returns: &[Option<ShardingId>], copies: &mut AvailableCopies) {
        let data = &self.rw.module.ops[op];
        match &data.kind {
            OpKind::Return => self.require_all(op, returns, copies),
            OpKind::ShardingConstraint(_) | OpKind::Reshard(_) => self.requested_reshard(op, copies),
            OpKind::OptimizationBarrier => {
                let wanted = self.result_shardings(op);
                self.require_all(op, &wanted, copies);
            }
            OpKind::PropagationBarrier { .. } => {
                let wanted = self.result_shardings(op);
                if let (Some(sharding), [_]) = (wanted[0], data.operands.as_slice()) {
                    self.rw.module.ops[op].kind = OpKind::Reshard(sharding);
                }
            }
            OpKind::ShardingGroup { .. } => self.rw.erase(),
            OpKind::While => self.while_loop(op, copies),
            OpKind::Case | OpKind::If => {
                let wanted = self.result_shardings(op);
                // The operand chooses the branch. All devices must take the same branch, since it may contain collectives.
                self.require_replicated(op, copies);
                for region in self.rw.module.ops[op].regions.clone() {
                    self.region(region, &wanted);
                }
            }
            // The dimension is dynamic, since the size of a static dimension has been folded to a constant.
            OpKind::GetDimensionSize { .. } => self.replicate_op(op, copies),
            OpKind::Constant(Dense::Splat(_)) | OpKind::Iota { .. } => self.complete_unless_free(op),
            OpKind::Call { callee } => {
                let message = format!("the call of @{callee} was not inlined");
                self.errors.push(Diagnostic::internal("SH0390", message).at(data.span));
            }
            OpKind::ManualComputation(spec) => {
                let spec = (**spec).clone();
                self.manual_computation(op, spec, copies);
            }
            kind if is_manual_op(kind) && self.scope.is_none() => self.degenerate_collective(op, copies),
            kind if is_manual_op(kind) || kind.is_ragged_all_to_all() && self.scope.is_some() => {
                if let Err(error) = self.check_manual_op(op) {
                    self.errors.push(*error);
                }
                self.by_rule(op, copies);
            }
            OpKind::Constant(_) => self.replicate_op(op, copies),
            OpKind::Rng(_) => self.generate_on_one_device(op, copies),
            _ => {
                self.check_side_effect(op);
                self.by_rule(op, copies);
            }
        }
    }

    /// Plans a reshard or a sharding constraint of the program.
    fn requested_reshard(&mut self, op: OpId, copies: &mut AvailableCopies) {
        let data = &self.rw.module.ops[op];
        let (operand, result) = (data.operands[0], data.results[0]);
        let Some(sharding) = self.rw.module.shardings.of(result) else { return };
        // If a copy of the value as partial sums exists, it is used instead of converting the reduced value to partial sums.
        let known = copies.get(operand, sharding).filter(|_| self.is_unreduced(sharding));
        if let Some(copy) = known.or_else(|| self.rematerialized_if_sent(operand, sharding, copies)) {
            self.rw.module.ops[op].operands[0] = copy;
        }
        self.rw.module.ops[op].kind = OpKind::Reshard(sharding);
        // The operand has the same elements as the result, in another sharding.
        let before = self.rw.module.shardings.of(operand).filter(|&before| before != sharding);
        if let Some(before) = before
            && ![before, sharding].into_iter().any(|id| self.is_unreduced(id))
        {
            copies.insert(result, before, operand);
        }
    }

    fn while_loop(&mut self, op: OpId, copies: &mut AvailableCopies) {
        let wanted = self.result_shardings(op);
        // The loop is analyzed before its operands are replaced: trip counts are computed from the constants that enter the loop.
        let invariance = LoopInvariance::of(self.rw.module, op, self.keep_bytes, &self.uses);
        self.require_all(op, &wanted, copies);
        let regions = self.rw.module.ops[op].regions.clone();
        for &region in &regions {
            for (i, &arg) in self.rw.module.regions[region].args.clone().iter().enumerate() {
                self.rw.module.shardings.set(arg, wanted[i]);
            }
        }
        if let [cond, body] = regions.as_slice() {
            // All devices must agree on whether the loop continues: if one device left it, the others would wait in the next
            // collective.
            let whole = self.replicated(0);
            self.region(*cond, &[Some(whole)]);
            self.region_of(invariance, *body, &wanted);
        }
    }

    /// Removes the unreduced axes from the sharding of a constant or an iota, unless it is available as partial sums without communication.
    fn complete_unless_free(&mut self, op: OpId) {
        let result = self.rw.module.ops[op].results[0];
        let sharding = self.rw.module.shardings.sharding_of(result);
        let Some(whole) = sharding.filter(|s| !s.unreduced.is_empty()).map(TensorSharding::completed) else {
            return;
        };
        if !self.free.is_free_in(self.rw.module, result, sharding) {
            let whole = self.rw.module.shardings.intern(whole);
            self.rw.module.shardings.set(result, Some(whole));
        }
    }

    fn result_shardings(&self, op: OpId) -> Vec<Option<ShardingId>> {
        self.rw.module.ops[op].results.iter().map(|&v| self.rw.module.shardings.of(v)).collect()
    }

    fn is_unreduced(&self, sharding: ShardingId) -> bool {
        !self.rw.module.shardings.get(sharding).unreduced.is_empty()
    }

    fn replicated(&mut self, rank: usize) -> ShardingId {
        self.rw.module.shardings.intern(TensorSharding::replicated(self.mesh_id, rank))
    }

    fn require_all(&mut self, op: OpId, wanted: &[Option<ShardingId>], copies: &mut AvailableCopies) {
        for (i, &sharding) in wanted.iter().enumerate() {
            if let Some(sharding) = sharding {
                self.require(op, i, sharding, copies);
            }
        }
    }

    fn require_replicated(&mut self, op: OpId, copies: &mut AvailableCopies) {
        for i in 0..self.rw.module.ops[op].operands.len() {
            let operand = self.rw.module.ops[op].operands[i];
            if let Some(ty) = self.rw.module.stored(operand) {
                let whole = self.replicated(ty.rank());
                self.require(op, i, whole, copies);
            }
        }
    }

    /// Provides operand `i` of `op` in the sharding `to`: by an available copy, or by a reshard.
    fn require(&mut self, op: OpId, i: usize, to: ShardingId, copies: &mut AvailableCopies) {
        let Some(&value) = self.rw.module.ops[op].operands.get(i) else { return };
        self.rw.module.ops[op].operands[i] = self.available(value, to, copies);
    }

    /// Returns `value` in the sharding `to`, for the current operation. The result is the value itself, an available copy, a
    /// rematerialization without communication, or a reshard of the smallest value from which `value` can be computed.
    fn available(&mut self, value: ValueId, to: ShardingId, copies: &mut AvailableCopies) -> ValueId {
        let Some(has) = self.rw.module.shardings.of(value).filter(|&has| has != to) else { return value };
        let (from, wanted) = (self.rw.module.shardings.get(has), self.rw.module.shardings.get(to));
        if from.same_placement(wanted) {
            return value;
        }
        if let Some(known) = copies.get(value, to) {
            return known;
        }
        let made = match self.recomputed(value, to, copies) {
            Some(copy) => copy,
            None => self.moved(value, to, copies),
        };
        copies.insert(value, to, made);
        made
    }

    /// Returns `value` in the sharding `to`, by a reshard of the smallest value from which it can be computed.
    fn moved(&mut self, value: ValueId, to: ShardingId, copies: &mut AvailableCopies) -> ValueId {
        let wanted = self.rw.module.shardings.get(to);
        match earlier_reshard(self.rw.module, &mut self.planner, value, wanted) {
            Some(earlier_reshard) => self.reshard_earlier(earlier_reshard, copies),
            None => self.reshard(value, to),
        }
    }

    /// Reshards a smaller value, and recomputes the requested value from it.
    fn reshard_earlier(&mut self, earlier_reshard: EarlierReshard, copies: &mut AvailableCopies) -> ValueId {
        let to = self.rw.module.shardings.intern(earlier_reshard.to);
        let mut value = self.available(earlier_reshard.source, to, copies);
        for (op, sharding) in earlier_reshard.again {
            value = repeat(&mut self.rw, op, &[value], sharding);
        }
        value
    }

    fn reshard(&mut self, value: ValueId, to: ShardingId) -> ValueId {
        let ty = self.rw.module.values[value].ty;
        let result = self.rw.op1(OpKind::Reshard(to), &[value], ty);
        self.rw.module.shardings.set(result, Some(to));
        self.free.note_copy(result, value);
        result
    }

    /// Plans an operation that every device computes on replicated values.
    fn replicate_op(&mut self, op: OpId, copies: &mut AvailableCopies) {
        let whole: SmallVec<[TensorSharding; 4]> = self.rw.module.ops[op]
            .operands
            .iter()
            .map(|&v| TensorSharding::replicated(self.mesh_id, self.rw.module.rank(v)))
            .collect();
        let warning = self.gather_warning(op, None, &whole, copies);
        self.warnings.extend(warning);
        self.require_replicated(op, copies);
        self.rw.keep();
        for i in 0..self.rw.module.ops[op].results.len() {
            let value = self.rw.module.ops[op].results[i];
            if let Some(ty) = self.rw.module.stored(value) {
                let whole = self.replicated(ty.rank());
                self.deliver(op, i, whole, copies);
            }
        }
    }

    /// Plans an operation whose result differs between devices (`rng`): one device computes it, and the others add zeros.
    fn generate_on_one_device(&mut self, op: OpId, copies: &mut AvailableCopies) {
        self.require_replicated(op, copies);
        self.rw.keep();
        let Some(ty) = self.rw.module.tensor(self.rw.module.ops[op].results[0]) else { return };
        let mut made = TensorSharding::replicated(self.mesh_id, ty.rank());
        made.unreduced = self.scope.clone().unwrap_or_default().free_axes(self.mesh);
        made.reduction = if ty.dtype == DType::I1 { ReductionKind::Or } else { ReductionKind::Add };
        let made = self.rw.module.shardings.intern(made);
        self.deliver(op, 0, made, copies);
    }

    fn by_rule(&mut self, op: OpId, copies: &mut AvailableCopies) {
        let Some(ids) = self.decided(op, copies) else {
            self.replicate_op(op, copies);
            return;
        };
        let num_operands = self.rw.module.ops[op].operands.len();
        for (i, &id) in ids[..num_operands].iter().enumerate() {
            self.require(op, i, id, copies);
        }
        self.rw.keep();
        for (i, &id) in ids[num_operands..].iter().enumerate() {
            self.deliver(op, i, id, copies);
        }
    }

    /// Decides how an operation with a rule is partitioned; `None` if an operand or result has no sharding.
    fn decide(&mut self, op: OpId, rule: &ShardingRule, copies: &AvailableCopies) -> Option<Decision> {
        let sums = few_rows::as_sums(self.rw.module, op, rule);
        let mut best: Option<(f64, f64, Decision)> = None;
        for rule in std::iter::once(rule).chain(&sums) {
            let module = &*self.rw.module;
            let mesh = (self.mesh, self.mesh_id, self.planner.costs());
            let site = site(module, mesh, self.invariance.as_ref(), op, rule, copies, &self.free)?;
            let (site, chosen) = carry::assign(module, op, site, &mut self.planner);
            let (mut cost, mut sent) = (0.0, 0.0);
            if !sums.is_empty() {
                (cost, sent) = (site.cost(&chosen, &mut self.planner), site.sent(&chosen, &mut self.planner));
                // An assignment that sends more bytes is rejected, even if fewer collectives make it cheaper.
                if best.as_ref().is_some_and(|(least, bytes, _)| cost >= *least || sent > *bytes) {
                    continue;
                }
            }
            let shardings: SmallVec<[TensorSharding; 4]> =
                site.tensors.iter().map(|t| site.sharding(t, &chosen)).collect();
            let operands = &shardings[..module.ops[op].operands.len()];
            let warning = self.gather_warning(op, Some((rule, &site.splits)), operands, copies);
            best = Some((cost, sent, Decision { shardings, warning }));
        }
        best.map(|(_, _, decision)| decision)
    }

    /// Records that `op` produces result `i` in the sharding `made`. If propagation chose a different sharding, `op` gets a new result, and
    /// a reshard of it defines the old value.
    fn deliver(&mut self, op: OpId, i: usize, made: ShardingId, copies: &mut AvailableCopies) {
        let wanted_value = self.rw.module.ops[op].results[i];
        let Some(wanted) = self.rw.module.shardings.of(wanted_value) else { return };
        if made == wanted {
            return;
        }
        if self.rw.module.shardings.get(made).same_placement(self.rw.module.shardings.get(wanted)) {
            self.rw.module.shardings.set(wanted_value, Some(made));
            return;
        }
        self.rw.module.renew_result(op, i);
        let fresh = self.rw.module.ops[op].results[i];
        self.rw.module.shardings.set(fresh, Some(made));
        self.free.note_copy(fresh, wanted_value);
        let reshard = self.rw.op(OpKind::Reshard(wanted), &[fresh], &[], &[]);
        self.rw.module.give_result(reshard, wanted_value);
        // Users that need the sharding `made` then use the result before the reshard.
        copies.insert(wanted_value, made, fresh);
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around, refused};

    fn planned(program: &str) -> Around {
        around("plan", r#""x"=4"#, program)
    }

    /// Plans a matmul of arguments with these shardings.
    fn matmul(first: &str, second: &str, result: &str) -> Around {
        planned(&format!(
            r#"func.func @main(%a: tensor<8x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, {first}>}},
                %b: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {second}>}})
                -> (tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {result}>}}) {{
              %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
              return %0 : tensor<8x8xf32>
            }}"#
        ))
    }

    #[test]
    fn a_matmul_over_a_split_dimension_is_unreduced_and_then_all_reduced() {
        let done = matmul(r#"[{}, {"x"}]"#, r#"[{"x"}, {}]"#, "[{}, {}]");
        assert_eq!(done.shardings("stablehlo.dot_general"), [r#"[{}, {}], unreduced={"x"}"#]);
        assert_eq!(done.shardings("sdy.reshard"), ["[{}, {}]"]);
    }

    #[test]
    fn an_unreduced_matmul_is_reduce_scattered_to_a_split_result() {
        let done = matmul(r#"[{}, {"x"}]"#, r#"[{"x"}, {}]"#, r#"[{"x"}, {}]"#);
        assert_eq!(done.shardings("stablehlo.dot_general"), [r#"[{}, {}], unreduced={"x"}"#]);
        assert_eq!(done.shardings("sdy.reshard"), [r#"[{"x"}, {}]"#]);
    }

    #[test]
    fn operands_and_results_that_agree_are_not_resharded() {
        let done = matmul(r#"[{"x"}, {}]"#, "[{}, {}]", r#"[{"x"}, {}]"#);
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_value_is_resharded_once_for_two_users() {
        let done = planned(
            r#"func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
                -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
              %0 = stablehlo.add %a, %b : tensor<8x8xf32>
              %1 = stablehlo.multiply %a, %b : tensor<8x8xf32>
              return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
            }"#,
        );
        assert_eq!(done.shardings("sdy.reshard"), [r#"[{}, {"x"}]"#]);
    }

    #[test]
    fn a_sharding_constraint_becomes_a_reshard() {
        let done = planned(
            r#"func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
              %0 = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<8xf32>
              return %0 : tensor<8xf32>
            }"#,
        );
        assert_eq!((done.added("sdy.sharding_constraint"), done.added("sdy.reshard")), (-1, 1));
    }

    #[test]
    fn all_devices_agree_on_whether_a_loop_goes_on() {
        let done = planned(
            r#"func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
              %zero = stablehlo.constant dense<0.0> : tensor<f32>
              %r = stablehlo.while(%y = %x) : tensor<8xf32>
                cond {
                  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
                  %c = stablehlo.compare LT, %s, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
                  stablehlo.return %c : tensor<i1>
                } do {
                  %1 = stablehlo.add %y, %y : tensor<8xf32>
                  stablehlo.return %1 : tensor<8xf32>
                }
              return %r : tensor<8xf32>
            }"#,
        );
        assert_eq!(done.shardings("stablehlo.while"), [r#"[{"x"}]"#]);
        assert_eq!(done.shardings("sdy.reshard"), ["[]"], "the sum is reduced before it is compared");
        assert_eq!(done.shardings("stablehlo.compare"), ["[]"]);
    }

    #[test]
    fn random_numbers_are_those_of_one_device() {
        let done = planned(
            r#"func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
              %zero = stablehlo.constant dense<0.0> : tensor<f32>
              %one = stablehlo.constant dense<1.0> : tensor<f32>
              %shape = stablehlo.constant dense<8> : tensor<1xi64>
              %r = stablehlo.rng %zero, %one, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
              %y = stablehlo.add %x, %r : tensor<8xf32>
              return %y : tensor<8xf32>
            }"#,
        );
        assert_eq!(done.shardings("stablehlo.rng"), [r#"[{}], unreduced={"x"}"#]);
    }

    #[test]
    fn an_operation_between_devices_is_refused() {
        let program = r#"
            sdy.mesh @mesh = <["x"=4]>
            func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
              %t = stablehlo.create_token : !stablehlo.token
              %s = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
              return %x : tensor<8xf32>
            }"#;
        assert_eq!(refused("plan", program), ["SH0313"]);
    }
}
