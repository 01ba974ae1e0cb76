//! Runs single passes by name, and observes a compilation between passes.
//!
//! ```
//! use shardc::{Compiler, passes};
//!
//! # fn main() -> Result<(), shardc::Error> {
//! let source = br#"
//!   func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
//!     %0 = stablehlo.tanh %x : tensor<4xf32>
//!     %1 = stablehlo.add %x, %x : tensor<4xf32>
//!     return %1 : tensor<4xf32>
//!   }
//! "#;
//! let mut module = Compiler::read(source)?;
//! passes::run(&mut module, &["dce"])?;
//! let text = shardc::stablehlo::print(&module, &Default::default());
//! assert!(!text.contains("stablehlo.tanh"), "nothing uses it");
//!
//! let error = passes::run(&mut module, &["dcee"]).unwrap_err();
//! assert!(error.to_string().contains("did you mean dce?"), "{error}");
//! # Ok(())
//! # }
//! ```
//!
//! An [`Observer`] sees the module between the passes of a compilation, and may stop it early:
//!
//! ```
//! use shardc::passes::{Flow, Observer, PassContext, PassRun};
//! use shardc::{Compiler, Diagnostic, Module};
//!
//! /// Stops after propagation, and keeps the module.
//! #[derive(Default)]
//! struct Propagated(Option<Module>);
//!
//! impl Observer for Propagated {
//!     fn after(
//!         &mut self,
//!         run: &PassRun<'_>,
//!         module: &mut Module,
//!         _: &PassContext,
//!     ) -> Result<Flow, Vec<Diagnostic>> {
//!         if run.step.pass.name != "propagate" {
//!             return Ok(Flow::Continue);
//!         }
//!         self.0 = Some(module.clone());
//!         Ok(Flow::Stop)
//!     }
//! }
//!
//! # fn main() -> Result<(), shardc::Error> {
//! let source = br#"
//!   sdy.mesh @mesh = <["data"=4]>
//!   func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<8xf32> {
//!     return %x : tensor<8xf32>
//!   }
//! "#;
//! let mut observer = Propagated::default();
//! let output = Compiler::new().partition_observed(Compiler::read(source)?, &mut observer)?;
//! assert!(output.is_none() && observer.0.is_some());
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use shardc_ir::Interrupt;
use shardc_ir::{Diagnostic, Module, SpmdMode};
#[doc(inline)]
pub use shardc_passes::annotations::spec::MeshSpec;
#[doc(inline)]
pub use shardc_passes::driver::calls::KeptFunctions;
#[doc(inline)]
pub use shardc_passes::driver::context::{ImportOptions, PassContext};
#[doc(inline)]
pub use shardc_passes::driver::pass_options::{PassOption, PassOptions};
#[doc(inline)]
pub use shardc_passes::driver::passes::{PASSES, Pass, PassResult, Precondition, find};
#[doc(inline)]
pub use shardc_passes::driver::pipeline::{Flow, Observer, PassRun, Pipeline, Step, with_planning};
#[doc(inline)]
pub use shardc_passes::propagate::{
    AnnotationSource, Arrival, AxisRole, Chain, PropagateOptions, PropagateReport, PropagationStrategy,
    Provenance, Round, Subject,
};
#[doc(inline)]
pub use shardc_passes::rules::registry::RuleRegistry;
#[doc(inline)]
pub use shardc_passes::transforms::inline::CallSites;

use crate::Error;

/// Runs passes on a module in order and returns the warnings. A pass is `name` or `name{option=value}`, as in `shardc opt --passes`. The
/// module is verified before the first pass and after each pass. The program is in replica mode.
///
/// # Errors
/// No pass has a given name (SH0395), the module does not meet a pass's requirements (SH0391), or a pass fails. The module must not be used
/// afterwards.
pub fn run(module: &mut Module, passes: &[&str]) -> Result<Vec<Diagnostic>, Error> {
    run_with(module, passes, SpmdMode::default(), &mut ())
}

/// Runs passes as [`run`] does, with an observer, in replica or partition mode (`mode`).
///
/// # Errors
/// The errors of [`run`], and of the observer.
pub fn run_with(
    module: &mut Module,
    passes: &[&str],
    mode: SpmdMode,
    observer: &mut dyn Observer,
) -> Result<Vec<Diagnostic>, Error> {
    let steps = passes.iter().map(|text| text.parse()).collect::<Result<Vec<Step>, Diagnostic>>()?;
    let steps = with_planning(steps);
    shardc_ir::verify(module)?;
    let mut context = PassContext::new(mode, PassOptions::default());
    let mut warnings = Vec::new();
    for (mut number, step) in steps.into_iter().enumerate() {
        let step = [step];
        let (flow, more) =
            shardc_passes::driver::pipeline::run(&step, module, &mut context, None, &mut number, observer)?;
        warnings.extend(more);
        if flow == Flow::Stop {
            break;
        }
        shardc_ir::verify(module)?;
    }
    Ok(warnings)
}
