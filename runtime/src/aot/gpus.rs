//! Descriptions of GPUs for XLA's compiler, to compile for GPUs that this machine does not have.
//!
//! XLA reads a description as the text of a `GpuTargetConfigProto` (`xla/stream_executor/device_description.proto`). Fields that are equal
//! for all NVIDIA GPUs since Ampere are in [`Gpu::target_config`]; the others are in [`GPUS`], whose numbers are from NVIDIA's data sheets
//! and from the appendix on compute capabilities of the CUDA C++ Programming Guide.

use super::grid::Grid;

/// A kind of GPU. The compiler uses clock rates and bandwidths to choose between kernels, not to predict times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gpu {
    /// The name of the GPU in compilation targets, such as `h100`.
    pub(crate) name: &'static str,
    /// The driver's name of the GPU.
    description: &'static str,
    /// The major and minor number of the compute capability.
    capability: (u32, u32),
    /// Whether the GPU has architecture-specific instructions such as `wgmma` (`sm_90a`).
    is_accelerated: bool,
    multiprocessors: u32,
    /// 32-bit floating-point units per multiprocessor.
    units: u32,
    /// Maximum number of resident threads per multiprocessor.
    threads: u32,
    /// Bytes of shared memory per multiprocessor.
    shared: u32,
    /// The size of the L2 cache in bytes.
    l2: u64,
    gigahertz: f64,
    /// Memory bandwidth in bytes per second.
    bandwidth: u64,
    /// The size of the memory in bytes, as the driver reports it.
    pub(crate) memory: u64,
}

const A100_80GB: Gpu = Gpu {
    name: "a100-80gb",
    description: "NVIDIA A100-SXM4-80GB",
    capability: (8, 0),
    is_accelerated: false,
    multiprocessors: 108,
    units: 64,
    threads: 2048,
    shared: 164 << 10,
    l2: 40 << 20,
    gigahertz: 1.41,
    bandwidth: 2_039_000_000_000,
    memory: 85_100_068_864,
};

const RTX_4090: Gpu = Gpu {
    name: "rtx4090",
    description: "NVIDIA GeForce RTX 4090",
    capability: (8, 9),
    is_accelerated: false,
    multiprocessors: 128,
    units: 128,
    threads: 1536,
    shared: 100 << 10,
    l2: 72 << 20,
    gigahertz: 2.52,
    bandwidth: 1_008_000_000_000,
    memory: 25_393_692_672,
};

const H100: Gpu = Gpu {
    name: "h100",
    description: "NVIDIA H100 80GB HBM3",
    capability: (9, 0),
    is_accelerated: true,
    multiprocessors: 132,
    units: 128,
    threads: 2048,
    shared: 228 << 10,
    l2: 50 << 20,
    gigahertz: 1.98,
    bandwidth: 3_352_000_000_000,
    memory: 84_942_979_072,
};

/// Kinds of GPUs, in ascending order of memory size.
pub(crate) const GPUS: [Gpu; 7] = [
    RTX_4090,
    Gpu {
        name: "a100-40gb",
        description: "NVIDIA A100-SXM4-40GB",
        bandwidth: 1_555_000_000_000,
        memory: 42_331_013_120,
        ..A100_80GB
    },
    Gpu {
        name: "l40s",
        description: "NVIDIA L40S",
        multiprocessors: 142,
        l2: 96 << 20,
        bandwidth: 864_000_000_000,
        memory: 47_697_362_944,
        ..RTX_4090
    },
    H100,
    A100_80GB,
    Gpu {
        name: "h200",
        description: "NVIDIA H200",
        bandwidth: 4_800_000_000_000,
        memory: 150_109_880_320,
        ..H100
    },
    Gpu {
        name: "b200",
        description: "NVIDIA B200",
        capability: (10, 0),
        multiprocessors: 148,
        l2: 126 << 20,
        gigahertz: 1.965,
        bandwidth: 7_700_000_000_000,
        memory: 191_514_411_008,
        ..H100
    },
];

/// The bytes of shared memory that CUDA reserves in each thread block.
const RESERVED: u32 = 1 << 10;

impl Gpu {
    /// Returns the kind of GPU with this name; `None` if it is unknown.
    pub(crate) fn named(name: &str) -> Option<&'static Gpu> {
        GPUS.iter().find(|gpu| gpu.name == name)
    }

    /// Returns the names of all kinds of GPUs, for messages.
    pub(crate) fn names() -> String {
        GPUS.map(|gpu| gpu.name).join(", ")
    }

    /// Returns the description of the GPU that XLA's compiler reads. The CUDA and cuDNN versions in it are those of the pinned plugin.
    pub(crate) fn target_config(&self) -> String {
        let Gpu { description, capability: (major, minor), multiprocessors, units, threads, .. } = self;
        let Gpu { shared, l2, gigahertz, bandwidth, memory, .. } = self;
        let extension = if self.is_accelerated { "ACCELERATED_FEATURES" } else { "NONE" };
        let optin = shared - RESERVED;
        format!(
            r#"gpu_device_info {{
  cuda_compute_capability {{ major: {major} minor: {minor} feature_extension: {extension} }}
  core_count: {multiprocessors}
  fpus_per_core: {units}
  threads_per_core_limit: {threads}
  shared_memory_per_core: {shared}
  shared_memory_per_block_optin: {optin}
  l2_cache_size: {l2}
  clock_rate_ghz: {gigahertz}
  memory_bandwidth: {bandwidth}
  device_memory_size: {memory}
  name: "{description}"
  threads_per_block_limit: 1024
  threads_per_warp: 32
  thread_dim_limit_x: 1024
  thread_dim_limit_y: 1024
  thread_dim_limit_z: 64
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  shared_memory_per_block: 49152
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  device_address_bits: 64
  driver_version: "12.9.0"
  runtime_version: "12.9.0"
  compile_time_toolkit_version: "12.9.0"
  dnn_version: "9.10.2"
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 patch: 2 }}
device_description_str: "{description}"
"#
        )
    }
}

/// Returns XLA's topology name of a grid, such as `1x2x8`: the number of groups of hosts, the hosts per group, and the GPUs per host.
pub(crate) fn topology_name(grid: Grid) -> String {
    format!("1x{}x{}", grid.hosts, grid.per_host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_match_the_table() {
        let text = Gpu::named("h100").unwrap().target_config();
        for line in [
            "major: 9 minor: 0 feature_extension: ACCELERATED_FEATURES",
            "core_count: 132",
            "shared_memory_per_block_optin: 232448",
            "device_memory_size: 84942979072",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert_eq!(text.matches('{').count(), text.matches('}').count());
        assert!(Gpu::named("h99").is_none());
        assert!(GPUS.is_sorted_by_key(|gpu| gpu.memory));
    }
}
