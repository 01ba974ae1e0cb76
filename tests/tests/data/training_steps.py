"""Prints training steps of many kinds as JSON: {name: {"text": StableHLO, "roles": [...], "batch_dims": [...], "with_norms": StableHLO}};
see `steps.py`.

    JAX_PLATFORMS=cpu python training_steps.py        (written for jax 0.10.2)
"""
import jax
import jax.numpy as jnp
from jax import lax, nn
from steps import KEY, adam, array, average, cast, cross_entropy, ints, mlp, mlp_of, norm, sgd, show, step, tree_map
from training_steps import layers, losses, methods  # noqa: F401, each adds its steps
from training_steps.common import MODEL, X, Y, classify


# Optimizers.

@step("POOOTBB")
def lookahead_and_average():
    def train(params, slow, ema, momentum, count, x, y):
        loss, grads = jax.value_and_grad(classify)(params, x, y)
        params, momentum = sgd(params, momentum, grads)
        count = count + 1
        is_sync = count % 5 == 0
        slow = tree_map(lambda s, p: jnp.where(is_sync, s + 0.5 * (p - s), s), slow, params)
        params = tree_map(lambda s, p: jnp.where(is_sync, s, p), slow, params)
        return params, slow, average(ema, params, 0.999), momentum, count, loss
    return train, (MODEL, MODEL, MODEL, MODEL, ints(), X, Y)


@step("POOOTBB")
def average_of_copy_in_f32():
    params = cast(MODEL, jnp.bfloat16)
    def train(params, copy, momentum, ema, count, x, y):
        loss, grads = jax.value_and_grad(classify)(params, x.astype(jnp.bfloat16), y)
        copy, momentum = sgd(copy, momentum, tree_map(lambda g: g.astype(jnp.float32), grads))
        params = tree_map(lambda c: c.astype(jnp.bfloat16), copy)
        return params, copy, momentum, average(ema, copy, 0.99), count + 1, loss.astype(jnp.float32)
    return train, (params, MODEL, MODEL, MODEL, ints(), X, Y)


@step("POTBBS")
def schedule_free():
    def train(params, mean, count, x, y, rate):
        middle = average(params, mean, 0.1)
        loss, grads = jax.value_and_grad(classify)(middle, x, y)
        params = tree_map(lambda p, g: p - rate * g, params, grads)
        count = count + 1
        mean = tree_map(lambda m, p: m + (p - m) / count.astype(jnp.float32), mean, params)
        return params, mean, count, loss
    return train, (MODEL, MODEL, ints(), X, Y, array())


@step("POOOTBB")
def adafactor():
    rows, columns = ([array(layer["w"].shape[i]) for layer in MODEL] for i in (0, 1))
    def train(params, rows, columns, biases, count, x, y):
        loss, grads = jax.value_and_grad(classify)(params, x, y)
        count = count + 1
        decay = 1 - count.astype(jnp.float32) ** -0.8
        for i, (layer, grad) in enumerate(zip(params, grads)):
            square = grad["w"] ** 2 + 1e-30
            rows[i] = average(rows[i], square.mean(1), decay)
            columns[i] = average(columns[i], square.mean(0), decay)
            update = grad["w"] * lax.rsqrt(rows[i] / rows[i].mean())[:, None] * lax.rsqrt(columns[i])[None]
            layer["w"] -= 1e-3 * update / jnp.maximum(1, jnp.sqrt((update ** 2).mean()))
            biases[i] = average(biases[i], grad["b"] ** 2, decay)
            layer["b"] -= 1e-3 * grad["b"] * lax.rsqrt(biases[i] + 1e-30)
        return params, rows, columns, biases, count, loss
    return train, (MODEL, rows, columns, [layer["b"] for layer in MODEL], ints(), X, Y)


