//! The collectives of the program that each device runs.
//!
//! * [`clean`]: fewer of them;
//! * [`verify`]: what must hold of them before a program is handed on.

pub mod clean;
pub mod verify;

use shardc_ir::{Module, SpmdMode};

/// What the devices of a localized module are, and how many; `None` for a module that does not say.
fn devices(module: &Module) -> Option<(SpmdMode, usize)> {
    let (mode, count) = match (module.num_replicas()?, module.num_partitions()?) {
        (replicas, 1) => (SpmdMode::Replica, replicas),
        (1, partitions) => (SpmdMode::Partition, partitions),
        _ => return None,
    };
    Some((mode, usize::try_from(count).ok()?))
}
