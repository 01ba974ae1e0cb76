//! # shardc-interpreter: runs StableHLO and CHLO programs without a plugin
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! A [`Program`] is a verified [`Module`](shardc_ir::Module) with [`Options`]. [`Program::call`] runs a function on one device, and
//! [`Program::run`] runs one function per device of a [`Grid`] of replicas and partitions.
//!
//! ```
//! use shardc_interpreter::{Array, Ieee, Options, Program, Value};
//! use shardc_ir::DType;
//!
//! let text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
//!   %0 = stablehlo.add %x, %x : tensor<2xf32>
//!   return %0 : tensor<2xf32>
//! }";
//! let module = shardc_stablehlo::parse(text).map_err(|errors| format!("{errors:?}"))?;
//! let program = Program::<Ieee>::new(&module, Options::default());
//! let x = Array::from_bytes(&[2], DType::F32, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40])?;
//! let results = program.call(module.entry().ok_or("no main")?, vec![Value::Array(x)])?;
//! assert_eq!(results[0].as_array().map(Array::to_f64_vec), Some(vec![2.0, 4.0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ## Values
//!
//! An [`Array`] has a shape, an element type and one typed vector, [`Data`]: no element is boxed or tagged. Integers narrower than 8 bits are
//! stored in 8 bits, and floats narrower than `f32` in `f32`. An operation computes in the storage type; its result is then wrapped or rounded
//! to the element type. Arrays share their elements: a reshape copies nothing, and an operation that uses a value for the last time may change
//! it in place. Quantized tensors are arrays of their storage integers. An operation that computes with real numbers dequantizes its operands
//! and quantizes its results; other operations move the integers.
//!
//! ## Domains
//!
//! A [`Domain`] chooses the scalars that represent floats. Kernels are generic over it.
//!
//! * [`Ieee`] is the arithmetic of the specification. Functions such as the exponential are computed in `f64` by `libm` and rounded, so that
//!   results do not depend on the machine. `dot_general` and `convolution` accumulate floats narrower than `f32` in `f32` and round once;
//!   every other operation, also in a reducer, rounds each result.
//! * [`Exact`] represents floats as elements of a prime [`Field`]. Sums and products do not depend on their order, so that two programs that
//!   differ only by a rearrangement of sums, such as a program and its partition, have bitwise equal results. A program that computes
//!   something else has different results, except with a probability of about 2^-61 per element. [`Field`] documents conversions, the order
//!   and functions.
//! * [`Dual`] adds to the values of [`Exact`] their derivatives along a direction. The tangents of functions follow from the definitions of
//!   their derivatives, so that they check gradients independently of automatic differentiation.
//!
//! ## Devices
//!
//! Each device of a run has its own thread and walks the operations of its function. Devices meet in collectives: a device that arrives waits
//! until the group is complete. Devices may take different branches, and loops may run a different number of times, as long as the devices of
//! each group execute the same collectives. If all running devices wait, each of them fails with [`Fault::Deadlock`]. A failing device ends
//! the devices that wait for it.
//!
//! A program on global values is one that is not partitioned: its shardings and the collectives between them do not change values. If it has
//! manual computations, [`Program::call`] runs it on all devices of their mesh. A manual computation takes the shards of its operands, and
//! assembles the global results.
//!
//! ## Regions
//!
//! Regions of control flow are evaluated with the values of their function. Regions that combine scalars (reducers, comparators) are evaluated
//! on arrays: a scalar becomes an array with one element per reduction, window or update. Known reductions have a kernel of their own.
//!
//! ## Limits and errors
//!
//! An [`Error`] has the operation, its location, the device, and a [`Fault`]. [`Options`] limit work and memory, and have the
//! [`Interrupt`](shardc_ir::Interrupt). No input ends the process: nesting is limited, and a panic in a kernel becomes
//! [`Fault::Internal`]. A [`Handler`] evaluates custom calls and operations of other dialects.
//!
//! ## Rooms
//!
//! `numbers` has the scalars, `array` the arrays, and `kernels` the operations on arrays, one file per family. `eval` walks regions and calls
//! kernels. `meeting` is the point where devices meet. `plan` finds last uses, `program` has the
//! types of the interface, and `run` starts devices. `blocks` cuts arrays into shards, and `compiled` lists the domains.
//!
//! Sources: StableHLO specification; CHLO's documentation.

mod array;
mod blocks;
mod compiled;
mod error;
mod eval;
mod kernels;
mod meeting;
mod numbers;
mod options;
mod plan;
mod program;
mod run;
mod value;

pub use array::{Array, Data, Dims};
pub use compiled::Compiled;
pub use error::{Error, Fault};
pub use numbers::{Complex, Domain, Dual, DualField, Exact, Field, Ieee, Mixer, Number, Real};
pub use options::Options;
pub use program::{Foreign, Grid, Handler, Launch, Observer, Outcome, Program};
pub use value::Value;
