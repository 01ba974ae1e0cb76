//! # shardc-checkpoint: sharded checkpoints
//!
//! Internal: this crate may change in any release. Front ends use `shardc::checkpoint`.
//!
//! A state consists of arrays sharded over devices of several processes. [`save`] writes a state; each process writes its own blocks.
//! [`Checkpoint`] reads the regions that each process needs, independently of the sharding with which the arrays were saved.
//! [`CheckpointManager`] manages a folder with a checkpoint for each of several training steps. This crate does not depend on devices,
//! programs or sharded arrays: it uses names, types, shapes, boxes of elements ([`Region`]) and bytes.
//!
//! # The format
//!
//! A checkpoint has the format of Orbax's `PyTreeCheckpointHandler(use_ocdbt=False, use_zarr3=True)`, so JAX, tensorstore and any reader of
//! Zarr v3 can read it. Checkpoints that Orbax wrote can be read in its formats OCDBT (the default), Zarr v2 and Zarr v3. The written files
//! have these contents:
//!
//! * each array is a folder named after the array, with `zarr.json` and a file for each block of its sharding (`c/1/0`). A dimension
//!   that is sharded `k` ways has blocks of `ceil(n / k)` elements; the last may be smaller, and blocks beyond the end are omitted;
//! * a block of more than a mebibyte is divided into tiles (`sharding_indexed`), so that a restore with another sharding reads only
//!   the tiles that it needs. Each tile, and each index of tiles, ends with its CRC-32C;
//! * `_METADATA` contains the pytree with the names of arrays, and `_sharding` their meshes and partition specs. `shardc.json` contains
//!   data that Orbax does not store: sizes of files and checksums of all metadata;
//! * elements of any type of `shardc_ir` are restored bit for bit: see `layout/dtype.rs` for types that Zarr does not name.
//!
//! # Completeness
//!
//! A checkpoint exists only when it is complete. On file systems its folder is renamed as the last step; in object stores
//! `commit_success.txt` is written last. If a process ends at any time, complete checkpoints are unchanged; an incomplete checkpoint is
//! never listed, and the next save deletes it.

mod checkpoint;
mod checksum;
mod diff;
mod entry;
mod error;
mod foreign;
mod index;
mod items;
mod layout;
mod manager;
mod objects;
mod ocdbt;
mod parallel;
mod place;
mod processes;
mod read;
mod region;
mod reshard;
mod restore;
mod runs;
mod save;
mod store;
mod tree;
mod verify;

pub use checkpoint::Checkpoint;
pub use diff::{Difference, diff};
pub use entry::{Entry, Sharding, Slice};
pub use error::{CheckpointError, Damage, Mismatch, Result};
pub use index::Info;
pub use items::items;
pub use manager::{CheckpointManager, Keep, Options, Preemption, StepProgress};
pub use place::steps;
pub use processes::{Alone, Folder, Processes, Threads};
pub use region::Region;
pub use reshard::{Source, reshard};
pub use restore::{Fit, Take, Wanted};
pub use save::{Progress, Read, Saved, State, save};
pub use store::{Retry, Store};
pub use tree::{Key, Leaf, Tree};
