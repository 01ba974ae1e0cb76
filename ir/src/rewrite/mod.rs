//! How passes change a program.
//!
//! A pass goes through a region with a [`Rewriter`]: [`next_op`](Rewriter::next_op) gives one operation after the other,
//! new ones are inserted where it stands and come from the same place in the source, results are replaced by other
//! values, and operations that are erased or replaced are not listed any more. Where operations go to places far from the
//! one at hand, they are collected in [`Insertions`] and placed at once.
//!
//! ## What holds between two calls
//!
//! * An operation is in the list of one region at most, and once.
//! * [`Value::def`](crate::Value::def) of a result names the operation and the place that hold it;
//!   [`renew_result`](crate::Module::renew_result), [`give_result`](crate::Module::give_result) and
//!   [`take_over`](crate::Module::take_over) of a module are how a result moves.
//! * A value that another stands for is read by nothing that comes after it: operands are replaced as operations are
//!   visited, those of nested regions when these are entered. So a definition stays before its uses as long as what
//!   stands for a value was inserted before the operation that made it is left.
//! * A region that was entered is whole again when it is left, which happens at its last operation, and at the latest when
//!   the rewriter is dropped: an error on the way loses no operation. Until then its list reads as empty.
//!
//! The structural checks of [`verify()`](crate::verify()) (I2 to I5) say whether a pass kept to this.

mod clone;
mod counts;
mod cursor;
mod insertions;
mod map;
mod transplant;

pub use clone::{clone_op, clone_region};
pub use counts::UseCounts;
pub use cursor::{Checkpoint, Rewriter};
pub use insertions::{InsertionPoint, Insertions};
pub use map::ValueMap;
pub use transplant::transplant_func;
