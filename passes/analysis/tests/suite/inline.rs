//! Inlining of calls, on programs in text form.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_analysis::transforms::inline::inline_calls;
use shardc_ir::{Module, verify};

fn parse(text: &str) -> Module {
    shardc_stablehlo::parse(text).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// Returns the text of the program after inlining, or of the errors.
fn inlined(text: &str) -> String {
    let mut module = parse(text);
    if let Err(errors) = inline_calls(&mut module) {
        return errors.iter().map(|e| format!("{e}\n")).collect();
    }
    verify(&module).unwrap_or_else(|errors| panic!("{errors:#?}"));
    shardc_stablehlo::print(&module, &shardc_stablehlo::PrintOptions::default())
}

fn check(text: &str, expected: &str) {
    let expected = shardc_stablehlo::print(&parse(expected), &shardc_stablehlo::PrintOptions::default());
    assert_eq!(inlined(text), expected);
}

#[test]
fn calls_are_inlined_and_private_functions_removed() {
    check(
        r#"
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = call @swap(%0, %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %2 = call @twice(%1#0) : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %1#1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @once(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @once(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @swap(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %y, %x : tensor<4xf32>, tensor<4xf32>
}
func.func private @unused(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
"#,
        r#"
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  %1 = stablehlo.tanh %0 : tensor<4xf32>
  %2 = stablehlo.tanh %y : tensor<4xf32>
  %3 = stablehlo.tanh %2 : tensor<4xf32>
  return %3, %1 : tensor<4xf32>, tensor<4xf32>
}
"#,
    );
}

#[test]
fn calls_in_regions_are_inlined() {
    check(
        r#"
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"#,
        r#"
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.tanh %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"#,
    );
}

#[test]
fn shardings_of_callees_become_constraints() {
    check(
        r#"
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"#,
        r#"
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"a"}]> : tensor<4xf32>
  %1 = stablehlo.tanh %0 : tensor<4xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"b"}]> : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"#,
    );
}

#[test]
fn functions_named_by_attributes_stay() {
    let text = r#"
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @target(%x) {called_computations = [@helper]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
"#;
    check(text, text);
}

#[test]
fn recursion_is_an_error_that_names_the_cycle() {
    let text = r#"
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"#;
    assert_eq!(
        inlined(text),
        "error[SH0322]: recursive functions are not supported: @f -> @g -> @f; rewrite the recursion as a loop (stablehlo.while)\n"
    );
    let text = r#"
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"#;
    assert_eq!(
        inlined(text),
        "error[SH0322]: recursive functions are not supported: @main -> @main; rewrite the recursion as a loop (stablehlo.while)\n"
    );
}
