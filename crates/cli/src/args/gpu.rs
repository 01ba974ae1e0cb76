//! What NVIDIA's plugin is started with.

use clap::{Args, ValueEnum};
use shardc::runtime::{CudaAllocator, CudaOptions};

use super::program::number_of_bytes;

/// Options of the CUDA plugin; others take no notice of them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "NVIDIA GPUs")]
pub(crate) struct GpuArgs {
    /// Who gives out a GPU's memory: a pool of XLA's (bfc), a pool of the driver's (cuda-async), or the driver each time (platform)
    #[arg(long, value_enum, value_name = "WHO")]
    pub(crate) gpu_allocator: Option<Allocator>,
    /// The part of a GPU's memory that a pool may take, 0.75 if not given
    #[arg(long, value_name = "PART", value_parser = part)]
    pub(crate) gpu_memory_fraction: Option<f32>,
    /// Whether a pool takes it at once; true if not given
    #[arg(long, value_name = "BOOL")]
    pub(crate) gpu_preallocate: Option<bool>,
    /// Memory of each GPU that is set aside for collectives
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) gpu_collective_memory: Option<u64>,
    /// The GPUs of this machine that are used, by number; all if not given
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) gpu_visible_devices: Vec<u32>,
}

/// Who gives out a GPU's memory.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Allocator {
    /// A pool of XLA's
    Bfc,
    /// A pool of the driver's
    CudaAsync,
    /// The driver, each time
    Platform,
}

fn part(text: &str) -> Result<f32, String> {
    let part: f32 = text.parse().map_err(|_| "expected a number, as in 0.75".to_owned())?;
    if part > 0.0 && part <= 1.0 { Ok(part) } else { Err("expected more than 0, and 1 at most".to_owned()) }
}

impl GpuArgs {
    /// The same for the library.
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
