//! The compiler as a front end calls it.

use shardc_ir::{Diagnostic, FuncId, MeshId, Module, OpKind, SpmdMode};
use shardc_passes::annotations::remesh::replace_mesh;
use shardc_passes::annotations::spec::{self as annotate, Annotation, MeshSpec, SpecError};
use shardc_passes::collectives::clean::{CleanOptions, CleanReport};
use shardc_passes::cost::memory::lacking;
use shardc_passes::driver::partition::{Interface, PartitionOptions, partition};
use shardc_passes::driver::strategy::{Strategy, bytes_sent, cost, prioritize, strategies};
use shardc_passes::gspmd::{export_gspmd, import_gspmd, is_annotated};
use shardc_passes::lint::{LintOptions, LintReport, lint, not_meant};
use shardc_passes::propagate::{DebugOptions, PropagateOptions, Provenance, propagate};
use shardc_passes::report::warnings::{Selection, select, worth_telling};
use shardc_passes::rules::RuleSet;
use shardc_passes::rules::registry::{CallRule, CustomCall, RuleError, RuleRegistry};
use shardc_passes::transforms::decompose::expand;
use shardc_passes::transforms::inline::{CallSites, inline_calls, inline_calls_tracing};
use shardc_stablehlo::{PrintForm, PrintOptions};

use crate::backend::{self, BackendOptions};
use crate::{Error, Manifest};

/// A step of compilation, as told to whoever [watches](Compiler::watch).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Reading the text.
    Read,
    /// Annotating arguments from options, and inlining calls.
    Import,
    /// Carrying shardings through the program.
    Propagate,
    /// Choosing how each operation is done, and localizing it.
    Partition,
    /// Writing the result.
    Print,
}

impl Stage {
    /// A short name: `read`, `import`, ...
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Import => "import",
            Stage::Propagate => "propagate",
            Stage::Partition => "partition",
            Stage::Print => "print",
        }
    }
}

/// Options, and the calls that do the work. One compiler may be used for many programs.
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    options: PartitionOptions,
    mesh: Option<MeshSpec>,
    specs: Vec<Annotation>,
    debug: DebugOptions,
    rule_set: RuleSet,
    rules: RuleRegistry,
    strict: bool,
    warn_bytes: Option<u64>,
}

/// A program whose every value has a sharding.
#[derive(Clone, Debug)]
pub struct Propagated {
    /// The program, on global shapes, calls inlined.
    pub module: Module,
    /// What is right but not what one would expect.
    pub warnings: Vec<Diagnostic>,
    pub(crate) entry: FuncId,
}

/// A partitioned program.
#[derive(Clone, Debug)]
pub struct Output {
    /// The program that each device runs.
    pub module: Module,
    /// How to feed it; [`Output::manifest`] is what other programs read.
    pub interface: Interface,
    /// All that is right but not what one would expect; [`Output::worth_telling`] leaves of it what people want to read.
    pub warnings: Vec<Diagnostic>,
    /// The bytes from which on a warning about cost is worth telling, as [`Compiler::warn_bytes`] says.
    pub warn_bytes: u64,
    /// Which annotations were let speak first.
    pub strategy: Strategy,
    /// What clean-up did to the collectives.
    pub cleaned: CleanReport,
}

impl Compiler {
    /// A compiler with the default options.
    #[must_use]
    pub fn new() -> Self {
        Compiler::default()
    }

    /// How devices see one another; replicas by default.
    #[must_use]
    pub fn spmd_mode(mut self, mode: SpmdMode) -> Self {
        self.options.mode = mode;
        self
    }

