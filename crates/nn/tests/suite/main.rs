//! Tests of layers, losses, optimizers and steps, in one test binary, because linking a binary takes seconds.

mod keys;
mod layers;
mod losses;
mod options;
mod sharing;
mod steps;
mod values;