@step("POOOBB")
def lbfgs():
    history = tree_map(lambda a: array(2, *a.shape), MODEL)
    def train(params, before, steps, changes, x, y):
        loss, grads = jax.value_and_grad(classify)(params, x, y)
        def update(p, g, old, s, c):
            c = jnp.concatenate([c[1:], (g - old)[None]])
            for i in range(2):
                g = g - (s[i] * g).sum() / ((s[i] * c[i]).sum() + 1e-3) * c[i]
            return p - 0.01 * g, jnp.concatenate([s[1:], (-0.01 * g)[None]]), c
        new = [update(*leaves) for leaves in zip(*map(jax.tree.leaves, (params, grads, before, steps, changes)))]
        params, steps, changes = (jax.tree.unflatten(jax.tree.structure(params), part) for part in zip(*new))
        return params, grads, steps, changes, loss
    return train, (MODEL, MODEL, history, history, X, Y)


@step("POOOOTBB")
def moments_in_eight_bits():
    levels, scales = cast(MODEL, jnp.int8), tree_map(lambda _: array(), MODEL)
    def train(params, m, m_scale, v, v_scale, count, x, y):
        loss, grads = jax.value_and_grad(classify)(params, x, y)
        wide = lambda q, scale: tree_map(lambda q, s: q.astype(jnp.float32) * s / 127, q, scale)
        params, m, v, count = adam(params, wide(m, m_scale), wide(v, v_scale), count, grads)
        scale = lambda tree: tree_map(lambda a: jnp.abs(a).max() + 1e-9, tree)
        narrow = lambda tree, scale: tree_map(lambda a, s: jnp.round(a / s * 127).astype(jnp.int8), tree, scale)
        m_scale, v_scale = scale(m), scale(v)
        return params, narrow(m, m_scale), m_scale, narrow(v, v_scale), v_scale, count, loss
    return train, (MODEL, levels, scales, levels, scales, ints(), X, Y)


@step("POOTsBBS")
def scaled_loss():
    def train(params, m, v, good, scale, x, y, rate):
        def scaled(params):
            half = tree_map(lambda p: p.astype(jnp.float16), params)
            return classify(half, x.astype(jnp.float16), y).astype(jnp.float32) * scale
        loss, grads = jax.value_and_grad(scaled)(params)
        grads = tree_map(lambda g: g / scale, grads)
        is_finite = jnp.all(jnp.array([jnp.isfinite(g).all() for g in jax.tree.leaves(grads)]))
        m, v = average(m, grads, 0.9), tree_map(lambda v, g: 0.99 * v + 0.01 * g * g, v, grads)
        new = tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, m, v)
        params = tree_map(lambda new, old: jnp.where(is_finite, new, old), new, params)
        good = jnp.where(is_finite, good + 1, 0)
        scale = jnp.where(is_finite, jnp.where(good >= 100, scale * 2, scale), scale / 2)
        return params, m, v, good, scale, loss / scale
    return train, (MODEL, MODEL, MODEL, ints(), array(), X, Y, array())


@step("POOTssBB")
def rate_and_metric_in_state():
    def train(params, m, v, count, rate, metric, x, y):
        loss, grads = jax.value_and_grad(classify)(params, x, y)
        params, m, v, count = adam(params, m, v, count, grads, rate)
        return params, m, v, count, rate * 0.999, 0.9 * metric + 0.1 * loss, loss
    return train, (MODEL, MODEL, MODEL, ints(), array(), array(), X, Y)


# Several steps in one, and several calls for one.

@step("POOTATBB")
def accumulated_by_a_condition():
    def train(params, m, v, count, sums, calls, x, y):
        loss, grads = jax.value_and_grad(classify)(params, x, y)
        sums = tree_map(lambda s, g: s + (g - s) / (calls + 1), sums, grads)
        def update(_):
            return (*adam(params, m, v, count, sums), tree_map(jnp.zeros_like, sums))
        params, m, v, count, sums = lax.cond(calls == 3, update, lambda _: (params, m, v, count, sums), None)
        return params, m, v, count, sums, (calls + 1) % 4, loss
    return train, (MODEL, MODEL, MODEL, ints(), MODEL, ints(), X, Y)


@step("PATBB")
def accumulated_only():
    def train(params, sums, count, x, y):
        loss, grads = jax.value_and_grad(classify)(params, x, y)
        return params, tree_map(jnp.add, sums, grads), count + 1, loss
    return train, (MODEL, MODEL, ints(), X, Y)


