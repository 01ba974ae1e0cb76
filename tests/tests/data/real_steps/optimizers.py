"""Optimizers of the real steps. Moments are in f32, whatever gradients and parameters are in."""
import jax
import jax.numpy as jnp
from jax import lax
from steps import array, tree_map


def wide(tree):
    return tree_map(lambda a: a.astype(jnp.float32), tree)


def clipped(grads, most=1.0):
    """Gradients of this norm at most."""
    square = sum((g.astype(jnp.float32) ** 2).sum() for g in jax.tree.leaves(grads))
    return tree_map(lambda g: g * jnp.minimum(1, most * lax.rsqrt(square + 1e-6)).astype(g.dtype), grads)


def moments(m, v, grads, b1=0.9, b2=0.95):
    grads = wide(grads)
    return tree_map(lambda m, g: b1 * m + (1 - b1) * g, m, grads), tree_map(lambda v, g: b2 * v + (1 - b2) * g * g, v, grads)


def adamw(params, m, v, count, grads, rate=3e-4, decay=0.1):
    """AdamW, which decays matrices only."""
    count = count + 1
    m, v = moments(m, v, grads)
    c1, c2 = 1 - 0.9 ** count.astype(jnp.float32), 1 - 0.95 ** count.astype(jnp.float32)
    def update(p, m, v):
        p_ = p.astype(jnp.float32)
        change = (m / c1) / (jnp.sqrt(v / c2) + 1e-8) + (decay * p_ if p.ndim > 1 else 0)
        return (p_ - rate * change).astype(p.dtype)
    return tree_map(update, params, m, v), m, v, count


def mixed_adamw(params, masters, m, v, count, grads, rate=3e-4):
    """AdamW of masters in f32, of which parameters are copies in fewer bits."""
    masters, m, v, count = adamw(masters, m, v, count, wide(grads), rate)
    return tree_map(lambda c, p: c.astype(p.dtype), masters, params), masters, m, v, count


def lamb(params, m, v, count, grads, rate=1e-3):
    count = count + 1
    m, v = moments(m, v, grads)
    def update(p, m, v):
        change = m / (jnp.sqrt(v) + 1e-6) + 0.01 * p
        length, size = jnp.linalg.norm(change.ravel()), jnp.linalg.norm(p.ravel())
        return p - rate * jnp.where((length > 0) & (size > 0), size / length, 1.0) * change
    return tree_map(update, params, m, v), m, v, count


def lion(params, m, grads, rate=1e-4, decay=1.0):
    def update(p, m, g):
        return p - rate * (jnp.sign(0.9 * m + 0.1 * g) + decay * p)
    grads = wide(grads)
    return tree_map(update, params, m, grads), tree_map(lambda m, g: 0.99 * m + 0.01 * g, m, grads)


def adagrad(params, sums, grads, rate=0.01):
    sums = tree_map(lambda s, g: s + g * g, sums, grads)
    return tree_map(lambda p, g, s: p - rate * g * lax.rsqrt(s + 1e-10), params, grads, sums), sums


def orthogonal(matrices):
    """The orthogonal factors of a matrix, or of a stack of them, by Newton and Schulz."""
    x = matrices.astype(jnp.bfloat16)
    is_tall = x.shape[-2] > x.shape[-1]
    x = x.swapaxes(-1, -2) if is_tall else x
    x = x / (jnp.sqrt((x.astype(jnp.float32) ** 2).sum((-1, -2), keepdims=True)) + 1e-7).astype(x.dtype)
    for _ in range(5):
        square = x @ x.swapaxes(-1, -2)
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * (square @ square)) @ x
    return x.swapaxes(-1, -2) if is_tall else x


def muon(params, momentum, grads, rate=0.02):
    """Muon for a tree of matrices, or of stacks of them."""
    momentum = tree_map(lambda m, g: 0.95 * m + g, momentum, wide(grads))
    def update(p, m, g):
        scale = max(1, p.shape[-2] / p.shape[-1]) ** 0.5
        return p * (1 - rate * 0.1) - rate * scale * orthogonal(g + 0.95 * m).astype(jnp.float32)
    return tree_map(update, params, momentum, grads), momentum


def factored(params, second, count, grads, rate=1e-2):
    """Adafactor without momentum. `second` has two vectors for a matrix or a stack of them, and a whole array for others: see `factors`."""
    count = count + 1
    decay = 1 - count.astype(jnp.float32) ** -0.8
    def update(p, s, g):
        square = g * g + 1e-30
        if p.ndim > 1:
            s = {"row": decay * s["row"] + (1 - decay) * square.mean(-1), "column": decay * s["column"] + (1 - decay) * square.mean(-2)}
            row = s["row"] / s["row"].mean(-1, keepdims=True)
            change = g * lax.rsqrt(row)[..., None] * lax.rsqrt(s["column"])[..., None, :]
        else:
            s = {"all": decay * s["all"] + (1 - decay) * square}
            change = g * lax.rsqrt(s["all"])
        change = change / jnp.maximum(1, jnp.sqrt((change * change).mean()))
        return p - rate * jnp.maximum(1e-3, jnp.sqrt((p * p).mean())) * change, s
    leaves, structure = jax.tree.flatten(params)
    new = [update(*each) for each in zip(leaves, structure.flatten_up_to(second), jax.tree.leaves(grads))]
    params, second = (structure.unflatten(part) for part in zip(*new))
    return params, second, count


def factors(params):
    """The state of `factored`."""
    def of(p):
        if p.ndim > 1:
            return {"row": array(*p.shape[:-1]), "column": array(*p.shape[:-2], p.shape[-1])}
        return {"all": p}
    return tree_map(of, params)
