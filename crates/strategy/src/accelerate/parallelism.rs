//! Converts the sizes of parallel dimensions to a mesh: Accelerate's `parallelism_config`, torchtitan's `[parallelism]`.

use crate::settings::Sharding;

/// The number of devices along each dimension of parallelism; 1 if the dimension is unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// The number of replicas of the model.
    pub(super) replicate: u64,
    /// The number of shards of parameters.
    pub(super) shard: u64,
    pub(super) expert: u64,
    /// The number of shards of sequences.
    pub(super) context: u64,
    /// The number of shards of sequences with DeepSpeed's sequence parallelism.
    pub(super) sequence: u64,
    pub(super) tensor: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes { replicate: 1, shard: 1, expert: 1, context: 1, sequence: 1, tensor: 1 }
    }
}

impl Sizes {
    /// Returns the sizes with their axis names, in Accelerate's order of mesh dimensions.
    fn named(self) -> [(&'static str, u64); 6] {
        [
            ("node", self.replicate),
            ("fsdp", self.shard),
            ("ep", self.expert),
            ("cp", self.context),
            ("sp", self.sequence),
            ("tp", self.tensor),
        ]
    }

    /// Returns the number of devices; `None` on overflow.
    pub(super) fn product(self) -> Option<u64> {
        self.named().iter().try_fold(1u64, |product, (_, size)| product.checked_mul(*size))
    }

    /// Returns the sizes other than one, as a product such as `4 x 2`.
    pub(super) fn factors(self) -> String {
        let sizes = self.named().into_iter().filter(|(_, size)| *size != 1).map(|(_, size)| size.to_string());
        sizes.collect::<Vec<_>>().join(" x ")
    }

    /// Returns the mesh with the axes of size above one, such as `fsdp=4,tp=2`; `fsdp=1` if there are none.
    pub(super) fn mesh(self) -> String {
        let axes = self.named().into_iter().filter(|(_, size)| *size != 1);
        let text = axes.map(|(name, size)| format!("{name}={size}")).collect::<Vec<_>>().join(",");
        if text.is_empty() { "fsdp=1".to_owned() } else { text }
    }

    /// Returns the reason why the sizes conflict, if they do (Accelerate 1.15, `ParallelismConfig`).
    pub(super) fn conflict(self) -> Option<String> {
        if let Some((name, _)) = self.named().iter().find(|(_, size)| *size == 0) {
            return Some(format!("the size of {name} must be at least 1"));
        }
        if self.context > 1 && self.sequence > 1 {
            return Some(
                "context and sequence parallelism cannot be combined: one size must be 1".to_owned(),
            );
        }
        if (self.tensor > 1 || self.context > 1) && self.replicate > 1 && self.shard == 1 {
            let text = "tensor or context parallelism with replicas of the model needs a shard size above 1";
            return Some(text.to_owned());
        }
        None
    }

    /// Returns the strategy that corresponds to `sharding` on the mesh of these sizes, for example hybrid sharding if there are replicas.
    pub(super) fn strategy(self, sharding: Sharding) -> Sharding {
        let is_sharded = self.shard > 1 || self.expert > 1 || self.context > 1;
        match sharding {
            _ if self.replicate > 1 && !is_sharded => Sharding::NoShard,
            Sharding::FullShard if self.replicate > 1 => Sharding::HybridShard,
            Sharding::ShardGradOp if self.replicate > 1 => Sharding::HybridShardZero2,
            // If there are no replicas, a hybrid strategy shards over all devices.
            Sharding::HybridShard if self.replicate == 1 => Sharding::FullShard,
            Sharding::HybridShardZero2 if self.replicate == 1 => Sharding::ShardGradOp,
            sharding => sharding,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_a_mesh() {
        let sizes = Sizes { replicate: 2, shard: 4, tensor: 2, ..Sizes::default() };
        assert_eq!((sizes.mesh().as_str(), sizes.product()), ("node=2,fsdp=4,tp=2", Some(16)));
        assert_eq!(sizes.strategy(Sharding::FullShard), Sharding::HybridShard);
        assert_eq!(Sizes { shard: 1, tensor: 1, ..sizes }.strategy(Sharding::FullShard), Sharding::NoShard);
        assert!(Sizes { shard: 1, ..sizes }.conflict().is_some());
        assert!(Sizes { context: 2, sequence: 2, ..sizes }.conflict().is_some());
        assert!(Sizes { context: 0, ..sizes }.conflict().is_some());
        assert_eq!(Sizes { shard: u64::MAX, ..sizes }.product(), None);
        assert_eq!(Sizes::default().mesh(), "fsdp=1");
    }
}
