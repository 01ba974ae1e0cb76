//! Control flow, with closures: loops, scans and branches.
//!
//! A closure may capture tensors. A loop carries captured tensors; branches read them directly.

mod branches;
mod loops;
mod scan;

pub use scan::ScanOptions;
