//! Limits: work, memory, nesting, interruption. No input ends the process.

use std::time::Duration;

use shardc_interpreter::{Array, Ieee, Options};
use shardc_ir::{CancelToken, DType, Interrupt};

use crate::programs::run;

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
