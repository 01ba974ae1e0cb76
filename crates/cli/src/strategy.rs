//! The strategy that options select, by a configuration file or by name.

use anyhow::Result;
use shardc::strategy::{self, Accelerate, RoleOverrides, Settings};
use shardc::{Diagnostic, Error, Module};
use shardc_passes::annotations::spec::MeshSpec;

use crate::args::StrategyArgs;
use crate::failure::{Failure, usage};
use crate::source::Source;
use crate::ui::Ui;
use crate::words::COMMAND_LINE;

/// The settings of a strategy, and the mesh of the configuration file, if any.
#[derive(Default)]
pub(crate) struct Chosen {
    pub(crate) settings: Settings,
    mesh: Option<String>,
}

impl StrategyArgs {
    /// Returns the strategy, if options select one. Settings of the file that are ignored cause warnings; with `strict`, those that would
    /// change the result are errors.
    pub(crate) fn chosen(&self, strict: bool, ui: &Ui) -> Result<Option<Chosen>> {
        if let Some(path) = &self.config {
            let source = Source::read(path)?;
            let read = Accelerate::parse(&source.text()).map_err(|e| source.explain(&Error::from(e)))?;
            let ignored = read.ignored();
            if strict && !ignored.is_empty() {
                return Err(source.explain(&Error::from(ignored)));
            }
            ui.warn(&source, &read.warnings);
            return Ok(Some(Chosen { settings: read.settings, mesh: read.mesh() }));
        }
        let Some(words) = &self.fsdp else { return Ok(None) };
        let settings =
            Settings::from_words(words).map_err(|e| Failure::of(&Error::from(e), COMMAND_LINE, ""))?;
        Ok(Some(Chosen { settings, mesh: None }))
    }
}

impl Chosen {
    /// The given mesh, or the mesh of the configuration file.
    pub(crate) fn mesh(&self, given: Option<&str>, step: &Module) -> Result<String> {
        mesh_for(given.or(self.mesh.as_deref()), step)
    }

    /// Infers the roles of a step's arguments, and annotates the step. Returns warnings.
    pub(crate) fn annotate(
        &self,
        step: &mut Module,
        mesh: Option<&str>,
        source: &Source,
    ) -> Result<Vec<Diagnostic>> {
        let mesh = self.mesh(mesh, step)?;
        strategy::roles(step, &RoleOverrides::default())
            .and_then(|roles| strategy::apply(step, &roles, &self.settings, &mesh))
            .map_err(|e| source.explain(&e))
    }
}

/// The given mesh, or the mesh of the step.
pub(crate) fn mesh_for(given: Option<&str>, step: &Module) -> Result<String> {
    let own =
        || step.meshes.values().find(|mesh| !mesh.is_maximal()).map(|mesh| MeshSpec::from(mesh).to_string());
    given.map(str::to_owned).or_else(own).ok_or_else(|| usage("no mesh is given: use --mesh \"fsdp=8\""))
}
