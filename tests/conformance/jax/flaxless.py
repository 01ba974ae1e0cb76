"""Layers, losses and optimizers in plain JAX, in the form that Flax and Optax give them in a lowered program."""

import jax
import jax.numpy as jnp
from jax import lax


def conv2d(x, kernel, strides=(1, 1), padding="SAME", groups=1, kernel_dilation=(1, 1)):
    """A convolution of images in NHWC with a kernel in HWIO."""
    return lax.conv_general_dilated(
        x,
        kernel,
        strides,
        padding,
        rhs_dilation=kernel_dilation,
        feature_group_count=groups,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


def dense(p, x):
    return x @ p["kernel"] + p["bias"]


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-6) * p["scale"] + p["bias"]


def rms_norm(scale, x):
    return x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6) * scale


def attention(q, k, v, causal=True):
    """Arrays of shape (batch, time, heads, width)."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1]).astype(q.dtype)
    if causal:
        visible = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        scores = jnp.where(visible, scores, jnp.finfo(scores.dtype).min)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)
    return -picked.mean()


def sgd(grads, params, momentum, rate=0.1, decay=0.9):
    momentum = jax.tree.map(lambda m, g: decay * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - rate * m, params, momentum), momentum


def adamw(grads, params, state, rate=1e-3, b1=0.9, b2=0.999, weight_decay=1e-2):
    count, mu, nu = state
    count = count + 1
    mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, mu, grads)
    nu = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, nu, grads)
    c1, c2 = 1 - b1 ** count.astype(jnp.float32), 1 - b2 ** count.astype(jnp.float32)
    step = lambda p, m, v: p - rate * ((m / c1) / (jnp.sqrt(v / c2) + 1e-8) + weight_decay * p)
    return jax.tree.map(step, params, mu, nu), (count, mu, nu)


def clipped(grads, limit=1.0):
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, limit / (norm + 1e-6)), grads), norm