@step("POOTBB", "11")
def loop_of_microbatches():
    def train(params, m, v, count, x, y):
        def add(sums, data):
            loss, grads = jax.value_and_grad(classify)(params, *data)
            return tree_map(jnp.add, sums, (loss, grads)), None
        zeros = tree_map(jnp.zeros_like, params)
        (loss, grads), _ = lax.scan(add, (0.0, zeros), (x, y))
        return *adam(params, m, v, count, grads), loss / 4
    return train, (MODEL, MODEL, MODEL, ints(), array(4, 32, 24), ints(4, 32))


@step("POOTBB", "11")
def loop_of_steps():
    def train(params, m, v, count, x, y):
        def one(state, data):
            loss, grads = jax.value_and_grad(classify)(state[0], *data)
            return adam(*state, grads), loss
        state, losses = lax.scan(one, (params, m, v, count), (x, y))
        return *state, losses.mean()
    return train, (MODEL, MODEL, MODEL, ints(), array(4, 32, 24), ints(4, 32))


# Several networks.

def bce(logits, is_real):
    return nn.softplus(-logits if is_real else logits).mean()


@step("PPOOBK")
def generator_and_discriminator():
    g, d = mlp_of(16, 64, 32), mlp_of(32, 64, 1)
    def train(g, d, g_momentum, d_momentum, x, key):
        z = jax.random.normal(key, (x.shape[0], 16))
        real_or_not = lambda d: bce(mlp(d, x), True) + bce(mlp(d, lax.stop_gradient(mlp(g, z))), False)
        d_loss, grads = jax.value_and_grad(real_or_not)(d)
        d, d_momentum = sgd(d, d_momentum, grads)
        g_loss, grads = jax.value_and_grad(lambda g: bce(mlp(d, mlp(g, z)), True))(g)
        g, g_momentum = sgd(g, g_momentum, grads)
        return g, d, g_momentum, d_momentum, d_loss, g_loss
    return train, (g, d, g, d, array(32, 32), KEY)


@step("PPMOOBB")
def spectral_norm():
    g, d = mlp_of(16, 64, 32), mlp_of(32, 64, 1)
    def unit(v):
        return v / jnp.linalg.norm(v)
    def discriminate(d, vectors, x):
        new = []
        for i, (layer, u) in enumerate(zip(d, vectors)):
            v = unit(layer["w"] @ u)
            new.append(unit(layer["w"].T @ v))
            x = x @ (layer["w"] / (lax.stop_gradient(v) @ layer["w"] @ lax.stop_gradient(new[-1]))) + layer["b"]
            x = nn.leaky_relu(x) if i == 0 else x
        return x, new
    def train(g, d, vectors, g_momentum, d_momentum, x, z):
        def hinge(d):
            real, new = discriminate(d, vectors, x)
            fake, _ = discriminate(d, vectors, lax.stop_gradient(mlp(g, z)))
            return nn.relu(1 - real).mean() + nn.relu(1 + fake).mean(), new
        (d_loss, new), d_grads = jax.value_and_grad(hinge, has_aux=True)(d)
        g_loss, g_grads = jax.value_and_grad(lambda g: -discriminate(d, vectors, mlp(g, z))[0].mean())(g)
        (d, d_momentum), (g, g_momentum) = sgd(d, d_momentum, d_grads), sgd(g, g_momentum, g_grads)
        return g, d, new, g_momentum, d_momentum, d_loss, g_loss
    return train, (g, d, [array(64), array(1)], g, d, array(32, 32), array(32, 16))


@step("POBB")
def critic_of_a_linear_loss():
    d = mlp_of(32, 64, 1)
    def train(d, squares, x, fake):
        loss, grads = jax.value_and_grad(lambda d: mlp(d, fake).mean() - mlp(d, x).mean())(d)
        squares = tree_map(lambda s, g: 0.99 * s + 0.01 * g * g, squares, grads)
        d = tree_map(lambda p, g, s: jnp.clip(p - 5e-5 * g * lax.rsqrt(s + 1e-8), -0.01, 0.01), d, grads, squares)
        return d, squares, loss
    return train, (d, d, array(32, 32), array(32, 32))


