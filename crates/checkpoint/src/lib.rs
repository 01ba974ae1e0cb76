//! # shardc-checkpoint: sharded checkpoints
//!
//! Internal: this crate may change in any release. Front ends use `shardc::checkpoint`.
//!
//! A state is arrays that are spread over devices of several processes. [`save`] writes it, each process its own blocks;
//! [`Checkpoint`] reads what each process needs, however the state was spread before; [`CheckpointManager`] keeps a folder of
//! steps. What devices, programs and sharded arrays are, this crate does not know: it works on names, types, shapes, boxes of
//! elements ([`Region`]) and bytes.
//!
//! # The format
//!
//! A checkpoint is what Orbax's `PyTreeCheckpointHandler(use_ocdbt=False, use_zarr3=True)` writes, so that JAX, tensorstore and any
//! reader of Zarr v3 read it. Of Orbax's, those in OCDBT (its default), Zarr v2 and Zarr v3 are read. What is written:
//!
//! * each array is a folder of its name with `zarr.json` and a file for each block of its sharding (`c/1/0`). A dimension
//!   that is split `k` ways has blocks of `ceil(n / k)` elements; the last may be cut off, and none lie beyond the end;
//! * a block of more than a mebibyte is cut into tiles (`sharding_indexed`), so that another sharding reads the tiles that it
//!   needs. Each tile, and each index of tiles, ends in its CRC-32C;
//! * `_METADATA` is the tree of names, `_sharding` the meshes and specs, `shardc.json` what Orbax has no place for, with the
//!   sizes of files and checksums of all metadata;
//! * elements of any type of `shardc_ir` come back bit by bit: see `layout/dtype.rs` for those that Zarr does not name.
//!
//! # What counts
//!
//! A checkpoint is there when it is whole. On file systems its folder is renamed as the last step; in object stores
//! `commit_success.txt` is written last. A process that ends at any time leaves what was whole before, and what it had begun is
//! never listed, and deleted by the next save.

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
