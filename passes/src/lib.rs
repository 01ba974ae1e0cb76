//! # shardc-passes: the passes of the compiler
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! One pass per file; each is a plain function over a [`shardc_ir::Module`]. The directories are *rooms*, the top-level modules of the
//! crate (see `docs/ARCHITECTURE.md`). Lower crates have the passes before planning ([`shardc_analysis`]) and the cost models
//! ([`cost`]); their modules are re-exported here. A room uses only those, and rooms that precede it in this list:
//!
//! * `windows`, [`reshard`]: halo exchanges and resharding;
//! * [`plan`], [`localize`], [`collectives`]: planning, SPMD lowering, and clean-up and verification of collectives;
//! * [`driver`]: the pass pipeline; [`lint`]: annotations that are probably mistakes;
//! * [`internal`]: functions for `shardc-shardy` and `shardc-graph`.

pub mod collectives;
pub mod driver;
pub mod internal;
pub mod lint;
pub mod localize;
pub mod plan;
pub mod reshard;
mod windows;

pub use shardc_analysis::{
    analysis, annotations, gspmd, manual, propagate, report, rules, sharding, transforms,
};
pub use shardc_cost as cost;
