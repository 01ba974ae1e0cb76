//! Checks that a partitioned program computes the same as its original.

use shardc_ir::{DType, Module, TensorType};
use shardc_runtime::{Client, Difference, HostArray};

use super::disagreement::{attribute_disagreement, refuse_results_that_differ};
use super::exact::compare_with;
use super::limits::verify_need;
use super::{Engine, Limits};
use crate::widen::{self, widen, widen_array};
use crate::{Error, Output};

/// The comparison of one output of the partitioned program with the single-device output.
#[derive(Clone, Debug)]
pub struct OutputCheck {
    /// The index of the output.
    pub index: usize,
    /// The name, if the program gives one.
    pub name: Option<String>,
    /// The element type and the global shape.
    pub ty: TensorType,
    /// The difference from the single-device output.
    pub difference: Difference,
    /// The tolerance, relative to the largest value.
    pub tolerance: f64,
    /// Whether the output exceeds the tolerance, and is equal in exact arithmetic (see [`verify_exactly`](super::verify_exactly)).
    pub is_exactly_equal: bool,
    /// The comparison in double precision, if the output exceeds the tolerance, is not equal in exact arithmetic, and both programs can run in
    /// double precision.
    pub in_double: Option<InDouble>,
}

/// The comparison in double precision of two programs whose difference exceeds the tolerance.
#[derive(Clone, Copy, Debug)]
pub struct InDouble {
    /// The difference between the outputs of the two programs in double precision.
    pub difference: Difference,
    /// The change of the single-device output in double precision if every float input changes by one unit in the last place (ULP).
    pub noise: Difference,
}

/// The work of a comparison in exact arithmetic after an output exceeded the tolerance: larger programs run in double precision instead.
const EXACT_WORK: u64 = 1 << 31;

/// The seed of that comparison.
const EXACT_SEED: u64 = 0;

/// The tolerance in double precision for a different order of summation.
const DOUBLE: f64 = 1e-9;

/// The largest fraction of a rounding difference that remains in double precision. Usually about `2^-29` of the difference in single
/// precision remains; 2e-5 was observed with an optimizer that divides a near-zero gradient by its own magnitude. A difference caused by a
/// bug does not shrink.
const LEFT_OF_ROUNDING: f64 = 1e-4;

/// The tolerance, as a multiple of the change of the output if every input changes by one unit in the last place. If the output changes
/// much, it is rounding noise in any precision, such as a zero gradient divided by its own magnitude.
const TIMES_NOISE: f64 = 8.0;

impl OutputCheck {
    /// Whether the output is correct.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.difference.within(self.tolerance) || self.is_rounding()
    }

    /// Whether the output differs only because the program amplifies rounding errors. This is so if the two programs are equal in exact
    /// arithmetic, if their difference is within the tolerance or almost zero in double precision, or if a change of the inputs by one ULP
    /// changes the output as much. Exact arithmetic does not explain a NaN or an infinity that only one program returns, nor different integers.
    #[must_use]
    pub fn is_rounding(&self) -> bool {
        let is_exact = self.is_exactly_equal && self.difference.mismatches == 0;
        let is_little = |InDouble { difference, noise }: InDouble| {
            let explained = f64::max(LEFT_OF_ROUNDING * self.difference.max_abs, TIMES_NOISE * noise.max_abs);
            difference.within(DOUBLE) || difference.mismatches == 0 && difference.max_abs <= explained
        };
        !self.difference.within(self.tolerance) && (is_exact || self.in_double.is_some_and(is_little))
    }
}

/// Runs `original` on one device and its partitioned program `output` on all devices with the same seeded inputs, and compares
/// every output. If an output differs, the programs are compared in exact arithmetic, and else in double precision, which separates
/// rounding from a bug.
///
/// # Errors
/// One of the programs does not compile or run, or exceeds the default [`Limits`]: this machine's memory or half an hour.
pub fn verify(
    client: &Client,
    original: &Module,
    output: &Output,
    seed: u64,
) -> Result<Vec<OutputCheck>, Error> {
    verify_within(client, original, output, seed, Limits::default())
}

/// Verifies as [`verify`] does, with other limits.
///
/// # Errors
/// The errors of [`verify`].
pub fn verify_within(
    client: &Client,
    original: &Module,
    output: &Output,
    seed: u64,
    limits: Limits,
) -> Result<Vec<OutputCheck>, Error> {
    verify_on(Engine::Pjrt(client), original, output, seed, limits)
}

/// Verifies as [`verify`] does, on any engine.
///
/// # Errors
/// The errors of [`verify`], and for the interpreter those of [`Interpreted::run`](super::Interpreted::run).
pub fn verify_on(
    engine: Engine<'_>,
    original: &Module,
    output: &Output,
    seed: u64,
    limits: Limits,
) -> Result<Vec<OutputCheck>, Error> {
    if engine.is_on_host() {
        // The memory is checked before inputs are generated and programs are compiled.
        verify_need(&output.interface).check("comparing the two programs", limits.memory)?;
    }
    let inputs = engine.random_inputs(output, seed)?;
    let expected = engine.single(original, limits)?.run(&inputs)?;
    let checks = compare(engine, original, output, &inputs, &expected, limits)
        .map_err(|error| attribute_disagreement(original, error))?;
    let wrong = checks.iter().find(|check| !check.ok()).map(|check| check.index);
    refuse_results_that_differ(original, wrong)?;
    Ok(checks)
}

