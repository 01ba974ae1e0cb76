//! Limits: work, memory, nesting, interruption. No input ends the process.

use std::time::Duration;

use shardc_interpreter::{Array, Fault, Foreign, Grid, Handler, Ieee, Launch, Options, Program, Value};
use shardc_ir::{CancelToken, DType, Interrupt};

use crate::programs::{module, run};

const ENDLESS: &str = "func.func @main() -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.while(%i = %zero) : tensor<i32>
  cond {
    %p = stablehlo.compare EQ, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %i : tensor<i32>
  }
  return %r : tensor<i32>
}";

fn error(text: &str, options: Options) -> String {
    run::<Ieee>(text, Vec::new(), options).unwrap_err()
}

#[test]
fn endless_loops_end() {
    let limited = Options { max_work: 1000, ..Options::default() };
    assert_eq!(error(ENDLESS, limited), "stablehlo.compare: the work limit of 1000 elements is reached");
    let token = CancelToken::new();
    token.cancel();
    let interrupt = Interrupt::default().with_token(token);
    assert!(error(ENDLESS, Options { interrupt, ..Options::default() }).ends_with("cancelled"));
    let interrupt = Interrupt::default().with_time_limit(Duration::from_millis(20));
    assert!(error(ENDLESS, Options { interrupt, ..Options::default() }).contains("time limit"));
}

#[test]
fn large_values_are_errors() {
    let text = "func.func @main() -> tensor<1099511627776xf32> {
      %0 = stablehlo.iota dim = 0 : tensor<1099511627776xf32>
      return %0 : tensor<1099511627776xf32>
    }";
    assert_eq!(
        error(text, Options::default()),
        "stablehlo.iota: a value of 4398046511104 bytes does not fit in memory"
    );
}

#[test]
fn large_sizes_at_run_time_are_errors() {
    let text = "func.func @main(%high: tensor<1xi64>) -> tensor<?xf32> {
      %x = stablehlo.constant dense<1.0> : tensor<2xf32>
      %v = stablehlo.constant dense<0.0> : tensor<f32>
      %z = stablehlo.constant dense<0> : tensor<1xi64>
      %0 = stablehlo.dynamic_pad %x, %v, %z, %high, %z : (tensor<2xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }";
    let high = Array::from_bytes(&[1], DType::I64, &(1i64 << 40).to_le_bytes()).unwrap();
    let error = run::<Ieee>(text, vec![high.into()], Options::default()).unwrap_err();
    assert!(error.ends_with("does not fit in memory"), "{error}");
}

#[test]
fn invalid_sizes_at_run_time_are_errors() {
    let text = "func.func @main(%s: tensor<1xi32>) -> tensor<?xi32> {
      %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
      %0 = stablehlo.dynamic_reshape %x, %s : (tensor<2xi32>, tensor<1xi32>) -> tensor<?xi32>
      return %0 : tensor<?xi32>
    }";
    let size = Array::from_bytes(&[1], DType::I32, &[3, 0, 0, 0]).unwrap();
    let error = run::<Ieee>(text, vec![size.into()], Options::default()).unwrap_err();
    assert_eq!(error, "stablehlo.dynamic_reshape: [2] cannot be reshaped to [3]");
}

#[test]
fn deep_nesting_is_an_error() {
    let call = |n: usize| {
        format!(
            "func.func private @f{n}(%x: tensor<i32>) -> tensor<i32> {{
          %0 = func.call @f{}(%x) : (tensor<i32>) -> tensor<i32>
          return %0 : tensor<i32>
        }}\n",
            n + 1
        )
    };
    let mut text: String = (0..300).map(call).collect();
    text.push_str(
        "func.func private @f300(%x: tensor<i32>) -> tensor<i32> {
          return %x : tensor<i32>
        }
        func.func @main() -> tensor<i32> {
          %x = stablehlo.constant dense<1> : tensor<i32>
          %0 = func.call @f0(%x) : (tensor<i32>) -> tensor<i32>
          return %0 : tensor<i32>
        }",
    );
    assert!(error(&text, Options::default()).contains("more than 256 levels"));
}

/// A panic in the evaluation of one device is an error, and the others do not wait for it.
#[test]
fn a_panic_ends_the_run() {
    struct Panics;
    impl Handler<Ieee> for Panics {
        fn call(&self, _: Foreign<'_>, _: &[Value<Ieee>]) -> Option<Result<Vec<Value<Ieee>>, Fault>> {
            panic!("expected by this test")
        }
    }
    let text = r#"func.func @main() -> tensor<f32> {
      %n = stablehlo.replica_id : tensor<ui32>
      %z = stablehlo.constant dense<0> : tensor<ui32>
      %x = stablehlo.constant dense<1.0> : tensor<f32>
      %p = stablehlo.compare EQ, %n, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      %y = "stablehlo.if"(%p) ({
        %f = stablehlo.custom_call @f(%x) : (tensor<f32>) -> tensor<f32>
        stablehlo.return %f : tensor<f32>
      }, {
        stablehlo.return %x : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      %0 = "stablehlo.all_reduce"(%y) <{replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }"#;
    let module = module(text);
    let program = Program::new(&module, Options::default()).with_handler(&Panics);
    let launch = Launch { func: module.entry().unwrap(), args: Vec::new() };
    let error = program.run(Grid { replicas: 3, partitions: 1 }, vec![launch; 3], Vec::new()).unwrap_err();
    assert!(matches!(error.fault, Fault::Internal(_)), "{error}");
}
