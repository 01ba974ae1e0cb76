//! The time of a collective among a group of devices.
//!
//! A group is a box of the target's grid: some positions of each level of the network. Collectives run level by level, from the chip or host
//! outward, so that only one shard of each inner level crosses an outer link. Within a torus, bytes are divided among all dimensions of the box.
//! Source: "How to Scale Your Model" (Austin et al., 2025), sections on sharded matrices and on GPUs.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use crate::grid::{Level, LevelKind, coordinates, levels};
use crate::spec::{Link, Network};
use crate::target::Target;
use crate::traffic::Traffic;

/// A part of the network that a group uses, with all dimensions of a torus as one stage.
#[derive(Clone, Debug, PartialEq)]
struct Stage {
    name: String,
    /// The number of devices that the stage connects.
    size: f64,
    /// Bytes per second that a device can send in an all-gather.
    bandwidth: f64,
    /// Seconds until data has passed all hops.
    latency: f64,
    /// Seconds for each byte of the operand of an all-to-all.
    exchange: f64,
}

/// A group of devices that communicate.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    stages: SmallVec<[Stage; 2]>,
    /// The largest number of hops between the devices of a pair, if the group was made of pairs.
    hops: f64,
    launch: f64,
}

/// The way between the devices of a pair: the hops in each level, outermost first.
struct Way {
    hops: SmallVec<[u32; 5]>,
    from: u64,
    to: u64,
}

/// The positions of one level that a group uses.
pub(crate) struct Used {
    pub(crate) level: Level,
    pub(crate) count: u32,
    /// The distance between neighboring positions of the group.
    pub(crate) distance: u32,
}

impl Group {
    /// The group with these devices, given by their numbers in the target's order.
    #[must_use]
    pub fn of(target: &Target, devices: impl IntoIterator<Item = u64>) -> Group {
        let levels = levels(target);
        let mut seen: SmallVec<[BTreeSet<u32>; 5]> = SmallVec::from_elem(BTreeSet::new(), levels.len());
        for device in devices {
            for (seen, at) in seen.iter_mut().zip(coordinates(&levels, device)) {
                seen.insert(at);
            }
        }
        let used = levels.iter().zip(&seen).filter(|(_, seen)| seen.len() > 1).map(|(&level, seen)| {
            let steps = seen.iter().zip(seen.iter().skip(1)).map(|(a, b)| b - a);
            Used { level, count: seen.len() as u32, distance: steps.min().unwrap_or(1) }
        });
        let used: SmallVec<[Used; 5]> = used.collect();
        Group::of_levels(target, &used)
    }

    /// The group that uses these positions of levels, innermost first.
    pub(crate) fn of_levels(target: &Target, used: &[Used]) -> Group {
        Group { stages: stages(target, used), hops: 1.0, launch: target.spec().launch }
    }

    /// The group of a permutation, given by pairs of source and target.
    #[must_use]
    pub fn of_pairs(target: &Target, pairs: &[(u64, u64)]) -> Group {
        let levels = levels(target);
        // The pair with the longest way over the outermost level decides.
        let mut farthest: Option<Way> = None;
        for &(from, to) in pairs {
            let (a, b) = (coordinates(&levels, from), coordinates(&levels, to));
            let way = levels.iter().zip(a.iter().zip(&b)).map(|(level, (&a, &b))| {
                let straight = a.abs_diff(b);
                match level.kind {
                    LevelKind::Ring { wraps: true } => straight.min(level.size - straight),
                    LevelKind::Ring { wraps: false } => straight,
                    LevelKind::Chip | LevelKind::Host | LevelKind::Outer => straight.min(1),
                }
            });
            let way: SmallVec<[u32; 5]> = way.rev().collect();
            if farthest.as_ref().is_none_or(|longest| way > longest.hops) {
                farthest = Some(Way { hops: way, from, to });
            }
        }
        let Some(Way { hops, from, to }) = farthest else { return Group::of(target, []) };
        let mut group = Group::of(target, [from, to]);
        group.hops = f64::from(hops.iter().sum::<u32>()).max(1.0);
        // Each link carries the data of as many pairs as there are hops.
        if let (Some(stage), Network::Torus { link, .. }) = (group.stages.last_mut(), &target.spec().network)
            && stage.name == link.name
        {
            stage.bandwidth = link.bandwidth;
        }
        group
    }

