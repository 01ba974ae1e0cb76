"""Training steps with layers of many kinds."""
import jax
import jax.numpy as jnp
from jax import lax, nn
from steps import KEY, array, cross_entropy, ints, mlp, mlp_of, sgd, step
from training_steps.common import X, Y


@step("POBS")
def neural_ode():
    params = mlp_of(5, 32, 4)
    def train(params, momentum, x, horizon):
        def losses(p):
            f = lambda h, t: mlp(p, jnp.concatenate([h, jnp.full((h.shape[0], 1), t)], -1), jnp.tanh)
            def rk4(h, i):
                dt = horizon / 8
                t = i * dt
                a = f(h, t)
                b = f(h + dt / 2 * a, t + dt / 2)
                c = f(h + dt / 2 * b, t + dt / 2)
                d = f(h + dt * c, t + dt)
                return h + dt / 6 * (a + 2 * b + 2 * c + d), None
            h, _ = lax.scan(jax.checkpoint(rk4), x[:, 0], jnp.arange(8.0))
            return ((h - x[:, 1]) ** 2).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, array(16, 2, 4), array())


@step("POB")
def sparse_autoencoder():
    params = {"enc": array(16, 64), "b": array(64), "dec": array(64, 16), "mean": array(16)}
    def train(params, momentum, x):
        def losses(p):
            h = nn.relu((x - p["mean"]) @ p["enc"] + p["b"])
            least = lax.top_k(h, 6)[0][:, -1:]
            h = jnp.where(h >= least, h, 0)
            dec = p["dec"] / (jnp.linalg.norm(p["dec"], axis=-1, keepdims=True) + 1e-6)
            return ((h @ dec + p["mean"] - x) ** 2).sum(-1).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, array(32, 16))


@step("POB")
def linear_recurrence():
    # Gated linear recurrence by an associative scan.
    layer = {"in": array(16, 64), "gate": array(16, 64), "decay": array(64), "out": array(64, 16)}
    params = {"embed": array(30, 16), "layers": [layer, layer]}
    def train(params, momentum, tokens):
        def losses(p):
            h = p["embed"][tokens[:, :-1]]
            for l in p["layers"]:
                a = nn.sigmoid(l["decay"]) ** (8 * nn.sigmoid(h @ l["gate"]))
                b = jnp.sqrt(1 - a * a + 1e-6) * (h @ l["in"])
                comb = lambda u, v: (u[0] * v[0], v[0] * u[1] + v[1])
                _, s = lax.associative_scan(comb, (a, b), axis=1)
                h = h + s @ l["out"]
            return cross_entropy(h @ p["embed"].T, tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, ints(8, 17))


@step("POB")
def delta_rule():
    params = {**{name: array(16, 2, 8) for name in "qkv"}, "embed": array(30, 16), "beta": array(16, 2), "o": array(2, 8, 16)}
    def train(params, momentum, tokens):
        def losses(p):
            h = p["embed"][tokens[:, :-1]]
            q, k, v = (jnp.einsum("btd,dhe->tbhe", h, p[n]) for n in "qkv")
            k = k / (jnp.linalg.norm(k, axis=-1, keepdims=True) + 1e-6)
            beta = nn.sigmoid(jnp.einsum("btd,dh->tbh", h, p["beta"]))[..., None]
            def cell(s, x):
                q, k, v, b = x
                old = jnp.einsum("bhek,bhk->bhe", s, k)
                s = s + jnp.einsum("bhe,bhk->bhek", b * (v - old), k)
                return s, jnp.einsum("bhek,bhk->bhe", s, q)
            _, o = lax.scan(cell, jnp.zeros((tokens.shape[0], 2, 8, 8)), (q, k, v, beta))
            h = h + jnp.einsum("tbhe,hed->btd", o, p["o"])
            return cross_entropy(h @ p["embed"].T, tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, ints(8, 17))


