//! Programs that are small to write and large to work on: within their limits they are done, in little memory and time.

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

/// Each operand proposes how to split the operation: nearly all propose the same.
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

/// Who agrees with whom is kept in the size of the groups of a collective, not in that times their members.
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

/// There are some hundred thousand ways to slice a whole value over seven axes; not all of them are looked at.
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
