"""What scripts that print training steps have in common (`training_steps.py`, `real_steps.py`): steps with roles, layers, optimizers.

What they print is JSON: {name: {"text": StableHLO, "roles": [...], "batch_dims": [...]}}. A step is a function with arguments whose roles
are told by `@step`, in order; an argument is a tree of arrays, all of one role. State is donated. `batch_dims` has, for data, the dimension
of examples.
"""
import json
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax, nn

STEPS = {}
ROLES = {
    "P": "parameter", "F": "frozen_parameter", "A": "gradient_accumulator", "O": "optimizer_state", "M": "model_state",
    "B": "batch", "T": "step", "S": "scalar", "K": "rng_key",
}
# Numbers and keys may be state, too.
STATE = "PAOMTsk"


def step(roles, dims=""):
    """A step whose arguments have these roles, a letter each. `dims`: for each argument of the batch where its examples are, 0 if nothing
    is said; `-` where it has none."""
    def add(make):
        STEPS[make.__name__] = (*make(), roles, dims)
    return add


def array(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


ints = partial(array, dtype=jnp.int32)
KEY = array(2, dtype=jnp.uint32)
tree_map = jax.tree.map


def cast(tree, dtype):
    return tree_map(lambda a: array(*a.shape, dtype=dtype), tree)


def mlp_of(*sizes):
    return [{"w": array(a, b), "b": array(b)} for a, b in zip(sizes, sizes[1:])]


def mlp(layers, x, activation=nn.relu):
    for i, layer in enumerate(layers):
        x = x @ layer["w"] + layer["b"]
        x = activation(x) if i < len(layers) - 1 else x
    return x


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(nn.log_softmax(logits), labels[..., None], -1).mean()


def norm(x, scale):
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def average(old, new, rate):
    return tree_map(lambda a, b: rate * a + (1 - rate) * b, old, new)


def sgd(params, momentum, grads, rate=0.01):
    momentum = tree_map(lambda m, g: 0.9 * m + g, momentum, grads)
    return tree_map(lambda p, m: p - rate * m, params, momentum), momentum


def adam(params, m, v, count, grads, rate=1e-3):
    count = count + 1
    m, v = average(m, grads, 0.9), tree_map(lambda v, g: 0.99 * v + 0.01 * g * g, v, grads)
    c1, c2 = (1 - b ** count.astype(jnp.float32) for b in (0.9, 0.99))
    params = tree_map(lambda p, m, v: p - rate * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), params, m, v)
    return params, m, v, count


def with_norms(train, roles):
    """The step, which also returns norms of updates, of state and of what it will be, and what updates have in common with old moments."""
    def step(*arguments):
        results = train(*arguments)
        state = [(old, new, role) for old, new, role in zip(
            (argument for argument, role in zip(arguments, roles) if role in STATE), results, (role for role in roles if role in STATE))]
        of = lambda letter, at: [
            leaf for entry in state if entry[2] == letter for leaf in jax.tree.leaves(entry[at]) if jnp.issubdtype(leaf.dtype, jnp.floating)]
        norm = lambda leaves: sum((leaf.astype(jnp.float32) ** 2).sum() for leaf in leaves)
        update = [new - old for old, new in zip(of("P", 0), of("P", 1))]
        moments = sum((old * new).sum() for old, new in zip(of("O", 0), of("O", 1)))
        return *results, *map(norm, (update, of("P", 0), of("P", 1), of("O", 0), of("O", 1))), moments
    return step


def lowered(train, arguments, roles, dims):
    donated = tuple(i for i, role in enumerate(roles) if role in STATE)
    text = jax.jit(train, donate_argnums=donated, keep_unused=True).lower(*arguments).as_text(debug_info=True)
    where, found = iter(dims), {"roles": [], "batch_dims": []}
    for argument, role in zip(arguments, roles):
        dim = next(where, "0") if role == "B" else "-"
        for _ in jax.tree.leaves(argument):
            found["roles"].append(ROLES[role.upper()])
            found["batch_dims"].append(None if dim == "-" else int(dim))
    return {"text": text, **found}


def show(*names, norms=False):
    """Prints the steps of these names, all if there are none; of each what it is if it returns norms, too, where that is asked for."""
    steps = {}
    for name in names or STEPS:
        train, arguments, roles, dims = STEPS[name]
        steps[name] = lowered(train, arguments, roles, dims)
        if norms:
            steps[name]["with_norms"] = lowered(with_norms(train, roles), arguments, roles, dims)["text"]
    print(json.dumps(steps))
