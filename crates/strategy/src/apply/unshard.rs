//! FSDP unshard: all-gathers parameters before their use, also for the backward pass.
//!
//! FSDP all-gathers a parameter before its use and frees it afterwards. In the program, the all-gather is a sharding constraint that
//! replicates the used value. The constraint follows a cast to a narrower type, so that the narrow value is sent. The update reads the
//! shards. For a stack of layers, each loop iteration gathers its row, also after a cast (`rows`).
//!
//! The backward pass reads the gathered value of the forward pass or, if a unit is resharded in between, gathers again. The second
//! all-gather follows a barrier with the nearest incoming activation cotangent. The barrier prevents CSE with the first all-gather, and
//! an early start. Casts, reshapes and transposes of the forward and of the backward pass are recomputed: on the shard if they cast to a
//! narrower type, and otherwise after the all-gather.
//!
//! A parameter that is only read by row lookups (an embedding table) is not all-gathered here. The compiler chooses: it sends rows to
//! their devices if that is cheaper than all-gathering the table.
//!
//! The parameters of a unit share one barrier. BACKWARD_POST ties the barrier to the cotangent of the unit itself, so the all-gather
//! starts when the backward pass of the following unit (in forward order) is done. BACKWARD_PRE ties the barrier to the cotangent of the
//! following unit, so the all-gather overlaps with the backward pass of that unit.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::regions::has_program_regions;
use shardc_ir::{
    Build, DType, Module, OpId, OpKind, RegionId, Rewriter, TensorBuild, TensorSharding, ValueId,
};

use crate::flow;
use crate::roles::Roles;
use crate::settings::Prefetch;
use crate::stacked::Stacked;
use crate::units::Units;

use super::constrained;
use super::kept_stacks::KeptStacks;
use super::rows::{Row, Rows};

/// The parameters to gather, and whether they are gathered again.
pub(super) struct Unshard<'a> {
    pub(super) roles: &'a Roles,
    /// The indices of the sharded arguments.
    pub(super) split: Vec<usize>,
    pub(super) stacked: &'a Stacked,
    /// The sharding of an argument after its all-gather: by tensor and expert parallelism only, or its annotation.
    pub(super) whole: &'a dyn Fn(&Module, ValueId) -> TensorSharding,
    /// Whether a value has a batch dimension.
    pub(super) has_batch: &'a dyn Fn(ValueId) -> bool,
    /// Whether the backward pass gathers parameters again.
    pub(super) again: bool,
    /// The units whose parameters are gathered again together. Without units, each parameter is gathered separately.
    pub(super) units: Option<&'a Units>,
    /// Whether parameters outside all units are also gathered again.
    pub(super) again_at_root: bool,
    pub(super) prefetch: Prefetch,
}

impl Unshard<'_> {
    /// Returns whether rows of an argument are gathered in loops. A stack that is kept from the forward to the backward pass is instead
    /// gathered in full, before the loop.
    fn takes_rows(&self, arg: ValueId) -> bool {
        self.again && self.stacked.has_rows(arg)
    }

    /// Returns the unit of the argument with this index.
    fn unit(&self, i: usize) -> Option<usize> {
        self.units?.of.get(i).copied().flatten()
    }

    /// Returns whether the argument with this index is gathered again for the backward pass.
    fn is_again(&self, i: usize) -> bool {
        self.again && (self.units.is_none() || self.again_at_root || self.unit(i).is_some())
    }

    /// Inserts the all-gathers into a body without calls.
    pub(super) fn apply(&self, module: &mut Module, body: RegionId) {
        let flow = Flow::of(module, body, self);
        let kept = self.kept_stacks(module, body, &flow);
        let numbers = module.regions[body].args.iter().enumerate().map(|(i, &arg)| (arg, i)).collect();
        let mut walk = Walk {
            unshard: self,
            flow,
            kept,
            numbers,
            gathered: FxHashMap::default(),
            backwards: FxHashMap::default(),
            held: FxHashMap::default(),
            last_asked: None,
        };
        let mut rw = Rewriter::new(module);
        rw.enter(body);
        while let Some(op) = rw.next_op() {
            walk.top(&mut rw, op);
        }
    }

    /// Finds the stacks that are gathered in full, and changes their users to the narrower types to which they are cast.
    fn kept_stacks(&self, module: &mut Module, body: RegionId, flow: &Flow) -> KeptStacks {
        let args = &module.regions[body].args;
        let stacks = self.split.iter().map(|&i| args[i]);
        let stacks: FxHashSet<ValueId> =
            stacks.filter(|&arg| self.stacked.has_rows(arg) && !self.takes_rows(arg)).collect();
        if stacks.is_empty() {
            return KeptStacks::default();
        }
        KeptStacks::narrow(module, body, self.stacked, &stacks, |module, op, value| {
            !flow.forward.contains(&op) && is_like(module, op, value)
        })
    }
}

