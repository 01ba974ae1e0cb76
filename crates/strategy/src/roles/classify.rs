//! Finding the roles of arguments.

use rustc_hash::FxHashMap;
use shardc_ir::{BinaryOp, DType, Diagnostic, FuncId, Module, OpId, OpKind, ValueId};
use shardc_passes::propagate::DimensionClasses;

use super::dependence::{Arguments, Dependence, Through};
use super::next::{gradients, next_values};
use super::{Argument, Role, Roles, Said};

/// Whether a program is a training step, or what one is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trains {
    Yes,
    /// It is a forward part alone: nothing that it returns is a gradient, and it may have no loss.
    No,
}

/// What the arguments of the entry function are, in which nothing is called.
///
/// # Errors
/// There is no entry function, or no result is a loss (SH1250) and nobody says what parameters are.
pub(super) fn classify(module: &Module, said: &Said, trains: Trains) -> Result<Roles, Diagnostic> {
    let facts = Facts::of(module, said, trains)?;
    let mut roles: Vec<Option<Role>> = vec![None; facts.args.len()];
    for &(i, role) in &said.roles {
        if let Some(place) = roles.get_mut(i) {
            *place = Some(role);
        }
    }
    facts.state(&mut roles);
    let classes = DimensionClasses::of_func(module, facts.func);
    let batch = classes.as_ref().and_then(|classes| facts.batch_class(classes, &roles));
    let of_batch = |i: usize| classes.as_ref()?.of(facts.args[i]).iter().position(|&c| Some(c) == batch);
    let mut batch_dims: Vec<Option<usize>> = (0..roles.len()).map(of_batch).collect();
    // Targets that meet nothing but a loss, which is computed otherwise, are shaped as the rest of the batch.
    let shape = |i: usize| module.shape(facts.args[i]);
    for i in 0..roles.len() {
        let is_alike = |&j: &usize| roles[j].is_none() && batch_dims[j].is_some() && shape(j) == shape(i);
        if roles[i].is_none() && batch_dims[i].is_none() {
            batch_dims[i] = (0..roles.len()).find(is_alike).and_then(|j| batch_dims[j]);
        }
    }
    for (i, role) in roles.iter_mut().enumerate() {
        let found = role.unwrap_or_else(|| facts.given(i, batch_dims[i].is_some()));
        *role = Some(found);
        if found != Role::Batch {
            batch_dims[i] = None;
        } else if batch.is_none() && facts.rank(i) > 0 {
            batch_dims[i] = Some(0);
        }
    }
    let roles: Vec<Role> = roles.into_iter().flatten().collect();
    let of = facts.parameters_of(&roles);
    let func = &module.funcs[facts.func];
    let arguments = roles.iter().enumerate().map(|(i, &role)| Argument {
        name: func.shown_argument(&module.locs, i),
        role,
        next: facts.next[i],
        gradient: facts.gradient[i].filter(|_| role == Role::Parameter),
        of: of[i],
        batch_dim: batch_dims[i],
    });
    Ok(Roles { arguments: arguments.collect(), loss: facts.loss })
}

struct Facts<'m> {
    module: &'m Module,
    func: FuncId,
    args: &'m [ValueId],
    /// For state, its next value.
    next: Vec<Option<usize>>,
    /// Where there is no state, the result that is the gradient by an argument.
    gradient: Vec<Option<usize>>,
    loss: Option<usize>,
    /// For state, the arguments that its next value depends on.
    needs: Vec<Arguments>,
    /// The arguments that the loss, or without one any result, depends on, and those on whose floats it depends by way of floats.
    loss_needs: Arguments,
    loss_moves_with: Arguments,
    users: FxHashMap<ValueId, Vec<OpId>>,
}

