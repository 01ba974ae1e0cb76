//! Analyses of programs. They do not change the program.

pub(crate) mod accumulated;
pub(crate) mod call_graph;
pub mod carried;
pub(crate) mod device_scalars;
pub(crate) mod elementwise;
pub(crate) mod gradient_orders;
pub(crate) mod host_memory;
pub(crate) mod inlined_size;
pub(crate) mod integer_fold;
pub mod linear;
pub(crate) mod linear_forms;
pub mod regions;
pub(crate) mod symbols;
pub(crate) mod tiles;
pub(crate) mod trip_count;

pub use shardc_ir::reducer;
