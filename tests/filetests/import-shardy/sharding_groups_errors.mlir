// RUN: shardc opt %s --passes sdy-sharding-group-import -split-input-file -verify-diagnostics
// Errors in sharding groups.
func.func @shapes(%arg0: tensor<4xf32>, %arg1: tensor<8xf32>) {
  sdy.sharding_group %arg0 group_id=3 : tensor<4xf32>
  // expected-error @+1 {{SH0804 values of sharding group 3 have different shapes}}
  sdy.sharding_group %arg1 group_id=3 : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2]>

func.func @across(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>]
      manual_axes={"a"} (%arg1: tensor<4xf32>) {
    sdy.sharding_group %arg1 group_id=0 : tensor<4xf32>
    sdy.return %arg1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{SH0804 values of sharding group 0 are not all in the same manual computation}}
  sdy.sharding_group %0 group_id=0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
