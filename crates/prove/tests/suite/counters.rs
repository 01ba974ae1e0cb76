//! Counter-examples: small pairs of programs that still differ.

use shardc_ir::Module;
use shardc_prove::{CounterExample, Evidence, Options, Verdict, counter_example, prove};

use crate::support::{LITTLE, boundary, module};

const ORIGINAL: &str = r#"
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x12xf32>, %b: tensor<8x12xf32>) -> (tensor<8x12xf32>, tensor<8x16xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %tenth = stablehlo.constant dense<1.000000e-01> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<8x16xf32>
  %1 = stablehlo.exponential %w : tensor<16x12xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
  %3 = stablehlo.iota dim = 0 : tensor<8x12xi32>
  %five = stablehlo.constant dense<5> : tensor<8x12xi32>
  %4 = stablehlo.compare LT, %3, %five : (tensor<8x12xi32>, tensor<8x12xi32>) -> tensor<8x12xi1>
  %5 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x12xf32>
  %6 = stablehlo.select %4, %2, %5 : tensor<8x12xi1>, tensor<8x12xf32>
  %7 = stablehlo.broadcast_in_dim %tenth, dims = [] : (tensor<f32>) -> tensor<8x12xf32>
  %8 = stablehlo.multiply %6, %7 : tensor<8x12xf32>
  %9 = stablehlo.add %8, %b : tensor<8x12xf32>
  %10 = stablehlo.tanh %9 : tensor<8x12xf32>
  %11 = stablehlo.multiply %10, %b : tensor<8x12xf32>
  %12 = stablehlo.negate %0 : tensor<8x16xf32>
  return %11, %12 : tensor<8x12xf32>, tensor<8x16xf32>
}
"#;

const PARTITIONED: &str = r#"
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x12xf32>, %b: tensor<4x12xf32>) -> (tensor<4x12xf32>, tensor<4x8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %tenth = stablehlo.constant dense<1.000000e-01> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<4x8xf32>
  %1 = stablehlo.exponential %w : tensor<8x12xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %sum = "stablehlo.all_reduce"(%2) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x12xf32>) -> tensor<4x12xf32>
  %device = stablehlo.replica_id : tensor<ui32>
  %two = stablehlo.constant dense<2> : tensor<ui32>
  %row = stablehlo.divide %device, %two : tensor<ui32>
  %index = stablehlo.convert %row : (tensor<ui32>) -> tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %offset = stablehlo.multiply %index, %four : tensor<i32>
  %3 = stablehlo.iota dim = 0 : tensor<4x12xi32>
  %offsets = stablehlo.broadcast_in_dim %offset, dims = [] : (tensor<i32>) -> tensor<4x12xi32>
  %at = stablehlo.add %3, %offsets : tensor<4x12xi32>
  %five = stablehlo.constant dense<5> : tensor<4x12xi32>
  %4 = stablehlo.compare LT, %at, %five : (tensor<4x12xi32>, tensor<4x12xi32>) -> tensor<4x12xi1>
  %5 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x12xf32>
  %6 = stablehlo.select %4, %sum, %5 : tensor<4x12xi1>, tensor<4x12xf32>
  %7 = stablehlo.broadcast_in_dim %tenth, dims = [] : (tensor<f32>) -> tensor<4x12xf32>
  %8 = stablehlo.multiply %6, %7 : tensor<4x12xf32>
  %9 = stablehlo.add %8, %b : tensor<4x12xf32>
  %10 = stablehlo.tanh %9 : tensor<4x12xf32>
  %11 = stablehlo.multiply %10, %b : tensor<4x12xf32>
  %12 = stablehlo.negate %0 : tensor<4x8xf32>
  return %11, %12 : tensor<4x12xf32>, tensor<4x8xf32>
}
"#;

/// The kinds of the operations of the entry function, without the last.
fn kinds(module: &Module) -> Vec<&str> {
    let body = module.funcs[module.entry().unwrap()].body.unwrap();
    let ops = &module.regions[body].ops;
    ops[..ops.len() - 1]
        .iter()
        .map(|&op| module.ops[op].kind.name().trim_start_matches("stablehlo."))
        .collect()
}

