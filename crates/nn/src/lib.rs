//! # shardc-nn: models and training steps
//!
//! Internal: this crate may change in any release. Front ends use `shardc_train::nn`, which exports the same names.
//!
//! A model is a Rust function that takes a [`Scope`] and tensors; the scope creates its variables by name. [`Scope::finish`] returns a
//! [`StepProgram`]: the variables (parameters, optimizer state, running statistics, counters) are arguments and results of the
//! program, along with inputs and metrics.
//!
//! ```
//! use shardc_graph::{DType::{F32, I32}, Graph, Mesh, spec};
//! use shardc_nn::{Init, Kind, Scope};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mesh = Mesh::new(&[("data", 4), ("model", 2)])?;
//! let g = Graph::new("step", &mesh);
//! let p = Scope::new(&g);
//! let x = g.parameter("x", [32, 64], F32).mark_sharding(spec!["data", None]);
//! let w = p.at("dense").parameter("kernel", [64, 16], Init::zeros());
//! let steps = p.variable("steps", Kind::Counter, (), I32, Init::zeros());
//! let loss = x.dot(w).square().mean(..);
//! for (param, gradient) in p.trainable().into_iter().zip(p.gradients(loss)) {
//!     p.set(&param.name, param.tensor - 0.1 * gradient);
//! }
//! p.set("steps", steps + 1);
//! let step = p.finish(&[("loss", loss)])?;
//! assert_eq!(step.variables.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["dense.kernel", "steps"]);
//! assert_eq!(step.inputs[0].name, "x");
//! # Ok(())
//! # }
//! ```
//!
//! This crate does no input or output.

mod init;
mod initializer;
pub mod layers;
mod lora;
pub mod loss;
pub mod models;
mod nf4;
pub mod optim;
mod policy;
mod program;
pub mod sample;
mod scope;
mod unit;
mod values;
mod variable;

pub use init::{Distribution, Fan, Init, OfWeights};
pub use nf4::{Nf4, Quantized};
pub use policy::Policy;
pub use program::{Port, StepProgram};
pub use scope::Scope;
pub use shardc_strategy::{Bias, Layers, Lora, Parameters, Patterns, Targets};
pub use variable::{Kind, Maps, Param, Variable};
