//! # shardc-data: datasets for training
//!
//! Internal: this crate may change in any release. Front ends use `shardc_train::data`, which exports the same names.
//!
//! * [`idx`]: files of images and labels, the format of MNIST;
//! * `image_folder`: folders with one subfolder of images per class, the format of ImageNet (feature `images`);
//! * [`text`]: character-level tokenization of texts;
//! * [`TokenFile`]: token files that may be larger than memory;
//! * [`Shuffle`], [`Batches`]: the order of examples in an epoch, independent of the number of processes; the position is one number;
//! * [`Prefetch`]: prepares batches ahead of the step that uses them.

pub mod idx;
#[cfg(feature = "images")]
pub mod image_folder;
mod prefetch;
mod shuffle;
pub mod text;
mod tokens;

pub use prefetch::Prefetch;
pub use shuffle::{Batch, Batches, LastBatch, Shuffle};
pub use tokens::{TokenError, TokenFile, TokenWidth};
