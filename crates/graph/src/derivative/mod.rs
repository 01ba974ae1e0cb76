//! Derivatives of what a graph computes, and what its user says of them.

mod checkpoint;
mod custom;
mod function;
mod grad;
mod pass;
