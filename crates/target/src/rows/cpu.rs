//! Virtual devices of a CPU.

use std::borrow::Cow;

use crate::spec::{CompilerModel, DeviceKind, Link, Network, Peaks, TargetSpec};

/// One virtual device on one core of a server with AVX2: two fused multiply-adds of eight `f32` in each cycle at 3 GHz, and a share of the memory
/// bandwidth of the socket. Devices exchange data through memory.
pub static CPU: TargetSpec = TargetSpec {
    name: Cow::Borrowed("cpu"),
    kind: DeviceKind::Cpu,
    peaks: Peaks { f64: 48e9, f32: 96e9, f16: 96e9, f8: 96e9, i8: 96e9 },
    vector_peak: 48e9,
    memory: 0,
    bandwidth: 10e9,
    host_bandwidth: 10e9,
    launch: 5e-6,
    kernel_start: 5e-6,
    network: Network::Hosts {
        link: Link { name: Cow::Borrowed("memory"), bandwidth: 5e9, latency: 5e-6 },
        per_host: 8,
        between_hosts: Link { name: Cow::Borrowed("network"), bandwidth: 1.25e9, latency: 50e-6 },
    },
    compiler: CompilerModel {
        is_tiled: false,
        smallest_buffer: 0,
        fast_memory: 0,
        multiplies_alone: false,
        keeps_shared_quotients: false,
        writes_beside_computed: false,
        looks_up_beside: false,
        counts_elements: false,
        fragmentation: 0,
        overlapped: &[],
        beside_matmuls: &[],
    },
    gpu: None,
};
