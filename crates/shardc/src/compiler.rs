//! The compiler as a front end calls it.

use std::time::Duration;

use shardc_ir::{Diagnostic, FuncId, Module, SpmdMode};
use shardc_passes::annotations::spec::{Annotation, SpecError};
use shardc_passes::collectives::clean::{CleanOptions, CleanReport};
use shardc_passes::cost::memory::{InMemory, Machine, MemoryEstimate, at_peak, estimate};
use shardc_passes::driver::calls::KeptFunctions;
use shardc_passes::driver::context::PassContext;
use shardc_passes::driver::partition::{self, Interface, Outcome, Partitioned};
use shardc_passes::driver::pipeline::{Flow, Observer, PassRun, Pipeline};
use shardc_passes::driver::strategy::Strategy;
use shardc_passes::gspmd::export_gspmd;
use shardc_passes::lint::{LintOptions, LintReport, lint, not_meant};
use shardc_passes::propagate::{DebugOptions, PropagateOptions};
use shardc_passes::report::warnings::{Selection, select};
use shardc_passes::rules::RuleSet;
use shardc_passes::rules::registry::{CallRule, CustomCall, RuleError};
use shardc_passes::transforms::group_form::{GroupForm, write_mesh_axes};
use shardc_passes::transforms::inline::CallSites;
use shardc_stablehlo::{PrintForm, PrintOptions};

use crate::backend::{self, Backend, BackendOptions};
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
    /// The stage that a run of a pass belongs to.
    #[must_use]
    pub fn of(run: &PassRun<'_>) -> Stage {
        match (run.strategy, run.step.pass.name) {
            (_, "prioritize" | "propagate") => Stage::Propagate,
            (None, _) => Stage::Import,
            (Some(_), _) => Stage::Partition,
        }
    }

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
    pub(crate) options: PassContext,
    pub(crate) entry: Option<String>,
    pub(crate) time_limit: Option<Duration>,
}

