//! Infers the roles of state.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{BinaryOp, Linear, OpKind, ValueDef, ValueId};

use super::Role;
use super::dependence::{Arguments, Dependence, Through, is_float, is_number};
use super::facts::Facts;
use super::forward::Forward;
use crate::flow::{computed_by, reads, yielded};

/// Assigns roles to state, and to arguments with gradients.
pub(super) fn state_roles(facts: &Facts<'_>, roles: &mut [Option<Role>]) {
    let losses = facts.loss.map_or(facts.returned, |loss| &facts.returned[loss..=loss]);
    let mut states = States::of(facts, losses);
    for (i, role) in roles.iter_mut().enumerate() {
        let has_gradient = facts.gradient[i].is_some() && states.moves_loss(i);
        if has_gradient || states.is_trained(i, &states.forwards[0]) {
            role.get_or_insert(Role::Parameter);
        }
    }
    states.other_losses(roles);
    for i in 0..roles.len() {
        if states.is_idle_parameter(i, roles) {
            roles[i] = Some(Role::Parameter);
        }
    }
    let parameters: Vec<usize> = (0..roles.len()).filter(|&i| roles[i] == Some(Role::Parameter)).collect();
    for (i, role) in roles.iter_mut().enumerate() {
        if facts.next[i].is_some() && role.is_none() {
            *role = Some(if facts.is_float(i) {
                states.float_state(i, &parameters)
            } else {
                states.integer_state(i, &parameters)
            });
        }
    }
}

/// Returns the number of state arguments that a scalar trains. A scalar trains state if the next value of the state depends on values
/// of the forward pass that depend on the state.
pub(super) fn trained_by(facts: &Facts<'_>, number: ValueId) -> usize {
    let states = States::of(facts, &[number]);
    let forward = &states.forwards[0];
    (0..facts.args.len())
        .filter(|&i| states.is_trained(i, forward) && states.needs_forward(i, forward))
        .count()
}

struct States<'f, 'm> {
    facts: &'f Facts<'m>,
    /// The forward pass of the loss, and the forward passes of other losses that train other state.
    forwards: Vec<Forward<'m>>,
    /// For each next value of state, the state. The average of a low-precision parameter is computed from its f32 copy, so the values
    /// before conversions of a next value are included.
    next_of: FxHashMap<ValueId, Vec<usize>>,
}

impl<'f, 'm> States<'f, 'm> {
    fn of(facts: &'f Facts<'m>, losses: &[ValueId]) -> Self {
        let mut next_of: FxHashMap<ValueId, Vec<usize>> = FxHashMap::default();
        for i in 0..facts.args.len() {
            let mut next = facts.next_value(i);
            while let Some(value) = next {
                next_of.entry(value).or_default().push(i);
                let producer = facts.module.def_op(value).map(|op| &facts.module.ops[op]);
                let conversion = producer.filter(|data| matches!(data.kind, OpKind::Convert));
                next = conversion.map(|data| data.operands[0]);
            }
        }
        States { facts, forwards: vec![Forward::of(facts, losses)], next_of }
    }

