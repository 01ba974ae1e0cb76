//! Cost model of planning. The unit is bytes that a device sends over the interconnect.
//!
//! Collectives follow the ring algorithm. Arithmetic and memory traffic are converted by the balance of current accelerators: a TPU v5e
//! sends about 45 GB/s per direction, reads 800 GB/s and does 200 Tflop/s. They need to be accurate only to within a small factor, to
//! choose between an all-gather and a rematerialization.

/// What starting a collective costs, in bytes: what is sent in about a third of a microsecond at 45 GB/s.
pub(crate) const START: f64 = 16.0 * 1024.0;

/// What must be saved, in bytes, where devices exchange parts of tensors before an operation and behind it in place of one
/// collective. That one goes with others, and may begin early or end late in the step; all devices wait for up to three others on the
/// way. For less than this that takes longer on XLA's CPU devices, and on TPU by the compiler's own estimate.
pub(crate) const WORTH_EXCHANGING: f64 = 4.0 * 1024.0 * 1024.0;

/// Sent bytes that take as long as one byte of memory traffic.
const PER_MEMORY_BYTE: f64 = 1.0 / 16.0;

/// Sent bytes that take as long as one floating-point operation.
const PER_FLOP: f64 = 1.0 / 4000.0;

fn ring(bytes: f64, group: f64) -> f64 {
    bytes * (group - 1.0) / group + START
}

/// An all-gather whose result has `bytes` on each device.
pub(crate) fn all_gather(bytes: f64, group: f64) -> f64 {
    ring(bytes, group)
}

/// A reduce-scatter of `bytes` on each device.
pub(crate) fn reduce_scatter(bytes: f64, group: f64) -> f64 {
    ring(bytes, group)
}

/// An all-reduce of `bytes` on each device.
pub(crate) fn all_reduce(bytes: f64, group: f64) -> f64 {
    ring(2.0 * bytes, group)
}

/// An all-to-all of `bytes` on each device.
pub(crate) fn all_to_all(bytes: f64, group: f64) -> f64 {
    ring(bytes, group)
}

/// A permute of `bytes` on each device.
pub(crate) fn permute(bytes: f64) -> f64 {
    bytes + START
}

/// Copying `bytes` on the device.
pub(crate) fn local_copy(bytes: f64) -> f64 {
    bytes * PER_MEMORY_BYTE
}

/// Computing with so many operations over so many bytes of operands and results.
pub(crate) fn compute(flops: f64, bytes: f64) -> f64 {
    (flops * PER_FLOP).max(bytes * PER_MEMORY_BYTE)
}
