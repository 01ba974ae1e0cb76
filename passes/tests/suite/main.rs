//! Tests of the passes, in one program: each test program takes seconds to link.

mod gspmd;
mod inline;
mod limits;
mod orders;
mod propagate;
mod provenance;
mod rules;
