//! The collectives of the program that each device runs.
//!
//! * [`clean`]: fewer of them;
//! * [`verify`]: what must hold of them before a program is handed on.

pub mod clean;
pub mod verify;

use shardc_ir::{Attr, Module, SpmdMode};

/// What the devices of a localized module are, and how many; `None` for a module that does not say.
fn devices(module: &Module) -> Option<(SpmdMode, usize)> {
    let count = |name: &str| match module.attrs.get(name) {
        Some(Attr::Int(n, _)) => usize::try_from(*n).ok().filter(|&n| n > 0),
        _ => None,
    };
    match (count("mhlo.num_replicas")?, count("mhlo.num_partitions")?) {
        (replicas, 1) => Some((SpmdMode::Replica, replicas)),
        (1, partitions) => Some((SpmdMode::Partition, partitions)),
        _ => None,
    }
}
