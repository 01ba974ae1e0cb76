//! Tests of questions about values of the text.

use shardc_ir::ValueId;
use shardc_stablehlo::{SourceIndex, parse_indexed};

use super::session::Session;
use crate::Compiler;

const PROGRAM: &str = r#"sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func public @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
                       %y: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = call @twice(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = call @twice(%y) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
}
func.func private @twice(%v: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %sum = stablehlo.add %v, %v : tensor<8x16xf32>
  return %sum : tensor<8x16xf32>
}
func.func private @unused(%u: tensor<8xf32>) -> tensor<8xf32> {
  return %u : tensor<8xf32>
}
"#;

fn session(text: &str) -> (Session, SourceIndex) {
    let (module, index) = parse_indexed(text);
    (Compiler::new().session(module.unwrap(), "step.mlir", text).unwrap(), index)
}

/// The value that is defined at the first occurrence of a name.
fn value(text: &str, index: &SourceIndex, name: &str) -> ValueId {
    let at = index.definition_at(text.find(name).unwrap()).unwrap();
    index.definitions()[at].first.unwrap()
}

fn specs(text: &str, name: &str) -> Vec<String> {
    let (session, index) = session(text);
    session.layouts(value(text, &index, name)).into_iter().map(|layout| layout.spec).collect()
}

#[test]
fn values_of_a_called_function_have_the_layouts_of_all_calls() {
    assert_eq!(specs(PROGRAM, "%v:"), ["a,-", "-,b"]);
    assert_eq!(specs(PROGRAM, "%sum ="), ["a,-", "-,b"]);
    assert_eq!(specs(PROGRAM, "%0 ="), ["a,-"], "the result of a call is that of its own copy");
    assert_eq!(specs(PROGRAM, "%1 ="), ["-,b"]);
    assert_eq!(specs(PROGRAM, "%u:"), [""; 0], "the function is not called");
}

#[test]
fn arguments_of_regions_have_layouts() {
    let text = r#"sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %n: tensor<i1>) -> tensor<8xf32> {
  %r:2 = stablehlo.while(%v = %x, %c = %n) : tensor<8xf32>, tensor<i1>
  cond {
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %v, %c : tensor<8xf32>, tensor<i1>
  }
  return %r#0 : tensor<8xf32>
}
"#;
    assert_eq!(specs(text, "%v ="), ["a"]);
    assert_eq!(specs(text, "%r:2"), ["a"]);
}

#[test]
fn quantized_values_have_local_types() {
    let text = r#"sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8x!quant.uniform<i8:f32, 0.5>> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<8x!quant.uniform<i8:f32, 0.5>> {
  return %x : tensor<8x!quant.uniform<i8:f32, 0.5>>
}
"#;
    let (session, index) = session(text);
    let layout = session.layout(value(text, &index, "%x:")).unwrap();
    assert!(layout.local_type.starts_with("tensor<4x!quant.uniform<i8:f32"), "{}", layout.local_type);
    assert_eq!(layout.bytes, Some(4));
}

#[test]
fn a_program_that_cannot_be_partitioned_still_has_a_session() {
    let text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }";
    let (session, index) = session(text);
    assert_eq!(session.partitioned().unwrap_err().diagnostics()[0].code, "SH0303");
    assert_eq!(session.layout(value(text, &index, "%x:")), None);
}
