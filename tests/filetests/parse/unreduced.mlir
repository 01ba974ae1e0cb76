// Unreduced shardings round-trip, with every kind of reduction that planning produces.
// RUN: shardc opt %s | FileCheck %s

sdy.mesh @mesh = <["a"=2]>

// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"a"}>}
// CHECK-SAME: %arg1: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"a"}>}
// CHECK-SAME: unreduced=mul{"a"}
// CHECK-SAME: unreduced=max{"a"}
// CHECK-SAME: unreduced=min{"a"}
// CHECK-SAME: unreduced=and{"a"}
// CHECK-SAME: unreduced=or{"a"}
// CHECK-SAME: unreduced=xor{"a"}
func.func @main(
    %0: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"a"}>},
    %1: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=sum{"a"}>},
    %2: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=mul{"a"}>},
    %3: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=max{"a"}>},
    %4: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=min{"a"}>},
    %5: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=and{"a"}>},
    %6: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=or{"a"}>},
    %7: tensor<4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=xor{"a"}>}) {
  return
}
