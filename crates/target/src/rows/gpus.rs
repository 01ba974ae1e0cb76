//! NVIDIA GPUs, in ascending order of memory size within each generation.
//!
//! Rates are those of NVIDIA's data sheets without sparsity; NVLink bandwidths are for one direction. Networks are those of the usual servers:
//! DGX and HGX systems with one network interface for each GPU, and PCIe servers with less. Fields of [`GpuDescription`] are from the data sheets
//! and from the appendix on compute capabilities of the CUDA C++ Programming Guide.

use std::borrow::Cow;

use crate::spec::{CompilerModel, DeviceKind, GpuDescription, Link, Network, Peaks, TargetSpec};
use crate::traffic::Traffic;

/// Bytes that the CUDA context and the allocator keep, so that programs cannot use them.
const RESERVED: u64 = 1 << 30;

/// The time between the starts of two kernels in a CUDA graph.
const LAUNCH: f64 = 2e-6;

const COMPILER: CompilerModel = CompilerModel {
    is_tiled: false,
    smallest_buffer: 0,
    fast_memory: 0,
    multiplies_alone: true,
    keeps_shared_quotients: false,
    writes_beside_computed: false,
    looks_up_beside: false,
    counts_elements: false,
    // 1.3 to 10 % for GPT-2 under four strategies, and more below a megabyte, where sequential all-gathers are combined.
    fragmentation: 9,
    overlapped: &[
        Traffic::AllGather,
        Traffic::ReduceScatter,
        Traffic::AllReduce,
        Traffic::AllToAll,
        Traffic::Permute,
    ],
    beside_matmuls: &[],
};

/// Eight GPUs connected by NVLink switches. `bandwidth` and `network` are bytes per second of one GPU in one direction.
const fn nvlink(bandwidth: f64, network: f64) -> Network {
    Network::Hosts {
        link: Link { name: Cow::Borrowed("NVLink"), bandwidth, latency: 3e-6 },
        per_host: 8,
        between_hosts: Link { name: Cow::Borrowed("network"), bandwidth: network, latency: 10e-6 },
    }
}

/// GPUs on the PCIe bus of a host.
const fn pcie(network: f64) -> Network {
    Network::Hosts {
        link: Link { name: Cow::Borrowed("PCIe"), bandwidth: 25e9, latency: 5e-6 },
        per_host: 8,
        between_hosts: Link { name: Cow::Borrowed("network"), bandwidth: network, latency: 10e-6 },
    }
}

const AMPERE: GpuDescription = GpuDescription {
    name: "NVIDIA A100-SXM4-80GB",
    capability: (8, 0),
    is_accelerated: false,
    multiprocessors: 108,
    units: 64,
    threads: 2048,
    shared: 164 << 10,
    l2: 40 << 20,
    gigahertz: 1.41,
    memory: 85_100_068_864,
};

const ADA: GpuDescription = GpuDescription {
    name: "NVIDIA GeForce RTX 4090",
    capability: (8, 9),
    is_accelerated: false,
    multiprocessors: 128,
    units: 128,
    threads: 1536,
    shared: 100 << 10,
    l2: 72 << 20,
    gigahertz: 2.52,
    memory: 25_393_692_672,
};

const HOPPER: GpuDescription = GpuDescription {
    name: "NVIDIA H100 80GB HBM3",
    capability: (9, 0),
    is_accelerated: true,
    multiprocessors: 132,
    units: 128,
    threads: 2048,
    shared: 228 << 10,
    l2: 50 << 20,
    gigahertz: 1.98,
    memory: 84_942_979_072,
};

const A100_PEAKS: Peaks = Peaks { f64: 19.5e12, f32: 156e12, f16: 312e12, f8: 312e12, i8: 624e12 };
const H100_PEAKS: Peaks = Peaks { f64: 67e12, f32: 494.5e12, f16: 989e12, f8: 1979e12, i8: 1979e12 };

/// NVIDIA A100 with 80 GB.
pub(super) static A100_80GB: TargetSpec = TargetSpec {
    name: Cow::Borrowed("a100-80gb"),
    kind: DeviceKind::Gpu,
    peaks: A100_PEAKS,
    vector_peak: 19.5e12,
    memory: AMPERE.memory - RESERVED,
    bandwidth: 2039e9,
    host_bandwidth: 25e9,
    launch: LAUNCH,
    kernel_start: LAUNCH,
    network: nvlink(300e9, 25e9),
    compiler: COMPILER,
    gpu: Some(AMPERE),
};

