"""Writes layer_values.json: what flax.linen's layers, and optax's losses, give with the parameters that are written beside.

    JAX_PLATFORMS=cpu python layer_values.py > layer_values.json        (made with jax 0.10.2, flax 0.12.8)

Each case has parameters by name, inputs, the result, and the gradient of sum(result * cos(0, 1, 2, ...)) by each parameter and
each input of floats.
"""
import json
import flax.linen as nn, jax, jax.numpy as jnp, numpy as np, optax
from flax.traverse_util import flatten_dict, unflatten_dict

def floats(*shape, scale=1.0, seed=0):
    return np.asarray(np.random.RandomState(seed).uniform(-scale, scale, shape), np.float32)

x = floats(2, 5, 8, seed=1)
image = floats(2, 4, 3, 8, seed=2)
ids = np.asarray([[3, 0, 6], [1, 1, 2]], np.int32)
logits, labels = floats(4, 7, scale=3.0, seed=3), np.asarray([2, 6, 0, 2], np.int32)
q, kv = floats(2, 5, 4, 6, seed=4), floats(2, 5, 2, 6, seed=5)
segments = np.asarray([[0, 0, 0, 1, 1], [0, 1, 1, 1, 2]], np.int32)

class SwiGlu(nn.Module):
    @nn.compact
    def __call__(self, x):
        dense = lambda name, n: nn.Dense(n, use_bias=False, name=name)
        return dense("down", 8)(nn.silu(dense("gate", 12)(x)) * dense("up", 12)(x))

class Moe(nn.Module):
    """Each token through all of three experts, the two that get most weighted: what dispatching gives where there is room."""
    @nn.compact
    def __call__(self, x):
        chances = nn.softmax(nn.Dense(3, use_bias=False, name="router")(x))
        weights, chosen = jax.lax.top_k(chances, 2)
        weights = weights / weights.sum(-1, keepdims=True)
        kernel = lambda name, *shape: self.param(name, nn.initializers.zeros, shape)
        gate = jnp.einsum("btf,efh->bteh", x, kernel("gate", 3, 8, 6))
        up = jnp.einsum("btf,efh->bteh", x, kernel("up", 3, 8, 6))
        out = jnp.einsum("bteh,ehf->btef", nn.silu(gate) * up, kernel("down", 3, 6, 8))
        return jnp.einsum("btk,btke,btef->btf", weights, jax.nn.one_hot(chosen, 3), out)

def rope(x, interleaved=False, dims=None):
    dims = dims or x.shape[-1]
    angle = jnp.arange(x.shape[1])[:, None] * (10000.0 ** (-jnp.arange(0, dims, 2) / dims))[None]
    cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    part, rest = x[..., :dims], x[..., dims:]
    a, b = (part[..., ::2], part[..., 1::2]) if interleaved else jnp.split(part, 2, -1)
    a, b = a * cos - b * sin, b * cos + a * sin
    part = jnp.stack([a, b], -1).reshape(part.shape) if interleaved else jnp.concatenate([a, b], -1)
    return jnp.concatenate([part, rest], -1)

def attend(q, kv, *, causal=True, window=None, segments=None, cap=None, slopes=None):
    repeat = q.shape[2] // kv.shape[2]
    k = v = jnp.repeat(kv, repeat, 2)
    s = jnp.einsum("bthd,bshd->bhts", q / jnp.sqrt(q.shape[-1]), k)
    s = s if cap is None else jnp.tanh(s / cap) * cap
    i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(q.shape[1])[None]
    s = s if slopes is None else s + jnp.asarray(slopes, jnp.float32)[:, None, None] * (j - i)
    mask = (j <= i) if causal else jnp.ones_like(j <= i)
    mask = mask if window is None else mask & (j > i - window)
    mask = mask[None] if segments is None else mask[None] & (segments[:, :, None] == segments[:, None, :])
    s = jnp.where(mask[:, None], s, jnp.finfo(s.dtype).min)
    return jnp.einsum("bhts,bshd->bthd", nn.softmax(s), v)

entropy = optax.softmax_cross_entropy_with_integer_labels
def smoothed(logits, labels):
    return optax.softmax_cross_entropy(logits, optax.smooth_labels(jax.nn.one_hot(labels, 7), 0.1))

