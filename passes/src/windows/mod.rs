//! Operations whose results along a dimension come from a *window* of their operands there: `slice`, `pad`,
//! `concatenate`, `splice`, `reverse`, `reduce_window`, `select_and_scatter`, `convolution`.
//!
//! Where such a dimension is split, the window of a device's block of the result crosses the borders of the operands'
//! blocks: the *halo*. [`transfers`] says what the window of each device is; [`Exchange`] says who sends which part of its block
//! to whom so that each device has its window. Planning asks what that [costs](Exchange::price), in time and memory of runs of
//! devices that do alike; localizing carries it out.
//! Planning gathers instead where that costs less or an exchange takes too many rounds.
//!
//! Everything here is arithmetic of numbers that are known at compile time: sizes, and for each of the `k` devices along
//! the dimension where something begins.

mod edges;
mod exchange;
mod piece;
mod rounds;
mod transfer;

pub(crate) use exchange::{Exchange, ExchangePrice, Span};
pub(crate) use piece::Piece;
pub(crate) use transfer::{
    Along, Fill, Spread, Thin, Transfer, held_of_slice, is_windowed, scattered_from, takes_whole, transfers,
};

/// A number for each device along a dimension; `None` where any will do.
pub(crate) type PerDevice = Vec<Option<i64>>;
