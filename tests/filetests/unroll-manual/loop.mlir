// A loop with collectives in its body: all coordinates iterate until the last one is done, and those that are done
// keep their values. A loop without collectives is copied.
// RUN: shardc opt %s --passes unroll-manual | FileCheck %s

// CHECK: %[[N0:.*]] = stablehlo.slice {{.*}} [0:1]
// CHECK: %[[N1:.*]] = stablehlo.slice {{.*}} [1:2]
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<i32>
// CHECK: %[[P:.*]] = stablehlo.compare LT
// CHECK: %[[Q:.*]] = stablehlo.compare LT
// CHECK: %[[ANY:.*]] = stablehlo.or %[[P]], %[[Q]] : tensor<i1>
// CHECK-NEXT: stablehlo.return %[[ANY]]
// CHECK: stablehlo.maximum
// CHECK-COUNT-2: stablehlo.select
// CHECK-NOT: all_reduce
// CHECK-NOT: manual_computation
// CHECK: stablehlo.while({{.*}}) : tensor<i32>{{$}}
// CHECK: stablehlo.while({{.*}}) : tensor<i32>{{$}}
sdy.mesh @mesh = <["m"=2]>
func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"m"}]>] out_shardings=[<@mesh, [{"m"}]>] manual_axes={"m"} (%p: tensor<1xi32>) {
    %1 = stablehlo.reshape %p : (tensor<1xi32>) -> tensor<i32>
    %2 = stablehlo.while(%i = %1) : tensor<i32>
    cond {
      %n = stablehlo.constant dense<9> : tensor<i32>
      %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %most = "stablehlo.all_reduce"(%i) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%l: tensor<i32>, %r: tensor<i32>):
        %s = stablehlo.maximum %l, %r : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %most, %one : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
    %3 = stablehlo.while(%i = %2) : tensor<i32>
    cond {
      %n = stablehlo.constant dense<20> : tensor<i32>
      %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %i : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
    %4 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
    sdy.return %4 : tensor<1xi32>
  } : (tensor<2xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
