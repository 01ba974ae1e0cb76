//! # shardc-passes: what is done to a program
//!
//! One pass per file; each is a plain function over a [`shardc_ir::Module`].

pub mod annotate;
mod axes;
pub mod backend;
mod calls;
pub mod collectives;
mod cost;
pub mod expand;
pub mod fold_pads;
mod forward;
pub mod gspmd;
pub mod inline;
mod inline_size;
pub mod lint;
pub mod localize;
pub mod manual;
pub mod memory;
pub mod merge_reductions;
mod merge_same;
pub mod names;
pub mod partition;
pub mod pass_options;
pub mod pipeline;
mod places;
pub mod plan;
mod preconditions;
pub mod propagate;
pub mod reducer;
pub mod remesh;
pub mod reshard;
pub mod rule;
pub mod rules;
mod shardings;
pub mod shardy;
pub mod strategy;
pub mod structure;
pub mod summary;
pub mod sweep;
mod symbols;
mod trips;
pub mod units;
pub mod unquantize;
pub mod warnings;
mod windows;
