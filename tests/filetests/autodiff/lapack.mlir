// LAPACK custom calls, as JAX emits them for CPUs, have the derivatives that JAX defines for their operations.
// RUN: shardc grad %s --wrt a -o - | FileCheck %s

// The permutation given by the pivots of `getrf`.
// CHECK: %[[LU:.*]]:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%arg0)
// CHECK: stablehlo.while
// CHECK: %[[X:.*]] = stablehlo.custom_call @lapack_strsm_ffi
// `geqrf`: the derivative computes the orthogonal factor.
// CHECK: %[[QR:.*]]:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%arg0)
// CHECK: stablehlo.custom_call @lapack_sorgqr_ffi(%[[QR]]#0, %[[QR]]#1)
// Singular values only: the derivative computes the vectors.
// CHECK: stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {{.*}}mode = 78
// CHECK: stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {{.*}}mode = 83
// CHECK: stablehlo.custom_call @lapack_ssyevd_ffi(%arg0)
// CHECK: "stablehlo.triangular_solve"
// CHECK: return
func.func @main(%a: tensor<3x3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<3x3xf32>
  %lu:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%a) {backend_config = "", mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<i32>)
  %x = stablehlo.custom_call @lapack_strsm_ffi(%lu#0, %a) {backend_config = "", mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %qr:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) {backend_config = "", mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>)
  %rows = stablehlo.iota dim = 0 : tensor<3x3xi32>
  %columns = stablehlo.iota dim = 1 : tensor<3x3xi32>
  %below = stablehlo.compare GT, %rows, %columns : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
  %r = stablehlo.select %below, %zeros, %qr#0 : tensor<3x3xi1>, tensor<3x3xf32>
  %svd:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%a) {backend_config = "", mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<i32>)
  %eigh:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%a) {backend_config = "", mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<i32>)
  %s = stablehlo.add %x, %r : tensor<3x3xf32>
  %t = stablehlo.add %s, %eigh#0 : tensor<3x3xf32>
  %u = stablehlo.add %svd#1, %eigh#1 : tensor<3xf32>
  %sum = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<f32>
  %more = stablehlo.reduce(%u init: %sum) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %more : tensor<f32>
}
