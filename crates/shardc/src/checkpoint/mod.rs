//! Sharded checkpoints of a training [`State`](crate::train::State), or of any arrays.
//!
//! A checkpoint is written in Orbax's format with `use_ocdbt=False, use_zarr3=True`: Zarr arrays, with one file for each shard, and
//! metadata. All of Orbax's formats are read. A checkpoint can be restored onto a different mesh, strategy and number of processes. Saves
//! are atomic: after an interrupted save the earlier checkpoints are unchanged. `docs/CHECKPOINTS.md` is the guide.
//!
//! ```
//! use shardc::checkpoint::{self, Alone, Checkpoint, Fit, Info, Store};
//! use shardc::graph::{DType::F32, Graph, Mesh, spec};
//! use shardc::nn::{Init, Scope};
//! use shardc::train::{HostArray, Step};
//! use shardc::{Compiler, Error};
//! # use shardc::runtime::{Client, ClientOptions, Environment, Plugin, PluginKind, plugin};
//!
//! fn step(client: &shardc::runtime::Client, devices: i64) -> Result<Step, Error> {
//!     let g = Graph::new("step", &Mesh::new(&[("data", devices)])?);
//!     let p = Scope::new(&g);
//!     let w = p.parameter("w", [6], Init::normal(1.0)).mark_sharding(spec!["data"]);
//!     p.set("w", 2 * w);
//!     Step::compile(client, &Compiler::new(), p.finish(&[("sum", w.sum(..))])?)
//! }
//!
//! # fn main() -> Result<(), Error> {
//! # let Ok(found) = plugin::find(PluginKind::Cpu, &Environment::from_process()) else { return Ok(()) };
//! # let plugin = Plugin::load(&found.path)?;
//! # let client = Client::new(&plugin, ClientOptions { cpu_device_count: Some(4) })?;
//! let four = step(&client, 4)?;
//! let mut state = four.init(0)?;
//! four.run::<&HostArray>(&mut state, &[])?;
//!
//! let store = Store::memory()?;
//! let info = Info { step: Some(1), ..Info::default() };
//! checkpoint::save(&store, "run/1", &four, &state, &info, &Alone)?;
//!
//! // Restores onto two devices, whose blocks differ from those of the four devices.
//! let two = step(&client, 2)?;
//! let restored = checkpoint::restore(&Checkpoint::open(&store, "run/1")?, &two, &Fit::default())?;
//! assert_eq!(restored.get("w")?, state.get("w")?);
//! # Ok(())
//! # }
//! ```

mod arrays;
mod processes;
#[cfg(feature = "train")]
mod state;

pub use arrays::{Saving, array_parts, blocks_of, restore_arrays, sharding_of};
pub use processes::Job;
#[doc(inline)]
pub use shardc_checkpoint::{
    Alone, Checkpoint, CheckpointError, CheckpointManager, Damage, Difference, Entry, Fit, Folder, Info,
    Keep, Key, Leaf, Mismatch, Options, Preemption, Processes, Progress, Read, Region, Retry, Saved,
    Sharding, Slice, Source, StepProgress, Store, Take, Threads, Tree, Wanted, diff, items, reshard, steps,
};
#[doc(inline)]
pub use shardc_checkpoint::{State as StateParts, save as save_parts};
#[cfg(feature = "train")]
pub use state::{parts, reader, restore, restore_into, save};
