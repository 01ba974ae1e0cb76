//! The devices of an exchange, and their blocks before and after it.

use shardc_ir::{AxisList, Mesh, SizeList};

use crate::sharding::axes::{Part, Parts, hull, refine, size_of, to_axes};

/// The maximum number of devices that exchange pieces with each other. It bounds the tables of an exchange, which have an entry for each
/// device.
const MAX_DEVICES: i64 = 1 << 15;

/// The maximum number of elements of a value: integers up to this are exact in `f64`.
const MAX_ELEMENTS: f64 = (1u64 << 53) as f64;

/// One dimension of the value, without the common major axes by which it is sharded both before and after.
#[derive(Debug)]
pub(super) struct Dim {
    /// The size of the dimension.
    pub(super) size: i64,
    /// The size of an old block, including the padding of the last block.
    pub(super) old_block: i64,
    /// The size of a new block, including the padding of the last block.
    pub(super) new_block: i64,
    /// The number of old blocks.
    pub(super) old_count: i64,
    /// The number of new blocks.
    pub(super) new_count: i64,
    /// The index of each device's old block.
    pub(super) old: Vec<i64>,
    /// The index of each device's new block.
    pub(super) new: Vec<i64>,
}

/// A range of indices along one dimension that is within one old block and one new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The index of the old block.
    pub(super) old: i64,
}

/// How intervals of one dimension are cut into pieces.
#[derive(Clone, Debug)]
pub(super) enum Cut {
    /// Cuts an interval into pieces of at most this many elements.
    Most(i64),
    /// Cuts at these sorted offsets from each multiple of `every`.
    At { every: i64, offsets: Vec<i64> },
}

impl Cut {
    /// No cut.
    pub(super) const NOT: Cut = Cut::Most(i64::MAX);
}

/// The maximum number of block boundaries along a dimension for [`Dim::offsets`].
const MOST_BORDERS: i64 = 64;

impl Dim {
    /// Returns the intervals of the block with index `new`, cut further by `cut`.
    pub(super) fn intervals(&self, new: i64, cut: &Cut) -> Vec<Interval> {
        let end = ((new + 1) * self.new_block).min(self.size);
        let mut start = new * self.new_block;
        let mut out = Vec::new();
        while start < end {
            let old = start / self.old_block;
            let mut stop = ((old + 1) * self.old_block).min(end);
            let most = match cut {
                Cut::Most(most) => *most,
                Cut::At { every, offsets } => {
                    let inside = start % every;
                    let next = offsets.iter().find(|&&offset| offset > inside).copied().unwrap_or(*every);
                    stop = stop.min(start - inside + next);
                    i64::MAX
                }
            };
            let count = (stop - start - 1) / most + 1;
            for i in 0..count {
                // The pieces have about equal size.
                let at = |i: i64| start + (stop - start) * i / count;
                out.push(Interval { start: at(i), end: at(i + 1), old });
            }
            start = stop;
        }
        out
    }

    /// Returns cuts at the offsets of new block boundaries within old blocks or, if `of_new` is true, of old block boundaries within new
    /// blocks. All blocks then consist of pieces of the same sizes, which share rounds. `None` if there are no cuts or too many.
    pub(super) fn offsets(&self, of_new: bool) -> Option<Cut> {
        let (every, step) =
            if of_new { (self.new_block, self.old_block) } else { (self.old_block, self.new_block) };
        if every == 0 || step == 0 || self.size / step > MOST_BORDERS {
            return None;
        }
        let borders = (1..).map(|i| i * step).take_while(|&border| border < self.size);
        let mut offsets: Vec<i64> =
            borders.map(|border| border % every).filter(|&offset| offset > 0).collect();
        offsets.sort_unstable();
        offsets.dedup();
        (!offsets.is_empty()).then_some(Cut::At { every, offsets })
    }

    /// Returns the number of elements of block `new` that are in block `old`.
    pub(super) fn overlap(&self, old: i64, new: i64) -> i64 {
        let start = (old * self.old_block).max(new * self.new_block);
        let end = ((old + 1) * self.old_block).min((new + 1) * self.new_block).min(self.size);
        (end - start).max(0)
    }

    /// Returns the number of elements of block `new`, without padding.
    pub(super) fn length(&self, new: i64) -> i64 {
        (((new + 1) * self.new_block).min(self.size) - new * self.new_block).max(0)
    }
}

