//! Flags that minimize XLA's compile time, for tests that compile many programs and run each only briefly.

use std::env;

/// Minimal LLVM optimizations, with an instruction set that includes everything that XLA requires; XLA's own passes are unchanged.
const FLAGS: &str = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false \
    --xla_cpu_parallel_codegen_split_count=1 --xla_cpu_max_isa=AVX2";

/// As [`FLAGS`], plus the optimizations without which convolutions take longer to run than to compile.
const TEST_FLAGS: &str = "--xla_backend_optimization_level=1 --xla_cpu_use_fusion_emitters=false \
    --xla_cpu_parallel_codegen_split_count=1 --xla_cpu_max_isa=AVX2";

/// The value of `XLA_FLAGS` for processes that run XLA's CPU back end. Existing flags come first.
#[must_use]
pub fn xla_flags() -> String {
    env::var("XLA_FLAGS").unwrap_or_else(|_| FLAGS.to_owned())
}

/// The value of `XLA_FLAGS` for test runs. Existing flags come first.
#[must_use]
pub fn xla_flags_for_tests() -> String {
    env::var("XLA_FLAGS").unwrap_or_else(|_| TEST_FLAGS.to_owned())
}

/// [`xla_flags`] without fused multiply-add. With few LLVM optimizations, one fusion may compute a value with FMA and another fusion
/// without it; then no element equals the maximum.
#[must_use]
pub fn xla_flags_for_gradients() -> String {
    xla_flags().replace("AVX2", "AVX")
}