    /// Finds state that other losses train, such as the networks of an actor and of a critic.
    fn other_losses(&mut self, roles: &mut [Option<Role>]) {
        let facts = self.facts;
        let is_other = |&r: &usize| {
            let is_free = facts.loss.is_some_and(|loss| loss != r) && !facts.next.contains(&Some(r));
            is_free && is_number(facts.module, facts.returned[r])
        };
        let mut numbers: Vec<(usize, ValueId)> = (0..facts.returned.len())
            .filter(is_other)
            .map(|r| facts.returned[r])
            .map(|value| (facts.floats.of(value).iter().filter(|&i| self.is_float_state(i)).count(), value))
            .collect();
        // Scalars with less state come first: the norm of an update also depends on moments.
        numbers.sort_by_key(|&(count, _)| count);
        let next = (0..facts.args.len()).filter_map(|i| Some((facts.next_value(i)?, Arguments::one(i))));
        let behind_next =
            Dependence::with(facts.module, facts.body, Through::Floats, next, facts.step_loops.clone());
        let all_unassigned = |states: &Self, roles: &[Option<Role>]| -> Vec<usize> {
            (0..roles.len()).filter(|&i| states.is_unassigned(i, roles)).collect()
        };
        let mut unassigned = all_unassigned(self, roles);
        for (_, value) in numbers {
            // A scalar that is computed from the next value of state, such as the norm of an update, does not train that state.
            let (moves_with, behind) = (facts.floats.of(value), behind_next.of(value));
            if !unassigned.iter().any(|&i| moves_with.contains(i) && !behind.contains(i)) {
                continue;
            }
            let forward = Forward::of(facts, &[value]);
            // Optimizer state needs stronger evidence. A product of momentum and gradient depends on momentum, whose next value depends
            // on the gradient. The norm of an update depends on the scales of 8-bit moments.
            let is_trained = |&i: &usize| {
                let is_own = || self.needs_forward(i, &forward) && self.is_updated(i);
                self.is_trained(i, &forward) && (!self.is_of_optimizer(i, roles) || is_own())
            };
            let trained: Vec<usize> = unassigned.iter().copied().filter(is_trained).collect();
            // The norm of all weights also depends on weights that are not trained.
            if !trained.iter().any(|&i| self.is_asked(i, &forward)) {
                continue;
            }
            for i in trained {
                roles[i] = Some(Role::Parameter);
            }
            self.forwards.push(forward);
            unassigned = all_unassigned(self, roles);
        }
    }

    /// Returns whether an argument is floating-point state that has no role yet and does not [follow](States::follows) other state.
    fn is_unassigned(&self, i: usize, roles: &[Option<Role>]) -> bool {
        self.is_float_state(i) && roles[i].is_none() && !self.follows(i)
    }

    /// Returns whether state is optimizer state: no loss depends on it, but the next value of a parameter does.
    fn is_of_optimizer(&self, i: usize, roles: &[Option<Role>]) -> bool {
        let is_used =
            |p: usize| p != i && roles[p] == Some(Role::Parameter) && self.facts.needs[p].contains(i);
        !self.moves_loss(i) && (0..roles.len()).any(is_used)
    }

    fn is_float_state(&self, i: usize) -> bool {
        self.facts.next[i].is_some() && self.facts.is_float(i)
    }

    fn moves_loss(&self, i: usize) -> bool {
        self.forwards.iter().any(|forward| forward.moves_with.contains(i))
    }

    /// Returns whether the loss of `forward` depends on state and trains it: the next value of the state is computed from a gradient.
    fn is_trained(&self, i: usize, forward: &Forward<'_>) -> bool {
        let facts = self.facts;
        let Some(next) = facts.next_value(i).filter(|_| facts.is_float(i) && forward.moves_with.contains(i))
        else {
            return false;
        };
        // A parameter that is unchanged, or whose gradient is stopped, depends at most on itself (weight decay).
        if !self.is_asked(i, forward) {
            return facts.rank(i) > 0;
        }
        let needs = &facts.needs[i];
        let is_by_gradient = || match facts.rank(i) {
            // A loss scale also depends on gradients, but only on whether they are finite.
            0 => forward.beyond(next).contains(i) && self.needs_floats(i),
            _ => forward.beyond(next).contains(i) || self.needs_partner(i, next, forward),
        };
        // The recurrent state of a layer depends only on the layers before it.
        let needs_most = || {
            let joined: Vec<usize> = forward.joined(i).iter().filter(|&j| self.is_float_state(j)).collect();
            2 * joined.iter().filter(|&&j| needs.contains(j)).count() >= joined.len()
        };
        !forward.values.contains(&next) && is_by_gradient() && needs_most() && !self.follows(i)
    }

    /// Returns whether a next value depends on data, or on other state that a loss depends on.
    fn is_asked(&self, i: usize, forward: &Forward<'_>) -> bool {
        let needs = &self.facts.needs[i];
        let is_other = |j: usize| j != i && self.is_float_state(j) && forward.moves_with.contains(j);
        needs.meets(&self.facts.given) || needs.iter().any(is_other)
    }