/// The data flow of parameters in a program.
struct Flow {
    body: RegionId,
    /// The operations that the loss depends on.
    forward: FxHashSet<OpId>,
    /// Parameters, and values computed from them by casts, reshapes and transposes (*forms*), each with its parameter and producer.
    forms: FxHashMap<ValueId, Form>,
    /// Operations of the backward pass that need a gathered parameter.
    backward: FxHashSet<OpId>,
    /// The parameters that operations in `backward` need.
    asked: FxHashSet<ValueId>,
    /// Embedding tables, and casts of tables, that the forward pass reads only by row lookups.
    tables: FxHashSet<ValueId>,
    rows: Rows,
}

#[derive(Clone, Copy)]
struct Form {
    arg: ValueId,
    made: Option<(OpId, ValueId)>,
    /// Whether the form is still a shard, before the all-gather.
    is_part: bool,
}

impl Flow {
    fn of(module: &Module, body: RegionId, unshard: &Unshard<'_>) -> Flow {
        let args = &module.regions[body].args;
        let returned =
            module.terminator(body).map(|end| module.ops[end].operands.to_vec()).unwrap_or_default();
        // A program that does not train has only a forward pass.
        let forward = match unshard.roles.loss {
            Some(loss) => flow::computed_by(module, returned.get(loss).copied()),
            None => flow::computed_by(module, returned.iter().copied()),
        };
        let mut forms: FxHashMap<ValueId, Form> = FxHashMap::default();
        for &i in &unshard.split {
            if !unshard.takes_rows(args[i]) {
                forms.insert(args[i], Form { arg: args[i], made: None, is_part: true });
            }
        }
        for &op in &module.regions[body].ops {
            let data = &module.ops[op];
            for (&operand, &result) in data.operands.iter().zip(&data.results) {
                let Some(&form) = forms.get(&operand) else { continue };
                if let Some(is_part) = form_behind(module, op, form, forward.contains(&op)) {
                    forms.insert(result, Form { made: Some((op, operand)), is_part, ..form });
                }
            }
        }
        let users = flow::users(module, body);
        let owned = |arg: ValueId| -> Vec<ValueId> {
            let i = args.iter().position(|&a| a == arg);
            let states = unshard.roles.arguments.iter().enumerate();
            let own =
                states.filter(|(j, argument)| Some(*j) == i || (argument.of.is_some() && argument.of == i));
            own.filter_map(|(_, argument)| returned.get(argument.next?).copied()).collect()
        };
        let (mut backward, mut asked) = (FxHashSet::default(), FxHashSet::default());
        let mut own: FxHashMap<ValueId, Vec<ValueId>> = FxHashMap::default();
        for &op in &module.regions[body].ops {
            if forward.contains(&op) || matches!(module.ops[op].kind, OpKind::Return) {
                continue;
            }
            let read = flow::reads(module, op);
            let needs = |v: &ValueId| {
                let form = forms.get(v)?;
                needs_whole(module, op, *v, *form).then_some(form.arg)
            };
            if let Some(arg) = read.iter().find_map(needs) {
                let own = own.entry(arg).or_insert_with(|| owned(arg));
                if reaches_others(module, op, &users, &returned, own) {
                    backward.insert(op);
                    asked.extend(read.iter().filter_map(needs));
                }
            }
        }
        let is_table = |(&value, form): (&ValueId, &Form)| {
            let whole = (unshard.whole)(module, form.arg);
            let mut readers = users.get(&value).into_iter().flatten().filter(|op| forward.contains(op));
            form.is_part
                && whole.is_unsplit()
                && !asked.contains(&form.arg)
                && readers.all(|&op| looks_up(module, op, value))
        };
        let tables = forms.iter().filter(|&form| is_table(form)).map(|(&value, _)| value).collect();
        Flow { body, forward, forms, backward, asked, tables, rows: rows(module, body, unshard) }
    }
}

