//! Tests of the search as a whole.

use super::*;
use crate::plan::PlanOptions;

const LAYERS: &str = r"
  func.func @main(%x: tensor<512x1024xbf16>, %w: tensor<1024x4096xbf16>, %v: tensor<4096x1024xbf16>) -> tensor<512x1024xbf16> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<512x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<512x4096xbf16>
    %1 = stablehlo.tanh %0 : tensor<512x4096xbf16>
    %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0]
        : (tensor<512x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<512x1024xbf16>
    return %2 : tensor<512x1024xbf16>
  }";

fn options(target: &str) -> AutoOptions {
    AutoOptions::new("layers.mlir", target.parse::<Target>().unwrap())
}

fn auto(options: &AutoOptions) -> Auto {
    Compiler::new().auto(Compiler::read(LAYERS.as_bytes()).unwrap(), options).unwrap()
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let one = auto(&options("v5e:2x4"));
    let four = auto(&AutoOptions { threads: 4, ..options("v5e:2x4") });
    assert_eq!(one.report.to_json(), four.report.to_json());
    assert!(one.report.bound.is_some_and(|bound| bound <= one.report.seconds), "{}", one.report.to_text());
}

/// The oracle: plans of all shardings of the three arguments along the axis of a mesh.
#[test]
fn a_small_program_is_solved_exactly() {
    let specs = ["-,-", "data,-", "-,data"];
    let mut best = f64::INFINITY;
    for x in specs {
        for w in specs {
            for v in specs {
                let compiler = Compiler::new().mesh("data=4").unwrap();
                let compiler =
                    compiler.spec("arg0", x).unwrap().spec("arg1", w).unwrap().spec("arg2", v).unwrap();
                let target: Target = "v5e:2x2".parse().unwrap();
                let plan = PlanOptions { changes: false, ..PlanOptions::new("layers.mlir", target) };
                let report = compiler.plan(Compiler::read(LAYERS.as_bytes()).unwrap(), &plan).unwrap().report;
                best = best.min(report.time.seconds);
            }
        }
    }
    let found = auto(&AutoOptions { mesh: Some(Mesh::new([("data", 4)])), ..options("v5e:2x2") });
    assert!(found.report.is_exhaustive);
    assert!(found.report.seconds <= best * 1.01, "{} is not {best}", found.report.seconds);
}

#[test]
fn annotations_are_kept() {
    let annotations = vec!["arg1=-,x".parse().unwrap()];
    let mesh = Some(Mesh::new([("x", 2), ("y", 2)]));
    let found = auto(&AutoOptions { mesh, annotations, ..options("v5e:2x2") });
    let fixed: Vec<_> = found.report.arguments.iter().filter(|row| row.is_fixed).collect();
    assert_eq!((fixed.len(), fixed[0].spec.as_str()), (1, "-,x"));
    let output = Compiler::new().partition_module(found.module).unwrap();
    assert_eq!(output.manifest().inputs[1].local_shape, [1024, 2048]);
}

#[test]
fn shardings_of_the_program_are_replaced_on_request() {
    let text = r#"
      sdy.mesh @mesh = <["data"=2]>
      func.func @main(%x: tensor<65536x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}) -> tensor<65536x4096xbf16> {
        %0 = stablehlo.tanh %x : tensor<65536x4096xbf16>
        return %0 : tensor<65536x4096xbf16>
      }"#;
    let read = || Compiler::read(text.as_bytes()).unwrap();
    let error = Compiler::new().auto(read(), &options("v5e:2x2")).unwrap_err();
    assert!(error.to_string().contains("the mesh has 2 devices, but v5e:2x2 has 4"), "{error}");
    let options = AutoOptions { ignores_shardings: true, ..options("v5e:2x2") };
    let found = Compiler::new().auto(read(), &options).unwrap();
    assert!(found.report.gap.is_some_and(|gap| gap < 1.05), "{}", found.report.to_text());
}

/// The shardings of results are searched: a result that is all-gathered takes longer.
#[test]
fn results_are_sharded() {
    let found = auto(&AutoOptions { mesh: Some(Mesh::new([("tensor", 4)])), ..options("v5e:2x2") });
    let results: Vec<_> = found.report.arguments.iter().filter(|row| row.role == "result").collect();
    assert_eq!(results.len(), 1);
    let output = Compiler::new().partition_module(found.module).unwrap();
    assert_ne!(output.manifest().outputs[0].local_shape, [512, 1024], "{}", found.report.to_text());
}

/// The next value of `w` is open: a strategy would all-gather it.
const STEP: &str = r#"
  sdy.mesh @mesh = <["data"=4]>
  func.func @main(
      %w: tensor<2048x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
      %x: tensor<65536x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<2048x2048xbf16>, tensor<bf16>) {
    %zero = stablehlo.constant dense<0.0> : tensor<bf16>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<65536x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<65536x2048xbf16>
    %square = stablehlo.multiply %y, %y : tensor<65536x2048xbf16>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<65536x2048xbf16>, tensor<bf16>) -> tensor<bf16>
    %gradient = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
        : (tensor<65536x2048xbf16>, tensor<65536x2048xbf16>) -> tensor<2048x2048xbf16>
    %shards = sdy.sharding_constraint %gradient <@mesh, [{"data"}, {}]> : tensor<2048x2048xbf16>
    %next = stablehlo.subtract %w, %shards : tensor<2048x2048xbf16>
    return %next, %loss : tensor<2048x2048xbf16>, tensor<bf16>
  }"#;

#[test]
fn the_program_as_it_is_annotated_is_a_candidate() {
    let read = || Compiler::read(STEP.as_bytes()).unwrap();
    let plan =
        PlanOptions { changes: false, ..PlanOptions::new("step.mlir", "v5e:2x2".parse::<Target>().unwrap()) };
    let planned = Compiler::new().plan(read(), &plan).unwrap().report;
    let found = Compiler::new().auto(read(), &options("v5e:2x2")).unwrap();
    let row = found.report.tried.iter().find(|row| row.strategy == "as annotated").unwrap();
    assert_eq!((row.score.seconds, row.score.memory), (planned.time.seconds, planned.memory.high));
    assert!(found.report.seconds <= planned.time.seconds);
    let again = Compiler::new().plan(found.module, &plan).unwrap().report;
    assert_eq!(again.time.seconds, found.report.seconds);
    assert!(!found.report.is_exhaustive);
}

/// Unused and equal operations do not raise the lower bound.
#[test]
fn the_bound_leaves_out_what_is_removed() {
    let text = r"
      func.func @main(%x: tensor<4096x4096xbf16>) -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
        %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
            : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
        %1 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
            : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
        %unused = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0]
            : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
        return %0, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
      }";
    let found = Compiler::new().auto(Compiler::read(text.as_bytes()).unwrap(), &options("v5e:1x2")).unwrap();
    let product = 4096.0 * 4096.0 * 4096.0 / "v5e:1x2".parse::<Target>().unwrap().spec().peaks.f16;
    let bound = found.report.bound.unwrap();
    assert!((bound / product - 1.0).abs() < 0.01, "{bound} is not {product}");
}

#[test]
fn programs_without_computation_have_an_answer() {
    let moved = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }";
    let written = "func.func @main() -> tensor<8xf32> { %0 = stablehlo.constant dense<1.0> : tensor<8xf32> return %0 : tensor<8xf32> }";
    for (text, is_written) in [(moved, false), (written, true)] {
        let found =
            Compiler::new().auto(Compiler::read(text.as_bytes()).unwrap(), &options("v5e:2x4")).unwrap();
        assert_eq!(found.report.bound.is_some(), is_written);
    }
}
