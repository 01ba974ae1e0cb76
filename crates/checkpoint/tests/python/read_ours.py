"""Reads shardc's checkpoints with tensorstore and Orbax, and compares every byte.

The argument is a folder with `plain` (a checkpoint), `steps/3` (a step), `expected.json` (the arrays) and files with their bytes.
"""

import json
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
import orbax.checkpoint as ocp
import tensorstore as ts

root = pathlib.Path(sys.argv[1]).resolve()
expected = json.loads((root / "expected.json").read_text())
faults = []


def bits(array, mask):
    data = np.asarray(array, order="C")
    return (np.frombuffer(data.tobytes(), np.uint8) & mask).tobytes()


def compare(who, entry, array):
    data = (root / entry["file"]).read_bytes()
    if list(array.shape) != entry["shape"] or str(array.dtype) != entry["dtype"]:
        faults.append(f"{who}: {entry['name']} is {array.dtype}{array.shape}")
    elif bits(array, entry["mask"]) != data:
        faults.append(f"{who}: {entry['name']} has other bits")


for entry in expected:
    spec = {"driver": "zarr3", "kvstore": f"file://{root}/plain/{entry['name']}/"}
    compare("tensorstore", entry, ts.open(spec).result().read().result())

some = [entry for entry in expected if 0 not in entry["shape"]]


def leaf(tree, name):
    for key in name.split("."):
        tree = tree[int(key) if isinstance(tree, list) else key]
    return tree


def named(value):
    return {"whole": value}


reader = ocp.Checkpointer(ocp.PyTreeCheckpointHandler())
metadata = reader.metadata(root / "plain").item_metadata.tree
restored = {
    "Orbax": reader.restore(
        root / "plain",
        restore_args=jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), metadata),
    )
}
manager = ocp.CheckpointManager(root / "steps", item_names=("default",))
if manager.all_steps() != [3] and list(manager.all_steps()) != [3]:
    faults.append(f"Orbax's manager lists {manager.all_steps()}")
args = ocp.args.PyTreeRestore(
    restore_args=jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), metadata)
)
restored["Orbax's manager"] = manager.restore(3, args=ocp.args.Composite(default=args))["default"]
for who, tree in restored.items():
    for entry in some:
        compare(who, entry, leaf(tree, entry["name"]))

# Restores onto another mesh.
mesh = jax.make_mesh((2, 4), ("a", "b"))
spec = jax.sharding.PartitionSpec("b", "a")
sharding = jax.sharding.NamedSharding(mesh, spec)
for entry in some:
    if entry["name"] != "params.even":
        continue
    arguments = jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), metadata)
    arguments["params"]["even"] = ocp.ArrayRestoreArgs(sharding=sharding, global_shape=tuple(entry["shape"]))
    array = reader.restore(root / "plain", restore_args=arguments)["params"]["even"]
    if array.sharding != sharding:
        faults.append(f"JAX: the sharding is {array.sharding}")
    compare("JAX on a mesh", entry, np.asarray(array))

print("\n".join(faults) or f"{len(expected)} arrays are the same")
sys.exit(bool(faults))
