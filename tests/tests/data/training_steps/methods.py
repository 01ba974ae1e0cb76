"""Training steps that go by other ways than one gradient of one loss for each step."""
import jax
import jax.numpy as jnp
from jax import lax, nn
from steps import KEY, adam, array, average, cross_entropy, ints, mlp, mlp_of, sgd, step, tree_map
from training_steps.common import MODEL, X, Y, classify


@step("POkBBS")
def private_gradients():
    # DP-SGD: gradients of each example, clipped, summed and noised.
    def train(params, momentum, key, x, y, limit):
        key, at = jax.random.split(key)
        one = jax.value_and_grad(lambda params, x, y: classify(params, x[None], y[None]))
        losses, grads = jax.vmap(one, (None, 0, 0))(params, x, y)
        lengths = jnp.sqrt(sum((g ** 2).reshape(g.shape[0], -1).sum(-1) for g in jax.tree.leaves(grads)))
        factor = jnp.minimum(1, limit / (lengths + 1e-6))
        leaves, tree = jax.tree.flatten(grads)
        keys = jax.random.split(at, len(leaves))
        noised = lambda g, k: (jnp.tensordot(factor, g, 1) + 0.01 * limit * jax.random.normal(k, g.shape[1:])) / x.shape[0]
        leaves = [noised(g, k) for g, k in zip(leaves, keys)]
        return *sgd(params, momentum, jax.tree.unflatten(tree, leaves)), key, losses.mean()
    return train, (MODEL, MODEL, KEY, X, Y, array())


@step("POBB")
def sharpness_aware():
    def train(params, momentum, x, y):
        loss, grads = jax.value_and_grad(classify)(params, x, y)
        length = jnp.sqrt(sum((g ** 2).sum() for g in jax.tree.leaves(grads)))
        moved = tree_map(lambda p, g: p + 0.05 * g / (length + 1e-8), params, grads)
        return *sgd(params, momentum, jax.grad(classify)(moved, x, y)), loss
    return train, (MODEL, MODEL, X, Y)


@step("POTBB")
def hessian_diagonal():
    # Sophia with Hutchinson's estimate, every tenth step.
    def train(params, state, count, x, y):
        m, h = state
        key = jax.random.PRNGKey(count)
        loss, grads = jax.value_and_grad(classify)(params, x, y)
        leaves, tree = jax.tree.flatten(params)
        signs = [jax.random.rademacher(k, p.shape, jnp.float32) for k, p in zip(jax.random.split(key, len(leaves)), leaves)]
        probes = jax.tree.unflatten(tree, signs)
        def estimate(h):
            _, product = jax.jvp(lambda p: jax.grad(classify)(p, x, y), (params,), (probes,))
            return tree_map(lambda h, u, hv: 0.99 * h + 0.01 * u * hv, h, probes, product)
        h = lax.cond(count % 10 == 0, estimate, lambda h: h, h)
        m = average(m, grads, 0.96)
        params = tree_map(lambda p, m, h: p - 1e-3 * jnp.clip(m / jnp.maximum(h, 1e-12), -1, 1), params, m, h)
        return params, (m, h), count + 1, loss
    return train, (MODEL, (MODEL, MODEL), ints(), X, Y)


@step("POBB")
def meta_learned():
    # MAML: a step within for each task, then the loss on other examples of the task.
    def train(params, momentum, support, query):
        def task(params, s, q):
            within = lambda p, xy: ((mlp(p, xy[:, :4]) - xy[:, 4:]) ** 2).mean()
            inner = tree_map(lambda p, g: p - 0.1 * g, params, jax.grad(within)(params, s))
            return within(inner, q)
        loss, grads = jax.value_and_grad(lambda p: jax.vmap(task, (None, 0, 0))(p, support, query).mean())(params)
        return *sgd(params, momentum, grads), loss
    params = mlp_of(4, 32, 2)
    return train, (params, params, array(16, 5, 6), array(16, 7, 6))