@step("POBB")
def packed_sequences():
    params = {"embed": array(30, 16), "qkv": array(16, 3, 2, 8), "o": array(2, 8, 16), "up": array(16, 64), "down": array(64, 16)}
    def train(params, momentum, tokens, segments):
        def losses(p):
            x = p["embed"][tokens[:, :-1]]
            seg = segments[:, :-1]
            first = jnp.concatenate([jnp.ones_like(seg[:, :1], bool), seg[:, 1:] != seg[:, :-1]], 1)
            index = jnp.arange(seg.shape[1])
            pos = index - lax.cummax(jnp.where(first, index, 0), axis=1)
            angle = pos[..., None] / 10 ** jnp.linspace(0, 2, 4)
            def rotate(t):
                a, b = t[..., :4], t[..., 4:]
                c, s = jnp.cos(angle)[:, :, None], jnp.sin(angle)[:, :, None]
                return jnp.concatenate([a * c - b * s, a * s + b * c], -1)
            q, k, v = jnp.moveaxis(jnp.einsum("btd,dche->btche", x, p["qkv"]), 2, 0)
            s = jnp.einsum("bqhe,bkhe->bhqk", rotate(q), rotate(k))
            mask = (seg[:, :, None] == seg[:, None]) & (index[:, None] >= index[None])
            w = nn.softmax(jnp.where(mask[:, None], s, -1e9))
            x = x + jnp.einsum("bhqk,bkhe,hed->bqd", w, v, p["o"])
            x = x + nn.gelu(x @ p["up"]) @ p["down"]
            logp = jnp.take_along_axis(nn.log_softmax(x @ p["embed"].T), tokens[:, 1:, None], -1)[..., 0]
            valid = (segments[:, 1:] == seg).astype(jnp.float32)
            return -(logp * valid).sum() / (valid.sum() + 1)
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, ints(8, 17), ints(8, 17))


@step("POB")
def convolutions_in_time():
    block = {"depth": array(3, 1, 16), "point": array(1, 16, 16), "scale": array(16)}
    params = {"stem": array(5, 4, 16), "blocks": [block for _ in range(3)], "up": array(4, 16, 4)}
    def train(params, momentum, x):
        dn = ("NWC", "WIO", "NWC")
        def losses(p):
            h = lax.conv_general_dilated(x, p["stem"], (2,), "SAME", dimension_numbers=dn)
            for i, b in enumerate(p["blocks"]):
                t = lax.conv_general_dilated(
                    h, b["depth"], (1,), [(2 ** (i + 1), 0)], rhs_dilation=(2 ** i,), dimension_numbers=dn, feature_group_count=16)
                groups = t.reshape(*t.shape[:2], 4, 4)
                mean, var = groups.mean((1, 3), keepdims=True), groups.var((1, 3), keepdims=True)
                t = ((groups - mean) * lax.rsqrt(var + 1e-5)).reshape(t.shape) * b["scale"]
                h = h + lax.conv_general_dilated(nn.gelu(t), b["point"], (1,), "SAME", dimension_numbers=dn)
            h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 3, 1), (1, 1, 1), "SAME")
            out = lax.conv_transpose(h, p["up"], (2,), "SAME", dimension_numbers=dn)
            return ((out - x) ** 2).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, array(8, 32, 4))


@step("POMB")
def delayed_scaling():
    # FP8 with histories of largest values as state.
    params = mlp_of(24, 64, 24)
    history = [array(4) for _ in range(2)]
    def train(params, momentum, history, x):
        def losses(p):
            h, new = x, []
            for layer, largest in zip(p, history):
                scale = (largest.max() + 1e-3) / 448
                narrow = jnp.clip(h / scale, -448, 448).astype(jnp.float8_e4m3fn)
                new.append(jnp.roll(largest, 1).at[0].set(jnp.abs(h).max()))
                h = nn.gelu(narrow.astype(jnp.float32) @ layer["w"] * scale + layer["b"])
            return ((h - x) ** 2).mean(), new
        (loss, new), grads = jax.value_and_grad(losses, has_aux=True)(params)
        return *sgd(params, momentum, grads), lax.stop_gradient(new), loss
    return train, (params, params, history, array(32, 24))


