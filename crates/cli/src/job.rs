//! The steps that most commands begin with: they configure a compiler by the options, and partition the program.

use anyhow::Result;
use shardc::rules::{Callee, RuleFile, RuleParseError};
use shardc::runtime::PluginKind;
use shardc::{CleanOptions, Compiler, Diagnostic, DimSize, DimSizeError, Error, Module, Output, Stage};
use shardc_passes::annotations::spec::Annotation;

use crate::args::{
    AnnotationArgs, DeviceOrder, Groups, HowArgs, InputArgs, Mode, RuleArgs, StopArgs, SymbolicArgs,
    TargetArgs,
};
use crate::failure::{Failure, usage};
use crate::observe::{Timings, Watch};
use crate::output::{Named, Outputs};
use crate::reproducer;
use crate::search;
use crate::source::Source;
use crate::target::{self, Chosen};
use crate::ui::Ui;
use crate::ui::progress::Progress;
use crate::words::COMMAND_LINE;

/// Creates a compiler with the given options.
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
    for DimSize { target, size } in sizes(&annotations.symbolic)? {
        compiler = compiler.dim(&target, size);
    }
    if let Some(name) = &annotations.entry {
        compiler = compiler.entry(name);
    }
    if let Some(how) = how {
        compiler = with_rules(compiler, &how.rules)?;
        compiler = compiler
            .spmd_mode(how.spmd_mode.map(Into::into).unwrap_or_default())
            .strict(how.strict)
            .clean(how.clean_options());
        compiler = target::configure(compiler, how.machine.as_ref());
        if how.device_order == DeviceOrder::Auto {
            if !matches!(how.machine, Some(Chosen::Target(_))) {
                return Err(usage(
                    "--device-order auto needs the grid of the devices, as in --target v5e:4x4",
                ));
            }
            compiler = compiler.best_device_order(true);
        }
        compiler = compiler.groups(how.groups.into());
        if let Some(operations) = how.inline.inline_budget {
            compiler = compiler.inline_budget(operations);
        }
        if let Some(bytes) = how.warn_bytes {
            compiler = compiler.warn_bytes(bytes);
        }
    }
    Ok(compiler)
}

/// Adds the sharding rules of a file and of other options to a compiler.
pub(crate) fn with_rules(mut compiler: Compiler, rules: &RuleArgs) -> Result<Compiler> {
    if let Some(path) = &rules.rules {
        let source = Source::read(path)?;
        let file = RuleFile::parse(&source.text()).map_err(|e| source.explain(&e))?;
        compiler = compiler.rules(&file);
    }
    let kept = rules.keep_composite.iter().map(|text| (Callee::Composite, text));
    let mut written = RuleFile::default();
    for (callee, text) in rules.rule.iter().map(|text| (Callee::CustomCall, text)).chain(kept) {
        match text.split_once('=') {
            Some((name, rule)) => {
                let notation = rule
                    .parse()
                    .map_err(|error: RuleParseError| usage(format!("{text}: {}", error.message)))?;
                written.rules.push((callee, name.to_owned(), vec![notation]));
            }
            None if callee == Callee::Composite => compiler = compiler.keep_composite(text),
            None => return Err(usage(format!("--rule {text}: expected NAME=RULE"))),
        }
    }
    Ok(compiler.rules(&written))
}

/// The sizes of symbolic dimensions given by the options.
pub(crate) fn sizes(symbolic: &SymbolicArgs) -> Result<Vec<DimSize>> {
    let read = |text: &String| {
        text.parse()
            .map_err(|e: DimSizeError| Failure::of(&e.to_diagnostic().into(), COMMAND_LINE, "").into())
    };
    symbolic.dim.iter().map(read).collect()
}

