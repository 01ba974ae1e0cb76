//! Programs with small text and large cost: within the limits, they are compiled in little memory and time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_ir::Module;
use shardc_passes::driver::context::PassContext;
use shardc_passes::driver::partition::partition_propagated;
use shardc_passes::propagate::{PropagateOptions, propagate};
use shardc_passes::transforms::inline::inline_calls;

fn partitioned(text: &str) -> Module {
    let mut module = shardc_stablehlo::parse(text).unwrap_or_else(|errors| panic!("{errors:#?}"));
    inline_calls(&mut module).unwrap_or_else(|errors| panic!("{errors:#?}"));
    propagate(&mut module, &PropagateOptions::default()).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let done = partition_propagated(&mut module, &PassContext::default());
    done.unwrap_or_else(|errors| panic!("{errors:#?}"));
    module
}

/// Planning considers computing the whole operation with the sharding of each operand. This operation has many operands, but nearly all of
/// their shardings are equal.
#[test]
fn a_concatenation_of_a_thousand_values() {
    let operands = vec!["%x"; 1000].join(", ");
    let types = vec!["tensor<8xf32>"; 1000].join(", ");
    partitioned(&format!(
        "sdy.mesh @mesh = <[\"a\"=2, \"b\"=4]>
         func.func @main(%x: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"a\"}}]>}}) -> tensor<8000xf32> {{
           %0 = stablehlo.concatenate {operands}, dim = 0 : ({types}) -> tensor<8000xf32>
           return %0 : tensor<8000xf32>
         }}"
    ));
}

/// The convergence analysis needs memory proportional to the number of members of groups, not of pairs of members.
#[test]
fn groups_of_many_devices() {
    let module = partitioned(
        r#"sdy.mesh @mesh = <["data"=8192, "model"=4]>
           func.func @main(%x: tensor<8192x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<f32> {
             %zero = stablehlo.constant dense<0.0> : tensor<f32>
             %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8192x64xf32>, tensor<f32>) -> tensor<f32>
             return %0 : tensor<f32>
           }"#,
    );
    let collectives = module.ops.values().filter_map(|op| op.kind.collective());
    assert!(collectives.into_iter().any(|spec| spec.groups.num_ids() == 32768));
}

/// A loop with collectives in each iteration, a shift along an axis and a resharding, for a million devices. Groups are represented by
/// coordinates; only the source-target pairs of permutes are listed for each device.
#[test]
fn a_million_devices() {
    let module = partitioned(
        r#"sdy.mesh @mesh = <["data"=1024, "model"=1024]>
           func.func @main(%x: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}, %n: tensor<i32>)
               -> (tensor<f32>, tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>}) {
             %zero = stablehlo.constant dense<0.0> : tensor<f32>
             %one = stablehlo.constant dense<1> : tensor<i32>
             %first = stablehlo.constant dense<0> : tensor<i32>
             %0:2 = stablehlo.while(%i = %first, %s = %zero) : tensor<i32>, tensor<f32>
             cond {
               %3 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %3 : tensor<i1>
             } do {
               %3 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4096x4096xf32>
               %4 = stablehlo.multiply %x, %3 : tensor<4096x4096xf32>
               %5 = stablehlo.pad %4, %zero, low = [1, 0], high = [-1, 0], interior = [0, 0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096x4096xf32>
               %6 = stablehlo.tanh %5 : tensor<4096x4096xf32>
               %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<f32>
               %8 = stablehlo.add %i, %one : tensor<i32>
               stablehlo.return %8, %7 : tensor<i32>, tensor<f32>
             }
             return %0#1, %x : tensor<f32>, tensor<4096x4096xf32>
           }"#,
    );
    let groups: Vec<_> = module.ops.values().filter_map(|op| Some(&op.kind.collective()?.groups)).collect();
    assert!(groups.iter().any(|groups| groups.as_strided().is_some_and(|all| all.num_devices() == 1 << 20)));
    assert!(groups.iter().any(|pairs| pairs.as_strided().is_none() && pairs.num_ids() >= 1 << 20));
}

/// There are several hundred thousand ways to slice a replicated value over seven axes; not all of them are tried.
#[test]
fn a_reshard_over_seven_axes() {
    partitioned(
        r#"sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2, "d"=2, "e"=2, "f"=2, "g"=2]>
           func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "c", "e", "g"}, {"b", "d", "f"}]>})
               -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", "d", "f"}, {"a", "c", "e", "g"}]>}) {
             %0 = stablehlo.add %x, %x : tensor<8x8xf32>
             return %0 : tensor<8x8xf32>
           }"#,
    );
}
