//! stub
mod array;
mod error;
mod eval;
mod kernels;
mod meeting;
mod numbers;
mod options;
mod plan;
mod program;
mod value;

pub use array::{Array, Data, Dims};
pub use error::{Error, Fault};
pub use numbers::{Complex, Domain, Exact, Field, Ieee, Number, Real};
pub use options::Options;
pub use program::{Foreign, Grid, Handler, Launch, Outcome, Program};
pub use value::Value;
