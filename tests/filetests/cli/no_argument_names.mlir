// For a program without argument names, the error shows how a front end writes them.
// RUN: not shardc partition %s --mesh x=2 --spec "params['w']=x" -o %t 2>&1 | FileCheck %s
// RUN: not shardc grad %s --wrt params 2>&1 | FileCheck %s

// CHECK: error[SH0333]: no argument {{.*}}is named
// CHECK: their positional names are arg0{{.*}}; the arguments of the program have no names; JAX writes them with `jax.jit(f).lower(...).as_text(debug_info=True)`
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  return %arg0 : tensor<4xf32>
}
