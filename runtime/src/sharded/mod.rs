//! Arrays sharded over devices.

mod file;
mod reshard;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use shardc_ir::DType;

use crate::array_type::ArrayType;
use crate::client::Client;
use crate::device::{Buffer, Device};
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;
use crate::layout::{ReplicaDisagreement, ShardLayout};
use crate::placement::Placement;
use crate::processes::Processes;

/// A request for the elements of a block of a global array, for one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// The position of the device in the sharding.
    pub place: usize,
    /// The offset of the block in the global array, by dimension.
    pub offsets: Vec<usize>,
    /// The sizes of the block without padding.
    pub extent: Vec<usize>,
    /// The sizes of the block with padding. The callback may return an array of these sizes or of `extent`.
    pub padded: Vec<usize>,
}

/// A global array that is sharded: each device has a block. Cheap to clone: clones share device memory.
///
/// In a job of several processes, each process has the blocks of its own devices, and the sharding over the devices of all processes.
#[derive(Clone, Debug)]
pub struct ShardedArray {
    layout: ShardLayout,
    dtype: DType,
    buffers: Vec<Buffer>,
    /// For each buffer, the position of its device in the sharding.
    places: Arc<[usize]>,
}

impl ShardedArray {
    /// Shards an array over devices. Copies the blocks of this process's devices to them, one after the other.
    ///
    /// # Errors
    ///
    /// The array's shape or the number of devices does not match the sharding, or a copy fails.
    pub fn from_host(
        client: &Client,
        devices: impl Into<Placement>,
        layout: ShardLayout,
        array: &HostArray,
    ) -> Result<ShardedArray> {
        array.check()?;
        let put = |block: &HostArray, device: &Device| client.buffer_from_host(block, device);
        ShardedArray::spread(&devices.into(), layout, array.dtype, put, |layout, place| {
            layout.shard(array, place)
        })
    }

    /// Shards an array over devices as [`ShardedArray::from_host`] does, and returns before the blocks are copied if the plugin supports
    /// that. Until they are copied, the blocks are also in host memory. The source array may be changed or dropped at once.
    ///
    /// # Errors
    ///
    /// The errors of [`ShardedArray::from_host`]; later errors are returned by any use of the array.
    pub fn send(
        client: &Client,
        devices: impl Into<Placement>,
        layout: ShardLayout,
        array: &HostArray,
    ) -> Result<ShardedArray> {
        array.check()?;
        let put = |block: &Arc<HostArray>, device: &Device| client.send(Arc::clone(block), device);
        // Devices with the same block share one host copy of it.
        let mut made: BTreeMap<_, Arc<HostArray>> = BTreeMap::new();
        ShardedArray::spread(&devices.into(), layout, array.dtype, put, |layout, place| {
            Ok(match made.entry((layout.offsets(place), layout.addend(place))) {
                Entry::Occupied(known) => Arc::clone(known.get()),
                Entry::Vacant(vacant) => Arc::clone(vacant.insert(Arc::new(layout.shard(array, place)?))),
            })
        })
    }

    /// Creates an array from blocks. `block` is called for the devices of this process, one after the other, so the full array is never in
    /// host memory. `block` is called only once for consecutive devices with the same block. It may return a block with or without padding.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Layout`] if a block has a different type or shape than requested; the number of devices does not match the
    /// sharding; the sharding is unreduced; errors of `block`; a copy fails.
    pub fn from_callback(
        client: &Client,
        devices: impl Into<Placement>,
        layout: ShardLayout,
        dtype: DType,
        mut block: impl FnMut(&BlockRequest) -> Result<HostArray>,
    ) -> Result<ShardedArray> {
        if layout.num_addends() > 1 {
            return Err(RuntimeError::Layout(format!(
                "cannot create an unreduced array from blocks ({layout}): devices hold partial sums"
            )));
        }
        let mut last: Option<(Vec<usize>, HostArray)> = None;
        let put = |block: &HostArray, device: &Device| client.buffer_from_host(block, device);
        ShardedArray::spread(&devices.into(), layout, dtype, put, |layout, place| {
            let request = request(layout, place)?;
            if let Some((_, made)) = last.as_ref().filter(|(offsets, _)| *offsets == request.offsets) {
                return Ok(made.clone());
            }
            let made = block(&request)?;
            made.check()?;
            let made = match made.shape {
                _ if made.dtype != dtype => None,
                ref shape if *shape == request.padded => Some(made),
                ref shape if *shape == request.extent => {
                    let padding = crate::layout::LOUD_PADDING;
                    Some(made.slice_block(&vec![0; shape.len()], &request.padded, padding)?)
                }
                ref shape => {
                    return Err(RuntimeError::Layout(format!(
                        "the callback returned a block of shape {shape:?} for device {place}, expected {:?}",
                        request.extent
                    )));
                }
            };
            let made = made.ok_or_else(|| {
                RuntimeError::Layout(format!(
                    "the callback must return blocks of type {dtype}, but returned a different type for device {place}"
                ))
            })?;
            last = Some((request.offsets, made.clone()));
            Ok(made)
        })
    }

