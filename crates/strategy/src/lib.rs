//! # shardc-strategy: whole training steps over many devices
//!
//! Internal: this crate may change in any release. Front ends use `shardc::strategy`.
//!
//! A training step has no annotation. What it takes and gives is classed ([`roles()`]), its parameters are put into units that are
//! gathered together, and each argument and result gets a sharding, so that the compiler makes of the step what FSDP, ZeRO or
//! tensor parallelism would.
//!
//! This crate does no input or output, reads no environment and has no global state.

mod apply;
mod roles;
mod settings;

pub use apply::apply;
pub use roles::{Argument, Role, Roles, Said, UnknownRole, roles};
pub use settings::{Prefetch, Settings, Sharding, StateDict, Wrap};