    /// Whether a gather that no annotation asks for is an error; a warning by default. Those that are not worth telling
    /// ([`Compiler::warn_bytes`]) are none.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// The bytes that equal warnings about cost have together for [`Output::worth_telling`] to tell them, and for
    /// [`Compiler::strict`] to refuse them; with 0 all are. By default 64 KiB, or one hundredth of what each device sends
    /// in one run of the program, if that is less ([`worth_telling`]).
    ///
    /// ```
    /// use shardc::Compiler;
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// // No operation sorts a dimension in parts: it is gathered, which each device sends some 200 bytes for.
    /// let source = br#"
    ///   sdy.mesh @mesh = <["data"=4]>
    ///   func.func @main(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<64xf32> {
    ///     %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
    ///     ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    ///       %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    ///       stablehlo.return %c : tensor<i1>
    ///     }) : (tensor<64xf32>) -> tensor<64xf32>
    ///     return %0 : tensor<64xf32>
    ///   }
    /// "#;
    /// let output = Compiler::new().warn_bytes(1024).strict(true).partition(source)?;
    /// assert!(output.warnings.iter().any(|w| w.code == "SH0310" && w.bytes == Some(256)));
    /// let selection = output.worth_telling();
    /// assert_eq!((selection.left_out, selection.left_out_bytes), (1, 256));
    /// assert!(Compiler::new().strict(true).partition(source).is_err(), "it is all that this program sends");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn warn_bytes(mut self, bytes: u64) -> Self {
        self.warn_bytes = Some(bytes);
        self
    }

    /// How far collectives are merged, combined and taken out of loops.
    ///
    /// ```
    /// use shardc::{CleanOptions, Compiler};
    ///
    /// // Nothing is combined; loops keep up to a gibibyte more for collectives that leave them.
    /// let compiler = Compiler::new().clean(CleanOptions { combine_bytes: 0, ..CleanOptions::default() });
    /// # let _ = compiler;
    /// ```
    #[must_use]
    pub fn clean(mut self, clean: CleanOptions) -> Self {
        self.options.clean = clean;
        self
    }

    /// The mesh, `"data=4,model=2"`: for a program that has none, or in place of the one that it has
    /// ([`replace_mesh`]). Annotations of GSPMD are read onto it; where they do not fit it, its axes take the place of
    /// those that their tiles have, in order.
    ///
    /// # Errors
    /// The text is not a mesh.
    pub fn mesh(mut self, text: &str) -> Result<Self, Error> {
        self.mesh = Some(text.parse().map_err(|e: SpecError| e.to_diagnostic("mesh", text))?);
        Ok(self)
    }

    /// Shards an argument or result of a program: `("arg0", "data,-,model")`. Which one is said by position (`arg0`,
    /// `res0`) or by the front end's name ([`names`](shardc_passes::annotations::names)), in which `*` stands for any text:
    /// `("params*", "-,model")`.
    ///
    /// # Errors
    /// The text is not a selector or a spec.
    pub fn spec(self, target: &str, spec: &str) -> Result<Self, Error> {
        let read = Annotation::new(target, spec);
        Ok(self.annotation(read.map_err(|e| e.to_diagnostic("spec", &format!("{target}={spec}")))?))
    }

    /// [`Compiler::spec`] that was read before.
    #[must_use]
    pub fn annotation(mut self, annotation: Annotation) -> Self {
        self.specs.push(annotation);
        self
    }

    /// Which of Shardy's debugging attributes [`Compiler::propagate`] writes; none by default.
    #[must_use]
    pub fn debug(mut self, debug: DebugOptions) -> Self {
        self.debug = debug;
        self
    }

    /// Which rules [`Compiler::propagate`] follows; all by default.
    #[must_use]
    pub fn rule_set(mut self, set: RuleSet) -> Self {
        self.rule_set = set;
        self
    }

    /// Says how the dimensions of a custom call hang together, for calls that bring no `sdy.sharding_rule` along. The
    /// function gets the call with its shapes; [`CallRule::Unknown`] from it leaves the call unknown: nothing propagates
    /// through it, and it sees whole values. A rule that does not fit the call is an error of compilation (SH0807), which
    /// names the target, the rule, and what does not fit.
    ///
    /// ```
    /// use shardc::{CallRule, Compiler};
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// let source = br#"
    ///   sdy.mesh @mesh = <["data"=4]>
    ///   func.func @main(%q: tensor<8x16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}]>},
    ///                   %k: tensor<8x32x64xf32>) -> tensor<8x16x64xf32> {
    ///     %0 = stablehlo.custom_call @my_attention(%q, %k)
    ///         : (tensor<8x16x64xf32>, tensor<8x32x64xf32>) -> tensor<8x16x64xf32>
    ///     return %0 : tensor<8x16x64xf32>
    ///   }
    /// "#;
    /// // Batches are independent; the other dimensions are the kernel's own affair.
    /// let compiler = Compiler::new().custom_call_rule("my_attention", |call| call.letters("bqd,bkd->bqe"));
    /// let output = compiler.partition(source)?;
    /// assert_eq!(output.manifest().inputs[1].spec, [vec!["data"], vec![], vec![]]);
    /// assert!(output.text().contains("(tensor<2x16x64xf32>, tensor<2x32x64xf32>) -> tensor<2x16x64xf32>"));
    ///
    /// // Only of calls of rank 3 something is known.
    /// let compiler = Compiler::new().custom_call_rule("my_attention", |call| match call.operand(0) {
    ///     Some([_, _, _]) => call.letters("bqd,bkd->bqe"),
    ///     _ => Ok(CallRule::Unknown),
    /// });
    /// assert!(compiler.partition(source).is_ok());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn custom_call_rule(
        mut self,
        target: &str,
        rule: impl Fn(&CustomCall<'_>) -> Result<CallRule, RuleError> + Send + Sync + 'static,
    ) -> Self {
        self.rules.register(target, rule);
        self
    }

    /// Reads StableHLO and verifies it: text, MLIR bytecode or a portable artifact. The first bytes tell.
    ///
    /// # Errors
    /// Every error that the reader found; where it found none, every error of the verifier.
    pub fn read(source: &[u8]) -> Result<Module, Error> {
        let module = if shardc_stablehlo::is_bytecode(source) {
            shardc_stablehlo::parse_bytecode(source)?
        } else {
            let text = std::str::from_utf8(source).map_err(|e| {
                shardc_stablehlo::not_a_program(source)
                    .unwrap_or_else(|| shardc_stablehlo::not_text(source, e))
            })?;
            shardc_stablehlo::parse(text)?
        };
        shardc_ir::verify(&module)?;
        Ok(module)
    }

    /// Writes a module as MLIR bytecode just as it is, with its source locations.
    ///
    /// # Errors
    /// A part of the module is kept as text that bytecode cannot hold; or this build has no MLIR (`SH0510`).
    pub fn write_bytecode(module: &Module) -> Result<Vec<u8>, Error> {
        backend::write_bytecode(module)
    }

    /// Annotates, inlines and propagates.
    ///
    /// # Errors
    /// An annotation that does not fit, a recursive call, an invalid program.
    pub fn propagate(&self, module: Module) -> Result<Propagated, Error> {
        let mut imported = match self.rule_set {
            RuleSet::Whole => self.import(module)?,
            // Shardy leaves operations as they are, and has no rules for those that would be rewritten.
            RuleSet::Shardy => self.import_as_it_is(module)?,
        };
        let options =
            PropagateOptions { debug: self.debug, rules: self.rule_set, ..PropagateOptions::default() };
        let report = propagate(&mut imported.module, &options)?;
        imported.warnings.extend(report.warnings.into_iter().chain(report.uneven_results));
        Ok(imported)
    }

    /// What is partitioned, with the calls that operations came through.
    pub(crate) fn import_tracing(&self, module: Module) -> Result<(Propagated, CallSites), Error> {
        let (mut module, warnings) = self.annotate(module)?;
        let sites = inline_calls_tracing(&mut module)?;
        Ok((expanded(inlined(module, warnings)?), sites))
    }

    /// Propagates through an imported program by a strategy; returns where every axis comes from.
    pub(crate) fn trace(imported: &mut Propagated, strategy: Strategy) -> Result<Box<Provenance>, Error> {
        prioritize(&mut imported.module, imported.entry, strategy);
        let options = PropagateOptions { provenance: true, ..PropagateOptions::default() };
        let report = propagate(&mut imported.module, &options)?;
        Ok(report.provenance.unwrap_or_default())
    }

    /// Looks for annotations that are right, but probably do not mean what they cost: large parameters left whole,
    /// axes that split nothing, constraints that force reshards or change nothing, ... ([`LINTS`](crate::lint::LINTS)).
    ///
    /// ```
    /// use shardc::{Compiler, lint::LintOptions};
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// let source = br#"
    ///   sdy.mesh @mesh = <["data"=4, "model"=2]>
    ///   func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<32x64xf32> {
    ///     %0 = stablehlo.tanh %x : tensor<32x64xf32>
    ///     return %0 : tensor<32x64xf32>
    ///   }
    /// "#;
    /// let options = LintOptions::default().with_levels(&["uneven-split"], &["unused-mesh-axis"])?;
    /// let report = Compiler::new().lint(Compiler::read(source)?, &options)?;
    /// assert_eq!(report.findings[0].lint.name, "unused-mesh-axis");
    /// assert!(report.findings[0].diagnostic.message.contains("axis \"model\" of mesh @mesh splits nothing"));
    /// assert!(report.has_errors(), "that rule is denied");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Compiler::propagate`].
    pub fn lint(&self, module: Module, options: &LintOptions) -> Result<LintReport, Error> {
        let Propagated { module, warnings, entry } = self.import(module)?;
        Ok(LintReport { warnings, ..lint(&module, entry, options)? })
    }

    /// Checks, annotates and inlines, and rewrites what is planned as something else.
    fn import(&self, module: Module) -> Result<Propagated, Error> {
        self.import_as_it_is(module).map(expanded)
    }

    /// Checks, annotates and inlines.
    fn import_as_it_is(&self, module: Module) -> Result<Propagated, Error> {
        let (mut module, warnings) = self.annotate(module)?;
        inline_calls(&mut module)?;
        inlined(module, warnings)
    }

    /// Checks and annotates; returns warnings.
    fn annotate(&self, mut module: Module) -> Result<(Module, Vec<Diagnostic>), Error> {
        // The passes rely on what the verifier promises.
        shardc_ir::verify(&module)?;
        if module.entry().is_none() {
            return Err(module.no_entry().into());
        }
        self.rules.resolve(&mut module)?;
        let mut warnings = Vec::new();
        if is_annotated(&module) {
            let mesh = self.mesh.as_ref().map(MeshSpec::to_mesh);
            warnings = import_gspmd(&mut module, mesh.as_ref())?;
            self.annotate_further(&mut module)?;
        } else if let Some(mesh) = &self.mesh {
            if own_mesh(&module).is_some() {
                replace_mesh(&mut module, &mesh.to_mesh())?;
                self.annotate_further(&mut module)?;
            } else {
                annotate::annotate(&mut module, mesh, &self.specs)?;
            }
        } else if !self.specs.is_empty() {
            if own_mesh(&module).is_none() {
                return Err(Diagnostic::invalid("SH0307", "specs were given without a mesh")
                    .hint("add `Compiler::mesh(\"data=4,model=2\")`")
                    .into());
            }
            self.annotate_further(&mut module)?;
        }
        Ok((module, warnings))
    }

    /// The specs, on the mesh of a module that is annotated already.
    fn annotate_further(&self, module: &mut Module) -> Result<(), Error> {
        if let Some(mesh) = own_mesh(module).filter(|_| !self.specs.is_empty()) {
            annotate::annotate_on(module, mesh, &self.specs)?;
        }
        // The text of an annotation can say what does not hold for its value, or not on another mesh.
        shardc_ir::verify(module)?;
        Ok(())
    }

    /// The whole way: reads, propagates, partitions.
    ///
    /// # Errors
    /// Whatever the steps find wrong with the program or the options.
    pub fn partition(&self, source: &[u8]) -> Result<Output, Error> {
        self.partition_module(Self::read(source)?)
    }

    /// Partitions a module that was read or built before.
    ///
    /// # Errors
    /// As [`Compiler::partition`].
    pub fn partition_module(&self, module: Module) -> Result<Output, Error> {
        self.watch_module(module, &mut |_| {})
    }

    /// [`Compiler::partition`], telling `watch` as each stage begins.
    ///
    /// # Errors
    /// As [`Compiler::partition`].
    pub fn watch(&self, source: &[u8], watch: &mut dyn FnMut(Stage)) -> Result<Output, Error> {
        watch(Stage::Read);
        let module = Self::read(source)?;
        self.watch_module(module, watch)
    }

    /// [`Compiler::partition_module`], telling `watch` as each stage begins.
    ///
    /// # Errors
    /// As [`Compiler::partition`].
    pub fn watch_module(&self, module: Module, watch: &mut dyn FnMut(Stage)) -> Result<Output, Error> {
        watch(Stage::Import);
        self.partition_imported(self.import(module)?, watch)
    }

    /// Partitions an imported program by each strategy, and returns the cheapest.
    pub(crate) fn partition_imported(
        &self,
        imported: Propagated,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<Output, Error> {
        let Propagated { module, mut warnings, entry } = imported;
        warnings.extend(not_meant(&module, entry));
        let mut rest = strategies(&module, entry);
        let first = rest.remove(0);
        let alternatives: Vec<(Strategy, Module)> = rest.into_iter().map(|s| (s, module.clone())).collect();
        let mut best = self.attempt(module, entry, first, watch)?;
        for (strategy, module) in alternatives {
            // What only another strategy cannot do is no error.
            if let Ok(other) = self.attempt(module, entry, strategy, watch)
                && self.price(&other, entry) < self.price(&best, entry)
            {
                best = other;
            }
        }
        best.warnings.splice(0..0, warnings);
        Ok(best)
    }

    /// What is cheaper comes first: less memory than a device lacks, where that is known, then less cost.
    fn price(&self, output: &Output, entry: FuncId) -> (u64, u64) {
        let lacks = self.options.clean.memory_bytes.map_or(0, |has| lacking(&output.module, entry, has));
        (lacks, cost(&output.module, entry, &output.cleaned))
    }

    fn attempt(
        &self,
        mut module: Module,
        entry: FuncId,
        strategy: Strategy,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<Output, Error> {
        watch(Stage::Propagate);
        prioritize(&mut module, entry, strategy);
        let told = propagate(&mut module, &PropagateOptions::default())?;
        watch(Stage::Partition);
        let done = partition(&mut module, entry, &self.options)?;
        let warn_bytes = self.warn_bytes.unwrap_or_else(|| worth_telling(bytes_sent(&module)));
        let gathered: Vec<Diagnostic> = told.uneven_results.into_iter().chain(done.gathered).collect();
        if self.strict {
            let refused = select(&gathered, warn_bytes).into_errors();
            if !refused.is_empty() {
                return Err(refused.into());
            }
        }
        let warnings = told.warnings.into_iter().chain(gathered).chain(done.warnings).collect();
        Ok(Output {
            warn_bytes,
            interface: done.interface,
            warnings,
            strategy,
            cleaned: done.cleaned,
            module,
        })
    }
}

/// The first mesh of a module that is more than the name of a device.
fn own_mesh(module: &Module) -> Option<MeshId> {
    module.mesh_names.values().copied().find(|&id| !module.meshes[id].is_maximal())
}

/// A program whose calls are inlined. Its entry is known only now: functions that are gone have left their numbers to
/// others.
fn inlined(module: Module, warnings: Vec<Diagnostic>) -> Result<Propagated, Error> {
    // What a function shards along an axis may be in a computation now where the axis is manual.
    if module.ops.values().any(|op| matches!(op.kind, OpKind::ManualComputation(_))) {
        shardc_ir::verify(&module)?;
    }
    let Some(entry) = module.entry() else { return Err(module.no_entry().into()) };
    Ok(Propagated { module, warnings, entry })
}

/// The same with the operations that are planned in place of others.
fn expanded(mut program: Propagated) -> Propagated {
    if let Some(body) = program.module.funcs[program.entry].body {
        expand(&mut program.module, body);
    }
    program
}

fn generic_text(module: &Module) -> String {
    shardc_stablehlo::print(module, &PrintOptions { form: PrintForm::Generic, ..PrintOptions::default() })
}

impl Propagated {
    /// The same with its shardings written as GSPMD's annotations (`mhlo.sharding`) instead of Shardy's.
    ///
    /// # Errors
    /// The program has meshes of different numbers of devices.
    pub fn into_gspmd(mut self) -> Result<Propagated, Error> {
        export_gspmd(&mut self.module)?;
        Ok(self)
    }

    /// The program as text, with a sharding on every value.
    #[must_use]
    pub fn text(&self) -> String {
        shardc_stablehlo::print(&self.module, &PrintOptions::default())
    }

    /// The same in MLIR's generic form.
    #[must_use]
    pub fn generic_text(&self) -> String {
        generic_text(&self.module)
    }
}

impl Output {
    /// Number of devices that run the program.
    #[must_use]
    pub fn num_devices(&self) -> usize {
        self.interface.mesh.num_devices()
    }

    /// How to feed the program, in the form that other programs read.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        Manifest::from(&self.interface)
    }

    /// The warnings that people want to read: equal ones once, those with the most bytes first, and those about fewer than
    /// [`Output::warn_bytes`] as a number. A front end may [`select`] otherwise.
    #[must_use]
    pub fn worth_telling(&self) -> Selection {
        select(&self.warnings, self.warn_bytes)
    }

    /// The program as MLIR's pretty text.
    #[must_use]
    pub fn text(&self) -> String {
        shardc_stablehlo::print(
            &self.module,
            &PrintOptions { form: PrintForm::Pretty, ..PrintOptions::default() },
        )
    }

    /// The program as text in MLIR's generic form.
    #[must_use]
    pub fn generic_text(&self) -> String {
        generic_text(&self.module)
    }

    /// The program as PJRT plugins take it, as MLIR bytecode: shardings are gone, the number of devices is written on
    /// it. Plugins know no quantized numbers: those are the integers that are stored, and computing with them is spelled
    /// out ([`unquantize`](shardc_passes::transforms::unquantize)).
    ///
    /// # Errors
    /// Quantized numbers of which too little is known; or this build has no MLIR (`SH0510`): see
    /// [`Output::backend_text`].
    pub fn bytecode(&self) -> Result<Vec<u8>, Error> {
        backend::bytecode(&self.module, &self.backend_options())
    }

    /// What [`Output::bytecode`] holds, as MLIR's generic text, which plugins take as well. It needs no MLIR, and takes
    /// them longer to read.
    ///
    /// # Errors
    /// Quantized numbers of which too little is known.
    pub fn backend_text(&self) -> Result<String, Error> {
        backend::text(&self.module, &self.backend_options())
    }

    /// The program as PJRT plugins take it, in the form that they read fastest of those that this build can write:
    /// [bytecode](Output::bytecode) with the feature `mlir`, [text](Output::backend_text) without.
    ///
    /// # Errors
    /// Quantized numbers of which too little is known.
    pub fn backend_code(&self) -> Result<Vec<u8>, Error> {
        backend::code(&self.module, &self.backend_options())
    }

    pub(crate) fn backend_options(&self) -> BackendOptions {
        BackendOptions { spmd_mode: self.interface.mode, num_devices: Some(self.num_devices()) }
    }
}
