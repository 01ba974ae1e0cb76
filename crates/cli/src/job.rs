//! What most commands begin with: the compiler that the options describe, and a partitioned program.

use anyhow::Result;
use shardc::{CleanOptions, Compiler, Error, Module, Output, Stage};
use shardc_passes::annotations::spec::Annotation;

use crate::args::{AnnotationArgs, HowArgs, InputArgs, Mode};
use crate::failure::Failure;
use crate::output::Named;
use crate::source::Source;
use crate::ui::Ui;
use crate::ui::progress::Progress;
use crate::words::COMMAND_LINE;

/// The compiler that the options describe.
pub(crate) fn compiler(annotations: &AnnotationArgs, how: Option<&HowArgs>) -> Result<Compiler> {
    let refused = |e: Error| Failure::of(&e, COMMAND_LINE, "");
    let mut compiler = Compiler::new();
    if let Some(mesh) = &annotations.mesh {
        compiler = compiler.mesh(mesh).map_err(refused)?;
    }
    for text in &annotations.spec {
        let annotation =
            text.parse::<Annotation>().map_err(|e| refused(e.to_diagnostic("spec", text).into()))?;
        compiler = compiler.annotation(annotation);
    }
    if let Some(how) = how {
        let clean = CleanOptions {
            combine_bytes: how.combine_bytes,
            keep_bytes: how.keep_bytes,
            memory_bytes: how.memory,
        };
        compiler = compiler.spmd_mode(how.spmd_mode.into()).strict(how.strict).clean(clean);
        if let Some(bytes) = how.warn_bytes {
            compiler = compiler.warn_bytes(bytes);
        }
    }
    Ok(compiler)
}

impl From<Mode> for shardc::SpmdMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Replica => shardc::SpmdMode::Replica,
            Mode::Partition => shardc::SpmdMode::Partition,
        }
    }
}

impl InputArgs {
    /// The program as an output must not be it.
    pub(crate) fn named(&self) -> Named<'_> {
        ("the input", &self.input)
    }
}

impl HowArgs {
    /// The file that --timings names, with `others`.
    pub(crate) fn outputs<'a>(&'a self, others: &[Option<Named<'a>>]) -> Vec<Named<'a>> {
        let timings = self.timings.as_deref().map(|path| ("--timings", path));
        others.iter().copied().chain([timings]).flatten().collect()
    }
}

/// What partitioning a file gives: the text, the program as it was read, the result, and the clock.
pub(crate) struct Job {
    pub(crate) source: Source,
    pub(crate) original: Module,
    pub(crate) output: Output,
    pub(crate) progress: Progress,
}

/// Reads and partitions the input; warnings are shown.
pub(crate) fn partition(input: &InputArgs, how: &HowArgs, ui: &Ui) -> Result<Job> {
    let compiler = compiler(&input.annotations, Some(how))?;
    let source = Source::read(&input.input)?;
    let mut progress = ui.progress();
    progress.stage(Stage::Read.as_str());
    let original = Compiler::read(&source.bytes).map_err(|e| source.explain(&e))?;
    let output = compiler
        .watch_module(original.clone(), &mut |stage| progress.stage(stage.as_str()))
        .map_err(|e| source.explain(&e))?;
    progress.pause();
    ui.warn_selected(&source, &output.worth_telling());
    Ok(Job { source, original, output, progress })
}
