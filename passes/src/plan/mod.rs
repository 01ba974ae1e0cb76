//! Planning (SPMD partitioning on global shapes): decides how all devices compute each operation together.
//!
//! For each operation the planner picks the axes that split each factor of its sharding rule (see `assign`). It inserts an explicit
//! [`OpKind::Reshard`] where an operand has another sharding, or where propagation wanted another sharding of the result.
//!
//! * Tensors that agree on every factor need no decision. Otherwise each tensor proposes an assignment, and the cheapest wins. The cost is
//!   the bytes that reshards send, plus arithmetic and memory traffic, in one unit (see [`cost`]).
//! * Axes that are unused because the operation needs a dimension unsplit may split another dimension: all-to-alls before and after send
//!   less than an all-gather. If two tensors want an axis for different factors, as a table and its indices do, the axis may split a
//!   factor that both have (`Site::exchanged`).
//! * Later operations reuse the result of an earlier reshard (`available`).
//! * The result over a split reduction is *unreduced* (a partial sum). Its reshard completes it: an all-reduce, or a reduce-scatter if the
//!   wanted sharding uses the axes.
//!
//! ```mlir
//! %0 = stablehlo.dot_general %a, %b, ... // %a: [{}, {"x"}], %b: [{"x"}, {}], result: [{}, {}]
//! ```
//! becomes
//! ```mlir
//! %0 = stablehlo.dot_general %a, %b, ... // [{}, {}], unreduced={"x"}
//! %1 = sdy.reshard %0 <@mesh, [{}, {}]>  // lowered to an all_reduce
//! ```
//!
//! ## Nothing is gathered silently
//!
//! * SH0310: an operation cannot be done in parts. Planning reports it.
//! * SH0909: shardings that meet contradict each other. `gathered` finds the reshards that no annotation requests.
//! * SH0808: propagation leaves a result unsplit because the axes do not divide it.
//!
//! ## What holds afterwards
//!
//! * Every tensor of the program has a closed sharding in [`Module::shardings`].
//! * An operation with a sharding rule has operands and results that agree on each factor, splits only
//!   factors that `support` allows, and uses no axis for two factors. The result of an operation over a
//!   split reduction has the axes of that factor in its `unreduced` list, and is used only by a reshard.
//! * Any other operation has replicated operands and results. Exceptions are operations that pass values on (`while`, `case`,
//!   `return`, ...): their operands have the sharding of the value that they become.
//! * In a manual computation no value is split along its manual axes. Its operands and results have the shardings that
//!   it lists, in which free axes divide evenly what each manual coordinate has.

mod assign;
mod available;
mod carry;
mod cumulative;
mod decisions;
mod degenerate;
mod device_order;
mod dynamic;
mod effects;
mod few_rows;
mod fft;
mod fold_slices;
mod gathered;
mod known_slices;
mod late_sums;
mod line;
mod loop_invariant;
mod manual;
mod meshes;
mod one_device;
mod pending_flow;
mod pending_regions;
mod quantized;
mod recompute;
mod small_dims;
mod smallest_value;
mod staged;
mod static_update;
mod support;
mod trade_sums;
mod two_stage_reduce;
mod two_stage_sort;
mod uneven_reshape;
mod unfuse;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    Build, Class, DType, Dense, Diagnostic, Func, FuncId, Interrupt, Mesh, MeshId, Module, OpId, OpKind,
    ReductionKind, RegionId, Rewriter, ShardingId, TensorSharding, Uses, ValueId, Work,
};
use smallvec::SmallVec;

use self::assign::{Site, Tensor};
use self::available::AvailableCopies;
use self::decisions::{Decisions, Splits};
pub(crate) use self::device_order::planned_mesh;
pub(crate) use self::fold_slices::fold_slices;
pub(crate) use self::gathered::{Asked, gathered};
use self::loop_invariant::LoopInvariance;
use self::meshes::{common_mesh, tidy};
use self::recompute::FreeValues;
use self::smallest_value::{EarlierReshard, earlier_reshard};
use self::support::Split;
pub(crate) use self::support::single_windows;
pub(crate) use self::trade_sums::trade_sums;
pub(crate) use self::unfuse::unfuse_products;
use crate::analysis::regions::program_parts;
use crate::analysis::trip_count::run_counts;
use crate::cost;
use crate::manual::{Scope, is_manual_op};
use crate::report::byte_size::bytes_text;
use crate::report::warnings::counted;
use crate::reshard::Planner;
use crate::rules::sharding_rule::{FactorIndex, ShardingRule};
use crate::rules::{is_kernel, is_known_target};
use crate::sharding::axes::{Part, Parts, parts};