    /// Returns whether a next value is computed element-wise from the old value.
    fn is_updated(&self, i: usize) -> bool {
        let module = self.facts.module;
        let arg = self.facts.args[i];
        let mut todo: Vec<ValueId> = self.facts.next_value(i).into_iter().collect();
        let mut seen: FxHashSet<ValueId> = FxHashSet::default();
        while let Some(value) = todo.pop() {
            if value == arg {
                return true;
            }
            if module.shape(value) != module.shape(arg) || !seen.insert(value) {
                continue;
            }
            let ValueDef::Result(op, at) = module.values[value].def() else { continue };
            let (data, at) = (&module.ops[op], at as usize);
            match data.kind {
                OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Convert | OpKind::Select | OpKind::Clamp => {
                    todo.extend(&data.operands);
                }
                OpKind::OptimizationBarrier | OpKind::ShardingConstraint(_) => {
                    todo.extend(data.operands.get(at))
                }
                OpKind::Case | OpKind::If => {
                    todo.extend(data.regions.iter().filter_map(|&region| yielded(module, region).get(at)));
                }
                _ => {}
            }
        }
        false
    }

    /// Returns whether a next value is not a value of the forward pass, and depends on values of the forward pass that depend on the
    /// state.
    fn needs_forward(&self, i: usize, forward: &Forward<'_>) -> bool {
        let next = self.facts.next_value(i).filter(|next| !forward.values.contains(next));
        next.is_some_and(|next| forward.beyond(next).contains(i))
    }

    /// Returns whether the next value of a scalar depends on arrays through floats.
    fn needs_floats(&self, i: usize) -> bool {
        let needs = self.facts.next_value(i).map(|next| self.facts.floats.of(next)).unwrap_or_default();
        needs.iter().any(|j| self.facts.rank(j) > 0)
    }

    /// Returns whether state is a parameter that the model does not use, so that no loss depends on it. Such state has moments that no
    /// other parameter uses, no other next value depends on it, and its own next value does not depend on data. If gradients are clipped by
    /// a global norm, its next value depends on data like those of all parameters.
    fn is_idle_parameter(&self, i: usize, roles: &[Option<Role>]) -> bool {
        let needs = &self.facts.needs;
        let is_own_moment = |j: usize| {
            let is_used =
                |p: usize| p != i && p != j && roles[p] == Some(Role::Parameter) && needs[p].contains(j);
            j != i
                && needs[i].contains(j)
                && self.facts.rank(j) > 0
                && self.is_unassigned(j, roles)
                && !(0..roles.len()).any(is_used)
        };
        let is_read = |j: usize| j != i && needs[j].contains(i);
        let parameters =
            || (0..roles.len()).filter(|&p| roles[p] == Some(Role::Parameter)).collect::<Vec<_>>();
        let needs_data = needs[i].meets(&self.facts.given);
        self.is_unassigned(i, roles)
            && !self.moves_loss(i)
            && !(0..roles.len()).any(is_read)
            && (0..roles.len()).any(is_own_moment)
            && (!needs_data || self.is_of_gradients(i, &parameters()))
    }

    /// Returns whether a next value depends on the data that the state is multiplied with in the forward pass. This dependence is the only
    /// evidence of a gradient if the loss is linear in a weight, or if the backward pass recomputes the values that depend on the weight.
    fn needs_partner(&self, i: usize, next: ValueId, forward: &Forward<'_>) -> bool {
        let module = self.facts.module;
        let mut partners: FxHashSet<ValueId> = FxHashSet::default();
        let mut todo = vec![self.facts.args[i]];
        while let Some(value) = todo.pop() {
            for &op in self.facts.users(value) {
                let data = &module.ops[op];
                let is_forward = data.results.first().is_some_and(|result| forward.values.contains(result));
                match data.kind {
                    OpKind::Convert
                    | OpKind::Transpose { .. }
                    | OpKind::Reshape
                    | OpKind::ShardingConstraint(_) => {
                        todo.extend(&data.results);
                    }
                    OpKind::While => {
                        let carried = data.operands.iter().enumerate().filter(|(_, v)| **v == value);
                        let body = data.regions.last().map(|&body| &module.regions[body].args);
                        todo.extend(carried.filter_map(|(at, _)| body?.get(at)));
                    }
                    _ if is_forward && data.kind.def().linear == Linear::EitherSums => {
                        let others = data.operands.iter().filter(|v| **v != value);
                        partners.extend(others.flat_map(|&v| self.sources(v)).filter(|&v| self.is_data(v)));
                    }
                    _ => {}
                }
            }
        }
        let ops = computed_by(module, [next]);
        ops.into_iter().any(|op| reads(module, op).iter().any(|value| partners.contains(value)))
    }