/// If an operation only changes the form of a parameter (a cast, reshape, transpose, broadcast or barrier), returns whether the result
/// is still a shard, to be gathered later.
///
/// In the backward pass, only casts and barriers count; reshapes and transposes need the gathered value.
fn form_behind(module: &Module, op: OpId, form: Form, is_forward: bool) -> Option<bool> {
    let data = &module.ops[op];
    let bits =
        |values: &[ValueId]| values.first().and_then(|&v| module.stored(v)).map_or(0, |ty| ty.dtype.bits());
    match data.kind {
        OpKind::OptimizationBarrier if form.is_part => Some(true),
        OpKind::Convert => Some(form.is_part && bits(&data.results) < bits(&data.operands)),
        OpKind::Transpose { .. } | OpKind::Reshape | OpKind::BroadcastInDim { .. } if is_forward => {
            Some(false)
        }
        _ => None,
    }
}

/// Returns whether an operation looks up rows of `table`.
fn looks_up(module: &Module, op: OpId, table: ValueId) -> bool {
    let data = &module.ops[op];
    matches!(data.kind, OpKind::Gather(_)) && data.operands.first() == Some(&table)
}

/// Returns whether an operation of the backward pass needs the gathered value of a parameter that it reads.
fn needs_whole(module: &Module, op: OpId, value: ValueId, form: Form) -> bool {
    let passes = form.is_part && matches!(module.ops[op].kind, OpKind::OptimizationBarrier);
    !passes && !is_like(module, op, value)
}

/// Returns whether an operation is element-wise on the shape of `value`: the update of a parameter, or a cast.
fn is_like(module: &Module, op: OpId, value: ValueId) -> bool {
    let data = &module.ops[op];
    matches!(
        data.kind,
        OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Convert | OpKind::Select | OpKind::Compare(..)
    ) && data.operands.iter().chain(&data.results).all(|&v| module.shape(v) == module.shape(value))
}

/// Returns whether a returned value that is not in `own` depends on the result of an operation.
fn reaches_others(
    module: &Module,
    op: OpId,
    users: &FxHashMap<ValueId, Vec<OpId>>,
    returned: &[ValueId],
    own: &[ValueId],
) -> bool {
    let (mut seen, mut todo) = (FxHashSet::from_iter([op]), vec![op]);
    while let Some(op) = todo.pop() {
        for result in &module.ops[op].results {
            if returned.contains(result) && !own.contains(result) {
                return true;
            }
            todo.extend(users.get(result).into_iter().flatten().copied().filter(|&user| seen.insert(user)));
        }
    }
    false
}

/// Returns the rows of sharded stacks that are gathered in loops.
fn rows(module: &Module, body: RegionId, unshard: &Unshard<'_>) -> Rows {
    let args = &module.regions[body].args;
    let split: FxHashSet<ValueId> = unshard.split.iter().map(|&i| args[i]).collect();
    Rows::of(module, body, |op| {
        let stack = module.ops[op].operands.first().and_then(|&v| unshard.stacked.origin(v));
        stack.filter(|stack| split.contains(stack) && unshard.takes_rows(*stack))
    })
}

/// How the backward pass obtains a gathered parameter.
#[derive(Clone, Copy)]
enum Whole {
    /// The gathered value of the forward pass is kept.
    Kept,
    /// The parameter is gathered again, after a barrier with this value.
    Again(Option<ValueId>),
}

