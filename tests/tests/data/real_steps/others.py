"""Real steps on fields, graphs, games, clicks and proteins."""
import jax
import jax.numpy as jnp
from jax import lax, nn
from real_steps.layers import BF16, attention_of, conv, layer_norm, linear, linear_of, narrow, norm_of, stacked
from real_steps.optimizers import adagrad, adamw, clipped
from steps import KEY, array, cross_entropy, ints, mlp, mlp_of, sgd, step, tree_map


@step("POOTBB")
def fno():
    # A Fourier neural operator in two dimensions, with complex weights for the lowest modes.
    width, modes, side = 64, 32, 256
    layer = {"low": array(modes, modes, width, width, dtype=jnp.complex64), "high": array(modes, modes, width, width, dtype=jnp.complex64),
             "local": linear_of(width, width)}
    params = {"in": mlp_of(5, 128, width), "layers": [layer for _ in range(4)], "out": mlp_of(width, 256, 1)}
    reals = tree_map(lambda a: array(*a.shape), params)
    def train(params, m, v, count, before, after):
        line = jnp.linspace(0, 1, side)
        places = jnp.stack(jnp.meshgrid(line, line, indexing="ij"), -1)
        def losses(params):
            x = jnp.concatenate([before, jnp.broadcast_to(places, (*before.shape[:3], 2))], -1)
            x = mlp(params["in"], x, nn.gelu)
            for p in params["layers"]:
                f = jnp.fft.rfft2(x, axes=(1, 2))
                out = jnp.zeros_like(f)
                out = out.at[:, :modes, :modes].set(jnp.einsum("bxyi,xyio->bxyo", f[:, :modes, :modes], p["low"]))
                out = out.at[:, -modes:, :modes].set(jnp.einsum("bxyi,xyio->bxyo", f[:, -modes:, :modes], p["high"]))
                x = nn.gelu(jnp.fft.irfft2(out, s=(side, side), axes=(1, 2)) + linear(p["local"], x))
            error = (mlp(params["out"], x, nn.gelu) - after).reshape(after.shape[0], -1)
            return (jnp.linalg.norm(error, axis=-1) / jnp.linalg.norm(after.reshape(error.shape), axis=-1)).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        count = count + 1
        m = tree_map(lambda m, g: 0.9 * m + 0.1 * jnp.conj(g), m, grads)
        v = tree_map(lambda v, g: 0.999 * v + 0.001 * (g * jnp.conj(g)).real, v, grads)
        c1, c2 = 1 - 0.9 ** count.astype(jnp.float32), 1 - 0.999 ** count.astype(jnp.float32)
        params = tree_map(lambda p, m, v: p - 1e-3 * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), params, m, v)
        return params, m, v, count, loss
    return train, (params, params, reals, ints(), array(64, side, side, 3), array(64, side, side, 1))


@step("POOTBBBB", "0--0")
def graph_network():
    # Weather on one mesh: messages along edges that all examples share.
    width, nodes, edges = 512, 10242, 61440
    def net_of(inputs):
        return {"mlp": mlp_of(inputs, width, width), "norm": norm_of(width)}
    def net(p, x):
        return layer_norm(p["norm"], mlp(narrow(p["mlp"]), x, nn.silu))
    params = {
        "nodes": net_of(178), "edges": array(edges, width), "layers": stacked({"edge": net_of(3 * width), "node": net_of(2 * width)}, 16),
        "out": mlp_of(width, width, 83),
    }
    def train(params, m, v, count, weather, sources, targets, later):
        def losses(params):
            x = net(params["nodes"], weather.astype(BF16))
            e = jnp.broadcast_to(params["edges"].astype(BF16), (x.shape[0], edges, width))
            @jax.checkpoint
            def layer(state, p):
                x, e = state
                e = e + net(p["edge"], jnp.concatenate([e, x[:, sources], x[:, targets]], -1))
                come = jax.vmap(lambda e: jax.ops.segment_sum(e, targets, nodes))(e)
                return (x + net(p["node"], jnp.concatenate([x, come], -1)), e), None
            (x, _), _ = lax.scan(layer, (x, e), params["layers"])
            change = mlp(narrow(params["out"]), x, nn.silu).astype(jnp.float32)
            return ((weather[..., :83] + change - later) ** 2).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *adamw(params, m, v, count, clipped(grads)), loss
    return train, (params, params, params, ints(), array(16, nodes, 178), ints(edges), ints(edges), array(16, nodes, 83))