/// Selects the function `entry` as the entry of a program, if given, and sets the sizes of symbolic dimensions.
pub(crate) fn specialize(
    module: &mut Module,
    entry: Option<&str>,
    symbolic: &SymbolicArgs,
    source: &Source,
) -> Result<()> {
    if let Some(name) = entry {
        shardc::select_entry(module, name).map_err(|error| source.explain(&error.into()))?;
    }
    shardc::specialize(module, &sizes(symbolic)?).map_err(|errors| source.explain(&errors.into()))
}

/// Reads the program before partitioning, with the entry and the dimension sizes of the options.
pub(crate) fn original(source: &Source, annotations: &AnnotationArgs) -> Result<Module> {
    let mut module = Compiler::read(&source.bytes).map_err(|e| source.explain(&e))?;
    specialize(&mut module, annotations.entry.as_deref(), &annotations.symbolic, source)?;
    Ok(module)
}

impl From<Groups> for shardc::GroupForm {
    fn from(groups: Groups) -> Self {
        match groups {
            Groups::Lists => shardc::GroupForm::Lists,
            Groups::MeshAxes => shardc::GroupForm::MeshAxes,
        }
    }
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
    /// The input file, which no output file may overwrite.
    pub(crate) fn named(&self) -> Named<'_> {
        ("the input", &self.input)
    }
}

impl TargetArgs {
    /// The machine of `--target`, if it is given.
    pub(crate) fn chosen(&self) -> Result<Option<Chosen>> {
        self.target.as_deref().map(Chosen::parse).transpose()
    }
}

impl HowArgs {
    fn clean_options(&self) -> CleanOptions {
        CleanOptions {
            combine_bytes: self.combine_bytes.unwrap_or(CleanOptions::default().combine_bytes),
            keep_bytes: self.keep_bytes,
            memory_bytes: self.memory,
            machine: self.machine.as_ref().map(Chosen::machine).unwrap_or_default(),
        }
    }

    /// Returns the options for a machine; `None` for the default.
    pub(crate) fn for_machine(&self, machine: Option<Chosen>) -> HowArgs {
        HowArgs { machine, ..self.clone() }
    }

    /// Returns the options for a program that a plugin of this kind compiles.
    pub(crate) fn for_plugin(&self, plugin: PluginKind, machine: Option<Chosen>) -> HowArgs {
        HowArgs { plugin: Some(plugin), ..self.for_machine(machine) }
    }

