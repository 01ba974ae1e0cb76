"""Compiles programs of `jax.jit` that were partitioned by shardc as one manual computation, and compares values and shardings with JAX's own.

    python jax_manual.py SHARDC        (written for jax 0.10.2; runs on eight devices of the CPU)
"""
import os
import subprocess
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import compiler
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from jaxlib.mlir import ir

XLA = compiler.backend_compile_and_load
partitioned = 0


def with_shardc(backend, module, devices, options, callbacks):
    """Replaces a program for several devices by its partition, before XLA compiles it."""
    global partitioned
    if options.num_partitions > 1:
        command = [sys.argv[1], "partition", "-", "--manual-computation", "--emit", "generic", "-o", "-"]
        run = subprocess.run(command, input=str(module), capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        with module.context:
            module = ir.Module.parse(run.stdout)
        partitioned += 1
    return XLA(backend, module, devices, options, callbacks)


def loss(params, x, y):
    hidden = jnp.tanh(x @ params["first"])
    return jnp.mean((hidden @ params["second"] - y) ** 2)


def step(params, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value


def scanned(params, x, y):
    def layer(x, _):
        return jnp.tanh(x @ params["first"] @ params["second"]) + x[:, :1], None
    return jax.lax.scan(layer, x, length=3)[0] - y[:, :1]


mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)


def placed(value, *spec):
    return jax.device_put(value, NamedSharding(mesh, PartitionSpec(*spec)))


def inputs(width):
    keys = jax.random.split(jax.random.key(0), 4)
    params = {"first": placed(jax.random.normal(keys[0], (64, 128)), None, "model"),
              "second": placed(jax.random.normal(keys[1], (128, width)), "model", None)}
    return params, placed(jax.random.normal(keys[2], (32, 64)), "data"), placed(jax.random.normal(keys[3], (32, width)), "data")


for function, width, donated in [(step, 16, ()), (step, 16, (0,)), (scanned, 64, ()), (jax.grad(loss), 16, ())]:
    compiler.backend_compile_and_load = XLA
    expected = jax.device_get(jax.jit(function)(*inputs(width)))
    arguments = inputs(width)
    jax.clear_caches()
    compiler.backend_compile_and_load, before = with_shardc, partitioned
    jitted = jax.jit(function, donate_argnums=donated)
    found = jitted(*arguments)
    assert partitioned == before + 1
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6), jax.device_get(found), expected)
    if function is step:
        assert found[0]["first"].sharding.spec == PartitionSpec(None, "model"), found[0]["first"].sharding
        assert arguments[0]["first"].is_deleted() == bool(donated)
        # The updated parameters are arguments of the same executable.
        jitted(found[0], *arguments[1:])
        assert partitioned == before + 1
print(partitioned, "programs")
