//! The cost model of planning. The unit is one byte that a device sends over the interconnect.
//!
//! Collectives are assumed to use the ring algorithm. Arithmetic and memory traffic are converted by the ratios of current accelerators:
//! a TPU v5e sends about 45 GB/s per direction, reads 800 GB/s and does 200 Tflop/s. An accuracy within a small factor is enough to
//! choose between an all-gather and a rematerialization.

/// The cost of the launch of a collective: the bytes that are sent in about a third of a microsecond at 45 GB/s.
pub const START: f64 = 16.0 * 1024.0;

/// The minimum saving, in bytes, for replacing one collective by all-to-alls before and after an operation. The single collective can be
/// combined with others and overlap with computation, whereas all devices wait for each of up to three all-to-alls. Below this saving, the
/// all-to-alls are slower on XLA's CPU devices and, by the compiler's own estimate, on TPUs.
pub const WORTH_EXCHANGING: f64 = 4.0 * 1024.0 * 1024.0;

/// The cost of one byte of memory traffic.
const PER_MEMORY_BYTE: f64 = 1.0 / 16.0;

/// The cost of one floating-point operation.
const PER_FLOP: f64 = 1.0 / 4000.0;

fn ring(bytes: f64, group: f64) -> f64 {
    bytes * (group - 1.0) / group + START
}

/// Returns the cost of an all-gather whose result has `bytes` on each device.
pub fn all_gather(bytes: f64, group: f64) -> f64 {
    ring(bytes, group)
}

/// Returns the cost of a reduce-scatter of `bytes` on each device.
pub fn reduce_scatter(bytes: f64, group: f64) -> f64 {
    ring(bytes, group)
}

/// Returns the cost of an all-reduce of `bytes` on each device.
pub fn all_reduce(bytes: f64, group: f64) -> f64 {
    ring(2.0 * bytes, group)
}

/// Returns the cost of an all-to-all of `bytes` on each device.
pub fn all_to_all(bytes: f64, group: f64) -> f64 {
    ring(bytes, group)
}

/// Returns the cost of a collective-permute of `bytes` on each device.
pub fn permute(bytes: f64) -> f64 {
    bytes + START
}

/// Returns the cost of a copy of `bytes` on the device.
pub fn local_copy(bytes: f64) -> f64 {
    bytes * PER_MEMORY_BYTE
}

/// Returns the cost of a computation with `flops` operations and `bytes` of operands and results.
pub fn compute(flops: f64, bytes: f64) -> f64 {
    (flops * PER_FLOP).max(bytes * PER_MEMORY_BYTE)
}
