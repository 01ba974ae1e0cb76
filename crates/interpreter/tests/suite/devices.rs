//! Programs on several devices: control flow that differs between devices, deadlocks, and failures.

use shardc_interpreter::{Array, Ieee, Options, Value};
use shardc_ir::DType;

use crate::programs::{floats, partitions, run};

/// Sums over partitions 0 and 1, and over 2 and 3.
const SUM: &str = r#""stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>"#;

fn scalars(values: &[f32]) -> Vec<Vec<Value<Ieee>>> {
    values.iter().map(|&x| vec![floats(&[], &[x])]).collect()
}

fn numbers(text: &str, args: &[f32]) -> Result<Vec<f64>, String> {
    let results = partitions(text, scalars(args))?;
    Ok(results.iter().map(|array| array.to_f64_vec()[0]).collect())
}

#[test]
fn groups_may_take_different_branches() {
    // Only the second group has a sum in its branch.
    let text = format!(
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {{
          %two = stablehlo.constant dense<2.0> : tensor<f32>
          %p = stablehlo.compare GE, %x, %two : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %r = \"stablehlo.if\"(%p) ({{
            %s = {SUM}
            stablehlo.return %s : tensor<f32>
          }}, {{
            stablehlo.return %x : tensor<f32>
          }}) : (tensor<i1>) -> tensor<f32>
          return %r : tensor<f32>
        }}"
    );
    assert_eq!(numbers(&text, &[0.0, 1.0, 2.0, 3.0]), Ok(vec![0.0, 1.0, 5.0, 5.0]));
    // Within a group, one device waits for a sum that the other never executes.
    let error = numbers(&text, &[0.0, 2.0, 2.0, 3.0]).unwrap_err();
    assert!(error.contains("deadlock"), "{error}");
    assert!(error.contains("device 1") && error.contains("stablehlo.all_reduce"), "{error}");
}

#[test]
fn groups_may_repeat_loops_differently() {
    let text = format!(
        "func.func @main(%n: tensor<f32>) -> tensor<f32> {{
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %one = stablehlo.constant dense<1.0> : tensor<f32>
          %r:2 = stablehlo.while(%i = %zero, %x = %one) : tensor<f32>, tensor<f32>
          cond {{
            %p = stablehlo.compare LT, %i, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          }} do {{
            %s = {SUM}
            %j = stablehlo.add %i, %one : tensor<f32>
            stablehlo.return %j, %s : tensor<f32>, tensor<f32>
          }}
          return %r#1 : tensor<f32>
        }}"
    );
    assert_eq!(numbers(&text, &[2.0, 2.0, 5.0, 5.0]), Ok(vec![4.0, 4.0, 32.0, 32.0]));
}

#[test]
fn a_ring_of_permutes_is_no_deadlock() {
    let text = r#"func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }"#;
    assert_eq!(numbers(text, &[1.0, 2.0, 3.0, 4.0]), Ok(vec![3.0, 1.0, 2.0, 0.0]));
}

#[test]
fn the_region_of_a_collective_may_have_a_collective() {
    let inner = SUM
        .replace("%x", "%s")
        .replace("%a", "%c")
        .replace("%b", "%d")
        .replace("%s =", "%t =")
        .replace("return %s", "return %t");
    let outer = SUM.replace("stablehlo.return %s", &format!("%r = {inner}\nstablehlo.return %r"));
    let text = format!(
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {{\n%0 = {outer}\nreturn %0 : tensor<f32>\n}}"
    );
    assert_eq!(numbers(&text, &[1.0, 2.0, 3.0, 4.0]), Ok(vec![6.0, 6.0, 14.0, 14.0]));
}

#[test]
fn a_failing_device_ends_the_others() {
    let text = format!(
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {{
          %two = stablehlo.constant dense<2.0> : tensor<f32>
          %p = stablehlo.compare EQ, %x, %two : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %y = \"stablehlo.if\"(%p) ({{
            %f = stablehlo.custom_call @unknown(%x) : (tensor<f32>) -> tensor<f32>
            stablehlo.return %f : tensor<f32>
          }}, {{
            stablehlo.return %x : tensor<f32>
          }}) : (tensor<i1>) -> tensor<f32>
          %s = {SUM}
          %r = stablehlo.add %s, %y : tensor<f32>
          return %r : tensor<f32>
        }}"
    );
    let error = numbers(&text, &[0.0, 1.0, 2.0, 3.0]).unwrap_err();
    assert!(error.starts_with("device 2:") && error.contains("@unknown"), "{error}");
}

