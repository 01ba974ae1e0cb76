//! Tests of state dicts, in one program: each test program takes seconds to link.

mod dcp;
mod folders;
mod golden;
mod hostile;
mod ranks;
mod round_trips;
