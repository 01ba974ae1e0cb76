//! Blocks of sharded arrays.

use std::collections::BTreeMap;

use shardc_interpreter::{Array, Compiled, Domain};
use shardc_runtime::ShardLayout;

use crate::Error;

/// Returns the block of each device. Devices that hold the same block share its elements.
pub(in crate::exec) fn shared<D: Domain>(
    layout: &ShardLayout,
    devices: usize,
    mut block: impl FnMut(usize) -> Result<Array<D>, Error>,
) -> Result<Vec<Array<D>>, Error> {
    let mut known: BTreeMap<(&[usize], usize), Array<D>> = BTreeMap::new();
    (0..devices)
        .map(|device| {
            let key = (layout.block(device).unwrap_or_default(), layout.addend(device));
            if let Some(found) = known.get(&key) {
                return Ok(found.clone());
            }
            let array = block(device)?;
            known.insert(key, array.clone());
            Ok(array)
        })
        .collect()
}

/// The blocks of an array by their place in the grid of blocks, each with the devices that hold its partial sums.
pub(in crate::exec) struct Blocks<'l>(BTreeMap<&'l [usize], BTreeMap<usize, Vec<usize>>>);

impl<'l> Blocks<'l> {
    pub(in crate::exec) fn new(layout: &'l ShardLayout) -> Self {
        let mut blocks: BTreeMap<&[usize], BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
        for device in 0..layout.num_devices() {
            let block = layout.block(device).unwrap_or_default();
            blocks.entry(block).or_default().entry(layout.addend(device)).or_default().push(device);
        }
        Blocks(blocks)
    }

    /// The devices that hold each partial sum of a block, block by block.
    pub(in crate::exec) fn iter(&self) -> impl Iterator<Item = &BTreeMap<usize, Vec<usize>>> {
        self.0.values()
    }
}

/// The elements of a block that are not padding.
pub(in crate::exec) fn unpadded<D: Compiled>(
    array: &Array<D>,
    layout: &ShardLayout,
    device: usize,
) -> Result<Array<D>, Error> {
    let extent = layout.extent(device).unwrap_or_default();
    if array.dims() == extent {
        return Ok(array.clone());
    }
    let start = vec![0; extent.len()];
    D::block(array, &start, &extent, 0.0).map_err(super::array_error)
}
