//! The search for shardings, by the options of `shardc auto` or by `--auto` of other commands.

use std::sync::Arc;
use std::thread;

use anyhow::Result;
use shardc::auto::{Auto, AutoOptions};
use shardc::ir::Mesh;
use shardc::target::Target;
use shardc::{Annotation, Compiler, Error, Module};
use shardc_passes::annotations::spec::{MeshSpec, SpecError};

use crate::args::{AnnotationArgs, HowArgs, SymbolicArgs};
use crate::failure::{Failure, usage};
use crate::source::Source;
use crate::target::Chosen;
use crate::words::COMMAND_LINE;

/// The options of a search that keeps the mesh and the specs of the command line, on all processors.
pub(crate) fn options(name: &str, annotations: &AnnotationArgs, target: Arc<Target>) -> Result<AutoOptions> {
    let refused = |origin, text: &str, error: &SpecError| -> anyhow::Error {
        Failure::of(&Error::from(error.to_diagnostic(origin, text)), COMMAND_LINE, "").into()
    };
    let mesh = |text: &String| -> Result<Mesh> {
        text.parse::<MeshSpec>().map(|spec| spec.to_mesh()).map_err(|e| refused("mesh", text, &e))
    };
    let spec = |text: &String| text.parse::<Annotation>().map_err(|e| refused("spec", text, &e));
    Ok(AutoOptions {
        mesh: annotations.mesh.as_ref().map(mesh).transpose()?,
        annotations: annotations.spec.iter().map(spec).collect::<Result<_>>()?,
        threads: thread::available_parallelism().map_or(1, usize::from),
        ..AutoOptions::new(name, target)
    })
}

/// The annotations without the mesh and the specs, which a search gets by its own options because candidates differ in them, and without sizes
/// of symbolic dimensions, which are set before the search.
pub(crate) fn without_shardings(annotations: &AnnotationArgs) -> AnnotationArgs {
    let symbolic = SymbolicArgs::default();
    AnnotationArgs { mesh: None, spec: Vec::new(), symbolic, ..annotations.clone() }
}

/// Annotates a program with static shapes by a search, for the option `--auto`.
pub(crate) fn annotate(
    compiler: &Compiler,
    module: Module,
    source: &Source,
    annotations: &AnnotationArgs,
    how: &HowArgs,
) -> Result<Module> {
    let Some(Chosen::Target(target)) = &how.machine else {
        return Err(usage("--auto needs the grid of the devices, as in --target v5e:4x4"));
    };
    let options = AutoOptions {
        memory: how.memory.filter(|&bytes| bytes > 0),
        ..options(&source.name, annotations, Arc::clone(target))?
    };
    let Auto { module, .. } = compiler.auto(module, &options).map_err(|e| source.explain(&e))?;
    Ok(module)
}
