// A type or attribute alias cannot refer to itself; an alias may define an element type.
// RUN: not shardc opt %s -split-input-file 2>&1 | FileCheck %s

// CHECK: error[SH0112]: the type alias `!t` refers to itself
!t = tensor<!t>
func.func @tensor(%a: !t) {
  return
}

// -----

// CHECK: error[SH0112]: the type alias `!u` refers to itself
!t = tuple<!u>
!u = tuple<!t>
func.func @tuple(%a: !u) {
  return
}

// -----

// CHECK: error[SH0112]: the type alias `!none` is not defined
func.func @unknown(%a: tensor<2x!none>) {
  return
}

// -----

// CHECK: error[SH0112]: the attribute alias `#a` refers to itself{{$}}
// CHECK-NEXT: recursive_aliases.mlir:[[#@LINE+1]]:6
#a = #a
func.func @attribute() attributes {k = #a} {
  return
}

// -----

// CHECK: error[SH0112]: the attribute alias `#a` refers to itself, through `#b`{{$}}
// CHECK-NOT: nested more than
#a = ["#c", #b]
#b = {b = [#a]}
#c = 1 : i32
func.func @attributes() attributes {k = #c, l = #b} {
  return
}

// -----

// CHECK: error[SH0112]: the attribute alias `#loc2` refers to itself, through `#loc4` to `#loc3`{{$}}
#loc1 = loc("\"#loc1\"")
#loc2 = loc(callsite(#loc1 at #loc4))
#loc3 = loc(fused[#loc1, #loc2])
#loc4 = loc("x"(#loc3))
func.func @locations(%a: tensor<f32> loc(#loc3)) {
  return
}