/// A program whose every value has a sharding.
#[derive(Clone, Debug)]
pub struct Propagated {
    /// The program, on global shapes, calls inlined.
    pub module: Module,
    /// What is right but not what one would expect.
    pub warnings: Vec<Diagnostic>,
    pub(crate) entry: FuncId,
    /// The functions whose calls are still in it.
    pub(crate) kept: KeptFunctions,
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
    /// Whose memory [`Output::memory`] is about, as [`CleanOptions::machine`] says.
    pub machine: Machine,
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
        self.options.strict = strict;
        self
    }

    /// The bytes that equal warnings about cost have together for [`Output::worth_telling`] to tell them, and for
    /// [`Compiler::strict`] to refuse them; with 0 all are. By default 64 KiB, or one hundredth of what each device sends
    /// in one run of the program, if that is less ([`worth_telling`](shardc_passes::report::warnings::worth_telling)).
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
        self.options.warn_bytes = Some(bytes);
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

    /// How the partitioned program writes replica groups: as lists of devices by default, which are as long as there are
    /// devices; or as axes of a mesh, which newer StableHLO has and not every reader knows. Programs for PJRT
    /// ([`Output::backend_code`]) have lists.
    ///
    /// ```
    /// use shardc::{Compiler, GroupForm};
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// let source = br#"
    ///   sdy.mesh @mesh = <["data"=1024, "model"=1024]>
    ///   func.func @main(%x: tensor<4096x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    ///       -> (tensor<4096x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    ///     return %x : tensor<4096x64xf32>
    ///   }
    /// "#;
    /// let text = Compiler::new().groups(GroupForm::MeshAxes).partition(source)?.text();
    /// assert!(text.contains(r#"<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "data">]>"#));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn groups(mut self, form: GroupForm) -> Self {
        self.options.groups = form;
        self
    }

    /// How many operations the entry function may have once all its calls are inlined. In a larger program, functions that
    /// are called often stay functions, and are partitioned once for each of the shardings that they are called with; what
    /// has effects or manual computations is inlined all the same. By default
    /// [`INLINE_BUDGET`](shardc_ir::limits::INLINE_BUDGET).
    ///
    /// ```
    /// use shardc::Compiler;
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// let source = br#"
    ///   sdy.mesh @mesh = <["data"=4]>
    ///   func.func public @main(%x: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<64xf32> {
    ///     %0 = func.call @twice(%x) : (tensor<64xf32>) -> tensor<64xf32>
    ///     %1 = func.call @twice(%0) : (tensor<64xf32>) -> tensor<64xf32>
    ///     return %1 : tensor<64xf32>
    ///   }
    ///   func.func private @twice(%x: tensor<64xf32>) -> tensor<64xf32> {
    ///     %0 = stablehlo.add %x, %x : tensor<64xf32>
    ///     return %0 : tensor<64xf32>
    ///   }
    /// "#;
    /// let text = Compiler::new().inline_budget(1).partition(source)?.text();
    /// assert!(text.contains("func.func private @twice(%arg0: tensor<16xf32>)"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn inline_budget(mut self, operations: u64) -> Self {
        self.options.import.inline_budget = Some(operations);
        self
    }

    /// The mesh, `"data=4,model=2"`: for a program that has none, or in place of the one that it has
    /// ([`replace_mesh`](shardc_passes::annotations::remesh::replace_mesh)). Annotations of GSPMD are read onto it; where they
    /// do not fit it, its axes take the place of those that their tiles have, in order.
    ///
    /// # Errors
    /// The text is not a mesh.
    pub fn mesh(mut self, text: &str) -> Result<Self, Error> {
        self.options.import.mesh = Some(text.parse().map_err(|e: SpecError| e.to_diagnostic("mesh", text))?);
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
        self.options.import.specs.push(annotation);
        self
    }

    /// Which of Shardy's debugging attributes [`Compiler::propagate`] writes; none by default.
    #[must_use]
    pub fn debug(mut self, debug: DebugOptions) -> Self {
        self.options.propagate.debug = debug;
        self
    }

    /// Which rules [`Compiler::propagate`] follows; all by default.
    #[must_use]
    pub fn rule_set(mut self, set: RuleSet) -> Self {
        self.options.propagate.rules = set;
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
        self.options.import.rules.register(target, rule);
        self
    }

    /// Reads StableHLO and verifies it: text, MLIR bytecode or a portable artifact. The first bytes tell.
    ///
    /// # Errors
    /// Every error that the reader found; where it found none, every error of the verifier.
    pub fn read(source: &[u8]) -> Result<Module, Error> {
        let module = Self::parse(source)?;
        shardc_ir::verify(&module)?;
        Ok(module)
    }

    /// Reads StableHLO as [`Compiler::read`] does, for the other methods alone, which verify what they are given.
    ///
    /// # Errors
    /// Every error that the reader found.
    pub fn parse(source: &[u8]) -> Result<Module, Error> {
        let module = if shardc_stablehlo::is_bytecode(source) {
            shardc_stablehlo::parse_bytecode(source)?
        } else {
            let text = std::str::from_utf8(source).map_err(|e| {
                shardc_stablehlo::not_a_program(source)
                    .unwrap_or_else(|| shardc_stablehlo::not_text(source, e))
            })?;
            shardc_stablehlo::parse(text)?
        };
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
        self.propagate_observed(module, &mut ())?.ok_or_else(|| stopped().into())
    }

    /// [`Compiler::propagate`] with somebody who looks on; `None` where the observer ends it early.
    ///
    /// # Errors
    /// As [`Compiler::propagate`], and what the observer finds wrong.
    pub fn propagate_observed(
        &self,
        module: Module,
        observer: &mut dyn Observer,
    ) -> Result<Option<Propagated>, Error> {
        let mut pipeline = Pipeline::propagate();
        if self.options.propagate.rules == RuleSet::Shardy {
            // Shardy leaves operations as they are, and has no rules for those that would be rewritten.
            pipeline = pipeline.without("decompose");
        }
        let mut context = self.begun().options;
        // What is written is one program, in which nothing stands for a call.
        context.import.inline_budget = Some(u64::MAX);
        context.import.rules = context.import.rules.inlining_all();
        let mut module = module;
        self.select_entry(&mut module)?;
        let Some(mut propagated) = imported(&pipeline, module, &mut context, observer)? else {
            return Ok(None);
        };
        let report = context.propagated();
        propagated.warnings.extend(report.warnings.iter().chain(&report.uneven_results).cloned());
        Ok(Some(propagated))
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
        let Propagated { module, warnings, entry, .. } = self.import(module, &mut ())?;
        Ok(LintReport { warnings, ..lint(&module, entry, options)? })
    }

    /// Checks, annotates and inlines all calls, and rewrites what is planned as something else.
    fn import(&self, module: Module, observer: &mut dyn Observer) -> Result<Propagated, Error> {
        let mut context = self.begun().options;
        // All of the program is looked at, and nothing of it is partitioned by itself.
        context.import.inline_budget = Some(u64::MAX);
        context.import.rules = context.import.rules.inlining_all();
        let mut module = module;
        self.select_entry(&mut module)?;
        imported(&Pipeline::partition(), module, &mut context, observer)?.ok_or_else(|| stopped().into())
    }

    /// The compiler, with where every axis comes from ([`PropagateOptions::provenance`](shardc_passes::propagate::PropagateOptions::provenance)).
    pub(crate) fn tracing(&self) -> Compiler {
        let mut tracing = self.clone();
        tracing.options.propagate.provenance = true;
        tracing
    }

    /// What is partitioned, with the calls that operations came through.
    pub(crate) fn import_tracing(&self, module: Module) -> Result<(Propagated, CallSites), Error> {
        let mut context = self.begun().options;
        context.import.trace_calls = true;
        let mut module = module;
        self.select_entry(&mut module)?;
        let program = imported(&Pipeline::partition(), module, &mut context, &mut ())?.ok_or_else(stopped)?;
        Ok((program, context.call_sites().cloned().unwrap_or_default()))
    }

    /// The whole way: reads, propagates, partitions.
    ///
    /// # Errors
    /// Whatever the steps find wrong with the program or the options.
    pub fn partition(&self, source: &[u8]) -> Result<Output, Error> {
        self.partition_module(Self::parse(source)?)
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
        let module = Self::parse(source)?;
        self.watch_module(module, watch)
    }

    /// [`Compiler::partition_module`], telling `watch` as each stage begins.
    ///
    /// # Errors
    /// As [`Compiler::partition`].
    pub fn watch_module(&self, module: Module, watch: &mut dyn FnMut(Stage)) -> Result<Output, Error> {
        watch(Stage::Import);
        let mut stages = Stages { watch, now: Stage::Import };
        self.partition_observed(module, &mut stages)?.ok_or_else(|| stopped().into())
    }

    /// [`Compiler::partition_module`] with somebody who looks at the module between passes; `None`
    /// where the observer ends it early.
    ///
    /// # Errors
    /// As [`Compiler::partition`], and what the observer finds wrong.
    pub fn partition_observed(
        &self,
        module: Module,
        observer: &mut dyn Observer,
    ) -> Result<Option<Output>, Error> {
        let begun = self.begun();
        let mut context = begun.options.clone();
        let mut module = module;
        self.select_entry(&mut module)?;
        match imported(&Pipeline::partition(), module, &mut context, observer)? {
            Some(imported) => begun.partition_imported(imported, observer),
            None => Ok(None),
        }
    }

    /// Partitions an imported program by each strategy, and returns the cheapest; `None` where the observer ends it
    /// early.
    pub(crate) fn partition_imported(
        &self,
        imported: Propagated,
        observer: &mut dyn Observer,
    ) -> Result<Option<Output>, Error> {
        let Propagated { mut module, mut warnings, entry, kept } = imported;
        // What splits nothing here may split something in a function that is partitioned by itself.
        let is_told = |warning: &Diagnostic| kept.is_empty() || warning.code != "SH0911";
        warnings.extend(not_meant(&module, entry).into_iter().filter(is_told));
        // What is partitioned is propagated by all rules, and bears no debugging attributes.
        let provenance = self.options.propagate.provenance;
        let propagate = PropagateOptions { provenance, ..PropagateOptions::default() };
        let mut context = self.options.clone().with_kept_functions(kept);
        context.propagate = propagate;
        let outcome = partition::partition(&Pipeline::partition(), &mut module, &context, observer)?;
        let Outcome::Done(done) = outcome else { return Ok(None) };
        let Partitioned { strategy, interface, warnings: more, warn_bytes, cleaned, .. } = *done;
        warnings.extend(more);
        if self.options.groups == GroupForm::MeshAxes {
            write_mesh_axes(&mut module, &interface.mesh);
        }
        let machine = self.options.clean.machine;
        Ok(Some(Output { module, interface, warnings, warn_bytes, strategy, cleaned, machine }))
    }
}

