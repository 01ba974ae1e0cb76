//! Derivatives, and annotations for differentiation.

mod checkpoint;
mod custom;
mod function;
mod grad;
mod pass;
