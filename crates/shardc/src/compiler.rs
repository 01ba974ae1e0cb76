//! The compiler's interface for front ends.

use std::sync::Arc;
use std::time::Duration;

use shardc_ir::{Diagnostic, FuncId, Module, SpmdMode};
use shardc_passes::annotations::spec::{Annotation, SpecError};
use shardc_passes::collectives::clean::{CleanOptions, CleanReport};
use shardc_passes::cost::CostModel;
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
use shardc_passes::transforms::manual_form::wrap_in_manual_computation;
use shardc_stablehlo::{PrintForm, PrintOptions, Version};
use shardc_target::{DeviceOrder, Target, TargetSpec};

use crate::backend::{self, Backend, BackendOptions};
use crate::{Error, Manifest};

/// A stage of compilation, as reported to the callback of [`watch`](Compiler::watch).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Parsing the text or bytecode.
    Read,
    /// Annotating arguments from options, and inlining calls.
    Import,
    /// Sharding propagation.
    Propagate,
    /// Planning, resharding and localization.
    Partition,
    /// Printing the partitioned program.
    Print,
}

impl Stage {
    /// The stage that a pass belongs to.
    #[must_use]
    pub fn of(run: &PassRun<'_>) -> Stage {
        match (run.strategy, run.step.pass.name) {
            (_, "prioritize" | "propagate") => Stage::Propagate,
            (None, _) => Stage::Import,
            (Some(_), _) => Stage::Partition,
        }
    }

    /// A short name, such as `read` or `import`.
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

/// The options of a compilation, and the methods that run it. One compiler may be used for many programs.
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    pub(crate) options: PassContext,
    pub(crate) entry: Option<String>,
    pub(crate) time_limit: Option<Duration>,
    /// Whether the devices of the target are ordered ([`Compiler::best_device_order`]).
    pub(crate) orders_devices: bool,
}

/// A program in which every value has a sharding.
#[derive(Clone, Debug)]
pub struct Propagated {
    /// The program, with global shapes and calls inlined.
    pub module: Module,
    /// Warnings: the program is valid, but its sharding may not be what the user expects.
    pub warnings: Vec<Diagnostic>,
    pub(crate) entry: FuncId,
    /// The functions that are not inlined.
    pub(crate) kept: KeptFunctions,
}

/// A partitioned program.
#[derive(Clone, Debug)]
pub struct Output {
    /// The program that each device runs.
    pub module: Module,
    /// The description of the program's inputs and outputs; [`Output::manifest`] returns it in serializable form.
    pub interface: Interface,
    /// All warnings; [`Output::warnings_to_print`] selects those to print.
    pub warnings: Vec<Diagnostic>,
    /// The byte threshold of cost warnings, from [`Compiler::warn_bytes`].
    pub warn_bytes: u64,
    /// The propagation strategy: which annotations took priority.
    pub strategy: Strategy,
    /// Statistics of the collective cleanup passes.
    pub cleaned: CleanReport,
    /// The machine whose memory [`Output::memory`] estimates, from [`CleanOptions::machine`].
    pub machine: Machine,
    /// The order of the target's devices in the mesh, if [`Compiler::best_device_order`] changed it.
    pub device_order: Option<DeviceOrder>,
}

impl Compiler {
    /// A compiler with the default options.
    #[must_use]
    pub fn new() -> Self {
        Compiler::default()
    }

    /// Sets whether the devices are replicas or partitions; the default is replicas.
    #[must_use]
    pub fn spmd_mode(mut self, mode: SpmdMode) -> Self {
        self.options.mode = mode;
        self
    }

