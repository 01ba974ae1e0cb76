"""Training steps with losses of pairs, groups, queues and sequences."""
import jax
import jax.numpy as jnp
from jax import lax, nn
from steps import KEY, array, average, cross_entropy, ints, mlp, mlp_of, sgd, step
from training_steps.common import MODEL, X, Y


@step("POPOBK")
def gradient_penalty():
    critic, gen = mlp_of(6, 32, 1), mlp_of(3, 32, 6)
    def train(critic, cm, gen, gm, real, key):
        k1, k2 = jax.random.split(key)
        noise = jax.random.normal(k1, (real.shape[0], 3))
        mix = jax.random.uniform(k2, (real.shape[0], 1))
        fake = mlp(gen, noise)
        score = lambda c, x: mlp(c, x)[:, 0]
        def closs(c):
            at = mix * real + (1 - mix) * fake
            slope = jax.vmap(jax.grad(lambda x: score(c, x[None])[0]))(at)
            return score(c, fake).mean() - score(c, real).mean() + 10 * ((jnp.sqrt((slope ** 2).sum(-1) + 1e-8) - 1) ** 2).mean()
        c_loss, cg = jax.value_and_grad(closs)(critic)
        critic, cm = sgd(critic, cm, cg)
        g_loss, gg = jax.value_and_grad(lambda g: -score(critic, mlp(g, noise)).mean())(gen)
        gen, gm = sgd(gen, gm, gg)
        return critic, cm, gen, gm, c_loss, g_loss
    return train, (critic, critic, gen, gen, array(16, 6), KEY)


@step("POOMTB")
def momentum_contrast():
    # MoCo: a queue of keys as state, a momentum encoder.
    enc = mlp_of(12, 32, 16)
    unit = lambda x: x / (jnp.linalg.norm(x, axis=-1, keepdims=True) + 1e-6)
    def train(params, momentum, slow, queue, at, views):
        keys = unit(mlp(slow, views[:, 1]))
        def losses(p):
            q = unit(mlp(p, views[:, 0]))
            positive = (q * keys).sum(-1, keepdims=True)
            logits = jnp.concatenate([positive, q @ queue.T], -1) / 0.1
            return -nn.log_softmax(logits)[:, 0].mean()
        loss, grads = jax.value_and_grad(losses)(params)
        params, momentum = sgd(params, momentum, grads)
        queue = lax.dynamic_update_slice(queue, lax.stop_gradient(keys), (at, 0))
        return params, momentum, average(slow, params, 0.99), queue, (at + views.shape[0]) % queue.shape[0], loss
    return train, (enc, enc, enc, array(64, 16), ints(), array(16, 2, 12))


@step("POB")
def covariance_of_batch():
    # VICReg: variance, invariance, covariance over the batch.
    enc = mlp_of(12, 32, 16)
    def train(params, momentum, views):
        def losses(p):
            a, b = mlp(p, views[:, 0]), mlp(p, views[:, 1])
            def one(z):
                z = z - z.mean(0)
                cov = z.T @ z / (z.shape[0] - 1)
                off = (cov ** 2).sum() - (jnp.diag(cov) ** 2).sum()
                return nn.relu(1 - jnp.sqrt(z.var(0) + 1e-4)).mean() + off / z.shape[1]
            return ((a - b) ** 2).mean() + one(a) + one(b)
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (enc, enc, array(16, 2, 12))


@step("POB")
def assigned_by_sinkhorn():
    enc = {"net": mlp_of(12, 32, 16), "prototypes": array(16, 10)}
    def train(params, momentum, views):
        def losses(p):
            z = [mlp(p["net"], views[:, i]) for i in range(2)]
            scores = [v / (jnp.linalg.norm(v, axis=-1, keepdims=True) + 1e-6) @ p["prototypes"] for v in z]
            def sinkhorn(s):
                q = jnp.exp(lax.stop_gradient(s) / 0.5).T
                q = q / q.sum()
                def once(q, _):
                    q = q / q.sum(1, keepdims=True) / q.shape[0]
                    return q / q.sum(0, keepdims=True) / q.shape[1], None
                q, _ = lax.scan(once, q, None, length=3)
                return (q * q.shape[1]).T
            q = [sinkhorn(s) for s in scores]
            return -sum((q[i] * nn.log_softmax(scores[1 - i] / 0.1)).sum(-1).mean() for i in range(2))
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (enc, enc, array(16, 2, 12))


@step("POB", "1")
def conditional_random_field():
    # Tags by a chain: the forward algorithm over time, time first.
    params = {"emit": array(20, 7), "move": array(7, 7), "start": array(7)}
    def train(params, momentum, data):
        def losses(p):
            words, tags = data[:, :, 0], data[:, :, 1]
            emit = p["emit"][words]
            def forward(a, e):
                return nn.logsumexp(a[:, :, None] + p["move"], 1) + e, None
            last, _ = lax.scan(forward, p["start"] + emit[0], emit[1:])
            emitted = jnp.take_along_axis(emit, tags[..., None], -1)[..., 0].sum(0)
            score = emitted + p["move"][tags[:-1], tags[1:]].sum(0) + p["start"][tags[0]]
            return (nn.logsumexp(last, -1) - score).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, ints(9, 16, 2))


