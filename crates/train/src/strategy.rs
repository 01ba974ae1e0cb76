//! Strategies ([`shardc::strategy`]) for steps that were built with [`nn`](crate::nn), whose variables determine the argument roles.

use shardc::Error;
use shardc::strategy::{Role, RoleOverrides, Roles, Settings, roles};
use shardc_ir::Diagnostic;
use shardc_nn::{Kind, StepProgram};
use shardc_strategy as strategy;

/// Annotates a step that was built with [`nn`](crate::nn), on the mesh of the step. Its variables determine the argument roles; existing
/// annotations are kept. An inference program with the same variables gets the same shardings.
///
/// ```
/// use shardc::graph::{DType::F32, Graph, Mesh};
/// use shardc::Compiler;
/// use shardc::strategy::Settings;
/// use shardc_train::nn::{Scope, layers::Dense, optim};
/// use shardc_train::strategy::annotate;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let g = Graph::new("train", &Mesh::new(&[("fsdp", 8)])?);
/// let p = Scope::new(&g);
/// let x = g.parameter("x", [32, 64], F32);
/// let loss = Dense::new(16).apply(&p.at("dense"), x).square().mean(..);
/// optim::apply(&optim::Sgd::new(0.1), &p, &p.gradients(loss));
/// let mut step = p.finish(&[("loss", loss)])?;
/// annotate(&mut step, &Settings::from_words("full_shard").map_err(shardc::Error::from)?)?;
/// let output = Compiler::new().partition_module(step.module)?;
/// let local = |i: usize| output.manifest().inputs[i].local_shape.clone();
/// assert_eq!([local(0), local(1), local(2)], [vec![4, 64], vec![8, 16], vec![2]]);
/// # Ok(())
/// # }
/// ```
///
/// Returns warnings, as [`shardc::strategy::apply`] does.
///
/// # Errors
/// The strategy does not fit the mesh (SH1251).
pub fn annotate(step: &mut StepProgram, settings: &Settings) -> Result<Vec<Diagnostic>, Error> {
    let roles = roles_of(step)?;
    strategy::apply(&mut step.module, &roles, settings, step.mesh.as_ir()).map_err(Error::Diagnostics)
}

/// The roles of the arguments of an [`nn`](crate::nn) step, determined by its variables. Inputs are data, and their batch dimension is
/// inferred.
///
/// # Errors
/// Calls of the program cannot be inlined.
pub fn roles_of(step: &StepProgram) -> Result<Roles, Error> {
    let role = |kind: Kind| match kind {
        Kind::Parameter => Role::Parameter,
        Kind::Frozen => Role::FrozenParameter,
        Kind::Optimizer => Role::OptimizerState,
        Kind::Statistics => Role::ModelState,
        Kind::Counter => Role::Step,
        Kind::Key => Role::RngKey,
    };
    let overrides = step.variables.iter().zip(&step.arguments).map(|(v, &i)| (i, role(v.kind))).collect();
    let mut roles = roles(&step.module, &RoleOverrides { roles: overrides, loss: None })?;
    let place = |name: &str| step.variables.iter().position(|v| v.name == name);
    for ((variable, &i), &next) in step.variables.iter().zip(&step.arguments).zip(&step.results) {
        let of = variable.of.as_deref().and_then(place).map(|v| step.arguments[v]);
        let argument = &mut roles.arguments[i];
        (argument.next, argument.of) = (next, of.or(argument.of));
    }
    // An input that is fed at each step is not a weight, although the loss may depend on it as on a weight.
    for argument in step.inputs.iter().map(|input| input.index) {
        let argument = &mut roles.arguments[argument];
        if argument.role.is_weight() {
            argument.role = Role::Batch;
        }
    }
    Ok(roles)
}
