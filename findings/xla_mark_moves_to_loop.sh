#!/usr/bin/env bash
# A conversion to the same type decides whether XLA accepts a loop in a program that is already partitioned.
#
# Version: jax and jaxlib 0.10.2 on the CPU; 0.12.0.1 does the same.
# Behaviour: each operation carries mhlo.sharding = "{manual}", which the loops need not. The importer removes a conversion to the
# same type and moves its mark to the operation that defines the operand. That is the inner loop here, which also reads an
# argument of the outer loop that has no mark. The verifier then refuses the loop as inconsistent. Without the conversion the
# program compiles.
# Seen: `without: compiles`, `with: Inconsistent while sharding`.
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

TEXT = """module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%w: tensor<4x4xf32> MARK, %x: tensor<4xf32> MARK) -> (tensor<4xf32> MARK) {
    %zero = stablehlo.constant MARK dense<0> : tensor<i32>
    %one = stablehlo.constant MARK dense<1> : tensor<i32>
    %n = stablehlo.constant MARK dense<4> : tensor<i32>
    %0:2 = stablehlo.while(%a = %x, %i = %zero) : tensor<4xf32>, tensor<i32>
    cond {
      %1 = stablehlo.compare LT, %i, %n MARK : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.sine %a MARK : tensor<4xf32>
      %2:2 = stablehlo.while(%b = %1, %j = %zero) : tensor<4xf32>, tensor<i32>
      cond {
        %6 = stablehlo.compare LT, %j, %n MARK : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %6 : tensor<i1>
      } do {
        %6 = stablehlo.dot_general %w, %b, contracting_dims = [1] x [0] MARK : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %7 = stablehlo.add %j, %one MARK : tensor<i32>
        stablehlo.return %6, %7 : tensor<4xf32>, tensor<i32>
      }
      CONVERT
      %4 = stablehlo.cosine %READ MARK : tensor<4xf32>
      %5 = stablehlo.add %i, %one MARK : tensor<i32>
      stablehlo.return %4, %5 : tensor<4xf32>, tensor<i32>
    }
    return %0#0 : tensor<4xf32>
  }
}"""
backend, devices = jax.devices()[0].client, tuple(jax.devices()[:2])
options = xla_client.CompileOptions()
options.num_replicas, options.num_partitions = 1, 2
build = options.executable_build_options
build.num_replicas, build.num_partitions, build.use_spmd_partitioning = 1, 2, True
build.device_assignment = xla_client.DeviceAssignment.create(np.arange(2).reshape(1, 2))
conversion = "%3 = stablehlo.convert %2#0 MARK : tensor<4xf32>"
for name, convert, read in (("without", "", "2#0"), ("with", conversion, "3")):
    text = TEXT.replace("CONVERT", convert).replace("READ", read)
    text = text.replace("MARK", '{mhlo.sharding = "{manual}"}')
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        try:
            backend.compile_and_load(module, xla_client.DeviceList(devices), options)
            print(f"{name}: compiles")
        except jax.errors.JaxRuntimeError as error:
            said = "Inconsistent while sharding"
            print(f"{name}: {said if said in str(error) else error}")
PROGRAM
XLA_FLAGS=--xla_force_host_platform_device_count=2 JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors ||
    { cat errors; exit 1; }
cat > expected <<'EXPECTED'
without: compiles
with: Inconsistent while sharding
EXPECTED
diff expected output && echo "as described"
