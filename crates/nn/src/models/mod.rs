//! Models.

mod gpt;

pub use gpt::Gpt;
