//! XLA at its quickest, for runs in which nearly all of the time goes into compiling programs that run for an instant.

use std::env;

/// LLVM does little, with an instruction set that has all that XLA relies on; XLA's own passes are as ever.
const FLAGS: &str = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false \
    --xla_cpu_parallel_codegen_split_count=1 --xla_cpu_max_isa=AVX2";

/// The value of `XLA_FLAGS`, for processes that run XLA's CPU back end. What the variable says already comes before our own
/// choice.
#[must_use]
pub fn xla_flags() -> String {
    env::var("XLA_FLAGS").unwrap_or_else(|_| FLAGS.to_owned())
}

/// The same without multiplying and adding in one step. Where LLVM does little, one fusion of a value otherwise does so and
/// another does not, and then nothing equals the largest element.
#[must_use]
pub fn xla_flags_for_gradients() -> String {
    xla_flags().replace("AVX2", "AVX")
}