impl<'m> Facts<'m> {
    fn of(module: &'m Module, said: &Said, trains: Trains) -> Result<Self, Diagnostic> {
        let none = || Diagnostic::invalid("SH1250", "the program has no function to train");
        let func = module.entry().ok_or_else(none)?;
        let body = module.funcs[func].body.ok_or_else(none)?;
        let args = module.regions[body].args.as_slice();
        let returned =
            module.terminator(body).map(|end| module.ops[end].operands.as_slice()).unwrap_or_default();
        let all = Dependence::of_body(module, body, Through::Everything);
        let floats = Dependence::of_body(module, body, Through::Floats);
        let next = next_values(module, func, args, returned);
        let has_state = next.iter().any(Option::is_some);
        let gradient = match trains {
            Trains::Yes if !has_state => gradients(module, args, returned),
            _ => vec![None; args.len()],
        };
        // What a loss is told by: state, or what there are gradients by.
        let moved: Vec<bool> = next.iter().zip(&gradient).map(|(n, g)| n.is_some() || g.is_some()).collect();
        let says_parameters = said.roles.iter().any(|(_, role)| role.is_weight());
        let found = || loss(module, func, (&next, &moved), returned, &all, &floats);
        let loss = said.loss.filter(|&i| i < returned.len()).or_else(found);
        if loss.is_none() && !says_parameters && trains == Trains::Yes {
            let message = "no result of the program is one number that depends on its arguments";
            let hint =
                "a training step returns its loss; name the result that is it, or what its parameters are";
            return Err(Diagnostic::invalid("SH1250", message).hint(hint));
        }
        let of_loss = |needs: &Dependence<'_>| -> Arguments {
            let values = loss.map_or(returned, |loss| &returned[loss..=loss]);
            values.iter().fold(Arguments::default(), |sum, &value| Arguments::union(sum, &needs.of(value)))
        };
        let needs = |next: &Option<usize>| next.map(|r| all.of(returned[r])).unwrap_or_default();
        let mut users: FxHashMap<ValueId, Vec<OpId>> = FxHashMap::default();
        for op in module.walk(body) {
            for &operand in &module.ops[op].operands {
                users.entry(operand).or_default().push(op);
            }
        }
        Ok(Facts {
            needs: next.iter().map(needs).collect(),
            loss_needs: of_loss(&all),
            loss_moves_with: of_loss(&floats),
            module,
            func,
            args,
            next,
            gradient,
            loss,
            users,
        })
    }

    fn dtype(&self, i: usize) -> Option<DType> {
        self.module.stored(self.args[i]).map(|ty| ty.dtype)
    }

    fn rank(&self, i: usize) -> usize {
        self.module.rank(self.args[i])
    }

    fn is_float(&self, i: usize) -> bool {
        self.dtype(i).is_some_and(DType::is_float)
    }

    /// Whether an argument looks like a key of random numbers: a few words without a sign.
    fn is_key(&self, i: usize) -> bool {
        let shape = self.module.shape(self.args[i]);
        self.dtype(i) == Some(DType::UI32) && matches!(shape.last(), Some(2 | 4))
    }

    /// Gives state its roles.
    fn state(&self, roles: &mut [Option<Role>]) {
        let is_state = |i: usize| self.next[i].is_some();
        for (i, role) in roles.iter_mut().enumerate() {
            if is_state(i) && role.is_none() && !self.is_float(i) {
                *role = Some(match self.rank(i) {
                    _ if self.is_key(i) => Role::RngKey,
                    0 => Role::Step,
                    _ => Role::ModelState,
                });
            }
        }
        for (i, role) in roles.iter_mut().enumerate() {
            if self.gradient[i].is_some() && self.loss_moves_with.contains(i) {
                role.get_or_insert(Role::Parameter);
            }
        }
        let trained = self.trained(roles);
        for (role, trained) in roles.iter_mut().zip(trained) {
            if trained {
                role.get_or_insert(Role::Parameter);
            }
        }
        let parameters: Vec<usize> =
            (0..roles.len()).filter(|&i| roles[i] == Some(Role::Parameter)).collect();
        for (i, role) in roles.iter_mut().enumerate() {
            if is_state(i) && role.is_none() {
                *role = Some(self.float_state(i, &parameters));
            }
        }
    }

    /// Which state of floats is trained: the loss moves with it, and its next value needs what a gradient needs.
    fn trained(&self, roles: &[Option<Role>]) -> Vec<bool> {
        let candidates: Vec<usize> = (0..roles.len())
            .filter(|&i| self.next[i].is_some() && self.is_float(i) && self.loss_moves_with.contains(i))
            .collect();
        let among = |set: &Arguments| candidates.iter().filter(|&&i| set.contains(i)).count();
        let most = candidates.iter().map(|&i| among(&self.needs[i])).max().unwrap_or(0);
        let mut out = vec![false; roles.len()];
        for &i in &candidates {
            // Nothing is asked of a parameter that is kept, or whose gradient is stopped: it only decays.
            let is_kept = !self.needs[i].iter().any(|j| self.next[j].is_none() && self.rank(j) > 0);
            // Statistics of a layer need what is before it alone.
            out[i] = is_kept || self.needs_data(i) && 2 * among(&self.needs[i]) >= most;
        }
        out
    }

    /// Whether the next value of a piece of state needs all data that the loss is computed from.
    fn needs_data(&self, i: usize) -> bool {
        let is_data = |&j: &usize| self.next[j].is_none() && self.rank(j) > 0;
        self.loss_needs.iter().filter(is_data).all(|j| self.needs[i].contains(j))
    }

    /// The role of state of floats that is not trained.
    fn float_state(&self, i: usize, parameters: &[usize]) -> Role {
        if self.rank(i) == 0 {
            return Role::Scalar;
        }
        let is_fresh = !self.needs[i].contains(i) || self.is_added_to(i);
        let is_used = parameters.iter().any(|&p| p != i && self.needs[p].contains(i));
        if is_used {
            // Moments are computed from an accumulator, and it is not from them.
            let siblings = |j: &usize| {
                *j != i
                    && self.next[*j].is_some()
                    && self.is_float(*j)
                    && self.rank(*j) > 0
                    && !parameters.contains(j)
            };
            let own = (0..self.args.len()).filter(siblings).any(|j| self.needs[i].contains(j));
            let readers = (0..self.args.len()).filter(siblings).any(|j| self.needs[j].contains(i));
            let starts_anew = !self.needs[i].contains(i);
            return if is_fresh && !own && (readers || starts_anew) {
                Role::GradientAccumulator
            } else {
                Role::OptimizerState
            };
        }
        match () {
            () if !self.needs_data(i) => Role::ModelState,
            () if is_fresh && self.is_like_a_parameter(i, parameters) => Role::GradientAccumulator,
            () => Role::OptimizerState,
        }
    }

    fn is_like_a_parameter(&self, i: usize, parameters: &[usize]) -> bool {
        parameters.iter().any(|&p| self.module.shape(self.args[p]) == self.module.shape(self.args[i]))
    }

    /// Whether an argument is only ever added to.
    fn is_added_to(&self, i: usize) -> bool {
        let users = self.users.get(&self.args[i]).map(Vec::as_slice).unwrap_or_default();
        !users.is_empty()
            && users.iter().all(|&op| matches!(self.module.ops[op].kind, OpKind::Binary(BinaryOp::Add)))
    }

    /// The role of what is no state.
    fn given(&self, i: usize, has_batch_dim: bool) -> Role {
        let is_small_integer = self.dtype(i).is_some_and(|d| d.is_integer() && d.bits() <= 8);
        match self.rank(i) {
            _ if self.is_key(i) && !has_batch_dim => Role::RngKey,
            0 if self.is_float(i) => Role::Scalar,
            0 => Role::Step,
            _ if has_batch_dim => Role::Batch,
            _ if self.is_float(i) || is_small_integer => Role::FrozenParameter,
            _ => Role::Batch,
        }
    }

    /// The class of dimensions that counts examples.
    fn batch_class(&self, classes: &DimensionClasses, roles: &[Option<Role>]) -> Option<u32> {
        let mut in_front: FxHashMap<u32, usize> = FxHashMap::default();
        for dims in classes.of_values() {
            if let Some(&class) = dims.first() {
                *in_front.entry(class).or_default() += 1;
            }
        }
        let of_role = |is: fn(Option<Role>) -> bool| {
            let args = self.args.iter().zip(roles).filter(move |(_, role)| is(**role));
            args.flat_map(|(&arg, _)| classes.of(arg)).copied()
        };
        let trained: Vec<u32> =
            of_role(|role| matches!(role, Some(Role::Parameter | Role::OptimizerState))).collect();
        let given = of_role(|role| matches!(role, None | Some(Role::Batch)));
        let candidates = given.filter(|class| !trained.contains(class));
        candidates.max_by_key(|class| (in_front.get(class).copied().unwrap_or(0), std::cmp::Reverse(*class)))
    }

    /// For optimizer state and accumulators the parameter that they belong to: the one whose next value is computed from them, or,
    /// where none is or several are, one of their shape in their order.
    fn parameters_of(&self, roles: &[Role]) -> Vec<Option<usize>> {
        let parameters: Vec<usize> = (0..roles.len()).filter(|&i| roles[i] == Role::Parameter).collect();
        let shape = |i: usize| self.module.shape(self.args[i]);
        let mut turns: FxHashMap<(Role, &[i64]), usize> = FxHashMap::default();
        let is_owned = |role: Role| matches!(role, Role::OptimizerState | Role::GradientAccumulator);
        (0..roles.len())
            .map(|i| {
                if !is_owned(roles[i]) {
                    return None;
                }
                let mut users = parameters.iter().copied().filter(|&p| self.needs[p].contains(i));
                if let (Some(only), None) = (users.next(), users.next()) {
                    return Some(only);
                }
                let alike: Vec<usize> =
                    parameters.iter().copied().filter(|&p| shape(p) == shape(i)).collect();
                let turn = turns.entry((roles[i], shape(i))).or_default();
                *turn += 1;
                alike.get((*turn - 1) % alike.len().max(1)).copied()
            })
            .collect()
    }
}

