//! The state of a training step as entries and blocks of a checkpoint.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use shardc_checkpoint::{
    Checkpoint, Entry, Fit, Info, Processes, Region, Saved, Sharding, Slice, State as Parts, Store, Wanted,
};
use shardc_ir::Diagnostic;
use shardc_runtime::{Buffer, Client, Device, HostArray, ShardLayout, ShardedArray};

use crate::Error;
use crate::train::{State, Step};

/// Saves the state of a step at a path of a store. Of devices that hold the same block, the first one's is saved.
///
/// # Errors
/// An array is a pending sum, the state is gone (SH0722), or those of [`save_parts`](super::save_parts).
pub fn save(
    store: &Store,
    path: &str,
    step: &Step,
    state: &State,
    info: &Info,
    processes: &dyn Processes,
) -> Result<Saved, Error> {
    let parts = parts(step, state, info, processes)?;
    Ok(shardc_checkpoint::save(store, path, &parts, &reader(state), processes, None)?)
}

/// The state of a step as a checkpoint has it, for a [`CheckpointManager`](super::CheckpointManager): each variable with its blocks,
/// of which this process saves its share. [`reader`] gives their elements.
///
/// # Errors
/// An array is a pending sum, or the state is gone (SH0722).
pub fn parts(step: &Step, state: &State, info: &Info, processes: &dyn Processes) -> Result<Parts, Error> {
    if state.arrays.len() != step.variables().len() {
        let text = "the state is gone: a run failed that had taken its memory";
        return Err(Diagnostic::invalid("SH0722", text).hint("begin from a checkpoint, or anew").into());
    }
    let mut parts = Parts { info: info.clone(), ..Parts::default() };
    let mut blocks = 0;
    for ((variable, _, sharding), (name, array)) in step.variable_ports().zip(&state.arrays) {
        let (layout, ty) = (array.layout(), array.ty());
        if layout.num_addends() != 1 {
            let text = format!("{:?} is a sum that is still to be completed", variable.name);
            return Err(Diagnostic::unsupported("SH1311", text).hint("let the step complete it").into());
        }
        let sharding = sharding.map(|of| Sharding {
            mesh: of.mesh.axes.iter().map(|(axis, &size)| (axis.to_string(), size as usize)).collect(),
            spec: of
                .sharding
                .dims
                .iter()
                .map(|dim| dim.axes.iter().map(|&axis| of.mesh.axis_text(axis)).collect())
                .collect(),
        });
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

/// The process that saves a block, the `number`-th of the state: of those that hold it one after the other, where devices are spread
/// over processes as the devices of a program are, in order; and of all processes, where each holds everything.
fn owner(array: &ShardedArray, region: &Region, number: usize, processes: usize) -> usize {
    let layout = array.layout();
    if array.is_all_here() {
        return number % processes;
    }
    let holds = |place: &usize| layout.offsets(*place).is_some_and(|offsets| offsets == region.offset);
    let holders: Vec<usize> = (0..layout.num_devices()).filter(holds).collect();
    holders.get(number % holders.len().max(1)).map_or(0, |place| place * processes / layout.num_devices())
}

/// Reads the blocks of a state, one after the other, from the devices that hold them.
pub fn reader(state: &State) -> impl Fn(&Entry, &Region) -> Result<Vec<u8>, String> + Sync + use<'_> {
    move |entry, region| {
        let array = state.sharded(&entry.name).ok_or("there is no such variable")?;
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

/// The state that a checkpoint has, on the devices of a step and as the step has it sharded, whatever saved it. Each block is
/// read once and given to all devices that hold it.
///
/// # Errors
/// The variables are not those of the checkpoint (SH1309: all that is wrong), all of them are asked for and some are missing
/// (`fit` lets them), or those of [`Checkpoint::restore`].
pub fn restore(checkpoint: &Checkpoint, step: &Step, fit: &Fit) -> Result<State, Error> {
    let strict = Fit { may_lack: false, ..fit.clone() };
    Ok(State { arrays: read(checkpoint, step, &strict)?, processes: step.processes() })
}

/// Puts what a checkpoint has of a state in the place of what is there. Variables that the checkpoint lacks stay as they are, where
/// `fit` lets them.
///
/// # Errors
/// Those of [`restore`]; the state is as it was then.
pub fn restore_into(checkpoint: &Checkpoint, step: &Step, state: &mut State, fit: &Fit) -> Result<(), Error> {
    for (name, array) in read(checkpoint, step, fit)? {
        state.arrays.insert(name, array);
    }
    Ok(())
}

/// Reads what this process's devices hold of the variables that a checkpoint has.
fn read(checkpoint: &Checkpoint, step: &Step, fit: &Fit) -> Result<IndexMap<String, ShardedArray>, Error> {
    let placement = step.program().executable().placement();
    let devices = placement.devices();
    let wants: Vec<(Wanted, &ShardLayout)> = step
        .variable_ports()
        .map(|(variable, port, _)| {
            let regions = regions(&port.layout, placement.places()).into_keys().collect();
            let (dtype, shape) = (port.ty.dtype, port.ty.shape.clone());
            (Wanted { name: variable.name.clone(), dtype, shape, regions }, &port.layout)
        })
        .collect();
    let wanted: Vec<Wanted> = wants.iter().map(|(want, _)| want.clone()).collect();
    let mut buffers: Vec<Vec<Option<Buffer>>> = wants.iter().map(|_| vec![None; devices.len()]).collect();
    let mut take = |number: usize, region: usize, elements: Vec<u8>| {
        let (want, layout) = &wants[number];
        let holders = regions(layout, placement.places()).remove(&want.regions[region]).unwrap_or_default();
        let block = block(want, layout, &want.regions[region], elements)?;
        put(step.client(), devices, &block, &holders, &mut buffers[number])
    };
    checkpoint.restore(&wanted, fit, &mut take, None)?;
    let mut arrays = IndexMap::new();
    for ((want, layout), buffers) in wants.iter().zip(buffers) {
        if buffers.iter().all(Option::is_none) && !want.regions.is_empty() {
            // The checkpoint lacks it.
            continue;
        }
        // Blocks beyond the array's end are padding.
        let padding = HostArray::zeros(want.dtype, layout.local_shape())?;
        let or_padding = |(buffer, device): (Option<Buffer>, &Device)| match buffer {
            Some(buffer) => Ok(vec![buffer]),
            None => Ok(vec![step.client().buffer_from_host(&padding, device)?]),
        };
        let held: Vec<Vec<Buffer>> =
            buffers.into_iter().zip(devices).map(or_padding).collect::<Result<_, Error>>()?;
        let of_one = ShardedArray::from_results_on(placement, &held, std::slice::from_ref(*layout))?;
        arrays.extend(of_one.into_iter().map(|array| (want.name.clone(), array)));
    }
    Ok(arrays)
}

/// The blocks that have elements of the devices at these places of a layout, each with the devices that hold it, by number.
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

/// A block with its padding.
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
