//! Tests of layers, losses, optimizers and steps, in one program: each test program takes seconds to link.

mod keys;
mod layers;
mod losses;
mod options;
mod sharing;
mod steps;
mod values;
