//! Resharding of arrays on devices, including to different devices.

use std::collections::BTreeMap;

use super::ShardedArray;
use crate::client::Client;
use crate::device::Buffer;
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;
use crate::layout::ShardLayout;
use crate::placement::Placement;

impl ShardedArray {
    /// Reshards the array to the sharding `layout` over `devices`, which may have a different mesh or belong to a different client. A
    /// device that already holds its new block keeps it. Each other block is assembled on the host, from the old blocks that it overlaps.
    ///
    /// In a job of several processes, all processes must call this function. The full array is then temporarily in the memory of each host.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Layout`] if the sharding has a different shape or number of devices; a copy fails.
    pub fn reshard(
        &self,
        client: &Client,
        devices: impl Into<Placement>,
        layout: ShardLayout,
    ) -> Result<ShardedArray> {
        let placement = devices.into();
        if layout.global_shape() != self.layout.global_shape() {
            return Err(RuntimeError::Layout(format!(
                "an array of shape {:?} does not match a sharding of shape {:?}",
                self.layout.global_shape(),
                layout.global_shape()
            )));
        }
        let has_addends = self.layout.num_addends() > 1 || layout.num_addends() > 1;
        let across = client.processes().filter(|_| !self.is_all_here());
        if has_addends || across.is_some() {
            let whole = match across {
                Some(processes) => self.to_host_across(processes)?,
                None => self.to_host()?,
            };
            return ShardedArray::from_host(client, placement, layout, &whole);
        }
        let kept = self.kept(client, &placement, &layout);
        if kept.len() == placement.devices().len() {
            let buffers = placement.places().iter().filter_map(|place| kept.get(place).cloned()).collect();
            return ShardedArray::from_local(layout, placement.places().into(), buffers);
        }
        let mut sources = Sources { array: self, blocks: BTreeMap::new() };
        let target = layout.clone();
        let mut array = ShardedArray::from_callback(client, &placement, layout, self.dtype, |block| {
            sources.collect(&block.offsets, &block.extent, &target)
        })?;
        for (buffer, place) in array.buffers.iter_mut().zip(placement.places()) {
            if let Some(kept) = kept.get(place) {
                *buffer = kept.clone();
            }
        }
        Ok(array)
    }

    /// Returns the blocks of the target sharding that are already on their devices, keyed by the position of the device in the target
    /// sharding.
    fn kept(&self, client: &Client, placement: &Placement, layout: &ShardLayout) -> BTreeMap<usize, Buffer> {
        let is_alike = layout.local_shape() == self.layout.local_shape();
        let mut kept = BTreeMap::new();
        for (device, &place) in placement.devices().iter().zip(placement.places()).filter(|_| is_alike) {
            let held = |(own, buffer): &(&usize, &Buffer)| {
                client.has(buffer)
                    && buffer.device_id() == device.id()
                    && self.layout.offsets(**own) == layout.offsets(place)
            };
            if let Some((_, buffer)) = self.places.iter().zip(&self.buffers).find(held) {
                kept.insert(place, buffer.clone());
            }
        }
        kept
    }
}

/// The blocks of an array that have been copied to the host, keyed by the position of the first device that holds each block.
struct Sources<'a> {
    array: &'a ShardedArray,
    blocks: BTreeMap<usize, HostArray>,
}

impl Sources<'_> {
    /// Assembles a part of the array on the host, from all blocks that the part overlaps.
    fn collect(&mut self, offsets: &[usize], extent: &[usize], target: &ShardLayout) -> Result<HostArray> {
        let layout = &self.array.layout;
        let mut part = HostArray::zeros(self.array.dtype, extent)?;
        let mut seen: Vec<Vec<usize>> = Vec::new();
        let mut covered = 0;
        for (i, &place) in self.array.places.iter().enumerate() {
            let (Some(from), Some(size)) = (layout.offsets(place), layout.extent(place)) else { continue };
            let begin: Vec<usize> = offsets.iter().zip(&from).map(|(&a, &b)| a.max(b)).collect();
            let ends = offsets.iter().zip(extent).zip(from.iter().zip(&size));
            let end: Vec<usize> = ends.map(|((&a, &n), (&b, &m))| (a + n).min(b + m)).collect();
            if seen.contains(&from) || begin.iter().zip(&end).any(|(begin, end)| begin >= end) {
                continue;
            }
            let block = match self.blocks.get(&place) {
                Some(block) => block,
                None => {
                    let block = self.array.buffers[i].to_host()?;
                    self.blocks.entry(place).or_insert(block)
                }
            };
            let sizes: Vec<usize> = begin.iter().zip(&end).map(|(begin, end)| end - begin).collect();
            let relative = |to: &[usize]| begin.iter().zip(to).map(|(a, b)| a - b).collect::<Vec<_>>();
            part.paste_block(&block.slice_block(&relative(&from), &sizes, 0.0)?, &relative(offsets))?;
            covered += sizes.iter().product::<usize>();
            seen.push(from);
        }
        if covered != part.len() {
            return Err(RuntimeError::Layout(format!(
                "this process's devices hold only {covered} of the {} elements of a block of the array {target}",
                part.len()
            )));
        }
        Ok(part)
    }
}