/// Tells of stages as the passes of the next one begin.
struct Stages<'a> {
    watch: &'a mut dyn FnMut(Stage),
    now: Stage,
}

impl Observer for Stages<'_> {
    fn before(&mut self, run: &PassRun<'_>, _: &Module) {
        let stage = Stage::of(run);
        if stage != self.now {
            (self.watch)(stage);
            self.now = stage;
        }
    }
}

/// Runs what comes before the choice of a strategy; `None` where the observer ends it early.
fn imported(
    pipeline: &Pipeline,
    mut module: Module,
    context: &mut PassContext,
    observer: &mut dyn Observer,
) -> Result<Option<Propagated>, Error> {
    // The passes rely on what the verifier promises.
    shardc_ir::verify(&module)?;
    if partition::import(pipeline, &mut module, context, observer)? == Flow::Stop {
        return Ok(None);
    }
    // Known only now: functions that are gone have left their numbers to others.
    let Some(entry) = module.entry() else { return Err(module.no_entry().into()) };
    let (warnings, kept) = (context.import_warnings().to_vec(), context.kept_functions().clone());
    Ok(Some(Propagated { module, warnings, entry, kept }))
}

/// Where nobody can have ended a run early.
fn stopped() -> Diagnostic {
    Diagnostic::internal("SH0829", "the pipeline ended early")
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

    /// What a device is estimated to need for the program, in bytes.
    #[must_use]
    pub fn memory(&self) -> MemoryEstimate {
        self.module.entry().map(|func| estimate(&self.module, func, self.machine)).unwrap_or_default()
    }

    /// The temporaries that a device is estimated to have when it needs most, by the lines of the front end's source that made them, the
    /// largest first: what to split, to keep in fewer bits or to compute again in the backward pass.
    #[must_use]
    pub fn at_peak(&self) -> Vec<InMemory> {
        self.module.entry().map(|func| at_peak(&self.module, func, self.machine)).unwrap_or_default()
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
        backend::bytecode(&self.module, &self.backend_options(Backend::Any))
    }

    /// What [`Output::bytecode`] holds, as MLIR's generic text, which plugins take as well. It needs no MLIR, and takes
    /// them longer to read.
    ///
    /// # Errors
    /// Quantized numbers of which too little is known.
    pub fn backend_text(&self) -> Result<String, Error> {
        backend::text(&self.module, &self.backend_options(Backend::Any))
    }

    /// The program as PJRT plugins take it, in the form that they read fastest of those that this build can write:
    /// [bytecode](Output::bytecode) with the feature `mlir`, [text](Output::backend_text) without.
    ///
    /// # Errors
    /// Quantized numbers of which too little is known.
    pub fn backend_code(&self) -> Result<Vec<u8>, Error> {
        self.backend_code_for(Backend::Any)
    }

    /// [`Output::backend_code`] for one of XLA's compilers, with its peculiarities taken care of, as
    /// [`Program::partitioned`](crate::exec::Program::partitioned) does for the devices of a client.
    ///
    /// # Errors
    /// Quantized numbers of which too little is known.
    pub fn backend_code_for(&self, backend: Backend) -> Result<Vec<u8>, Error> {
        backend::code(&self.module, &self.backend_options(backend))
    }

    pub(crate) fn backend_options(&self, backend: Backend) -> BackendOptions {
        BackendOptions {
            backend,
            spmd_mode: self.interface.mode,
            num_devices: Some(self.num_devices()),
            ..BackendOptions::default()
        }
    }
}
