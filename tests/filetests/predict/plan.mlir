// The plan of a program: memory by class, collectives by axis and link, time, and changes that help.
// RUN: shardc plan %s --target v5e:2x2 | FileCheck %s
// RUN: shardc plan %s --target v5e:2x2 --memory 16MiB --fits > %t; test $? = 1
// RUN: FileCheck %s --check-prefix=SMALL --input-file=%t
// RUN: not shardc plan %s --target v5e:4x4 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not shardc plan %s --target v9:2x2 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not shardc plan %s --target a100:4 2>&1 | FileCheck %s --check-prefix=MEANT
// RUN: shardc plan %s --target v5e:2x2 --json %t.json --html %t.html --timings %t.times 2>&1 | FileCheck %s --check-prefix=WROTE
// RUN: FileCheck %s --check-prefix=TIMES --input-file=%t.times

// CHECK: v5e:2x2: 4 devices with 15.8 GiB
// CHECK: axis "data": 4 devices, ICI,
// CHECK: memory of a device:
// CHECK: communication of a device:
// CHECK: all_gather along data: once, 24.0 MiB over ICI
// CHECK: time of one execution:
// CHECK: changes, fastest first
// CHECK: do not shard arg1 by "data": {{.*}} faster, {{.*}} more memory
// CHECK: --spec "arg1=-,-"
// SMALL: it does not fit: the program needs up to {{.*}}, a device has 16.0 MiB
// DEVICES: error[SH1601]: the mesh has 4 devices, but v5e:4x4 has 16
// MEANT: there is no device "a100"; did you mean a100-40gb or a100-80gb? known devices are cpu
// WROTE: wrote {{.*}}.json
// WROTE-NEXT: wrote {{.*}}.html
// TIMES: propagate
// KIND: there is no device "v9"; known devices are cpu, v4, v5e

sdy.mesh @mesh = <["data"=4]>
func.func @main(
    %x: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %v: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %1 : tensor<4096x4096xbf16>
}