@step("POOOTBBBBB")
def target_network():
    q = mlp_of(8, 64, 4)
    def train(params, target, m, v, count, state, action, reward, after, done):
        value = reward + 0.99 * (1 - done) * mlp(target, after).max(-1)
        def error(params):
            return ((jnp.take_along_axis(mlp(params, state), action[:, None], -1)[:, 0] - value) ** 2).mean()
        loss, grads = jax.value_and_grad(error)(params)
        params, m, v, count = adam(params, m, v, count, grads)
        return params, average(target, params, 0.995), m, v, count, loss
    return train, (q, q, q, q, ints(), array(32, 8), ints(32), array(32), array(32, 8), array(32))


@step("PPOPOOOBBBBBK")
def soft_actor_critic():
    actor, critics = mlp_of(8, 32, 4), [mlp_of(10, 32, 1), mlp_of(10, 32, 1)]
    def act(actor, state, key):
        mean, log_std = jnp.split(mlp(actor, state), 2, -1)
        noise = jax.random.normal(key, mean.shape)
        action = jnp.tanh(mean + noise * jnp.exp(log_std))
        return action, (-0.5 * noise ** 2 - log_std - jnp.log(1 - action ** 2 + 1e-6)).sum(-1)
    def q(critic, state, action):
        return mlp(critic, jnp.concatenate([state, action], -1))[:, 0]
    def train(actor, critics, targets, log_alpha, am, cm, lm, state, action, reward, after, done, key):
        k1, k2 = jax.random.split(key)
        then, log_p = act(actor, after, k1)
        least = jnp.minimum(q(targets[0], after, then), q(targets[1], after, then))
        value = reward + 0.99 * (1 - done) * (least - jnp.exp(log_alpha) * log_p)
        errors = lambda critics: sum(((q(c, state, action) - value) ** 2).mean() for c in critics)
        critic_loss, c_grads = jax.value_and_grad(errors)(critics)
        def regret(actor):
            chosen, log_p = act(actor, state, k2)
            least = jnp.minimum(q(critics[0], state, chosen), q(critics[1], state, chosen))
            return (jnp.exp(log_alpha) * log_p - least).mean(), log_p
        (actor_loss, log_p), a_grads = jax.value_and_grad(regret, has_aux=True)(actor)
        alpha_loss, l_grad = jax.value_and_grad(lambda a: -(jnp.exp(a) * (log_p - 2.0)).mean())(log_alpha)
        (critics, cm), (actor, am), (log_alpha, lm) = sgd(critics, cm, c_grads), sgd(actor, am, a_grads), sgd(log_alpha, lm, l_grad)
        losses = {"actor": actor_loss, "alpha": alpha_loss, "critic": critic_loss}
        return actor, critics, average(targets, critics, 0.995), log_alpha, am, cm, lm, losses
    data = (array(32, 8), array(32, 2), array(32), array(32, 8), array(32))
    return train, (actor, critics, critics, array(), actor, critics, array(), *data, KEY)


@step("POBBB")
def parts_of_a_loss_returned():
    params = {"policy": mlp_of(8, 32, 4), "value": mlp_of(8, 32, 1)}
    def train(params, momentum, state, action, reward):
        def losses(params):
            log_p, value = nn.log_softmax(mlp(params["policy"], state)), mlp(params["value"], state)[:, 0]
            chosen = jnp.take_along_axis(log_p, action[:, None], -1)[:, 0]
            policy, error = -(chosen * lax.stop_gradient(reward - value)).mean(), ((value - reward) ** 2).mean()
            return policy + 0.5 * error, {"policy": policy, "value": error}
        (_, parts), grads = jax.value_and_grad(losses, has_aux=True)(params)
        return *sgd(params, momentum, grads), parts
    return train, (params, params, array(32, 8), ints(32), array(32))


