//! Sharded checkpoints of arrays on devices. The crate `shardc-train` saves and restores the state of a training step.
//!
//! A checkpoint is written in Orbax's format with `use_ocdbt=False, use_zarr3=True`: Zarr arrays, with one file for each shard, and
//! metadata. All of Orbax's formats are read. A checkpoint can be restored onto a different mesh, strategy and number of processes. Saves
//! are atomic: after an interrupted save the earlier checkpoints are unchanged. `docs/CHECKPOINTS.md` is the guide.
//!
//! ```
//! use shardc::checkpoint::{Alone, Checkpoint, Fit, Info, Saving, Store};
//! use shardc::checkpoint::{array_parts, blocks_of, restore_arrays, save_parts, sharding_of};
//! use shardc::exec::{Program, random_inputs};
//! use shardc::{Compiler, Error};
//! # use shardc::runtime::{Client, ClientOptions, Environment, Plugin, PluginKind, plugin};
//!
//! # fn main() -> Result<(), Error> {
//! let source = br#"
//!   sdy.mesh @mesh = <["data"=4]>
//!   func.func @main(%w: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<6xf32> {
//!     return %w : tensor<6xf32>
//!   }
//! "#;
//! let output = Compiler::new().partition(source)?;
//! # let Ok(found) = plugin::find(PluginKind::Cpu, &Environment::from_process()) else { return Ok(()) };
//! # let plugin = Plugin::load(&found.path)?;
//! let client = Client::new(&plugin, ClientOptions { cpu_device_count: Some(4) })?;
//! let program = Program::partitioned(&client, &output)?;
//! let arrays = program.put(&client, &random_inputs(&output.interface, 0)?)?;
//!
//! let store = Store::memory()?;
//! let sharding = sharding_of(&output.interface, &output.interface.inputs[0]);
//! let saving = Saving { name: "w", array: &arrays[0], sharding: Some(sharding) };
//! let parts = array_parts(&[saving], &Info::default(), &Alone)?;
//! save_parts(&store, "run/1", &parts, &blocks_of(|_| arrays.first()), &Alone, None)?;
//!
//! let saved = Checkpoint::open(&store, "run/1")?;
//! let (placement, ports) = (program.executable().placement(), [("w".to_owned(), &program.inputs()[0])]);
//! let restored = restore_arrays(&saved, &client, placement, &ports, &Fit::default())?;
//! assert_eq!(restored[0].as_ref().map(|array| array.to_host()).transpose()?, Some(arrays[0].to_host()?));
//! # Ok(())
//! # }
//! ```

mod arrays;
mod processes;

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
