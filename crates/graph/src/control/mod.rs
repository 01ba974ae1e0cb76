//! Control flow, with closures: loops, scans and branches.
//!
//! A closure may capture tensors. In loops, captured tensors become loop-carried values; branches read them directly.

mod branches;
mod loops;
mod scan;

pub use scan::ScanOptions;
