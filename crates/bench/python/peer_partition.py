"""Partitions a program with Shardy or XLA, and writes the two programs that `shardc prove` compares.

    peer_partition.py shardy|xla FILE DEVICES ORIGINAL PARTITIONED

ORIGINAL is the program with the shardings that the peer chose for arguments and results. PARTITIONED is StableHLO with local types and
collectives. Shardy is the pipeline of passes in jaxlib. XLA's partitioner runs for virtual CPU devices; jaxlib converts its HLO. XLA
simplifies the program and folds constants before it partitions, so ORIGINAL is the input of its partitioner.
needs: jax
"""
import glob
import os
import sys
import tempfile

peer, path, devices, original_path, partitioned_path = sys.argv[1:]
dump = tempfile.TemporaryDirectory()
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Groups as mesh axes would lose the order of the devices in jaxlib's conversion, so XLA writes them as lists.
os.environ["XLA_FLAGS"] = (
    f"--xla_force_host_platform_device_count={devices} --xla_dump_to={dump.name} --xla_dump_hlo_as_proto "
    "--xla_dump_hlo_pass_re=spmd-partitioning --xla_enable_rgv3_materialization=false --xla_backend_optimization_level=0"
)
import jax
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import _jax, xla_client
from jaxlib.mlir import ir, passmanager

# The passes after propagation, in the order of Shardy's own tests of its partitioner, which takes no calls.
SHARDY = [
    "func.func(sdy-insert-explicit-reshards{enable-full-version=true})",
    "sdy-resolve-permutation-factors{enable-halo-exchange=true}",
    "func.func(sdy-reshard-to-collectives)",
    "func.func(sdy-pad-for-divisibility)",
    "sdy-convert-global-to-local",
    "sdy-drop-sharding-and-mesh",
]


def write(path, module):
    text = str(module)  # Printing a wrong module may end the process, which must not leave a file.
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def by_shardy(module):
    def run(passes):
        passmanager.PassManager.parse(f"builtin.module({','.join(passes)})").run(module.operation)

    run(["inline", "symbol-dce", "sdy-propagation-pipeline"])
    write(original_path, module)
    run(SHARDY)
    write(partitioned_path, module)


def hlo_module(proto):
    """Field 1 of a protocol buffer: the HloModuleProto of an HloProto."""

    def varint(at):
        value = shift = 0
        while True:
            byte, at = proto[at], at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value, at

    at = 0
    while at < len(proto):
        tag, at = varint(at)
        size, at = varint(at)
        if tag == 1 << 3 | 2:
            return proto[at : at + size]
        at += size
    raise ValueError("no HLO module in the dump")


def by_xla(module, text):
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 1
    options.num_partitions = build.num_partitions = int(devices)
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = "sdy.mesh" in text
    build.allow_spmd_sharding_propagation_to_output = [True]
    where = xla_client.DeviceList(tuple(jax.devices()[: int(devices)]))
    try:
        jax.devices()[0].client.compile_and_load(module, where, options)
    finally:
        # The partition is written before the back end compiles it, which may fail.
        for place, out in [("before", original_path), ("after", partitioned_path)]:
            found = sorted(glob.glob(f"{dump.name}/*{place}_spmd-partitioning.*hlo.pb"))
            with open(found[-1], "rb") as file:
                write(out, ir.Module.parse(_jax.mlir.hlo_to_stablehlo(hlo_module(file.read()))))


context = jax_mlir.make_ir_context()
context.allow_unregistered_dialects = True
context.enable_multithreading(False)
with context, open(path, encoding="utf-8") as file:
    text = file.read()
    module = ir.Module.parse(text)
    by_shardy(module) if peer == "shardy" else by_xla(module, text)