/// A group of devices that exchange pieces with each other: their coordinates differ only along the axes by which old and new blocks
/// differ. Each combination of the other coordinates is a separate world, so values that differ along unreduced or manual axes are never
/// mixed.
#[derive(Debug)]
pub(super) struct World {
    /// The axes along which the devices differ, in mesh order.
    pub(super) axes: AxisList,
    /// The number of devices.
    pub(super) devices: usize,
    pub(super) dims: Vec<Dim>,
}

impl World {
    /// Returns the group of exchanging devices for a value of shape `shape` whose dimensions are sharded by `from` before and by `to`
    /// after. Returns `None` if the value or the number of devices is too large.
    pub(super) fn new(mesh: &Mesh, from: &[Parts], to: &[Parts], shape: &[i64]) -> Option<World> {
        if shape.iter().map(|&n| n as f64).product::<f64>() > MAX_ELEMENTS {
            return None;
        }
        let mut lists: Vec<Parts> = from.iter().chain(to).cloned().collect();
        let nested = refine(mesh, &mut lists).is_some();
        let mut shape = SizeList::from_slice(shape);
        let mut blocks: Vec<(Parts, Parts)> = Vec::with_capacity(from.len());
        for (d, size) in shape.iter_mut().enumerate() {
            let (mut old, mut new) = (lists[d].clone(), lists[from.len() + d].clone());
            // A common major axis is removed if its blocks consist of whole old blocks and of whole new blocks, since no element crosses
            // the boundaries of its blocks.
            let is_even = |parts: &[Part]| *size % size_of(parts) == 0;
            let is_apart = is_even(&old) && is_even(&new);
            while let (Some(&a), Some(&b)) = (old.first(), new.first())
                && a == b
                && is_apart
            {
                old.remove(0);
                new.remove(0);
                *size /= i64::from(a.size);
            }
            blocks.push((old, new));
        }
        let mut parts: Parts = blocks.iter().flat_map(|(old, new)| old.iter().chain(new)).copied().collect();
        if !nested {
            // Example: the major sub-axes of size 2 and of size 3 of an axis of size 12 distinguish the same devices as the major sub-axis
            // of size 6.
            parts = parts.iter().map(|part| hull(&parts, part.axis)).collect();
        }
        parts.sort_unstable();
        parts.dedup();
        if size_of(&parts) > MAX_DEVICES {
            return None;
        }
        let devices = size_of(&parts) as usize;
        let index = |list: &[Part], device: usize| {
            list.iter()
                .fold(0, |index, part| index * i64::from(part.size) + coordinate(&parts, device, *part))
        };
        let dims = blocks.iter().zip(&shape).map(|((old, new), &size)| {
            let (old_count, new_count) = (size_of(old), size_of(new));
            Dim {
                size,
                old_block: (size + old_count - 1) / old_count,
                new_block: (size + new_count - 1) / new_count,
                old_count,
                new_count,
                old: (0..devices).map(|device| index(old, device)).collect(),
                new: (0..devices).map(|device| index(new, device)).collect(),
            }
        });
        let dims = dims.collect();
        Some(World { axes: to_axes(mesh, &parts), devices, dims })
    }

    /// Returns the index of the old block of a device.
    pub(super) fn old_block(&self, device: usize) -> usize {
        self.block(self.dims.iter().map(|dim| dim.old[device]))
    }

    /// Returns the index of the old block whose index along each dimension is in `indices`.
    pub(super) fn block(&self, indices: impl Iterator<Item = i64>) -> usize {
        self.dims.iter().zip(indices).fold(0, |block, (dim, i)| block * dim.old_count as usize + i as usize)
    }

    /// Returns the maximum number of elements of its new block that a device lacks.
    pub(super) fn lacking(&self) -> i64 {
        let lacks = |device: usize| {
            let wanted: i64 = self.dims.iter().map(|dim| dim.length(dim.new[device])).product();
            let kept: i64 =
                self.dims.iter().map(|dim| dim.overlap(dim.old[device], dim.new[device])).product();
            wanted - kept
        };
        (0..self.devices).map(lacks).max().unwrap_or(0)
    }
}

/// Returns the coordinate of a device along the sub-axis `part`. The index `device` is over `parts`, major to minor; one of these contains
/// `part`.
fn coordinate(parts: &[Part], device: usize, part: Part) -> i64 {
    let mut rest = device as i64;
    for own in parts.iter().rev() {
        let size = i64::from(own.size);
        if own.overlaps(part) {
            let minor = i64::from(own.pre * own.size / (part.pre * part.size));
            return rest % size / minor % i64::from(part.size);
        }
        rest /= size;
    }
    0
}
