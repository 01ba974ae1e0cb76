//! TPU generations.
//!
//! Rates are those of the system architecture pages of the Cloud TPU documentation and of "How to Scale Your Model" (Austin et al., 2025), whose
//! link bandwidths are for one direction. Memory is what the compiler accepts (libtpu 0.0.51). A chip of v4 and TPU7x has two devices in
//! compile-only topologies, which share its rates and its links.

use std::borrow::Cow;

use crate::spec::{CompilerModel, DeviceKind, Link, Network, Peaks, TargetSpec};
use crate::traffic::Traffic;

/// The latency of one hop between chips.
const HOP: f64 = 1e-6;

/// The data-center network, with the bandwidth of one device: 25 Gbit/s for each chip of v5e, 50 for v4 and v5p, 100 for v6e and TPU7x.
const fn data_center(bandwidth: f64) -> Link {
    Link { name: Cow::Borrowed("DCN"), bandwidth, latency: 10e-6 }
}

/// Bytes per second between a host and one chip: PCIe of the third generation with 16 lanes.
const PCIE: f64 = 16e9;

/// The time to start an operation on a TensorCore.
const LAUNCH: f64 = 0.36e-6;

/// The time of an empty loop fusion: 1,824 cycles at 1.5 GHz, the least that the compiler estimates on v5e.
const KERNEL_START: f64 = 1824.0 / 1.5e9;

const fn ici(bandwidth: f64) -> Link {
    Link { name: Cow::Borrowed("ICI"), bandwidth, latency: HOP }
}

/// A torus of two dimensions whose largest slice is 16 by 16.
const fn square(link: Link, between_slices: Link) -> Network {
    Network::Torus {
        link,
        rank: 2,
        wraps_at: 16,
        per_chip: 1,
        largest: &[16, 16],
        on_chip: ici(0.0),
        between_slices,
    }
}

/// The compiler of all generations whose memory was not compared more closely.
const COMPILER: CompilerModel = CompilerModel {
    is_tiled: true,
    smallest_buffer: 512,
    // VMEM has 128 MiB, of which the compiler uses half for temporaries.
    fast_memory: 64 << 20,
    multiplies_alone: false,
    keeps_shared_quotients: false,
    writes_beside_computed: false,
    looks_up_beside: false,
    // The compiler recomputes attention probabilities from exponentials, which have twice as many bytes.
    counts_elements: true,
    // Most heaps of docs/QUALITY.md take 0.3 to 8 % more than their live bytes, a few up to 17 %.
    fragmentation: 11,
    overlapped: &[Traffic::AllGather, Traffic::Permute],
    // Asynchronous collective fusion; a permute is a copy that needs no kernel.
    beside_matmuls: &[Traffic::AllGather],
};

const fn gib(hundredths: u64) -> u64 {
    (hundredths << 30) / 100
}

/// TPU v5e.
pub static V5E: TargetSpec = TargetSpec {
    name: Cow::Borrowed("v5e"),
    kind: DeviceKind::Tpu,
    peaks: Peaks { f64: 197e12 / 64.0, f32: 197e12, f16: 197e12, f8: 197e12, i8: 394e12 },
    vector_peak: 6e12,
    memory: gib(1575),
    bandwidth: 819e9,
    host_bandwidth: PCIE,
    launch: LAUNCH,
    kernel_start: KERNEL_START,
    network: square(ici(45e9), data_center(3.125e9)),
    compiler: COMPILER,
    gpu: None,
};

/// One of the two devices of a TPU v4 chip.
pub(super) static V4: TargetSpec = TargetSpec {
    name: Cow::Borrowed("v4"),
    kind: DeviceKind::Tpu,
    peaks: Peaks { f64: 137.5e12 / 64.0, f32: 137.5e12, f16: 137.5e12, f8: 137.5e12, i8: 137.5e12 },
    vector_peak: 2e12,
    memory: gib(1575),
    bandwidth: 614e9,
    host_bandwidth: PCIE / 2.0,
    launch: LAUNCH,
    kernel_start: KERNEL_START,
    network: Network::Torus {
        link: ici(45e9),
        rank: 3,
        wraps_at: 4,
        per_chip: 2,
        largest: &[16, 16, 16],
        on_chip: Link { name: Cow::Borrowed("chip"), bandwidth: 300e9, latency: HOP },
        between_slices: data_center(3.125e9),
    },
    compiler: COMPILER,
    gpu: None,
};

/// TPU v5p.
pub(super) static V5P: TargetSpec = TargetSpec {
    name: Cow::Borrowed("v5p"),
    kind: DeviceKind::Tpu,
    peaks: Peaks { f64: 459e12 / 64.0, f32: 459e12, f16: 459e12, f8: 459e12, i8: 918e12 },
    vector_peak: 14e12,
    memory: gib(9573),
    bandwidth: 2765e9,
    host_bandwidth: PCIE,
    launch: LAUNCH,
    kernel_start: KERNEL_START,
    network: Network::Torus {
        link: ici(90e9),
        rank: 3,
        wraps_at: 4,
        per_chip: 1,
        largest: &[16, 16, 24],
        on_chip: ici(0.0),
        between_slices: data_center(6.25e9),
    },
    compiler: CompilerModel {
        keeps_shared_quotients: true,
        writes_beside_computed: true,
        looks_up_beside: true,
        counts_elements: false,
        ..COMPILER
    },
    gpu: None,
};

/// TPU v6e (Trillium).
pub(super) static V6E: TargetSpec = TargetSpec {
    name: Cow::Borrowed("v6e"),
    kind: DeviceKind::Tpu,
    peaks: Peaks { f64: 918e12 / 64.0, f32: 918e12, f16: 918e12, f8: 918e12, i8: 1836e12 },
    vector_peak: 14e12,
    memory: gib(3124),
    bandwidth: 1640e9,
    host_bandwidth: 2.0 * PCIE,
    launch: LAUNCH,
    kernel_start: KERNEL_START,
    network: square(ici(90e9), data_center(12.5e9)),
    compiler: COMPILER,
    gpu: None,
};

/// One of the two devices of a TPU7x (Ironwood) chip.
pub(super) static TPU7X: TargetSpec = TargetSpec {
    name: Cow::Borrowed("tpu7x"),
    kind: DeviceKind::Tpu,
    peaks: Peaks { f64: 1153.5e12 / 64.0, f32: 1153.5e12, f16: 1153.5e12, f8: 2307e12, i8: 1153.5e12 },
    vector_peak: 14e12,
    memory: gib(9474),
    bandwidth: 3690e9,
    host_bandwidth: 2.0 * PCIE,
    launch: LAUNCH,
    kernel_start: KERNEL_START,
    network: Network::Torus {
        link: ici(100e9),
        rank: 3,
        wraps_at: 4,
        per_chip: 2,
        largest: &[16, 24, 24],
        on_chip: Link { name: Cow::Borrowed("chip"), bandwidth: 600e9, latency: HOP },
        between_slices: data_center(6.25e9),
    },
    compiler: COMPILER,
    gpu: None,
};
