//! Resharding: lowers a change of sharding to collectives.
//!
//! `search` finds the cheapest sequence of collectives as a shortest path in a graph of shardings (following "Memory-efficient array
//! redistribution through portable collective communication", arXiv 2112.01075). [`lower_reshards`] replaces every
//! [`OpKind::Reshard`](shardc_ir::OpKind::Reshard) of a planned module by that sequence, still on global shapes.

mod addends;
mod exchange;
mod lower;
mod moves;
#[cfg(test)]
mod pairs;
mod path;
mod search;
mod shortest;
#[cfg(test)]
mod simulate;
mod traffic;

pub(crate) use exchange::{Exchange, Round};
pub use lower::lower_reshards;
pub(crate) use path::ReshardStep;
pub(crate) use search::Planner;
pub(crate) use traffic::path_bytes;
pub use traffic::{Traffic, traffic};