    fn is_data(&self, value: ValueId) -> bool {
        self.facts.all.of(value).meets(&self.facts.given)
    }

    /// Returns the value itself or, for a value in a loop, the float values outside all loops from which it is computed. The loop of the
    /// backward pass reads the same values.
    fn sources(&self, value: ValueId) -> Vec<ValueId> {
        let (module, facts) = (self.facts.module, self.facts);
        let (mut sources, mut seen, mut todo) = (Vec::new(), FxHashSet::default(), vec![value]);
        while let Some(value) = todo.pop() {
            if !seen.insert(value) {
                continue;
            }
            match module.values[value].def() {
                ValueDef::Result(op, _) if facts.nested.contains(&op) => todo.extend(reads(module, op)),
                ValueDef::Arg(region, at) if region != facts.body => {
                    let init = facts.owner.get(&region).map(|&op| module.ops[op].operands.get(at as usize));
                    todo.extend(init.flatten());
                }
                _ => sources.push(value),
            }
        }
        sources.retain(|&source| source == value || is_float(module, source));
        sources
    }

    /// Returns whether state follows other state that a loss depends on, as averages and copies of parameters do. The next value of such
    /// state is computed only from the next values of the other state, from its own value and from scalars.
    fn follows(&self, i: usize) -> bool {
        let facts = self.facts;
        let leads = |j: usize| j != i && self.is_float_state(j) && facts.rank(j) > 0 && self.moves_loss(j);
        let is_led =
            |value: ValueId| self.next_of.get(&value).is_some_and(|states| states.iter().any(|&j| leads(j)));
        let Some(start) = facts.next_value(i) else { return false };
        let mut has_led = false;
        let (mut seen, mut todo) = (FxHashSet::from_iter([start]), vec![start]);
        while let Some(value) = todo.pop() {
            if value != start && is_led(value) {
                has_led = true;
                continue;
            }
            match facts.module.values[value].def() {
                // An average contains no matmul; values that a layer computes from its weights do.
                ValueDef::Result(op, _) => {
                    if matches!(facts.module.ops[op].kind, OpKind::DotGeneral(_) | OpKind::Convolution(_)) {
                        return false;
                    }
                    todo.extend(reads(facts.module, op).into_iter().filter(|&v| seen.insert(v)));
                }
                ValueDef::Arg(region, j) if region == facts.body => match j as usize {
                    j if j == i || facts.rank(j) == 0 => {}
                    j if leads(j) => has_led = true,
                    _ => return false,
                },
                ValueDef::Arg(..) => {}
            }
        }
        has_led
    }

    /// Infers the role of integer state.
    fn integer_state(&self, i: usize, parameters: &[usize]) -> Role {
        let facts = self.facts;
        let is_used = || parameters.iter().any(|&p| facts.needs[p].contains(i));
        match facts.rank(i) {
            _ if facts.is_key(i) => Role::RngKey,
            0 => Role::Step,
            // Integer arrays that the update of a parameter reads are 8-bit moments.
            _ if is_used() && !facts.loss_needs.contains(i) => Role::OptimizerState,
            _ => Role::ModelState,
        }
    }

