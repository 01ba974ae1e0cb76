//! Tests of state dicts, in one test binary, because linking a binary takes seconds.

mod dcp;
mod folders;
mod golden;
mod hostile;
mod ranks;
mod round_trips;
