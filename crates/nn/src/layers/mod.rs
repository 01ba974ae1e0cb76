//! Layers. Each layer is a struct of options; `apply` creates its parameters in a [`Scope`](crate::Scope) under flax linen's names.
//! Numerics and defaults are those of flax linen.

mod attention;
mod batch_norm;
mod blockwise;
mod conv;
mod dropout;
mod embedding;
mod kernel;
mod linear;
mod lora;
mod mlp;
mod moe;
mod norm;
mod recurrent;
mod rope;

pub use attention::{Attention, Places, Seen, alibi_slopes, dot_product_attention};
pub use batch_norm::BatchNorm;
pub use blockwise::blockwise_attention;
pub use conv::Conv;
pub use dropout::Dropout;
pub use embedding::Embed;
pub use linear::{Dense, DenseGeneral};
pub use mlp::{Activation, Mlp};
pub use moe::Moe;
pub use norm::{GroupNorm, LayerNorm, RmsNorm};
pub use recurrent::{Gru, Lstm, bidirectional_lstm};
pub use rope::{Rope, RopeStyle};