    /// The name of the slowest links that the group uses; empty for a single device.
    #[must_use]
    pub fn link(&self) -> &str {
        self.stages.last().map_or("", |stage| &stage.name)
    }

    /// The bytes per second that a device can send to the others in an all-gather; infinite for a single device.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        let sent: f64 = 1.0 - 1.0 / self.size();
        let seconds = self.ring(1.0);
        if seconds > 0.0 { sent / seconds } else { f64::INFINITY }
    }

    fn size(&self) -> f64 {
        self.stages.iter().map(|stage| stage.size).product()
    }

    /// Seconds, without latencies, for an all-gather whose result has `bytes`.
    fn ring(&self, bytes: f64) -> f64 {
        let (mut left, mut seconds) = (bytes, 0.0);
        // The outermost stage runs first, on single shards; the innermost moves the whole result.
        for stage in &self.stages {
            seconds += left * (1.0 - 1.0 / stage.size) / stage.bandwidth;
            left /= stage.size;
        }
        seconds
    }

    /// The time of a collective in seconds.
    #[must_use]
    pub fn seconds(&self, traffic: Traffic, bytes: f64) -> f64 {
        let latency: f64 = self.stages.iter().map(|stage| stage.latency).sum();
        let moved = match traffic {
            Traffic::AllGather | Traffic::ReduceScatter => latency + self.ring(bytes),
            Traffic::AllReduce => 2.0 * (latency + self.ring(bytes)),
            Traffic::AllToAll => {
                latency + self.stages.iter().map(|stage| bytes * stage.exchange).sum::<f64>()
            }
            Traffic::Permute => {
                self.stages.last().map_or(0.0, |stage| latency + bytes * self.hops / stage.bandwidth)
            }
        };
        self.launch + moved
    }
}

/// Merges the levels that a group uses into stages, innermost first.
fn stages(target: &Target, used: &[Used]) -> SmallVec<[Stage; 2]> {
    let mut stages: SmallVec<[Stage; 2]> = SmallVec::new();
    let switched = |link: &Link, size: u32| {
        let n = f64::from(size);
        Stage {
            name: link.name.to_string(),
            size: n,
            bandwidth: link.bandwidth,
            latency: link.latency * n.log2().ceil(),
            exchange: (1.0 - 1.0 / n) / link.bandwidth,
        }
    };
    let mut torus: Option<Stage> = None;
    for used in used {
        match (used.level.kind, &target.spec().network) {
            (LevelKind::Ring { wraps }, Network::Torus { link, .. }) => {
                let ring = along_ring(link, used, wraps);
                torus = Some(match torus {
                    None => ring,
                    Some(other) => Stage {
                        name: ring.name,
                        size: other.size * ring.size,
                        bandwidth: other.bandwidth + ring.bandwidth,
                        latency: other.latency + ring.latency,
                        exchange: other.exchange.max(ring.exchange),
                    },
                });
            }
            (LevelKind::Outer, Network::Torus { between_slices, .. }) => {
                stages.extend(torus.take());
                stages.push(switched(between_slices, used.count));
            }
            (_, Network::Torus { on_chip, .. }) => stages.push(switched(on_chip, used.count)),
            (LevelKind::Outer, Network::Hosts { between_hosts, .. }) => {
                stages.push(switched(between_hosts, used.count));
            }
            (_, Network::Hosts { link, .. }) => stages.push(switched(link, used.count)),
        }
    }
    stages.extend(torus);
    stages
}

