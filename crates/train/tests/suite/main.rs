//! Tests of the crate `shardc-train`, in one test binary, because linking a binary takes seconds.

mod loader;
mod states;
