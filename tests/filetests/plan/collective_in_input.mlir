// A program that has collectives already is not for one device: refused, with what to do.
// RUN: not shardc partition %s -o %t.mlir 2>&1 | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK: error[SH0304]: stablehlo.all_gather in a program that is still to be partitioned
// CHECK: = help: write the program for one device and annotate it
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<32xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
