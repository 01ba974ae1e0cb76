//! The devices of an exchange, and their blocks before and after it.

use shardc_ir::{AxisList, Mesh, SizeList};

use crate::sharding::axes::{Part, Parts, hull, refine, size_of, to_axes};

/// More devices than this do not exchange: what each does is in a table.
const MAX_DEVICES: i64 = 1 << 15;

/// Products of fewer elements are exact.
const MAX_ELEMENTS: f64 = (1u64 << 53) as f64;

/// One dimension of the value, as far as blocks of it differ before and after.
#[derive(Debug)]
pub(super) struct Dim {
    /// Elements along the dimension.
    pub(super) size: i64,
    /// Elements of a block before, with what the last one is filled up with.
    pub(super) old_block: i64,
    /// Elements of a block after.
    pub(super) new_block: i64,
    /// The number of blocks before.
    pub(super) old_count: i64,
    /// The number of blocks after.
    pub(super) new_count: i64,
    /// The block of each device before.
    pub(super) old: Vec<i64>,
    /// The block of each device after.
    pub(super) new: Vec<i64>,
}

/// Consecutive indices along one dimension that are in one block before and in one after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The block before.
    pub(super) old: i64,
}

/// How pieces of one dimension are cut further.
#[derive(Clone, Debug)]
pub(super) enum Cut {
    /// Into parts of at most so many elements.
    Most(i64),
    /// At these offsets in every so many elements; sorted.
    At { every: i64, offsets: Vec<i64> },
}

impl Cut {
    /// No further.
    pub(super) const NOT: Cut = Cut::Most(i64::MAX);
}

/// Of more borders than this along a dimension it is not looked at where they lie.
const MOST_BORDERS: i64 = 64;

impl Dim {
    /// Returns what block `new` is made of, cut further as `cut` says.
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
                // Parts of about the same size.
                let at = |i: i64| start + (stop - start) * i / count;
                out.push(Interval { start: at(i), end: at(i + 1), old });
            }
            start = stop;
        }
        out
    }

    /// Returns where borders of the other blocks are within some block before or, if `of_new`, after. Cut there, all blocks are
    /// made of parts of the same sizes, which go in the same rounds. `None` where there are none or too many.
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

    /// Returns the elements of block `new` that are in block `old`.
    pub(super) fn overlap(&self, old: i64, new: i64) -> i64 {
        let start = (old * self.old_block).max(new * self.new_block);
        let end = ((old + 1) * self.old_block).min((new + 1) * self.new_block).min(self.size);
        (end - start).max(0)
    }

    /// Returns the elements of block `new`.
    pub(super) fn length(&self, new: i64) -> i64 {
        (((new + 1) * self.new_block).min(self.size) - new * self.new_block).max(0)
    }
}

/// A part of the mesh that exchanges among itself: the axes over which blocks differ. Every combination of the other
/// coordinates is a world of its own, so that what is pending or manual never mixes.
#[derive(Debug)]
pub(super) struct World {
    /// The axes that tell the devices apart, in the order of the mesh.
    pub(super) axes: AxisList,
    /// The number of devices.
    pub(super) devices: usize,
    pub(super) dims: Vec<Dim>,
}

impl World {
    /// The world of a value of this shape whose dimensions are split by `from` before and by `to` after; `None` if it is too
    /// large.
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
            // What splits both alike first keeps apart what is made of whole blocks before and after: nothing crosses the
            // border.
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
            // The major half and the major third of an axis of 12: its major 6 tell all devices apart.
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

    /// Returns the number of the block that a device has before.
    pub(super) fn old_block(&self, device: usize) -> usize {
        self.block(self.dims.iter().map(|dim| dim.old[device]))
    }

    /// Returns the number of the block before with these indices.
    pub(super) fn block(&self, indices: impl Iterator<Item = i64>) -> usize {
        self.dims.iter().zip(indices).fold(0, |block, (dim, i)| block * dim.old_count as usize + i as usize)
    }

    /// Returns the most elements that a device lacks of its block.
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

/// Returns the coordinate along `part` of a device, which `parts` count from major to minor; one of them is or contains it.
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
