//! Tests of the interpreter as an engine, and of comparisons in exact arithmetic: no plugin is needed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(feature = "runtime")]

use std::time::Duration;

use shardc::exec::{Engine, Interpreted, Limits, compare_exactly, random_inputs, verify_exactly, verify_on};
use shardc::runtime::{HostArray, MemoryLimit};
use shardc::{Compiler, Error, Module, Output, SpmdMode};

/// A step on uneven shards: 6 rows on 4 devices. The matmul has partial sums, and `tanh` makes their reduction observable.
const STEP: &str = r#"
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func @main(
      %x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>, tf.aliasing_output = 0 : i32},
      %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
      %i: tensor<3xi32>) -> (tensor<6x8xf32>, tensor<f32>, tensor<3x8xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %1 = stablehlo.tanh %0 : tensor<6x8xf32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<f32>
    %3 = "stablehlo.gather"(%1, %i) <{
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 8>
    }> : (tensor<6x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
    return %1, %2, %3 : tensor<6x8xf32>, tensor<f32>, tensor<3x8xf32>
  }
"#;

fn partitioned(source: &str, mode: SpmdMode) -> (Module, Output) {
    let compiler = Compiler::new().spmd_mode(mode);
    (Compiler::read(source.as_bytes()).unwrap(), compiler.partition(source.as_bytes()).unwrap())
}

fn code(error: &Error) -> &'static str {
    error.diagnostics().first().expect("a diagnostic").code
}

#[test]
fn a_partitioned_program_equals_its_original() {
    for mode in [SpmdMode::Replica, SpmdMode::Partition] {
        let (original, output) = partitioned(STEP, mode);
        let checks = verify_on(Engine::Interpreter, &original, &output, 3, Limits::default()).unwrap();
        assert_eq!(checks.len(), 3);
        for check in checks {
            assert!(check.ok() && check.difference.max_abs > 0.0 || check.index == 2, "{check:?}");
        }
        let exact = verify_exactly(&original, &output, 3, Limits::default()).unwrap();
        assert_eq!(exact.iter().map(|check| check.elements).collect::<Vec<_>>(), [48, 1, 24]);
        assert!(exact.iter().all(shardc::exec::ExactCheck::ok), "{exact:?}");
    }
}

#[test]
fn damaged_partitions_are_found() {
    let (original, output) = partitioned(STEP, SpmdMode::Replica);
    let text = output.text();
    // A maximum instead of a sum, and an operand that is not reduced.
    for (from, to) in [("stablehlo.add", "stablehlo.maximum"), ("stablehlo.tanh", "stablehlo.negate")] {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(damaged, text);
        let module = Compiler::read(damaged.as_bytes()).unwrap();
        let output = Output { module, ..output.clone() };
        let exact = verify_exactly(&original, &output, 0, Limits::default()).unwrap();
        let wrong = exact.iter().find(|check| !check.ok()).expect("a wrong output");
        assert!(wrong.different <= wrong.elements && wrong.first.is_some(), "{wrong:?}");
        // The last two devices have only padding.
        let last = if wrong.index == 0 { 6 } else { 8 };
        assert_eq!(wrong.devices, (0..last).collect::<Vec<_>>());
        let checks = verify_on(Engine::Interpreter, &original, &output, 0, Limits::default()).unwrap();
        assert!(!checks[wrong.index].ok(), "{checks:?}");
    }
}

#[test]
fn a_single_wrong_device_is_named() {
    // Device 3 scales its block.
    let source = r#"
      sdy.mesh @mesh = <["data"=4]>
      func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>})
          -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) {
        %0 = stablehlo.add %x, %x : tensor<8xf32>
        return %0 : tensor<8xf32>
      }
    "#;
    let (original, output) = partitioned(source, SpmdMode::Partition);
    let damaged = r#"
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %id = stablehlo.partition_id : tensor<ui32>
        %three = stablehlo.constant dense<3> : tensor<ui32>
        %is = stablehlo.compare EQ, %id, %three : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
        %0 = stablehlo.add %x, %x : tensor<2xf32>
        %1 = stablehlo.add %0, %x : tensor<2xf32>
        %2 = stablehlo.select %is, %1, %0 : tensor<i1>, tensor<2xf32>
        return %2 : tensor<2xf32>
      }
    "#;
    let output = Output { module: Compiler::read(damaged.as_bytes()).unwrap(), ..output };
    let exact = verify_exactly(&original, &output, 0, Limits::default()).unwrap();
    assert_eq!(
        (exact[0].different, exact[0].first.as_deref(), &*exact[0].devices),
        (2, Some(&[6][..]), &[3][..])
    );
}

