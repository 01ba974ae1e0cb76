//! SPMD mode: whether the devices of a partitioned program are replicas or partitions.

use std::fmt;

/// The role of a device in a partitioned program, as the back end sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SpmdMode {
    /// Each device is a replica: `num_replicas = N`, collectives without channels, `replica_id`.
    #[default]
    Replica,
    /// Each device is a partition: `num_partitions = N`, collectives with channels and global device ids, `partition_id`, all operations
    /// marked as manually partitioned.
    Partition,
}

impl SpmdMode {
    /// The name on the command line and in manifests: `replica` or `partition`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SpmdMode::Replica => "replica",
            SpmdMode::Partition => "partition",
        }
    }

    /// The mode with the name `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Replica, Self::Partition].into_iter().find(|mode| mode.as_str() == text)
    }
}

impl fmt::Display for SpmdMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
