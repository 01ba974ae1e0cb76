//! Derivatives by central differences in double precision.
//!
//! A gradient may have another value in exact arithmetic because it uses an identity of functions, such as `exp(x) exp(-x) = 1`, which random
//! functions do not have. Differences in double precision decide whether it is wrong.

use shardc_interpreter::{Array, Compiled, Ieee, Options, Program, Value};
use shardc_ir::{DTypeClass, Module};
use shardc_runtime::HostArray;

use crate::widen::{wide, widen, widen_array};

/// The step along the direction.
const STEP: f64 = 1e-6;
/// The relative error up to which two derivatives are equal. The rounding of constants to `f32` is part of it.
const TOLERANCE: f64 = 1e-4;

/// The rounding error of a value, in units of its last place.
const NOISE: f64 = 64.0;

/// A widened program with its inputs.
struct Wide {
    module: Module,
    inputs: Vec<HostArray>,
}

impl Wide {
    fn new(module: &Module) -> Option<Wide> {
        let func = module.entry()?;
        let mut inputs = Vec::new();
        for (seed, &ty) in (0u64..).zip(&module.funcs[func].params) {
            let ty = module.types.as_tensor(ty)?;
            inputs.push(widen_array(&HostArray::random(seed, ty.dtype, &dims(&ty.shape)).ok()?)?);
        }
        Some(Wide { module: widen(module)?, inputs })
    }

    /// The results for these inputs.
    fn results(&self, inputs: &[HostArray]) -> Option<Vec<Vec<f64>>> {
        let program = Program::<Ieee>::new(&self.module, Options { max_work: WORK, ..Options::default() });
        let read =
            |array: &HostArray| Some(Value::Array(Ieee::read(&array.shape, array.dtype, &array.data).ok()?));
        let args = inputs.iter().map(read).collect::<Option<_>>()?;
        let results = Ieee::call(&program, self.module.entry()?, args).ok()?;
        results.iter().map(|result| result.as_array().map(Array::to_f64_vec)).collect()
    }
}

/// The elements that a program may compute.
const WORK: u64 = 1 << 30;

fn dims(shape: &[i64]) -> Vec<usize> {
    shape.iter().map(|&size| size.max(0) as usize).collect()
}

/// Whether the value, and the derivative along a random direction of each of these arguments, are those of the gradient program; the result of
/// the gradient for each argument is given with it. `false` if this is not known.
pub(super) fn agree(
    original: &Module,
    gradient: &Module,
    arguments: &[(usize, usize)],
    has_value: bool,
) -> bool {
    agreement(original, gradient, arguments, has_value).unwrap_or(false)
}

fn agreement(
    original: &Module,
    gradient: &Module,
    arguments: &[(usize, usize)],
    has_value: bool,
) -> Option<bool> {
    let (original, gradient) = (Wide::new(original)?, Wide::new(gradient)?);
    let value = |inputs: &[HostArray]| original.results(inputs)?.first()?.first().copied();
    let results = gradient.results(&original.inputs)?;
    let at_inputs = value(&original.inputs)?;
    // A derivative that is below the rounding errors of the value cannot be compared.
    let noise = NOISE * f64::EPSILON * at_inputs.abs() / STEP;
    let is_near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()) + noise;
    if has_value && !is_near(at_inputs, *results.first()?.first()?) {
        return Some(false);
    }
    for &(at, result) in arguments {
        let input = original.inputs.get(at)?;
        if wide(input.dtype).class() != DTypeClass::Float {
            return None;
        }
        let direction = HostArray::random(at as u64 + 1000, input.dtype, &input.shape).ok()?.to_f64_vec();
        let moved = |step: f64| {
            let values = input.to_f64_vec();
            let values: Vec<f64> = values.iter().zip(&direction).map(|(x, v)| x + step * v).collect();
            let mut inputs = original.inputs.clone();
            *inputs.get_mut(at)? = HostArray::from_f64(input.dtype, &input.shape, &values).ok()?;
            value(&inputs)
        };
        let difference = (moved(STEP)? - moved(-STEP)?) / (2.0 * STEP);
        let product: f64 = results.get(result)?.iter().zip(&direction).map(|(g, v)| g * v).sum();
        if !is_near(difference, product) {
            return Some(false);
        }
    }
    Some(true)
}