/// Plans the function `func` of a propagated module without calls. Returns warnings.
///
/// # Errors
/// A construct that cannot be partitioned: meshes without common axes, split scales of
/// quantized elements, collectives between several processes outside of manual computations, calls (`SH03xx`).
pub fn plan(module: &mut Module, func: FuncId) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let Plan { gathers, notes, .. } =
        plan_and_tell(module, func, cost::LOOP_KEEP_BYTES, &Interrupt::default())?;
    Ok(gathers.into_iter().map(|gather| gather.warning).chain(notes).collect())
}

/// A gather that no annotation asks for: the operation cannot be done in parts.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    /// The operation.
    pub(crate) op: OpId,
    /// The warning, with the bytes of the operand that each device then has each time that the operation runs.
    pub(crate) warning: Diagnostic,
}

/// The warnings and notes of planning.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) gathers: Vec<Gather>,
    /// Reshards between the steps of operations that are decomposed into several.
    pub(crate) between_steps: FxHashSet<OpId>,
    /// Other warnings.
    pub(crate) notes: Vec<Diagnostic>,
}

/// Plans as [`plan`] does, and returns the details of each all-gather. Loops keep at most `keep_bytes` for collectives that are hoisted
/// out of them ([`CleanOptions::keep_bytes`](crate::collectives::clean::CleanOptions::keep_bytes)).
///
/// # Errors
/// Those of [`plan`], and that it was interrupted.
pub(crate) fn plan_and_tell(
    module: &mut Module,
    func: FuncId,
    keep_bytes: u64,
    interrupt: &Interrupt,
) -> Result<Plan, Vec<Diagnostic>> {
    let Some(body) = module.funcs[func].body else {
        return Err(vec![Diagnostic::invalid("SH0301", "the entry function has no body")]);
    };
    let notes = one_device::notes(module, func, body);
    quantized::keep_scales_whole(module, func, body)?;
    dynamic::check(module, func, body)?;
    let mesh_id = common_mesh(module, func, body).map_err(|e| vec![*e])?;
    // This must run before shardings are closed: closing puts all of them on the planned mesh, and the device order of a parameter
    // is lost.
    let (entering, leaving) = device_order::crossings(module, func, body, mesh_id);
    close_shardings(module, body, mesh_id);
    device_order::enter(module, body, &entering);
    let between_steps = staged::split_into_steps(module, body, mesh_id);
    let declared: Vec<Option<ShardingId>> =
        module.funcs[func].res_shardings.iter().map(|s| s.expand()).collect();
    small_dims::take_off_axes(module, body, mesh_id, &declared);
    let mut results = result_shardings(module, func, body, mesh_id);
    late_sums::leave_pending(module, body);
    if pending_regions::is_any_pending(module, body) {
        pending_regions::settle(module, body);
        pending_flow::flow(module, body, &results);
    }
    let mesh = module.meshes[mesh_id].clone();
    let free = FreeValues::under(module, body);
    let uses = module.uses();
    let (mut gathers, notes, errors) = {
        let mut pass = Pass {
            rw: Rewriter::new(module),
            mesh: &mesh,
            mesh_id,
            scope: None,
            invariance: None,
            uses,
            keep_bytes,
            interrupt,
            interrupted: false,
            planner: Planner::new(&mesh),
            decisions: Decisions::default(),
            free,
            warnings: Vec::new(),
            notes,
            errors: Vec::new(),
        };
        pass.region(body, &results);
        (pass.warnings, pass.notes, pass.errors)
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
    device_order::leave(module, body, &leaving, &mut results);
    set_result_shardings(&mut module.funcs[func], &results);
    Ok(Plan { gathers, between_steps, notes })
}

/// Gives every tensor of the program a closed sharding without priorities and without axes of size one.
fn close_shardings(module: &mut Module, body: RegionId, mesh: MeshId) {
    let mut values: Vec<ValueId> = Vec::new();
    let (ops, regions) = program_parts(module, body);
    for region in regions {
        values.extend(&module.regions[region].args);
    }
    for op in ops {
        values.extend(&module.ops[op].results);
    }
    let mut known: FxHashMap<(Option<ShardingId>, usize), ShardingId> = FxHashMap::default();
    for value in values {
        let Some(ty) = module.stored(value) else {
            // A token holds no data, and has no sharding.
            module.shardings.set(value, None);
            continue;
        };
        let rank = ty.rank();
        let given = module.shardings.of(value);
        let id = known.get(&(given, rank)).copied().unwrap_or_else(|| {
            let closed = match given.map(|id| module.shardings.get(id)) {
                Some(sharding) => one_device::on_all(module, sharding, mesh, rank)
                    .unwrap_or_else(|| tidy(module, sharding, mesh)),
                None => TensorSharding::replicated(mesh, rank),
            };
            module.shardings.intern(closed)
        });
        known.insert((given, rank), id);
        module.shardings.set(value, Some(id));
    }
}

/// Returns the sharding that each result of the function must have: its annotation, or that of the returned value.
fn result_shardings(
    module: &mut Module,
    func: FuncId,
    body: RegionId,
    mesh: MeshId,
) -> Vec<Option<ShardingId>> {
    let Some(ret) = module.terminator(body) else { return Vec::new() };
    let operands = module.ops[ret].operands.clone();
    operands
        .iter()
        .enumerate()
        .map(|(i, &value)| {
            let declared = module.funcs[func].res_shardings.get(i).and_then(|s| s.expand());
            match declared {
                Some(id) => {
                    let (sharding, rank) = (module.shardings.get(id), module.rank(value));
                    let closed = one_device::on_all(module, sharding, mesh, rank)
                        .unwrap_or_else(|| tidy(module, sharding, mesh));
                    Some(module.shardings.intern(closed))
                }
                None => module.shardings.of(value),
            }
        })
        .collect()
}

fn set_result_shardings(func: &mut Func, shardings: &[Option<ShardingId>]) {
    func.res_shardings = shardings.iter().map(|s| (*s).into()).collect();
}

struct Pass<'m> {
    rw: Rewriter<'m>,
    mesh: &'m Mesh,
    mesh_id: MeshId,
    /// The manual axes of the enclosing manual computation; `None` outside of one.
    scope: Option<Scope>,
    /// The enclosing loop, if its trip count is known.
    invariance: Option<LoopInvariance>,
    /// The users of values before planning; still exact for loops that are not planned yet.
    uses: Uses,
    /// The bytes that a loop may keep ([`CleanOptions::keep_bytes`](crate::collectives::clean::CleanOptions::keep_bytes)).
    keep_bytes: u64,
    /// The interrupt that may end planning early.
    interrupt: &'m Interrupt,
    /// Whether it has.
    interrupted: bool,
    planner: Planner<'m>,
    decisions: Decisions,
    /// Values that are never sent: they are rematerialized from constants, iotas and scalars.
    free: FreeValues,
    warnings: Vec<Gather>,
    notes: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

/// The decision for one operation.
struct Decision {
    /// Shardings of the operands, then of the results as the operation produces them.
    shardings: SmallVec<[TensorSharding; 4]>,
    warning: Option<Gather>,
}

impl Pass<'_> {
    /// Plans a region; its terminator returns values in `returns` shardings.
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
        // Each region has its own copies: one that is made in a branch does not dominate the code after it.
        let mut copies = AvailableCopies::default();
        while let Some(op) = self.rw.next_op() {
            // The other operations are still visited, so that every region that was entered is left.
            if !self.is_interrupted() {
                self.op(op, returns, &mut copies);
            }
        }
        self.invariance = outer;
    }

    /// Whether planning is to end early; the first time, the reason becomes an error.
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
            OpKind::ShardingConstraint(_) | OpKind::Reshard(_) => {
                let (operand, result) = (data.operands[0], data.results[0]);
                if let Some(sharding) = self.rw.module.shardings.of(result) {
                    // Available partial sums need not be made from the completed sum.
                    let known = copies.get(operand, sharding).filter(|_| self.is_pending(sharding));
                    if let Some(copy) =
                        known.or_else(|| self.computed_rather_than_sent(operand, sharding, copies))
                    {
                        self.rw.module.ops[op].operands[0] = copy;
                    }
                    self.rw.module.ops[op].kind = OpKind::Reshard(sharding);
                    // If an all-gathered value is wanted split, its source is still available.
                    let before = self.rw.module.shardings.of(operand).filter(|&before| before != sharding);
                    if let Some(before) = before
                        && ![before, sharding].into_iter().any(|id| self.is_pending(id))
                    {
                        copies.insert(result, before, operand);
                    }
                }
            }
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
            OpKind::While => {
                let wanted = self.result_shardings(op);
                // Before operands are replaced: trip counts are read off the constants that go into the loop.
                let invariance = LoopInvariance::of(self.rw.module, op, self.keep_bytes, &self.uses);
                self.require_all(op, &wanted, copies);
                let regions = self.rw.module.ops[op].regions.clone();
                for &region in &regions {
                    for (i, &arg) in self.rw.module.regions[region].args.clone().iter().enumerate() {
                        self.rw.module.shardings.set(arg, wanted[i]);
                    }
                }
                if let [cond, body] = regions.as_slice() {
                    // All devices must agree on whether the loop goes on: if one left it alone, the others would wait in
                    // the next collective.
                    let whole = self.replicated(0);
                    self.region(*cond, &[Some(whole)]);
                    self.region_of(invariance, *body, &wanted);
                }
            }
            OpKind::Case | OpKind::If => {
                let wanted = self.result_shardings(op);
                // The operand chooses the branch. All devices must take the same one, since it may have collectives.
                self.require_whole(op, copies);
                for region in self.rw.module.ops[op].regions.clone() {
                    self.region(region, &wanted);
                }
            }
            // The size of a tensor that has a known one would be a constant.
            OpKind::GetDimensionSize { .. } => self.whole(op, copies),
            // Any sharding of equal elements, or of a count, is made where it is needed.
            OpKind::Constant(Dense::Splat(_)) | OpKind::Iota { .. } => {
                let result = data.results[0];
                let pending = self.rw.module.shardings.sharding_of(result);
                if let Some(whole) =
                    pending.filter(|s| !s.unreduced.is_empty()).map(TensorSharding::completed)
                    && !self.free.is_free_in(
                        self.rw.module,
                        result,
                        self.rw.module.shardings.sharding_of(result),
                    )
                {
                    let whole = self.rw.module.shardings.intern(whole);
                    self.rw.module.shardings.set(result, Some(whole));
                }
            }
            OpKind::Call { callee } => {
                let message = format!("the call of @{callee} was not inlined");
                self.errors.push(Diagnostic::internal("SH0390", message).at(data.span));
            }
            OpKind::ManualComputation(spec) => {
                let spec = (**spec).clone();
                self.manual_computation(op, spec, copies);
            }
            kind if is_manual_op(kind) && self.scope.is_none() => self.degenerate_collective(op, copies),
            kind if is_manual_op(kind) => {
                if let Err(error) = self.check_manual_op(op) {
                    self.errors.push(*error);
                }
                self.by_rule(op, copies);
            }
            kind if kind.is_ragged_all_to_all() && self.scope.is_some() => {
                if let Err(error) = self.check_manual_op(op) {
                    self.errors.push(*error);
                }
                self.by_rule(op, copies);
            }
            OpKind::Constant(_) => self.whole(op, copies),
            OpKind::Rng(_) => self.drawn_by_one(op, copies),
            _ => {
                self.note_effect(op);
                self.by_rule(op, copies);
            }
        }
    }

    fn result_shardings(&self, op: OpId) -> Vec<Option<ShardingId>> {
        self.rw.module.ops[op].results.iter().map(|&v| self.rw.module.shardings.of(v)).collect()
    }

    fn is_pending(&self, sharding: ShardingId) -> bool {
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

    fn require_whole(&mut self, op: OpId, copies: &mut AvailableCopies) {
        for i in 0..self.rw.module.ops[op].operands.len() {
            let operand = self.rw.module.ops[op].operands[i];
            if let Some(ty) = self.rw.module.stored(operand) {
                let whole = self.replicated(ty.rank());
                self.require(op, i, whole, copies);
            }
        }
    }

    /// Makes operand `i` of `op` come in the sharding `to`, by a reshard unless it is available so.
    fn require(&mut self, op: OpId, i: usize, to: ShardingId, copies: &mut AvailableCopies) {
        let Some(&value) = self.rw.module.ops[op].operands.get(i) else { return };
        self.rw.module.ops[op].operands[i] = self.available(value, to, copies);
    }

    /// Returns `value` in the sharding `to`, for the current operation: as it is, as an available copy, rematerialized if that takes no
    /// communication, or resharded where it is smallest.
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

    /// Returns `value` in the sharding `to`, resharded where it is smallest.
    fn moved(&mut self, value: ValueId, to: ShardingId, copies: &mut AvailableCopies) -> ValueId {
        let wanted = self.rw.module.shardings.get(to);
        match earlier_reshard(self.rw.module, &mut self.planner, value, wanted) {
            Some(earlier_reshard) => self.reshard_earlier(earlier_reshard, copies),
            None => self.reshard(value, to),
        }
    }

    /// Reshards a smaller value, and repeats on it the operations that produce the wanted one.
    fn reshard_earlier(&mut self, earlier_reshard: EarlierReshard, copies: &mut AvailableCopies) -> ValueId {
        let to = self.rw.module.shardings.intern(earlier_reshard.to);
        let mut value = self.available(earlier_reshard.source, to, copies);
        for (op, sharding) in earlier_reshard.again {
            value = recompute::repeat(&mut self.rw, op, &[value], sharding);
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

    /// Plans an operation that every device computes replicated.
    fn whole(&mut self, op: OpId, copies: &mut AvailableCopies) {
        let whole: SmallVec<[TensorSharding; 4]> = self.rw.module.ops[op]
            .operands
            .iter()
            .map(|&v| TensorSharding::replicated(self.mesh_id, self.rw.module.rank(v)))
            .collect();
        let warning = self.gather_warning(op, None, &whole, copies);
        self.warnings.extend(warning);
        self.require_whole(op, copies);
        self.rw.keep();
        for i in 0..self.rw.module.ops[op].results.len() {
            let value = self.rw.module.ops[op].results[i];
            if let Some(ty) = self.rw.module.stored(value) {
                let whole = self.replicated(ty.rank());
                self.deliver(op, i, whole, copies);
            }
        }
    }

    /// Plans an operation whose result differs between devices (`rng`): one device computes it, and the others add zeros to that.
    fn drawn_by_one(&mut self, op: OpId, copies: &mut AvailableCopies) {
        self.require_whole(op, copies);
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
            self.whole(op, copies);
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

    /// Decides how an operation with a rule is done; `None` if some operand or result has no sharding.
    fn decide(&mut self, op: OpId, rule: &ShardingRule, copies: &AvailableCopies) -> Option<Decision> {
        let sums = few_rows::as_sums(self.rw.module, op, rule);
        let mut best: Option<(f64, f64, Decision)> = None;
        for rule in std::iter::once(rule).chain(&sums) {
            let module = &*self.rw.module;
            let mesh = (self.mesh, self.mesh_id);
            let site = site(module, mesh, self.invariance.as_ref(), op, rule, copies, &self.free)?;
            let (site, chosen) = carry::assign(module, op, site, &mut self.planner);
            let (mut cost, mut sent) = (0.0, 0.0);
            if !sums.is_empty() {
                (cost, sent) = (site.cost(&chosen, &mut self.planner), site.sent(&chosen, &mut self.planner));
                // Fewer collectives do not justify more bytes.
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

    /// Notes that result `i` of `op`, which the caller has kept, comes in the sharding `made`: where propagation wanted another,
    /// the old value becomes the result of a reshard.
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
        // Users that want the sharding that the operation produces need not undo the reshard.
        copies.insert(wanted_value, made, fresh);
    }

    /// Returns a warning (SH0310) if operands lose axes on a dimension that the operation cannot work on in parts.
    fn gather_warning(
        &self,
        op: OpId,
        rule: Option<(&ShardingRule, &[Split])>,
        required: &[TensorSharding],
        copies: &AvailableCopies,
    ) -> Option<Gather> {
        let data = &self.rw.module.ops[op];
        for (i, (&value, to)) in data.operands.iter().zip(required).enumerate() {
            let (Some(from), Some(ty)) =
                (self.rw.module.shardings.sharding_of(value), self.rw.module.stored(value))
            else {
                continue;
            };
            // The first operation that needed it has the warning already.
            let is_ready =
                copies.shardings(value).any(|id| self.rw.module.shardings.get(id).same_placement(to));
            if from.same_placement(to) || is_ready || self.free.is_free(value) {
                continue;
            }
            let cannot_split = |dim: usize| match rule {
                Some((rule, splits)) => {
                    let factors = &rule.operands[i].dims[dim];
                    let whole = |split: Split| split == Split::No || split.is_windowed();
                    factors.is_empty() || factors.iter().any(|&f| whole(splits[usize::from(f)]))
                }
                None => true,
            };
            let could = |dim: usize| {
                rule.is_some_and(|(rule, splits)| {
                    rule.operands[i].dims[dim].iter().all(|&f| splits[usize::from(f)] == Split::Halo)
                })
            };
            // If its result is split there too, the reason is that windows reach too far.
            let is_alike = |dim: usize| {
                let factor = rule.and_then(|(rule, _)| Some((rule, *rule.operands[i].dims[dim].first()?)));
                let place = factor.and_then(|(rule, f)| rule.results.first()?.find(f));
                let result = data.results.first().and_then(|&v| self.rw.module.shardings.sharding_of(v));
                place.zip(result).is_some_and(|((d, _), result)| result.axes(d) == from.axes(dim))
            };
            let has: Parts = to.dims.iter().flat_map(|dim| parts(self.mesh, &dim.axes)).collect();
            // Axes that move to another dimension are not all-gathered.
            let is_lost = |d: usize| {
                let lost = |part: &Part| !has.iter().any(|p| p.overlaps(*part));
                parts(self.mesh, from.axes(d)).iter().any(lost)
            };
            let lost = (0..from.rank()).find(|&d| cannot_split(d) && ty.shape[d] > 1 && is_lost(d));
            let Some(dim) = lost else { continue };
            let bytes = ty.num_bytes().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
            if bytes == 0 {
                continue;
            }
            let mut warning = Diagnostic::warning(
                Class::Unsupported,
                "SH0310",
                format!(
                    "{} needs dimension {dim} of operand {i} whole on every device: {}, sharded {}, {}",
                    data.kind.title(),
                    self.rw.module.types.display(self.rw.module.values[value].ty),
                    from.display(self.mesh),
                    bytes_text(bytes)
                ),
            )
            .at(data.span)
            .bytes(bytes)
            .hint(if could(dim) && is_alike(dim) {
                "its windows reach over the parts of so many devices that to gather them is cheaper; fewer devices along that dimension have larger parts"
            } else if could(dim) && bytes as f64 <= cost::START {
                "to gather so few bytes costs less than one more start of a collective, which counts as 16 KiB; its devices would exchange the borders of their parts if the value were larger, or if the result were sharded alike on that dimension: annotate it"
            } else if could(dim) {
                "its devices would exchange the borders of their parts instead if the result were sharded alike on that dimension; annotate it"
            } else if matches!(&data.kind, OpKind::CustomCall(spec) if is_kernel(&spec.target)) {
                "its code is made for the shapes that it was written with; call it with the part of each device in an sdy.manual_computation (jax.shard_map)"
            } else if matches!(&data.kind, OpKind::CustomCall(spec) if !is_known_target(&spec.target)) {
                "if the target can work on parts, say so: an sdy.sharding_rule on the call, or one registered for the target (Compiler::custom_call_rule)"
            } else {
                "shardc cannot do this operation on parts of that dimension yet; shard another dimension of the operand to avoid the gather"
            });
            warning.user_loc = self.rw.module.user_loc(op);
            return Some(Gather { op, warning });
        }
        None
    }
}

/// Returns how each factor of an operation's rule splits.
fn splits(module: &Module, op: OpId, rule: &ShardingRule) -> Splits {
    (0..rule.factors.len() as FactorIndex)
        .map(|f| quantized::restricted(module, op, rule, f, support::split(module, op, rule, f)))
        .collect()
}

/// Returns an operation and its tensors as the assignment of axes sees them; `None` if some operand or result has no sharding.
fn site<'a>(
    module: &'a Module,
    (mesh, mesh_id): (&'a Mesh, MeshId),
    invariance: Option<&LoopInvariance>,
    op: OpId,
    rule: &'a ShardingRule,
    copies: &AvailableCopies,
    free: &FreeValues,
) -> Option<Site<'a>> {
    let data = &module.ops[op];
    let splits = splits(module, op, rule);
    let mut tensors: SmallVec<[Tensor<'_>; 4]> = SmallVec::new();
    let operands = data.operands.iter().zip(&rule.operands).map(|x| (x, false));
    let results = data.results.iter().zip(&rule.results).map(|x| (x, true));
    for ((&value, mapping), is_result) in operands.chain(results) {
        let (sharding, ty) = (module.shardings.sharding_of(value)?, module.stored(value)?);
        let free = !is_result && free.is_free(value);
        let also = match is_result {
            true => SmallVec::new(),
            false => copies.shardings(value).map(|id| module.shardings.get(id)).collect(),
        };
        let share = match invariance {
            Some(invariance) if is_result => invariance.share_of_sum(module, value),
            Some(invariance) => invariance.share(module, value),
            None => 1.0,
        };
        tensors.push(Tensor { mapping, sharding, also, ty, is_result, free, share, brings: false });
    }
    let is_contraction = data.kind.def().work == Work::Contraction;
    let (carried, carried_by) = (Parts::new(), ReductionKind::default());
    Some(Site { mesh, mesh_id, kind: &data.kind, rule, splits, tensors, is_contraction, carried, carried_by })
}