#[test]
fn many_devices_share_a_sum() {
    let text = r#"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<> : tensor<0x0xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"#;
    let args: Vec<Vec<Value<Ieee>>> = (0..256).map(|_| vec![floats(&[4], &[1.0, 2.0, 3.0, 4.0])]).collect();
    for result in partitions(text, args).unwrap() {
        assert_eq!(result.to_f64_vec(), [256.0, 512.0, 768.0, 1024.0]);
    }
}

/// A matmul whose contracting dimension is manual, and within it a sum along the other axis.
#[test]
fn manual_computations_run_on_their_mesh() {
    let text = r#"sdy.mesh @mesh = <["x"=2, "y"=3], device_ids=[5, 4, 3, 2, 1, 0]>
    func.func @main(%a: tensor<6x4xf32>, %b: tensor<4x2xf32>) -> tensor<6x2xf32> {
      %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{"y"}, {"x"}]>, <@mesh, [{"x"}, {}]>]
          out_shardings=[<@mesh, [{"y"}, {}]>] manual_axes={"x", "y"} (%c: tensor<2x2xf32>, %d: tensor<2x2xf32>) {
        %1 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
        %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
            replica_groups = dense<[[5, 2], [4, 1], [3, 0]]> : tensor<3x2xi64>, use_global_device_ids}> ({
          ^bb0(%e: tensor<f32>, %f: tensor<f32>):
            %s = stablehlo.add %e, %f : tensor<f32>
            stablehlo.return %s : tensor<f32>
        }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
        sdy.return %2 : tensor<2x2xf32>
      } : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
      return %0 : tensor<6x2xf32>
    }"#;
    let whole = "func.func @main(%a: tensor<6x4xf32>, %b: tensor<4x2xf32>) -> tensor<6x2xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
      return %0 : tensor<6x2xf32>
    }";
    let numbers = |n: u32| -> Vec<f32> { (0..n).map(|i| ((i * 7) % 11) as f32).collect() };
    let args = || vec![floats::<Ieee>(&[6, 4], &numbers(24)), floats(&[4, 2], &numbers(8))];
    let got = run::<Ieee>(text, args(), Options::default()).unwrap();
    assert!(got.equals(&run::<Ieee>(whole, args(), Options::default()).unwrap()));
}

/// The example of JAX's documentation of `ragged_all_to_all`, with two devices.
#[test]
fn ragged_exchanges_place_rows() {
    let text = r#"func.func @main(%x: tensor<3xf32>, %init: tensor<4xf32>, %from: tensor<2xi32>, %send: tensor<2xi32>, %to: tensor<2xi32>, %receive: tensor<2xi32>) -> tensor<4xf32> {
      %0 = stablehlo.custom_call @ragged_all_to_all(%x, %init, %from, %send, %to, %receive) {api_version = 4 : i32,
        backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}
        : (tensor<3xf32>, tensor<4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"#;
    let integers = |values: [i32; 2]| -> Value<Ieee> {
        let bytes: Vec<u8> = values.iter().flat_map(|n| n.to_le_bytes()).collect();
        Array::from_bytes(&[2], DType::I32, &bytes).unwrap().into()
    };
    let device = |x: [f32; 3], lists: [[i32; 2]; 4]| -> Vec<Value<Ieee>> {
        let mut args = vec![floats(&[3], &x), floats(&[4], &[0.0; 4])];
        args.extend(lists.map(integers));
        args
    };
    let first = device([1.0, 2.0, 2.0], [[0, 1], [1, 2], [0, 0], [1, 1]]);
    let second = device([3.0, 4.0, 0.0], [[0, 1], [1, 1], [1, 2], [2, 1]]);
    let results = partitions(text, vec![first, second]).unwrap();
    assert_eq!(results[0].to_f64_vec(), [1.0, 3.0, 0.0, 0.0]);
    assert_eq!(results[1].to_f64_vec(), [2.0, 2.0, 4.0, 0.0]);
}
