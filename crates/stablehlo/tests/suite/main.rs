//! Tests of the readers, the printer and the writer of bytecode, in one test binary, because linking a binary takes seconds.

mod api;
mod attributes;
mod bytecode;
mod constants;
mod corpus;
mod errors;
mod hostile;
mod inputs;
mod invalid;
mod lenient;
mod split;
mod texts;
mod vhlo;
mod written;
