//! The order of devices in a mesh that minimizes the time of its collectives.
//!
//! Each level of the network (a dimension of a torus, the devices of a host, the hosts) is divided among mesh axes: an axis gets the whole level or
//! a contiguous part of it, as in `create_device_mesh` of JAX. The time of the collectives along each set of axes is compared for all such
//! assignments, up to a limit.

use smallvec::SmallVec;

use crate::grid::{Level, levels};
use crate::group::{Group, Used};
use crate::target::Target;
use crate::traffic::Traffic;

/// The maximum number of assignments that are compared.
const MAX_ASSIGNMENTS: usize = 1 << 12;

/// An order must save this fraction of the time, so that rounding errors do not change the order.
const LEAST_SAVING: f64 = 1e-3;

/// Collectives of one kind along the same mesh axes.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisTraffic {
    /// The indices of the mesh axes.
    pub axes: SmallVec<[usize; 4]>,
    /// The kind of the collectives.
    pub kind: Traffic,
    /// The number of collectives.
    pub count: f64,
    /// The bytes of all collectives together, with the meaning of [`Traffic`].
    pub bytes: f64,
}

/// An order of devices.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceOrder {
    /// The device at each position of the mesh, the last axis first.
    pub devices: Vec<u64>,
    /// Seconds for all collectives if devices are in ascending order.
    pub before: f64,
    /// Seconds for all collectives in this order.
    pub after: f64,
}

/// A part of a level that a mesh axis uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    level: usize,
    axis: usize,
    size: u32,
    /// The distance between its positions, in positions of the level.
    stride: u32,
}

/// For each level, its parts from the inside outward. Parts of one axis are minor to major in this order.
type Assignment = Vec<Part>;

/// Returns the order of the target's devices in a mesh of these axis sizes, major to minor, that minimizes the time of the traffic. Devices
/// are in ascending order if no assignment is faster. `None` if the mesh has another number of devices than the target.
#[must_use]
pub fn best_order(target: &Target, sizes: &[u32], traffic: &[AxisTraffic]) -> Option<DeviceOrder> {
    let devices: u64 = sizes.iter().map(|&n| u64::from(n)).product();
    if devices != target.num_devices() as u64 {
        return None;
    }
    let levels = levels(target);
    let mut search = Search { levels: &levels, sizes, found: Vec::new() };
    search.divide(0, 1, &mut sizes.to_vec(), &mut Assignment::new());
    let before = traffic.iter().map(|traffic| seconds_in_order(target, sizes, traffic)).sum();
    let (mut best, mut after) = (None, before);
    for assignment in &search.found {
        let time = traffic.iter().map(|traffic| seconds(target, &levels, assignment, traffic)).sum();
        if time < after * (1.0 - LEAST_SAVING) {
            (best, after) = (Some(assignment), time);
        }
    }
    let devices = match best {
        Some(assignment) => numbers(&levels, sizes, assignment),
        None => (0..devices).collect(),
    };
    Some(DeviceOrder { devices, before, after })
}

/// Enumerates the assignments of levels to axes.
struct Search<'a> {
    levels: &'a [Level],
    sizes: &'a [u32],
    found: Vec<Assignment>,
}

impl Search<'_> {
    /// Divides `level` beyond the first `taken` positions, and then all outer levels. `left` is what each axis still needs.
    fn divide(&mut self, level: usize, taken: u32, left: &mut [u32], parts: &mut Assignment) {
        if self.found.len() == MAX_ASSIGNMENTS {
            return;
        }
        let Some(Level { size, .. }) = self.levels.get(level) else {
            self.found.push(parts.clone());
            return;
        };
        let rest = size / taken;
        if rest == 1 {
            return self.divide(level + 1, 1, left, parts);
        }
        // The last axis and the largest part come first.
        for axis in (0..self.sizes.len()).rev() {
            let is_next_part = parts.last().is_some_and(|part| part.level == level && part.axis == axis);
            if is_next_part {
                continue;
            }
            let most = gcd(rest, left[axis]);
            for part in (2..=most).rev().filter(|&part| most.is_multiple_of(part)) {
                left[axis] /= part;
                parts.push(Part { level, axis, size: part, stride: taken });
                self.divide(level, taken * part, left, parts);
                parts.pop();
                left[axis] *= part;
            }
        }
    }
}

/// Returns the time of some collectives in seconds.
fn seconds(target: &Target, levels: &[Level], assignment: &Assignment, traffic: &AxisTraffic) -> f64 {
    let mut used: SmallVec<[Used; 5]> = SmallVec::new();
    let mut last = None;
    for part in assignment.iter().filter(|part| traffic.axes.contains(&part.axis)) {
        match used.last_mut().filter(|_| last == Some(part.level)) {
            Some(used) => used.count *= part.size,
            None => used.push(Used { level: levels[part.level], count: part.size, distance: part.stride }),
        }
        last = Some(part.level);
    }
    time_of(&Group::of_levels(target, &used), traffic)
}

