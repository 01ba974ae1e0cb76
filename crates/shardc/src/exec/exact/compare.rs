//! Comparison of the blocks of all devices with an output of the original.

use std::collections::BTreeMap;

use shardc_interpreter::{Array, Compiled, Exact};
use shardc_ir::{Diagnostic, ReductionKind};
use shardc_runtime::ShardLayout;

use super::ExactCheck;
use crate::Error;
use crate::exec::interpreter::{Blocks, array_error, unpadded};

/// The blocks of an output on all devices.
struct Shards<'a> {
    layout: &'a ShardLayout,
    arrays: &'a [&'a Array<Exact>],
}

impl Shards<'_> {
    /// The block of a device, without padding.
    fn block(&self, device: usize) -> Result<Array<Exact>, Error> {
        match self.arrays.get(device) {
            Some(block) => unpadded(block, self.layout, device),
            None => Err(Diagnostic::internal("SH0791", "a device returned no block").into()),
        }
    }
}

/// Compares the blocks of all devices with an output of the original; partial sums are combined first.
pub(super) fn compare_output(
    check: &mut ExactCheck,
    expected: &Array<Exact>,
    layout: &ShardLayout,
    arrays: &[&Array<Exact>],
    reduction: ReductionKind,
) -> Result<(), Error> {
    let shards = Shards { layout, arrays };
    for held in Blocks::new(layout).iter() {
        let Some(&first) = held.values().next().and_then(|devices| devices.first()) else { continue };
        let offsets = layout.offsets(first).unwrap_or_default();
        let extent = layout.extent(first).unwrap_or_default();
        let wanted = Exact::block(expected, &offsets, &extent, 0.0).map_err(array_error)?;
        let mut wrong = match held.len() {
            1 => compare_copies(check, &wanted, held.values().flatten(), &shards)?,
            _ => compare_sum(check, &wanted, held, &shards, reduction)?,
        };
        wrong.sort_unstable();
        wrong.dedup();
        let global: Vec<usize> =
            wrong.iter().map(|&at| position(at, &extent, &offsets, expected.dims())).collect();
        record(check, expected.dims(), &global, &[]);
    }
    check.devices.sort_unstable();
    check.devices.dedup();
    Ok(())
}

/// Compares each copy of a block. Returns the positions in the block that differ.
fn compare_copies<'d>(
    check: &mut ExactCheck,
    wanted: &Array<Exact>,
    devices: impl Iterator<Item = &'d usize>,
    shards: &Shards<'_>,
) -> Result<Vec<usize>, Error> {
    let mut wrong = Vec::new();
    for &device in devices {
        let found = differences(wanted, &shards.block(device)?);
        if !found.is_empty() {
            check.devices.push(device);
            wrong.extend(found);
        }
    }
    Ok(wrong)
}

/// Combines the partial sums of a block, and compares the copies of each partial sum with each other. Returns the positions in the block that
/// differ.
fn compare_sum(
    check: &mut ExactCheck,
    wanted: &Array<Exact>,
    held: &BTreeMap<usize, Vec<usize>>,
    shards: &Shards<'_>,
    reduction: ReductionKind,
) -> Result<Vec<usize>, Error> {
    let mut wrong = Vec::new();
    let mut sum: Option<Array<Exact>> = None;
    for devices in held.values() {
        let Some((&first, others)) = devices.split_first() else { continue };
        let own = shards.block(first)?;
        wrong.extend(compare_copies(check, &own, others.iter(), shards)?);
        sum = Some(match sum {
            None => own,
            Some(sum) => sum.combined(&own, reduction).map_err(array_error)?,
        });
    }
    let found = sum.map_or_else(Vec::new, |sum| differences(wanted, &sum));
    if !found.is_empty() {
        check.devices.extend(held.values().flatten());
        wrong.extend(found);
    }
    Ok(wrong)
}

/// The positions that differ; all of them if the arrays have different types.
fn differences(wanted: &Array<Exact>, got: &Array<Exact>) -> Vec<usize> {
    Exact::differences(wanted, got).unwrap_or_else(|| (0..wanted.len().max(1)).collect())
}

/// Adds elements that differ, by their positions in row-major order in an array of the shape `dims`.
pub(super) fn record(check: &mut ExactCheck, dims: &[usize], positions: &[usize], devices: &[usize]) {
    let Some(&least) = positions.iter().min() else { return };
    check.different += positions.len() as u64;
    check.devices.extend(devices);
    let index = index(least, dims);
    if check.first.as_ref().is_none_or(|first| index < *first) {
        check.first = Some(index);
    }
}

/// The index of a position in row-major order.
fn index(mut position: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (at, &size) in index.iter_mut().zip(dims).rev() {
        (*at, position) = (position % size.max(1), position / size.max(1));
    }
    index
}

/// The position in an array of the shape `dims` of the element at a position of a block.
fn position(at: usize, block: &[usize], offsets: &[usize], dims: &[usize]) -> usize {
    let index = index(at, block);
    let along = index.iter().zip(offsets).zip(dims);
    along.fold(0, |position, ((&i, &offset), &size)| position * size + i + offset)
}

#[cfg(test)]
mod tests {
    use shardc_ir::{DType, TensorType};

    use super::*;

    fn integers(dims: &[usize], values: &[i32]) -> Array<Exact> {
        let bytes: Vec<u8> = values.iter().flat_map(|n| n.to_le_bytes()).collect();
        Exact::read(dims, DType::I32, &bytes).unwrap()
    }

    fn compared(layout: &ShardLayout, expected: &[i32], shards: &[Vec<i32>]) -> ExactCheck {
        let expected = integers(layout.global_shape(), expected);
        let blocks: Vec<_> = shards.iter().map(|shard| integers(layout.local_shape(), shard)).collect();
        let shape: Vec<i64> = layout.global_shape().iter().map(|&n| n as i64).collect();
        let mut check = ExactCheck::new(0, None, TensorType::new(&shape, DType::I32), expected.len() as u64);
        let blocks: Vec<&Array<Exact>> = blocks.iter().collect();
        compare_output(&mut check, &expected, layout, &blocks, ReductionKind::Add).unwrap();
        check
    }

    #[test]
    fn padding_is_ignored_and_wrong_copies_are_located() {
        // Three elements on two blocks, each on two devices.
        let layout = ShardLayout::new(&[3], &[2], vec![vec![0], vec![1], vec![0], vec![1]]).unwrap();
        let shards = |last: i32| vec![vec![1, 2], vec![3, 99], vec![1, 2], vec![last, -1]];
        assert!(compared(&layout, &[1, 2, 3], &shards(3)).ok());
        let wrong = compared(&layout, &[1, 2, 3], &shards(4));
        assert_eq!((wrong.different, wrong.first, wrong.devices), (1, Some(vec![2]), vec![3]));
    }

    #[test]
    fn partial_sums_are_combined() {
        let layout = ShardLayout::replicated(&[2], 4).unwrap();
        let layout = layout.with_addends(vec![0, 0, 1, 1], ReductionKind::Add).unwrap();
        let shards = |last: i32| vec![vec![1, 2], vec![1, 2], vec![3, 4], vec![3, last]];
        assert!(compared(&layout, &[4, 6], &shards(4)).ok());
        // A wrong copy of a partial sum, and a wrong sum.
        let copy = compared(&layout, &[4, 6], &shards(5));
        assert_eq!((copy.different, copy.first, copy.devices), (1, Some(vec![1]), vec![3]));
        assert_eq!(compared(&layout, &[4, 7], &shards(4)).devices, [0, 1, 2, 3]);
    }
}
