//! Texts that MLIR would print differently, such as older generic forms, aliases and other orders, parse correctly.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_ir::Dense;
use shardc_stablehlo::{parse, print, render};

/// Returns the printed form of the text.
fn printed(text: &str) -> String {
    match parse(text) {
        Ok(module) => print(&module, &Default::default()),
        Err(errors) => panic!("{}", render(&errors, "input", text, false)),
    }
}

fn check(text: &str, expected: &str) {
    assert_eq!(printed(text), expected);
}

#[test]
fn functions_need_no_module() {
    check(
        "// a comment\nfunc.func @f(%x: tensor<f32>) -> tensor<f32> { // and one here\n  return %x : tensor<f32>\n}\n",
        "module {\n  func.func @f(%arg0: tensor<f32>) -> tensor<f32> {\n    return %arg0 : tensor<f32>\n  }\n}\n",
    );
}

#[test]
fn inherent_attributes_may_be_among_discardable_ones() {
    check(
        "func.func @f(%x: tensor<2x3xf32>, %i: tensor<1xi32>) {\n\
         %0 = \"stablehlo.transpose\"(%x) {permutation = dense<[1, 0]> : tensor<2xi64>, a} : (tensor<2x3xf32>) -> tensor<3x2xf32>\n\
         %1 = \"stablehlo.gather\"(%x, %i) {slice_sizes = dense<[1, 3]> : tensor<2xi64>, dimension_numbers = \
         #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>} : \
         (tensor<2x3xf32>, tensor<1xi32>) -> tensor<3xf32>\n\
         \"func.return\"() : () -> ()\n}",
        "module {\n  func.func @f(%arg0: tensor<2x3xf32>, %arg1: tensor<1xi32>) {\n    \
         %0 = stablehlo.transpose %arg0, dims = [1, 0] {a} : (tensor<2x3xf32>) -> tensor<3x2xf32>\n    \
         %1 = \"stablehlo.gather\"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], \
         collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 3>}> \
         : (tensor<2x3xf32>, tensor<1xi32>) -> tensor<3xf32>\n    return\n  }\n}\n",
    );
}

#[test]
fn aliases_are_expanded() {
    check(
        "#s = #sdy.sharding<@mesh, [{\"x\"}]>\n#n = 3 : i64\n!t = tensor<4xf32>\nmodule {\n\
         func.func @f(%x: !t {sdy.sharding = #s, a.b = [#n, {c = #n}]}) {\n  \
         %0 = stablehlo.custom_call @g(%x) {backend_config = #n} : (!t) -> !t loc(#loc1)\n  return\n}\n\
         sdy.mesh @mesh = <[\"x\"=2]>\n}\n#loc1 = loc(\"a\"(#loc2))\n#loc2 = loc(unknown)\n",
        "module {\n  func.func @f(%arg0: tensor<4xf32> {a.b = [3, {c = 3 : i64}], sdy.sharding = #sdy.sharding<@mesh, \
         [{\"x\"}]>}) {\n    %0 = stablehlo.custom_call @g(%arg0) {backend_config = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>\n    \
         return\n  }\n  sdy.mesh @mesh = <[\"x\"=2]>\n}\n",
    );
}

#[test]
fn replica_groups_stay_mesh_axes() {
    check(
        "sdy.mesh @m = <[\"x\"=2, \"y\"=2]>\nfunc.func @f(%x: tensor<4xf32>) {\n\
         %0 = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = \
         #stablehlo.replica_group_mesh_axes<mesh=@m,\n axes = [ #stablehlo.axis_ref<name = \"x\">]>}> : \
         (tensor<4xf32>) -> tensor<8xf32>\nreturn\n}",
        "module {\n  sdy.mesh @m = <[\"x\"=2, \"y\"=2]>\n  func.func @f(%arg0: tensor<4xf32>) {\n    \
         %0 = \"stablehlo.all_gather\"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, \
         axes = [#stablehlo.axis_ref<name = \"x\">]>}> : (tensor<4xf32>) -> tensor<8xf32>\n    return\n  }\n}\n",
    );
}

