"""Writes the checkpoints of Orbax 0.12.8 next to this file: `python make.py FOLDER`."""

import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

root = pathlib.Path(sys.argv[1]).resolve()
mesh = jax.make_mesh((2, 2), ("data", "model"))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data", "model"))
tree = {
    "params": [jax.device_put(jnp.arange(24.0).reshape(4, 6), sharding), jnp.arange(5, dtype=jnp.bfloat16)],
    "opt": ((), {"count": jnp.int32(3)}, None),
    "epoch": 2,
}
ocp.Checkpointer(ocp.PyTreeCheckpointHandler()).save(root / "default", tree)
ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_ocdbt=False)).save(root / "zarr2", tree)
with ocp.CheckpointManager(root / "items") as manager:
    for step in [4, 5]:
        items = {"state": ocp.args.StandardSave(tree), "ema": ocp.args.StandardSave({"w": jnp.ones(2)})}
        manager.save(step, args=ocp.args.Composite(**items if step == 5 else {"state": items["state"]}))