/// The result that is the loss: one number of floats that is no state, and that moves with as much state and is computed from as
/// much data as any. Of several, the one that is called so, or the one that is computed first.
fn loss(
    module: &Module,
    func: FuncId,
    (next, moved): (&[Option<usize>], &[bool]),
    returned: &[ValueId],
    all: &Dependence<'_>,
    floats: &Dependence<'_>,
) -> Option<usize> {
    let is_number =
        |v: ValueId| module.tensor(v).is_some_and(|ty| ty.shape.is_empty() && ty.dtype.is_float());
    let candidates: Vec<usize> =
        (0..returned.len()).filter(|&i| is_number(returned[i]) && !next.contains(&Some(i))).collect();
    let moves_with = |i: usize| floats.of(returned[i]).iter().filter(|&a| moved[a]).count();
    let data = |i: usize| all.of(returned[i]).iter().filter(|&a| !moved[a]).count();
    let (moved, most) =
        (candidates.iter().map(|&i| moves_with(i)).max()?, candidates.iter().map(|&i| data(i)).max()?);
    let is_called =
        |i: usize| module.funcs[func].result_name(i).is_some_and(|name| name.to_lowercase().contains("loss"));
    let made = |i: usize| module.def_op(returned[i]);
    candidates
        .into_iter()
        .filter(|&i| moves_with(i) > 0 && 2 * moves_with(i) >= moved && data(i) == most)
        .min_by_key(|&i| (!is_called(i), made(i)))
}
