// The output of Shardy's debugging options.
// RUN: shardc propagate %s --debug-sharding-origins | FileCheck %s --check-prefix=ORIGINS
// RUN: shardc propagate %s --debug-propagation-edge-sharding | FileCheck %s --check-prefix=EDGES
// RUN: shardc opt %s -sdy-aggressive-propagate="debug-sharding-origins=true debug-propagation-edge-sharding=true" | FileCheck %s --check-prefix=PASS

// ORIGINS: %arg0: {{.*}}sdy.sharding_origins = {data = "self"}
// ORIGINS-SAME: %arg1: {{.*}}sdy.sharding_origins = {model = "constraint_0"}
// ORIGINS-SAME: -> ({{.*}}sdy.sharding_origins = {data = "input: 0", model = "constraint_0"}
// ORIGINS: sdy.sharding_constraint {{.*}}sdy.sharding_origin_name = "constraint_0", sdy.sharding_origins = {data = "input: 0", model = "self"}

// EDGES: stablehlo.dot_general {{.*}}sdy.propagation_edges = #sdy.propagation_edges<[{step-[[#STEP:]] = [{"data" = operand-0 -> [result-0]}, {"model" = result-0 -> [operand-1]}]}]>
// EDGES: sdy.sharding_constraint {{.*}}{step-[[#STEP-1]] = [{"model" = result-0 -> [operand-0]}]}, {step-[[#STEP+1]] = [{"data" = operand-0 -> [result-0]}]}

// PASS: sdy.propagation_edges = #sdy.propagation_edges<[{step-[[#]] = [{"data" = operand-0 -> [result-0]}
// PASS-SAME: sdy.sharding_origins = [{data = "input: 0", model = "constraint_0"}]
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {"model"}]> : tensor<32x16xf32>
  return %1 : tensor<32x16xf32>
}
