//! Models whose sizes are options.

mod decoder;

pub use decoder::Decoder;
