//! # shardc-train: training with shardc
//!
//! [`nn`] builds models and training steps on [`shardc::graph`]. A [`Step`] is compiled once, and its [`State`] stays on the devices.
//!
//! ```
//! use shardc::graph::{DType::F32, Graph, Mesh, spec};
//! use shardc::{Compiler, Error};
//! use shardc_train::nn::{Init, Scope};
//! use shardc_train::{HostArray, Step};
//! # use shardc::runtime::{Client, ClientOptions, Environment, Plugin, PluginKind, plugin};
//!
//! # fn main() -> Result<(), Error> {
//! // A step of gradient descent towards w = 3, sharded over four devices.
//! let mesh = Mesh::new(&[("data", 4)])?;
//! let g = Graph::new("step", &mesh);
//! let p = Scope::new(&g);
//! let x = g.parameter("x", [8], F32).mark_sharding(spec!["data"]);
//! let w = p.parameter("w", [8], Init::zeros()).mark_sharding(spec!["data"]);
//! let loss = (w - 3 * x).square().sum(..);
//! p.set("w", w - 0.25 * p.gradients(loss)[0]);
//! let program = p.finish(&[("loss", loss)])?;
//!
//! # let Ok(found) = plugin::find(PluginKind::Cpu, &Environment::from_process()) else { return Ok(()) };
//! # let plugin = Plugin::load(&found.path)?;
//! let client = Client::new(&plugin, ClientOptions { cpu_device_count: Some(4) })?;
//! let step = Step::compile(&client, &Compiler::new(), program)?;
//! let mut state = step.init(0)?;
//! let x = HostArray::from_slice(&[1.0f32; 8], &[8])?;
//! let mut last = f64::MAX;
//! for _ in 0..30 {
//!     last = step.run(&mut state, &[("x", &x)])?.scalar("loss")?;
//! }
//! assert!(last < 1e-12);
//! assert_eq!(state.get("w")?.to_f64_vec(), [3.0; 8]);
//! # Ok(())
//! # }
//! ```
//!
//! * [`nn`]: layers, losses, models, optimizers;
//! * [`data`], [`loader`]: data sets, and batches of them on the devices;
//! * [`strategy`]: FSDP and ZeRO for these steps;
//! * [`checkpoint`]: sharded checkpoints of their states;
//! * [`pretrained`]: weights and adapters of published models.
//!
//! This crate and `shardc` are the public API, whose changes are in the change log.
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | adds |
//! |---|---|
//! | `images` | data sets of JPEG and PNG files |
//! | `s3`, `gcs`, `azure` | checkpoints in object stores |
//! | `mlir` | programs as MLIR bytecode, which plugins read faster; needs LLVM 22 |

/// Tests that the programs in these pages compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/MODELS.md")]
#[doc = include_str!("../../../docs/tasks/checkpoints.md")]
#[doc = include_str!("../../../docs/tasks/fsdp.md")]
#[doc = include_str!("../../../docs/tasks/lora-70b.md")]
#[doc = include_str!("../../../docs/tasks/sharding-rule.md")]
struct Pages;

mod adapters;
mod adopt;
pub mod checkpoint;
pub mod loader;
mod meter;
mod metrics;
pub mod pretrained;
mod state;
mod step;
pub mod strategy;
mod times;

pub use adopt::Adopted;
pub use loader::{Loader, LoaderOptions, Position};
pub use meter::{Meter, Speed};
pub use metrics::Metrics;
pub use shardc_runtime::HostArray;
pub use state::State;
pub use step::{Feed, Step};
pub use times::{Spread, StepTimes, TimesReport, Timings};

/// Models and training steps for the graph builder.
pub mod nn {
    #[doc(inline)]
    pub use shardc_nn::*;
}

/// Data sets for training.
pub mod data {
    #[doc(inline)]
    pub use shardc_data::*;
}