    /// Sets whether an all-gather that no annotation requests is an error; by default it is a warning. All-gathers below the threshold
    /// ([`Compiler::warn_bytes`]) are never errors.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.options.strict = strict;
        self
    }

    /// Sets the byte threshold of cost warnings. A group of equal warnings is printed ([`Output::warnings_to_print`]) or rejected
    /// ([`Compiler::strict`]) only if the total of its bytes reaches the threshold; 0 includes every warning. The default is 64 KiB, or one
    /// hundredth of the bytes that each device sends in one execution, if that is less
    /// ([`warning_threshold`](shardc_passes::report::warnings::warning_threshold)).
    ///
    /// ```
    /// use shardc::Compiler;
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// // A sort needs its dimension replicated: the operand is all-gathered, and each device sends about 200 bytes.
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
    /// let selection = output.warnings_to_print();
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

    /// Sets how collectives are merged, combined and hoisted out of loops.
    ///
    /// ```
    /// use shardc::{CleanOptions, Compiler};
    ///
    /// // No collectives are combined. By default, hoisting them out of loops may increase memory by up to 1 GiB.
    /// let compiler = Compiler::new().clean(CleanOptions { combine_bytes: 0, ..CleanOptions::default() });
    /// # let _ = compiler;
    /// ```
    #[must_use]
    pub fn clean(mut self, clean: CleanOptions) -> Self {
        self.options.clean = clean;
        self
    }

    /// Sets the target: planning compares alternatives by the rates of its devices and by the links of the mesh axes, and memory is estimated
    /// for its devices. The default is TPU v5e, with equal links along all axes. If the mesh of the program has another number of devices than
    /// the target, all axes have equal links. [`Compiler::clean`] replaces the machine of the memory estimate, so call it before this method.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use shardc::Compiler;
    /// use shardc::target::Target;
    ///
    /// // Four hosts with eight GPUs each: devices of different hosts communicate over the network.
    /// let target: Target = "h100:4x8".parse()?;
    /// let compiler = Compiler::new().target(Arc::new(target));
    /// # let _ = compiler;
    /// # Ok::<(), shardc::target::TargetError>(())
    /// ```
    #[must_use]
    pub fn target(mut self, target: Arc<Target>) -> Self {
        self.options.clean.machine = target.spec().into();
        self.options.costs = CostModel::of_target(target);
        self
    }

    /// Sets the kind of device like [`Compiler::target`], without a grid: all mesh axes have equal links.
    #[must_use]
    pub fn device(mut self, device: &TargetSpec) -> Self {
        self.options.clean.machine = device.into();
        self.options.costs = CostModel::of_device(device);
        self
    }

    /// Sets the format of replica groups in the partitioned program. The default is lists of devices, whose length grows with the number of
    /// devices; only newer StableHLO readers support the alternative, mesh axes. Programs for PJRT ([`Output::backend_code`]) always have
    /// lists.
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

    /// Sets the maximum number of operations of the entry function after inlining. In a larger program, functions that are called often are
    /// not inlined; each is partitioned once for each combination of argument and result shardings at its call sites. Functions with side
    /// effects or manual computations are always inlined. The default is [`INLINE_BUDGET`](shardc_ir::limits::INLINE_BUDGET).
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

    /// Sets the mesh, such as `"data=4,model=2"`, of a program that has none, or replaces the program's mesh
    /// ([`replace_mesh`](shardc_passes::annotations::remesh::replace_mesh)). GSPMD annotations are converted to shardings over this mesh.
    /// If the tiles do not fit this mesh, a mesh is inferred from the tiles, and its axes are replaced in order by those of this mesh.
    ///
    /// # Errors
    /// The text is not a valid mesh.
    pub fn mesh(mut self, text: &str) -> Result<Self, Error> {
        self.options.import.mesh = Some(text.parse().map_err(|e: SpecError| e.to_diagnostic("mesh", text))?);
        Ok(self)
    }

    /// Shards an argument or result of a program: `("arg0", "data,-,model")`. `target` selects it by position (`arg0`, `res0`) or by the
    /// front end's name ([`names`](shardc_passes::annotations::names)), where `*` matches any text: `("params*", "-,model")`.
    ///
    /// # Errors
    /// The text is not a valid selector or spec.
    pub fn spec(self, target: &str, spec: &str) -> Result<Self, Error> {
        let read = Annotation::new(target, spec);
        Ok(self.annotation(read.map_err(|e| e.to_diagnostic("spec", &format!("{target}={spec}")))?))
    }

    /// Adds a parsed annotation, as [`Compiler::spec`] does for text.
    #[must_use]
    pub fn annotation(mut self, annotation: Annotation) -> Self {
        self.options.import.specs.push(annotation);
        self
    }

    /// Sets which of Shardy's debugging attributes [`Compiler::propagate`] writes; none by default.
    #[must_use]
    pub fn debug(mut self, debug: DebugOptions) -> Self {
        self.options.propagate.debug = debug;
        self
    }

    /// Sets which propagation rules [`Compiler::propagate`] applies; all by default.
    #[must_use]
    pub fn rule_set(mut self, set: RuleSet) -> Self {
        self.options.propagate.rules = set;
        self
    }

    /// Sets the sharding rule of a custom call target, for calls without `sdy.sharding_rule`. `rule` gets the call with its shapes. If
    /// `rule` returns [`CallRule::Unknown`], nothing propagates through the call, and its operands and results are replicated. A rule that
    /// does not match the call is a compilation error (SH0807), which names the target, the rule and the mismatch.
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
    /// // Batches are independent; the other dimensions are internal to the kernel.
    /// let compiler = Compiler::new().custom_call_rule("my_attention", |call| call.letters("bqd,bkd->bqe"));
    /// let output = compiler.partition(source)?;
    /// assert_eq!(output.manifest().inputs[1].spec, [vec!["data"], vec![], vec![]]);
    /// assert!(output.text().contains("(tensor<2x16x64xf32>, tensor<2x32x64xf32>) -> tensor<2x16x64xf32>"));
    ///
    /// // This rule applies only if the first operand has rank 3.
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

    /// Parses StableHLO and verifies it: text, MLIR bytecode or a portable artifact, detected from the first bytes.
    ///
    /// # Errors
    /// All errors of the parser, or if there are none, all errors of the verifier.
    pub fn read(source: &[u8]) -> Result<Module, Error> {
        let module = Self::parse(source)?;
        shardc_ir::verify(&module)?;
        Ok(module)
    }

    /// Parses StableHLO like [`Compiler::read`], but does not verify the module, because the other methods verify their input.
    ///
    /// # Errors
    /// All errors of the parser.
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

    /// Writes a module as MLIR bytecode, unchanged, with its source locations.
    ///
    /// # Errors
    /// A part of the module is kept as text in the syntax of its dialect, which bytecode cannot express (`SH0125`).
    pub fn write_bytecode(module: &Module) -> Result<Vec<u8>, Error> {
        backend::write_bytecode(module)
    }

    /// Writes a module as a portable artifact of StableHLO, unchanged, with its source locations. Readers of the version `target` and of all
    /// newer versions accept it.
    ///
    /// # Errors
    /// The version is not supported (`SH0122`); it has no equivalent of an operation, an attribute or a type of the module, or a part of the
    /// module is kept as text in the syntax of its dialect (`SH0125`).
    pub fn write_artifact(module: &Module, target: Version) -> Result<Vec<u8>, Error> {
        backend::write_artifact(module, target)
    }

    /// Annotates arguments and results from the options, inlines all calls, and propagates shardings.
    ///
    /// # Errors
    /// An annotation does not fit, a call is recursive, or the program is invalid.
    pub fn propagate(&self, module: Module) -> Result<Propagated, Error> {
        self.propagate_observed(module, &mut ())?.ok_or_else(|| stopped().into())
    }

    /// Propagates shardings as [`Compiler::propagate`] does, with an observer that is called between passes. Returns `None` if the observer
    /// stops the passes early.
    ///
    /// # Errors
    /// The errors of [`Compiler::propagate`], and of the observer.
    pub fn propagate_observed(
        &self,
        module: Module,
        observer: &mut dyn Observer,
    ) -> Result<Option<Propagated>, Error> {
        let mut pipeline = Pipeline::propagate();
        if self.options.propagate.rules == RuleSet::Shardy {
            // Decomposition is skipped, as in Shardy. The operations that it would replace have no sharding rule.
            pipeline = pipeline.without("decompose");
        }
        let mut context = self.begun().options;
        // The output is a single function, so every call is inlined.
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

    /// Reports annotations that are valid but probably cost more than intended, such as large replicated parameters, axes that shard
    /// nothing, and constraints that force reshards or have no effect ([`LINTS`](crate::lint::LINTS)).
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
    /// assert!(report.findings[0].diagnostic.message.contains("axis \"model\" of mesh @mesh shards nothing"));
    /// assert!(report.has_errors(), "that rule is denied");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`Compiler::propagate`].
    pub fn lint(&self, module: Module, options: &LintOptions) -> Result<LintReport, Error> {
        let Propagated { module, warnings, entry, .. } = self.import(module, &mut ())?;
        let mut options = options.clone();
        options.costs.clone_from(&self.options.costs);
        Ok(LintReport { warnings, ..lint(&module, entry, &options)? })
    }

    /// Verifies and annotates the program, inlines all calls, and decomposes operations.
    fn import(&self, module: Module, observer: &mut dyn Observer) -> Result<Propagated, Error> {
        let mut context = self.begun().options;
        // The whole program is analyzed, so no function is partitioned separately.
        context.import.inline_budget = Some(u64::MAX);
        context.import.rules = context.import.rules.inlining_all();
        let mut module = module;
        self.select_entry(&mut module)?;
        imported(&Pipeline::partition(), module, &mut context, observer)?.ok_or_else(|| stopped().into())
    }

    /// A copy of this compiler that records the origin of every axis
    /// ([`PropagateOptions::provenance`](shardc_passes::propagate::PropagateOptions::provenance)).
    pub(crate) fn tracing(&self) -> Compiler {
        let mut tracing = self.clone();
        tracing.options.propagate.provenance = true;
        tracing
    }

    /// The imported program, with the call sites from which its operations were inlined.
    pub(crate) fn import_tracing(&self, module: Module) -> Result<(Propagated, CallSites), Error> {
        let mut context = self.begun().options;
        context.import.trace_calls = true;
        let mut module = module;
        self.select_entry(&mut module)?;
        let program = imported(&Pipeline::partition(), module, &mut context, &mut ())?.ok_or_else(stopped)?;
        Ok((program, context.call_sites().cloned().unwrap_or_default()))
    }

    /// Compiles a program from its text or bytecode: parses, propagates and partitions.
    ///
    /// # Errors
    /// Any error in the program or the options.
    pub fn partition(&self, source: &[u8]) -> Result<Output, Error> {
        self.partition_module(Self::parse(source)?)
    }

    /// Partitions a parsed or built module.
    ///
    /// # Errors
    /// The errors of [`Compiler::partition`].
    pub fn partition_module(&self, module: Module) -> Result<Output, Error> {
        self.watch_module(module, &mut |_| {})
    }

    /// Compiles a program as [`Compiler::partition`] does, and calls `watch` at the start of each stage.
    ///
    /// # Errors
    /// The errors of [`Compiler::partition`].
    pub fn watch(&self, source: &[u8], watch: &mut dyn FnMut(Stage)) -> Result<Output, Error> {
        watch(Stage::Read);
        let module = Self::parse(source)?;
        self.watch_module(module, watch)
    }

    /// Partitions a module as [`Compiler::partition_module`] does, and calls `watch` at the start of each stage.
    ///
    /// # Errors
    /// The errors of [`Compiler::partition`].
    pub fn watch_module(&self, module: Module, watch: &mut dyn FnMut(Stage)) -> Result<Output, Error> {
        watch(Stage::Import);
        let mut stages = Stages { watch, now: Stage::Import };
        self.partition_observed(module, &mut stages)?.ok_or_else(|| stopped().into())
    }

    /// Partitions a module as [`Compiler::partition_module`] does, with an observer that is called between passes. Returns `None` if the
    /// observer stops the compilation early.
    ///
    /// # Errors
    /// The errors of [`Compiler::partition`], and of the observer.
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
            Some(mut imported) => {
                let device_order = begun.device_order(&imported)?;
                if let Some(order) = &device_order {
                    imported.order_devices(order);
                }
                let output = begun.partition_imported(imported, observer)?;
                Ok(output.map(|output| Output { device_order, ..output }))
            }
            None => Ok(None),
        }
    }

    /// Partitions an imported program with each propagation strategy, and returns the cheapest result; `None` if the observer stops the
    /// passes early.
    pub(crate) fn partition_imported(
        &self,
        imported: Propagated,
        observer: &mut dyn Observer,
    ) -> Result<Option<Output>, Error> {
        let Propagated { mut module, mut warnings, entry, kept } = imported;
        // An axis that shards nothing in the entry function may shard values in a function that is partitioned separately.
        let is_reported = |warning: &Diagnostic| kept.is_empty() || warning.code != "SH0911";
        warnings.extend(not_meant(&module, entry).into_iter().filter(is_reported));
        // Partitioning uses all propagation rules, and writes no debugging attributes.
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
        Ok(Some(Output {
            module,
            interface,
            warnings,
            warn_bytes,
            strategy,
            cleaned,
            machine,
            device_order: None,
        }))
    }
}

