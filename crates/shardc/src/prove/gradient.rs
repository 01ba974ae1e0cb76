//! Checks of gradient programs.

use shardc_ir::{DTypeClass, Module, OpKind, ValueId};
use shardc_passes::annotations::names::Names;
pub use shardc_prove::GradientReport;

use super::annotated::misfit;
use super::{Options, refused};
use crate::Error;

/// Checks that `gradient` returns the gradient of the first result of `original`, a scalar, with respect to the arguments that `wrt` names.
/// If the program has one result more, the first one must be the value.
///
/// Without names, the arguments are those that `shardc grad` writes as the names of the results. If the results have no such names,
/// all arguments of floats are differentiated.
///
/// The check runs both programs on random inputs in exact arithmetic: the derivative of the original along a random direction, by dual
/// numbers, must be the product of the gradient with the direction. A gradient that differs is checked again by differences in double
/// precision, with the feature `runtime`, because it may use identities of functions that exact arithmetic does not have.
///
/// # Errors
/// A name matches no argument (SH0333), the types do not fit (SH0714, SH0715), or the check is interrupted.
pub fn check_gradient(
    original: &Module,
    gradient: &Module,
    wrt: &[&str],
    options: &Options,
) -> Result<GradientReport, Error> {
    let wrt = arguments(original, gradient, wrt)?;
    let report = shardc_prove::check_gradient(original, gradient, &wrt, 0, options)
        .map_err(|error| refused(error, "pass a program and the gradient of its first result"))?;
    Ok(confirmed(original, gradient, report))
}

/// The report, which is undecided if the difference in exact arithmetic may not be one of the programs.
fn confirmed(original: &Module, gradient: &Module, report: GradientReport) -> GradientReport {
    if report.undecided.is_some() || report.is_equal() {
        return report;
    }
    let reason = if has_free_clamp(original) {
        "the bounds of a clamp are not constants, and random bounds are not ordered"
    } else if agrees_with_differences(original, gradient, &report) {
        "a gradient differs in exact arithmetic, but agrees with differences in double precision"
    } else {
        return report;
    };
    GradientReport { undecided: Some(reason.to_owned()), ..report }
}

/// Whether a clamp has a bound that is not a constant. Its derivative has several formulas if the lower bound exceeds the upper one.
fn has_free_clamp(module: &Module) -> bool {
    let is_constant = |mut value: ValueId| {
        while let Some(op) = module.def_op(value) {
            let data = &module.ops[op];
            match (&data.kind, data.operands.first()) {
                (OpKind::Constant(_), _) => return true,
                (OpKind::BroadcastInDim { .. } | OpKind::Convert | OpKind::Reshape, Some(&from)) => {
                    value = from
                }
                _ => return false,
            }
        }
        false
    };
    let mut clamps = module.ops.values().filter(|data| data.kind == OpKind::Clamp);
    clamps.any(|data| {
        let bounds = [data.operands.first(), data.operands.last()];
        !bounds.into_iter().flatten().all(|&bound| is_constant(bound))
    })
}

#[cfg(feature = "runtime")]
fn agrees_with_differences(original: &Module, gradient: &Module, report: &GradientReport) -> bool {
    let has_value = report.value.is_some();
    let results = report.arguments.iter().zip(usize::from(has_value)..);
    let wrong: Vec<(usize, usize)> =
        results.filter(|((_, is), _)| !is).map(|(&(at, _), result)| (at, result)).collect();
    super::differences::agree(original, gradient, &wrong, has_value)
}

/// Without the interpreter, differences are not computed.
#[cfg(not(feature = "runtime"))]
fn agrees_with_differences(_: &Module, _: &Module, _: &GradientReport) -> bool {
    false
}

/// The indices of the differentiated arguments.
fn arguments(original: &Module, gradient: &Module, wrt: &[&str]) -> Result<Vec<usize>, Error> {
    let (Some(own), Some(other)) = (original.entry(), gradient.entry()) else {
        return Err(misfit("a program has no entry function", "name the function @main"));
    };
    let (own, other) = (&original.funcs[own], &gradient.funcs[other]);
    let names = Names::of(original, own);
    if !wrt.is_empty() {
        let found = wrt.iter().map(|name| names.find_arguments(name)).collect::<Result<Vec<_>, _>>()?;
        let mut found = found.concat();
        found.sort_unstable();
        found.dedup();
        return Ok(found);
    }
    let written = |at: usize| -> Option<String> {
        let name = other.result_name(at)?;
        Some(name.strip_prefix("gradient(")?.strip_suffix(')')?.to_owned())
    };
    let written: Vec<String> = (0..other.results.len()).filter_map(written).collect();
    if !written.is_empty() {
        return written.iter().map(|name| Ok(names.find_argument(name)?)).collect();
    }
    let is_float = |&at: &usize| {
        let ty = original.types.as_tensor(own.params[at]);
        ty.is_some_and(|ty| matches!(ty.dtype.class(), DTypeClass::Float | DTypeClass::Complex))
    };
    Ok((0..own.params.len()).filter(is_float).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiler;

    const LOSS: &str = "
      func.func @main(%w: tensor<3xf32>, %x: tensor<3xf32>) -> tensor<f32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.multiply %w, %x : tensor<3xf32>
        %1 = stablehlo.tanh %0 : tensor<3xf32>
        %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
        return %2 : tensor<f32>
      }";

    fn gradient(slope: &str) -> String {
        format!(
            "func.func @main(%w: tensor<3xf32>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {{
              %one = stablehlo.constant dense<1.0> : tensor<3xf32>
              %0 = stablehlo.multiply %w, %x : tensor<3xf32>
              %1 = stablehlo.tanh %0 : tensor<3xf32>
              %2 = stablehlo.multiply %1, %1 : tensor<3xf32>
              %3 = stablehlo.subtract {slope} : tensor<3xf32>
              %4 = stablehlo.multiply %3, %x : tensor<3xf32>
              %5 = stablehlo.multiply %3, %w : tensor<3xf32>
              return %4, %5 : tensor<3xf32>, tensor<3xf32>
            }}"
        )
    }

    fn check(gradient: &str, wrt: &[&str]) -> Result<GradientReport, Error> {
        let read = |text: &str| Compiler::parse(text.as_bytes()).unwrap();
        check_gradient(&read(LOSS), &read(gradient), wrt, &Options::default())
    }

    #[test]
    fn gradients_are_products_of_directions() {
        let report = check(&gradient("%one, %2"), &[]).unwrap();
        assert!(report.is_equal(), "{report:?}");
        assert_eq!(report.arguments, [(0, true), (1, true)]);
        let wrong = check(&gradient("%2, %one"), &[]).unwrap();
        assert_eq!((wrong.is_equal(), wrong.arguments), (false, vec![(0, false), (1, false)]));
    }

    #[test]
    fn wrong_gradients_are_named() {
        let text = gradient("%one, %2").replace("return %4, %5", "return %4, %4");
        assert_eq!(check(&text, &["w", "x"]).unwrap().arguments, [(0, true), (1, false)]);
        assert!(check(&text, &["arg0"]).is_ok_and(|report| report.value == Some(false)));
        assert!(check(&text, &["y"]).is_err());
    }
}
