//! Predicts the memory, the communication and the time of a program on devices that need not be present.
//!
//! [`Compiler::plan`] partitions the program and estimates what one device needs for one execution. The report is data:
//! [`PlanReport::to_json`] serializes it, and [`PlanReport::to_text`] formats it for a terminal.
//!
//! ```
//! use shardc::Compiler;
//! use shardc::plan::PlanOptions;
//! use shardc::target::Target;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let source = br#"
//!   sdy.mesh @mesh = <["data"=4]>
//!   func.func @main(
//!       %x: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
//!       %w: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4096x4096xbf16> {
//!     %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
//!         : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
//!     return %0 : tensor<4096x4096xbf16>
//!   }
//! "#;
//! let options = PlanOptions::new("step.mlir", "v5e:2x2".parse::<Target>()?);
//! let plan = Compiler::new().plan(Compiler::read(source)?, &options)?;
//! assert_eq!(plan.report.communication[0].kind, "all_gather");
//! assert!(plan.report.memory.fits);
//! # Ok(())
//! # }
//! ```

mod changes;
mod classes;
mod communication;
mod memory;
mod over_time;
mod rematerialize;
mod report;
mod text;
mod time;
mod trace;

use std::sync::Arc;

use shardc_ir::{Diagnostic, FuncId, Module};
use shardc_passes::cost::memory::over_time;
use shardc_passes::cost::time::{TimeEstimate, estimate, ideal_seconds};
use shardc_target::{Number, Target};

pub use report::{
    BufferReport, ChangeReport, ClassOverTime, ClassReport, LoopReport, MemoryReport, MeshAxisReport,
    PlanReport, SpanReport, TargetReport, TimeReport, TogetherReport, TrafficReport,
};

pub use crate::seconds_text::seconds_text;

use crate::compiler::stopped;
use crate::explain::classes::ProgramRoles;
use crate::parallel::both;
use crate::{Compiler, Error, MemoryEstimate, Observer, Output, SpmdMode};

/// The devices that a program is planned for, and the contents of the report.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The name of the program's file, for the report.
    pub source: String,
    /// The devices.
    pub target: Arc<Target>,
    /// Bytes of memory of a device, if not those of the target.
    pub memory: Option<u64>,
    /// Whether to look for changes that make the program fit or make it faster. Each is measured on a partition of its own.
    pub changes: bool,
}

impl PlanOptions {
    /// The default options for a target.
    #[must_use]
    pub fn new(source: &str, target: impl Into<Arc<Target>>) -> PlanOptions {
        PlanOptions { source: source.to_owned(), target: target.into(), memory: None, changes: true }
    }

    fn limit(&self) -> u64 {
        self.memory.unwrap_or(self.target.spec().memory)
    }
}

/// A plan, and the partition that it describes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The partitioned program.
    pub output: Output,
    /// The prediction.
    pub report: PlanReport,
}

/// The estimates for a partition.
struct Measured {
    memory: MemoryEstimate,
    time: TimeEstimate,
}

impl Measured {
    fn of(output: &Output, func: FuncId, target: &Target) -> Measured {
        let (memory, time) = both(|| output.memory(), || output.time(func, target));
        Measured { memory, time }
    }
}

impl Output {
    /// The estimated time of one execution on a target.
    pub(crate) fn time(&self, func: FuncId, target: &Target) -> TimeEstimate {
        // As partitions, devices are numbered by their position in the mesh; replica groups of replicas contain device ids.
        let order = match self.interface.mode {
            SpmdMode::Partition => self.interface.mesh.device_ids.as_deref(),
            SpmdMode::Replica => None,
        };
        estimate(&self.module, func, target, order, self.machine)
    }
}

impl Compiler {
    /// Partitions an annotated program for a target, and predicts what one device needs for one execution.
    ///
    /// # Errors
    /// The errors of [`Compiler::partition_module`]; the mesh has another number of devices than the target (SH1601).
    pub fn plan(&self, module: Module, options: &PlanOptions) -> Result<Plan, Error> {
        self.plan_observed(module, options, &mut ())
    }

