//! Runs both programs on random inputs in exact arithmetic.

use shardc_interpreter::{Array, Data, Exact, Grid, Launch, Options, Program, Value};
use shardc_ir::{DType, DTypeClass, Interrupt, Module, OpKind, floats};

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
    for (seed, &ty) in original.funcs[global].params.iter().enumerate() {
        let Some(ty) = original.types.as_tensor(ty) else {
            return Err("an input is not a tensor".to_owned());
        };
        let count = ty.num_elements().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        inputs.push((ty.dtype, bytes(ty.dtype, count, seed)?));
    }
    let args = inputs
        .iter()
        .zip(&boundary.inputs)
        .map(|((dtype, bytes), block)| array(&block.global, *dtype, bytes));
    let args: Vec<Value<Exact>> = args.collect::<Result<_, _>>()?;
    let program = Program::<Exact>::new(original, options());
    let wanted = program.call(global, args).map_err(|error| format!("the original: {error}"))?;
    let mut position = vec![0u64; devices];
    for (at, &id) in boundary.device_ids.iter().enumerate() {
        match usize::try_from(id).ok().and_then(|id| position.get_mut(id)) {
            Some(entry) => *entry = at as u64,
            None => return Err("an unknown device".to_owned()),
        }
    }
    let mut launches = Vec::new();
    for &at in &position {
        let mut args = Vec::new();
        for ((dtype, bytes), block) in inputs.iter().zip(&boundary.inputs) {
            let width = dtype.bytes();
            let mut part = Vec::new();
            for place in places(block, at) {
                match place.and_then(|place| bytes.get(place * width..(place + 1) * width)) {
                    Some(element) => part.extend(element),
                    // Padding: any value.
                    None => part.extend(
                        std::iter::repeat_n(0x11, width).map(
                            |byte| {
                                if *dtype == DType::I1 { 0 } else { byte }
                            },
                        ),
                    ),
                }
            }
            args.push(array(&block.local, *dtype, &part)?);
        }
        launches.push(Launch { func: local, args });
    }
    let grid = match boundary.are_partitions {
        true => Grid { replicas: 1, partitions: devices },
        false => Grid { replicas: devices, partitions: 1 },
    };
    let program = Program::<Exact>::new(partitioned, options());
    let outcome =
        program.run(grid, launches, Vec::new()).map_err(|error| format!("the partition: {error}"))?;
    for (results, &at) in outcome.results.iter().zip(&position) {
        for ((result, wanted), block) in results.iter().zip(&wanted).zip(&boundary.outputs) {
            let (Some(result), Some(wanted)) = (result.as_array(), wanted.as_array()) else { continue };
            if !equal(result, wanted, &places(block, at)) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn array(dims: &[u64], dtype: DType, bytes: &[u8]) -> Result<Value<Exact>, String> {
    let dims: Vec<usize> = dims.iter().map(|&size| size as usize).collect();
    Array::from_bytes(&dims, dtype, bytes).map(Value::Array).map_err(|fault| fault.to_string())
}

/// The bytes of an input.
fn bytes(dtype: DType, count: usize, seed: usize) -> Result<Vec<u8>, String> {
    let mut all = Vec::with_capacity(count * dtype.bytes());
    for at in 0..count {
        let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (seed as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32;
        let real = |part: u64| ((mixed >> part) % 1021) as f64 / 512.0 - 0.9;
        match dtype.class() {
            DTypeClass::Float => {
                let bits = floats::encode(dtype, real(0)).ok_or("a float type that cannot be encoded")?;
                all.extend(&bits.to_le_bytes()[..dtype.bytes()]);
            }
            DTypeClass::Complex if dtype == DType::C64 => {
                all.extend((real(0) as f32).to_le_bytes());
                all.extend((real(8) as f32).to_le_bytes());
            }
            DTypeClass::Complex => {
                all.extend(real(0).to_le_bytes());
                all.extend(real(8).to_le_bytes());
            }
            DTypeClass::Bool => all.push((mixed & 1) as u8),
            DTypeClass::Signed | DTypeClass::Unsigned => {
                let number = if dtype.bits() < 4 { mixed % 2 } else { mixed % 7 };
                all.extend(&number.to_le_bytes()[..dtype.bytes()]);
            }
        }
    }
    Ok(all)
}

/// The position in the global tensor of each element of the block of a device; `None` for padding.
fn places(block: &Block, position: u64) -> Vec<Option<usize>> {
    let offsets = block.offsets(position);
    let count: u64 = block.local.iter().product();
    let mut places = Vec::with_capacity(count as usize);
    for mut at in 0..count {
        let (mut place, mut stride) = (Some(0u64), 1);
        for dim in (0..block.local.len()).rev() {
            let index = offsets[dim] + at % block.local[dim];
            at /= block.local[dim];
            place = place.filter(|_| index < block.global[dim]).map(|place| place + index * stride);
            stride *= block.global[dim];
        }
        places.push(place.map(|place| place as usize));
    }
    places
}

/// Whether elements of a block are those of the global array at `places`.
fn equal(block: &Array<Exact>, global: &Array<Exact>, places: &[Option<usize>]) -> bool {
    fn same<T: PartialEq>(block: &[T], global: &[T], places: &[Option<usize>]) -> bool {
        block.len() == places.len()
            && block
                .iter()
                .zip(places)
                .all(|(x, place)| place.is_none_or(|place| global.get(place) == Some(x)))
    }
    match (block.data(), global.data()) {
        (Data::F32(a), Data::F32(b)) => same(a, b, places),
        (Data::F64(a), Data::F64(b)) => same(a, b, places),
        (Data::C64(a), Data::C64(b)) => same(a, b, places),
        (Data::C128(a), Data::C128(b)) => same(a, b, places),
        _ => match (block.to_integers(), global.to_integers()) {
            (Some(a), Some(b)) => same(&a, &b, places),
            _ => false,
        },
    }
}