CASES = {
    "dense": (nn.Dense(3), x),
    "dense_general": (nn.DenseGeneral((2, 3), axis=(-2, -1)), x),
    "embed": (nn.Embed(7, 4), ids),
    "layer_norm": (nn.LayerNorm(), x),
    "rms_norm": (nn.RMSNorm(), x),
    "group_norm": (nn.GroupNorm(num_groups=4), image),
    "swiglu": (SwiGlu(), x),
    "conv": (nn.Conv(5, (3, 2), strides=(2, 1)), image),
    "conv_grouped": (nn.Conv(4, (3,), feature_group_count=2, padding="VALID"), x),
    "batch_norm": (nn.BatchNorm(use_running_average=False), image),
    "lstm": (nn.RNN(nn.OptimizedLSTMCell(3)), x),
    "lstm_reverse": (nn.RNN(nn.OptimizedLSTMCell(3), reverse=True, keep_order=True), x),
    "gru": (nn.RNN(nn.GRUCell(3)), x),
    "moe": (Moe(), x),
    "moe_dropless": (Moe(), x),
    "attention": (nn.MultiHeadDotProductAttention(num_heads=2), x),
    "causal_attention": (lambda q, kv: attend(q, kv), q, kv),
    "window_attention": (lambda q, kv: attend(q, kv, window=2), q, kv),
    "softcap_attention": (lambda q, kv: attend(q, kv, cap=0.5), q, kv),
    "alibi_attention": (lambda q, kv: attend(q, kv, slopes=[0.25, 0.0625, 0.015625, 0.00390625]), q, kv),
    "packed_attention": (lambda q, kv, s: attend(q, kv, segments=s), q, kv, segments),
    "rope": (rope, q), "rope_interleaved": (lambda q: rope(q, True), q), "rope_partial": (lambda q: rope(q, dims=4), q),
    "cross_entropy": (entropy, logits, labels),
    "cross_entropy_smoothed": (smoothed, logits, labels),
    "cross_entropy_z": (lambda l, y: entropy(l, y) + 0.1 * jax.nn.logsumexp(l, -1) ** 2, logits, labels),
    "cross_entropy_ignore": (lambda l, y: jnp.where(y != 2, entropy(l, y), 0.0), logits, labels),
    "sigmoid_cross_entropy": (lambda l: optax.sigmoid_binary_cross_entropy(l, 0.3), logits),
    "huber": (lambda l: optax.huber_loss(l, delta=1.0), logits),
}

def array(value):
    value = np.asarray(value)
    name = {"float32": "f32", "int32": "i32"}[value.dtype.name]
    return dict(dtype=name, shape=list(value.shape), data=[float(f"{v:.9g}") for v in value.ravel().tolist()])

def case(layer, *inputs):
    inputs, flat = [jnp.asarray(i) for i in inputs], {}
    function = lambda flat, *inputs: layer(*inputs)
    if isinstance(layer, nn.Module):
        made = layer.init(jax.random.key(0), *inputs)
        names, stats = flatten_dict(made["params"]), {n: v for n, v in made.items() if n != "params"}
        flat = {n: jnp.asarray(floats(*v.shape, seed=20 + i)) for i, (n, v) in enumerate(sorted(names.items()))}
        function = lambda flat, *inputs: layer.apply({"params": unflatten_dict(flat), **stats}, *inputs, mutable=list(stats))[0]
    result = function(flat, *inputs)
    weights = jnp.cos(jnp.arange(result.size, dtype=jnp.float32)).reshape(result.shape)
    by = [i for i, value in enumerate(inputs) if value.dtype == np.float32]
    def loss(flat, some):
        whole = list(inputs)
        for i, value in zip(by, some):
            whole[i] = value
        return (function(flat, *whole) * weights).sum()
    of_params, of_inputs = jax.grad(loss, (0, 1))(flat, [inputs[i] for i in by])
    named = lambda d: {".".join(n): array(v) for n, v in d.items()}
    return dict(params=named(flat), inputs=[array(i) for i in inputs], result=array(result),
                param_gradients=named(of_params), input_gradients=[array(g) for g in of_inputs])

print("{")
print(",\n".join(f"{json.dumps(name)}: {json.dumps(case(*spec), separators=(',', ':'))}" for name, spec in CASES.items()))
print("}")
