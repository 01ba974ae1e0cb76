//! Flags that minimize XLA's compile time, for tests that compile many programs and run each only briefly.

use std::env;

/// Flags that reduce the time of LLVM code generation. They leave XLA's passes unchanged.
const FLAGS: &str =
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1 --xla_cpu_max_isa=AVX2";

/// The flag that disables LLVM's optimizations.
const UNOPTIMIZED: &str = "--xla_backend_optimization_level=0";

/// The value of `XLA_FLAGS` for processes that compile many small programs with XLA's CPU backend, without LLVM's optimizations. If the
/// variable is already set, its value is returned.
#[must_use]
pub fn xla_flags() -> String {
    env::var("XLA_FLAGS").unwrap_or_else(|_| format!("{UNOPTIMIZED} {FLAGS}"))
}

/// [`xla_flags`] for programs that run many steps, with LLVM's first level of optimizations: without it, training takes longer to run than
/// to compile.
#[must_use]
pub fn xla_flags_for_training() -> String {
    xla_flags().replace(UNOPTIMIZED, "--xla_backend_optimization_level=1")
}

/// [`xla_flags`] without fused multiply-add (FMA). With few LLVM optimizations, one fusion may compute a value with FMA, and another fusion
/// the same value without it. The gradient of a maximum then finds no element that is equal to the maximum.
#[must_use]
pub fn xla_flags_for_gradients() -> String {
    xla_flags().replace("AVX2", "AVX")
}