    fn spread<B>(
        placement: &Placement,
        layout: ShardLayout,
        dtype: DType,
        put: impl Fn(&B, &Device) -> Result<Buffer>,
        mut block: impl FnMut(&ShardLayout, usize) -> Result<B>,
    ) -> Result<ShardedArray> {
        check_count(&layout, placement.count())?;
        let buffers = placement
            .devices()
            .iter()
            .zip(placement.places())
            .map(|(device, &place)| put(&block(&layout, place)?, device))
            .collect::<Result<_>>()?;
        Ok(ShardedArray { layout, dtype, buffers, places: placement.places().into() })
    }

    /// Creates an array from its blocks on devices, such as one result of a program, without a copy. `buffers[i]` is the block of the
    /// sharding's device `i`; all devices must belong to this process.
    ///
    /// # Errors
    ///
    /// The number or shape of the blocks does not match the sharding, or the blocks have several element types.
    pub fn from_buffers(layout: ShardLayout, buffers: Vec<Buffer>) -> Result<ShardedArray> {
        check_count(&layout, buffers.len())?;
        let places = (0..buffers.len()).collect();
        ShardedArray::from_local(layout, places, buffers)
    }

    /// Creates an array from the blocks on this process's devices, without a copy. `places[i]` is the position in the sharding of the
    /// device of `buffers[i]`.
    fn from_local(layout: ShardLayout, places: Arc<[usize]>, buffers: Vec<Buffer>) -> Result<ShardedArray> {
        if let Some(buffer) = buffers.iter().find(|buffer| buffer.shape() != layout.local_shape()) {
            return Err(RuntimeError::Layout(format!(
                "a block of shape {:?} does not match a sharding with blocks of shape {:?}",
                buffer.shape(),
                layout.local_shape()
            )));
        }
        let Some(dtype) = buffers.first().map(Buffer::dtype) else {
            return Err(RuntimeError::Layout("a sharded array must have at least one device".to_owned()));
        };
        if let Some(buffer) = buffers.iter().find(|buffer| buffer.dtype() != dtype) {
            return Err(RuntimeError::Layout(format!(
                "blocks must have the same element type, got {dtype} and {}",
                buffer.dtype()
            )));
        }
        if buffers.len() != places.len() || places.iter().any(|&place| place >= layout.num_devices()) {
            return Err(RuntimeError::Layout(format!(
                "{} blocks do not match the device positions {places:?} in a sharding over {} devices",
                buffers.len(),
                layout.num_devices()
            )));
        }
        Ok(ShardedArray { layout, dtype, buffers, places })
    }

    /// The sharding of the array.
    #[must_use]
    pub fn layout(&self) -> &ShardLayout {
        &self.layout
    }

    /// Returns the blocks on this process's devices. If all devices of the sharding belong to this process, the blocks are in the order of
    /// the sharding's devices.
    #[must_use]
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// For each of [`ShardedArray::buffers`], the position of its device in the sharding.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// Returns whether all blocks are on devices of this process.
    #[must_use]
    pub fn is_all_here(&self) -> bool {
        self.places.len() == self.layout.num_devices()
    }

    /// Consumes the array and returns its blocks, as [`ShardedArray::buffers`].
    #[must_use]
    pub fn into_buffers(self) -> Vec<Buffer> {
        self.buffers
    }

    /// The element type and the shape of the full array.
    #[must_use]
    pub fn ty(&self) -> ArrayType {
        ArrayType { dtype: self.dtype, shape: self.layout.global_shape().to_vec() }
    }