@step("POBBBBB")
def clipped_policy():
    params = {"policy": mlp_of(8, 32, 4), "value": mlp_of(8, 32, 1)}
    def train(params, momentum, state, action, advantage, returns, log_old):
        def losses(params):
            log_p = jnp.take_along_axis(nn.log_softmax(mlp(params["policy"], state)), action[:, None], -1)[:, 0]
            ratio = jnp.exp(log_p - log_old)
            policy = -jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()
            value = ((mlp(params["value"], state)[:, 0] - returns) ** 2).mean()
            return policy + 0.5 * value, (policy, value)
        (loss, parts), grads = jax.value_and_grad(losses, has_aux=True)(params)
        return *sgd(params, momentum, grads), parts, loss
    return train, (params, params, array(32, 8), ints(32), array(32), array(32), array(32))


@step("POOTBBS")
def bootstrapped_views():
    params = {"encoder": mlp_of(24, 64, 32), "predictor": mlp_of(32, 32, 32)}
    def train(params, target, momentum, count, first, second, rate):
        unit = lambda x: x * lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)
        def apart(params, a, b):
            predicted = mlp(params["predictor"], mlp(params["encoder"], a))
            return (2 - 2 * (unit(predicted) * lax.stop_gradient(unit(mlp(target, b)))).sum(-1)).mean()
        loss, grads = jax.value_and_grad(lambda p: apart(p, first, second) + apart(p, second, first))(params)
        params, momentum = sgd(params, momentum, grads)
        target = tree_map(lambda t, p: rate * t + (1 - rate) * p, target, params["encoder"])
        return params, target, momentum, count + 1, loss
    return train, (params, params["encoder"], params, ints(), X, X, array())


@step("POOTBBB")
def mean_teacher():
    def train(params, teacher, momentum, count, x, more, y):
        def losses(params):
            apart = ((nn.softmax(mlp(params, more)) - nn.softmax(mlp(teacher, more))) ** 2).mean()
            return classify(params, x, y) + apart
        loss, grads = jax.value_and_grad(losses)(params)
        params, momentum = sgd(params, momentum, grads)
        return params, average(teacher, params, 0.99), momentum, count + 1, loss
    return train, (MODEL, MODEL, MODEL, ints(), X, array(64, 24), Y)


@step("POFBBS")
def distilled():
    teacher = mlp_of(24, 128, 128, 10)
    def train(params, momentum, teacher, x, y, heat):
        def losses(params):
            logits = mlp(params, x)
            soft = -(nn.softmax(mlp(teacher, x) / heat) * nn.log_softmax(logits / heat)).sum(-1).mean()
            return cross_entropy(logits, y) + soft * heat * heat
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (MODEL, MODEL, teacher, X, Y, array())


# Models whose state is not trained.

@step("POMMB")
def codebook():
    params = {"encoder": mlp_of(24, 64, 16), "decoder": mlp_of(16, 64, 24)}
    def train(params, momentum, codes, counts, x):
        def losses(params):
            z = mlp(params["encoder"], x)
            nearest = jnp.argmin(((z[:, None] - codes[None]) ** 2).sum(-1), -1)
            code = codes[nearest]
            out = mlp(params["decoder"], z + lax.stop_gradient(code - z))
            return ((out - x) ** 2).mean() + 0.25 * ((z - lax.stop_gradient(code)) ** 2).mean(), (z, nearest)
        (loss, (z, nearest)), grads = jax.value_and_grad(losses, has_aux=True)(params)
        hits = nn.one_hot(nearest, codes.shape[0])
        counts = average(counts, hits.sum(0), 0.99)
        codes = average(codes, hits.T @ z / (counts[:, None] + 1e-5), 0.99)
        return *sgd(params, momentum, grads), codes, counts, loss
    return train, (params, params, array(40, 16), array(40), array(64, 24))