    /// Infers the role of floating-point state that is not trained. `parameters` is in ascending order.
    fn float_state(&self, i: usize, parameters: &[usize]) -> Role {
        let facts = self.facts;
        let users = parameters.iter().filter(|&&p| facts.needs[p].contains(i)).count();
        if self.follows(i) {
            return Role::OptimizerState;
        }
        if facts.rank(i) == 0 {
            // Scalar moments, and scales of 8-bit moments, belong to one parameter.
            return if users == 1 && self.needs_floats(i) { Role::OptimizerState } else { Role::Scalar };
        }
        if self.moves_loss(i) {
            return Role::ModelState;
        }
        let is_fresh = self.is_added_to(i) || self.is_reset(i);
        if users > 0 {
            // Moments depend on an accumulator, but an accumulator does not depend on moments.
            let is_sibling = |j: usize| {
                j != i && self.is_float_state(j) && facts.rank(j) > 0 && parameters.binary_search(&j).is_err()
            };
            let own = facts.needs[i].iter().any(is_sibling);
            let readers = (0..facts.args.len()).any(|j| facts.needs[j].contains(i) && is_sibling(j));
            let starts_anew = self.is_reset(i) || !facts.needs[i].contains(i);
            return if is_fresh && !own && (readers || starts_anew) {
                Role::GradientAccumulator
            } else {
                Role::OptimizerState
            };
        }
        let shape = |i: usize| facts.module.shape(facts.args[i]);
        let is_alike = || parameters.iter().any(|&p| shape(p) == shape(i));
        let is_kept = !facts.needs[i].iter().any(|j| j != i && facts.rank(j) > 0);
        match () {
            () if is_kept && is_alike() => Role::OptimizerState,
            () if !self.is_of_gradients(i, parameters) => Role::ModelState,
            () if is_fresh && is_alike() => Role::GradientAccumulator,
            () => Role::OptimizerState,
        }
    }

    /// Returns whether the next value of state that no parameter depends on has the dependences of gradients: on all data, and on
    /// values of the forward pass that depend on parameters, for all parameters. Statistics of a layer depend only on the layers
    /// before it.
    fn is_of_gradients(&self, i: usize, parameters: &[usize]) -> bool {
        let facts = self.facts;
        let data = |set: &Arguments| set.iter().filter(|&j| facts.given.contains(j)).count();
        let needed =
            facts.loss_needs.iter().filter(|&j| facts.given.contains(j) && facts.needs[i].contains(j));
        let beyond = facts.next_value(i).map(|next| self.forwards[0].beyond(next)).unwrap_or_default();
        let mut moved = parameters.iter().filter(|&&p| self.forwards[0].moves_with.contains(p));
        needed.count() == data(&facts.loss_needs) && moved.all(|&p| beyond.contains(p))
    }

    /// Returns whether all users of an argument, after casts, are additions, as for an accumulator.
    fn is_added_to(&self, i: usize) -> bool {
        let module = self.facts.module;
        let mut todo = vec![self.facts.args[i]];
        while let Some(value) = todo.pop() {
            let users = self.facts.users(value);
            if users.is_empty() {
                return false;
            }
            for &op in users {
                match module.ops[op].kind {
                    OpKind::Binary(BinaryOp::Add) => {}
                    OpKind::Convert => todo.extend(&module.ops[op].results),
                    _ => return false,
                }
            }
        }
        true
    }

    /// Returns whether the next value is selected from values of which some depend on the old value and others do not: a periodic reset.
    fn is_reset(&self, i: usize) -> bool {
        let module = self.facts.module;
        let Some(next) = self.facts.next_value(i) else { return false };
        let ValueDef::Result(op, result) = module.values[next].def() else { return false };
        let data = &module.ops[op];
        let choices: Vec<ValueId> = match data.kind {
            OpKind::Select => data.operands[1..].to_vec(),
            OpKind::Case | OpKind::If => {
                let regions = data.regions.iter();
                regions.filter_map(|&region| yielded(module, region).get(result as usize).copied()).collect()
            }
            _ => return false,
        };
        let goes_on = |value: &ValueId| self.facts.all.of(*value).contains(i);
        choices.iter().any(goes_on) && !choices.iter().all(goes_on)
    }
}
