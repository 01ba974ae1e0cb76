//! The one place with `unsafe`: the PJRT C API, the dynamic loader and the process's environment.
//!
//! - `abi`: the layout of the C structures and the numbers of the functions, for what shardc calls and no more.
//! - `api`: a loaded plugin: the checked call, and errors.
//! - `element_types`: element types and their numbers.
//! - `handles`: owning, `Send + Sync` wrappers of a client and what lives on it, whose methods are safe.
//! - `executables`: the same for executables.
//! - `xla_abi`, `incoming`, `calls`: functions of this process that compiled programs call.
//! - `key_values`: the store of a job of several processes, as a plugin calls it.
//! - `layouts`: memory layouts of parameters and buffers.
//! - `launch`: how a program is started on all its devices and waited for.
//! - `transfer`: how bytes of the host are copied to a device, and who keeps them until that is done.
//! - `process`: the two things about this process that Rust rates unsafe.
//!
//! Nothing outside this directory sees a raw pointer.

#![allow(unsafe_code, reason = "plugins are C, and nothing checks what crosses to C but what stands here")]

mod abi;
mod api;
mod calls;
mod element_types;
mod executables;
mod handles;
mod incoming;
mod key_values;
mod launch;
mod layouts;
mod process;
mod transfer;
mod xla_abi;

pub(crate) use api::{Api, FUNCTIONS};
pub(crate) use calls::register as register_calls;
pub(crate) use executables::{Across, RawExecutable, RawProgram, RawTopology};
pub(crate) use handles::{RawBuffer, RawClient, RawDevice};
pub(crate) use launch::{LaunchOptions, launch};
pub(crate) use process::{add_option_to_environment, set_environment_defaults};
