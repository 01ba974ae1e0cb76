//! Tile assignments as mixed-radix numbers.
//!
//! The devices of a mesh have *positions* `0..n`, row-major over its axes. Along one dimension of a tile assignment, the position is a
//! mixed-radix number: each *digit* has `size` values with distance `stride`. A dimension that several axes shard has one digit per axis. A
//! tile assignment fits a mesh if:
//!
//! * each of its dimensions is a sequence of digits, and
//! * the digits of all dimensions together represent each position once: if they are sorted by stride, each stride is the next smaller
//!   stride times the size of that digit.

use shardc_ir::{AxisList, Mesh};

use super::digits::{Digit, Digits, iota_digits, list_digits, push, row_major};
use super::hlo::{Devices, Subgroup, Tiling};
use crate::sharding::axes::{Part, Parts, to_axes};

/// For each device, its position in a mesh. `None` means that each position equals the device ID.
#[derive(Clone, Debug)]
pub(crate) struct Order(Option<Vec<i64>>);

impl Order {
    /// The position of each device is its ID.
    pub(crate) const IOTA: Order = Order(None);

    /// Returns the position of each device, for a list of the device at each position. Returns `None` if the list is not a permutation.
    pub(crate) fn of(devices: &[i64]) -> Option<Order> {
        let mut positions = vec![-1; devices.len()];
        for (position, &device) in devices.iter().enumerate() {
            let slot = positions.get_mut(usize::try_from(device).ok()?)?;
            if *slot >= 0 {
                return None;
            }
            *slot = position as i64;
        }
        Some(Order(Some(positions)))
    }
}

/// Returns the digits of each tile dimension under the device order `order`; each digit corresponds to a sub-axis of a mesh. The order of
/// digits within a subgroup is irrelevant, so they are sorted from major to minor.
pub(crate) fn digits(tiling: &Tiling, order: &Order) -> Option<Digits> {
    let mut out = match (&tiling.devices, &order.0) {
        (Devices::Iota { reshape, perm }, None) => iota_digits(&tiling.dims, reshape, perm)?,
        (Devices::List(list), None) => list_digits(&tiling.dims, list.clone(), tiling.subgroups.len())?,
        (devices, Some(positions)) => {
            let list = devices
                .list()
                .into_iter()
                .map(|device| positions.get(usize::try_from(device).ok()?).copied())
                .collect::<Option<Vec<i64>>>()?;
            list_digits(&tiling.dims, list, tiling.subgroups.len())?
        }
    };
    let rank = tiling.rank();
    for list in &mut out[rank..] {
        list.sort_unstable_by_key(|digit| std::cmp::Reverse(digit.stride));
        let mut merged = Vec::new();
        for digit in list.drain(..) {
            push(&mut merged, digit);
        }
        *list = merged;
    }
    Some(out)
}

/// Returns the axes and sub-axes of a mesh that correspond to a digit, major to minor. Returns `None` if the digit begins or ends inside an
/// axis at a boundary that does not divide the size of the axis.
pub(crate) fn parts_of(mesh: &Mesh, digit: Digit) -> Option<Parts> {
    let (mut high, low) = (digit.stride.checked_mul(digit.size)?, digit.stride);
    let mut parts = Parts::new();
    let sizes: Vec<i64> = mesh.axes.values().copied().collect();
    for (axis, (&size, stride)) in sizes.iter().zip(row_major(&sizes)).enumerate() {
        let end = stride * size;
        if high <= stride || low >= end || size == 1 {
            continue;
        }
        let (from, to) = (low.max(stride), high.min(end));
        // For example, an axis of size 6 cannot be split at 4. If the digit extends beyond the end of the axis, the preceding, more major
        // axes must have covered that part of the digit.
        if end % to != 0 || to % from != 0 || from % stride != 0 || high != to {
            return None;
        }
        parts.push(Part {
            axis: u16::try_from(axis).ok()?,
            pre: u32::try_from(end / to).ok()?,
            size: u32::try_from(to / from).ok()?,
        });
        high = from;
    }
    (high == low).then_some(parts)
}

/// Returns the axes and sub-axes that correspond to a list of digits.
pub(crate) fn axes_of(mesh: &Mesh, digits: &[Digit]) -> Option<AxisList> {
    let mut parts = Parts::new();
    for &digit in digits {
        parts.extend(parts_of(mesh, digit)?);
    }
    Some(to_axes(mesh, &parts))
}

/// Returns the axes of the subgroups of one kind.
pub(crate) fn subgroup_axes(
    mesh: &Mesh,
    tiling: &Tiling,
    digits: &Digits,
    kind: Subgroup,
) -> Option<AxisList> {
    let mut list: Vec<Digit> = tiling
        .subgroups
        .iter()
        .zip(&digits[tiling.rank()..])
        .filter(|(subgroup, _)| **subgroup == kind)
        .flat_map(|(_, digits)| digits.iter().copied())
        .collect();
    list.sort_unstable_by_key(|digit| std::cmp::Reverse(digit.stride));
    axes_of(mesh, &list)
}
