//! Infers the roles of arguments.

use rustc_hash::FxHashMap;
use shardc_ir::{Diagnostic, Module};

use super::batch::batch_dims;
use super::facts::{Facts, Trains};
use super::loss::note_loss;
use super::state::state_roles;
use super::{Argument, Role, RoleOverrides, Roles};

/// Infers the roles of the arguments of an entry function without calls.
///
/// # Errors
/// Returns SH1250 if there is no entry function, or if no result is a loss and the user names no parameters.
pub(super) fn classify(
    module: &Module,
    overrides: &RoleOverrides,
    trains: Trains,
) -> Result<Roles, Diagnostic> {
    let mut facts = Facts::of(module, trains)?;
    note_loss(&mut facts, overrides, trains)?;
    let mut roles: Vec<Option<Role>> = vec![None; facts.args.len()];
    for &(i, role) in &overrides.roles {
        if let Some(place) = roles.get_mut(i) {
            *place = Some(role);
        }
    }
    state_roles(&facts, &mut roles);
    let mut batch_dims = batch_dims(&facts, &roles);
    let is_found = batch_dims.iter().any(Option::is_some);
    for (i, role) in roles.iter_mut().enumerate() {
        let found = role.unwrap_or_else(|| given_role(&facts, i, batch_dims[i].is_some()));
        *role = Some(found);
        match found {
            Role::Batch if !is_found && facts.rank(i) > 0 => batch_dims[i] = Some(0),
            Role::Batch | Role::ModelState => {}
            _ => batch_dims[i] = None,
        }
    }
    let mut roles: Vec<Role> = roles.into_iter().flatten().collect();
    freeze_unchanged(&facts, &mut roles, overrides);
    let of = parameters_of(&facts, &roles);
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

/// Changes the role of parameters that the step returns unchanged to frozen parameter, such as the teacher of a distillation.
///
/// If no parameter changes, the step only accumulates gradients, and all parameters stay trained. A parameter with optimizer state or an
/// accumulator also stays trained: another step trains it.
fn freeze_unchanged(facts: &Facts<'_>, roles: &mut [Role], overrides: &RoleOverrides) {
    let is_unchanged = |i: usize| facts.next_value(i) == Some(facts.args[i]);
    let is_parameter = |roles: &[Role], i: usize| roles[i] == Role::Parameter;
    if !(0..roles.len()).any(|i| is_parameter(roles, i) && facts.next[i].is_some() && !is_unchanged(i)) {
        return;
    }
    let of = parameters_of(facts, roles);
    for i in 0..roles.len() {
        let is_given = overrides.roles.iter().any(|&(j, _)| i == j);
        if is_parameter(roles, i) && is_unchanged(i) && !of.contains(&Some(i)) && !is_given {
            roles[i] = Role::FrozenParameter;
        }
    }
}

/// Infers the role of an argument that is not state.
fn given_role(facts: &Facts<'_>, i: usize, has_batch_dim: bool) -> Role {
    let is_small_integer = facts.dtype(i).is_some_and(|d| d.is_integer() && d.bits() <= 8);
    match facts.rank(i) {
        _ if facts.is_key(i) && !has_batch_dim => Role::RngKey,
        0 if facts.is_float(i) => Role::Scalar,
        0 => Role::Step,
        _ if has_batch_dim => Role::Batch,
        _ if facts.is_float(i) || is_small_integer => Role::FrozenParameter,
        _ => Role::Batch,
    }
}

/// Returns the parameter of each optimizer state and accumulator: the only parameter whose next value depends on the state; or else a
/// parameter with the same shape, assigned in order.
fn parameters_of(facts: &Facts<'_>, roles: &[Role]) -> Vec<Option<usize>> {
    let parameters: Vec<usize> = (0..roles.len()).filter(|&i| roles[i] == Role::Parameter).collect();
    let shape = |i: usize| facts.module.shape(facts.args[i]);
    let mut turns: FxHashMap<(Role, &[i64]), usize> = FxHashMap::default();
    let is_owned = |role: Role| matches!(role, Role::OptimizerState | Role::GradientAccumulator);
    (0..roles.len())
        .map(|i| {
            if !is_owned(roles[i]) {
                return None;
            }
            let mut users = parameters.iter().copied().filter(|&p| facts.needs[p].contains(i));
            if let (Some(only), None) = (users.next(), users.next()) {
                return Some(only);
            }
            let alike: Vec<usize> = parameters.iter().copied().filter(|&p| shape(p) == shape(i)).collect();
            let turn = turns.entry((roles[i], shape(i))).or_default();
            *turn += 1;
            alike.get((*turn - 1) % alike.len().max(1)).copied()
        })
        .collect()
}
