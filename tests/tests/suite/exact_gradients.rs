//! Compares reverse mode with forward mode in exact arithmetic: the product of a gradient with random tangents equals the tangent of the result.
//! Both modes use the same derivatives of functions, so this checks the transposes of all operations without a tolerance.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use shardc::exec::{Limits, compare_exactly};
use shardc::stablehlo::{PrintOptions, print};
use shardc::{Compiler, Module, autodiff, prove};
use shardc_tests::gradients::pairs::Pair;
use shardc_tests::sample::sample;
use shardc_tests::shared;
use shardc_tests::skip::{Need, skipped};

/// One of this many functions is checked; all of them in a thorough run.
const SAMPLE: usize = 3;

/// The elements that a program may compute. Larger programs are left out.
const WORK: u64 = 1 << 26;

/// Functions whose gradients differ: the roots of unity of a Fourier transform are rounded, so that their products are not roots of unity, and the
/// transpose of a real transform is not exact.
const ROUNDED: &[&str] = &["fft_real"];

/// A program that returns a value and the product of its gradient with tangents, from a program that returns the value and the gradient. The
/// tangents are further arguments.
fn contracted(gradient: &Module, wrt: &[usize]) -> Module {
    let text = print(gradient, &PrintOptions::default());
    let func = &gradient.funcs[gradient.entry().unwrap()];
    let display = |&ty: &shardc::ir::TypeId| gradient.types.display(ty).to_string();
    let types: Vec<String> = func.params.iter().map(display).collect();
    let results: Vec<String> = func.results.iter().map(display).collect();
    let tangents = wrt.iter().map(|&i| &types[i]);
    let params: Vec<String> =
        types.iter().chain(tangents).enumerate().map(|(i, ty)| format!("%a{i}: {ty}")).collect();
    let given: Vec<String> = (0..types.len()).map(|i| format!("%a{i}")).collect();
    let (params, given) = (params.join(", "), given.join(", "));
    let mut body = format!(
        "%g:{} = call @gradient({given}) : ({}) -> ({})\n%s0 = stablehlo.constant dense<0.0> : tensor<f32>\n",
        results.len(),
        types.join(", "),
        results.join(", ")
    );
    for (j, ty) in results.iter().skip(1).enumerate() {
        let (gradient, tangent) = (j + 1, types.len() + j);
        let sizes: Vec<&str> = ty.trim_start_matches("tensor<").trim_end_matches('>').split('x').collect();
        let rank = sizes.len() - 1;
        let wide: String = sizes[..rank].iter().map(|size| format!("{size}x")).collect();
        let wide = format!("tensor<{wide}f32>");
        let dims: Vec<String> = (0..rank).map(|d| d.to_string()).collect();
        let _ = writeln!(
            body,
            "%p{j} = stablehlo.multiply %g#{gradient}, %a{tangent} : {ty}
             %c{j} = stablehlo.convert %p{j} : ({ty}) -> {wide}
             %r{j} = stablehlo.reduce(%c{j} init: %s0) applies stablehlo.add across dimensions = [{}] : ({wide}, tensor<f32>) -> tensor<f32>
             %s{gradient} = stablehlo.add %s{j}, %r{j} : tensor<f32>",
            dims.join(", ")
        );
    }
    let main = format!(
        "func.func @main({params}) -> ({}, tensor<f32>) {{\n{body}return %g#0, %s{} : {}, tensor<f32>\n}}\n",
        results[0],
        results.len() - 1,
        results[0]
    );
    let called = text.replacen("func.func @main(", "func.func private @gradient(", 1);
    let called = called.replacen("func.func public @main(", "func.func private @gradient(", 1);
    // The new function is the last one of the module.
    let text = match called.trim_end().strip_suffix('}') {
        Some(inside) if called.starts_with("module") => format!("{inside}{main}}}"),
        _ => format!("{called}\n{main}"),
    };
    Compiler::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn gradients_equal_tangents() {
    let Some(folder) = shared().map(|dir| dir.join("gradients")).filter(|dir| dir.is_dir()) else {
        return skipped(Need::Shared, "the functions of the shared data, which is not here").unwrap();
    };
    let (mut equal, mut left_out, mut faults) = (0, 0, String::new());
    for pair in sample(Pair::all(&folder).unwrap().into_iter(), 0, SAMPLE) {
        let forward = pair.forward().unwrap();
        let (mut gradient, mut tangent) = (forward.clone(), forward);
        autodiff::value_and_grad(&mut gradient, &pair.wrt).unwrap();
        autodiff::jvp(&mut tangent, &pair.wrt, &[0]).unwrap();
        let func = &gradient.funcs[gradient.entry().unwrap()];
        let is_complex =
            func.results.iter().any(|&ty| gradient.types.display(ty).to_string().contains("complex"));
        if is_complex || ROUNDED.contains(&pair.name.as_str()) {
            // The product of complex gradients with tangents is the real part of a conjugated product.
            left_out += 1;
            continue;
        }
        let product = contracted(&gradient, &pair.wrt);
        match compare_exactly(&product, &tangent, 5, Limits { work: Some(WORK), ..Limits::default() }) {
            Ok(checks) if checks.iter().all(shardc::exec::ExactCheck::ok) => equal += 1,
            Ok(checks) => {
                let _ = writeln!(faults, "{}: {checks:?}", pair.name);
            }
            Err(error) if ["SH0710", "SH0711"].iter().any(|code| error.to_string().contains(code)) => {
                left_out += 1;
            }
            Err(error) => {
                let _ = writeln!(faults, "{}: {error}", pair.name);
            }
        }
    }
    eprintln!("{equal} gradients are equal, {left_out} are left out");
    assert!(faults.is_empty(), "\n{faults}");
    assert!(equal > left_out, "{equal} gradients are equal, and {left_out} are left out");
}

/// The gradients of JAX and of shardc equal derivatives by dual numbers, whose rules are independent of both.
#[test]
fn gradients_equal_derivatives_of_dual_numbers() {
    let Some(folder) = shared().map(|dir| dir.join("gradients")).filter(|dir| dir.is_dir()) else {
        return skipped(Need::Shared, "the functions of the shared data, which is not here").unwrap();
    };
    let options = prove::Options { test_work: Some(WORK), ..prove::Options::default() };
    let (mut equal, mut undecided, mut faults) = (0, 0, String::new());
    for pair in sample(Pair::all(&folder).unwrap().into_iter(), 0, SAMPLE) {
        let forward = pair.forward().unwrap();
        let names: Vec<String> = pair.wrt.iter().map(|i| format!("arg{i}")).collect();
        let wrt: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut own = forward.clone();
        autodiff::value_and_grad(&mut own, &pair.wrt).unwrap();
        let jax = std::fs::read(folder.join(format!("{}.grad.mlir", pair.name))).unwrap();
        for (tool, gradient) in [("shardc", own), ("JAX", Compiler::read(&jax).unwrap())] {
            match prove::check_gradient(&forward, &gradient, &wrt, &options) {
                Ok(report) if report.is_equal() => equal += 1,
                Ok(report) if report.undecided.is_some() => undecided += 1,
                other => {
                    let _ = writeln!(faults, "{} of {tool}: {other:?}", pair.name);
                }
            }
        }
    }
    eprintln!("{equal} gradients are equal, {undecided} are not decided");
    assert!(faults.is_empty(), "\n{faults}");
    assert!(equal > 3 * undecided, "{equal} gradients are equal, and {undecided} are not decided");
}
