//! Derivatives of programs: gradients, vector-Jacobian and Jacobian-vector products.
//!
//! A program can be differentiated before or after it is annotated. The shardings of arguments, results and sharding constraints also apply
//! to their gradients and tangents, which therefore need no further annotations.
//!
//! ```
//! use shardc::{Compiler, autodiff};
//!
//! # fn main() -> Result<(), shardc::Error> {
//! let mut module = Compiler::parse(
//!     br#"func.func @main(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<f32> {
//!       %zero = stablehlo.constant dense<0.0> : tensor<f32>
//!       %p = stablehlo.multiply %w, %x : tensor<4xf32>
//!       %sum = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0]
//!           : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
//!       return %sum : tensor<f32>
//!     }"#,
//! )?;
//! let wrt = autodiff::arguments(&module, &["w"])?;
//! autodiff::value_and_grad(&mut module, &wrt)?;
//! let text = shardc::stablehlo::print(&module, &shardc::stablehlo::PrintOptions::default());
//! assert!(text.contains("-> (tensor<f32>, tensor<4xf32> {jax.result_info = \"gradient(w)\"})"), "{text}");
//! # Ok(())
//! # }
//! ```
//!
//! Calls are inlined. If the result depends on an operation that cannot be differentiated, the error gives its location and a workaround
//! (SH10xx).

use shardc_autodiff as transform;
pub use shardc_autodiff::{CHECKPOINT, CHECKPOINT_NAME, Checkpoint, Keep, Offload, UnknownPolicy};
pub use shardc_autodiff::{CustomDerivative, CustomRule, Derivative, Request, STOP_GRADIENT};
use shardc_ir::{DTypeClass, FuncId, Module};
use shardc_passes::annotations::names::Names;
use shardc_passes::driver::specialize::specialize;
use shardc_passes::transforms::{dce::dce, decompose::decompose, inline};

use crate::Error;

/// The arguments of the entry function that `names` select, in order and without duplicates. A name is `arg0`, a front-end name, a name in
/// the text, or a prefix of such names (`params` for `params['w']`).
///
/// # Errors
/// A name matches no argument (SH0333); similar names are suggested.
pub fn arguments(module: &Module, names: &[&str]) -> Result<Vec<usize>, Error> {
    let known = Names::of(module, &module.funcs[entry(module)?]);
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for name in names {
        match known.find_arguments(name) {
            Ok(of_name) => found.extend(of_name),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(Error::Diagnostics(errors));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The indices of the entry function's results whose element type is a floating-point or complex type.
///
/// # Errors
/// The program has no entry function.
pub fn differentiable_results(module: &Module) -> Result<Vec<usize>, Error> {
    let func = &module.funcs[entry(module)?];
    let can_change = |i: &usize| {
        let class = module.types.as_tensor(func.results[*i]).map(|ty| ty.dtype.class());
        matches!(class, Some(DTypeClass::Float | DTypeClass::Complex))
    };
    Ok((0..func.results.len()).filter(can_change).collect())
}

/// Makes the program return the gradient of its first result, a scalar, with respect to each argument whose index is in `wrt`.
///
/// # Errors
/// The errors of [`differentiate`].
pub fn grad(module: &mut Module, wrt: &[usize]) -> Result<(), Error> {
    differentiate(module, &Request::new(Derivative::Gradient, wrt, &[0]))
}

/// Makes the program return its first result, a scalar, and the gradient of that result with respect to each argument whose index is in
/// `wrt`.
///
/// # Errors
/// The errors of [`differentiate`].
pub fn value_and_grad(module: &mut Module, wrt: &[usize]) -> Result<(), Error> {
    differentiate(module, &Request::new(Derivative::Gradient, wrt, &[0]).with_value())
}

/// Replaces the program by the vector-Jacobian product of the results with indices `of`, with respect to the arguments with indices `wrt`.
/// A cotangent for each of these results is appended to the arguments. The program returns these results and a gradient for each of these
/// arguments.
///
/// # Errors
/// The errors of [`differentiate`].
pub fn vjp(module: &mut Module, wrt: &[usize], of: &[usize]) -> Result<(), Error> {
    differentiate(module, &Request::new(Derivative::Vjp, wrt, of).with_value())
}

/// Replaces the program by the Jacobian-vector product of the results with indices `of`, with respect to the arguments with indices `wrt`.
/// A tangent for each of these arguments is appended to the arguments. The program returns these results and a tangent for each of them.
///
/// # Errors
/// The errors of [`differentiate`].
pub fn jvp(module: &mut Module, wrt: &[usize], of: &[usize]) -> Result<(), Error> {
    differentiate(module, &Request::new(Derivative::Jvp, wrt, of).with_value())
}

/// Differentiates the entry function in place. JAX functions that manipulate the bits of numbers use a built-in derivative rule, if one
/// exists.
///
/// # Errors
/// The program has no entry function, or calls a missing one; an argument or a result does not exist or is not differentiable
/// (SH1003); an operation between them has no derivative (SH1001); a loop has an unknown trip count (SH1004).
pub fn differentiate(module: &mut Module, request: &Request) -> Result<(), Error> {
    specialize(module, &[])?;
    let mut request = request.clone();
    let known = transform::known_rules(module);
    let is_given = |known: &CustomRule| request.rules.iter().any(|given| given.name == known.name);
    let known: Vec<CustomRule> = known.into_iter().filter(|known| !is_given(known)).collect();
    request.rules.extend(known);
    let request = &request;
    let kept = transform::kept_functions(module, request);
    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    inline::inline_calls_except(module, &kept)?;
    let func = entry(module)?;
    if let Some(body) = module.funcs[func].body {
        decompose(module, body);
    }
    transform::differentiate(module, func, request)?;
    inline::inline_calls(module)?;
    if let Some(body) = module.funcs[entry(module)?].body {
        dce(module, body);
    }
    Ok(())
}

fn entry(module: &Module) -> Result<FuncId, Error> {
    module.entry().ok_or_else(|| module.no_entry().into())
}
