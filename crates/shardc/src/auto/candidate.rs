//! A candidate: a mesh whose axes have purposes, a strategy, and shardings of groups of arguments.

use std::collections::BTreeMap;

use shardc_ir::Mesh;
use shardc_strategy::{AxisPurpose, Settings, Sharding, Wrap};

/// The purpose of a mesh axis. The order is that of the axes in a mesh: devices along minor axes have the fastest links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Purpose {
    /// Replicas of the model that shard the batch, in a hybrid strategy.
    Node,
    /// The axis shards the batch and, according to the strategy, parameters and optimizer state.
    Data,
    /// The axis shards experts and the batch.
    Expert,
    /// The axis shards sequences.
    Context,
    /// The axis shards weights within layers.
    Tensor,
}

impl Purpose {
    /// The purpose of an axis of a user's mesh.
    pub(super) fn of_name(name: &str) -> Purpose {
        match AxisPurpose::of_name(name) {
            AxisPurpose::Data => Purpose::Data,
            AxisPurpose::Expert => Purpose::Expert,
            AxisPurpose::Context => Purpose::Context,
            AxisPurpose::Tensor => Purpose::Tensor,
        }
    }

    /// The word for the purpose of an axis of a user's mesh.
    pub(super) fn word(self) -> &'static str {
        match self {
            Purpose::Node => "node",
            Purpose::Data => "data",
            Purpose::Expert => "expert",
            Purpose::Context => "context",
            Purpose::Tensor => "tensor",
        }
    }

    /// The names by which strategies recognize the purpose of an axis.
    fn names(self, sharding: Sharding) -> &'static [&'static str] {
        match self {
            Purpose::Node => &["node", "node_2"],
            Purpose::Data if sharding == Sharding::NoShard => &["data", "data_2", "data_3"],
            Purpose::Data => &["fsdp", "fsdp_2", "fsdp_3"],
            Purpose::Expert => &["expert", "experts", "ep"],
            Purpose::Context => &["context", "sequence", "seq"],
            Purpose::Tensor => &["tensor", "model", "tp"],
        }
    }
}

/// The words for the strategy of a candidate that adds nothing to the annotations of the program.
pub(super) const AS_ANNOTATED: &str = "as annotated";

/// The axes that shard each dimension of a tensor, as indices into the axes of the mesh.
pub(super) type Dims = Vec<Vec<usize>>;

/// A mesh, a strategy, and shardings that replace those of the strategy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Candidate {
    /// Purpose and size of each axis, major to minor.
    pub(super) axes: Vec<(Purpose, i64)>,
    /// Whether no strategy is applied: the program keeps its annotations, and propagation decides on what they leave open.
    pub(super) as_annotated: bool,
    pub(super) sharding: Sharding,
    pub(super) activation_checkpointing: bool,
    pub(super) sequence_parallel: bool,
    /// Whether annotations of the batch are propagated before those of state, as strategies do.
    pub(super) batch_first: bool,
    /// For groups of arguments and results by index, shardings that replace those of the strategy.
    pub(super) placed: BTreeMap<usize, Dims>,
}

impl Candidate {
    /// A candidate with the shardings of a strategy.
    pub(super) fn new(axes: Vec<(Purpose, i64)>, sharding: Sharding) -> Candidate {
        Candidate {
            axes,
            as_annotated: false,
            sharding,
            activation_checkpointing: false,
            sequence_parallel: false,
            batch_first: true,
            placed: BTreeMap::new(),
        }
    }

    /// The mesh, with axis names that determine the purposes.
    pub(super) fn mesh(&self) -> Mesh {
        let mut mesh = Mesh::default();
        for &(purpose, size) in &self.axes {
            let free = purpose.names(self.sharding).iter().find(|name| !mesh.axes.contains_key(**name));
            let name = free.map_or_else(|| format!("axis_{}", mesh.axes.len()), |name| (*name).to_owned());
            mesh.axes.insert(name.into(), size);
        }
        mesh
    }

    /// The candidate with the other order of propagation; `None` if no strategy sets the order.
    pub(super) fn with_other_priorities(&self) -> Option<Candidate> {
        (!self.as_annotated).then(|| Candidate { batch_first: !self.batch_first, ..self.clone() })
    }

    /// Whether the candidate has one axis and no strategy: each program has at least these candidates.
    pub(super) fn is_plain(&self) -> bool {
        self.axes.len() == 1 && self.sharding == Sharding::NoShard && !self.activation_checkpointing
    }

    /// The number of devices along the axes of a purpose.
    pub(super) fn size(&self, purpose: Purpose) -> i64 {
        self.axes.iter().filter(|axis| axis.0 == purpose).map(|axis| axis.1).product()
    }

    /// The settings of the strategy.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            sharding: self.sharding,
            wrap: (self.sharding != Sharding::NoShard).then_some(Wrap::Layers),
            activation_checkpointing: self.activation_checkpointing,
            sequence_parallel: self.sequence_parallel,
            ..Settings::default()
        }
    }

    /// The strategy in the words of `--fsdp`, or [`AS_ANNOTATED`].
    pub(super) fn words(&self) -> String {
        if self.as_annotated {
            return AS_ANNOTATED.to_owned();
        }
        let mut words = vec![match self.sharding {
            Sharding::FullShard => "full_shard",
            Sharding::ShardGradOp => "shard_grad_op",
            Sharding::Zero1 => "zero1",
            Sharding::NoShard => "no_shard",
            Sharding::HybridShard => "hybrid_shard",
            Sharding::HybridShardZero2 => "hybrid_shard_zero2",
        }];
        let others = [
            (self.sharding != Sharding::NoShard, "auto_wrap"),
            (self.activation_checkpointing, "activation_checkpointing"),
            (self.sequence_parallel, "sequence_parallel"),
        ];
        words.extend(others.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| *word));
        words.join(" ")
    }

    /// The number of decisions: axes of the mesh, groups that are sharded, whether others are replicated, and settings that are not those of data
    /// parallelism. The absence of a strategy is one decision less.
    pub(super) fn complexity(&self) -> usize {
        let is_sharded = |dims: &&Dims| dims.iter().any(|axes| !axes.is_empty());
        let sharded = self.placed.values().filter(is_sharded).count();
        (self.axes.len() - usize::from(self.as_annotated && !self.axes.is_empty()))
            + sharded
            + usize::from(sharded < self.placed.len())
            + usize::from(self.sharding != Sharding::NoShard)
            + usize::from(self.activation_checkpointing)
            + usize::from(self.sequence_parallel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_simpler_than_a_strategy() {
        let strategy = Candidate::new(vec![(Purpose::Data, 8)], Sharding::NoShard);
        let annotated = Candidate { as_annotated: true, ..strategy.clone() };
        assert!(annotated.complexity() < strategy.complexity());
        assert_eq!((annotated.words().as_str(), annotated.with_other_priorities()), (AS_ANNOTATED, None));
    }

    #[test]
    fn axis_names_determine_purposes() {
        let axes = vec![(Purpose::Data, 4), (Purpose::Tensor, 2), (Purpose::Tensor, 2)];
        let candidate = Candidate::new(axes, Sharding::FullShard);
        let names: Vec<String> = candidate.mesh().axes.keys().map(ToString::to_string).collect();
        assert_eq!(names, ["fsdp", "tensor", "model"]);
        assert_eq!((candidate.size(Purpose::Tensor), candidate.size(Purpose::Expert)), (4, 1));
        assert_eq!(candidate.words(), "full_shard auto_wrap");
        assert_eq!(Settings::from_words(&candidate.words()).unwrap(), candidate.settings());
    }
}