@step("PMOOOTB")
def batch_norm_without_labels():
    params = {"in": array(24, 32), "scale": array(32), "shift": array(32), "out": array(32, 24)}
    def train(params, stats, m, v, ema, count, x):
        def losses(params):
            h = x @ params["in"]
            mean, var = h.mean(0), h.var(0)
            h = nn.relu((h - mean) * lax.rsqrt(var + 1e-5) * params["scale"] + params["shift"])
            return ((h @ params["out"] - x) ** 2).mean(), {"mean": mean, "var": ((x @ params["in"] - stats["mean"]) ** 2).mean(0)}
        (loss, new), grads = jax.value_and_grad(losses, has_aux=True)(params)
        params, m, v, count = adam(params, m, v, count, grads)
        return params, average(stats, new, 0.9), m, v, average(ema, params, 0.99), count, loss
    return train, (params, {"mean": array(32), "var": array(32)}, params, params, params, ints(), X)


@step("POMB")
def recurrent_state():
    params = {"embed": array(30, 32), "x": array(32, 32), "h": array(32, 32), "b": array(32), "out": array(32, 30)}
    def train(params, momentum, h, tokens):
        def losses(params):
            def cell(h, token):
                h = jnp.tanh(params["embed"][token] @ params["x"] + h @ params["h"] + params["b"])
                return h, h @ params["out"]
            last, logits = lax.scan(cell, h, tokens[:, :-1].T)
            return cross_entropy(logits, tokens[:, 1:].T), last
        (loss, h), grads = jax.value_and_grad(losses, has_aux=True)(params)
        return *sgd(params, momentum, grads), h, loss
    return train, (params, params, array(16, 32), ints(16, 21))


def block_of(width=32):
    names = ("q", "k", "v", "o")
    return {**{name: array(width, width) for name in names}, "up": array(width, 64), "down": array(64, width), "norm": array(width)}


def block(layer, x, context, mask):
    scores = (norm(x, layer["norm"]) @ layer["q"]) @ (context @ layer["k"]).swapaxes(1, 2) / 6
    x = x + nn.softmax(scores + mask) @ (context @ layer["v"]) @ layer["o"]
    return x + nn.gelu(x @ layer["up"]) @ layer["down"]


@step("POMB")
def memory_of_segments():
    params = {"embed": array(40, 32), "block": block_of()}
    def train(params, momentum, memory, tokens):
        def losses(params):
            x = params["embed"][tokens[:, :-1]]
            context = jnp.concatenate([lax.stop_gradient(memory), x], 1)
            x = block(params["block"], x, context, 0.0)
            return cross_entropy(x @ params["embed"].T, tokens[:, 1:]), context[:, -8:]
        (loss, memory), grads = jax.value_and_grad(losses, has_aux=True)(params)
        return *sgd(params, momentum, grads), lax.stop_gradient(memory), loss
    return train, (params, params, array(16, 8, 32), ints(16, 17))


@step("POB")
def odd_vocabulary():
    params = {"embed": array(251, 32), "places": array(16, 32), "blocks": [block_of() for _ in range(2)]}
    def train(params, momentum, tokens):
        def losses(params):
            x = params["embed"][tokens[:, :-1]] + params["places"]
            mask = jnp.where(jnp.tril(jnp.ones((16, 16))) == 1, 0.0, -1e9)
            for layer in params["blocks"]:
                x = block(layer, x, x, mask)
            return cross_entropy(x @ params["embed"].T, tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, ints(16, 17))


@step("POBB")
def many_heads():
    params = {"trunk": array(24, 16), "heads": [{"w": array(16, 3), "b": array(3)} for _ in range(6)]}
    def train(params, momentum, x, y):
        def losses(params):
            h = jnp.tanh(x @ params["trunk"])
            each = [cross_entropy(h @ head["w"] + head["b"], (y + i) % 3) for i, head in enumerate(params["heads"])]
            return (jnp.stack(each) * jnp.arange(1.0, 7.0)).sum()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, X, Y)


