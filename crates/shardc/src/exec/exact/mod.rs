//! Comparison of programs in exact arithmetic.
//!
//! Floats are elements of the field of integers modulo the prime `2^61 - 1` ([`Exact`]). Sums and products do not depend on their order, so a
//! program and its partition have equal results without a tolerance, and the comparison detects every difference of the functions that they
//! compute, except by chance. `docs/GUIDE.md` (section "Exact arithmetic") states the assumptions and the chance.

mod chance;
mod compare;
mod degree;
mod expand;

use shardc_interpreter::{Array, Compiled, Exact, Launch, Program as Code, Value};
use shardc_ir::{Module, TensorType};
use shardc_passes::sharding::interface::InterfaceTensor;
use shardc_runtime::{HostArray, ShardLayout};

pub use self::chance::{chance_between, chance_of_missed_difference};
use self::compare::{compare_output, record};
use self::expand::prepared;
use super::disagreement::refuse_results_that_differ;
use super::interpreter::{array_error, entry_of, grid_of, options, run_error, shared};
use super::limits::exact_need;
use super::{Limits, layout, static_shape};
use crate::{Error, Output};

/// The comparison of one output in exact arithmetic.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactCheck {
    /// The index of the output.
    pub index: usize,
    /// The name, if the program gives one.
    pub name: Option<String>,
    /// The element type and the global shape.
    pub ty: TensorType,
    /// The number of elements.
    pub elements: u64,
    /// The number of elements that differ on at least one device.
    pub different: u64,
    /// The index of the first element that differs.
    pub first: Option<Vec<usize>>,
    /// The devices that hold an element that differs, in ascending order.
    pub devices: Vec<usize>,
}

impl ExactCheck {
    fn new(index: usize, name: Option<String>, ty: TensorType, elements: u64) -> ExactCheck {
        ExactCheck { index, name, ty, elements, different: 0, first: None, devices: Vec::new() }
    }

    /// Whether all elements are equal.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.different == 0
    }
}

/// The padding of uneven shards. It makes results that use padding by mistake differ.
const PADDING: f64 = shardc_runtime::LOUD_PADDING;

/// Runs `original` on one device and its partitioned program `output` on all devices in exact arithmetic, and compares every element of every
/// output for equality. Floats are uniform random elements of the field, and integers are small, as in [`verify`](super::verify()).
///
/// # Errors
/// The interpreter does not support an operation (SH0710), a limit is reached (SH0711), or a program fails (SH0712).
pub fn verify_exactly(
    original: &Module,
    output: &Output,
    seed: u64,
    limits: Limits,
) -> Result<Vec<ExactCheck>, Error> {
    compare_with(original, output, &[], seed, limits)
}

/// Compares as [`verify_exactly`] does, with the integers of `integers`, an array for each input, instead of random ones.
pub(super) fn compare_with(
    original: &Module,
    output: &Output,
    integers: &[HostArray],
    seed: u64,
    limits: Limits,
) -> Result<Vec<ExactCheck>, Error> {
    let interface = &output.interface;
    exact_need(interface).check("comparing the two programs in exact arithmetic", limits.memory)?;
    let inputs: Vec<Value<Exact>> = interface
        .inputs
        .iter()
        .enumerate()
        .map(|(i, tensor)| random_value(tensor, integers.get(i), seed.wrapping_add(i as u64)))
        .collect::<Result<_, _>>()?;
    let module = prepared(original)?;
    let code = Code::<Exact>::new(&module, options(limits, seed));
    let expected = Exact::call(&code, entry_of(&module)?, inputs.clone());
    let expected = expected.map_err(|error| run_error(&error, limits))?;

    let grid = grid_of(output);
    let mut arguments: Vec<Vec<Value<Exact>>> = vec![Vec::new(); grid.devices()];
    for (tensor, value) in interface.inputs.iter().zip(inputs) {
        match value {
            Value::Array(array) => {
                let layout = layout(interface, tensor)?;
                let blocks =
                    shared(&layout, grid.devices(), |device| shard(&array, &layout, device, tensor))?;
                for (list, block) in arguments.iter_mut().zip(blocks) {
                    list.push(Value::Array(block));
                }
            }
            other => arguments.iter_mut().for_each(|list| list.push(other.clone())),
        }
    }
    let func = entry_of(&output.module)?;
    let launches = arguments.into_iter().map(|args| Launch { func, args }).collect();
    let code = Code::<Exact>::new(&output.module, options(limits, seed));
    let outcome = Exact::run(&code, grid, launches).map_err(|error| run_error(&error, limits))?;

    let mut checks = Vec::with_capacity(interface.outputs.len());
    for (index, (tensor, expected)) in interface.outputs.iter().zip(expected).enumerate() {
        let mut check = ExactCheck::new(index, tensor.name.clone(), tensor.global.clone(), 0);
        if let Value::Array(expected) = expected {
            let shards: Vec<&Array<Exact>> =
                outcome.results.iter().filter_map(|results| results.get(index)?.as_array()).collect();
            check.elements = expected.len() as u64;
            let layout = layout(interface, tensor)?;
            compare_output(&mut check, &expected, &layout, &shards, tensor.sharding.reduction)?;
        }
        checks.push(check);
    }
    refuse_results_that_differ(original, checks.iter().find(|check| !check.ok()).map(|check| check.index))?;
    Ok(checks)
}

