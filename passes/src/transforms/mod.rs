//! Rewrites that are not about sharding: inlining, dead code, common subexpressions, decomposition of operations into
//! others, and what back ends want.

mod across_processes;
pub mod batch_indices;
pub(crate) mod clone_functions;
mod complex_sums;
pub(crate) mod cse;
pub mod dce;
mod dead_carries;
pub mod decompose;
pub mod dense_exchange;
mod dense_ragged;
pub mod diagonals;
mod donated_once;
mod expand_elementwise;
pub mod fold_edges;
pub mod fold_pads;
pub mod fold_reshapes;
mod foreign_attributes;
pub mod fused_parts;
mod gradient_layouts;
pub mod group_form;
mod initial_values;
pub mod inline;
mod layout_constraint;
pub mod legalize_backend;
pub mod merge_reductions;
mod one_memory;
mod order_collectives;
pub mod refine_shapes;
mod rooted_collectives;
mod row_major_fft;
pub mod unquantize;
mod whole_to_host;
mod wide_products;
