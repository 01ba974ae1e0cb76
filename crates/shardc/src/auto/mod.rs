//! Chooses the mesh and the shardings of a program for a target.
//!
//! [`Compiler::auto`] searches for the assignment that minimizes the estimated time of one execution among those whose memory fits. It
//! keeps the mesh and the annotations of arguments and results that are given.
//!
//! The search is local and deterministic. A *candidate* is a mesh whose axes have purposes (data, tensor, context and expert
//! parallelism), a strategy of [`crate::strategy`], and shardings of groups of arguments and results that replace those of the strategy.
//! Arguments of repeated layers are one group, so they are decided together. A candidate is evaluated by partitioning the program and estimating memory and
//! time, as [`Compiler::plan`] does. The number of evaluations is bounded by the size of the program, not by a clock.
//!
//! * XLA's auto-sharding and Alpa (Zheng et al., 2022) choose an operator strategy by an integer program over additive costs. Here the planner
//!   already chooses operand shardings for given argument shardings, so only those are searched, with the cost of the whole schedule.
//! * Groups of dimensions that are sharded together are the dimension classes of propagation, as in TOAST (Alabed et al., 2025).
//!
//! ```
//! use shardc::Compiler;
//! use shardc::auto::AutoOptions;
//! use shardc::target::Target;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let source = br#"
//!   func.func @main(%x: tensor<65536x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<65536x4096xbf16> {
//!     %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
//!         : (tensor<65536x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<65536x4096xbf16>
//!     return %0 : tensor<65536x4096xbf16>
//!   }
//! "#;
//! let target: Target = "v5e:2x2".parse()?;
//! let auto = Compiler::new().auto(Compiler::read(source)?, &AutoOptions::new("layer.mlir", target))?;
//! assert!(auto.report.fits && auto.report.gap.is_some_and(|gap| gap < 1.01), "{}", auto.report.to_text());
//! // The rows of x are sharded on all devices.
//! let output = Compiler::new().partition_module(auto.module)?;
//! assert_eq!(output.manifest().inputs[0].local_shape, [16384, 4096]);
//! # Ok(())
//! # }
//! ```

mod bound;
mod candidate;
mod choices;
mod given;
mod groups;
mod moves;
mod problem;
mod report;
mod search;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use shardc_ir::{Mesh, Module};
use shardc_target::Target;

pub use report::{ArgumentReport, AutoReport, ChoiceReport, KeptReport, ScoreReport, TriedReport};

use crate::{Annotation, Compiler, Error};
use problem::Problem;
use search::Search;

/// The target of the search, what is fixed, and the limits of the search.
#[derive(Clone, Debug)]
pub struct AutoOptions {
    /// The name of the program's file, for the report.
    pub source: String,
    /// The devices.
    pub target: Arc<Target>,
    /// Bytes of memory of a device, if not those of the target.
    pub memory: Option<u64>,
    /// The mesh; if `None`, that of the program, or else its axes and sizes are searched too.
    pub mesh: Option<Mesh>,
    /// Shardings of arguments and results on the mesh, which the search keeps.
    pub annotations: Vec<Annotation>,
    /// Whether the meshes and shardings of the program are removed before the search.
    pub ignores_shardings: bool,
    /// The number of threads. The result does not depend on it.
    pub threads: usize,
    /// The limit on the operations of all partitions that are made, which bounds the time of the search.
    pub work: usize,
}

impl AutoOptions {
    /// The limit on the operations of all partitions that [`AutoOptions::new`] sets.
    pub const WORK: usize = 6_000_000;

    /// The default options for a target: the mesh is free, and one thread searches.
    #[must_use]
    pub fn new(source: &str, target: impl Into<Arc<Target>>) -> AutoOptions {
        AutoOptions {
            source: source.to_owned(),
            target: target.into(),
            memory: None,
            mesh: None,
            annotations: Vec::new(),
            ignores_shardings: false,
            threads: 1,
            work: AutoOptions::WORK,
        }
    }

    fn limit(&self) -> u64 {
        self.memory.unwrap_or(self.target.spec().memory)
    }
}

/// The best sharding found, and the report of the search.
#[derive(Clone, Debug)]
pub struct Auto {
    /// The program with calls inlined, annotated with the mesh and the shardings that were chosen.
    pub module: Module,
    /// The choices, their costs, and a lower bound.
    pub report: AutoReport,
}

impl Compiler {
    /// Chooses the mesh and the shardings of a program for a target, to minimize the estimated time of one execution within the memory of a
    /// device. If the times of candidates differ by less than 5 %, it chooses the one with the least work of devices and links. If nothing fits, the result is the candidate that needs the least memory, and [`AutoReport::fits`] is false.
    ///
    /// # Errors
    /// The program is invalid; its mesh, or that of the options, has another number of devices than the target (SH1601); an annotation names an
    /// argument or axis that does not exist; no candidate can be partitioned, with the error of the first.
    pub fn auto(&self, module: Module, options: &AutoOptions) -> Result<Auto, Error> {
        let problem = Problem::new(self, module, options)?;
        let mut search = Search::new(&problem, options);
        let best = search.run()?;
        let module = problem.annotated(&best, true)?.module;
        let choices = choices::choices(&problem, &search, &best);
        let report = AutoReport { choices, ..report::report(&problem, &search, &best, &module, options) };
        Ok(Auto { module, report })
    }
}
