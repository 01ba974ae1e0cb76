//! Descriptions of GPUs for XLA's compiler, to compile for GPUs that this machine does not have.
//!
//! XLA reads a description as the text of a `GpuTargetConfigProto` (`xla/stream_executor/device_description.proto`). Fields that are equal
//! for all NVIDIA GPUs since Ampere are in [`target_config`]; the others are in the table of `shardc-target`.

use shardc_target::{DeviceKind, GpuDescription, SPECS, TargetSpec, find};

use super::grid::Grid;

/// The bytes of shared memory that CUDA reserves in each thread block.
const RESERVED: u32 = 1 << 10;

/// A GPU of the table with its description.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gpu {
    spec: &'static TargetSpec,
    description: &'static GpuDescription,
}

impl Gpu {
    /// Returns the GPU with this name; `None` if it is unknown.
    pub(crate) fn named(name: &str) -> Option<Gpu> {
        let spec = find(name)?;
        Some(Gpu { spec, description: spec.gpu.as_ref()? })
    }

    /// Returns the names of all GPUs, for messages.
    pub(crate) fn names() -> String {
        let gpus = SPECS.into_iter().filter(|spec| spec.kind == DeviceKind::Gpu);
        gpus.map(|spec| &*spec.name).collect::<Vec<_>>().join(", ")
    }

    /// The size of the memory in bytes, as the driver reports it.
    pub(crate) fn memory(self) -> u64 {
        self.description.memory
    }

    /// Returns the description of the GPU that XLA's compiler reads. The compiler uses clock rates and bandwidths to choose between kernels,
    /// not to predict times. The CUDA and cuDNN versions are those of the pinned plugin.
    pub(crate) fn target_config(self) -> String {
        let bandwidth = self.spec.bandwidth as u64;
        let GpuDescription { name, capability: (major, minor), multiprocessors, units, threads, .. } =
            self.description;
        let GpuDescription { shared, l2, gigahertz, memory, is_accelerated, .. } = self.description;
        let extension = if *is_accelerated { "ACCELERATED_FEATURES" } else { "NONE" };
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
  name: "{name}"
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
device_description_str: "{name}"
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
    fn descriptions_have_all_fields() {
        let expected = r#"gpu_device_info {
  cuda_compute_capability { major: 9 minor: 0 feature_extension: ACCELERATED_FEATURES }
  core_count: 132
  fpus_per_core: 128
  threads_per_core_limit: 2048
  shared_memory_per_core: 233472
  shared_memory_per_block_optin: 232448
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  memory_bandwidth: 3352000000000
  device_memory_size: 84942979072
  name: "NVIDIA H100 80GB HBM3"
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
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 patch: 2 }
device_description_str: "NVIDIA H100 80GB HBM3"
"#;
        assert_eq!(Gpu::named("h100").unwrap().target_config(), expected);
        assert!(Gpu::named("h99").is_none());
        assert!(Gpu::named("v5e").is_none());
    }

    #[test]
    fn descriptions_have_the_numbers_of_the_drivers() {
        // Name, compute capability, multiprocessors, bytes of L2 cache, bandwidth, memory.
        for (name, fields) in [
            (
                "rtx4090",
                [
                    "major: 8 minor: 9",
                    "core_count: 128",
                    "l2_cache_size: 75497472",
                    "clock_rate_ghz: 2.52",
                    "memory_bandwidth: 1008000000000",
                    "device_memory_size: 25393692672",
                ],
            ),
            (
                "a100-40gb",
                [
                    "major: 8 minor: 0",
                    "core_count: 108",
                    "l2_cache_size: 41943040",
                    "clock_rate_ghz: 1.41",
                    "memory_bandwidth: 1555000000000",
                    "device_memory_size: 42331013120",
                ],
            ),
            (
                "l40s",
                [
                    "major: 8 minor: 9",
                    "core_count: 142",
                    "l2_cache_size: 100663296",
                    "clock_rate_ghz: 2.52",
                    "memory_bandwidth: 864000000000",
                    "device_memory_size: 47697362944",
                ],
            ),
            (
                "h100",
                [
                    "major: 9 minor: 0",
                    "core_count: 132",
                    "l2_cache_size: 52428800",
                    "clock_rate_ghz: 1.98",
                    "memory_bandwidth: 3352000000000",
                    "device_memory_size: 84942979072",
                ],
            ),
            (
                "a100-80gb",
                [
                    "major: 8 minor: 0",
                    "core_count: 108",
                    "l2_cache_size: 41943040",
                    "clock_rate_ghz: 1.41",
                    "memory_bandwidth: 2039000000000",
                    "device_memory_size: 85100068864",
                ],
            ),
            (
                "h200",
                [
                    "major: 9 minor: 0",
                    "core_count: 132",
                    "l2_cache_size: 52428800",
                    "clock_rate_ghz: 1.98",
                    "memory_bandwidth: 4800000000000",
                    "device_memory_size: 150109880320",
                ],
            ),
            (
                "b200",
                [
                    "major: 10 minor: 0",
                    "core_count: 148",
                    "l2_cache_size: 132120576",
                    "clock_rate_ghz: 1.965",
                    "memory_bandwidth: 7700000000000",
                    "device_memory_size: 191514411008",
                ],
            ),
        ] {
            let text = Gpu::named(name).unwrap().target_config();
            for field in fields {
                assert!(text.contains(field), "{field} is not in\n{text}");
            }
        }
    }
}