    /// Returns whether the content of all blocks of this process's devices is available. Does not wait.
    ///
    /// # Errors
    ///
    /// The error of the program that computes the blocks; or the memory of a block was freed.
    pub fn is_ready(&self) -> Result<bool> {
        for buffer in &self.buffers {
            if !buffer.is_ready()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until the content of all blocks of this process's devices is available.
    ///
    /// # Errors
    ///
    /// The errors of [`ShardedArray::is_ready`].
    pub fn wait(&self) -> Result<()> {
        self.buffers.iter().try_for_each(Buffer::wait)
    }

    /// Copies all blocks of this process's devices to the host, including padding and replicas.
    ///
    /// # Errors
    ///
    /// A copy fails.
    pub fn shards(&self) -> Result<Vec<HostArray>> {
        self.buffers.iter().map(Buffer::to_host).collect()
    }

    /// Copies a block to the host, without its padding. `place` is the position of its device in the sharding; `None` if no device of this
    /// process has this position.
    ///
    /// # Errors
    ///
    /// The copy fails.
    pub fn shard(&self, place: usize) -> Result<Option<(BlockRequest, HostArray)>> {
        let Some(i) = self.places.iter().position(|&known| known == place) else { return Ok(None) };
        let request = request(&self.layout, place)?;
        let block = self.buffers[i].to_host()?;
        let block = block.slice_block(&vec![0; request.extent.len()], &request.extent, 0.0)?;
        Ok(Some((request, block)))
    }

    /// Assembles the array on the host; if several devices hold the same block, the block of the first device is used.
    ///
    /// # Errors
    ///
    /// A copy fails; [`RuntimeError::Layout`] if the devices of this process do not hold the full array: then
    /// [`ShardedArray::to_host_across`] gets the remaining blocks from other processes.
    pub fn to_host(&self) -> Result<HostArray> {
        let gathered = self.layout.gather_at(&self.places, &self.shards()?);
        gathered.map_err(|error| match error {
            RuntimeError::Layout(_) if !self.is_all_here() => RuntimeError::Elsewhere {
                ty: self.ty().to_string(),
                here: self.places.len(),
                devices: self.layout.num_devices(),
            },
            other => other,
        })
    }

    /// Assembles the array on the host of every process. All processes must call this function for the same arrays in the same order. An
    /// array that is replicated on all devices is not sent.
    ///
    /// # Errors
    ///
    /// A copy fails, or another process is gone or sends inconsistent data.
    pub fn to_host_across(&self, processes: &Processes) -> Result<HostArray> {
        // The decision whether to send depends only on the sharding, so that all processes decide in the same way.
        let is_whole = self.layout.num_addends() == 1 && self.layout.shards().iter().all(|&k| k == 1);
        if self.is_all_here() || is_whole {
            return self.to_host();
        }
        // If several devices of this process hold the same block, it is sent once.
        let mut sent = Vec::new();
        let (mut places, mut message) = (Vec::new(), Vec::new());
        for (&place, buffer) in self.places.iter().zip(&self.buffers) {
            let held = (self.layout.block(place), self.layout.addend(place));
            if !sent.contains(&held) {
                sent.push(held);
                places.push(place);
                message.extend_from_slice(&buffer.to_host()?.data);
            }
        }
        let mut head = (places.len() as u64).to_le_bytes().to_vec();
        places.iter().for_each(|&place| head.extend_from_slice(&(place as u64).to_le_bytes()));
        head.append(&mut message);
        let mut all_places = Vec::new();
        let mut shards = Vec::new();
        for (process, message) in processes.all_gather("shardc/array", &head)?.iter().enumerate() {
            let bad = || {
                RuntimeError::Processes(format!("process {process} did not send a valid {} array", self.ty()))
            };
            let (places, blocks) = read_places(message).ok_or_else(bad)?;
            let size = HostArray::byte_size(self.dtype, self.layout.local_shape())?;
            if blocks.len() != size * places.len()
                || places.iter().any(|&place| place >= self.layout.num_devices())
            {
                return Err(bad());
            }
            for (i, place) in places.into_iter().enumerate() {
                let block = blocks[i * size..(i + 1) * size].to_vec();
                shards.push(HostArray::new(self.dtype, self.layout.local_shape(), block)?);
                all_places.push(place);
            }
        }
        self.layout.gather_at(&all_places, &shards)
    }

    /// Compares the copies of each block that several devices of this process hold; see [`ShardLayout::check_replicas`].
    ///
    /// # Errors
    ///
    /// A copy fails.
    pub fn check_replicas(&self) -> Result<Option<ReplicaDisagreement>> {
        self.layout.check_replicas_at(&self.places, &self.shards()?)
    }

    /// Returns the argument lists for [`crate::LoadedExecutable::execute`] of a program that runs on `devices` devices of this process.
    /// There is one list per device, with the device's block of each array.
    ///
    /// # Errors
    ///
    /// The number of blocks of an array in this process differs from the number of devices.
    pub fn argument_lists(arrays: &[ShardedArray], devices: usize) -> Result<Vec<Vec<Buffer>>> {
        if let Some(array) = arrays.iter().find(|array| array.buffers.len() != devices) {
            let have = array.buffers.len();
            return Err(RuntimeError::Layout(format!(
                "an array has {have} blocks, expected {devices}, one per device"
            )));
        }
        let list = |device: usize| arrays.iter().filter_map(|a| a.buffers.get(device).cloned()).collect();
        Ok((0..devices).map(list).collect())
    }

    /// Creates arrays from the results of [`crate::LoadedExecutable::execute`]: result `i` has the sharding `layouts[i]`. All devices must
    /// belong to this process.
    ///
    /// # Errors
    ///
    /// The number of results or devices, or a shape, does not match the shardings.
    pub fn from_results(results: &[Vec<Buffer>], layouts: &[ShardLayout]) -> Result<Vec<ShardedArray>> {
        ShardedArray::of_results(results, layouts, (0..results.len()).collect(), results.len())
    }

    /// Creates arrays from the results of a program on `devices`, which may be some of the devices of a job: result `i` has the sharding
    /// `layouts[i]`.
    ///
    /// # Errors
    ///
    /// The errors of [`ShardedArray::from_results`].
    pub fn from_results_on(
        devices: &Placement,
        results: &[Vec<Buffer>],
        layouts: &[ShardLayout],
    ) -> Result<Vec<ShardedArray>> {
        ShardedArray::of_results(results, layouts, devices.places().into(), devices.count())
    }

    fn of_results(
        results: &[Vec<Buffer>],
        layouts: &[ShardLayout],
        places: Arc<[usize]>,
        devices: usize,
    ) -> Result<Vec<ShardedArray>> {
        if let Some(list) = results.iter().find(|list| list.len() != layouts.len()) {
            return Err(RuntimeError::Layout(format!(
                "the program has {} results, but {} shardings were given",
                list.len(),
                layouts.len()
            )));
        }
        let of = |(i, layout): (usize, &ShardLayout)| {
            check_count(layout, devices)?;
            let buffers = results.iter().filter_map(|list| list.get(i).cloned()).collect();
            ShardedArray::from_local(layout.clone(), places.clone(), buffers)
        };
        layouts.iter().enumerate().map(of).collect()
    }
}

/// Returns the request for the block of the device at position `place` of the sharding.
fn request(layout: &ShardLayout, place: usize) -> Result<BlockRequest> {
    match (layout.offsets(place), layout.extent(place)) {
        (Some(offsets), Some(extent)) => {
            Ok(BlockRequest { place, offsets, extent, padded: layout.local_shape().to_vec() })
        }
        _ => Err(RuntimeError::Layout(format!(
            "device {place} is out of range for a sharding over {} devices",
            layout.num_devices()
        ))),
    }
}

/// Decodes the device positions at the beginning of a message, and returns them with the rest of the message, which contains the blocks.
/// `None` if the message is invalid.
fn read_places(message: &[u8]) -> Option<(Vec<usize>, &[u8])> {
    let number = |bytes: &[u8]| usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok();
    let (count, rest) = message.split_at_checked(8)?;
    let (places, blocks) = rest.split_at_checked(number(count)?.checked_mul(8)?)?;
    Some((places.chunks_exact(8).map(number).collect::<Option<_>>()?, blocks))
}

fn check_count(layout: &ShardLayout, devices: usize) -> Result<()> {
    if layout.num_devices() == devices {
        return Ok(());
    }
    Err(RuntimeError::Layout(format!(
        "a sharding over {} devices does not match {devices} devices",
        layout.num_devices()
    )))
}
