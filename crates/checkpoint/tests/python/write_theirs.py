"""Writes checkpoints with Orbax from a mesh of 4x2 devices, arrays with tensorstore, and their expected bytes.

The argument is a folder, in which `plain`, `steps/3` and `expected.json` are created.
"""

import json
import os
import pathlib
import shutil
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import orbax.checkpoint as ocp
import orbax.checkpoint.experimental.v1 as v1
import tensorstore as ts

root = pathlib.Path(sys.argv[1]).resolve()
mesh = jax.make_mesh((4, 2), ("data", "model"))
random = np.random.default_rng(7)
expected = []


def note(name, array, dtype):
    array = np.asarray(array, order="C")
    (root / f"{name}.bin").write_bytes(array.tobytes())
    mask = 15 if dtype == "i4" else 255
    expected.append({"name": name, "file": f"{name}.bin", "shape": list(array.shape), "dtype": dtype, "mask": mask})


def values(shape, dtype):
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    data = random.integers(0, 256, count, np.uint8)
    if np.dtype(dtype) == np.bool_:
        data &= 1
    return data.view(dtype).reshape(shape)


def put(array, *spec):
    return jax.device_put(array, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec)))


tree = {
    "params": {
        "w": put(values((64, 32), ml_dtypes.bfloat16), "data", "model"),
        "b": put(values((32,), np.float32), "model"),
        "both": put(values((16, 3), np.float32), ("data", "model")),
        "zeros": put(np.zeros((8, 8), np.float32), "data"),
    },
    "layers": [jnp.asarray(values((5, 3), np.float32)), jnp.asarray(values((4,), np.int32))],
    "step": jnp.int32(7),
    "int4": jnp.asarray(random.integers(-8, 8, (3, 5)), jnp.int4),
    "f8": jnp.asarray(values((4, 4), ml_dtypes.float8_e4m3fn)),
    "c": jnp.asarray(values((2,), np.complex64)),
    "flags": jnp.asarray(values((5,), np.bool_)),
    "host": values((6,), np.float64),
}
types = {
    "params.w": "bf16", "params.b": "f32", "params.both": "f32", "params.zeros": "f32", "layers.0": "f32",
    "layers.1": "i32", "step": "i32", "int4": "i4", "f8": "f8E4M3FN", "c": "complex<f32>", "flags": "i1", "host": "f64",
}
for path, array in jax.tree_util.tree_leaves_with_path(tree):
    name = ".".join(str(getattr(key, "key", getattr(key, "idx", None))) for key in path)
    note(name, array, types[name])

writer = ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_ocdbt=False, use_zarr3=True))
writer.save(root / "plain", tree)
manager = ocp.CheckpointManager(root / "steps", writer)
manager.save(3, tree)
manager.wait_until_finished()
for name, ocdbt, zarr3 in [("ocdbt", True, False), ("ocdbt3", True, True), ("zarr2", False, False)]:
    handler = ocp.PyTreeCheckpointHandler(use_ocdbt=ocdbt, use_zarr3=zarr3)
    ocp.Checkpointer(handler).save(root / name, tree)
# The database of a checkpoint does not exist before the databases of processes are merged.
shutil.copytree(root / "ocdbt", root / "unmerged")
(root / "unmerged/manifest.ocdbt").unlink()
shutil.rmtree(root / "unmerged/d")
with ocp.CheckpointManager(root / "items") as items:
    args = ocp.args.Composite(state=ocp.args.StandardSave(tree), meta=ocp.args.JsonSave({"a": 1}))
    items.save(5, args=args)
v1.save(root / "v1", {key: value for key, value in tree.items() if key != "host"})
# Databases with many versions and nodes, with a single manifest and with numbered manifests.
config = {"max_inline_value_bytes": 8, "max_decoded_node_bytes": 200, "version_tree_arity_log2": 1}
for name, kind in [("versions", "single"), ("numbered", "numbered")]:
    shutil.copytree(root / "ocdbt", root / name)
    for old in ["manifest.ocdbt", "d", "ocdbt.process_0"]:
        path = root / name / old
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    base = f"file://{root}/ocdbt/"
    old = ts.KvStore.open({"driver": "ocdbt", "base": base}).result()
    spec = {"driver": "ocdbt", "base": f"file://{root}/{name}/", "config": config | {"manifest_kind": kind}}
    if kind == "numbered":
        spec["config"]["compression"] = None
    new = ts.KvStore.open(spec).result()
    for key in old.list().result():
        new.write(key, b"older").result()
        new.write(key, old.read(key).result().value).result()

# An array of Orbax's checkpoint is replaced by one with other codecs.
array = values((40, 30), np.float32)
bytes_codec = {"name": "bytes", "configuration": {"endian": "little"}}
big = {"name": "bytes", "configuration": {"endian": "big"}}
forms = {
    "gzip": [bytes_codec, {"name": "gzip", "configuration": {"level": 3}}],
    "transposed": [{"name": "transpose", "configuration": {"order": [1, 0]}}, big, {"name": "crc32c"}],
    "start": [
        {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [5, 5],
                "codecs": [bytes_codec, {"name": "zstd", "configuration": {"level": 1, "checksum": True}}],
                "index_codecs": [bytes_codec, {"name": "crc32c"}],
                "index_location": "start",
            },
        }
    ],
}
writer.save(root / "forms", {name: jnp.zeros((40, 30)) for name in forms})
for name, codecs in forms.items():
    metadata = {
        "data_type": "float32",
        "shape": [40, 30],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [20, 15]}},
        "codecs": codecs,
        "fill_value": 0.0,
    }
    spec = {"driver": "zarr3", "kvstore": f"file://{root}/forms/{name}/", "metadata": metadata}
    ts.open(spec, create=True, delete_existing=True).result().write(array).result()
    note(name, array, "f32")

(root / "expected.json").write_text(json.dumps(expected))
