//! Layers: plain values that say what is made, and make it of a [`Scope`](crate::Scope) and a tensor. Parameters have flax's names.

mod attention;
mod dense;
mod embedding;
mod lstm;
mod mlp;
mod norm;

pub use attention::{Attention, rope};
pub use dense::Dense;
pub use embedding::Embedding;
pub use lstm::Lstm;
pub use mlp::{Mlp, SwiGlu};
pub use norm::{LayerNorm, RmsNorm};