    /// Plans a program as [`Compiler::plan`] does; `observer` sees the passes of its partition.
    ///
    /// # Errors
    /// The errors of [`Compiler::plan`].
    pub fn plan_observed(
        &self,
        module: Module,
        options: &PlanOptions,
        observer: &mut dyn Observer,
    ) -> Result<Plan, Error> {
        let target = &options.target;
        let compiler = self.clone().target(Arc::clone(target));
        let (roles, output) =
            both(|| ProgramRoles::of(&module), || compiler.partition_observed(module.clone(), observer));
        let output = output.map_err(with_strategies)?.ok_or_else(stopped)?;
        let Some(func) = output.module.entry() else { return Err(module.no_entry().into()) };
        if output.num_devices() != target.num_devices() {
            return Err(wrong_devices(output.num_devices(), target).into());
        }
        let (temporaries, time) =
            both(|| over_time(&output.module, func, output.machine), || output.time(func, target));
        let measured = Measured { memory: temporaries.estimate, time };
        // The program may have unused and equal products, and a partition may repeat products.
        let whole = module.entry().map_or(0.0, |func| ideal_seconds(&module, func, target.spec()));
        let ideal =
            (whole / target.num_devices() as f64).min(ideal_seconds(&output.module, func, target.spec()));
        let mut report = PlanReport {
            version: 1,
            source: options.source.clone(),
            target: TargetReport {
                name: target.to_string(),
                devices: target.num_devices(),
                memory: options.limit(),
                peak_flops: target.spec().peaks.of(Number::F16),
            },
            mesh: communication::mesh(&output, target),
            memory: memory::report(&output, &measured.memory, &roles, &temporaries, options.limit()),
            communication: communication::report(&output, &measured.time, target),
            time: time::report(&output, &measured.time, ideal),
            notes: vec![
                "times assume peak rates; a device takes longer. HFU, the hardware FLOPS utilization, counts recomputed products, too".to_owned(),
            ],
            ..PlanReport::default()
        };
        if options.changes {
            let found =
                changes::find(&compiler, &module, (&output, &measured), &temporaries.at_peak, options);
            (report.tried, report.changes, report.together) =
                (Some(found.tried), found.changes, found.together);
        }
        Ok(Plan { output, report })
    }
}

/// Adds to the error for a program without a mesh (SH0303) how a training step is sharded without annotations.
fn with_strategies(error: Error) -> Error {
    match &*error.diagnostics() {
        [only] if only.code == "SH0303" => only
            .clone()
            .hint(
                "annotate it, shard a training step by a strategy, as in `--fsdp full_shard --mesh fsdp=8`, or find a strategy with \
                 `shardc auto`",
            )
            .into(),
        _ => error,
    }
}