/// Reports each stage when its first pass begins.
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

/// Runs the passes that precede the choice of a propagation strategy; `None` if the observer stops them early.
fn imported(
    pipeline: &Pipeline,
    mut module: Module,
    context: &mut PassContext,
    observer: &mut dyn Observer,
) -> Result<Option<Propagated>, Error> {
    // The passes rely on invariants that the verifier checks.
    shardc_ir::verify(&module)?;
    if partition::import(pipeline, &mut module, context, observer)? == Flow::Stop {
        return Ok(None);
    }
    // The entry is looked up only after the passes, because removing functions changes the ids of other functions.
    let Some(entry) = module.entry() else { return Err(module.no_entry().into()) };
    let (warnings, kept) = (context.import_warnings().to_vec(), context.kept_functions().clone());
    Ok(Some(Propagated { module, warnings, entry, kept }))
}

/// The error for a pass pipeline that ended early although no observer stopped it, which only a bug can cause.
pub(crate) fn stopped() -> Diagnostic {
    Diagnostic::internal("SH0829", "the pass pipeline ended before its last pass")
}

fn generic_text(module: &Module) -> String {
    shardc_stablehlo::print(module, &PrintOptions { form: PrintForm::Generic, ..PrintOptions::default() })
}

impl Propagated {
    /// Returns the program with shardings written as GSPMD annotations (`mhlo.sharding`) instead of Shardy's.
    ///
    /// # Errors
    /// The program has meshes with different numbers of devices.
    pub fn into_gspmd(mut self) -> Result<Propagated, Error> {
        export_gspmd(&mut self.module)?;
        Ok(self)
    }

