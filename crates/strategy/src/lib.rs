//! # shardc-strategy: whole training steps over many devices
//!
//! Internal: this crate may change in any release. Front ends use `shardc::strategy`.
//!
//! A training step starts without annotations. [`roles()`] infers the role of each argument, and [`apply()`] annotates each argument and
//! result with a sharding, so that the compiler implements FSDP, ZeRO or data parallelism.
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

pub use accelerate::{Accelerate, ModelSettings, Question, config_text, next_question};
pub use apply::{ApplyStep, AxisPurpose, BATCH_FIRST, THEN_STATE, apply, apply_observed, apply_units};
pub use formulas::{PerParameter, SentBytes, StoredBytes, sent_bytes, stored_bytes};
pub use lora::{
    Adapted, Adapter, Bias, Layers, LinearMap, Lora, Parameters, Patterns, Reform, Side, Step, Targets,
    TargetsError, adapt,
};
pub use roles::{Argument, Role, RoleOverrides, Roles, UnknownRole, roles, roles_of_any};
pub use settings::{Prefetch, Settings, Sharding};
pub use units::{Part, Units, Wrap};
