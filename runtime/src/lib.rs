//! shardc's runtime: compiles and runs partitioned programs through PJRT.
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! | module | contents |
//! |---|---|
//! | [`plugin`] | finds, installs and loads PJRT plugins (the shared libraries with XLA for one kind of device) |
//! | [`Client`], [`Device`], [`Buffer`] | a set of devices, and arrays on them |
//! | [`LoadedExecutable`], [`CompileOptions`] | a program compiled for those devices, and its execution |
//! | [`Execution`] | a started execution, which may be unfinished |
//! | [`aot`] | compiles for devices that this machine need not have, and reports memory, cost and collectives |
//! | [`CompileCache`] | a cache of compiled programs in a folder |
//! | [`doctor`] | checks the health of plugins |
//! | [`HostArray`] | an array in this process's memory: generation, slicing, comparison |
//! | [`ShardLayout`] | the block of a global array on each device; sharding and gathering |
//! | [`ShardedArray`] | a global array as blocks on devices |
//! | [`processes`] | jobs of several processes: finding each other, detecting lost processes, exchanging bytes |
//! | [`memory`] | this machine's memory, and the memory that an execution needs |
//! | [`mismatch`] | differences between inputs and a program's parameters |
//! | [`hlo`] | the collectives of an optimized program, with the bytes that one device sends |
//!
//! # Invariants
//!
//! - `unsafe` is only in `ffi`; the layers above own their handles and cannot outlive their plugin, because a loaded plugin is
//!   never unloaded.
//! - Every public type is `Send + Sync` if its C API is thread-safe: clients, buffers, executables.
//! - Nothing here reads the process's environment implicitly, except the plugins themselves; lookups take an explicit
//!   [`Environment`].
//! - An invalid program, a missing plugin or a truncated file is a [`RuntimeError`], never a panic. A TPU compiler that aborts ends its
//!   process, so [`aot::compile_in_child`] runs it in a separate process.
//!
//! # Example
//!
//! ```no_run
//! use shardc_runtime::{Client, ClientOptions, CompileOptions, Environment, HostArray, Plugin, PluginKind, plugin};
//!
//! # fn main() -> Result<(), shardc_runtime::RuntimeError> {
//! plugin::quiet_plugin_logs();
//! let found = plugin::find(PluginKind::Cpu, &Environment::from_process())?;
//! let client = Client::new(&Plugin::load(&found.path)?, ClientOptions { cpu_device_count: Some(8) })?;
//! let program = client.compile(b"module { ... }", &CompileOptions::replicas(8))?;
//! let x = HostArray::random(1, shardc_ir::DType::F32, &[4, 2])?;
//! let arguments = client.devices()[..8]
//!     .iter()
//!     .map(|device| Ok(vec![client.buffer_from_host(&x, device)?]))
//!     .collect::<Result<Vec<_>, shardc_runtime::RuntimeError>>()?;
//! let results = program.execute(&arguments)?;
//! let first = results[0][0].to_host()?;
//! # let _ = first;
//! # Ok(())
//! # }
//! ```

pub mod aot;
mod array_type;
mod cache;
mod client;
mod device;
mod device_layout;
pub mod doctor;
mod error;
mod executable;
mod execution;
mod ffi;
mod health;
pub mod hlo;
mod host;
mod launcher;
mod layout;
pub mod memory;
pub mod mismatch;
mod options;
mod placement;
pub mod plugin;
mod plugin_options;
pub mod processes;
pub mod scratch;
mod sharded;
mod signature;

pub use array_type::ArrayType;
pub use cache::CompileCache;
pub use client::Client;
pub use device::{Buffer, Device, DeviceMemory};
pub use device_layout::DeviceLayout;
pub use error::{ErrorClass, PjrtCode, Result, RuntimeError};
pub use executable::{Cost, ExecuteOptions, LoadedExecutable, MemoryStats};
pub use execution::{Execution, ExecutionTimes};
pub use host::{Difference, HostArray, HostElement};
pub use layout::{LOUD_PADDING, ReplicaDisagreement, ShardLayout};
pub use memory::{MemoryLimit, MemoryNeed};
pub use options::{CompileOptions, OptionValue};
pub use placement::Placement;
pub use plugin::{Environment, Plugin, PluginKind};
pub use plugin_options::{ClientOptions, CudaAllocator, CudaOptions, MAX_CPU_DEVICES, PluginOptions};
pub use processes::{ProcessOptions, Processes, Secret};
pub use sharded::{BlockRequest, ShardedArray};
