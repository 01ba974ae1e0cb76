//! One element that differs, for inputs that are small integers.

use half::{bf16, f16};
use shardc_interpreter::{Array, Compiled, Exact, Grid, Ieee, Launch, Options, Program, Value};
use shardc_ir::{DType, Interrupt, Module, TensorType};

use crate::boundary::{Block, Boundary};

/// An argument of both programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The global shape.
    pub shape: Vec<u64>,
    /// The element type as MLIR names it.
    pub dtype: String,
    /// The elements, row-major; of complex elements, first all real parts.
    pub values: Vec<f64>,
}

/// An element of the output that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The arguments of the original; the partition has their blocks.
    pub arguments: Vec<Argument>,
    /// The position in the result of the original.
    pub position: Vec<u64>,
    /// The element of the original.
    pub expected: f64,
    /// The device whose block has another element.
    pub device: i64,
    /// The position in its block.
    pub local: Vec<u64>,
    /// The element of the device.
    pub actual: f64,
    /// Whether the values are those of exact arithmetic, where functions such as the exponential are random functions. Otherwise they are
    /// those of floats.
    pub is_exact: bool,
}

/// The least and greatest integers of inputs that are tried: functions such as the logarithm need positive numbers.
const RANGES: [[i64; 2]; 3] = [[-3, 4], [1, 5], [0, 1]];
/// The least difference of two floats that rounding does not explain, relative to the greater one.
const ROUNDING: f64 = 0.05;

/// Finds an element that differs.
pub(crate) fn find(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    work: u64,
    interrupt: &Interrupt,
) -> Option<Difference> {
    let options = Options { max_work: work, interrupt: interrupt.clone(), ..Options::default() };
    let floats = RANGES.iter().find_map(|&range| {
        let is_other = |a: f64, b: f64| (a - b).abs() > ROUNDING * a.abs().max(b.abs()).max(1.0);
        element::<Ieee>(original, partitioned, boundary, range, &options, is_other)
    });
    floats.or_else(|| {
        let exact = RANGES.iter().find_map(|&range| {
            element::<Exact>(original, partitioned, boundary, range, &options, |a, b| a != b)
        })?;
        Some(Difference { is_exact: true, ..exact })
    })
}

fn element<D: Compiled>(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    range: [i64; 2],
    options: &Options,
    is_other: impl Fn(f64, f64) -> bool,
) -> Option<Difference> {
    let func = original.entry()?;
    let mut inputs = Vec::new();
    for (seed, &ty) in (1u64..).zip(&original.funcs[func].params) {
        inputs.push(integers::<D>(original.types.as_tensor(ty)?, seed, range)?);
    }
    let args = inputs.iter().cloned().map(Value::Array).collect();
    let program = Program::<D>::new(original, options.clone());
    let wanted = D::call(&program, func, args).ok()?;
    let results = devices(partitioned, boundary, &inputs, options)?;
    for (at, block) in boundary.outputs.iter().enumerate() {
        let wanted = wanted.get(at)?.as_array()?;
        let expected = wanted.to_f64_vec();
        for (position, &device) in (0u64..).zip(&boundary.device_ids) {
            let found = results.get(usize::try_from(device).ok()?)?.get(at)?.as_array()?.to_f64_vec();
            let offsets = block.offsets(position);
            for (place, &actual) in found.iter().enumerate().take(elements(&block.local)) {
                let local = coordinates(place, &block.local);
                let global: Vec<u64> = local.iter().zip(&offsets).map(|(at, offset)| at + offset).collect();
                let is_inside = global.iter().zip(&block.global).all(|(at, size)| at < size);
                let row = global.iter().zip(&block.global).fold(0, |row, (at, size)| row * size + at);
                let Some(&expected) = expected.get(row as usize).filter(|_| is_inside) else { continue };
                if is_other(expected, actual) {
                    let arguments = inputs.iter().map(argument).collect();
                    let position = global;
                    return Some(Difference {
                        arguments,
                        position,
                        expected,
                        device,
                        local,
                        actual,
                        is_exact: false,
                    });
                }
            }
        }
    }
    None
}

