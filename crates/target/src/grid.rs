//! The grid of a target: the levels of its network, and the coordinates of devices.
//!
//! Devices are numbered like the devices of PJRT clients: the devices of a chip or host are consecutive, then the chips along the first
//! dimension of a slice, then along the second. Slices, and hosts, are the outermost level.

use smallvec::SmallVec;

use crate::spec::Network;
use crate::target::Target;

/// A level of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) kind: LevelKind,
    /// The number of positions.
    pub(crate) size: u32,
}

/// The links between the positions of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelKind {
    /// The devices of a chip.
    Chip,
    /// A dimension of a torus, which may wrap around.
    Ring { wraps: bool },
    /// The devices of a host.
    Host,
    /// Slices, or hosts.
    Outer,
}

/// The levels of a target, innermost first. Levels with one position are left out.
pub(crate) fn levels(target: &Target) -> SmallVec<[Level; 5]> {
    let mut levels: SmallVec<[Level; 5]> = SmallVec::new();
    match &target.spec().network {
        Network::Torus { wraps_at, per_chip, .. } => {
            levels.push(Level { kind: LevelKind::Chip, size: *per_chip });
            for &size in target.grid() {
                let wraps = size % wraps_at == 0;
                levels.push(Level { kind: LevelKind::Ring { wraps }, size });
            }
            levels.push(Level { kind: LevelKind::Outer, size: target.slices() });
        }
        Network::Hosts { .. } => {
            let (outer, inner) = match target.grid() {
                [hosts, per_host] => (*hosts, *per_host),
                grid => (1, grid.iter().product()),
            };
            levels.push(Level { kind: LevelKind::Host, size: inner });
            levels.push(Level { kind: LevelKind::Outer, size: outer });
        }
    }
    levels.retain(|level| level.size > 1);
    levels
}

/// The coordinates of a device, one for each level.
pub(crate) fn coordinates(levels: &[Level], device: u64) -> SmallVec<[u32; 5]> {
    let mut rest = device;
    let digits = levels.iter().map(|level| {
        let size = u64::from(level.size);
        let digit = (rest % size) as u32;
        rest /= size;
        digit
    });
    digits.collect()
}
