//! The messages for mistakes in a program.

use shardc_stablehlo::{parse, render};

fn shown(source: &str) -> String {
    match parse(source) {
        Ok(_) => "no error".to_owned(),
        Err(errors) => render(&errors, "input.mlir", source, false),
    }
}

/// Names of the cases and their programs.
const CASES: &[(&str, &str)] = &[
    (
        "unknown_algorithm",
        "func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {\n  %0 = \"stablehlo.dot_general\"(%x, %x) <{algorithm = \
         #foo.algorithm<1>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], \
         rhs_contracting_dimensions = [0]>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>\n  \
         return %0 : tensor<2x2xf32>\n}\n",
    ),
    ("operation_without_a_name", "func.func @main() {\n  \"foo.b\\0Ar\"() : () -> ()\n  return\n}\n"),
    (
        "unknown_value",
        "func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n  \
         %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n",
    ),
    (
        "type_mismatch",
        "func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<8xf32>) -> tensor<4xf32> {\n  \
         %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n",
    ),
    (
        "redefinition",
        "func.func @main(%arg0: tensor<4xf32>) {\n  %0 = stablehlo.negate %arg0 : tensor<4xf32>\n  \
         %0 = stablehlo.abs %arg0 : tensor<4xf32>\n  return\n}\n",
    ),
    (
        "unknown_operation",
        "func.func @main(%arg0: tensor<4xf32>) {\n  %0 = stablehlo.substract %arg0, %arg0 : tensor<4xf32>\n  \
         %1 = stablehlo.add %0, %0 : tensor<4xf32>\n  %2 = mydialect.op %arg0 : tensor<4xf32>\n  \
         %3 = mhlo.negate %arg0 : tensor<4xf32>\n  return\n}\n",
    ),
    (
        "wrong_counts",
        "func.func @main(%arg0: tensor<4xf32>) {\n  \
         %0 = \"stablehlo.add\"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>\n  \
         %1 = \"stablehlo.abs\"(%arg0, %arg0) : (tensor<4xf32>) -> tensor<4xf32>\n  \
         %2:2 = stablehlo.abs %arg0 : tensor<4xf32>\n  \
         %3 = stablehlo.optimization_barrier %arg0, %arg0 : tensor<4xf32>, tensor<4xf32>\n  return\n}\n",
    ),
    (
        "missing_token",
        "func.func @main(%arg0: tensor<4xf32>) {\n  \
         %0 = stablehlo.broadcast_in_dim %arg0 dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>\n  return\n}\n",
    ),
    ("bad_type", "func.func @main(%arg0: tensor<4xfloat>, %arg1: tensor<4,8,f32>) {\n  return\n}\n"),
    (
        "unknown_axis",
        "sdy.mesh @mesh = <[\"data\"=2, \"model\"=4]>\nfunc.func @main(%arg0: tensor<4x8xf32> \
         {sdy.sharding = #sdy.sharding<@mesh, [{\"modle\"}, {}]>}) {\n  return\n}\n",
    ),
    (
        "unknown_mesh",
        "func.func @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) {\n  return\n}\n",
    ),
    (
        "bad_constant",
        "func.func @main() {\n  %0 = stablehlo.constant dense<[[1, 2], [3]]> : tensor<2x2xi32>\n  \
         %1 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>\n  \
         %2 = stablehlo.constant dense<one> : tensor<f32>\n  \
         %3 = stablehlo.constant dense<300> : tensor<ui8>\n  return\n}\n",
    ),
    (
        "missing_attribute",
        "func.func @main(%arg0: tensor<4x8xf32>) {\n  \
         %0 = \"stablehlo.transpose\"(%arg0) : (tensor<4x8xf32>) -> tensor<8x4xf32>\n  return\n}\n",
    ),
    (
        "which_result",
        "func.func @main(%arg0: tensor<4xf32>) {\n  \
         %0:2 = stablehlo.optimization_barrier %arg0, %arg0 : tensor<4xf32>, tensor<4xf32>\n  \
         %1 = stablehlo.abs %0 : tensor<4xf32>\n  %2 = stablehlo.abs %0#2 : tensor<4xf32>\n  return\n}\n",
    ),
    (
        "wrong_return",
        "func.func @main(%arg0: tensor<4xf32>) -> tensor<8xf32> {\n  return %arg0 : tensor<4xf32>\n}\n\
         func.func @other(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n  return\n}\n",
    ),
    (
        "names_without_percent",
        "func.func @main(%arg0: tensor<4xf32>) {\n  %0 = stablehlo.add arg0, %arg0 : tensor<4xf32>\n  \
         x = stablehlo.abs %arg0 : tensor<4xf32>\n  %1 stablehlo.abs %arg0 : tensor<4xf32>\n  \
         %2 = stablehlo.abs %1 : tensor<4xf32>\n  return\n}\n",
    ),
    (
        "missing_type",
        "func.func @main(%arg0: tensor<4xf32>) {\n  %0 = stablehlo.abs %arg0\n  \
         %1 = stablehlo.custom_call @f(%arg0)\n  return\n}\n",
    ),
    ("scalar_type", "func.func @main(%arg0: tensor<i32>) {\n  %0 = stablehlo.abs %arg0 : i32\n  return\n}\n"),
    (
        "missing_brace",
        "module {\n  func.func @f(%arg0: tensor<4xf32>) {\n    return\n  func.func @main(%arg0: tensor<4xf32>) {\n    \
         %0 = stablehlo.abs %arg1 : tensor<4xf32>\n    return\n  }\n}\n",
    ),
    (
        "missing_bracket",
        "func.func @main(%arg0: tensor<4xf32>) {\n  \
         %0 = stablehlo.broadcast_in_dim %arg0, dims = [0 : (tensor<4xf32>) -> tensor<4x4xf32>\n  \
         %1 = \"stablehlo.abs\"(%arg0 : (tensor<4xf32>) -> tensor<4xf32>\n  %2 = stablehlo.abs %arg1 : tensor<4xf32>\n  \
         return\n}\n",
    ),
    (
        "wrong_terminator",
        "func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = stablehlo.while(%i = %arg0) : tensor<4xf32>\n  \
         cond {\n    %1 = stablehlo.constant dense<true> : tensor<i1>\n    return %1 : tensor<i1>\n  } do {\n    \
         stablehlo.return %i : tensor<4xf32>\n  }\n  stablehlo.return %0 : tensor<4xf32>\n}\n",
    ),
    ("hlo_text", "HloModule jit_f, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n\nENTRY main {\n}\n"),
    ("python", "#!/usr/bin/env python3\nimport jax\n\ndef f(x):\n  return x\n"),
    (
        "extra_brace",
        "module {\n  func.func @main() {\n    return\n  }\n  }\n  func.func @f() {\n    return\n  }\n}\n",
    ),
    (
        "top_level_typo",
        "fucn.func @main() {\n  return\n}\nfunc.func @f(%a: tensor<2xf32>) {\n  %0 = stablehlo.abs %b : tensor<2xf32>\n  return\n}\n",
    ),
    ("aliases", "#a = 1 : i64\n#a = 2 : i64\nfunc.func @main(%arg0: !t) {\n  return loc(#loc9)\n}\n"),
    (
        "resources",
        "func.func @main() {\n  %0 = stablehlo.constant dense_resource<weights> : tensor<4xf32>\n  return\n}\n\
         {-#\n  dialect_resources: {\n    builtin: {\n      weight: \"0x0400000000\"\n    }\n  }\n#-}\n",
    ),
    (
        "sharding_rule",
        "func.func @main(%arg0: tensor<4xf32>) {\n  %0 = stablehlo.abs %arg0 {sdy.sharding_rule = \
         #sdy.op_sharding_rule<([i])->([i]) {j=4}>} : tensor<4xf32>\n  %1 = stablehlo.abs %arg0 {sdy.sharding_rule = \
         #sdy.op_sharding_rule<([a])->([i]) {i=4}>} : tensor<4xf32>\n  return\n}\n",
    ),
    (
        "columns",
        "\u{FEFF}func.func @main(%arg0: tensor<4xf32>) {\r\n\t%0 = stablehlo.abs %arg1 {a = \"äöü€\"} : tensor<4xf32>\r\n\t\
         %1 = stablehlo.custom_call @f(%arg0) {a = \"äöü€\"} : (tensor<8xf32>) -> tensor<8xf32>\r\n  return\r\n}\r\n",
    ),
    ("never_closed", "module @m {\n  func.func @main() {\n    return\n"),
];

