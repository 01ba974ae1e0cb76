//! # shardc-analysis: sharding rules, propagation, and passes before planning
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! The passes here do not depend on the costs of a partition. `shardc-passes` re-exports all modules and adds planning and lowering. The
//! directories are *rooms*, the top-level modules of the crate (see `docs/ARCHITECTURE.md`). A room uses only rooms that precede it in this
//! list:
//!
//! * [`report`], [`sharding`], [`analysis`]: warnings, accessors of shardings, and analyses for all other rooms;
//! * [`rules`]: the sharding rule of each operation;
//! * [`transforms`]: rewrites that do not depend on propagation;
//! * [`propagate`]: sharding propagation; [`manual`]: manual computations (bodies with per-device shapes);
//! * [`annotations`], [`gspmd`]: import of annotations from options and from GSPMD.

pub mod analysis;
pub mod annotations;
pub mod gspmd;
pub mod manual;
pub mod propagate;
pub mod report;
pub mod rules;
pub mod sharding;
pub mod transforms;