/// The counter-example of a damaged partition. Its text is read again and refuted.
fn counter(from: &str, to: &str) -> CounterExample {
    assert!(PARTITIONED.contains(from), "{from}");
    let (original, partitioned) = (module(ORIGINAL), module(&PARTITIONED.replacen(from, to, 1)));
    let boundary = boundary(&original, &partitioned, [&["a,b", "b,-", "a,-"], &["a,-", "a,b"]]);
    let options = Options::default();
    let found =
        counter_example(&original, &partitioned, &boundary, &options).unwrap().expect("a counter-example");
    let text = |module: &Module| shardc_stablehlo::print(module, &shardc_stablehlo::PrintOptions::default());
    let (original, partitioned) = (text(&found.original), text(&found.partitioned));
    let report = prove(&module(&original), &module(&partitioned), &found.boundary, &options).unwrap();
    assert_eq!(report.verdict, Verdict::Refuted, "{original}\n{partitioned}");
    let difference = found.difference.as_ref().expect("an element differs");
    assert!((difference.expected - difference.actual).abs() > 1e-6);
    found
}

#[test]
fn a_correct_partition_has_none() {
    let (original, partitioned) = (module(ORIGINAL), module(PARTITIONED));
    let boundary = boundary(&original, &partitioned, [&["a,b", "b,-", "a,-"], &["a,-", "a,b"]]);
    let found = counter_example(&original, &partitioned, &boundary, &Options::default()).unwrap();
    assert!(found.is_none());
    let report = prove(&original, &partitioned, &boundary, &Options::default()).unwrap();
    assert_eq!(report.verdict, Verdict::Proven);
}

#[test]
fn a_dropped_all_reduce_is_a_matmul_alone() {
    let found = counter("select %4, %sum, %5", "select %4, %2, %5");
    assert_eq!(kinds(&found.original), ["dot_general"]);
    assert_eq!(kinds(&found.partitioned), ["dot_general"]);
    assert_eq!(found.boundary.inputs[0].global, [2, 2], "one row and one column for each device");
    assert!(!found.is_output);
}

#[test]
fn exchanged_groups_are_a_matmul_and_a_sum() {
    let found = counter("[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]");
    assert_eq!(kinds(&found.original), ["dot_general"]);
    assert_eq!(kinds(&found.partitioned), ["dot_general", "all_reduce"]);
}

#[test]
fn a_removed_mask_is_in_the_original_only() {
    let found = counter("multiply %6, %7", "multiply %sum, %7");
    let original = kinds(&found.original);
    assert!(original.contains(&"select") && !original.contains(&"dot_general"), "{original:?}");
    assert!(!kinds(&found.partitioned).contains(&"all_reduce"));
}

#[test]
fn a_changed_constant_is_alone() {
    let found = counter("dense<1.000000e-01>", "dense<2.000000e-01>");
    assert_eq!(kinds(&found.original), ["constant"]);
    assert_eq!(kinds(&found.partitioned), ["constant"]);
}

#[test]
fn a_shifted_offset_is_kept_with_its_mask() {
    let found = counter("%four = stablehlo.constant dense<4>", "%four = stablehlo.constant dense<3>");
    assert!(!kinds(&found.partitioned).contains(&"all_reduce"), "{:?}", kinds(&found.partitioned));
    assert!(!kinds(&found.original).contains(&"tanh"));
}

#[test]
fn parts_of_programs_that_are_too_large_are_tested() {
    let original = module(ORIGINAL);
    let check = |text: &str| {
        let partitioned = module(text);
        let boundary = boundary(&original, &partitioned, [&["a,b", "b,-", "a,-"], &["a,-", "a,b"]]);
        let options = Options { test_work: Some(LITTLE), ..Options::default() };
        prove(&original, &partitioned, &boundary, &options).unwrap()
    };
    assert_eq!(check(PARTITIONED).verdict, Verdict::Proven);
    for (from, to) in [
        ("select %4, %sum, %5", "select %4, %2, %5"),
        ("[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]"),
        ("dense<1.000000e-01>", "dense<2.000000e-01>"),
    ] {
        let text = PARTITIONED.replacen(from, to, 1);
        let report = check(&text);
        assert_eq!(report.verdict, Verdict::Refuted, "{to}: {report:?}");
        assert_eq!(report.evidence, Some(Evidence::Intermediate), "{to}");
        assert!(report.untested.is_some());
        assert!(report.places[0].found.starts_with("another function"), "{:?}", report.places[0]);
        assert!(report.places[0].span.is_some());
    }
}
