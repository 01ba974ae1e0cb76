//! Tests of the passes, in one test binary, because linking a binary takes seconds.

mod gspmd;
mod inline;
mod limits;
mod orders;
mod propagate;
mod provenance;
mod rules;