/// Verifies as [`verify`] does, against known single-device outputs `expected` for the given `inputs`.
///
/// # Errors
/// The partitioned program does not compile or run.
pub fn verify_against(
    client: &Client,
    original: &Module,
    output: &Output,
    inputs: &[HostArray],
    expected: &[HostArray],
) -> Result<Vec<OutputCheck>, Error> {
    compare(Engine::Pjrt(client), original, output, inputs, expected, Limits::default())
}

/// Converts a program to double precision, in which [`verify`] separates rounding from a bug. Returns `None` if the conversion would change
/// the program's meaning: the program computes in 8 bits, or has calls that are specific to an element type.
#[must_use]
pub fn widened(module: &Module) -> Option<Module> {
    widen(module)
}

fn compare(
    engine: Engine<'_>,
    original: &Module,
    output: &Output,
    inputs: &[HostArray],
    expected: &[HostArray],
    limits: Limits,
) -> Result<Vec<OutputCheck>, Error> {
    let got = engine.partitioned(output, limits)?.run(inputs)?;
    let coarsest = original
        .values
        .values()
        .filter_map(|v| original.types.as_tensor(v.ty))
        .map(|t| rounding(t.dtype))
        .fold(0.0, f64::max);
    let outputs = output.interface.outputs.iter().zip(expected.iter().zip(&got)).enumerate();
    let mut checks: Vec<OutputCheck> = outputs
        .map(|(index, (tensor, (expected, got)))| {
            Ok(OutputCheck {
                index,
                name: tensor.name.clone(),
                ty: tensor.global.clone(),
                difference: HostArray::compare(expected, got)?,
                tolerance: match tensor.global.dtype {
                    dtype if dtype.is_float() || matches!(dtype, DType::C64 | DType::C128) => {
                        // A program that computes in a narrow type has only the precision of that type, whatever type it returns.
                        let narrow = if coarsest > rounding(DType::F32) { coarsest } else { 0.0 };
                        rounding(dtype).max(narrow)
                    }
                    _ => 0.0,
                },
                is_exactly_equal: false,
                in_double: None,
            })
        })
        .collect::<Result<_, Error>>()?;
    if checks.iter().any(|check| !check.ok())
        && let Ok(exact) =
            compare_with(original, output, inputs, EXACT_SEED, Limits { work: Some(EXACT_WORK), ..limits })
    {
        for (check, exact) in checks.iter_mut().zip(exact) {
            check.is_exactly_equal = exact.ok();
        }
    }
    if checks.iter().any(|check| !check.ok())
        && let Some(in_double) = in_double(engine, original, output, inputs, limits)
    {
        for (check, in_double) in checks.iter_mut().zip(in_double) {
            check.in_double = Some(in_double).filter(|_| !check.ok());
        }
    }
    Ok(checks)
}

/// Returns the outputs in double precision, if both programs can run in double precision within the limits.
fn in_double(
    engine: Engine<'_>,
    original: &Module,
    output: &Output,
    inputs: &[HostArray],
    limits: Limits,
) -> Option<Vec<InDouble>> {
    let inputs: Vec<HostArray> = inputs.iter().map(widen_array).collect::<Option<_>>()?;
    let nudged: Vec<HostArray> = inputs.iter().map(nudged).collect::<Option<_>>()?;
    let single = engine.single(&widen(original)?, limits).ok()?;
    let (expected, moved) = (single.run(&inputs).ok()?, single.run(&nudged).ok()?);
    let mut wide = Output { module: widen(&output.module)?, ..output.clone() };
    for tensor in wide.interface.inputs.iter_mut().chain(&mut wide.interface.outputs) {
        tensor.global.dtype = widen::wide(tensor.global.dtype);
    }
    let got = engine.partitioned(&wide, limits).and_then(|program| program.run(&inputs)).ok()?;
    let compared = expected.iter().zip(&got).zip(&moved).map(|((expected, got), moved)| {
        let difference = HostArray::compare(expected, got).ok()?;
        Some(InDouble { difference, noise: HostArray::compare(expected, moved).ok()? })
    });
    compared.collect()
}

/// The array with every float changed by one unit in the last place, some up and some down.
fn nudged(array: &HostArray) -> Option<HostArray> {
    if !matches!(array.dtype, DType::F64 | DType::C128) {
        return Some(array.clone());
    }
    let mut values = array.to_f64_vec();
    for (i, value) in values.iter_mut().enumerate() {
        // Adjacent elements and rows are changed in different directions.
        let is_up = (i ^ (i >> 5) ^ (i >> 9)).count_ones() % 2 == 0;
        *value *= if is_up { 1.0 + f64::EPSILON } else { 1.0 - f64::EPSILON };
    }
    HostArray::from_f64(array.dtype, &array.shape, &values).ok()
}

/// The tolerance for a different order of summation, relative to the largest value.
fn rounding(dtype: DType) -> f64 {
    match (dtype, dtype.is_float(), dtype.bits()) {
        (DType::F64 | DType::C128, ..) => 1e-9,
        (DType::C64, ..) => 1e-3,
        (_, false, _) => 0.0,
        (_, true, 0..=8) => 2e-1,
        (_, true, 9..=16) => 4e-2,
        (_, true, _) => 1e-3,
    }
}