/// Returns the time of some collectives in seconds if the devices of the mesh are in ascending order.
fn seconds_in_order(target: &Target, sizes: &[u32], traffic: &AxisTraffic) -> f64 {
    let mut group: Vec<u64> = vec![0];
    let mut distance = 1;
    for (axis, &size) in sizes.iter().enumerate().rev() {
        if traffic.axes.contains(&axis) {
            let steps = (0..u64::from(size)).map(|i| i * distance);
            group = steps.flat_map(|step| group.iter().map(move |first| first + step)).collect();
        }
        distance *= u64::from(size);
    }
    time_of(&Group::of(target, group), traffic)
}

fn time_of(group: &Group, traffic: &AxisTraffic) -> f64 {
    if traffic.count > 0.0 {
        traffic.count * group.seconds(traffic.kind, traffic.bytes / traffic.count)
    } else {
        0.0
    }
}

/// Returns the device at each position of the mesh.
fn numbers(levels: &[Level], sizes: &[u32], assignment: &Assignment) -> Vec<u64> {
    let mut distance = 1;
    let distances: Vec<u64> = levels
        .iter()
        .map(|level| {
            let own = distance;
            distance *= u64::from(level.size);
            own
        })
        .collect();
    let number = |position: u64| {
        let mut rest = position;
        let mut device = 0;
        for (axis, &size) in sizes.iter().enumerate().rev() {
            let mut coordinate = rest % u64::from(size);
            rest /= u64::from(size);
            for part in assignment.iter().filter(|part| part.axis == axis) {
                let digit = coordinate % u64::from(part.size);
                coordinate /= u64::from(part.size);
                device += digit * u64::from(part.stride) * distances[part.level];
            }
        }
        device
    };
    (0..sizes.iter().map(|&n| u64::from(n)).product()).map(number).collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_reduces(axis: usize, bytes: f64) -> AxisTraffic {
        AxisTraffic { axes: SmallVec::from_slice(&[axis]), kind: Traffic::AllReduce, count: 1.0, bytes }
    }

    fn order(target: &str, sizes: &[u32], traffic: &[AxisTraffic]) -> DeviceOrder {
        best_order(&target.parse().unwrap(), sizes, traffic).unwrap()
    }

    #[test]
    fn the_axis_with_the_most_traffic_does_not_cross_slices() {
        // In ascending order, the major axis `model` consists of the two slices.
        let traffic = [all_reduces(0, 1e9), all_reduces(1, 1e6)];
        let found = order("v5e:4x4:2", &[2, 16], &traffic);
        assert!(found.after < found.before / 5.0, "{found:?}");
        assert_eq!(found.devices[0] / 16, found.devices[16] / 16, "both devices of `model` are in one slice");
        let mut all = found.devices.clone();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..32));
    }

    #[test]
    fn an_order_that_cannot_be_improved_is_ascending() {
        let found = order("h100:2x8", &[2, 8], &[all_reduces(1, 1e9), all_reduces(0, 1e6)]);
        assert!(found.devices.into_iter().eq(0..16));
        assert_eq!(found.before, found.after);
        let found = order("v5e:4x4", &[16], &[all_reduces(0, 1e9)]);
        assert!(found.devices.into_iter().eq(0..16));
    }

    #[test]
    fn the_major_axis_gets_the_devices_of_a_host() {
        let found = order("h100:4x8", &[8, 4], &[all_reduces(0, 1e9), all_reduces(1, 1e6)]);
        let first: Vec<u64> = found.devices.iter().step_by(4).copied().collect();
        assert_eq!(first, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(found.after < found.before);
    }

    #[test]
    fn a_ring_is_not_cut() {
        // The wrapped dimension of 16 chips is a ring of twice the bandwidth of a line.
        let found = order("v5e:16x16", &[16, 16], &[all_reduces(0, 1e9), all_reduces(1, 1e9)]);
        assert_eq!(found.before, found.after);
        let close = Group::of(&"v5e:16x16".parse().unwrap(), 0..16).seconds(Traffic::AllReduce, 1e9) * 2.0;
        assert!((found.after / close - 1.0).abs() < 1e-9);
    }

    #[test]
    fn other_numbers_of_devices_have_no_order() {
        assert_eq!(best_order(&"h100:8".parse().unwrap(), &[4], &[]), None);
        assert_eq!(best_order(&"h100:2x6".parse().unwrap(), &[5, 2], &[]), None);
        // No part of a host is six devices, so the axis has no contiguous parts.
        let found = order("h100:3x4", &[2, 6], &[all_reduces(1, 1e9)]);
        assert_eq!(found.devices.len(), 12);
    }
}
