"""Prints the shardings of a program's results in XLA with the Shardy partitioner, as a JSON list of HLO shardings.

    xla_results.py FILE DEVICES

The program is compiled for virtual CPU devices, but not executed. XLA expands CHLO and inlines calls before it runs Shardy.
needs: jax
"""
import json, os, sys

path, devices = sys.argv[1], int(sys.argv[2])
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
import jax
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import xla_client
from jaxlib.mlir import ir

context = jax_mlir.make_ir_context()
context.allow_unregistered_dialects = True
with context:
    module = ir.Module.parse(open(path).read())
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 1
    options.num_partitions = build.num_partitions = devices
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_output = [True]
    where = xla_client.DeviceList(tuple(jax.devices()[:devices]))
    executable = jax.devices()[0].client.compile_and_load(module, where, options)
print(json.dumps([str(xla_client.HloSharding.from_proto(s)) for s in executable.get_output_shardings()]))
