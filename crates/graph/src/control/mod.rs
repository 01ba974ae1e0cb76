//! Control flow, with closures: loops, scans and branches.
//!
//! A closure may read tensors from around it. A loop carries them along; branches read them where they are.

mod branches;
mod loops;
mod scan;

pub use scan::ScanOptions;
