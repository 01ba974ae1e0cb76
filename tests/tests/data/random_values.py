"""Writes random_values.json: what jax.random draws.

    JAX_PLATFORMS=cpu python random_values.py > random_values.json        (made with jax 0.10.2)
"""
import json
import jax, jax.numpy as jnp, numpy as np
from jax import random

def fnv(data):
    h = 0xcbf29ce484222325
    for byte in data: h = ((h ^ byte) * 0x100000001b3) % 2**64
    return f"{h:016x}"

def words(key): return np.asarray(random.key_data(key))

SHAPE = (5, 3)
logits = np.log(np.asarray([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]], np.float32))
draws = {
    "bits32": lambda k: random.bits(k, SHAPE, np.uint32), "bits16": lambda k: random.bits(k, SHAPE, np.uint16), "bits8": lambda k: random.bits(k, SHAPE, np.uint8),
    "split": lambda k: jax.vmap(random.key_data)(random.split(k, 3)), "fold_in": lambda k: random.key_data(random.fold_in(k, 77)),
    "uniform": lambda k: random.uniform(k, SHAPE), "uniform_between": lambda k: random.uniform(k, SHAPE, minval=-2.0, maxval=3.5),
    "uniform_bf16": lambda k: random.uniform(k, SHAPE, jnp.bfloat16), "uniform_f16": lambda k: random.uniform(k, SHAPE, jnp.float16),
    "normal": lambda k: random.normal(k, SHAPE), "normal_bf16": lambda k: random.normal(k, SHAPE, jnp.bfloat16),
    "truncated_normal": lambda k: random.truncated_normal(k, -2.0, 2.0, SHAPE), "bernoulli": lambda k: random.bernoulli(k, 0.3, SHAPE),
    "gumbel": lambda k: random.gumbel(k, SHAPE), "exponential": lambda k: random.exponential(k, SHAPE),
    "categorical": lambda k: random.categorical(k, jnp.asarray(logits), axis=-1), "randint": lambda k: random.randint(k, SHAPE, -5, 1000),
    "permutation": lambda k: random.permutation(k, 20),
}
init = jax.nn.initializers
initializers = {
    "normal": init.normal(0.02), "truncated_normal": init.truncated_normal(0.02), "uniform": init.uniform(0.5),
    "lecun_normal": init.lecun_normal(), "lecun_uniform": init.lecun_uniform(), "he_normal": init.he_normal(), "he_uniform": init.he_uniform(),
    "glorot_normal": init.glorot_normal(), "glorot_uniform": init.glorot_uniform(),
    "normal_by_fan_out": init.variance_scaling(2.0, "fan_out", "normal"), "ones": init.ones, "identity": lambda k, s: jnp.eye(*s),
}
for name, draw in initializers.items():
    draws[f"init {name}"] = lambda k, draw=draw: draw(k, (6, 4))
draws["init of a window"] = lambda k: init.lecun_normal()(k, (3, 2, 4, 2))
bits = [np.asarray(random.bits(random.key(seed), (7,), np.uint32)) for seed in range(1000)]
out = {"bits of keys 0 to 999": fnv(b"".join(b.astype("<u4").tobytes() for b in bits))}
for seed in (0, 42):
    key = random.key(seed)
    for name, draw in draws.items():
        value = np.asarray(jnp.asarray(draw(key)).astype(jnp.float32) if draw(key).dtype in (jnp.bfloat16, jnp.float16) else draw(key))
        out[f"{name} {seed}"] = [float(f"{v:.9g}") for v in value.astype(np.float64).ravel()]
print("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in out.items()) + "\n}")
