"""Compares shardc with XLA's partitioner in JAX, side by side in one run: the time to compile programs, and the time of a call.

    python jax_compile.py PROGRAM.mlir ...        (with shardc and jax installed; eight devices of the CPU)

Compile times are processor seconds, the least of `RUNS` runs that take turns: XLA partitions and compiles the module; or shardc reads its bytecode, partitions it and
writes bytecode, and XLA compiles that. A call is a training step with ten arrays, whose time without the execution is what JAX and the plugin add.
"""

import math
import os
import pathlib
import re
import statistics
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from jaxlib import xla_client
from jaxlib.mlir import ir

import shardc
from shardc import _jax

RUNS = 3
CALLS = 300


def options(partitions, shardy=True):
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    for each in (options, build):
        each.num_replicas, each.num_partitions = 1, partitions
    build.use_spmd_partitioning, build.use_shardy_partitioner = True, shardy
    build.device_assignment = xla_client.DeviceAssignment.create(np.arange(partitions).reshape(1, partitions))
    return options


def compile_time(text, options, partition):
    """Processor seconds to compile a module, and of these the seconds of `partition`."""
    partitions = options.num_partitions
    devices = jax.devices()[:partitions]
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        begun = time.process_time()
        module = partition(module)
        partitioned = time.process_time()
        devices[0].client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), options)
        return time.process_time() - begun, partitioned - begun


def compare(paths):
    ours = _jax._Options.of(
        {"strict": False, "target": None, "combine_bytes": 0, "rules": None, "warn": False, "fallback": False}, {}
    )
    ratios = []
    for path in paths:
        text = pathlib.Path(path).read_text()
        partitions = int(re.search(r"num_partitions = (\d+)", text)[1])
        if not 2 <= partitions <= 8:
            continue
        # With Shardy on, XLA ignores GSPMD annotations of parameters and partitions nothing.
        for_xla, for_shardc = options(partitions, shardy="sdy." in text), options(partitions)
        runs = [
            (
                compile_time(text, for_xla, lambda module: module)[0],
                compile_time(text, for_shardc, lambda module: _jax._partitioned(module, "module", ours, for_shardc)),
            )
            for _ in range(RUNS)
        ]
        by_xla, (by_shardc, own) = map(min, zip(*runs))
        ratios.append(by_shardc / by_xla)
        print(f"{pathlib.Path(path).stem:40} XLA {by_xla:6.2f} s   shardc {by_shardc:6.2f} s, itself {own:.3f} s   ratio {ratios[-1]:.2f}", flush=True)
    if ratios:
        print(f"{len(ratios)} programs, geometric mean of the ratios {math.exp(statistics.fmean(map(math.log, ratios))):.3f}")


def call_times(*jits):
    """Microseconds until a call returns, before its results are ready: the median for each kind of `jit`, whose calls take turns."""
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    arrays = [jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("data", "model"))) for _ in range(10)]
    functions = [jit(lambda *arrays: [array + 1 for array in arrays]) for jit in jits]
    times = [[] for _ in jits]
    for call in range(CALLS):
        for fun, of_fun in zip(functions, times):
            begun = time.perf_counter()
            results = fun(*arrays)
            if call > 0:
                of_fun.append(time.perf_counter() - begun)
            jax.block_until_ready(results)
    return [statistics.median(of_fun) * 1e6 for of_fun in times]


if __name__ == "__main__":
    compare(sys.argv[1:])
    by_jax, by_shardc = call_times(jax.jit, shardc.jit)
    print(f"a call with ten arrays: jax.jit {by_jax:.0f} us, shardc.jit {by_shardc:.0f} us")
