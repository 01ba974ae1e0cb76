//! Models with configurable sizes.

mod block;
mod decoder;
mod encoder;
mod generation;
mod megatron;
mod resnet;

pub use decoder::Decoder;
pub use encoder::{Bert, Vit};
pub use megatron::megatron;
pub use resnet::ResNet;