@step("POTkBB")
def dropped_layers():
    # Stochastic depth over stacked layers, computed again, with a key for each.
    layers = {"w": array(6, 24, 24), "b": array(6, 24)}
    params = {"layers": layers, "head": array(24, 10)}
    def train(params, momentum, count, key, x, y):
        key, at = jax.random.split(key)
        def losses(p):
            @jax.checkpoint
            def layer(h, lk):
                l, k = lk
                keep = jax.random.bernoulli(k, 0.8, (h.shape[0], 1))
                return h + jnp.where(keep, nn.gelu(h @ l["w"] + l["b"]) / 0.8, 0), None
            h, _ = lax.scan(layer, x, (p["layers"], jax.random.split(at, 6)))
            return cross_entropy(h @ p["head"], y)
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), count + 1, key, loss
    return train, (params, params, ints(), KEY, X, Y)


@step("POBB")
def latent_attention():
    # MLA: keys and values of a narrow latent, rotated part shared by heads; cross entropy chunk by chunk.
    params = {"embed": array(40, 24), "q": array(24, 4, 8), "down": array(24, 6), "up_k": array(6, 4, 8), "up_v": array(6, 4, 8),
              "rot": array(24, 8), "o": array(4, 8, 24), "head": array(24, 40)}
    def train(params, momentum, tokens, targets):
        def losses(p):
            x = p["embed"][tokens]
            c = x @ p["down"]
            q = jnp.einsum("btd,dhe->bthe", x, p["q"])
            k = jnp.einsum("btc,che->bthe", c, p["up_k"]) + (x @ p["rot"])[:, :, None]
            v = jnp.einsum("btc,che->bthe", c, p["up_v"])
            w = nn.softmax(jnp.where(jnp.tril(jnp.ones((16, 16), bool)), jnp.einsum("bqhe,bkhe->bhqk", q, k), -1e9))
            h = (x + jnp.einsum("bhqk,bkhe,hed->bqd", w, v, p["o"])).reshape(4, -1, 24)
            ys = targets.reshape(4, -1)
            @jax.checkpoint
            def chunk(total, hy):
                h, y = hy
                return total + cross_entropy(h @ p["head"], y), None
            return lax.scan(chunk, 0.0, (h, ys))[0] / 4
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, ints(8, 16), ints(8, 16))


@step("POBB")
def expert_choice():
    params = {"in": array(24, 16), "router": array(16, 4), "up": array(4, 16, 32), "down": array(4, 32, 16), "out": array(16, 10)}
    def train(params, momentum, x, y):
        def losses(p):
            h = x @ p["in"]
            s = nn.softmax(h @ p["router"])
            g, idx = lax.top_k(s.T, 12)
            picked = h[idx]
            o = jnp.einsum("ecf,efd->ecd", nn.relu(jnp.einsum("ecd,edf->ecf", picked, p["up"])), p["down"]) * g[..., None]
            h = h.at[idx.reshape(-1)].add(o.reshape(-1, 16))
            return cross_entropy(h @ p["out"], y)
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, X, Y)


@step("POsB")
def rolled_out():
    # A world model: latent states over time, imagined, its return by a scan from behind.
    params = {"gru": {"z": array(20, 16), "r": array(20, 16), "h": array(20, 16)}, "reward": array(16), "value": array(16)}
    def train(params, momentum, scale, seq):
        def losses(p):
            def cell(h, x):
                z, r = (nn.sigmoid(jnp.concatenate([h, x], -1) @ p["gru"][n]) for n in "zr")
                c = jnp.tanh(jnp.concatenate([r * h, x], -1) @ p["gru"]["h"])
                h = (1 - z) * h + z * c
                return h, h
            _, hs = lax.scan(cell, jnp.zeros((seq.shape[0], 16)), jnp.moveaxis(seq, 1, 0))
            reward, value = hs @ p["reward"], hs @ p["value"]
            def back(ret, rv):
                ret = rv[0] + 0.95 * (0.1 * rv[1] + 0.9 * ret)
                return ret, ret
            _, rets = lax.scan(back, value[-1], (reward, value), reverse=True)
            lo, hi = jnp.percentile(lax.stop_gradient(rets), jnp.array([5.0, 95.0]))
            return ((value - lax.stop_gradient(rets)) ** 2).mean() - (rets / jnp.maximum(1, scale)).mean(), hi - lo
        (loss, spread), grads = jax.value_and_grad(losses, has_aux=True)(params)
        return *sgd(params, momentum, grads), 0.99 * scale + 0.01 * spread, loss
    return train, (params, params, array(), array(16, 12, 4))
