//! Windowed operations: along some dimension, a block of the result depends on a *window* of the operands. These are
//! `slice`, `pad`, `concatenate`, `splice`, `reverse`, `reduce_window`, `select_and_scatter` and `convolution`.
//!
//! If such a dimension is sharded, the window of a device's result block crosses the boundaries of the operands'
//! blocks: the *halo*. [`transfers`] computes each device's window. [`Exchange`] determines which device sends which
//! part of its block to which other device. Planning uses the [price](Exchange::price), which is computed in time and memory linear in
//! the number of runs of devices with the same pattern. Planning chooses an all-gather instead if that costs less, or if an exchange
//! needs too many rounds. Localization emits the exchange.
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

/// A number for each device along a dimension; `None` for a device whose number is irrelevant.
pub(crate) type PerDevice = Vec<Option<i64>>;

/// The maximum number of rounds. All-gathering the dimension is better than more rounds.
const MAX_ROUNDS: u32 = 16;
