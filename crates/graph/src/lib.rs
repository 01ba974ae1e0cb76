//! # shardc-graph: tensor programs in Rust
//!
//! Internal: this crate may change in any release. Front ends use `shardc::graph`, which names the same.
//!
//! A [`Graph`] is written for one big device. [`Graph::mark_sharding`] says of a few tensors how they are split
//! over a [`Mesh`] of devices; propagation finds the rest. [`Graph::finish`] gives a [`shardc_ir::Module`], which
//! the compiler takes.
//!
//! ```
//! use shardc_graph::{DType, Graph, Mesh, spec};
//!
//! # fn main() -> Result<(), shardc_graph::GraphError> {
//! let mesh = Mesh::new(&[("data", 4), ("model", 2)])?;
//! let mut g = Graph::new("step", mesh);
//! let x = g.parameter("x", [8, 4], DType::F32)?;
//! let w = g.parameter("w", [4, 16], DType::F32)?;
//! g.mark_sharding(x, spec!["data", None])?;
//! g.mark_sharding(w, spec![None, "model"])?;
//! let y = g.dot(x, w)?;
//! let y = g.relu(y)?;
//! let scaled = g.mul(y, 0.5)?;
//! let total = g.reduce_sum(scaled, &[0])?;
//! let module = g.finish(&[("y", y), ("total", total)])?;
//! assert_eq!(module.funcs.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! Operations take tensors of equal type. Nothing broadcasts by itself, except that a plain number or a scalar
//! tensor may stand beside a tensor; [`Graph::broadcast_to`] and [`Graph::convert`] say the rest. Every operation
//! remembers the line of Rust that made it, so that diagnostics and `shardc explain` can name it.
//!
//! Which device holds which block of a tensor is a [`Placement`], and [`Placement::picture`] draws it:
//!
//! ```
//! # use shardc_graph::{Mesh, placement, spec};
//! # fn main() -> Result<(), shardc_graph::GraphError> {
//! let mesh = Mesh::new(&[("data", 4), ("model", 2)])?;
//! let held = placement(&mesh, [8, 4], &spec!["data", "model"])?;
//! assert_eq!(held.devices[3].ranges, [2..4, 2..4]);
//! # Ok(())
//! # }
//! ```
//!
//! This crate does no input or output.

mod elementwise;
mod error;
mod graph;
mod mesh;
mod movement;
mod number;
mod picture;
mod placement;
mod reduction;
mod spec;

pub use elementwise::Operand;
pub use error::{ErrorKind, GraphError};
pub use graph::{Graph, Tensor};
pub use mesh::Mesh;
pub use number::Element;
pub use placement::{DeviceBlock, Placement, placement, placement_of};
pub use reduction::DotDims;
pub use shardc_ir::{BinaryOp, CompareDirection, DType, UnaryOp};
pub use spec::{DimSpec, PartitionSpec};
