//! Runs both programs on random inputs in exact arithmetic.

use shardc_interpreter::{Array, Compiled, Exact, Fault, Grid, Launch, Options, Program, Value};
use shardc_ir::{Interrupt, Module, OpKind, TensorType};

use crate::boundary::{Block, Boundary};

/// Runs both programs. Returns whether all results are equal; an error is the reason for which they could not be compared.
pub(crate) fn test(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    work: u64,
    interrupt: &Interrupt,
) -> Result<bool, String> {
    let devices = boundary.device_ids.len();
    // Functions are random functions in the test, so that the expansion of such an operation has other results.
    if original.ops.values().any(|op| matches!(op.kind, OpKind::BatchNorm(..))) {
        return Err("batch normalization is expanded into other functions".to_owned());
    }
    if boundary.inputs.iter().chain(&boundary.outputs).any(|block| !block.unreduced.is_empty()) {
        return Err("an input or output is a partial result".to_owned());
    }
    let elements: u64 = boundary.inputs.iter().map(|block| block.local.iter().product::<u64>()).sum();
    if elements.saturating_mul(devices as u64) > work {
        return Err("the inputs are too large for a test".to_owned());
    }
    let options = || Options { interrupt: interrupt.clone(), max_work: work, ..Options::default() };
    let (Some(global), Some(local)) = (original.entry(), partitioned.entry()) else {
        return Err("a program has no entry function".to_owned());
    };
    let mut inputs = Vec::new();
    for (seed, &ty) in (0u64..).zip(&original.funcs[global].params) {
        let ty = original.types.as_tensor(ty).ok_or("an input is not a tensor")?;
        inputs.push(input(ty, seed).map_err(text)?);
    }
    let args = inputs.iter().cloned().map(Value::Array).collect();
    let program = Program::<Exact>::new(original, options());
    let wanted = Exact::call(&program, global, args).map_err(|error| format!("the original: {error}"))?;
    let mut position = vec![0u64; devices];
    for (&id, at) in boundary.device_ids.iter().zip(0u64..) {
        let entry = usize::try_from(id).ok().and_then(|id| position.get_mut(id));
        *entry.ok_or("an unknown device")? = at;
    }
    let mut launches = Vec::new();
    for &at in &position {
        let block = |(array, block): (&Array<Exact>, &Block)| {
            let local: Vec<usize> = block.local.iter().map(|&size| size as usize).collect();
            Exact::block(array, &offsets(block, at), &local, PADDING).map(Value::Array)
        };
        let args: Result<_, Fault> = inputs.iter().zip(&boundary.inputs).map(block).collect();
        launches.push(Launch { func: local, args: args.map_err(text)? });
    }
    let grid = match boundary.are_partitions {
        true => Grid { replicas: 1, partitions: devices },
        false => Grid { replicas: devices, partitions: 1 },
    };
    let program = Program::<Exact>::new(partitioned, options());
    let fault = |error| format!("the partition: {error}");
    let results = match launches.pop() {
        // A program on global values may have manual computations, in which the devices of their mesh meet.
        Some(launch) if devices == 1 => vec![Exact::call(&program, launch.func, launch.args).map_err(fault)?],
        last => {
            launches.extend(last);
            Exact::run(&program, grid, launches).map_err(fault)?.results
        }
    };
    for (results, &at) in results.iter().zip(&position) {
        for ((result, wanted), block) in results.iter().zip(&wanted).zip(&boundary.outputs) {
            let (Some(result), Some(wanted)) = (result.as_array(), wanted.as_array()) else { continue };
            if !is_block(result, wanted, &offsets(block, at)).map_err(text)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The value of padding; a program that uses it has other results.
const PADDING: f64 = 17.0;

fn text(fault: Fault) -> String {
    fault.to_string()
}

fn offsets(block: &Block, position: u64) -> Vec<usize> {
    block.offsets(position).into_iter().map(|offset| offset as usize).collect()
}

/// A random input: elements of the field, or small integers.
pub(crate) fn input(ty: &TensorType, seed: u64) -> Result<Array<Exact>, Fault> {
    let dims: Vec<usize> = ty.shape.iter().map(|&size| size.max(0) as usize).collect();
    if let Some(array) = Array::random(&dims, ty.dtype, seed)? {
        return Ok(array);
    }
    let values = if ty.dtype.bits() < 4 { 2 } else { 7 };
    let count: usize = dims.iter().product();
    let mut bytes = Vec::with_capacity(count * ty.dtype.bytes());
    for at in 0..count as u64 {
        let mixed =
            (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (seed + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let number = ((mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) % values;
        bytes.extend(&number.to_le_bytes()[..ty.dtype.bytes()]);
    }
    Exact::read(&dims, ty.dtype, &bytes)
}

/// Whether a block, without its padding, has the elements of the global array that begin at `offsets`.
fn is_block(block: &Array<Exact>, global: &Array<Exact>, offsets: &[usize]) -> Result<bool, Fault> {
    let sizes = block.dims().iter().zip(global.dims()).zip(offsets);
    let extent: Vec<usize> =
        sizes.map(|((&local, &global), &offset)| local.min(global.saturating_sub(offset))).collect();
    let found = Exact::block(block, &vec![0; extent.len()], &extent, PADDING)?;
    let wanted = Exact::block(global, offsets, &extent, PADDING)?;
    Ok(Exact::differences(&found, &wanted).is_some_and(|differences| differences.is_empty()))
}
