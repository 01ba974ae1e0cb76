//! Checks derivatives of a program against finite differences, and forward mode against reverse mode.

mod fence;
pub mod pairs;

use shardc::autodiff::{self, Derivative, Request};
use shardc::{Compiler, Error, SpmdMode, exec};
use shardc_ir::{DType, DTypeClass, Module, TypeId};
use shardc_runtime::{Client, HostArray};

use crate::fuzz::Rng;

/// The step of the finite differences.
const STEP: f64 = 1e-6;
/// Maximum difference between a derivative and a finite difference, relative to the largest derivative of the tensor.
const TOLERANCE: f64 = 2e-5;
/// The maximum magnitude of numbers that are compared.
const LARGE: f64 = 1e8;
/// Maximum relative difference between two derivatives that differ only in the order of computation.
const EXACT: f64 = 1e-9;

/// The numbers of compared elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Elements whose derivative was compared with a finite difference.
    pub smooth: usize,
    /// Elements that are not finite, or at which the function or its derivative is discontinuous.
    pub rough: usize,
}

/// The reason why a comparison failed.
#[derive(Debug)]
pub enum Wrong {
    /// The program or its derivative was rejected.
    Refused(Error),
    /// Numbers differ.
    Values(String),
    /// Numbers differ, but agree if the back end cannot rewrite operations together: the programs are correct.
    BackEnd(String),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Wrong::Refused(error)
    }
}

type Res<T> = Result<T, Wrong>;

fn differ<T>(text: String) -> Res<T> {
    Err(Wrong::Values(text))
}

/// The indices of the arguments or results that can change by a small amount.
fn changing(module: &Module, types: &[TypeId]) -> Vec<usize> {
    let can_change = |i: &usize| {
        let class = module.types.as_tensor(types[*i]).map(|ty| ty.dtype.class());
        matches!(class, Some(DTypeClass::Float | DTypeClass::Complex))
    };
    (0..types.len()).filter(can_change).collect()
}

/// The interval of the random elements of an argument.
pub type Range = (f64, f64);

/// Draws random arrays of the types `types`. Floats and integers are in the given ranges; without a range, floats are between minus one and
/// one, and integers are small. Booleans are also supported.
fn drawn(module: &Module, types: &[TypeId], ranges: &[Range], rng: &mut Rng) -> Option<Vec<HostArray>> {
    let of = |(i, &ty): (usize, &TypeId)| {
        let ty = module.types.as_tensor(ty)?;
        let shape: Vec<usize> = ty.shape.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<_>>()?;
        let count = shape.iter().product::<usize>();
        let class = ty.dtype.class();
        let count = if class == DTypeClass::Complex { 2 * count } else { count };
        let is_whole = matches!(class, DTypeClass::Signed | DTypeClass::Unsigned);
        let (low, high) = ranges.get(i).copied().unwrap_or(if is_whole { (0.0, 6.0) } else { (-1.0, 1.0) });
        let mut number = || match class {
            DTypeClass::Float | DTypeClass::Complex => {
                low + (high - low) * rng.below(2_000_001) as f64 / 2_000_000.0
            }
            DTypeClass::Bool => rng.below(2) as f64,
            DTypeClass::Signed | DTypeClass::Unsigned => {
                low + rng.below((high - low).max(1.0) as usize) as f64
            }
        };
        let numbers: Vec<f64> = (0..count).map(|_| number()).collect();
        HostArray::from_f64(ty.dtype, &shape, &numbers).ok()
    };
    types.iter().enumerate().map(of).collect()
}

/// The arrays, with those at `places` moved by `by` times the tangents.
fn moved(arrays: &[HostArray], places: &[usize], tangents: &[HostArray], by: f64) -> Res<Vec<HostArray>> {
    let mut out = arrays.to_vec();
    for (&i, tangent) in places.iter().zip(tangents) {
        let sum: Vec<f64> =
            arrays[i].to_f64_vec().iter().zip(tangent.to_f64_vec()).map(|(x, t)| x + by * t).collect();
        out[i] = HostArray::from_f64(arrays[i].dtype, &arrays[i].shape, &sum).map_err(Error::from)?;
    }
    Ok(out)
}

fn is_double(module: &Module, types: &[TypeId]) -> bool {
    let is = |&ty: &TypeId| {
        module.types.as_tensor(ty).is_none_or(|ty| {
            matches!(ty.dtype, DType::F64 | DType::C128)
                || !matches!(ty.dtype.class(), DTypeClass::Float | DTypeClass::Complex)
        })
    };
    types.iter().all(is)
}

/// A program, and the data for comparing its derivatives.
struct Case<'a> {
    client: &'a Client,
    module: &'a Module,
    wrt: Vec<usize>,
    of: Vec<usize>,
    args: Vec<HostArray>,
    tangents: Vec<HostArray>,
    is_fenced: bool,
}

