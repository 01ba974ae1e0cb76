// A loop that only accumulates all-reduced sums accumulates partial sums instead, with one all-reduce after the loop.
// RUN: shardc partition %S/../../programs/small/loop_accumulates.mlir -o %t --summary 2>&1 | FileCheck %s
// RUN: shardc partition %S/../../programs/small/loop_accumulates.mlir -o %t --summary --keep-bytes 0 2>&1 | FileCheck %s --check-prefix=OFF --implicit-check-not=completed
// RUN: shardc opt %S/../../programs/small/loop_accumulates.mlir --passes propagate,plan,merge-reductions,defer-sums,verify-collectives | FileCheck %s --check-prefix=PLAN

// CHECK: all_reduce 1 0 1 432 B
// CHECK: collectives cleaned up: 1 combined into others, 2 deferred past a loop
// OFF: all_reduce 1 1

// PLAN: stablehlo.while
// PLAN: stablehlo.return
// PLAN-NOT: sdy.reshard
// PLAN: stablehlo.return %{{.*}}, %{{.*}}, %{{.*}} :
// PLAN: sdy.reshard
// PLAN: stablehlo.add %arg1
// PLAN: sdy.reshard
