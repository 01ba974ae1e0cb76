//! Training steps without annotations: from the shared data, from the graph builder, and from JAX (`data/training_steps.py`).

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use shardc::Compiler;
use shardc_ir::Module;
use shardc_runtime::HostArray;
use shardc_strategy::{Role, RoleOverrides, Roles, roles};
use shardc_train::strategy::roles_of;

use crate::{root, shared, steps};

/// A training step.
#[derive(Debug)]
pub struct Program {
    /// The name of the program.
    pub name: String,
    step: Step,
    /// Whether the step is small enough to run.
    pub is_executable: bool,
}

/// The source of a step.
#[derive(Debug)]
enum Step {
    /// A step from a file, without a mesh.
    Read(Box<Module>, Roles),
    /// A step of the graph builder, built for a mesh.
    Own(steps::Step),
}

impl Program {
    /// The step for a mesh written as `name=size,..`, and its argument roles.
    ///
    /// # Panics
    ///
    /// Panics if `mesh` is not a valid mesh.
    #[must_use]
    pub fn on(&self, mesh: &str) -> (Module, Roles) {
        match &self.step {
            Step::Read(module, roles) => ((**module).clone(), roles.clone()),
            Step::Own(step) => {
                let step = step.on(mesh);
                let roles = roles_of(&step).unwrap();
                (step.module, roles)
            }
        }
    }

    /// Whether this is a step of the graph builder, which already has a mesh.
    #[must_use]
    pub fn has_mesh(&self) -> bool {
        matches!(self.step, Step::Own(_))
    }

    fn read(name: &str, text: &[u8], is_executable: bool) -> Program {
        let module = Compiler::read(text).unwrap();
        let roles = roles(&module, &RoleOverrides::default()).unwrap();
        Program { name: name.to_owned(), step: Step::Read(Box::new(module), roles), is_executable }
    }
}

/// The steps of the shared data and of the graph builder.
///
/// # Panics
///
/// The data set is missing.
pub static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| shared_and_own().unwrap());

/// Loads the steps of [`PROGRAMS`]; `None` if the shared data is missing.
///
/// # Panics
///
/// Panics if a step cannot be read.
#[must_use]
pub fn shared_and_own() -> Option<Vec<Program>> {
    let folder = shared()?.join("unsharded");
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    let read = |program: &Value| {
        let text = std::fs::read(folder.join(program["file"].as_str().unwrap())).unwrap();
        Program::read(program["name"].as_str().unwrap(), &text, program["executable"] == true)
    };
    let own = steps::STEPS.iter().map(|&step| Program {
        name: format!("own {}", step.name),
        step: Step::Own(step),
        is_executable: step.is_executable,
    });
    Some(manifest["programs"].as_array().unwrap().iter().map(read).chain(own).collect())
}

/// A step printed by JAX, and the expected roles of its arguments.
#[derive(Debug, Deserialize)]
pub struct JaxStep {
    text: String,
    /// The role of each argument.
    pub roles: Vec<String>,
    /// The batch dimension of each batch argument.
    pub batch_dims: Vec<Option<usize>>,
    with_norms: String,
}

impl JaxStep {
    /// The step.
    ///
    /// # Panics
    ///
    /// Panics if the step cannot be read.
    #[must_use]
    pub fn module(&self) -> Module {
        Compiler::read(self.text.as_bytes()).unwrap()
    }

    /// The step with additional results: norms of its state and of its update.
    ///
    /// # Panics
    ///
    /// Panics if the step cannot be read.
    #[must_use]
    pub fn with_norms(&self) -> Module {
        Compiler::read(self.with_norms.as_bytes()).unwrap()
    }

    /// The step as a program.
    #[must_use]
    pub fn program(&self, name: &str) -> Program {
        Program::read(name, self.text.as_bytes(), true)
    }
}

/// Returns the steps of `data/training_steps.py` by name, if `SHARDC_PYTHON` names a Python interpreter that prints them.
///
/// # Errors
/// Python does not run, or has no JAX.
pub fn jax_steps() -> Result<Option<BTreeMap<String, JaxStep>>, String> {
    let Some(python) = std::env::var_os("SHARDC_PYTHON") else { return Ok(None) };
    let script = root().join("tests/data/training_steps.py");
    let output = Command::new(python).arg(script).env("JAX_PLATFORMS", "cpu").output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map(Some).map_err(|error| error.to_string())
}

/// Shifts random parameters to values of both signs, so that no layer saturates.
///
/// # Errors
/// A type has no numeric elements.
pub fn with_both_signs(roles: &Roles, mut inputs: Vec<HostArray>) -> Result<Vec<HostArray>, shardc::Error> {
    for (array, argument) in inputs.iter_mut().zip(&roles.arguments) {
        if argument.role == Role::Parameter && array.dtype.is_float() {
            let weights: Vec<f64> = array.to_f64_vec().iter().map(|x| (x - 0.5) / 2.0).collect();
            *array = HostArray::from_f64(array.dtype, &array.shape, &weights)?;
        }
    }
    Ok(inputs)
}
