//! # shardc-target: accelerators as data
//!
//! Internal: this crate may change in any release. Front ends use `shardc::target`.
//!
//! A [`TargetSpec`] is one kind of device: peak rates, memory, links, and the properties of its compiler that decide how much memory a program
//! needs. A [`Target`] is a number of these devices in a grid: a TPU slice, several slices, or hosts with GPUs. Planning, the estimates of
//! memory and time, and ahead-of-time compilation read these rows, and contain no constants of a device.
//!
//! To add a device, add a row to the table in `rows/`, or describe it in a TOML file (`Target::from_toml`, with the feature `files`).

#[cfg(feature = "files")]
mod file;
mod grid;
mod group;
mod order;
mod rows;
mod spec;
mod target;
mod traffic;

pub use group::Group;
pub use order::{AxisTraffic, DeviceOrder, best_order};
pub use rows::{CPU, SPECS, V5E, find, names, unknown_hint, usual};
pub use spec::{
    CompilerModel, DeviceKind, GpuDescription, Link, Network, Number, Peaks, PlanningRates, TargetSpec,
};
pub use target::{DevicesError, Target, TargetError};
pub use traffic::Traffic;
