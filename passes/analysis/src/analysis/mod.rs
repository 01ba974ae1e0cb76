//! Analyses of programs. They do not change the program.

pub mod accumulated;
pub mod call_graph;
pub mod carried;
pub mod device_scalars;
pub mod elementwise;
pub mod gradient_orders;
pub mod host_memory;
pub mod inlined_size;
pub mod integer_fold;
pub mod linear;
pub mod linear_forms;
pub mod regions;
pub mod symbols;
pub mod tiles;
pub mod trip_count;

pub use shardc_ir::reducer;
