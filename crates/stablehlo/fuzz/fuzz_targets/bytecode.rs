//! Fuzz target: passes arbitrary bytes to the reader of MLIR bytecode and portable artifacts.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| shardc_fuzz::check(shardc_stablehlo::parse_bytecode(bytes), ""));
