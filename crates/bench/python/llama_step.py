"""Prints a training step with the shapes of Llama 3.1 as StableHLO, sharded by FSDP and tensor parallelism.

    llama_step.py 70b|405b DATA MODEL

The layers are written one after the other. The mesh has DATA x MODEL abstract devices, and the batch has DATA sequences.
Shapes: Grattafiori et al., The Llama 3 Herd of Models (2024), table 3.
needs: jax
"""
import os, sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

SIZES = {"70b": (80, 8192, 28672, 64), "405b": (126, 16384, 53248, 128)}
LAYERS, HIDDEN, FEED, HEADS = SIZES[sys.argv[1]]
DATA, MODEL = map(int, sys.argv[2:])
KEYS, SIZE, VOCABULARY, LENGTH = 8, 128, 128256, 4096
mesh = AbstractMesh((DATA, MODEL), ("data", "model"), axis_types=(AxisType.Auto,) * 2)


def shard(*spec):
    return NamedSharding(mesh, P(*spec))


LAYER = {
    "attention_norm": ((HIDDEN,), P()),
    "queries": ((HIDDEN, HEADS, SIZE), P("data", "model")),
    "keys": ((HIDDEN, KEYS, SIZE), P("data", "model")),
    "values": ((HIDDEN, KEYS, SIZE), P("data", "model")),
    "out": ((HEADS, SIZE, HIDDEN), P("model", None, "data")),
    "feed_norm": ((HIDDEN,), P()),
    "gate": ((HIDDEN, FEED), P("data", "model")),
    "up": ((HIDDEN, FEED), P("data", "model")),
    "down": ((FEED, HIDDEN), P("model", "data")),
}
MODEL_TREE = {
    "embedding": ((VOCABULARY, HIDDEN), P("model", "data")),
    "layers": [LAYER] * LAYERS,
    "norm": ((HIDDEN,), P()),
    "head": ((HIDDEN, VOCABULARY), P("data", "model")),
}


def is_leaf(node):
    return isinstance(node, tuple)


def normalized(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-5)).astype(x.dtype) * scale


def rotated(x):
    half = SIZE // 2
    angles = jnp.arange(LENGTH)[:, None] * 500000.0 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    a, b = jnp.split(x.astype(jnp.float32), 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(x.dtype)


def layer(x, w):
    y = normalized(x, w["attention_norm"])
    q, k, v = (jnp.einsum("bsd,dhk->bshk", y, w[name]) for name in ("queries", "keys", "values"))
    q, k = rotated(q), rotated(k)
    k, v = (jnp.repeat(each, HEADS // KEYS, axis=2) for each in (k, v))
    scores = jnp.einsum("bshk,bthk->bhst", q, k).astype(jnp.float32) / SIZE**0.5
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e30)
    mixed = jnp.einsum("bhst,bthk->bshk", jax.nn.softmax(scores).astype(x.dtype), v)
    x = x + jnp.einsum("bshk,hkd->bsd", mixed, w["out"])
    y = normalized(x, w["feed_norm"])
    return x + (jax.nn.silu(y @ w["gate"]) * (y @ w["up"])) @ w["down"]


def loss(params, tokens):
    x = jax.lax.with_sharding_constraint(params["embedding"][tokens[:, :-1]], shard("data"))
    for w in params["layers"]:
        x = layer(x, w)
    logits = (normalized(x, params["norm"]) @ params["head"]).astype(jnp.float32)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1))


def step(params, first, second, tokens):
    value, gradients = jax.value_and_grad(loss)(params, tokens)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g.astype(jnp.float32), first, gradients)
    second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * jnp.square(g.astype(jnp.float32)), second, gradients)
    update = lambda p, m, v: (p - 1e-4 * (m / (jnp.sqrt(v) + 1e-8) + 0.1 * p.astype(jnp.float32))).astype(p.dtype)
    return jax.tree.map(update, params, first, second), first, second, value


def tree(dtype):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf[0], dtype, sharding=shard(*leaf[1])), MODEL_TREE, is_leaf=is_leaf)


tokens = jax.ShapeDtypeStruct((DATA, LENGTH + 1), jnp.int32, sharding=shard("data"))
state = [tree(jnp.bfloat16), tree(jnp.float32), tree(jnp.float32)]
outputs = tuple(jax.tree.map(lambda leaf: leaf.sharding, each) for each in state) + (shard(),)
lowered = jax.jit(step, out_shardings=outputs, donate_argnums=(0, 1, 2)).trace(*state, tokens).lower(lowering_platforms=("tpu",))
print(lowered.as_text())