impl<'a> Case<'a> {
    /// Draws arguments and tangents. Returns `None` if nothing in the program can change by a small amount.
    fn new(client: &'a Client, module: &'a Module, ranges: &[Range], rng: &mut Rng) -> Option<Case<'a>> {
        let func = &module.funcs[module.entry()?];
        let (wrt, of) = (changing(module, &func.params), changing(module, &func.results));
        if wrt.is_empty() || of.is_empty() || !is_double(module, &func.params) {
            return None;
        }
        let args = drawn(module, &func.params, ranges, rng)?;
        let types: Vec<TypeId> = wrt.iter().map(|&i| func.params[i]).collect();
        let tangents = drawn(module, &types, &[], rng)?;
        Some(Case { client, module, wrt, of, args, tangents, is_fenced: false })
    }

    fn run(&self, module: &Module, args: &[HostArray]) -> Res<Vec<HostArray>> {
        Ok(exec::Program::single(self.client, module)?.run(self.client, args)?)
    }

    fn derivative(&self, request: &Request) -> Res<Module> {
        let mut made = self.module.clone();
        autodiff::differentiate(&mut made, request)?;
        if self.is_fenced {
            fence::fence(&mut made);
        }
        shardc_ir::verify(&made).map_err(Error::from)?;
        Ok(made)
    }

    /// The derivative along the tangents, its comparison with finite differences, and whether all values are finite. One program computes
    /// values and derivatives, because compilation takes most of the time.
    fn against_differences(&self) -> Res<(Vec<HostArray>, Compared, bool)> {
        let request = Request::new(Derivative::Jvp, &self.wrt, &self.of).with_value();
        let program = exec::Program::single(self.client, &self.derivative(&request)?)?;
        let run = |by: f64| -> Res<Vec<HostArray>> {
            let mut args = moved(&self.args, &self.wrt, &self.tangents, by)?;
            args.extend_from_slice(&self.tangents);
            Ok(program.run(self.client, &args)?)
        };
        let mut values = vec![run(0.0)?];
        let found = values[0].split_off(self.of.len());
        for by in [STEP, -STEP, 2.0 * STEP, -2.0 * STEP] {
            values.push(run(by)?);
        }
        let is_finite = values[0].iter().all(|value| value.to_f64_vec().iter().all(|x| x.is_finite()));
        let mut compared = Compared::default();
        for (n, found) in found.iter().enumerate() {
            let found = found.to_f64_vec();
            let at: Vec<Vec<f64>> = values.iter().map(|v| v[n].to_f64_vec()).collect();
            let scale = found.iter().filter(|x| x.is_finite()).fold(0.0f64, |m, x| m.max(x.abs()));
            let size = at[0].iter().filter(|x| x.is_finite()).fold(0.0f64, |m, x| m.max(x.abs()));
            for (e, &found) in found.iter().enumerate() {
                let f = |k: usize| at[k][e];
                if (0..5).any(|k| !f(k).is_finite() || f(k).abs() > LARGE) {
                    compared.rough += 1;
                    continue;
                }
                let (near, far) = ((f(1) - f(2)) / (2.0 * STEP), (f(3) - f(4)) / (4.0 * STEP));
                let (ahead, behind) = ((f(1) - f(0)) / STEP, (f(0) - f(2)) / STEP);
                let noise = 1e-8 * size + 1e-9;
                // At a discontinuity, no derivative is correct.
                if (ahead - behind).abs() > 2e-3 * (near.abs() + 0.01 * scale) + noise
                    || (near - far).abs() > 1e-3 * (near.abs() + 0.01 * scale) + noise
                {
                    compared.rough += 1;
                    continue;
                }
                compared.smooth += 1;
                let allowed = TOLERANCE * near.abs().max(scale) + 2.0 * (near - far).abs() + noise;
                if !is_within(found - near, allowed) {
                    return differ(format!(
                        "result {n}, element {e}: the derivative is {found:e}, a difference says {near:e} \
                         (allowed {allowed:e}, the largest is {scale:e})"
                    ));
                }
            }
        }
        Ok((found, compared, is_finite))
    }

    /// Compares `<ct, J t>` with `<J^T ct, t>`, where `t` are tangents and `ct` cotangents. If `is_finite` is false, a difference is not an
    /// error.
    fn against_each_other(
        &self,
        forward: &[HostArray],
        cotangents: &[HostArray],
        is_finite: bool,
    ) -> Res<Backward> {
        let module = self.derivative(&Request::new(Derivative::Vjp, &self.wrt, &self.of))?;
        let args = [self.args.as_slice(), cotangents].concat();
        let backward = self.run(&module, &args)?;
        let (left, size) = product(cotangents, forward);
        let (right, size_too) = product(&backward, &self.tangents);
        let size = size.max(size_too);
        let is_compared = is_finite || left.is_finite() && right.is_finite();
        // Numbers above the limit are not compared, because cancellation leaves few correct digits.
        if is_compared && size < LARGE && !is_within(left - right, EXACT * size + 1e-12) {
            return differ(format!(
                "forward and reverse mode differ: {left:e} and {right:e} (sum of magnitudes: {size:e})"
            ));
        }
        Ok(Backward { module, args, results: backward })
    }
}

