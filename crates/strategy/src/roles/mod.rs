//! What the arguments of a training step are.
//!
//! Names and donations hint at it, data flow decides:
//!
//! * *State* is what the step returns anew: the result that an argument is donated to.
//! * A **parameter** is state of floats that a loss depends on by way of floats, and whose next value is made by a gradient: it needs
//!   what the forward part computes with the parameter, where statistics need what is before them alone (`loss.rs`). It is no value of
//!   the forward part itself, as the last state of a recurrent layer is, and it does not only follow other parameters. Of several losses
//!   the others may train what the first does not.
//! * The **loss** is one number that trains as much of the state as any; the norm of an update moves with more, and trains nothing.
//! * State that the next value of a parameter is computed from is the **optimizer's**, and so is what follows parameters: averages,
//!   targets and slow copies of them. Where the rest of it is computed from that state and it starts anew or only adds up, it is an
//!   **accumulator of gradients**.
//! * Other state of floats is the **model's**: running statistics, code books, what recurrent layers hand on.
//! * Of a function that returns gradients, and no next state, **parameters** are what these are gradients by.
//! * The **batch** is what is no state and has a dimension of the class (through all operations) that most of what the model computes
//!   has and that no parameter has, or one of its own in front of its product with a parameter; **frozen parameters** are other arrays
//!   that are no state.

mod batch;
mod classify;
mod dependence;
mod facts;
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

/// What an argument of a training step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// What is trained.
    Parameter,
    /// What the loss depends on as on parameters, and that stays as it is.
    FrozenParameter,
    /// Sums of gradients over several steps.
    GradientAccumulator,
    /// Moments, momentum, copies of parameters in f32, means of parameters.
    OptimizerState,
    /// State that the model computes itself: running statistics of batch normalization.
    ModelState,
    /// Data, new in each step.
    Batch,
    /// Counters.
    Step,
    /// Single numbers: the learning rate.
    Scalar,
    /// Keys of random numbers.
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

    /// Whether it is a part of the model that layers compute with: trained or frozen.
    #[must_use]
    pub fn is_weight(self) -> bool {
        matches!(self, Role::Parameter | Role::FrozenParameter)
    }

    /// A name without blanks: `parameter`, `frozen_parameter`, ...
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

/// A name that is no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no role: {list}",
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
    /// What people call it.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// For state, the result that is its next value.
    pub next: Option<usize>,
    /// Where the function returns gradients and no next state, the result that is the gradient of a parameter.
    pub gradient: Option<usize>,
    /// For optimizer state and accumulators of gradients, the argument that is their parameter.
    pub of: Option<usize>,
    /// For the batch, and for state of the model that has some of each example, the dimension that counts examples.
    pub batch_dim: Option<usize>,
}

/// What a training step takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Its arguments, in order.
    pub arguments: Vec<Argument>,
    /// The result that is the loss; none where the user says what parameters are, of a program that does not train.
    pub loss: Option<usize>,
}

impl Roles {
    /// The numbers of the arguments of a role, in order.
    pub fn of(&self, role: Role) -> impl Iterator<Item = usize> {
        (0..self.arguments.len()).filter(move |&i| self.arguments[i].role == role)
    }
}

/// What a user says of arguments and of the loss; the rest is found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Roles, by the number of the argument.
    pub roles: Vec<(usize, Role)>,
    /// The result that is the loss.
    pub loss: Option<usize>,
}

/// What the arguments of the entry function of a training step are. Calls are inlined in a copy.
///
/// # Errors
/// There is no entry function, its calls cannot be inlined, or no result is a loss (SH1250) and no parameters are named.
pub fn roles(module: &Module, said: &Said) -> Result<Roles, Vec<Diagnostic>> {
    let mut inlined = module.clone();
    shardc_passes::transforms::inline::inline_calls(&mut inlined)?;
    classify(&inlined, said, Trains::Yes).map_err(|diagnostic| vec![diagnostic])
}

/// What the arguments of a program are that computes forward alone, and in which nothing is called: what floats it has beside the
/// batch are frozen parameters.
pub(crate) fn forward_roles(module: &Module, said: &Said) -> Result<Roles, Diagnostic> {
    classify(module, said, Trains::No)
}