#[test]
fn rounding_is_equal_in_exact_arithmetic() {
    // A sum that cancels almost completely, divided by itself in another order.
    let source = r#"
      sdy.mesh @mesh = <["data"=4]>
      func.func @main(%x: tensor<4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<f32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %huge = stablehlo.constant dense<3.0e5> : tensor<4096xf32>
        %one = stablehlo.constant dense<1.0> : tensor<4096xf32>
        %y = stablehlo.multiply %x, %huge : tensor<4096xf32>
        %r = stablehlo.reverse %y, dims = [0] : tensor<4096xf32>
        %e = stablehlo.add %y, %one : tensor<4096xf32>
        %d = stablehlo.subtract %e, %r : tensor<4096xf32>
        %0 = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
        return %0 : tensor<f32>
      }
    "#;
    let (original, output) = partitioned(source, SpmdMode::Replica);
    let checks = verify_on(Engine::Interpreter, &original, &output, 1, Limits::default()).unwrap();
    assert!(checks[0].difference.max_abs > 0.0, "{checks:?}");
    assert!(checks[0].ok(), "{checks:?}");
    assert_eq!(checks[0].is_exactly_equal, checks[0].is_rounding(), "{checks:?}");
}

/// A wrong row that is read only by one index: the comparison in exact arithmetic takes the same index, so that the difference is no rounding.
#[test]
fn integers_of_the_comparison_are_kept() {
    let source = r#"
      sdy.mesh @mesh = <["data"=2]>
      func.func @main(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<1xf32> {
        %0 = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
        return %0 : tensor<1xf32>
      }
    "#;
    let (original, output) = partitioned(source, SpmdMode::Replica);
    for seed in 0..16 {
        let index = random_inputs(&output.interface, seed).unwrap()[1].to_f64_vec()[0];
        let damaged = format!(
            "func.func @main(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<1xf32> {{
               %n = stablehlo.constant dense<{index}> : tensor<i32>
               %is = stablehlo.compare EQ, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
               %0 = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
               %1 = stablehlo.add %0, %0 : tensor<1xf32>
               %2 = stablehlo.select %is, %1, %0 : tensor<i1>, tensor<1xf32>
               return %2 : tensor<1xf32>
             }}"
        );
        let output = Output { module: Compiler::read(damaged.as_bytes()).unwrap(), ..output.clone() };
        let checks = verify_on(Engine::Interpreter, &original, &output, seed, Limits::default()).unwrap();
        assert!(!checks[0].ok(), "{checks:?}");
    }
}

#[test]
fn partial_sums_are_arguments_and_results() {
    let source = r#"
      sdy.mesh @mesh = <["data"=4]>
      func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"data"}>})
          -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"data"}>}) {
        %0 = stablehlo.add %x, %x : tensor<8xf32>
        return %0 : tensor<8xf32>
      }
    "#;
    let (original, output) = partitioned(source, SpmdMode::Replica);
    assert!(verify_exactly(&original, &output, 0, Limits::default()).unwrap()[0].ok());
    assert!(verify_on(Engine::Interpreter, &original, &output, 0, Limits::default()).unwrap()[0].ok());
}

#[test]
fn tokens_are_arguments_and_results() {
    let source = r#"
      sdy.mesh @mesh = <["data"=2]>
      func.func @main(%t: !stablehlo.token, %x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>})
          -> (tensor<4xf32>, !stablehlo.token) {
        %0 = stablehlo.add %x, %x : tensor<4xf32>
        return %0, %t : tensor<4xf32>, !stablehlo.token
      }
    "#;
    let (original, output) = partitioned(source, SpmdMode::Replica);
    let exact = verify_exactly(&original, &output, 0, Limits::default()).unwrap();
    assert_eq!(exact.iter().map(|check| check.elements).collect::<Vec<_>>(), [4, 0]);
    let checks = verify_on(Engine::Interpreter, &original, &output, 0, Limits::default()).unwrap();
    assert!(checks.len() == 2 && checks.iter().all(shardc::exec::OutputCheck::ok));
}

