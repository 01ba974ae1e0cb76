//! Windowed operations: a result's block along a dimension depends on a *window* of the operands there. These are
//! `slice`, `pad`, `concatenate`, `splice`, `reverse`, `reduce_window`, `select_and_scatter` and `convolution`.
//!
//! If such a dimension is sharded, the window of a device's result block crosses the boundaries of the operands'
//! blocks: the *halo*. [`transfers`] computes each device's window. [`Exchange`] determines which device sends which
//! part of its block to which other device. Planning asks for the [price](Exchange::price), whose computation takes
//! time and memory in the number of runs of devices with equal behaviour. Planning gathers instead if that costs less
//! or an exchange takes too many rounds. Localization emits the exchange.
//!
//! All numbers are known at compile time: sizes, and offsets for each of the `k` devices along the dimension.

mod edges;
mod exchange;
mod held;
mod piece;
mod rounds;
mod transfer;

pub(crate) use exchange::{Exchange, ExchangePrice};
pub(crate) use held::Span;
pub(crate) use piece::Piece;
pub(crate) use transfer::{
    Along, Fill, Spread, Thin, Transfer, held_of_slice, is_windowed, scattered_from, takes_whole, transfers,
};

/// A number for each device along a dimension; `None` if any number will do.
pub(crate) type PerDevice = Vec<Option<i64>>;

/// The maximum number of rounds. Gathering the whole dimension is better than more rounds.
const MAX_ROUNDS: u32 = 16;
