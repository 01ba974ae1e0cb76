//! Saves and restores arrays on devices as entries and blocks of a checkpoint.

use std::borrow::Cow;
use std::collections::BTreeMap;

use shardc_checkpoint::{
    Checkpoint, Entry, Fit, Info, Processes, Region, Sharding, Slice, State as Parts, Wanted,
};
use shardc_ir::{Diagnostic, DimSharding};
use shardc_passes::sharding::interface::{Interface, InterfaceTensor};
use shardc_runtime::{Buffer, Client, Device, HostArray, Placement, ShardLayout, ShardedArray};

use crate::Error;
use crate::exec::Port;

/// An array to save.
#[derive(Clone, Debug)]
pub struct Saving<'a> {
    /// The name in the checkpoint.
    pub name: &'a str,
    /// The blocks.
    pub array: &'a ShardedArray,
    /// The sharding of the array, if known. The checkpoint records it, but restoring does not need it.
    pub sharding: Option<Sharding>,
}

/// The sharding of an argument or result, as stored in a checkpoint.
#[must_use]
pub fn sharding_of(interface: &Interface, tensor: &InterfaceTensor) -> Sharding {
    let mesh = interface.mesh_of(tensor);
    let axes = |dim: &DimSharding| dim.axes.iter().map(|&axis| mesh.axis_text(axis)).collect();
    Sharding {
        mesh: mesh.axes.iter().map(|(axis, &size)| (axis.to_string(), size as usize)).collect(),
        spec: tensor.sharding.dims.iter().map(axes).collect(),
    }
}

/// The entries of arrays, each with the blocks that this process saves. The devices or processes that hold a replicated block take turns
/// saving it. [`blocks_of`] provides the elements.
///
/// # Errors
/// An array is unreduced (SH1311).
pub fn array_parts(arrays: &[Saving<'_>], info: &Info, processes: &dyn Processes) -> Result<Parts, Error> {
    let mut parts = Parts { info: info.clone(), ..Parts::default() };
    let mut blocks = 0;
    for Saving { name, array, sharding } in arrays {
        let (layout, ty) = (array.layout(), array.ty());
        if layout.num_addends() != 1 {
            let text = format!("cannot save {name:?}: it is unreduced, so devices hold partial sums of it");
            return Err(Diagnostic::unsupported("SH1311", text)
                .hint("return an all-reduced value from the step")
                .into());
        }
        let sharding = sharding.clone();
        let entry = Entry { sharding, ..Entry::split(name, ty.dtype, &ty.shape, layout.shards()) };
        for region in entry.blocks() {
            if owner(array, &region, blocks, processes.count()) == processes.index() {
                parts.slices.push(Slice { entry: parts.entries.len(), region });
            }
            blocks += 1;
        }
        parts.entries.push(entry);
    }
    Ok(parts)
}

/// Reads the blocks of arrays from the devices that hold them, one after the other; `find` returns the array of a name.
pub fn blocks_of<'a>(
    find: impl Fn(&str) -> Option<&'a ShardedArray> + Sync,
) -> impl Fn(&Entry, &Region) -> Result<Vec<u8>, String> + Sync {
    move |entry, region| {
        let array = find(&entry.name).ok_or("there is no such variable")?;
        let layout = array.layout();
        let holds = |place: &usize| layout.offsets(*place).is_some_and(|offsets| offsets == region.offset);
        let place =
            array.places().iter().position(holds).ok_or("no device of this process holds this block")?;
        let block = array.buffers()[place].to_host().map_err(|error| error.to_string())?;
        if block.shape == region.shape {
            return Ok(block.data);
        }
        let origin = vec![0; region.shape.len()];
        let cut = block.slice_block(&origin, &region.shape, 0.0).map_err(|error| error.to_string())?;
        Ok(cut.data)
    }
}

