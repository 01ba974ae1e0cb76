//! The only module of this crate with `unsafe`: the PJRT C API, the dynamic loader and the process's environment.
//!
//! - `abi`: layouts of the C structures, and indices of the functions in the function table, only for the functions that shardc calls.
//! - `api`: a loaded plugin: checked calls, and errors.
//! - `element_types`: element types and their enum values in the C API.
//! - `handles`: owning, `Send + Sync` wrappers of a client and its objects, with safe methods.
//! - `executables`: owning wrappers of executables and programs, with safe methods.
//! - `xla_abi`, `incoming`, `calls`: functions of this process that compiled programs call.
//! - `key_values`: the key-value store of a job of several processes, as callbacks for a plugin.
//! - `layouts`: memory layouts of parameters and buffers.
//! - `launch`: starting a program on all its devices, and waiting for it.
//! - `transfer`: copying host bytes to a device, and keeping them alive until the copy is done.
//! - `process`: changes of environment variables, which are unsafe while other threads run.
//!
//! No code outside this directory sees a raw pointer.

#![allow(unsafe_code, reason = "calls the PJRT C API, which only this module does")]

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
