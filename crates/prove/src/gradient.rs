//! Checks a gradient program by derivatives along directions, in exact arithmetic.
//!
//! For random inputs `x` and a random direction `v`, the derivative of the original along `v` must be the product of the gradient with
//! `v`. The original runs with dual numbers, whose rules are independent of the automatic differentiation that made the gradient. A gradient
//! that is wrong passes only if `v` or a value of a random function is a root of a polynomial, which has a probability of about 2^-61 times
//! its degree.
//!
//! Functions are random functions, as in [`Exact`], so that a gradient that uses an identity of functions other than their derivatives, such
//! as `exp(x) exp(y) = exp(x + y)`, has another value.

use shardc_interpreter::{
    Array, Compiled, Dual, Exact, Fault, Field, Number, Options as Limits, Program, Value,
};
use shardc_ir::{FuncId, Module, OpKind};

use crate::report::Error;
use crate::{Options, exact};

/// The check of a gradient program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GradientReport {
    /// Whether the value is equal; `None` if the program returns only gradients.
    pub value: Option<bool>,
    /// For each differentiated argument, its index and whether the gradient is that of the original.
    pub arguments: Vec<(usize, bool)>,
    /// The reason for which nothing is decided, if so.
    pub undecided: Option<String>,
}

impl GradientReport {
    /// Whether the value and all gradients are equal.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.undecided.is_none() && self.value != Some(false) && self.arguments.iter().all(|&(_, is)| is)
    }
}

/// Checks that a program returns the gradient of the scalar result `of` with respect to the arguments `wrt`, after the value itself if it has
/// one result more.
///
/// # Errors
/// The programs have no entry functions, or `gradient` has other arguments or results.
pub fn check_gradient(
    original: &Module,
    gradient: &Module,
    wrt: &[usize],
    of: usize,
    options: &Options,
) -> Result<GradientReport, Error> {
    let own = original.entry().ok_or(Error::NoEntry("original"))?;
    let other = gradient.entry().ok_or(Error::NoEntry("gradient"))?;
    let has_value = check_types((original, own), (gradient, other), wrt, of)?;
    let mut report = GradientReport { value: None, arguments: Vec::new(), undecided: None };
    if [original, gradient]
        .iter()
        .any(|module| module.ops.values().any(|op| matches!(op.kind, OpKind::BatchNorm(..))))
    {
        report.undecided = Some("batch normalization as one operation has several formulas".to_owned());
        return Ok(report);
    }
    match compare((original, own), (gradient, other), wrt, (of, has_value), options) {
        Ok((value, arguments)) => (report.value, report.arguments) = (value, arguments),
        Err(reason) => report.undecided = Some(reason),
    }
    Ok(report)
}

/// Checks the types; returns whether the program also returns the value.
fn check_types(
    (original, own): (&Module, FuncId),
    (gradient, other): (&Module, FuncId),
    wrt: &[usize],
    of: usize,
) -> Result<bool, Error> {
    let fault = |text: String| Err(Error::Boundary(text));
    let (own, other) = (&original.funcs[own], &gradient.funcs[other]);
    let names = |module: &Module, list: &[shardc_ir::TypeId]| -> Vec<String> {
        list.iter().map(|&ty| module.types.display(ty)).collect()
    };
    let (params, results) = (names(original, &own.params), names(gradient, &other.results));
    if params != names(gradient, &other.params) {
        return fault("the gradient program has other arguments than the original".to_owned());
    }
    let is_scalar =
        own.results.get(of).and_then(|&ty| original.types.shape_of(ty)).is_some_and(|shape| shape.is_empty());
    if !is_scalar {
        return fault(format!("result {of} of the original is not a scalar"));
    }
    let extra = results.len().wrapping_sub(wrt.len());
    if extra > 1 {
        let (found, needed) = (results.len(), wrt.len());
        return fault(format!("the gradient program has {found} results for {needed} arguments"));
    }
    for (&at, ty) in wrt.iter().zip(&results[extra..]) {
        if params.get(at) != Some(ty) {
            return fault(format!("the gradient with respect to argument {at} has type {ty}"));
        }
    }
    Ok(extra == 1)
}

type Compared = (Option<bool>, Vec<(usize, bool)>);

fn compare(
    (original, own): (&Module, FuncId),
    (gradient, other): (&Module, FuncId),
    wrt: &[usize],
    (of, has_value): (usize, bool),
    options: &Options,
) -> Result<Compared, String> {
    let text = |fault: Fault| fault.to_string();
    let limits = || Limits {
        interrupt: options.interrupt.clone(),
        max_work: options.test_work.unwrap_or(u64::MAX),
        ..Limits::default()
    };
    let (mut inputs, mut directions) = (Vec::new(), Vec::new());
    for (seed, &ty) in (0u64..).zip(&original.funcs[own].params) {
        let ty = original.types.as_tensor(ty).ok_or("an argument is not a tensor")?;
        let dims: Vec<usize> = ty.shape.iter().map(|&size| size.max(0) as usize).collect();
        inputs.push(exact::input(ty, seed).map_err(text)?);
        directions.push(Array::random(&dims, ty.dtype, seed + DIRECTIONS).map_err(text)?);
    }
    let program = Program::<Exact>::new(gradient, limits());
    let args = inputs.iter().cloned().map(Value::Array).collect();
    let results = Exact::call(&program, other, args).map_err(|error| format!("the gradient: {error}"))?;
    let products: Vec<Field> = wrt
        .iter()
        .zip(results.iter().skip(usize::from(has_value)))
        .map(|(&at, result)| result.as_array()?.along(directions[at].as_ref()?))
        .collect::<Option<_>>()
        .ok_or("a differentiated argument is not a tensor of floats")?;

    let program = Program::<Dual>::new(original, limits());
    let along = |moved: &[usize]| -> Result<(Field, Field), String> {
        let mut args = Vec::new();
        for (at, input) in inputs.iter().enumerate() {
            let direction = directions[at].as_ref().filter(|_| moved.contains(&at));
            args.push(Value::Array(Array::dual(input, direction).map_err(text)?));
        }
        let results = Dual::call(&program, own, args).map_err(|error| format!("the original: {error}"))?;
        let derivative = results.get(of).and_then(Value::as_array).and_then(Array::derivative);
        derivative.ok_or_else(|| "the original has a function whose derivative is not known".to_owned())
    };
    let (value, derivative) = along(wrt)?;
    let is_value = |result: &Value<Exact>| {
        result.as_array().and_then(|array| Array::dual(array, None).ok()).and_then(|array| array.derivative())
            == Some((value, Field::default()))
    };
    let has_equal_value = results.first().filter(|_| has_value).map(is_value);
    let sum = products.iter().fold(Field::default(), |sum, &product| sum.plus(product));
    // The gradients are compared one by one only to find the wrong ones.
    let mut arguments = Vec::new();
    for (&at, &product) in wrt.iter().zip(&products) {
        arguments.push((at, sum == derivative || along(&[at])?.1 == product));
    }
    Ok((has_equal_value, arguments))
}

/// The first seed of the directions, which differ from the inputs.
const DIRECTIONS: u64 = 1 << 32;
