//! Strategies: FSDP, ZeRO and data parallelism for a whole training step without annotations.
//!
//! [`roles`] infers the roles of a step's arguments, and [`apply`] annotates the step according to the strategy. The crate
//! `shardc-train` annotates steps that are built with its layers, whose variables determine the roles.
//!
//! ```
//! use shardc::Compiler;
//! use shardc::strategy::{RoleOverrides, Settings, apply, roles};
//!
//! # fn main() -> Result<(), shardc::Error> {
//! // A step of gradient descent that minimizes |x w|^2 / 2, and returns the next w and |x w|^2.
//! let mut step = Compiler::parse(
//!     br#"func.func @main(%w: tensor<64x16xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x64xf32>)
//!         -> (tensor<64x16xf32>, tensor<f32>) {
//!       %zero = stablehlo.constant dense<0.0> : tensor<f32>
//!       %rate = stablehlo.constant dense<0.1> : tensor<64x16xf32>
//!       %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
//!           : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
//!       %square = stablehlo.multiply %y, %y : tensor<8x16xf32>
//!       %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1]
//!           : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
//!       %gradient = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
//!           : (tensor<8x64xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
//!       %change = stablehlo.multiply %rate, %gradient : tensor<64x16xf32>
//!       %next = stablehlo.subtract %w, %change : tensor<64x16xf32>
//!       return %next, %loss : tensor<64x16xf32>, tensor<f32>
//!     }"#,
//! )?;
//! let found = roles(&step, &RoleOverrides::default())?;
//! assert_eq!(found.arguments[0].role.as_str(), "parameter");
//! assert_eq!((found.arguments[1].role.as_str(), found.arguments[1].batch_dim), ("batch", Some(0)));
//!
//! apply(&mut step, &found, &Settings::from_words("full_shard")?, "fsdp=4")?;
//! let output = Compiler::new().partition_module(step)?;
//! assert_eq!(output.manifest().inputs[0].local_shape, [16, 16]);
//! let text = output.text();
//! assert!(text.contains("all_gather") && text.contains("reduce_scatter"), "{text}");
//! # Ok(())
//! # }
//! ```

use shardc_ir::{Diagnostic, Module};
use shardc_passes::annotations::names::{Named, Names};
use shardc_passes::annotations::spec::MeshSpec;
use shardc_strategy as strategy;
pub use shardc_strategy::{
    Accelerate, Argument, ModelSettings, Part, PerParameter, Prefetch, Question, Role, RoleOverrides, Roles,
    SentBytes, Settings, Sharding, StoredBytes, Units, Wrap,
};
pub use shardc_strategy::{ApplyStep, UnknownRole, config_text, next_question, sent_bytes, stored_bytes};

use crate::Error;

/// Parses what a user specifies about a step: argument roles, as `arg12=batch` or `params=frozen_parameter` (a name selects all arguments
/// whose names begin with it), and the loss result, as `res3` or by name.
///
/// # Errors
/// A name matches nothing in the program (SH0333), or a role is unknown (SH1202); all are reported at once.
pub fn role_overrides(step: &Module, texts: &[&str], loss: Option<&str>) -> Result<RoleOverrides, Error> {
    let Some(func) = step.entry() else { return Ok(RoleOverrides::default()) };
    let names = Names::of(step, &step.funcs[func]);
    let (mut overrides, mut errors) = (RoleOverrides::default(), Vec::new());
    for text in texts {
        let Some((name, role)) = text.rsplit_once('=') else {
            let message = format!("'{text}' is not of the form ARG=ROLE, such as arg12=batch");
            errors.push(Diagnostic::invalid("SH1202", message));
            continue;
        };
        match (names.find_arguments(name), role.parse::<Role>()) {
            (Ok(found), Ok(role)) => overrides.roles.extend(found.into_iter().map(|i| (i, role))),
            (found, role) => {
                errors.extend(found.err());
                errors.extend(role.err().map(|e| Diagnostic::invalid("SH1202", e.to_string())));
            }
        }
    }
    if let Some(loss) = loss {
        match names.find(loss) {
            Ok(Named::Result(i)) => overrides.loss = Some(i),
            Ok(Named::Argument(i)) => {
                let message = format!("the loss must be a result, but {loss} is argument {i}");
                errors.push(Diagnostic::invalid("SH1202", message).hint("results are res0, res1, ..."));
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(overrides) } else { Err(Error::Diagnostics(errors)) }
}

/// Infers the roles of the arguments of a training step.
///
/// # Errors
/// There is no entry function, its calls cannot be inlined, or no result is a loss (SH1250).
pub fn roles(step: &Module, overrides: &RoleOverrides) -> Result<Roles, Error> {
    strategy::roles(step, overrides).map_err(Error::Diagnostics)
}

/// Groups the parameters of a step into units by a wrap policy; `None` if the policy finds no unit.
///
/// # Errors
/// Calls of the program cannot be inlined.
pub fn units(step: &Module, roles: &Roles, wrap: Wrap) -> Result<Option<Units>, Error> {
    let mut inlined = step.clone();
    shardc_passes::transforms::inline::inline_calls(&mut inlined).map_err(Error::Diagnostics)?;
    Ok(Units::find(&inlined, roles, wrap))
}

/// Annotates a training step for a mesh such as `fsdp=8`. Calls in the step are inlined. Axes named `model`, `tensor`, `tp` or `mp` shard
/// weights within layers. Axes named `context`, `cp`, `sequence`, `seq` or `sp` shard sequences. Axes named `expert`, `experts` or `ep`
/// shard experts and the batch. All other axes shard the batch. For hybrid strategies, the first axis that shards the batch is the node
/// axis, and each node holds a replica of the model.
///
/// Returns warnings about settings that have no effect on this step (SH1252).
///
/// # Errors
/// The mesh cannot be parsed (SH0306), the program already has one (SH0331), or the strategy does not fit it (SH1251).
pub fn apply(
    step: &mut Module,
    roles: &Roles,
    settings: &Settings,
    mesh: &str,
) -> Result<Vec<Diagnostic>, Error> {
    apply_observed(step, roles, settings, mesh, &mut |_, _| {})
}

/// Annotates a training step as [`apply`] does, and calls `after` with the module after each step of [`ApplyStep::ALL`].
///
/// # Errors
/// The errors of [`apply`].
pub fn apply_observed(
    step: &mut Module,
    roles: &Roles,
    settings: &Settings,
    mesh: &str,
    after: &mut dyn FnMut(&ApplyStep, &Module),
) -> Result<Vec<Diagnostic>, Error> {
    let mesh = mesh.parse::<MeshSpec>().map_err(|error| error.to_diagnostic("mesh", mesh))?;
    strategy::apply_observed(step, roles, settings, &mesh.to_mesh(), after).map_err(Error::Diagnostics)
}

/// Annotates a training step as [`apply`] does, with the caller's own units, for example those of [`Units::by`].
///
/// # Errors
/// The errors of [`apply`].
pub fn apply_units(
    step: &mut Module,
    roles: &Roles,
    settings: &Settings,
    mesh: &str,
    units: &Units,
) -> Result<Vec<Diagnostic>, Error> {
    let mesh = mesh.parse::<MeshSpec>().map_err(|error| error.to_diagnostic("mesh", mesh))?;
    strategy::apply_units(step, roles, settings, &mesh.to_mesh(), Some(units)).map_err(Error::Diagnostics)
}
