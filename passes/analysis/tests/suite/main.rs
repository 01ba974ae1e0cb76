//! Tests of analyses and propagation, in one test binary, because linking a binary takes seconds.

mod gspmd;
mod inline;
mod propagate;
mod provenance;
mod rules;
