//! Imports and exports GSPMD sharding annotations.
//!
//! XLA's GSPMD partitioner describes a sharding by a tile assignment: the number of tiles per dimension, and the
//! device of each tile (`mhlo.sharding = "{devices=[4,2]<=[8]}"`, [`hlo::HloSharding`]). [`import_gspmd`] infers the
//! mesh and converts every annotation to an axis-based sharding, as if the program had been annotated for Shardy.
//! [`export_gspmd`] is the inverse.

mod calls;
mod collect;
mod digits;
mod export;
pub mod hlo;
mod import;
mod infer;
mod manual;
mod parse;
mod sdy_text;
mod state;
#[cfg(test)]
mod tests;
pub mod text;
mod tiles;
mod to_axes;

pub use collect::is_annotated;
pub use export::{export_gspmd, to_hlo};
pub use import::import_gspmd;
