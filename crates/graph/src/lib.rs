//! # shardc-graph: tensor programs in Rust
//!
//! Internal: this crate may change in any release. Front ends use `shardc::graph`, which exports the same names.
//!
//! A [`Graph`] is written as if for one large device. [`Tensor::mark_sharding`] annotates a few tensors with shardings over a [`Mesh`] of
//! devices; propagation infers the rest. [`Graph::finish`] returns a [`shardc_ir::Module`], the input of the compiler.
//!
//! ```
//! use shardc_graph::{DType::F32, Graph, Mesh, spec};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mesh = Mesh::new(&[("data", 4), ("model", 2)])?;
//! let g = Graph::new("step", &mesh);
//! let x = g.parameter("x", [8, 4], F32).mark_sharding(spec!["data", None]);
//! let w = g.parameter("w", [4, 16], F32).mark_sharding(spec![None, "model"]);
//! let b = g.parameter("b", [16], F32);
//! let y = (x.dot(w) + b).tanh();
//! let loss = (y * 0.5).square().mean(..);
//! let [dw, db] = g.grad(loss, &[w, b]);
//! let module = g.finish(&[("loss", loss), ("w", w - 0.1 * dw), ("b", b - 0.1 * db)])?;
//! assert_eq!(module.funcs.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! Shapes broadcast as in NumPy; there is no implicit type promotion ([`Tensor::to`] converts). An invalid operation is recorded with the
//! Rust line that called it, and [`Graph::finish`] returns all such errors (each method documents the errors that it "reports"):
//!
//! ```
//! # use shardc_graph::{DType::F32, Graph, Mesh};
//! # let mesh = Mesh::new(&[("data", 8)]).unwrap();
//! let g = Graph::new("step", &mesh);
//! let x = g.parameter("x", [8, 4], F32);
//! let y = x.dot(x).tanh() + x;
//! let z = x.sum(2);
//! let errors = g.finish(&[("y", y), ("z", z)]).unwrap_err();
//! let messages: Vec<String> = errors.0.iter().map(|error| error.kind.to_string()).collect();
//! assert_eq!(
//!     messages,
//!     [
//!         "dot: incompatible shapes [8, 4] and [8, 4]",
//!         "sum: invalid dimensions [2] for a tensor of shape [8, 4]",
//!     ]
//! );
//! ```
//!
//! A [`Placement`] lists the block of a tensor that each device holds, and [`Placement::picture`] draws it:
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

mod axes;
mod control;
mod derivative;
mod error;
mod graph;
mod mesh;
mod number;
mod operand;
mod ops;
mod picture;
mod placement;
mod random;
mod shard;
mod spec;

pub use axes::Axes;
pub use control::ScanOptions;
pub use error::{ErrorKind, GraphError, GraphErrors, OperandNote};
pub use graph::{Graph, IntoShape, RegionBody, Tensor, Tree};
pub use mesh::Mesh;
pub use number::Element;
pub use operand::Operand;
pub use ops::{Conv, DotDims, OutOfBounds, Padding, SliceRange};
pub use placement::{DeviceBlock, Placement, placement, placement_of, visualize_sharding};
pub use random::Key;
pub use shard::{AxisNames, AxisRules, ShardingSpec};
pub use shardc_autodiff::Keep;
pub use shardc_ir::{
    Attr, AttrDict, BinaryOp, CompareDirection, DType, FftKind, GatherSpec, OpKind, ScatterSpec,
    Transposition, TriangularSpec, UnaryOp,
};
pub use spec::{AxisName, DimSpec, PartitionSpec};
