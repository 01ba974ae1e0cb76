//! Developer commands of shardc (`cargo xtask`), and code that they share with the commands of `shardc-bench`.
//!
//! This crate does not link the compiler, so that it builds in seconds before anything else is built.

#![allow(clippy::print_stdout, reason = "the output of these commands is for people")]

pub mod book;
pub mod capi;
pub mod check;
pub mod demo;
pub mod dist;
mod exact;
pub mod features;
mod files;
pub mod fuzz;
pub mod jax_suite;
pub mod kills;
pub mod one_build;
pub mod pjrt_header;
pub mod plugins;
pub mod process;
pub mod python;
pub mod sanitize;
mod selection;
pub mod setup;
mod slowest;
pub mod sweep;
pub mod wheel;
pub mod workspace;