/// One dimension of a torus. A whole dimension that wraps around is a ring, whose two directions are used at once; other parts are lines. Groups
/// that interleave share the links between their positions.
fn along_ring(link: &Link, used: &Used, wraps: bool) -> Stage {
    let (n, shared) = (f64::from(used.count), f64::from(used.distance));
    let is_ring = wraps && used.count * used.distance == used.level.size && used.count > 2;
    let (directions, hops) = if is_ring { (2.0, (n / 2.0).floor()) } else { (1.0, n - 1.0) };
    Stage {
        name: link.name.to_string(),
        size: n,
        bandwidth: directions * link.bandwidth / shared,
        latency: hops * shared * link.latency,
        // A quarter of the data crosses the middle, over one link, or over two in a ring.
        exchange: n * shared / (4.0 * directions * link.bandwidth),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-3, "{value} is not {expected}");
    }

    #[test]
    fn a_whole_ring_uses_both_directions() {
        let pod = target("v5e:16x16");
        close(Group::of(&pod, 0..16).bandwidth(), 90e9);
        close(Group::of(&pod, 0..256).bandwidth(), 180e9);
        // Eight of sixteen chips are a line.
        close(Group::of(&pod, 0..8).bandwidth(), 45e9);
        // Every second chip: two groups share each link.
        close(Group::of(&pod, (0..8).map(|i| 2 * i)).bandwidth(), 45e9);
        close(Group::of(&pod, (0..4).map(|i| 2 * i)).bandwidth(), 22.5e9);
    }

    #[test]
    fn small_slices_do_not_wrap() {
        close(Group::of(&target("v5e:4x4"), 0..4).bandwidth(), 45e9);
        close(Group::of(&target("v5p:4x4x4"), 0..4).bandwidth(), 180e9);
    }

    #[test]
    fn only_shards_cross_hosts() {
        let hosts = target("h100:2x8");
        let (inside, all) = (Group::of(&hosts, 0..8), Group::of(&hosts, 0..16));
        assert_eq!((inside.link(), all.link()), ("NVLink", "network"));
        let bytes = 1e9;
        // Inside, seven eighths of the result move; between hosts, half of an eighth.
        let expected = bytes * 7.0 / 8.0 / 450e9 + bytes / 8.0 / 2.0 / 50e9;
        close(all.seconds(Traffic::AllGather, bytes), expected + 2e-6 + 9e-6 + 10e-6);
        let across = Group::of(&hosts, [0, 8]);
        close(across.bandwidth(), 50e9);
    }

    #[test]
    fn slices_are_connected_by_the_data_center_network() {
        let slices = target("v5e:4x4:2");
        assert_eq!(slices.num_devices(), 32);
        let group = Group::of(&slices, [0, 16]);
        assert_eq!(group.link(), "DCN");
        close(group.bandwidth(), 3.125e9);
    }

    #[test]
    fn exchanges_cross_the_middle_of_a_ring() {
        // 16 devices: a quarter of the time of an all-gather of all operands.
        let group = Group::of(&target("v5e:16x16"), 0..16);
        let bytes = 1e9;
        close(group.seconds(Traffic::AllToAll, bytes) - 8e-6, 16.0 * bytes / (8.0 * 45e9));
    }

    #[test]
    fn a_single_device_does_not_communicate() {
        let group = Group::of(&target("v5e:2x2"), [3]);
        assert_eq!(group.link(), "");
        assert!(group.bandwidth().is_infinite());
    }

    #[test]
    fn a_permutation_takes_the_longest_way() {
        let pod = target("v5e:16x16");
        let shift: Vec<_> = (0..16).map(|i| (i, (i + 1) % 16)).collect();
        let far: Vec<_> = (0..16).map(|i| (i, (i + 8) % 16)).collect();
        let seconds = |pairs: &[(u64, u64)]| Group::of_pairs(&pod, pairs).seconds(Traffic::Permute, 1e9);
        close(seconds(&shift), 1e9 / 45e9);
        close(seconds(&far), 8.0 * seconds(&shift));
    }
}
