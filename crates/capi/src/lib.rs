//! The C interface of shardc.
//!
//! `include/shardc.h` is the interface: objects, structs that carry their size, and functions from bytes to bytes. `include/shardc.hpp` wraps
//! it for C++. The functions are in `ffi`; the other modules are what they do, in safe Rust. Programs are read and compiled on a thread of
//! their own, whose stack is large enough for deeply nested programs; a panic there is an internal error (SH0902) of the call.

#![allow(unreachable_pub, reason = "cbindgen writes public items to the header")]

mod diagnostics;
mod failure;
mod ffi;
mod options;
mod program;
mod report;
mod text;
mod words;
mod worker;
