//! The collectives of a partitioned program.
//!
//! * [`clean`]: passes that reduce the number and the cost of collectives
//! * [`verify`]: the collective verifier

pub mod clean;
pub mod verify;

use shardc_ir::{Module, SpmdMode};

/// Returns the kind and number of devices of a localized module. Returns `None` if the module does not specify them.
fn devices(module: &Module) -> Option<(SpmdMode, usize)> {
    let (mode, count) = match (module.num_replicas()?, module.num_partitions()?) {
        (replicas, 1) => (SpmdMode::Replica, replicas),
        (1, partitions) => (SpmdMode::Partition, partitions),
        _ => return None,
    };
    Some((mode, usize::try_from(count).ok()?))
}
