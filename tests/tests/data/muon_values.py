"""Writes muon_values.json: what optax's Muon makes in five steps of parameters of more than two dimensions.

    JAX_PLATFORMS=cpu python muon_values.py > muon_values.json        (made with jax 0.10.2, optax 0.2.8)
"""
import json
import jax, jax.numpy as jnp, numpy as np, optax
from optax.contrib import MuonDimensionNumbers as Dims, muon

# Shapes, and which dimensions a matrix sums over and gives; the rest are as many matrices.
PARAMETERS = {
    "matrix": ((4, 6), Dims(0, 1)),
    "experts": ((4, 4, 6), Dims(1, 2)),
    "window": ((2, 2, 3, 5), Dims((0, 1, 2), 3)),
    "query.kernel": ((6, 2, 4), Dims(0, (1, 2))),
    "out.kernel": ((2, 4, 6), Dims((0, 1), 2)),
    "conv.kernel": ((3, 3, 4), Dims((0, 1), 2)),
    "moe.gate": ((4, 4, 6), Dims(1, 2)),
    "h.heads.kernel": ((3, 4, 2, 3), Dims(1, (2, 3))),
    "h.experts": ((3, 2, 4, 3), Dims(2, 3)),
    "said": ((4, 2, 3), Dims(0, (1, 2))),
    "adam": ((2, 3, 4), None),
}


def numbers(number, shape):
    i = np.arange(np.prod(shape), dtype=np.float64)
    by = 0.2 * (number + 1)
    return [np.asarray(f.reshape(shape), np.float32) for f in (np.sin(1.7 * i + by), np.cos(0.37 * i * i + by))]


out = {}
for number, (name, (shape, dims)) in enumerate(PARAMETERS.items()):
    begin, by = numbers(number, shape)
    optimizer = muon(0.05, muon_weight_dimension_numbers=lambda params: jax.tree.map(lambda _: dims, params))
    params = {"w": jnp.asarray(begin)}
    state = optimizer.init(params)
    for _ in range(5):
        gradient = jax.grad(lambda p: jnp.sum(jnp.sin(p["w"]) * by))(params)
        updates, state = optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
    out[name] = np.asarray(params["w"])
print("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps([float(f'{n:.9g}') for n in v.ravel()])}" for k, v in out.items()) + "\n}")