@step("POPOBBB")
def dlrm():
    # Clicks: 26 tables of 0.5 B numbers with Adagrad, products of all pairs of features.
    rows = [1_400_000, 960_000, 640_000, 400_000, 240_000, 120_000, 60_000, 30_000, 12_000, 6000, 3000, 1500, 700, 300, 100, 60, 30, 24]
    rows += [10] * 8
    tables = [array(count, 128) for count in rows]
    dense = {"bottom": mlp_of(13, 512, 256, 128), "top": mlp_of(128 + 27 * 26 // 2, 1024, 1024, 512, 256, 1)}
    def train(dense, momentum, tables, sums, numbers, categories, clicked):
        def losses(dense, tables):
            x = mlp(dense["bottom"], jnp.log1p(nn.relu(numbers)))
            features = jnp.stack([x, *(jnp.take(table, categories[:, i], axis=0) for i, table in enumerate(tables))], 1)
            pairs = jnp.einsum("bid,bjd->bij", features, features)[:, *jnp.tril_indices(27, -1)]
            logits = mlp(dense["top"], jnp.concatenate([x, pairs], -1))[:, 0]
            return (nn.softplus(logits) - clicked * logits).mean()
        loss, (dense_grads, grads) = jax.value_and_grad(losses, (0, 1))(dense, tables)
        dense, momentum = sgd(dense, momentum, dense_grads)
        tables, sums = adagrad(tables, sums, grads)
        return dense, momentum, tables, sums, loss
    return train, (dense, dense, tables, tables, array(16384, 13), ints(16384, 26), array(16384))


@step("POOTBBBBBBK", "111111")
def ppo_gae():
    # Frames of 128 steps in 256 games; advantages by a scan backwards, then four updates, of a quarter of the games each.
    steps, games, width = 128, 256, 512
    params = {
        "convs": [array(8, 8, 4, 32), array(4, 4, 32, 64), array(3, 3, 64, 64)], "in": linear_of(7 * 7 * 64, width),
        "policy": linear_of(width, 18), "value": linear_of(width, 1),
    }
    def see(params, frames):
        x = frames.reshape(-1, 84, 84, 4).astype(BF16) / 255
        for kernel, stride in zip(params["convs"], (4, 2, 1)):
            x = nn.relu(conv(x, kernel, stride, "VALID"))
        x = nn.relu(linear(params["in"], x.reshape(x.shape[0], -1))).astype(jnp.float32)
        log_p, value = nn.log_softmax(linear(params["policy"], x)), linear(params["value"], x)[:, 0]
        return log_p.reshape(*frames.shape[:2], 18), value.reshape(frames.shape[:2])
    def train(params, m, v, count, frames, actions, rewards, done, log_old, values, key):
        def back(gain, at):
            reward, done, value, after = at
            gain = reward + 0.99 * after * (1 - done) - value + 0.99 * 0.95 * (1 - done) * gain
            return gain, gain
        after = jnp.concatenate([values[1:], values[-1:]])
        _, gains = lax.scan(back, jnp.zeros(games), (rewards, done, values, after), reverse=True)
        returns = gains + values
        all_games = frames, actions, gains, returns, log_old
        def update(state, at):
            params, m, v, count = state
            frames, actions, gains, returns, log_old = (a[:, at] for a in all_games)
            gains = (gains - gains.mean()) / (gains.std() + 1e-8)
            def losses(params):
                log_p, value = see(params, frames)
                chosen = jnp.take_along_axis(log_p, actions[..., None], -1)[..., 0]
                ratio = jnp.exp(chosen - log_old)
                policy = -jnp.minimum(ratio * gains, jnp.clip(ratio, 0.9, 1.1) * gains).mean()
                spread = -(jnp.exp(log_p) * log_p).sum(-1).mean()
                return policy + 0.5 * ((value - returns) ** 2).mean() - 0.01 * spread
            loss, grads = jax.value_and_grad(losses)(params)
            return adamw(params, m, v, count, clipped(grads, 0.5)), loss
        order = jax.random.permutation(key, games).reshape(4, -1)
        state, losses = lax.scan(update, (params, m, v, count), order)
        return *state, losses.mean()
    data = (array(steps, games, 84, 84, 4, dtype=jnp.uint8), ints(steps, games), *[array(steps, games)] * 4)
    return train, (params, params, params, ints(), *data, KEY)


@step("POOTBBB")
def evoformer():
    # Pairs of residues and aligned sequences (AlphaFold 2): products and attention along triangles.
    pair, seq, residues, sequences = 128, 256, 256, 128
    def gated_of(width, heads):
        return {"norm": norm_of(width), "attention": attention_of(width), "gate": linear_of(width, width), "bias": array(pair, heads)}
    def triangle_of():
        return {"norm": norm_of(pair), "last": norm_of(pair), **{n: linear_of(pair, pair) for n in ("a", "b", "ga", "gb", "g", "o")}}
    def wide_of(width):
        return {"norm": norm_of(width), "up": linear_of(width, 4 * width), "down": linear_of(4 * width, width)}
    layer_of = {
        "row": gated_of(seq, 8), "column": gated_of(seq, 8), "seq": wide_of(seq), "outer": {"norm": norm_of(seq), "a": linear_of(seq, 32),
        "b": linear_of(seq, 32), "o": linear_of(1024, pair)}, "out": triangle_of(), "in": triangle_of(), "start": gated_of(pair, 4),
        "end": gated_of(pair, 4), "pair": wide_of(pair),
    }
    params = {
        "seq": linear_of(49, seq), "left": linear_of(22, pair), "right": linear_of(22, pair), "apart": array(65, pair),
        "layers": stacked(layer_of, 48), "masked": linear_of(seq, 23), "distances": linear_of(pair, 64),
    }
    def gated(p, x, heads, bias=None):
        """Attention along the last dimension but one, for [batch, row, column, feature]."""
        h = layer_norm(p["norm"], x)
        split = lambda a: a.reshape(*a.shape[:3], heads, -1)
        q, k, v = (split(linear(p["attention"][n], h)) for n in "qkv")
        scores = jnp.einsum("brqhd,brkhd->brhqk", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
        scores = scores if bias is None else scores + bias[:, None]
        y = jnp.einsum("brhqk,brkhd->brqhd", nn.softmax(scores).astype(BF16), v).reshape(x.shape)
        return linear(p["attention"]["o"], y * nn.sigmoid(linear(p["gate"], h)))
    bias_of = lambda p, z: jnp.einsum("bijc,ch->bhij", z, p["bias"].astype(BF16)).astype(jnp.float32)
    wider = lambda p, x: linear(p["down"], nn.relu(linear(p["up"], layer_norm(p["norm"], x))))
    def triangle(p, z, along):
        h = layer_norm(p["norm"], z)
        a, b = (nn.sigmoid(linear(p["g" + n], h)) * linear(p[n], h) for n in "ab")
        return nn.sigmoid(linear(p["g"], h)) * linear(p["o"], layer_norm(p["last"], jnp.einsum(along, a, b)))
    @jax.checkpoint
    def layer(state, p):
        s, z = state
        s = s + gated(p["row"], s, 8, bias_of(p["row"], z))
        s = s + gated(p["column"], s.swapaxes(1, 2), 8).swapaxes(1, 2)
        s = s + wider(p["seq"], s)
        h = layer_norm(p["outer"]["norm"], s)
        outer = jnp.einsum("bsic,bsjd->bijcd", linear(p["outer"]["a"], h), linear(p["outer"]["b"], h)) / sequences
        z = z + linear(p["outer"]["o"], outer.reshape(*z.shape[:3], -1))
        z = z + triangle(p["out"], z, "bikc,bjkc->bijc")
        z = z + triangle(p["in"], z, "bkic,bkjc->bijc")
        z = z + gated(p["start"], z, 4, bias_of(p["start"], z))
        turned = z.swapaxes(1, 2)
        z = z + gated(p["end"], turned, 4, bias_of(p["end"], turned)).swapaxes(1, 2)
        return (s, z + wider(p["pair"], z)), None
    def train(params, m, v, count, aligned, kinds, distances):
        def losses(params):
            first = nn.one_hot(kinds, 22, dtype=BF16)
            place = jnp.arange(residues)
            apart = jnp.clip(place[:, None] - place, -32, 32) + 32
            z = linear(params["left"], first)[:, :, None] + linear(params["right"], first)[:, None] + params["apart"].astype(BF16)[apart]
            s = linear(params["seq"], aligned.astype(BF16))
            (s, z), _ = lax.scan(layer, (s, z), params["layers"])
            told = linear(params["distances"], z + z.swapaxes(1, 2)).astype(jnp.float32)
            masked = linear(params["masked"], s).astype(jnp.float32)
            return cross_entropy(told, distances) + 2 * cross_entropy(masked, aligned[..., :23].argmax(-1))
        loss, grads = jax.value_and_grad(losses)(params)
        return *adamw(params, m, v, count, clipped(grads, 0.1)), loss
    return train, (params, params, params, ints(), array(8, sequences, residues, 49), ints(8, residues), ints(8, residues, residues))
