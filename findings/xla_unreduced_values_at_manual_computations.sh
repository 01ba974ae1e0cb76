#!/usr/bin/env bash
# XLA takes an unreduced argument in a manual computation only through a sharding constraint, and returns no unreduced maximum from one.
#
# Version: jax and jaxlib 0.11.1 on the CPU, which need Python 3.12 or newer. jaxlib 0.10.2 compiles the first program too.
# Behaviour: both modules verify. XLA runs Shardy's check of unreduced axes after propagation. The manual computation that all-reduces the argument
# "drops" its unreduced axis, unless a constraint with the same sharding stands before it, which changes nothing. As unreduced results it may only
# "introduce" sums, although the type of the result says `unreduced=max`, as it may for other operations.
# Seen: `psum of an unreduced argument: rejected`, `the same behind a constraint: compiles`, `an unreduced sum as result: compiles`,
# `an unreduced maximum as result: rejected`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 12))' || { echo "needs Python 3.12: set PYTHON"; exit 1; }
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input jax==0.11.1 jaxlib==0.11.1
cd "$work"
cat > program.py <<'PROGRAM'
import jax
import numpy as np
from jax._src.interpreters import mlir
from jaxlib import xla_client
from jaxlib.mlir import ir

UNREDUCED = '@mesh, [{}], unreduced={"x"}'
MAXIMUM = '@mesh, [{}], unreduced=max{"x"}'
REDUCED = "@mesh, [{}]"
PSUM = """%0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<8xf32>) -> tensor<8xf32>"""
SINE = "%0 = stablehlo.sine %a : tensor<8xf32>"


def program(argument, result, body, before=""):
    return f"""module attributes {{mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32}} {{
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<8xf32> {{sdy.sharding = #sdy.sharding<{argument}>}}) -> (tensor<8xf32> {{sdy.sharding = #sdy.sharding<{result}>}}) {{
    {before}
    %r = sdy.manual_computation({"%c" if before else "%x"}) in_shardings=[<{argument}>] out_shardings=[<{result}>] manual_axes={{"x"}} (%a: tensor<8xf32>) {{
      {body}
      sdy.return %0 : tensor<8xf32>
    }} : (tensor<8xf32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }}
}}"""


programs = {
    "psum of an unreduced argument": program(UNREDUCED, REDUCED, PSUM),
    "the same behind a constraint": program(UNREDUCED, REDUCED, PSUM, f"%c = sdy.sharding_constraint %x <{UNREDUCED}> : tensor<8xf32>"),
    "an unreduced sum as result": program(REDUCED, UNREDUCED, SINE),
    "an unreduced maximum as result": program(REDUCED, MAXIMUM, SINE),
}
backend = jax.devices()[0].client
for name, text in programs.items():
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = 1, 2
    build = options.executable_build_options
    build.num_replicas, build.num_partitions = 1, 2
    build.use_spmd_partitioning, build.use_shardy_partitioner = True, True
    build.device_assignment = xla_client.DeviceAssignment.create(np.arange(2).reshape(1, 2))
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        assert module.operation.verify()
        try:
            backend.compile_and_load(module, xla_client.DeviceList(tuple(jax.devices()[:2])), options)
            print(f"{name}: compiles")
        except jax.errors.JaxRuntimeError as error:
            known = "dropped unreduced axis" in str(error) or "cannot introduce 'max' unreduced axes" in str(error)
            print(f"{name}: {'rejected' if known else error}")
PROGRAM
XLA_FLAGS=--xla_force_host_platform_device_count=2 JAX_PLATFORMS=cpu "$work/venv/bin/python" program.py > output 2> errors ||
    { cat errors; exit 1; }
cat > expected <<'EXPECTED'
psum of an unreduced argument: rejected
the same behind a constraint: compiles
an unreduced sum as result: compiles
an unreduced maximum as result: rejected
EXPECTED
diff expected output && echo "as described"