struct Walk<'a> {
    unshard: &'a Unshard<'a>,
    flow: Flow,
    kept: KeptStacks,
    /// The gathered value of each form of a parameter.
    gathered: FxHashMap<ValueId, ValueId>,
    /// The value that replaces each form of a parameter in the backward pass.
    backwards: FxHashMap<ValueId, ValueId>,
    /// The index of each argument.
    numbers: FxHashMap<ValueId, usize>,
    /// For each parameter, its shard after the barrier of its unit.
    held: FxHashMap<ValueId, ValueId>,
    /// The cotangent of the last unit that was gathered again.
    last_asked: Option<ValueId>,
}

impl Walk<'_> {
    fn top(&mut self, rw: &mut Rewriter<'_>, op: OpId) {
        let read = flow::reads(rw.module, op);
        for value in read.iter().copied() {
            let Some(&form) = self.flow.forms.get(&value) else { continue };
            let stands = if self.flow.forward.contains(&op) {
                // A shard that the operation casts to a narrower type is gathered after the cast.
                let is_part = form_behind(rw.module, op, form, true) == Some(true);
                let is_table = self.flow.tables.contains(&value);
                (form.is_part && !is_part && !is_table).then(|| self.gathered(rw, value, form.arg))
            } else if self.flow.backward.contains(&op) && needs_whole(rw.module, op, value, form) {
                let again = self.numbers.get(&form.arg).is_some_and(|&i| self.unshard.is_again(i));
                let how = if again { Whole::Again(self.asked_for(rw.module, &read)) } else { Whole::Kept };
                Some(self.backwards(rw, value, form, how))
            } else {
                None
            };
            if let Some(stands) = stands {
                flow::replace(rw.module, op, |read| (read == value).then_some(stands));
            }
        }
        self.inside(rw, op);
    }

    /// Gathers rows of stacks inside loops.
    fn inside(&mut self, rw: &mut Rewriter<'_>, op: OpId) {
        if has_program_regions(&rw.module.ops[op].kind) {
            for region in rw.module.ops[op].regions.clone() {
                rw.enter(region);
                while let Some(inner) = rw.next_op() {
                    self.inside(rw, inner);
                }
            }
        }
        self.flow.rows.follow(rw, op);
        self.kept.rows.follow(rw, op);
        let Some(&value) = rw.module.ops[op].results.first() else { return };
        if let Some(Row { stack, to }) = self.flow.rows.row(value) {
            rw.keep();
            let part = to.map_or(value, |to| narrowed(rw, value, to));
            let whole = self.constrained(rw, part, stack);
            rw.stand_for(value, whole);
        }
    }

    /// Gathers `value`, which has the dimensions of the argument `arg`, by a sharding constraint.
    fn constrained(&self, rw: &mut Rewriter<'_>, value: ValueId, arg: ValueId) -> ValueId {
        let sharding = (self.unshard.whole)(rw.module, arg);
        constrained(rw, value, sharding)
    }

    fn gathered(&mut self, rw: &mut Rewriter<'_>, value: ValueId, arg: ValueId) -> ValueId {
        if let Some(&known) = self.gathered.get(&value) {
            return known;
        }
        let part = self.kept.to(value).map_or(value, |to| rw.convert(value, to));
        let whole = self.constrained(rw, part, arg);
        self.gathered.insert(value, whole);
        whole
    }

    /// Returns the nearest incoming activation cotangent: the nearest value with a batch dimension that an operation of the backward pass
    /// depends on. (The cotangent of a parameter is unreduced, and a barrier would reduce it too early.)
    fn asked_for(&self, module: &Module, read: &[ValueId]) -> Option<ValueId> {
        let is_behind = |op: OpId| {
            let is_form = |result: &ValueId| self.flow.forms.contains_key(result);
            !self.flow.forward.contains(&op) && !module.ops[op].results.iter().all(is_form)
        };
        flow::nearest(module, read, is_behind, |value| (self.unshard.has_batch)(value))
    }

    /// Returns the value that the backward pass reads instead of this form of a parameter.
    fn backwards(&mut self, rw: &mut Rewriter<'_>, value: ValueId, form: Form, how: Whole) -> ValueId {
        if let Some(&known) = self.backwards.get(&value) {
            return known;
        }
        let new = match (form, how) {
            (Form { is_part: true, .. } | Form { made: None, .. }, _) => {
                let part = self.part(rw, value, how);
                match how {
                    Whole::Again(_) => self.constrained(rw, part, form.arg),
                    Whole::Kept => self.gathered(rw, part, form.arg),
                }
            }
            (Form { made: Some((made, _)), .. }, Whole::Kept) if self.flow.forward.contains(&made) => value,
            (Form { made: Some((made, of)), .. }, _) => {
                let of = match self.flow.forms.get(&of) {
                    Some(&form) => self.backwards(rw, of, form, how),
                    None => of,
                };
                remade(rw, made, of)
            }
        };
        self.backwards.insert(value, new);
        new
    }

    /// Returns the shard of a parameter that the backward pass gathers, cast as in the forward pass.
    fn part(&mut self, rw: &mut Rewriter<'_>, value: ValueId, how: Whole) -> ValueId {
        match (self.flow.forms.get(&value).and_then(|form| form.made), how) {
            (Some((made, _)), Whole::Kept) if self.flow.forward.contains(&made) => value,
            (Some((made, of)), _) => {
                let of = self.part(rw, of, how);
                remade(rw, made, of)
            }
            (None, Whole::Kept) => value,
            (None, Whole::Again(asked)) => self.held(rw, value, asked),
        }
    }

    /// Returns the shard of a parameter after the barrier of its unit.
    fn held(&mut self, rw: &mut Rewriter<'_>, value: ValueId, asked: Option<ValueId>) -> ValueId {
        if let Some(&held) = self.held.get(&value) {
            return held;
        }
        let unit = self.numbers.get(&value).and_then(|&i| self.unshard.unit(i));
        let mut parts = vec![value];
        let mut until = asked;
        if let Some(unit) = unit {
            let others = self.unshard.split.iter().filter(|&&i| self.unshard.unit(i) == Some(unit));
            let others = others.filter_map(|i| rw.module.regions[self.flow.body].args.get(*i).copied());
            parts.extend(others.filter(|&arg| arg != value && self.flow.asked.contains(&arg)));
            if self.unshard.prefetch == Prefetch::Pre {
                until = self.last_asked.or(asked);
            }
            self.last_asked = asked.or(self.last_asked);
        }
        let behind: Vec<ValueId> = parts.iter().copied().chain(until).collect();
        let types: Vec<_> = behind.iter().map(|&v| rw.module.values[v].ty).collect();
        let barrier = rw.op(OpKind::OptimizationBarrier, &behind, &types, &[]);
        let results = rw.module.ops[barrier].results[..parts.len()].to_vec();
        self.held.extend(parts.into_iter().zip(&results).map(|(part, &held)| (part, held)));
        results[0]
    }
}

/// Casts a row to a narrower type. Despite barriers, the TPU compiler would cast the entire stack before the loop and keep both copies.
/// Rounding the row before the cast prevents the early cast, and does not change the result. Only a cast from `f32` to `bf16` is rounded:
/// with fewer exponent bits, rounding flushes subnormals to zero.
fn narrowed(rw: &mut Rewriter<'_>, row: ValueId, to: DType) -> ValueId {
    let rounded = if (rw.dtype(row), to) == (Some(DType::F32), DType::BF16) {
        rw.alike(OpKind::ReducePrecision { exponent_bits: 8, mantissa_bits: 7 }, &[row])
    } else {
        row
    };
    rw.convert(rounded, to)
}

/// Copies a reshape, transpose or cast, with operand `from`; a barrier is not copied.
fn remade(rw: &mut Rewriter<'_>, op: OpId, from: ValueId) -> ValueId {
    let data = &rw.module.ops[op];
    if matches!(data.kind, OpKind::OptimizationBarrier) {
        return from;
    }
    let (kind, ty) = (data.kind.clone(), rw.module.values[data.results[0]].ty);
    rw.op1(kind, &[from], ty)
}