#[test]
fn inputs_are_checked() {
    let (_, output) = partitioned(STEP, SpmdMode::Replica);
    let program = Interpreted::partitioned(&output, Limits::default()).unwrap();
    let mut inputs = random_inputs(&output.interface, 0).unwrap();
    assert_eq!(program.run(&inputs).unwrap()[0].shape, [6, 8]);
    inputs[0] = HostArray::zeros(shardc::ir::DType::F32, &[8, 6]).unwrap();
    let Error::Runtime(error) = program.run(&inputs).unwrap_err() else { panic!("an error of the runtime") };
    assert_eq!(error.code(), "RT0303");
}

#[test]
fn limits_are_named() {
    let (original, output) = partitioned(STEP, SpmdMode::Replica);
    let verify = |limits| verify_exactly(&original, &output, 0, limits).unwrap_err();
    let error = verify(Limits { work: Some(100), ..Limits::default() });
    assert_eq!(code(&error), "SH0711");
    assert!(error.to_string().contains("the work limit of 100 elements"), "{error}");
    let Error::Runtime(error) = verify(Limits { memory: MemoryLimit::Bytes(1000), ..Limits::default() })
    else {
        panic!("an error of the runtime")
    };
    assert_eq!(error.code(), "RT0304");
}

#[test]
fn an_endless_program_ends() {
    let source = r#"
      sdy.mesh @mesh = <["data"=2]>
      func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<4xf32> {
        %r = stablehlo.while(%y = %x) : tensor<4xf32>
        cond {
          %true = stablehlo.constant dense<true> : tensor<i1>
          stablehlo.return %true : tensor<i1>
        } do {
          %z = stablehlo.add %y, %y : tensor<4xf32>
          stablehlo.return %z : tensor<4xf32>
        }
        return %r : tensor<4xf32>
      }
    "#;
    let original = Compiler::read(source.as_bytes()).unwrap();
    let limits = Limits { time: Some(Duration::from_millis(50)), ..Limits::default() };
    let inputs = [HostArray::zeros(shardc::ir::DType::F32, &[4]).unwrap()];
    let error = Interpreted::single(&original, limits).unwrap().run(&inputs).unwrap_err();
    assert_eq!(code(&error), "SH0711");
    assert!(error.to_string().contains("the time limit of 0.05 s is reached"), "{error}");
}

#[test]
fn unknown_calls_are_named() {
    let source = STEP
        .replace("%1 = stablehlo.tanh %0 :", "%1 = stablehlo.custom_call @mine(%0) : (tensor<6x8xf32>) -> ");
    let (original, output) = partitioned(&source, SpmdMode::Replica);
    let error = verify_on(Engine::Interpreter, &original, &output, 0, Limits::default()).unwrap_err();
    assert_eq!(code(&error), "SH0710");
    assert!(error.to_string().contains("stablehlo.custom_call @mine"), "{error}");
}

#[test]
fn programs_for_one_device_are_compared() {
    let read = |text: &str| Compiler::read(text.as_bytes()).unwrap();
    let square = |body: &str| {
        read(&format!(
            "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
              %two = stablehlo.constant dense<2.0> : tensor<4xf32>
              {body}
              return %r : tensor<4xf32>
            }}"
        ))
    };
    let a = square(
        "%s = stablehlo.add %x, %y : tensor<4xf32>
         %r = stablehlo.multiply %s, %s : tensor<4xf32>",
    );
    let expanded = |factor: &str| {
        square(&format!(
            "%p = stablehlo.multiply %x, %x : tensor<4xf32>
             %q = stablehlo.multiply %y, %y : tensor<4xf32>
             %m = stablehlo.multiply %x, %y : tensor<4xf32>
             %t = stablehlo.multiply %m, {factor} : tensor<4xf32>
             %u = stablehlo.add %p, %q : tensor<4xf32>
             %r = stablehlo.add %u, %t : tensor<4xf32>"
        ))
    };
    let compare = |b: &Module| compare_exactly(&a, b, 0, Limits::default());
    assert!(compare(&expanded("%two")).unwrap()[0].ok());
    let wrong = compare(&expanded("%y")).unwrap();
    assert_eq!((wrong[0].different, wrong[0].first.as_deref()), (4, Some(&[0][..])));
    let other = read("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }");
    assert_eq!(code(&compare(&other).unwrap_err()), "SH0713");
}