    /// The output files: the file of --timings, and `others`.
    pub(crate) fn outputs<'a>(&'a self, others: &[Option<Named<'a>>]) -> Vec<Named<'a>> {
        let timings = self.observe.timings.as_deref().map(|path| ("--timings", path));
        others.iter().copied().chain([timings]).flatten().collect()
    }
}

/// The result of partitioning a program: its source, the output, and the times.
pub(crate) struct Job {
    pub(crate) source: Source,
    pub(crate) output: Output,
    pub(crate) progress: Progress,
    timings: Timings,
}

impl Job {
    /// Ends the last stage, and writes the times to the file of `--timings`.
    pub(crate) fn finish(&mut self, outputs: &mut Outputs, how: &HowArgs, ui: &Ui) -> Result<()> {
        let stages = self.progress.finish();
        match &how.observe.timings {
            Some(path) => outputs.put(path, self.timings.document(&stages, ui)),
            None => Ok(()),
        }
    }
}

/// The result of a pipeline that `--stop-after` may end.
pub(crate) enum Ran {
    /// The entire pipeline ran.
    Whole(Box<Job>),
    /// `--stop-after` ended the pipeline. Contains the module, and the document for `--timings`.
    Stopped(Box<Module>, String),
}

/// Reads and partitions the input, and prints warnings.
pub(crate) fn partition(input: &InputArgs, how: &HowArgs, ui: &Ui) -> Result<Job> {
    match partition_until(input, how, None, ui)? {
        Ran::Whole(job) => Ok(*job),
        Ran::Stopped(..) => Err(anyhow::anyhow!("the pass pipeline ended before its last pass")),
    }
}

/// Whether the target's compiler accepts an operation of the program only in partition mode. XLA's TPU compiler rejects `ragged_all_to_all`
/// in replica mode, and its expansion to a dense all-to-all would send more bytes.
fn needs_partitions(module: &Module, plugin: Option<PluginKind>) -> bool {
    plugin == Some(PluginKind::Tpu) && module.ops.values().any(|op| op.kind.is_ragged_all_to_all())
}

/// A program that is annotated, and the compiler for it.
pub(crate) struct Prepared {
    pub(crate) compiler: Compiler,
    pub(crate) module: Module,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Configures a compiler by the options, and annotates a program if the options select a strategy.
pub(crate) fn prepare(
    mut module: Module,
    source: &Source,
    annotations: &AnnotationArgs,
    how: &HowArgs,
    ui: &Ui,
) -> Result<Prepared> {
    if how.auto {
        let rest = search::without_shardings(annotations);
        let compiler = compiler(&rest, Some(how))?;
        specialize(&mut module, annotations.entry.as_deref(), &annotations.symbolic, source)?;
        let module = search::annotate(&compiler, module, source, annotations, how)?;
        return Ok(Prepared { compiler, module, warnings: Vec::new() });
    }
    let mut chosen = how.strategy.chosen(how.strict, ui)?;
    if let (Some(chosen), Some(machine)) = (&mut chosen, &how.machine) {
        chosen.settings = chosen.settings.for_device(machine.spec());
    }
    // A strategy later adds its own mesh to the program, and requires static shapes. Therefore `--mesh` and `--dim` are not passed to the
    // compiler.
    let mesh = annotations.mesh.as_deref();
    let rest = AnnotationArgs { mesh: None, symbolic: SymbolicArgs::default(), ..annotations.clone() };
    let mut compiler = compiler(if chosen.is_some() { &rest } else { annotations }, Some(how))?;
    if let (Some(bytes), None) = (chosen.as_ref().and_then(|c| c.settings.bucket_bytes), how.combine_bytes) {
        compiler = compiler.clean(CleanOptions { combine_bytes: bytes, ..how.clean_options() });
    }
    if how.spmd_mode.is_none() && needs_partitions(&module, how.plugin) {
        compiler = compiler.spmd_mode(shardc::SpmdMode::Partition);
    }
    let warnings = match &chosen {
        Some(chosen) => {
            specialize(&mut module, annotations.entry.as_deref(), &annotations.symbolic, source)?;
            chosen.annotate(&mut module, mesh, source)?
        }
        None => Vec::new(),
    };
    Ok(Prepared { compiler, module, warnings })
}

/// Like [`partition`], but the pipeline ends early if `stop` requests it.
pub(crate) fn partition_until(
    input: &InputArgs,
    how: &HowArgs,
    stop: Option<&StopArgs>,
    ui: &Ui,
) -> Result<Ran> {
    let mut progress = ui.progress();
    let mut watch = Watch::new(&how.observe, stop, &mut progress)?;
    // Mistakes in options are reported before mistakes in the program.
    compiler(&input.annotations, Some(how))?;
    let source = Source::read(&input.input)?;
    watch.stage(Stage::Read);
    let module = Compiler::parse(&source.bytes).map_err(|e| source.explain(&e))?;
    let Prepared { compiler, module, warnings } = prepare(module, &source, &input.annotations, how, ui)?;
    let output = compiler.partition_observed(module, &mut watch).map_err(|e| {
        let reproducer = reproducer::write(e, &source, &watch);
        source.explain(&reproducer)
    })?;
    let (timings, stopped) = (watch.timings(), watch.stopped);
    progress.pause();
    ui.warn(&source, &warnings);
    match (output, stopped) {
        (Some(output), _) => {
            ui.warn_selected(&source, &output.warnings_to_print());
            Ok(Ran::Whole(Box::new(Job { source, output, progress, timings })))
        }
        (None, stopped) => {
            let times = timings.document(&progress.finish(), ui);
            Ok(Ran::Stopped(Box::new(stopped.unwrap_or_default()), times))
        }
    }
}