const A100_40GB_GPU: GpuDescription =
    GpuDescription { name: "NVIDIA A100-SXM4-40GB", memory: 42_331_013_120, ..AMPERE };

/// NVIDIA A100 with 40 GB.
pub(super) static A100_40GB: TargetSpec = TargetSpec {
    name: Cow::Borrowed("a100-40gb"),
    kind: DeviceKind::Gpu,
    peaks: A100_PEAKS,
    vector_peak: 19.5e12,
    memory: A100_40GB_GPU.memory - RESERVED,
    bandwidth: 1555e9,
    host_bandwidth: 25e9,
    launch: LAUNCH,
    kernel_start: LAUNCH,
    network: nvlink(300e9, 25e9),
    compiler: COMPILER,
    gpu: Some(A100_40GB_GPU),
};

/// NVIDIA GeForce RTX 4090.
pub(super) static RTX_4090: TargetSpec = TargetSpec {
    name: Cow::Borrowed("rtx4090"),
    kind: DeviceKind::Gpu,
    peaks: Peaks { f64: 1.29e12, f32: 82.6e12, f16: 165.2e12, f8: 330.3e12, i8: 660.6e12 },
    vector_peak: 82.6e12,
    memory: ADA.memory - RESERVED,
    bandwidth: 1008e9,
    host_bandwidth: 25e9,
    launch: LAUNCH,
    kernel_start: LAUNCH,
    network: pcie(1.5625e9),
    compiler: COMPILER,
    gpu: Some(ADA),
};

const L40S_GPU: GpuDescription =
    GpuDescription { name: "NVIDIA L40S", multiprocessors: 142, l2: 96 << 20, memory: 47_697_362_944, ..ADA };

/// NVIDIA L40S.
pub(super) static L40S: TargetSpec = TargetSpec {
    name: Cow::Borrowed("l40s"),
    kind: DeviceKind::Gpu,
    peaks: Peaks { f64: 1.43e12, f32: 183e12, f16: 362e12, f8: 733e12, i8: 733e12 },
    vector_peak: 91.6e12,
    memory: L40S_GPU.memory - RESERVED,
    bandwidth: 864e9,
    host_bandwidth: 25e9,
    launch: LAUNCH,
    kernel_start: LAUNCH,
    network: pcie(12.5e9),
    compiler: COMPILER,
    gpu: Some(L40S_GPU),
};

/// NVIDIA H100 SXM.
pub(super) static H100: TargetSpec = TargetSpec {
    name: Cow::Borrowed("h100"),
    kind: DeviceKind::Gpu,
    peaks: H100_PEAKS,
    vector_peak: 67e12,
    memory: HOPPER.memory - RESERVED,
    bandwidth: 3352e9,
    host_bandwidth: 50e9,
    launch: LAUNCH,
    kernel_start: LAUNCH,
    network: nvlink(450e9, 50e9),
    compiler: COMPILER,
    gpu: Some(HOPPER),
};

const H200_GPU: GpuDescription = GpuDescription { name: "NVIDIA H200", memory: 150_109_880_320, ..HOPPER };

/// NVIDIA H200 SXM.
pub(super) static H200: TargetSpec = TargetSpec {
    name: Cow::Borrowed("h200"),
    kind: DeviceKind::Gpu,
    peaks: H100_PEAKS,
    vector_peak: 67e12,
    memory: H200_GPU.memory - RESERVED,
    bandwidth: 4800e9,
    host_bandwidth: 50e9,
    launch: LAUNCH,
    kernel_start: LAUNCH,
    network: nvlink(450e9, 50e9),
    compiler: COMPILER,
    gpu: Some(H200_GPU),
};

const BLACKWELL: GpuDescription = GpuDescription {
    name: "NVIDIA B200",
    capability: (10, 0),
    multiprocessors: 148,
    l2: 126 << 20,
    gigahertz: 1.965,
    memory: 191_514_411_008,
    ..HOPPER
};

/// NVIDIA B200 SXM.
pub(super) static B200: TargetSpec = TargetSpec {
    name: Cow::Borrowed("b200"),
    kind: DeviceKind::Gpu,
    peaks: Peaks { f64: 37e12, f32: 1125e12, f16: 2250e12, f8: 4500e12, i8: 4500e12 },
    vector_peak: 75e12,
    memory: BLACKWELL.memory - RESERVED,
    bandwidth: 7700e9,
    host_bandwidth: 50e9,
    launch: LAUNCH,
    kernel_start: LAUNCH,
    network: nvlink(900e9, 50e9),
    compiler: COMPILER,
    gpu: Some(BLACKWELL),
};