#[test]
fn unknown_operations_are_kept_in_generic_form() {
    check(
        "func.func @f(%x: tensor<4xf32>) {\n\
         %0:2 = \"foo.bar\"(%x) <{p = #foo<a -> b>}> ({\n^bb0(%y: tensor<4xf32>):\n  \"foo.yield\"(%y, %x) : \
         (tensor<4xf32>, tensor<4xf32>) -> ()\n}, {\n}) {q = !foo.t<1>} : (tensor<4xf32>) -> (tensor<4xf32>, !foo.t)\nreturn\n}",
        "module {\n  func.func @f(%arg0: tensor<4xf32>) {\n    %0:2 = \"foo.bar\"(%arg0) <{p = #foo<a -> b>}> ({\n    \
         ^bb0(%arg1: tensor<4xf32>):\n      \"foo.yield\"(%arg1, %arg0) : (tensor<4xf32>, tensor<4xf32>) -> ()\n    }, {\n    \
         }) {q = !foo.t<1>} : (tensor<4xf32>) -> (tensor<4xf32>, !foo.t)\n    return\n  }\n}\n",
    );
}

#[test]
fn a_bare_name_is_the_first_of_several_results() {
    check(
        "func.func @f(%x: tensor<f32>) -> tensor<f32> {\n%0:2 = stablehlo.optimization_barrier %x, %x : tensor<f32>, \
         tensor<f32>\nreturn %0 : tensor<f32>\n}",
        "module {\n  func.func @f(%arg0: tensor<f32>) -> tensor<f32> {\n    %0:2 = stablehlo.optimization_barrier %arg0, %arg0 \
         : tensor<f32>, tensor<f32>\n    return %0#0 : tensor<f32>\n  }\n}\n",
    );
}

#[test]
fn shardings_may_repeat_their_prefix() {
    check(
        "sdy.mesh @m = #sdy.mesh<[\"x\"=2]>\nfunc.func @f(%x: tensor<4xf32>) {\n\
         %0 = stablehlo.abs %x {sdy.sharding = #sdy.sharding_per_value<[#sdy.sharding<@m, [{\"x\"}]>]>} : tensor<4xf32>\n\
         sdy.sharding_group %0 group_id = 7 : tensor<4xf32>\nreturn\n}",
        "module {\n  sdy.mesh @m = <[\"x\"=2]>\n  func.func @f(%arg0: tensor<4xf32>) {\n    \
         %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{\"x\"}]>]>} : tensor<4xf32>\n    \
         sdy.sharding_group %0 group_id=7 : tensor<4xf32>\n    return\n  }\n}\n",
    );
}

fn constant(text: &str) -> Dense {
    let source = format!("func.func @f() {{\n  %0 = stablehlo.constant {text}\n  return\n}}\n");
    let module =
        parse(&source).unwrap_or_else(|errors| panic!("{}", render(&errors, "input", &source, false)));
    let dense = module.ops.values().find_map(|op| match &op.kind {
        shardc_ir::OpKind::Constant(dense) => Some(dense.clone()),
        _ => None,
    });
    dense.expect("a constant")
}

#[test]
fn booleans_may_be_packed_eight_to_a_byte() {
    assert_eq!(
        constant("dense<\"0x0503\"> : tensor<10xi1>"),
        Dense::elements(vec![1, 0, 1, 0, 0, 0, 0, 0, 1, 1])
    );
    assert_eq!(constant("dense<\"0x0100\"> : tensor<2xi1>"), Dense::elements(vec![1, 0]));
    assert_eq!(constant("dense<\"0xFF\"> : tensor<16xi1>"), Dense::splat(&[1]));
    assert_eq!(constant("dense<\"0x00\"> : tensor<16xi1>"), Dense::splat(&[0]));
}

