//! # shardc-passes: the passes of the compiler
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! One pass per file; each is a plain function over a [`shardc_ir::Module`]. The directories are *rooms*, the top-level modules of the
//! crate (see `docs/ARCHITECTURE.md`). A room uses only rooms that precede it in this list:
//!
//! * [`report`], [`sharding`], [`analysis`]: warnings, accessors of shardings, and analyses for all other rooms;
//! * [`transforms`]: rewrites that are independent of sharding;
//! * [`rules`]: the sharding rule of each operation;
//! * [`propagate`]: sharding propagation; [`manual`]: manual computations (bodies with per-device shapes);
//! * [`annotations`], [`gspmd`]: import of annotations from options and from GSPMD;
//! * [`cost`], `windows`, [`reshard`]: the cost model, halo exchanges and resharding;
//! * [`plan`], [`localize`], [`collectives`]: planning, SPMD lowering, and clean-up and verification of collectives;
//! * [`driver`]: the pass pipeline; [`lint`]: annotations that are probably mistakes;
//! * [`internal`]: functions for `shardc-shardy` and `shardc-graph`.

pub mod analysis;
pub mod annotations;
pub mod collectives;
pub mod cost;
pub mod driver;
pub mod gspmd;
pub mod internal;
pub mod lint;
pub mod localize;
pub mod manual;
pub mod plan;
pub mod propagate;
pub mod report;
pub mod reshard;
pub mod rules;
pub mod sharding;
pub mod transforms;
mod windows;