/// The reverse-mode derivative, and its values.
struct Backward {
    module: Module,
    args: Vec<HostArray>,
    results: Vec<HostArray>,
}

/// Whether a difference is finite and at most `allowed`.
fn is_within(difference: f64, allowed: f64) -> bool {
    difference.abs() <= allowed
}

/// The sum of the real parts of the elementwise products, and the sum of their magnitudes.
fn product(a: &[HostArray], b: &[HostArray]) -> (f64, f64) {
    let (mut sum, mut size) = (0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let is_complex = a.dtype.class() == DTypeClass::Complex;
        for (i, (x, y)) in a.to_f64_vec().iter().zip(b.to_f64_vec()).enumerate() {
            let term = if is_complex && i % 2 == 1 { -x * y } else { x * y };
            sum += term;
            size += term.abs();
        }
    }
    (sum, size)
}

/// Differentiates a program in forward and reverse mode with respect to all differentiable arguments. Compares the derivatives with finite
/// differences and with each other. If `again`, checks the second derivatives in the same way. Compares the partitioned gradient with that
/// on one device. If numbers differ, repeats everything with a barrier after each operation, to detect bugs in the back end's rewrites.
///
/// # Errors
/// A program is rejected, or numbers differ.
pub fn check(
    client: &Client,
    text: &str,
    seed: u64,
    again: bool,
    partitioned: Option<SpmdMode>,
) -> Result<Compared, Wrong> {
    let check = |is_fenced| check_once(client, text, seed, again, partitioned, is_fenced);
    match check(false) {
        Err(Wrong::Values(text)) if check(true).is_ok() => Err(Wrong::BackEnd(text)),
        checked => checked,
    }
}

fn check_once(
    client: &Client,
    text: &str,
    seed: u64,
    again: bool,
    partitioned: Option<SpmdMode>,
    is_fenced: bool,
) -> Result<Compared, Wrong> {
    let module = Compiler::read(text.as_bytes())?;
    let Some(Checked { compared, backward }) = derivatives(client, &module, &[], seed, again, is_fenced)?
    else {
        return Ok(Compared::default());
    };
    if let Some(mode) = partitioned {
        let Backward { module, args, results } = backward;
        let text = shardc_stablehlo::print(&module, &shardc_stablehlo::PrintOptions::default());
        let output = Compiler::new().spmd_mode(mode).partition(text.as_bytes())?;
        let checks = exec::verify_against(client, &module, &output, &args, &results)?;
        if let Some(wrong) = checks.iter().find(|c| !c.ok()) {
            return differ(format!("partitioned ({mode:?}): output {}: {:?}", wrong.index, wrong.difference));
        }
    }
    Ok(compared)
}

/// The number of compared elements, and the reverse-mode derivative.
struct Checked {
    compared: Compared,
    backward: Backward,
}

/// Differentiates a program in double precision in forward and reverse mode, at arguments in these ranges. Compares the derivatives with
/// finite differences and with each other; if `again`, also those of the gradient. Returns `None` if nothing in the program can change by a
/// small amount, or if the program has no form in double precision.
fn derivatives(
    client: &Client,
    module: &Module,
    ranges: &[Range],
    seed: u64,
    again: bool,
    is_fenced: bool,
) -> Res<Option<Checked>> {
    let mut rng = Rng::new("gradients", seed, 0);
    let Some((mut compared, backward)) = both_ways(client, module, ranges, &mut rng, is_fenced)? else {
        return Ok(None);
    };
    // Cotangents are arguments without a range.
    if again && let Some((second, _)) = both_ways(client, &backward.module, ranges, &mut rng, is_fenced)? {
        compared.smooth += second.smooth;
        compared.rough += second.rough;
    }
    Ok(Some(Checked { compared, backward }))
}

fn both_ways(
    client: &Client,
    module: &Module,
    ranges: &[Range],
    rng: &mut Rng,
    is_fenced: bool,
) -> Res<Option<(Compared, Backward)>> {
    let Some(case) = Case::new(client, module, ranges, rng) else { return Ok(None) };
    let case = Case { is_fenced, ..case };
    let (forward, compared, is_finite) = case.against_differences()?;
    let func = &module.funcs[module.entry().ok_or_else(|| Error::from(module.no_entry()))?];
    let types: Vec<TypeId> = case.of.iter().map(|&i| func.results[i]).collect();
    let Some(cotangents) = drawn(module, &types, &[], rng) else { return Ok(None) };
    let backward = case.against_each_other(&forward, &cotangents, is_finite)?;
    Ok(Some((compared, backward)))
}
