//! The one place with `unsafe`: the PJRT C API, the dynamic loader and the process's environment.
//!
//! - `abi`: the layout of the C structures and the numbers of the functions, for what shardc calls and no more.
//! - `api`: a loaded plugin: the checked call, and errors.
//! - `handles`: owning, `Send + Sync` wrappers whose methods are safe.
//! - `process`: the two things about this process that Rust rates unsafe.
//!
//! Nothing outside this directory sees a raw pointer.

mod abi;
mod api;
mod handles;
mod process;

pub(crate) use api::{Api, FUNCTIONS};
pub(crate) use handles::{RawBuffer, RawClient, RawDevice, RawExecutable, RawLoadedExecutable, RawTopology};
pub(crate) use process::set_environment_defaults;