/// Compares two programs for one device in exact arithmetic, such as a program and the result of a rewrite. Both take the same inputs; the
/// outputs are compared in order.
///
/// # Errors
/// The programs have different parameters or numbers of results (SH0713); or the errors of [`verify_exactly`].
pub fn compare_exactly(
    original: &Module,
    other: &Module,
    seed: u64,
    limits: Limits,
) -> Result<Vec<ExactCheck>, Error> {
    let (original, other) = (prepared(original)?, prepared(other)?);
    let (a, b) = (signature(&original)?, signature(&other)?);
    if a.0 != b.0 || a.1.len() != b.1.len() {
        return Err(different_interfaces(&a, &b));
    }
    let inputs: Vec<Value<Exact>> =
        a.0.iter()
            .enumerate()
            .map(|(i, ty)| random_array(ty, None, seed.wrapping_add(i as u64)).map(Value::Array))
            .collect::<Result<_, _>>()?;
    let run = |module: &Module| {
        let code = Code::<Exact>::new(module, options(limits, seed));
        let results = Exact::call(&code, entry_of(module)?, inputs.clone());
        results.map_err(|error| run_error(&error, limits))
    };
    let (expected, got) = (run(&original)?, run(&other)?);
    let mut checks = Vec::with_capacity(expected.len());
    for (index, ((expected, got), ty)) in expected.iter().zip(&got).zip(a.1).enumerate() {
        let (Some(expected), Some(got)) = (expected.as_array(), got.as_array()) else { continue };
        let mut check = ExactCheck::new(index, None, ty, expected.len() as u64);
        match Exact::differences(expected, got) {
            None => (check.different, check.devices) = (check.elements.max(1), vec![0]),
            Some(positions) => record(&mut check, expected.dims(), &positions, &[0]),
        }
        checks.push(check);
    }
    Ok(checks)
}

/// The types of the parameters and results of a program for one device.
type Signature = (Vec<TensorType>, Vec<TensorType>);

fn signature(module: &Module) -> Result<Signature, Error> {
    let func = &module.funcs[entry_of(module)?];
    let stored = |&ty: &shardc_ir::TypeId| {
        module.types.stored(ty).cloned().ok_or_else(|| {
            let message = format!(
                "the entry function has a parameter or result of unsupported type {}",
                module.types.display(ty)
            );
            Error::from(shardc_ir::Diagnostic::unsupported("SH0703", message).at(func.span))
        })
    };
    let types = |types: &[shardc_ir::TypeId]| types.iter().map(stored).collect::<Result<Vec<_>, _>>();
    Ok((types(&func.params)?, types(&func.results)?))
}

fn different_interfaces(a: &Signature, b: &Signature) -> Error {
    let list = |types: &[TensorType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let message = format!(
        "the two programs cannot be compared: one takes ({}) and has {} results, the other takes ({}) and has {}",
        list(&a.0),
        a.1.len(),
        list(&b.0),
        b.1.len()
    );
    shardc_ir::Diagnostic::invalid("SH0713", message)
        .hint("compare programs with the same parameters and the same number of results")
        .into()
}

/// A random argument; a token for a token.
fn random_value(
    tensor: &InterfaceTensor,
    integers: Option<&HostArray>,
    seed: u64,
) -> Result<Value<Exact>, Error> {
    if tensor.is_token {
        return Ok(Value::Token);
    }
    random_array(&tensor.global, integers, seed).map(Value::Array)
}

/// Uniform random elements of the field for floats; the given integers, or small random ones.
fn random_array(ty: &TensorType, integers: Option<&HostArray>, seed: u64) -> Result<Array<Exact>, Error> {
    let shape = static_shape(ty)?;
    if let Some(array) = Array::random(&shape, ty.dtype, seed).map_err(array_error)? {
        return Ok(array);
    }
    let read = |array: &HostArray| Exact::read(&shape, ty.dtype, &array.data).map_err(array_error);
    match integers {
        Some(array) => read(array),
        None => read(&HostArray::random(seed, ty.dtype, &shape)?),
    }
}

/// The block of an argument that a device takes. The first device of a block of partial sums takes the block, and the others take identity
/// elements.
fn shard(
    array: &Array<Exact>,
    layout: &ShardLayout,
    device: usize,
    tensor: &InterfaceTensor,
) -> Result<Array<Exact>, Error> {
    let offsets = layout.offsets(device).unwrap_or_default();
    let block = Exact::block(array, &offsets, layout.local_shape(), PADDING).map_err(array_error)?;
    match layout.addend(device) {
        0 => Ok(block),
        _ => block.identity(tensor.sharding.reduction).map_err(array_error),
    }
}
