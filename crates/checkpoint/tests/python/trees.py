"""Random trees like those of optimizers; a seed always gives the same tree."""

import os
import typing

os.environ["JAX_PLATFORMS"] = "cpu"

import jax.numpy as jnp
import numpy as np


class EmptyState(typing.NamedTuple):
    pass


class ScaleByAdamState(typing.NamedTuple):
    count: typing.Any
    mu: typing.Any
    nu: typing.Any


class MaskedState(typing.NamedTuple):
    inner_state: typing.Any


class TraceState(typing.NamedTuple):
    trace: typing.Any


def params(random, depth=0):
    kind = random.integers(0, 4 if depth < 3 else 1)
    count = random.integers(0 if depth else 1, 4)
    if kind == 0 or depth == 0 and kind == 3:
        shape = random.integers(1, 4, random.integers(0, 3))
        return {f"w{i}": jnp.asarray(random.normal(size=shape), jnp.float32) for i in range(max(count, 1))}
    if kind == 1:
        return {f"k{i}" if random.integers(2) else str(i): params(random, depth + 1) for i in range(count)}
    children = [params(random, depth + 1) for _ in range(count)]
    return children if kind == 2 else tuple(children)


def transform(random, tree, depth=0):
    kind = random.integers(0, 7 if depth < 2 else 4)
    if kind == 0:
        return EmptyState()
    if kind == 1:
        return ScaleByAdamState(jnp.int32(random.integers(100)), tree, tree if random.integers(2) else None)
    if kind == 2:
        return TraceState(tree)
    if kind == 3:
        return jnp.int32(random.integers(100))
    if kind == 4:
        return MaskedState(transform(random, tree, depth + 1))
    children = [transform(random, tree, depth + 1) for _ in range(random.integers(0, 12))]
    return tuple(children) if kind == 5 else {"inner": children, "empty": {}, "none": None, "list": []}


def tree(number):
    random = np.random.default_rng(number)
    model = params(random)
    state = {"params": model, "opt_state": transform(random, model), "step": jnp.int32(number)}
    if random.integers(2):
        state |= {"epoch": int(random.integers(9)), "rate": float(random.normal()), "host": np.arange(3)}
    return state
