//! # shardc-passes: what is done to a program
//!
//! One pass per file; each is a plain function over a [`shardc_ir::Module`].

pub mod inline;
pub mod propagate;
pub mod rule;
pub mod rules;
