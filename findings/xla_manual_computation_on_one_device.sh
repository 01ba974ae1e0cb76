#!/usr/bin/env bash
# XLA compiles a manual computation on a mesh of two devices, but not on a mesh of one.
#
# Version: jax and jaxlib 0.10.2 on the CPU.
# Behaviour: a `sdy.manual_computation` imports as custom calls at its borders, which the SPMD partitioner replaces. With one partition the
# partitioner does not run, although it is selected, and no backend implements the calls. The module verifies, and all its shards are the whole
# values. JAX does not show this, because `shard_map` on one device has no manual computation in its program.
# Seen: `2 partitions: compiles`, `1 partition: no implementation of xla.sdy.GlobalToLocalShape`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import numpy as np
from jax._src.interpreters import mlir
from jaxlib import xla_client
from jaxlib.mlir import ir

TEXT = """module attributes {mhlo.num_partitions = N : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=N]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<LOCALxf32>) {
      %1 = stablehlo.sine %a : tensor<LOCALxf32>
      sdy.return %1 : tensor<LOCALxf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}"""
backend = jax.devices()[0].client
for count in (2, 1):
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = 1, count
    build = options.executable_build_options
    build.num_replicas, build.num_partitions = 1, count
    build.use_spmd_partitioning, build.use_shardy_partitioner = True, True
    build.device_assignment = xla_client.DeviceAssignment.create(np.arange(count).reshape(1, count))
    text = TEXT.replace("LOCAL", str(8 // count)).replace("N", str(count))
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        assert module.operation.verify()
        name = f"{count} partition{'s' if count > 1 else ''}"
        try:
            backend.compile_and_load(module, xla_client.DeviceList(tuple(jax.devices()[:count])), options)
            print(f"{name}: compiles")
        except jax.errors.JaxRuntimeError as error:
            call = "xla.sdy.GlobalToLocalShape"
            print(f"{name}: {f'no implementation of {call}' if call in str(error) and 'NOT_FOUND' in str(error) else error}")
PROGRAM
XLA_FLAGS=--xla_force_host_platform_device_count=2 JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors ||
    { cat errors; exit 1; }
cat > expected <<'EXPECTED'
2 partitions: compiles
1 partition: no implementation of xla.sdy.GlobalToLocalShape
EXPECTED
diff expected output && echo "as described"
