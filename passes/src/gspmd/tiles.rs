//! Tile assignments as mixed-radix numbers.
//!
//! The devices of a mesh stand at *positions* `0..n`, row-major over its axes. Along one dimension of a tile
//! assignment the position moves by *digits*: `size` steps of `stride` each, and where a dimension is made of
//! several axes, each is one digit. A tile assignment fits a mesh if each of its dimensions is made of digits, and
//! the digits of all dimensions together count the positions: sorted by stride, each stride is the next one's
//! stride times its size.

use shardc_ir::{AxisList, Mesh};

use super::digits::{Digit, Digits, iota_digits, list_digits, push, row_major};
use super::hlo::{Devices, Subgroup, Tiling};
use crate::sharding::axes::{Part, Parts, to_axes};

/// The position of each device of a mesh. `None` stands for positions that are device numbers.
#[derive(Clone, Debug)]
pub(crate) struct Order(Option<Vec<i64>>);

impl Order {
    /// Positions and devices are the same.
    pub(crate) const IOTA: Order = Order(None);

    /// Inverts the list of the device at each position; `None` if it is no permutation.
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

/// Returns the digits of a tile assignment on devices in this order. Within a subgroup, the order of digits has no meaning:
/// they are from major to minor.
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

/// Returns the axes of a mesh that a digit is made of, major to minor. `None` where it begins or ends inside of an axis at
/// a place that does not divide it.
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
        // An axis of 6 cannot be cut at 4, and a digit that goes on beyond the axis must have had its upper part
        // taken by the axis before.
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

/// Returns the axes that a list of digits is made of.
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
