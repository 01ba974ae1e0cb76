//! Infers the roles of the arguments of a training step.
//!
//! Names and donations are only hints; roles are inferred from data flow:
//!
//! * *State* is an argument whose next value the step returns. Donations specify the result; otherwise it is inferred (`next.rs`).
//! * A **parameter** is floating-point state that a loss depends on through floats, and whose next value depends on a gradient, that is,
//!   on values that the forward pass computes with the parameter. (Statistics depend only on preceding values, see `forward.rs`.) The next
//!   value of a parameter is not a value of the forward pass, unlike the last state of a recurrent layer, and does not depend only on other
//!   parameters. If there are several losses, each may train different parameters.
//! * The **loss** is a scalar that trains state, and depends on the most data (`loss.rs`). The norm of an update depends on more state, but
//!   does not train any.
//! * State that the next value of a parameter depends on is **optimizer** state. So is state that follows parameters: averages,
//!   target networks and slow copies. Such state is instead a **gradient accumulator** if it is reset or only added to, and other
//!   optimizer state depends on it.
//! * Other floating-point state is **model** state: running statistics, code books, recurrent state.
//! * In a function that returns gradients and no next state, **parameters** are the arguments of these gradients.
//! * The **batch** is every array that is not state and has a dimension of the batch class: the dimension class that most computed values
//!   have and no parameter has, or a separate leading dimension in the argument's matmul with a parameter. **Frozen parameters** are
//!   other arrays that are not state.

mod batch;
mod classify;
mod dependence;
mod facts;
mod forward;
mod loss;
mod next;
mod state;

use std::fmt;
use std::str::FromStr;

use shardc_ir::suggest::unknown_name_hint;
use shardc_ir::{Diagnostic, Module};

use classify::classify;
pub(crate) use dependence::{Dependence, Through};
use facts::Trains;

/// The role of an argument of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// A trained parameter.
    Parameter,
    /// An untrained parameter: the loss depends on it, but the step does not change it.
    FrozenParameter,
    /// Gradients accumulated over several steps.
    GradientAccumulator,
    /// Moments, momentum, f32 copies of parameters, averages of parameters.
    OptimizerState,
    /// State that the model computes itself, such as running statistics of batch normalization.
    ModelState,
    /// Data, new in each step.
    Batch,
    /// Integer scalars, such as step counters.
    Step,
    /// Floating-point scalars, such as the learning rate.
    Scalar,
    /// Random number generator keys.
    RngKey,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 9] = [
        Role::Parameter,
        Role::FrozenParameter,
        Role::GradientAccumulator,
        Role::OptimizerState,
        Role::ModelState,
        Role::Batch,
        Role::Step,
        Role::Scalar,
        Role::RngKey,
    ];

    /// Returns whether the role is that of a model parameter, trained or frozen.
    #[must_use]
    pub fn is_weight(self) -> bool {
        matches!(self, Role::Parameter | Role::FrozenParameter)
    }

    /// Returns a name without whitespace: `parameter`, `frozen_parameter`, ...
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Parameter => "parameter",
            Role::FrozenParameter => "frozen_parameter",
            Role::GradientAccumulator => "gradient_accumulator",
            Role::OptimizerState => "optimizer_state",
            Role::ModelState => "model_state",
            Role::Batch => "batch",
            Role::Step => "step",
            Role::Scalar => "scalar",
            Role::RngKey => "rng_key",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is not a role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a role; {list}",
    list = unknown_name_hint(.0, "the roles", &Role::ALL.map(Role::as_str))
)]
pub struct UnknownRole(String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

/// An argument of a training step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The name of the argument in the program.
    pub name: String,
    /// The stated or inferred role.
    pub role: Role,
    /// For state, the result that is its next value.
    pub next: Option<usize>,
    /// In a function that returns gradients and no next state: the result that is the gradient of a parameter.
    pub gradient: Option<usize>,
    /// For optimizer state and gradient accumulators, the argument that is the corresponding parameter.
    pub of: Option<usize>,
    /// The batch dimension of the batch, and of model state with an entry per example.
    pub batch_dim: Option<usize>,
}

/// The roles of a training step's arguments, and its loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// The result that is the loss; `None` if no result is a loss and the user names the parameters.
    pub loss: Option<usize>,
}

impl Roles {
    /// Returns the indices of the arguments with a role, in order.
    pub fn of(&self, role: Role) -> impl Iterator<Item = usize> {
        (0..self.arguments.len()).filter(move |&i| self.arguments[i].role == role)
    }
}

/// Roles and the loss as stated by the user; the rest is inferred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleOverrides {
    /// Roles, each with the index of the argument.
    pub roles: Vec<(usize, Role)>,
    /// The result that is the loss.
    pub loss: Option<usize>,
}

/// Infers the roles of the entry function's arguments. Calls are inlined in a copy.
///
/// # Errors
/// Returns an error if there is no entry function, if its calls cannot be inlined, or if no result is a loss (SH1250) and no parameters
/// are named.
pub fn roles(module: &Module, overrides: &RoleOverrides) -> Result<Roles, Vec<Diagnostic>> {
    let mut inlined = module.clone();
    shardc_analysis::transforms::inline::inline_calls(&mut inlined)?;
    classify(&inlined, overrides, Trains::Yes).map_err(|diagnostic| vec![diagnostic])
}

/// Infers the roles of the arguments of a training step or, if no result is a loss, of a forward-only program: its floating-point
/// arguments outside the batch are frozen parameters. Calls are inlined in a copy.
///
/// # Errors
/// Returns an error if there is no entry function, or if its calls cannot be inlined.
pub fn roles_of_any(module: &Module) -> Result<Roles, Vec<Diagnostic>> {
    let mut inlined = module.clone();
    shardc_analysis::transforms::inline::inline_calls(&mut inlined)?;
    let overrides = RoleOverrides::default();
    classify(&inlined, &overrides, Trains::Yes)
        .or_else(|_| classify(&inlined, &overrides, Trains::No))
        .map_err(|diagnostic| vec![diagnostic])
}

/// Infers the roles of the arguments of a forward-only program without calls: floating-point arguments outside the batch are frozen
/// parameters.
pub(crate) fn forward_roles(module: &Module, overrides: &RoleOverrides) -> Result<Roles, Diagnostic> {
    classify(module, overrides, Trains::No)
}
