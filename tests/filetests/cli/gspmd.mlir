// A program that is annotated for GSPMD is refused rather than partitioned as if it were not annotated.
// RUN: not shardc partition %s -o - 2>&1 | FileCheck %s
// RUN: not shardc partition %s -o - --mesh data=4 2>&1 | FileCheck %s

// CHECK: error[SH0308]: the program is annotated for GSPMD (mhlo.sharding)
// CHECK: gspmd.mlir:[[#@LINE+2]]:
// CHECK: help: lower it with Shardy annotations
func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