/// Restores the shards of this process's devices, with the sharding of each [`Port`], regardless of the sharding with which they were
/// saved. Each block is read once and copied to all devices that hold it. An array that the checkpoint lacks is `None`, if `fit` allows it.
///
/// # Errors
/// The checkpoint does not match the request (SH1309 lists all mismatches); or an error of [`Checkpoint::restore`].
pub fn restore_arrays(
    checkpoint: &Checkpoint,
    client: &Client,
    placement: &Placement,
    ports: &[(String, &Port)],
    fit: &Fit,
) -> Result<Vec<Option<ShardedArray>>, Error> {
    let there: Vec<Cow<'_, Placement>> =
        ports.iter().map(|(_, port)| port.place(placement)).collect::<Result<_, _>>()?;
    let wanted: Vec<Wanted> = ports
        .iter()
        .map(|(name, port)| {
            let regions = regions(&port.layout, placement.places()).into_keys().collect();
            Wanted { name: name.clone(), dtype: port.ty.dtype, shape: port.ty.shape.clone(), regions }
        })
        .collect();
    let mut buffers: Vec<Vec<Option<Buffer>>> =
        ports.iter().map(|_| vec![None; placement.devices().len()]).collect();
    let mut take = |number: usize, region: usize, elements: &mut Vec<u8>| {
        let (want, layout) = (&wanted[number], &ports[number].1.layout);
        let holders = regions(layout, placement.places()).remove(&want.regions[region]).unwrap_or_default();
        let block = block(want, layout, &want.regions[region], std::mem::take(elements))?;
        put(client, there[number].devices(), &block, &holders, &mut buffers[number])?;
        // The devices have copies of the block, so its memory is reused for the next block.
        *elements = block.data;
        Ok(())
    };
    checkpoint.restore(&wanted, fit, &mut take, None)?;
    let mut arrays = Vec::with_capacity(ports.len());
    for (((want, (_, port)), buffers), there) in wanted.iter().zip(ports).zip(buffers).zip(&there) {
        if buffers.iter().all(Option::is_none) && !want.regions.is_empty() {
            // The checkpoint lacks the array.
            arrays.push(None);
            continue;
        }
        // Blocks beyond the array's end are padding.
        let padding = HostArray::zeros(want.dtype, port.layout.local_shape())?;
        let or_padding = |(buffer, device): (Option<Buffer>, &Device)| match buffer {
            Some(buffer) => Ok(vec![buffer]),
            None => Ok(vec![client.buffer_from_host(&padding, device)?]),
        };
        let held: Vec<Vec<Buffer>> =
            buffers.into_iter().zip(there.devices()).map(or_padding).collect::<Result<_, Error>>()?;
        let layouts = std::slice::from_ref(&port.layout);
        arrays.push(ShardedArray::from_results_on(placement, &held, layouts)?.pop());
    }
    Ok(arrays)
}

/// The index of the process that saves block `number` of the state. If every process holds the entire array, all processes take turns.
/// Otherwise, the devices that hold the block take turns, and the process of the selected device saves the block. Each process has an equal
/// number of consecutive devices.
fn owner(array: &ShardedArray, region: &Region, number: usize, processes: usize) -> usize {
    let layout = array.layout();
    if array.is_all_here() {
        return number % processes;
    }
    let holds = |place: &usize| layout.offsets(*place).is_some_and(|offsets| offsets == region.offset);
    let holders: Vec<usize> = (0..layout.num_devices()).filter(holds).collect();
    holders.get(number % holders.len().max(1)).map_or(0, |place| place * processes / layout.num_devices())
}

/// Maps each non-empty block of a layout to the devices at the positions `places` that hold the block, as indices into `places`.
fn regions(layout: &ShardLayout, places: &[usize]) -> BTreeMap<Region, Vec<usize>> {
    let mut regions: BTreeMap<Region, Vec<usize>> = BTreeMap::new();
    for (device, &place) in places.iter().enumerate() {
        if let (Some(offset), Some(shape)) = (layout.offsets(place), layout.extent(place)) {
            let region = Region { offset, shape };
            if region.elements() > 0 {
                regions.entry(region).or_default().push(device);
            }
        }
    }
    regions
}

/// A block with the elements `elements` of a region, padded with zeros to the local shape.
fn block(
    want: &Wanted,
    layout: &ShardLayout,
    region: &Region,
    elements: Vec<u8>,
) -> Result<HostArray, String> {
    let text = |error: shardc_runtime::RuntimeError| error.to_string();
    let array = HostArray::new(want.dtype, &region.shape, elements).map_err(text)?;
    if region.shape == layout.local_shape() {
        return Ok(array);
    }
    array.slice_block(&vec![0; region.shape.len()], layout.local_shape(), 0.0).map_err(text)
}

/// Copies a block to the devices that hold it.
fn put(
    client: &Client,
    devices: &[Device],
    block: &HostArray,
    holders: &[usize],
    buffers: &mut [Option<Buffer>],
) -> Result<(), String> {
    for &holder in holders {
        let buffer = client.buffer_from_host(block, &devices[holder]).map_err(|error| error.to_string())?;
        buffers[holder] = Some(buffer);
    }
    Ok(())
}
