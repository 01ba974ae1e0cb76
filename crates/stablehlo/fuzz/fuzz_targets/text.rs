//! Fuzz target: passes arbitrary text to the parser.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| shardc_fuzz::check(shardc_stablehlo::parse(text), text));
