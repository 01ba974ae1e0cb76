// RUN: shardc opt %s --passes sdy-sharding-group-import | FileCheck %s

// A value in two groups merges them, also transitively. The representative is the group that comes first at a value with several groups.
// CHECK-LABEL: func @joined
func.func @joined(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<8xf32>, %arg3: tensor<4xf32>) {
  // CHECK-NEXT: sdy.sharding_group %arg0 group_id=1
  // CHECK-NEXT: sdy.sharding_group %arg2 group_id=0
  // CHECK-NEXT: sdy.sharding_group %arg1 group_id=1
  // CHECK-NEXT: sdy.sharding_group %arg3 group_id=1
  // CHECK-NEXT: return
  sdy.sharding_group %arg0 group_id=70 : tensor<4xf32>
  sdy.sharding_group %arg2 group_id=5 : tensor<8xf32>
  sdy.sharding_group %arg0 group_id=70 : tensor<4xf32>
  sdy.sharding_group %arg1 group_id=9 : tensor<4xf32>
  sdy.sharding_group %arg1 group_id=70 : tensor<4xf32>
  sdy.sharding_group %arg3 group_id=9 : tensor<4xf32>
  return
}
