//! The costs of strategies according to the ZeRO paper: bytes stored per device, and bytes sent per device and step.

use crate::settings::Sharding;

/// The bytes that a model stores per parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerParameter {
    /// Bytes of the parameter itself.
    pub parameter: f64,
    /// Bytes of the parameter's gradient.
    pub gradient: f64,
    /// Bytes of the parameter's optimizer state.
    pub optimizer: f64,
}

impl PerParameter {
    /// Adam in mixed precision: parameters and gradients in 16 bits; an f32 copy, momentum and variance in 32 bits.
    pub const MIXED_ADAM: PerParameter = PerParameter { parameter: 2.0, gradient: 2.0, optimizer: 12.0 };
}

/// Bytes stored on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoredBytes {
    /// Bytes of parameters.
    pub parameters: f64,
    /// Bytes of gradients.
    pub gradients: f64,
    /// Bytes of optimizer state.
    pub optimizer: f64,
}

impl StoredBytes {
    /// Returns the total number of bytes.
    #[must_use]
    pub fn total(self) -> f64 {
        self.parameters + self.gradients + self.optimizer
    }
}

/// Returns the bytes that each device stores for a model with this many parameters (Rajbhandari et al., "ZeRO", 2020, figure 1). For hybrid
/// strategies each of `nodes` groups of devices holds a replica.
///
/// ```
/// use shardc_strategy::{PerParameter, Sharding, stored_bytes};
/// let gb = |sharding| stored_bytes(7.5e9, PerParameter::MIXED_ADAM, sharding, 64, 1).total() / 1e9;
/// let all = [Sharding::NoShard, Sharding::Zero1, Sharding::ShardGradOp, Sharding::FullShard].map(gb);
/// assert_eq!(all.map(|gb| format!("{gb:.1}")), ["120.0", "31.4", "16.6", "1.9"]);
/// ```
#[must_use]
pub fn stored_bytes(
    parameters: f64,
    each: PerParameter,
    sharding: Sharding,
    devices: u64,
    nodes: u64,
) -> StoredBytes {
    let (n, inside) = (devices.max(1) as f64, (devices / nodes.max(1)).max(1) as f64);
    // The number of devices over which parameters, gradients and optimizer state are sharded.
    let [p, g, o] = match sharding {
        Sharding::NoShard => [1.0, 1.0, 1.0],
        Sharding::Zero1 => [1.0, 1.0, n],
        Sharding::ShardGradOp => [1.0, n, n],
        Sharding::FullShard => [n, n, n],
        Sharding::HybridShard => [inside, inside, inside],
        Sharding::HybridShardZero2 => [1.0, inside, inside],
    };
    StoredBytes {
        parameters: parameters * each.parameter / p,
        gradients: parameters * each.gradient / g,
        optimizer: parameters * each.optimizer / o,
    }
}

/// Bytes that a device sends in a step, with ring collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SentBytes {
    /// Bytes sent to devices of the same node; with one node, all bytes that the device sends.
    pub inside: f64,
    /// Bytes sent to other nodes.
    pub across: f64,
}

/// Returns the bytes that a device sends in a step for parameters of this many bytes, and gradients of the same size (ZeRO paper,
/// section 7). An all-reduce of gradients, or their reduce-scatter and the all-gather of parameters, sends this size twice; gathering
/// parameters a second time sends it once more. Hybrid strategies all-reduce the gradient shards across nodes.
#[must_use]
pub fn sent_bytes(bytes: f64, sharding: Sharding, devices: u64, nodes: u64) -> SentBytes {
    let share = |k: u64| (k.max(1) - 1) as f64 / k.max(1) as f64;
    let inside = (devices / nodes.max(1)).max(1);
    let times = match sharding {
        Sharding::NoShard | Sharding::Zero1 | Sharding::ShardGradOp | Sharding::HybridShardZero2 => 2.0,
        Sharding::FullShard | Sharding::HybridShard => 3.0,
    };
    match sharding {
        Sharding::HybridShard | Sharding::HybridShardZero2 => SentBytes {
            inside: times * bytes * share(inside),
            across: 2.0 * bytes / inside as f64 * share(nodes),
        },
        _ => SentBytes { inside: times * bytes * share(devices), across: 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_bytes_are_a_multiple_of_parameters() {
        let of = |sharding| sent_bytes(8e9, sharding, 8, 1);
        assert_eq!(of(Sharding::NoShard), SentBytes { inside: 14e9, across: 0.0 });
        assert_eq!(of(Sharding::FullShard), SentBytes { inside: 21e9, across: 0.0 });
        assert_eq!(sent_bytes(8e9, Sharding::HybridShard, 8, 2), SentBytes { inside: 18e9, across: 2e9 });
        assert_eq!(sent_bytes(8e9, Sharding::FullShard, 1, 1), SentBytes::default());
    }
}
