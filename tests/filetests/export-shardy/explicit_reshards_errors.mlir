// RUN: shardc opt %s -split-input-file -verify-diagnostics -sdy-insert-explicit-reshards
// RUN: not shardc opt %s -split-input-file -sdy-insert-explicit-reshards='enable-full-version=true' 2>&1 | FileCheck %s
// Errors of sdy-insert-explicit-reshards.
// CHECK: error[SH0823]
// CHECK: use shardc's pass `plan`
sdy.mesh @one = <[], device_ids=[0]>
// expected-error@+1 {{SH0822: argument 0 of @argument must not be on a single device}}
func.func @argument(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>
sdy.mesh @one = <[], device_ids=[0]>
sdy.mesh @other = <[], device_ids=[1]>
func.func @results(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error@+1 {{SH0822: the results of this operation are on different single devices}}
  %0:2 = stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@one, []>, <@other, []>]>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
