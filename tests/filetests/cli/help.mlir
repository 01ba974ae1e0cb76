// Every command has a description and an example in its help.
// RUN: shardc --help | FileCheck %s
// RUN: for command in partition propagate explain lint prove verify run launch compile ops opt plugin completions man; do \
// RUN:   shardc $command --help | grep -q "shardc $command" || exit 1; done
// RUN: shardc help sh0310 | FileCheck %s --check-prefix=CODE
// RUN: shardc help RT0101 --format json | FileCheck %s --check-prefix=JSON
// RUN: shardc help fsdp apply | FileCheck %s --check-prefix=COMMAND
// RUN: not shardc help SH0320 2>&1 | FileCheck %s --check-prefix=NO-CODE
// RUN: not shardc help partitio 2>&1 | FileCheck %s --check-prefix=NO-COMMAND

// CODE: SH0310: An operation cannot be sharded along a dimension, so its operand is all-gathered
// CODE-NEXT: (warning, unsupported)
// JSON: "code": "RT0101"
// JSON: "title": "No plugin was found"
// COMMAND: Usage: shardc fsdp apply
// NO-CODE: error: there is no diagnostic code SH0320
// NO-CODE: = help: the nearest code is SH0321:
// NO-COMMAND: partition

// CHECK: annotated StableHLO in, the per-device program out
// CHECK: partition
// CHECK: verify
// CHECK: Example
// CHECK: shardc partition step.mlir -o step.partitioned.mlir --manifest step.json
// CHECK: Exit code: 0
