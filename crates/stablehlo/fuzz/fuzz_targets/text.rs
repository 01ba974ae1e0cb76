//! Any text through the text reader.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| shardc_fuzz::check(shardc_stablehlo::parse(text), text));
