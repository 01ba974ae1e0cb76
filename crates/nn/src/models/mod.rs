//! Models whose sizes are options.

mod block;
mod decoder;
mod encoder;
mod megatron;

pub use decoder::Decoder;
pub use encoder::{Bert, Vit};
pub use megatron::megatron;
