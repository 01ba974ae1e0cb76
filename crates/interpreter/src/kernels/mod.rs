//! Operations on arrays, one file for each family. Kernels know shapes and elements, but neither regions nor devices.

pub(crate) mod bits;
pub(crate) mod convert;
pub(crate) mod convolution;
pub(crate) mod dot;
pub(crate) mod einsum;
pub(crate) mod elementwise;
pub(crate) mod fft;
pub(crate) mod gather;
pub(crate) mod linalg;
pub(crate) mod matmul;
pub(crate) mod moves;
pub(crate) mod norm;
pub(crate) mod quant;
pub(crate) mod reduce;
pub(crate) mod rng;
pub(crate) mod scatter;
pub(crate) mod top_k;
pub(crate) mod windows;