@step("POBB")
def weights_of_losses():
    params = {"trunk": array(24, 16), "heads": [array(16, 3), array(16, 5), array(16, 7)], "weights": [array(), array(), array()]}
    def train(params, momentum, x, y):
        def losses(params):
            h = jnp.tanh(x @ params["trunk"])
            each = [cross_entropy(h @ head, y % head.shape[1]) for head in params["heads"]]
            return sum(jnp.exp(-weight) * loss + weight for weight, loss in zip(params["weights"], each)), each
        (loss, each), grads = jax.value_and_grad(losses, has_aux=True)(params)
        return *sgd(params, momentum, grads), each, loss
    return train, (params, params, X, Y)


@step("POOTBB")
def parameters_without_use():
    params = {"used": MODEL, "unused": [{"w": array(64, 64), "scale": array(64)}], "stopped": array(10)}
    def train(params, m, v, count, x, y):
        def losses(params):
            return cross_entropy(mlp(params["used"], x) + lax.stop_gradient(params["stopped"]), y)
        loss, grads = jax.value_and_grad(losses)(params)
        square = sum((g * g).sum() for g in jax.tree.leaves(grads))
        grads = tree_map(lambda g: g * jnp.minimum(1, lax.rsqrt(square + 1e-6)), grads)
        return *adam(params, m, v, count, grads), loss
    return train, (params, params, params, ints(), X, Y)


@step("POBB")
def loss_computed_again_for_metrics():
    def train(params, momentum, x, y):
        def losses(params):
            logits = mlp(params, x)
            return -(nn.one_hot(y, 10) * nn.log_softmax(logits)).sum(-1).mean(), logits
        (_, logits), grads = jax.value_and_grad(losses, has_aux=True)(params)
        metrics = {"accuracy": (logits.argmax(-1) == y).mean(), "loss": cross_entropy(logits, y)}
        return *sgd(params, momentum, grads), metrics
    return train, (MODEL, MODEL, X, Y)


# Data of many shapes.

@step("POOTBB")
def pairs():
    params = {"image": mlp_of(48, 64, 32), "text": mlp_of(24, 64, 32), "heat": array()}
    def train(params, m, v, count, image, text):
        unit = lambda x: x * lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)
        def losses(params):
            logits = unit(mlp(params["image"], image)) @ unit(mlp(params["text"], text)).T * jnp.exp(params["heat"])
            labels = jnp.arange(image.shape[0])
            return cross_entropy(logits, labels) + cross_entropy(logits.T, labels)
        loss, grads = jax.value_and_grad(losses)(params)
        return *adam(params, m, v, count, grads), loss
    return train, (params, params, params, ints(), array(32, 48), array(32, 24))


@step("POOTBBB")
def collocation_points():
    params = mlp_of(2, 32, 1)
    def train(params, m, v, count, inside, border, values):
        at = lambda params, point: mlp(params, point[None], jnp.tanh)[0, 0]
        def residual(params, point):
            slope, bend = jax.grad(at, 1)(params, point), jax.hessian(at, 1)(params, point)
            return slope[1] + at(params, point) * slope[0] - 0.01 * bend[0, 0]
        def losses(params):
            errors = mlp(params, border, jnp.tanh)[:, 0] - values
            return (jax.vmap(residual, (None, 0))(params, inside) ** 2).mean() + (errors ** 2).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *adam(params, m, v, count, grads), loss
    return train, (params, params, params, ints(), array(128, 2), array(32, 2), array(32))


@step("POBBBBB", "0--00")
def graph():
    params = mlp_of(16, 32, 7)
    def train(params, momentum, x, sources, targets, y, weight):
        def losses(params):
            for layer in params:
                x_ = x if layer is params[0] else nn.relu(h)
                h = jax.ops.segment_sum((x_ @ layer["w"])[sources], targets, x.shape[0]) + layer["b"]
            each = -jnp.take_along_axis(nn.log_softmax(h), y[:, None], -1)[:, 0]
            return (each * weight).sum() / weight.sum()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, array(96, 16), ints(400), ints(400), ints(96), array(96))


@step("POBB", "11")
def time_first():
    params = {"x": array(12, 32), "h": array(32, 32), "b": array(32), "out": array(32, 5)}
    def train(params, momentum, x, y):
        def losses(params):
            def cell(h, x):
                h = jnp.tanh(x @ params["x"] + h @ params["h"] + params["b"])
                return h, h @ params["out"]
            _, logits = lax.scan(cell, jnp.zeros((x.shape[1], 32)), x)
            return cross_entropy(logits, y)
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, array(20, 32, 12), ints(20, 32))


