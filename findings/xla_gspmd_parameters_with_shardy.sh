#!/usr/bin/env bash
# XLA with Shardy keeps a `@Sharding` call of GSPMD, but replicates a parameter that has only an `mhlo.sharding` attribute.
#
# Version: jax and jaxlib 0.10.2 on the CPU.
# Behaviour: PJRT looks for GSPMD annotations to decide whether Shardy can be used. A `@Sharding` custom call makes it fall back to GSPMD, with a
# warning. An `mhlo.sharding` attribute of a parameter does not: Shardy runs, does not read the attribute, and the program that is compiled
# takes the whole value on each device, without an error or a warning. With Shardy off, both programs take halves.
# Seen: parameter shapes `f32[8]` with Shardy and `f32[4]` without it for the attribute, `f32[4]` in both cases for the call.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.10.2 jaxlib==0.10.2
cd "$work"
cat > program.py <<'PROGRAM'
import re

import jax
import numpy as np
from jax._src.interpreters import mlir
from jaxlib import xla_client
from jaxlib.mlir import ir

HALVES = '{mhlo.sharding = "{devices=[2]<=[2]}"}'
ATTRIBUTE = f"""module attributes {{mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func @main(%x: tensor<8xf32> {HALVES}) -> tensor<8xf32> {{
    %0 = stablehlo.sine %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }}
}}"""
CALL = ATTRIBUTE.replace(
    "    %0 = stablehlo.sine %x", f"    %c = stablehlo.custom_call @Sharding(%x) {HALVES} : (tensor<8xf32>) -> tensor<8xf32>\n    %0 = stablehlo.sine %c"
)


def parameter(text, shardy):
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = 1, 2
    build = options.executable_build_options
    build.num_replicas, build.num_partitions = 1, 2
    build.use_spmd_partitioning, build.use_shardy_partitioner = True, shardy
    build.device_assignment = xla_client.DeviceAssignment.create(np.arange(2).reshape(1, 2))
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        compiled = jax.devices()[0].client.compile_and_load(module, xla_client.DeviceList(tuple(jax.devices())), options)
    return re.search(r"= (f32\[\d+\])\S* parameter\(0\), sharding", compiled.hlo_modules()[0].to_string())[1]


for name, text in (("attribute", ATTRIBUTE), ("call", CALL)):
    print(f"{name}: {parameter(text, True)} with Shardy, {parameter(text, False)} without")
PROGRAM
XLA_FLAGS=--xla_force_host_platform_device_count=2 JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors ||
    { cat errors; exit 1; }
cat > expected <<'EXPECTED'
attribute: f32[8] with Shardy, f32[4] without
call: f32[4] with Shardy, f32[4] without
EXPECTED
diff expected output && echo "as described"