/// The error for a mesh that has another number of devices than the target.
pub(crate) fn wrong_devices(mesh: usize, target: &Target) -> Diagnostic {
    let message = format!("the mesh has {mesh} devices, but {target} has {}", target.num_devices());
    Diagnostic::invalid("SH1601", message).hint("give a mesh with as many devices as the target")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: &str = r#"
      sdy.mesh @mesh = <["data"=4]>
      func.func @main(
          %x: tensor<2048x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
          %w: tensor<2048x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
          %v: tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16> {
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
            : (tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16>
        %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0]
            : (tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16>
        return %1 : tensor<2048x2048xbf16>
      }"#;

    fn plan(target: &str) -> Result<Plan, Error> {
        let module = Compiler::read(STEP.as_bytes()).unwrap();
        Compiler::new().plan(module, &PlanOptions::new("step.mlir", target.parse::<Target>().unwrap()))
    }

    #[test]
    fn flops_of_all_devices_are_those_of_the_program() {
        let report = plan("v5e:2x2").unwrap().report;
        let flops = 2.0 * 2.0 * 2048.0 * 2048.0 * 2048.0;
        assert!((report.time.flops * 4.0 / flops - 1.0).abs() < 1e-9);
        let ideal = flops / (4.0 * 197e12);
        assert!((report.time.hfu - ideal / report.time.seconds).abs() < 1e-9);
        assert!(report.time.exposed <= report.time.communication);
    }

    #[test]
    fn products_that_are_not_executed_are_not_counted() {
        let text = r#"
          sdy.mesh @mesh = <["data"=4]>
          func.func @main(%x: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<4096x4096xbf16>)
              -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
            %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
                : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
            %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
                : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
            return %0, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
          }"#;
        let options = PlanOptions::new("twice.mlir", "v5e:2x2".parse::<Target>().unwrap());
        let report = Compiler::new().plan(Compiler::read(text.as_bytes()).unwrap(), &options).unwrap().report;
        assert!(report.time.hfu <= 1.0, "{}", report.time.hfu);
    }

    /// A donated argument is the result of the previous execution, so both need the same sharding.
    #[test]
    fn changes_of_donated_arguments_include_their_results() {
        let text = STEP.replacen(
            "%w: tensor<2048x2048xbf16> {",
            "%w: tensor<2048x2048xbf16> {tf.aliasing_output = 0 : i32, ",
            1,
        );
        assert_ne!(text, STEP);
        let options = PlanOptions::new("step.mlir", "v5e:2x2".parse::<Target>().unwrap());
        let report = Compiler::new().plan(Compiler::read(text.as_bytes()).unwrap(), &options).unwrap().report;
        let changes: Vec<_> = report.changes.iter().filter(|change| change.how.contains("arg1=")).collect();
        assert!(changes.iter().all(|change| change.how.contains("--spec \"res0=")), "{changes:?}");
    }

    #[test]
    fn an_all_gather_is_avoided_if_there_is_memory() {
        let report = plan("v5e:2x2").unwrap().report;
        let change = &report.changes[0];
        assert_eq!(change.what, "do not shard arg1 by \"data\"");
        assert_eq!(change.how, "--spec \"arg1=-,-\"");
        assert!(change.seconds > 0.0 && change.bytes < 0, "{change:?}");
    }

    #[test]
    fn a_replicated_argument_is_sharded_if_memory_is_short() {
        let module = Compiler::read(STEP.as_bytes()).unwrap();
        let options = PlanOptions {
            memory: Some(10 << 20),
            ..PlanOptions::new("step.mlir", "v5e:2x2".parse::<Target>().unwrap())
        };
        let report = Compiler::new().plan(module, &options).unwrap().report;
        assert!(!report.memory.fits);
        assert_eq!(report.changes[0].what, "shard arg2 also by \"data\"");
        assert!(report.changes[0].bytes > 0);
    }

    #[test]
    fn lists_and_time_lines_add_up_to_the_classes() {
        let memory = plan("cpu:4").unwrap().report.memory;
        let class = |name: &str| memory.classes.iter().find(|class| class.class == name).map(|c| c.bytes);
        let listed = memory.live.iter().filter(|buffer| buffer.class == "results").map(|b| b.bytes).sum();
        assert_eq!(class("results"), Some(listed));
        assert_eq!(listed, 512 * 2048 * 2);
        let last = |line: &[(usize, u64)]| line.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0);
        let peak = last(&memory.timeline);
        let sum: u64 = memory.classes_over_time.iter().map(|class| last(&class.timeline)).sum();
        assert!(peak <= sum && peak <= memory.expected, "{peak} {sum} {}", memory.expected);
        assert!(memory.classes_over_time.iter().any(|line| line.class == "results"));
    }

    #[test]
    fn several_changes_are_also_measured_together() {
        let text = STEP.replacen(
            "%w: tensor<2048x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>}",
            "%w: tensor<2048x2048xbf16>",
            1,
        );
        assert_ne!(text, STEP);
        let with_limit = |limit: u64| {
            let options = PlanOptions {
                memory: Some(limit),
                ..PlanOptions::new("step.mlir", "v5e:2x2".parse::<Target>().unwrap())
            };
            let module = Compiler::read(text.as_bytes()).unwrap();
            Compiler::new().plan(module, &options).unwrap().report
        };
        let report = with_limit(14 << 20);
        assert!(!report.memory.fits && report.changes.len() > 1, "{:?}", report.changes);
        let together = report.together.as_ref().unwrap();
        assert!(together.fits && together.changes == [1, 2], "{together:?}");
        assert!(report.to_text(false).contains("  1, 2 together: "), "{}", report.to_text(false));
        assert!(with_limit(1 << 30).together.is_none());
    }

    #[test]
    fn a_program_without_annotations_gets_a_hint() {
        let text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }";
        let options = PlanOptions::new("step.mlir", "v5e:2x2".parse::<Target>().unwrap());
        let error = Compiler::new().plan(Compiler::read(text.as_bytes()).unwrap(), &options).unwrap_err();
        let hint = error.diagnostics()[0].hint.clone().unwrap_or_default();
        assert!(hint.contains("--fsdp") && hint.contains("shardc auto"), "{error}");
    }

    #[test]
    fn a_target_with_other_devices_is_an_error() {
        let error = plan("v5e:4x4").unwrap_err();
        assert!(error.to_string().contains("the mesh has 4 devices, but v5e:4x4 has 16"), "{error}");
    }
}
