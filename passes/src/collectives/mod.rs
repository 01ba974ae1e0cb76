//! The collectives of the program that each device runs.
//!
//! * [`verify`]: what must hold of them before a program is handed on.

pub mod verify;
