//! Tests of the crate `shardc`, in one test binary, because linking a binary takes seconds.

mod exec;
mod group_form;
mod interpreter;
mod pipeline;
