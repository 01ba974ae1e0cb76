"""Writes shard_map_values.json: what jax.shard_map gives for the collectives of the graph builder.

    JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count=8 python shard_map_values.py > shard_map_values.json
    (made with jax 0.10.2)

The mesh is data=4, model=2. Each case has inputs, the result, and the gradient of sum(result * cos(0, 1, 2, ...)) by each input,
where jax has one.
"""
import json
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

def floats(*shape, seed=0):
    return np.asarray(np.random.RandomState(seed).uniform(-2, 2, shape), np.float32)

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
x, w, t = floats(8, 16), floats(16, 8, seed=1), floats(8, 4, 8, seed=2)
ring = [(0, 1), (1, 2), (2, 3), (3, 0)]

def mapped(f, in_specs, out_specs, axes=("data", "model")):
    # The mesh is that around it. What a collective made alike on all devices is not always known to be alike.
    return jax.shard_map(f, in_specs=in_specs, out_specs=out_specs, axis_names=set(axes), check_vma=False)

def rounds(x):
    """Each block is the sum of all blocks, by sending them round."""
    def trip(_, carry):
        total, block = carry
        block = lax.ppermute(block, "data", ring)
        return total + block, block
    return lax.fori_loop(0, 3, trip, (x, x))[0]

rows, both, grid = P("data", None), P(("data", "model"), None), P("data", "model")
CASES = {
    "psum": (mapped(lambda x: lax.psum(jnp.sin(x), "data"), rows, P(None, None)), x),
    "psum_two": (mapped(lambda x: lax.psum(x * x, ("data", "model")), grid, P(None, None)), x),
    "psum_product": (mapped(lambda x, w: lax.psum(x @ w, "model"), (grid, P("model", None)), rows), x, w),
    "pmean": (mapped(lambda x: lax.pmean(jnp.exp(x), "model"), grid, rows), x),
    "pmax": (mapped(lambda x: lax.pmax(x, "data"), rows, P(None, None)), x),
    "pmin": (mapped(lambda x: lax.pmin(x, ("data", "model")), grid, P(None, None)), x),
    "all_gather": (mapped(lambda x: lax.all_gather(x, "model", axis=1, tiled=True) * 2, grid, rows), x),
    "all_gather_order": (mapped(lambda x: jnp.cos(lax.all_gather(x, ("model", "data"), axis=0, tiled=True)), both, P(None, None)), x),
    "all_gather_stacked": (mapped(lambda x: lax.all_gather(x, "data") ** 2, rows, P(None, None, None)), x),
    "all_gather_stacked_middle": (mapped(lambda x: lax.all_gather(x, "data", axis=1), rows, P(None, None, None)), x),
    "all_gather_stacked_last": (mapped(lambda x: lax.all_gather(x, ("data", "model"), axis=-1), both, P(None, None, None)), x),
    "psum_scatter": (mapped(lambda x: lax.psum_scatter(x, "data", scatter_dimension=1, tiled=True), rows, P(None, "data")), x),
    "psum_scatter_two": (mapped(lambda x: lax.psum_scatter(x * x, ("model", "data"), scatter_dimension=1, tiled=True), both, P(None, ("model", "data"))), x),
    "psum_scatter_stacked": (mapped(lambda t: lax.psum_scatter(t, "data", scatter_dimension=1), P("data", None, None), P("data", None)), t),
    "all_to_all": (mapped(lambda x: lax.all_to_all(x, "data", 1, 0, tiled=True), rows, P(None, "data")), x),
    "all_to_all_back": (mapped(lambda x: lax.all_to_all(jnp.tanh(x), "data", 0, 1, tiled=True), P(None, "data"), rows), x),
    "all_to_all_same": (mapped(lambda x: lax.all_to_all(x, ("model", "data"), 1, 1, tiled=True), both, both), x),
    "all_to_all_stacked": (mapped(lambda t: lax.all_to_all(t, "data", 1, 2), P("data", None, None), P("data", None, None)), t),
    "all_to_all_stacked_front": (mapped(lambda t: lax.all_to_all(t, "data", 1, 0), P("data", None, None), P(None, "data", None)), t),
    "all_to_all_stacked_last": (mapped(lambda t: lax.all_to_all(t, "data", 1, 2), P("data", None, None), P("data", None, None)), t),
    "all_to_all_stacked_same": (mapped(lambda t: lax.all_to_all(t, "data", 1, 1), P("data", None, None), P("data", None, None)), t),
    "ppermute": (mapped(lambda x: lax.ppermute(x, "data", ring) * x, rows, rows), x),
    "ppermute_some": (mapped(lambda x: lax.ppermute(x, "data", [(0, 2), (3, 0)]), rows, rows), x),
    "axis_index": (mapped(lambda x: x * lax.axis_index("model"), grid, grid), x),
    "axis_index_two": (mapped(lambda x: x + 10 * lax.axis_index(("model", "data")) + lax.axis_index(("data", "model")), grid, grid), x),
    "axis_size": (mapped(lambda x: x * lax.axis_size(("data", "model")), grid, grid), x),
    "some_axes": (mapped(lambda x, w: lax.psum(x, "data") @ w, (rows, P(None, None)), P(None, None), ("data",)), x, w),
    "from_around": (lambda x, w: mapped(lambda x: x @ jnp.sin(w) + lax.axis_index("data"), rows, rows)(x), x, w),
    "in_a_loop": (mapped(rounds, rows, rows), x),
    "nested": (mapped(lambda x: lax.psum(mapped(lambda x: lax.ppermute(x, "model", [(0, 1), (1, 0)]), P(None, "model"), P(None, "model"), ("model",))(x), "data"), rows, P(None, None), ("data",)), x),
}

def array(a):
    a = np.asarray(a)
    return {"shape": list(a.shape), "dtype": "f32", "data": [float(f"{n:.9g}") for n in a.ravel()]}

out = {}
for name, (f, *inputs) in CASES.items():
    with jax.set_mesh(mesh):
        result = jax.jit(f)(*inputs)
        weigh = lambda *a: jnp.sum(f(*a) * jnp.cos(jnp.arange(result.size, dtype=jnp.float32)).reshape(result.shape))
        try:
            gradients = jax.jit(jax.grad(weigh, argnums=tuple(range(len(inputs)))))(*inputs)
        # jax 0.10.2 transposes all_to_all without `tiled` wrongly where the dimensions differ.
        except (NotImplementedError, ValueError):
            gradients = []
    out[name] = {"inputs": [array(a) for a in inputs], "result": array(result), "gradients": [array(a) for a in gradients]}
print("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in out.items()) + "\n}")
