// A program without annotations is not planned for several devices; the hint names the options that shard it.
// RUN: not shardc plan %s --target v5e:2x2 2>&1 | FileCheck %s

// CHECK: error[SH0303]: the program has no mesh
// CHECK: as in `--fsdp full_shard --mesh fsdp=8`, or find a strategy with `shardc auto`

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
