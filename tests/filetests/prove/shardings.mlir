// Without a manifest, the blocks are those of the original's shardings. The partition has the form of Shardy's: offsets are read from a
// table at the number of the partition. The wrong table has the offsets of another axis, and the wrong permute the blocks of other devices.
// RUN: shardc prove %s %S/Inputs/shardings.part | FileCheck %s
// RUN: sed 's/\[0, 2, 0, 2\]/[0, 0, 2, 2]/' %S/Inputs/shardings.part > %t.table.mlir
// RUN: not shardc prove %s %t.table.mlir | FileCheck %s --check-prefix WRONG
// RUN: sed 's/\[1, 2\], \[2, 1\]/[1, 1], [2, 2]/' %S/Inputs/shardings.part > %t.pairs.mlir
// RUN: not shardc prove %s %t.pairs.mlir | FileCheck %s --check-prefix WRONG
// RUN: sed 's/, \[{"a"}, {"b"}\]>})/, [{"a"}, {}]>})/' %s > %t.other.mlir
// RUN: not shardc prove %t.other.mlir %S/Inputs/shardings.part 2>&1 | FileCheck %s --check-prefix TYPES
// RUN: sed 's/ {sdy.sharding = [^}]*}[^}]*}[^}]*}//; /sdy.mesh/d' %S/../autodiff/layer.mlir > %t.plain.mlir
// RUN: not shardc prove %t.plain.mlir %S/Inputs/shardings.part 2>&1 | FileCheck %s --check-prefix COUNT

// CHECK: proven: in exact arithmetic, for all inputs; outputs proven: 1 of 1

// WRONG: refuted: results differ for random inputs; outputs proven: 0 of 1

// TYPES: error[SH0715]: result 0 of the partition is tensor<4x2xf32>, but its sharding in the original, [{a}, {}], has blocks of tensor<4x4xf32>
// TYPES: help: pass the original after the propagation of the compiler that partitioned it

// COUNT: error[SH0715]: the original has {{[0-9]+}} arguments, and the partition 3
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(
    %x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>},
    %y: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>},
    %z: tensor<4xf32>)
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) {
  %0 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<8x4xf32>
  %2 = stablehlo.broadcast_in_dim %z, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.add %1, %2 : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}
