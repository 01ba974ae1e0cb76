//! Options of the CUDA plugin.

use clap::{Args, ValueEnum};
use shardc::runtime::{CudaAllocator, CudaOptions};

use super::program::number_of_bytes;

/// Options of the CUDA plugin; other plugins ignore them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "NVIDIA GPUs")]
pub(crate) struct GpuArgs {
    /// The allocator of GPU memory: XLA's memory pool (bfc), the CUDA driver's memory pool (cuda-async), or the CUDA driver without a pool
    /// (platform)
    #[arg(long, value_enum, value_name = "ALLOCATOR")]
    pub(crate) gpu_allocator: Option<Allocator>,
    /// The fraction of GPU memory that a pool may allocate; by default 0.75
    #[arg(long, value_name = "FRACTION", value_parser = part)]
    pub(crate) gpu_memory_fraction: Option<f32>,
    /// Whether a pool allocates its memory at startup; by default true
    #[arg(long, value_name = "BOOL")]
    pub(crate) gpu_preallocate: Option<bool>,
    /// The memory of each GPU that is reserved for collectives
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) gpu_collective_memory: Option<u64>,
    /// The indices of the GPUs to use; by default all GPUs of this machine
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) gpu_visible_devices: Vec<u32>,
}

/// The allocator of GPU memory.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Allocator {
    /// XLA's memory pool
    Bfc,
    /// The CUDA driver's memory pool
    CudaAsync,
    /// The CUDA driver, without a pool
    Platform,
}

fn part(text: &str) -> Result<f32, String> {
    let part: f32 = text.parse().map_err(|_| "expected a number, as in 0.75".to_owned())?;
    if part > 0.0 && part <= 1.0 { Ok(part) } else { Err("expected a number above 0, at most 1".to_owned()) }
}

impl GpuArgs {
    /// Converts the options to the library's type.
    pub(crate) fn options(&self) -> CudaOptions {
        let allocator = self.gpu_allocator.map(|allocator| match allocator {
            Allocator::Bfc => CudaAllocator::Bfc,
            Allocator::CudaAsync => CudaAllocator::CudaAsync,
            Allocator::Platform => CudaAllocator::Platform,
        });
        CudaOptions {
            allocator,
            memory_fraction: self.gpu_memory_fraction,
            preallocate: self.gpu_preallocate,
            collective_memory: self.gpu_collective_memory,
            visible_devices: self.gpu_visible_devices.clone(),
        }
    }
}
