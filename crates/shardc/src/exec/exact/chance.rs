//! A bound on the chance that a comparison in exact arithmetic does not find a difference.

use shardc_ir::Module;

use super::degree::{Degrees, degrees};
use super::expand::expanded;
use crate::{Error, Output};

/// The number of elements of the field.
const ELEMENTS: f64 = ((1u64 << 61) - 1) as f64;

/// The largest bound that is worth reporting.
const USEFUL: f64 = 0.5;

/// Returns an upper bound on the chance that all outputs are equal in [`verify_exactly`](super::verify_exactly) although an output of the two
/// programs differs as a function of the inputs. `None` if no useful bound is known: the program has an operation whose degree has no bound,
/// such as a loop with an unknown trip count, or the degrees are too large.
///
/// The bound is for one seed. It assumes that hash values of function arguments are random, and that the outcomes of comparisons and the
/// integers do not depend on the random values; the user guide explains this.
///
/// # Errors
/// The original program cannot be read as a program on global values.
pub fn chance_of_missed_difference(original: &Module, output: &Output) -> Result<Option<f64>, Error> {
    let b = of(&output.module);
    let devices = output.num_devices() as f64;
    // Each device has values and divisors of its own.
    let b = Degrees { functions: b.functions * devices, divisors: b.divisors * devices, ..b };
    Ok(useful(chance(of(&*expanded(original)?), b)))
}

/// Returns the bound of [`chance_of_missed_difference`] for [`compare_exactly`](super::compare_exactly).
///
/// # Errors
/// The errors of [`chance_of_missed_difference`].
pub fn chance_between(original: &Module, other: &Module) -> Result<Option<f64>, Error> {
    Ok(useful(chance(of(&*expanded(original)?), of(&*expanded(other)?))))
}

fn useful(chance: f64) -> Option<f64> {
    Some(chance).filter(|&chance| chance <= USEFUL)
}

fn of(module: &Module) -> Degrees {
    module.entry().map_or_else(Degrees::default, |entry| degrees(module, entry))
}

/// The chance that two different elements have equal values, that two different arguments of functions have, or that a divisor is zero.
fn chance(a: Degrees, b: Degrees) -> f64 {
    let functions = a.functions + b.functions;
    let pairs = functions * (functions - 1.0).max(0.0) / 2.0;
    let collisions = if pairs == 0.0 { 0.0 } else { pairs * (a.arguments + b.arguments) };
    (collisions + a.outputs + b.outputs + a.divisors + b.divisors) / ELEMENTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiler;

    #[test]
    fn the_bound_grows_with_degrees() {
        let of = |body: &str| {
            let source = format!(
                "sdy.mesh @mesh = <[\"data\"=2]>
                 func.func @main(%x: tensor<4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"data\"}}]>}}) -> tensor<4xf32> {{
                   {body}
                   return %r : tensor<4xf32>
                 }}"
            );
            let output = Compiler::new().partition(source.as_bytes()).unwrap();
            let original = Compiler::read(source.as_bytes()).unwrap();
            chance_of_missed_difference(&original, &output).unwrap()
        };
        let square = of("%r = stablehlo.multiply %x, %x : tensor<4xf32>").unwrap();
        assert!((square * ELEMENTS - 4.0).abs() < 1e-6, "{square}");
        let tanh = of("%r = stablehlo.tanh %x : tensor<4xf32>").unwrap();
        assert!(tanh > square && tanh < 1e-15, "{tanh}");
        assert_eq!(of("%r = stablehlo.custom_call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>"), None);
    }
}