@step("PFOB")
def preferred():
    # DPO: pairs, against a frozen model.
    params = {"embed": array(30, 16), "w": array(16, 32), "o": array(32, 30)}
    def train(params, frozen, momentum, tokens):
        def logp(p, t):
            h = jnp.cumsum(p["embed"][t[..., :-1]], -2)
            logits = nn.gelu(h @ p["w"]) @ p["o"]
            return jnp.take_along_axis(nn.log_softmax(logits), t[..., 1:, None], -1)[..., 0].sum(-1)
        def losses(p):
            d = logp(p, tokens) - logp(frozen, tokens)
            return -nn.log_sigmoid(0.1 * (d[:, 0] - d[:, 1])).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, params, ints(8, 2, 13))


@step("POBBBB")
def groups_of_answers():
    # GRPO: several answers to each question, advantages within a group, an old policy's log probabilities.
    params = {"embed": array(30, 16), "w": array(16, 32), "o": array(32, 30)}
    def train(params, momentum, tokens, mask, reward, old):
        adv = (reward - reward.mean(1, keepdims=True)) / (reward.std(1, keepdims=True) + 1e-4)
        def losses(p):
            h = jnp.cumsum(p["embed"][tokens[..., :-1]], -2)
            logits = nn.gelu(h @ p["w"]) @ p["o"]
            logp = jnp.take_along_axis(nn.log_softmax(logits), tokens[..., 1:, None], -1)[..., 0]
            ratio = jnp.exp(jnp.clip(logp - old, -2, 2))
            a = adv[..., None]
            per = -jnp.minimum(ratio * a, jnp.clip(ratio, 0.8, 1.2) * a)
            return ((per * mask).sum(-1) / (mask.sum(-1) + 1)).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, ints(8, 4, 13), array(8, 4, 12), array(8, 4), array(8, 4, 12))


@step("POBB")
def arc_margin():
    params = {"net": mlp_of(24, 32, 16), "centres": array(50, 16)}
    def train(params, momentum, x, y):
        def losses(p):
            z = mlp(p["net"], x)
            z = z / (jnp.linalg.norm(z, axis=-1, keepdims=True) + 1e-6)
            w = p["centres"] / (jnp.linalg.norm(p["centres"], axis=-1, keepdims=True) + 1e-6)
            cos = jnp.clip(z @ w.T, -0.999, 0.999)
            target = nn.one_hot(y, 50, dtype=bool)
            return cross_entropy(16 * jnp.where(target, jnp.cos(jnp.arccos(cos) + 0.3), cos), y)
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, X, Y)


@step("POBB")
def hardest_triplets():
    params = mlp_of(24, 32, 8)
    def train(params, momentum, x, y):
        def losses(p):
            z = mlp(p, x)
            d = ((z[:, None] - z[None]) ** 2).sum(-1)
            same = y[:, None] == y[None]
            far = jnp.where(same, d, 0).max(1)
            near = jnp.where(same, 1e9, d).min(1)
            return nn.relu(far - jnp.minimum(near, 100) + 0.2).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, X, Y)


@step("POBK")
def sampled_softmax():
    params = {"in": array(100, 16), "out": array(100, 16), "bias": array(100)}
    def train(params, momentum, pairs, key):
        drawn = jax.random.randint(key, (20,), 0, 100)
        def losses(p):
            h = p["in"][pairs[:, 0]]
            ids = pairs[:, 1]
            true = (h * p["out"][ids]).sum(-1) + p["bias"][ids]
            noise = h @ p["out"][drawn].T + p["bias"][drawn]
            noise = jnp.where(drawn[None] == ids[:, None], -1e9, noise)
            return (nn.logsumexp(jnp.concatenate([true[:, None], noise], -1), -1) - true).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, ints(32, 2), KEY)


@step("POFBB")
def confusion_in_result():
    def train(params, momentum, weights, x, y):
        def losses(p):
            logits = mlp(p, x)
            surprise = -jnp.take_along_axis(nn.log_softmax(logits), y[:, None], -1)[:, 0]
            return (surprise * weights[y]).sum() / (weights[y].sum() + 1e-6), logits
        (loss, logits), grads = jax.value_and_grad(losses, has_aux=True)(params)
        guess = logits.argmax(-1)
        confusion = jnp.zeros((10, 10), jnp.int32).at[y, guess].add(1)
        top3 = (lax.top_k(logits, 3)[1] == y[:, None]).any(-1).mean()
        return *sgd(params, momentum, grads), loss, confusion, top3, (guess == y).mean()
    return train, (MODEL, MODEL, array(10), X, Y)