@step("POOBB")
def two_tasks():
    # PCGrad: gradients of two tasks are projected on each other.
    params = {"trunk": mlp_of(24, 32), "heads": [mlp_of(32, 10), mlp_of(32, 12)]}
    def train(params, m, v, x, y):
        def loss(p, i):
            return cross_entropy(mlp(p["heads"][i], nn.relu(mlp(p["trunk"], x))), y[:, i])
        (l0, a), (l1, b) = (jax.value_and_grad(loss)(params, i) for i in range(2))
        dot = lambda s, t: sum((u * w).sum() for u, w in zip(jax.tree.leaves(s), jax.tree.leaves(t)))
        ab = jnp.minimum(dot(a, b), 0)
        pa = tree_map(lambda u, w: u - ab / (dot(b, b) + 1e-8) * w, a, b)
        pb = tree_map(lambda u, w: u - ab / (dot(a, a) + 1e-8) * w, b, a)
        g = tree_map(jnp.add, pa, pb)
        m, v = average(m, g, 0.9), tree_map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
        return tree_map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), params, m, v), m, v, l0, l1
    return train, (params, params, params, X, ints(32, 2))


@step("POOsTBB")
def prodigy():
    # A rate that is estimated from all parameters, with the first parameters as state.
    def train(params, first, m, d, count, x, y):
        loss, g = jax.value_and_grad(classify)(params, x, y)
        up = sum((u * (a - b)).sum() for u, a, b in zip(*map(jax.tree.leaves, (g, first, params))))
        below = sum(jnp.abs(u).sum() for u in jax.tree.leaves(g))
        d = jnp.maximum(d, up / (below + 1e-6))
        m = tree_map(lambda m, g: 0.9 * m + 0.1 * d * g, m, g)
        return tree_map(lambda p, m: p - m * 0.1, params, m), first, m, d, count + 1, loss
    return train, (MODEL, MODEL, MODEL, array(), ints(), X, Y)


@step("POOTBB")
def norms_returned():
    def train(params, m, v, count, x, y):
        loss, grads = jax.value_and_grad(classify)(params, x, y)
        along = sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(m), jax.tree.leaves(grads)))
        before = sum(jnp.vdot(a, a) for a in jax.tree.leaves(m))
        new, m, v, count = adam(params, m, v, count, grads)
        moved = sum(((a - b) ** 2).sum() for a, b in zip(jax.tree.leaves(new), jax.tree.leaves(params)))
        sizes = sum((a ** 2).sum() for a in jax.tree.leaves(v))
        return new, m, v, count, loss, along, before, moved, sizes
    return train, (MODEL, MODEL, MODEL, ints(), X, Y)


@step("POBB", "11")
def local_steps():
    # Four workers with their own examples and copies within the step, averaged at its end.
    def train(params, momentum, x, y):
        def worker(x, y):
            def one(p, xy):
                loss, g = jax.value_and_grad(classify)(p, *xy)
                return tree_map(lambda p, g: p - 0.1 * g, p, g), loss
            return lax.scan(one, params, (x, y))
        news, losses = jax.vmap(worker, (1, 1))(x, y)
        grads = tree_map(lambda p, n: p - n.mean(0), params, news)
        return *sgd(params, momentum, grads, 1.0), losses.mean()
    return train, (MODEL, MODEL, array(3, 4, 8, 24), ints(3, 4, 8))


@step("POBB")
def ensemble():
    params = tree_map(lambda a: array(4, *a.shape), MODEL)
    def train(params, momentum, x, y):
        losses = lambda ps: jax.vmap(classify, (0, None, None))(ps, x, y).sum()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss / 4
    return train, (params, params, X, Y)


@step("PFOBB")
def pruned():
    def train(params, masks, momentum, x, y):
        loss, grads = jax.value_and_grad(lambda p: classify(tree_map(jnp.multiply, p, masks), x, y))(params)
        return *sgd(params, momentum, tree_map(jnp.multiply, grads, masks)), loss
    return train, (MODEL, MODEL, MODEL, X, Y)
