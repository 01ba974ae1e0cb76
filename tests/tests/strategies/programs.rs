//! The training steps: those of the shared data, which have no annotations, and some of our own graphs.

use std::sync::LazyLock;

use serde_json::Value;
use shardc::Compiler;
use shardc::strategy::roles_of;
use shardc_ir::Module;
use shardc_strategy::{Roles, Said, roles};
use shardc_tests::{shared, steps};

/// A training step.
pub(crate) struct Program {
    pub(crate) name: String,
    step: Step,
    pub(crate) is_executable: bool,
}

/// Where a step comes from.
enum Step {
    /// A file, which has no mesh.
    Read(Box<Module>, Roles),
    /// A graph of our own, which is written for a mesh.
    Own(steps::Step),
}

impl Program {
    pub(crate) fn on(&self, mesh: &str) -> (Module, Roles) {
        match &self.step {
            Step::Read(module, roles) => ((**module).clone(), roles.clone()),
            Step::Own(step) => {
                let step = step.on(mesh);
                let roles = roles_of(&step).unwrap();
                (step.module, roles)
            }
        }
    }
}

pub(crate) static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
    let folder = shared().unwrap().join("unsharded");
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    let read = |program: &Value| {
        let text = std::fs::read(folder.join(program["file"].as_str().unwrap())).unwrap();
        let module = Compiler::read(&text).unwrap();
        let roles = roles(&module, &Said::default()).unwrap();
        let name = program["name"].as_str().unwrap().to_owned();
        Program {
            name,
            step: Step::Read(Box::new(module), roles),
            is_executable: program["executable"] == true,
        }
    };
    let own = steps::STEPS.iter().map(|&step| Program {
        name: format!("own {}", step.name),
        step: Step::Own(step),
        is_executable: step.is_executable,
    });
    manifest["programs"].as_array().unwrap().iter().map(read).chain(own).collect()
});