fn elements(sizes: &[u64]) -> usize {
    sizes.iter().product::<u64>() as usize
}

/// The position in each dimension of an element in row-major order.
fn coordinates(mut place: usize, sizes: &[u64]) -> Vec<u64> {
    let mut found: Vec<u64> = sizes
        .iter()
        .rev()
        .map(|&size| {
            let at = place as u64 % size.max(1);
            place /= size.max(1) as usize;
            at
        })
        .collect();
    found.reverse();
    found
}

fn argument<D: Compiled>(array: &Array<D>) -> Argument {
    Argument {
        shape: array.dims().iter().map(|&size| size as u64).collect(),
        dtype: array.dtype().as_str().to_owned(),
        values: array.to_f64_vec(),
    }
}

/// The results of a partitioned program by device.
fn devices<D: Compiled>(
    module: &Module,
    boundary: &Boundary,
    inputs: &[Array<D>],
    options: &Options,
) -> Option<Vec<Vec<Value<D>>>> {
    let func = module.entry()?;
    let count = boundary.device_ids.len();
    let mut launches = vec![None; count];
    for (position, &device) in (0u64..).zip(&boundary.device_ids) {
        let block = |(array, block): (&Array<D>, &Block)| {
            let offsets: Vec<usize> = block.offsets(position).into_iter().map(|at| at as usize).collect();
            let local: Vec<usize> = block.local.iter().map(|&size| size as usize).collect();
            D::block(array, &offsets, &local, 0.0).map(Value::Array).ok()
        };
        let args = inputs.iter().zip(&boundary.inputs).map(block).collect::<Option<Vec<_>>>()?;
        *launches.get_mut(usize::try_from(device).ok()?)? = Some(Launch { func, args });
    }
    let mut launches = launches.into_iter().collect::<Option<Vec<_>>>()?;
    let program = Program::<D>::new(module, options.clone());
    if count == 1 {
        let launch = launches.pop()?;
        return Some(vec![D::call(&program, launch.func, launch.args).ok()?]);
    }
    let grid = match boundary.are_partitions {
        true => Grid { replicas: 1, partitions: count },
        false => Grid { replicas: count, partitions: 1 },
    };
    Some(D::run(&program, grid, launches).ok()?.results)
}

/// An array of small integers; `None` for element types that are not read here.
fn integers<D: Compiled>(ty: &TensorType, seed: u64, [least, greatest]: [i64; 2]) -> Option<Array<D>> {
    let dims: Vec<usize> = ty.shape.iter().map(|&size| size.max(0) as usize).collect();
    let count: usize = dims.iter().product();
    let mut bytes = Vec::new();
    let parts = if matches!(ty.dtype, DType::C64 | DType::C128) { 2 } else { 1 };
    for at in 0..(count * parts) as u64 {
        let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let draw = ((mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) as i64;
        // Integers are often indices, which are not negative.
        let (low, high) = match ty.dtype {
            DType::I1 => (0, 1),
            _ if ty.dtype.is_integer() => (0, greatest),
            _ => (least, greatest),
        };
        let number = low + draw % (high - low + 1);
        match ty.dtype {
            DType::F32 | DType::C64 => bytes.extend((number as f32).to_le_bytes()),
            DType::F64 | DType::C128 => bytes.extend((number as f64).to_le_bytes()),
            DType::BF16 => bytes.extend(bf16::from_f64(number as f64).to_le_bytes()),
            DType::F16 => bytes.extend(f16::from_f64(number as f64).to_le_bytes()),
            _ if ty.dtype.is_float() => return None,
            _ => bytes.extend(number.to_le_bytes().get(..ty.dtype.bytes())?),
        }
    }
    D::read(&dims, ty.dtype, &bytes).ok()
}