#[test]
fn errors_give_place_and_hint() {
    for (name, source) in CASES {
        insta::assert_snapshot!(*name, shown(source));
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let mut text = String::from("func.func @main(%p: tensor<i1>) {\n");
    for _ in 0..100_000 {
        text.push_str("\"stablehlo.if\"(%p) ({\n");
    }
    assert!(shown(&text).contains("SH0109"), "{}", &shown(&text)[..200]);
    let brackets = format!("func.func @main() attributes {{a = {}}} {{ return }}", "[".repeat(100_000));
    assert!(!shown(&brackets).contains("no error"));
    let closed = format!(
        "func.func @main() attributes {{a = {}{}}} {{ return }}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(shown(&closed).contains("SH0109"));
    let tuples =
        format!("func.func @main(%a: {}f32{}) {{ return }}", "tuple<".repeat(50_000), ">".repeat(50_000));
    assert!(shown(&tuples).contains("SH0109"));
    let dense = format!(
        "func.func @main() {{\n %0 = stablehlo.constant dense<{}1{}> : tensor<1xi32> return }}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    assert!(shown(&dense).contains("SH0109"));
    let mut locs: String = "#loc0 = loc(unknown)\n".to_owned();
    for i in 1..5_000 {
        locs.push_str(&format!("#loc{i} = loc(\"a\"(#loc{}))\n", i - 1));
    }
    assert!(shown(&locs).contains("SH0109"));
    let backwards: String = (0..5_000).map(|i| format!("#loc{i} = loc(\"a\"(#loc{}))\n", i + 1)).collect();
    assert!(shown(&backwards).contains("error"));
}

/// A size that a text claims, such as that of replica groups given as a splat, is never allocated.
#[test]
fn claimed_sizes_are_not_allocated() {
    for groups in ["dense<0> : tensor<3000000000x2xi64>", "dense<> : tensor<9000000000000x0xi64>"] {
        let text = format!(
            "func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {{\n \
             %0 = \"stablehlo.all_gather\"(%a) <{{all_gather_dim = 0 : i64, replica_groups = {groups}}}> \
             : (tensor<8xf32>) -> tensor<8xf32>\n return %0 : tensor<8xf32> }}"
        );
        assert!(shown(&text).contains("one integer that is repeated at most 256 times"));
    }
}

/// Omitted parts of a line are removed in one pass, however many there are.
#[test]
fn marks_and_carriage_returns_in_numbers_are_shown() {
    for text in [
        "func.func @f(%a: tensor<4xf32>\r\r\r\r",
        "\u{FEFF}\u{FEFF}func.func @f(%a: tensor<8x!q.u<32>) {}\r\r",
        "%\r\r\n\r",
    ] {
        assert!(shown(text).starts_with("error["), "{text:?}");
    }
}
