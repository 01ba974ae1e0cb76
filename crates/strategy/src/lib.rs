//! # shardc-strategy: whole training steps over many devices
//!
//! Internal: this crate may change in any release. Front ends use `shardc::strategy`.
//!
//! A training step has no annotation. What it takes and gives is classed ([`roles()`]), and each argument and result gets a sharding
//! ([`apply()`]), so that the compiler makes of the step what FSDP, ZeRO or plain data parallelism would.
//!
//! This crate does no input or output, reads no environment and has no global state.

mod accelerate;
mod apply;
mod checkpointing;
mod flow;
mod formulas;
mod lora;
mod roles;
mod settings;
mod stacked;
mod units;
mod words;

pub use accelerate::{Accelerate, ModelSettings, Question, next_question, written};
pub use apply::{apply, apply_units};
pub use formulas::{Kept, PerParameter, Sent, kept, sent};
pub use lora::{
    Adapted, Adapter, Bias, Layers, LinearMap, Lora, Parameters, Patterns, Reform, Side, Step, Targets,
    TargetsError, adapt,
};
pub use roles::{Argument, Role, Roles, Said, UnknownRole, roles};
pub use settings::{Prefetch, Settings, Sharding};
pub use units::{Part, Units, Wrap};