#[test]
fn equal_elements_are_a_splat() {
    assert_eq!(constant("dense<[[2, 2], [2, 2]]> : tensor<2x2xi16>"), Dense::splat(&[2, 0]));
    assert_eq!(constant("dense<\"0x0000803F0000803F\"> : tensor<2xf32>"), Dense::splat(&[0, 0, 0x80, 0x3F]));
    assert_eq!(constant("dense<-1> : tensor<3xi4>"), Dense::splat(&[0xFF]));
    assert_eq!(constant("dense<0x3FC0> : tensor<bf16>"), Dense::splat(&[0xC0, 0x3F]));
}

#[test]
fn numbers_have_a_canonical_form() {
    check(
        "module attributes {a.i = 3, a.x = 0x10 : i32, a.f = 0.9 : f32, a.g = 1.0, a.h = 0x3F800000 : f32, a.n = 0x7FC00000 : f32, \
         a.l = [1, 2 : i64, 3 : i32, 0.9, 0.9 : f32, {c = 1}], a.d = dense<[1,2]> : tensor<2xi32>, a.e = dense<0.9> : tensor<2xf32>, \
         a.r = array<f32: 1.5,0.9>, a.s = array<i64:1,2>, a.t = array<i64>} {}",
        "module attributes {a.d = dense<[1, 2]> : tensor<2xi32>, a.e = dense<0.899999976> : tensor<2xf32>, a.f = 0.899999976 : f32, \
         a.g = 1.000000e+00 : f64, a.h = 1.000000e+00 : f32, a.i = 3 : i64, a.l = [1, 2, 3 : i32, 9.000000e-01, 0.899999976 : f32, \
         {c = 1 : i64}], a.n = 0x7FC00000 : f32, a.r = array<f32: 1.500000e+00, 0.899999976>, a.s = array<i64: 1, 2>, a.t = \
         array<i64>, a.x = 16 : i32} {\n}\n",
    );
}

#[test]
fn a_loop_with_different_types_is_printed_in_generic_form() {
    let text = "module {\n  func.func @f(%arg0: tensor<4xf32>, %arg1: tensor<i1>) -> tensor<?xf32> {\n    \
         %0 = \"stablehlo.while\"(%arg0) ({\n    ^bb0(%iterArg: tensor<?xf32>):\n      stablehlo.return %arg1 : tensor<i1>\n    \
         }, {\n    ^bb0(%iterArg: tensor<?xf32>):\n      stablehlo.return %iterArg : tensor<?xf32>\n    \
         }) : (tensor<4xf32>) -> tensor<?xf32>\n    return %0 : tensor<?xf32>\n  }\n}\n";
    check(text, text);
}

#[test]
fn a_body_with_a_foreign_return_is_kept() {
    let text = "module {\n  func.func @f(%x: tensor<f32>) {\n    \"stablehlo.return\"(%x) : (tensor<f32>) -> ()\n  }\n}\n";
    check(text, text);
}

#[test]
fn incomplete_pretty_forms_are_printed_in_generic_form() {
    let text = "module {\n  func.func @f(%arg0: tensor<4xf32>, %arg1: tensor<2xf32>) {\n    \
         \"check.expect_eq_const\"(%arg0) <{tolerance = 1 : i64}> : (tensor<4xf32>) -> ()\n    \
         \"check.expect_eq_const\"(%arg0, %arg0) <{value = dense<1.000000e+00> : tensor<4xf32>}> : \
         (tensor<4xf32>, tensor<4xf32>) -> ()\n    \
         \"check.expect_eq\"(%arg0, %arg1) : (tensor<4xf32>, tensor<2xf32>) -> ()\n    \
         %0 = \"check.expect_eq\"(%arg0, %arg0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n    return\n  }\n}\n";
    check(text, text);
}

#[test]
fn a_function_may_end_with_an_unknown_operation() {
    let text = "module {\n  func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n    \
         \"foo.leave\"(%arg0) : (tensor<4xf32>) -> ()\n  }\n}\n";
    check(text, text);
}