@step("POOTBFFB", "0-")
def masks_and_tables():
    params = {"embed": array(50, 32), "place": array(16, 32), "blocks": [block_of(), block_of()]}
    def train(params, m, v, count, tokens, mask, rates, places):
        def losses(params):
            x = params["embed"][tokens[:, :-1]] + params["place"][places]
            for layer in params["blocks"]:
                x = block(layer, x, x, mask)
            return cross_entropy(x @ params["embed"].T, tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(params)
        return *adam(params, m, v, count, grads, rates[count]), loss
    return train, (params, params, params, ints(), ints(8, 13), array(12, 12), array(100), ints(12))


@step("POBBB")
def factors_of_a_matrix():
    params = {"user": array(100, 16), "item": array(200, 16), "user_bias": array(100), "item_bias": array(200), "mean": array()}
    def train(params, momentum, user, item, rating):
        def losses(params):
            biases = params["user_bias"][user] + params["item_bias"][item] + params["mean"]
            return (((params["user"][user] * params["item"][item]).sum(-1) + biases - rating) ** 2).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, ints(32), ints(32), array(32))


@step("PPBBS")
def linear_regression():
    def train(w, b, x, y, rate):
        loss, (dw, db) = jax.value_and_grad(lambda p: ((x @ p[0] + p[1] - y) ** 2).mean())((w, b))
        return w - rate * dw, b - rate * db, loss
    return train, (array(8), array(), array(32, 8), array(32), array())


@step("POFB")
def adapters_on_eight_bits():
    base = {"embed": array(50, 32), "layers": [{"w": array(32, 32, dtype=jnp.int8), "scale": array(32)} for _ in range(2)]}
    adapters = [{"a": array(32, 4), "b": array(4, 32)} for _ in range(2)]
    def train(adapters, momentum, base, tokens):
        def losses(adapters):
            x = base["embed"][tokens[:, :-1]]
            for layer, adapter in zip(base["layers"], adapters):
                x = x + nn.gelu(x @ (layer["w"].astype(jnp.float32) * layer["scale"]) + x @ adapter["a"] @ adapter["b"])
            return cross_entropy(x @ base["embed"].T, tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(adapters)
        return *sgd(adapters, momentum, grads), loss
    return train, (adapters, adapters, base, ints(16, 17))


@step("POkBF")
def noised():
    params = mlp_of(17, 64, 16)
    def train(params, momentum, key, x, alphas):
        key, at, noise = jax.random.split(key, 3)
        time = jax.random.randint(at, (x.shape[0],), 0, alphas.shape[0])
        noise, alpha = jax.random.normal(noise, x.shape), alphas[time][:, None]
        noised = jnp.sqrt(alpha) * x + jnp.sqrt(1 - alpha) * noise
        inputs = jnp.concatenate([noised, time[:, None].astype(jnp.float32) / 100], -1)
        loss, grads = jax.value_and_grad(lambda params: ((mlp(params, inputs) - noise) ** 2).mean())(params)
        return *sgd(params, momentum, grads), key, loss
    return train, (params, params, KEY, array(32, 16), array(100))


@step("POBB")
def complex_weights():
    params = {"lift": array(2, 16), "modes": array(16, 16, 8, dtype=jnp.complex64), "local": array(16, 16), "out": array(16, 1)}
    def train(params, momentum, x, y):
        def losses(params):
            h = x @ params["lift"]
            modes = jnp.einsum("bkc,cdk->bkd", jnp.fft.rfft(h, axis=1)[:, :8], params["modes"])
            h = nn.gelu(jnp.fft.irfft(modes, n=x.shape[1], axis=1) + h @ params["local"])
            return (((h @ params["out"])[..., 0] - y) ** 2).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, tree_map(jnp.conj, grads)), loss
    return train, (params, params, array(8, 32, 2), array(8, 32))


show(norms=True)
