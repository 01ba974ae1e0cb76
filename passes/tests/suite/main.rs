//! Tests of the passes, in one test binary, because linking a binary takes seconds.

mod limits;
mod orders;
