//! # shardc-data: data sets for training
//!
//! Internal: this crate may change in any release. Front ends use `shardc::data`, which names the same.
//!
//! * [`idx`]: files of images and labels, as MNIST has them;
//! * `image_folder`: folders of images, one for each class, as ImageNet is given out (feature `images`);
//! * [`text`]: texts as numbers, one for each character that occurs;
//! * [`TokenFile`]: files of tokens that are larger than memory;
//! * [`Shuffle`], [`Batches`]: the order of an epoch, the same for every number of processes; its position is one number;
//! * [`Prefetch`]: batches are made ahead of the step that takes them.

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
