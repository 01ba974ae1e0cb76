//! # shardc-passes: what is done to a program
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! One pass per file; each is a plain function over a [`shardc_ir::Module`]. The folders are rooms; a room uses only those
//! above it in this list:
//!
//! * [`report`], [`sharding`], [`analysis`]: what everybody asks;
//! * [`transforms`]: rewrites that are not about sharding;
//! * [`rules`]: the sharding rule of each operation;
//! * [`propagate`]: a sharding for every value; [`manual`]: bodies that are written for one device;
//! * [`annotations`], [`gspmd`]: what people and other compilers say about shardings;
//! * [`cost`], `windows`, [`reshard`]: what moving data costs, and how it is moved;
//! * [`plan`], [`localize`], [`collectives`]: how each operation is done by all devices;
//! * [`driver`]: the order of passes; [`lint`]: what a program's annotations probably do not mean;
//! * [`internal`]: what `shardc-shardy` and `shardc-graph` read besides passes.

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