    /// The program as text, with a sharding on every value.
    #[must_use]
    pub fn text(&self) -> String {
        shardc_stablehlo::print(&self.module, &PrintOptions::default())
    }

    /// The program as text in MLIR's generic form, with a sharding on every value.
    #[must_use]
    pub fn generic_text(&self) -> String {
        generic_text(&self.module)
    }
}

impl Output {
    /// The number of devices that run the program.
    #[must_use]
    pub fn num_devices(&self) -> usize {
        self.interface.mesh.num_devices()
    }

    /// The estimated memory of a device for the program, in bytes.
    #[must_use]
    pub fn memory(&self) -> MemoryEstimate {
        self.module.entry().map(|func| estimate(&self.module, func, self.machine)).unwrap_or_default()
    }

    /// The temporaries that a device holds at its estimated memory peak, grouped by source lines of the front end, largest first. They are
    /// candidates for sharding, for a narrower element type, or for rematerialization.
    #[must_use]
    pub fn at_peak(&self) -> Vec<InMemory> {
        self.module.entry().map(|func| at_peak(&self.module, func, self.machine)).unwrap_or_default()
    }

    /// The description of inputs and outputs, in serializable form.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        Manifest::from(&self.interface)
    }

    /// The warnings to print, without duplicates, ordered by bytes. Warnings below [`Output::warn_bytes`] are only counted. A front end may
    /// [`select`] with other options.
    #[must_use]
    pub fn warnings_to_print(&self) -> Selection {
        select(&self.warnings, self.warn_bytes)
    }

    /// The program as text in MLIR's pretty form.
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

    /// The program with its global types: the per-device program is the body of one `sdy.manual_computation`. JAX and other front ends that
    /// partition with Shardy compile it like the original program.
    ///
    /// ```
    /// use shardc::{Compiler, SpmdMode};
    ///
    /// # fn main() -> Result<(), shardc::Error> {
    /// let source = b"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }";
    /// let compiler = Compiler::new().mesh("data=4")?.spec("arg0", "data")?.spmd_mode(SpmdMode::Partition);
    /// let program = compiler.partition(source)?.manual_computation()?;
    /// let text = shardc::stablehlo::print(&program, &Default::default());
    /// assert!(text.contains(r#"manual_axes={"data"} (%arg1: tensor<2xf32>)"#), "{text}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Devices are replicas (SH0513): see [`Compiler::spmd_mode`]. An argument or result has uneven shards, or is sharded on a mesh with
    /// another device order that no axes describe (SH0514).
    pub fn manual_computation(&self) -> Result<Module, Error> {
        let mut module = self.module.clone();
        wrap_in_manual_computation(&mut module, &self.interface)?;
        Ok(module)
    }

    /// The program for PJRT plugins, as MLIR bytecode: without shardings, and with the number of devices as a module attribute.
    /// Plugins do not support quantized types: quantized values become their storage integers, with explicit arithmetic
    /// ([`unquantize`](shardc_passes::transforms::unquantize)).
    ///
    /// # Errors
    /// A quantized type is incomplete.
    pub fn bytecode(&self) -> Result<Vec<u8>, Error> {
        backend::bytecode(&self.module, &self.backend_options(Backend::Any))
    }

    /// The program of [`Output::bytecode`] as a portable artifact of StableHLO, for readers of the version `target` and newer.
    ///
    /// # Errors
    /// A quantized type is incomplete; the version is not supported, or it has no equivalent of a part of the program.
    pub fn artifact(&self, target: Version) -> Result<Vec<u8>, Error> {
        backend::artifact(&self.module, &self.backend_options(Backend::Any), target)
    }

    /// The program of [`Output::bytecode`], lowered, verified and written by LLVM's MLIR.
    ///
    /// # Errors
    /// A quantized type is incomplete, or MLIR rejects the program, which is a bug.
    #[cfg(feature = "mlir")]
    pub fn mlir_bytecode(&self) -> Result<Vec<u8>, Error> {
        backend::mlir_bytecode(&self.module, &self.backend_options(Backend::Any))
    }

    /// The program of [`Output::bytecode`] as MLIR's generic text, which plugins also accept, but parse more slowly than bytecode.
    ///
    /// # Errors
    /// A quantized type is incomplete.
    pub fn backend_text(&self) -> Result<String, Error> {
        backend::text(&self.module, &self.backend_options(Backend::Any))
    }

    /// The program for PJRT plugins in their fastest format: [bytecode](Output::bytecode).
    ///
    /// # Errors
    /// A quantized type is incomplete.
    pub fn backend_code(&self) -> Result<Vec<u8>, Error> {
        self.backend_code_for(Backend::Any)
    }

    /// Returns [`Output::backend_code`] with the workarounds that one of XLA's compilers needs, as
    /// [`Program::partitioned`](crate::exec::Program::partitioned) does for the devices of a client.
    ///
    /// # Errors
    /// A quantized type is incomplete.
    pub fn backend_code_for(&self, backend: Backend) -> Result<Vec<u8>, Error> {
        backend::bytecode(&self.module, &self.backend_options(backend))
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
