//! The exact domain: programs that differ by a rearrangement of sums have equal results, and damaged programs do not.

use shardc_interpreter::{Array, Exact, Ieee, Options, Value};

use crate::programs::{floats, partitions, run};

/// Numbers whose sums depend on their order in `f32`.
fn numbers(count: usize) -> Vec<f32> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 * 1e-3 - 8000.0).collect()
}

fn exact(text: &str, args: Vec<Value<Exact>>) -> Array<Exact> {
    run(text, args, Options { key: 17, ..Options::default() }).unwrap()
}

const SUM: &str = "func.func @main(%x: tensor<64xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}";

const SUM_OF_SUMS: &str = "func.func @main(%x: tensor<64xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<-0.0> : tensor<f32>
  %m = stablehlo.reshape %x : (tensor<64xf32>) -> tensor<8x8xf32>
  %0 = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}";

#[test]
fn reassociated_sums_are_equal() {
    let x = numbers(64);
    let (a, b) = (exact(SUM, vec![floats(&[64], &x)]), exact(SUM_OF_SUMS, vec![floats(&[64], &x)]));
    assert!(a.equals(&b));
    // In `f32`, these two sums differ.
    let ieee = |text| run::<Ieee>(text, vec![floats(&[64], &x)], Options::default()).unwrap().to_f64_vec();
    assert_ne!(ieee(SUM), ieee(SUM_OF_SUMS));
    let mut damaged = x;
    damaged[63] = f32::from_bits(damaged[63].to_bits() + 1);
    assert!(!exact(SUM, vec![floats(&[64], &damaged)]).equals(&a));
}

#[test]
fn a_matmul_equals_the_sum_of_its_parts_on_devices() {
    let whole = "func.func @main(%a: tensor<4x6xf32>, %b: tensor<6x5xf32>) -> tensor<4x5xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
      %1 = stablehlo.tanh %0 : tensor<4x5xf32>
      return %1 : tensor<4x5xf32>
    }";
    let part = |damage: &str| {
        format!(
            r#"func.func @main(%a: tensor<4x2xf32>, %b: tensor<2x5xf32>) -> tensor<4x5xf32> {{
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x5xf32>) -> tensor<4x5xf32>
      %1 = "stablehlo.all_reduce"(%0) <{{replica_groups = dense<[{damage}]> : tensor<1x3xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}> ({{
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }}) : (tensor<4x5xf32>) -> tensor<4x5xf32>
      %2 = stablehlo.tanh %1 : tensor<4x5xf32>
      return %2 : tensor<4x5xf32>
    }}"#
        )
    };
    let (a, b) = (numbers(24), numbers(30));
    let columns =
        |d: usize| -> Vec<f32> { a.chunks(6).flat_map(|row| row[2 * d..2 * d + 2].to_vec()).collect() };
    let args = || -> Vec<Vec<Value<Exact>>> {
        (0..3).map(|d| vec![floats(&[4, 2], &columns(d)), floats(&[2, 5], &b[10 * d..10 * d + 10])]).collect()
    };
    let want =
        run::<Exact>(whole, vec![floats(&[4, 6], &a), floats(&[6, 5], &b)], Options::default()).unwrap();
    for got in partitions(&part("[0, 1, 2]"), args()).unwrap() {
        assert!(got.equals(&want));
    }
    // A program that sums only two of the parts.
    let damaged = part("[0, 1, 2]").replace("%s = stablehlo.add %x, %y", "%s = stablehlo.maximum %x, %y");
    for got in partitions(&damaged, args()).unwrap() {
        assert!(!got.equals(&want));
    }
}

#[test]
fn casts_keep_values_and_masks_work() {
    // A softmax, with casts and in another order of operations.
    let softmax = |cast: &str, divide: &str| {
        format!(
            "func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %c = stablehlo.convert %x : (tensor<2x8xf32>) -> tensor<2x8x{cast}>
      %d = stablehlo.convert %c : (tensor<2x8x{cast}>) -> tensor<2x8xf32>
      %m = stablehlo.reduce(%d init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<2x8xf32>, tensor<f32>) -> tensor<2xf32>
      %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<2xf32>) -> tensor<2x8xf32>
      %s = stablehlo.subtract %d, %mb : tensor<2x8xf32>
      %e = stablehlo.exponential %s : tensor<2x8xf32>
      %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x8xf32>, tensor<f32>) -> tensor<2xf32>
      {divide}
      return %r : tensor<2x8xf32>
    }}"
        )
    };
    let plain = "%b = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<2xf32>) -> tensor<2x8xf32>
      %r = stablehlo.divide %e, %b : tensor<2x8xf32>";
    let inverse = "%one = stablehlo.constant dense<1.0> : tensor<2xf32>
      %i = stablehlo.divide %one, %t : tensor<2xf32>
      %b = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<2xf32>) -> tensor<2x8xf32>
      %r = stablehlo.multiply %b, %e : tensor<2x8xf32>";
    let x = || vec![floats(&[2, 8], &numbers(16))];
    let want = exact(&softmax("f32", plain), x());
    assert!(exact(&softmax("bf16", plain), x()).equals(&want));
    assert!(exact(&softmax("f32", inverse), x()).equals(&want));
}

#[test]
fn integers_stay_integers() {
    let text = "func.func @main() -> tensor<4xi32> {
      %i = stablehlo.iota dim = 0 : tensor<4xi32>
      %f = stablehlo.convert %i : (tensor<4xi32>) -> tensor<4xf32>
      %h = stablehlo.constant dense<0.5> : tensor<4xf32>
      %d = stablehlo.divide %f, %h : tensor<4xf32>
      %r = stablehlo.convert %d : (tensor<4xf32>) -> tensor<4xi32>
      return %r : tensor<4xi32>
    }";
    assert_eq!(exact(text, Vec::new()).to_integers(), Some(vec![0, 2, 4, 6]));
}
