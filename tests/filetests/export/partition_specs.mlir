// Partition specs and the shardings that PyTorch/XLA writes for eight devices as device lists: exported as equivalent
// iotas, and imported from lists.
// RUN: split-file %s %t
// RUN: shardc opt %t/specs.mlir --passes export-gspmd | FileCheck %s
// RUN: shardc propagate %t/lists.mlir --mesh data=4,model=2 | FileCheck %s --check-prefix=READ

//--- specs.mlir
sdy.mesh @mesh = <["data"=4, "model"=2]>
sdy.mesh @cube = <["a"=2, "b"=2, "c"=2]>
sdy.mesh @reversed = <["data"=4, "model"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
sdy.mesh @column = <["data"=8, "model"=1]>
func.func @main(
  // CHECK: %arg0: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,2]<=[8]}"}
  %both: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
  // CHECK-SAME: %arg1: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,4]<=[4,2]T(1,0)}"}
  %turned: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>},
  // CHECK-SAME: %arg2: tensor<2x8x4xf32> {mhlo.sharding = "{devices=[1,4,2]<=[8]}"}
  %rank3: tensor<2x8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {"model"}]>},
  // CHECK-SAME: %arg3: tensor<8xf32> {mhlo.sharding = "{devices=[4,2]<=[8] last_tile_dim_replicate}"}
  %vector: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>},
  // CHECK-SAME: %arg4: tensor<8xf32> {mhlo.sharding = "{devices=[8]<=[8]}"}
  %pair: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}]>},
  // CHECK-SAME: %arg5: tensor<8xf32> {mhlo.sharding = "{devices=[8]<=[4,2]T(1,0)}"}
  %pair_turned: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model", "data"}]>},
  // CHECK-SAME: %arg6: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}
  %rows: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
  // CHECK-SAME: %arg7: tensor<8x4xf32> {mhlo.sharding = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"}
  %columns: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
  // CHECK-SAME: %arg8: tensor<8x4xf32> {mhlo.sharding = "{replicated}"}
  %whole: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
  // CHECK-SAME: %arg9: tensor<f32> {mhlo.sharding = "{replicated}"}
  %number: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>},
  // CHECK-SAME: %arg10: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1,2]<=[4,2]T(1,0) last_tile_dim_replicate}"}
  %two_of_three: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@cube, [{"c", "a"}, {}]>},
  // CHECK-SAME: %arg11: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,2]7,6,5,4,3,2,1,0}"}
  %ids: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@reversed, [{"data"}, {"model"}]>},
  // CHECK-SAME: %arg12: tensor<8x4xf32> {mhlo.sharding = "{replicated}"}
  %axis_of_one: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@column, [{}, {"model"}]>},
  // CHECK-SAME: %arg13: tensor<9x5xf32> {mhlo.sharding = "{devices=[4,2]<=[8]}"}
  %uneven: tensor<9x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
  // CHECK-SAME: %arg14: tensor<2x4xf32> {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}
  %fewer_rows_than_devices: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x4xf32> {
  return %both : tensor<8x4xf32>
}

//--- lists.mlir
func.func @main(
  // READ: %arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}
  %both: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,2]0,1,2,3,4,5,6,7}"},
  // READ-SAME: %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>}
  %turned: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,4]0,2,4,6,1,3,5,7}"},
  // READ-SAME: %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}
  %vector: tensor<8xf32> {mhlo.sharding = "{devices=[4,2]0,1,2,3,4,5,6,7 last_tile_dim_replicate}"},
  // READ-SAME: %arg3: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}]>}
  %pair: tensor<8xf32> {mhlo.sharding = "{devices=[8]0,1,2,3,4,5,6,7}"},
  // READ-SAME: %arg4: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model", "data"}]>}
  %pair_turned: tensor<8xf32> {mhlo.sharding = "{devices=[8]0,2,4,6,1,3,5,7}"},
  // READ-SAME: %arg5: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}
  %rows: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1,2]0,1,2,3,4,5,6,7 last_tile_dim_replicate}"},
  // READ-SAME: %arg6: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}
  %columns: tensor<8x4xf32> {mhlo.sharding = "{devices=[1,2,4]0,2,4,6,1,3,5,7 last_tile_dim_replicate}"},
  // READ-SAME: %arg7: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}
  %whole: tensor<8x4xf32> {mhlo.sharding = "{replicated}"},
  // READ-SAME: %arg8: tensor<9x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}
  %uneven: tensor<9x5xf32> {mhlo.sharding = "{devices=[4,2]0,1,2,3,4,5,6,7}"},
  // PyTorch/XLA takes no more than five dimensions.
  // READ-SAME: %arg9: tensor<8x1x1x1x1x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}, {}, {}, {"model"}]>}
  %rank6: tensor<8x1x1x1x1x4xf32> {mhlo.sharding = "{devices=[4,1,1,1,1,2]0,1,2,3,4,5,6,7}"}) -> tensor<8x4xf32> {
  return %both : tensor<8x4xf32>
}
