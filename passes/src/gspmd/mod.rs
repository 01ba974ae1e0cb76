//! GSPMD's annotations: read into shardings by axes, and written back.
//!
//! XLA's older partitioner describes a sharding by tiles and the device that holds each
//! (`mhlo.sharding = "{devices=[4,2]<=[8]}"`, [`hlo::HloSharding`]). [`import_gspmd`] finds the mesh behind the
//! tiles and turns every annotation into one by axes; afterwards a program is as if it had been annotated for Shardy.

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
#[cfg(test)]
mod tests;
pub mod text;
mod tiles;
mod to_axes;

pub use collect::is_annotated;
pub use export::{export_gspmd, to_hlo};
pub use import::import_gspmd;
