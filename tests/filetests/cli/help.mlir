// Every command has a description and an example in its help.
// RUN: shardc --help | FileCheck %s
// RUN: for command in partition propagate explain lint verify run launch compile ops opt plugin completions man; do \
// RUN:   shardc $command --help | grep -q "shardc $command" || exit 1; done

// CHECK: annotated StableHLO in, the per-device program out
// CHECK: partition
// CHECK: verify
// CHECK: Example
// CHECK: shardc partition step.mlir -o step.partitioned.mlir --manifest step.json
// CHECK: Exit code: 0
