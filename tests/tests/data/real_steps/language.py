"""Real steps on text."""
import jax
import jax.numpy as jnp
from jax import lax, nn
from real_steps.layers import (
    BF16, attend, attention, attention_of, block, block_of, causal, conv, layer_norm, linear, linear_of, narrow, norm_of, rms_norm, scanned,
    stacked, token_loss,
)
from real_steps.optimizers import adamw, clipped, factored, factors, mixed_adamw, muon
from steps import KEY, array, cast, ints, sgd, step, tree_map


@step("POOTB")
def mamba():
    width, inner, states, rank, words = 1024, 2048, 16, 64, 50280
    layer = {
        "norm": array(width), "in": array(width, 2 * inner), "conv": array(4, 1, inner), "conv_b": array(inner),
        "x": array(inner, rank + 2 * states), "dt": linear_of(rank, inner), "a_log": array(inner, states), "d": array(inner),
        "out": array(inner, width),
    }
    params = {"embed": array(words, width), "layers": stacked(layer, 24), "norm": array(width)}
    def mix(p, x):
        h, gate = jnp.split(rms_norm(p["norm"], x) @ p["in"].astype(BF16), 2, -1)
        h = nn.silu(conv(h, p["conv"], padding=[(3, 0)], groups=inner) + p["conv_b"].astype(BF16))
        dt, b, c = jnp.split((h @ p["x"].astype(BF16)).astype(jnp.float32), (rank, rank + states), -1)
        dt = nn.softplus(linear(p["dt"], dt))
        decay = jnp.exp(dt[..., None] * -jnp.exp(p["a_log"]))
        added = (dt * h)[..., None] * b[:, :, None, :]
        join = lambda a, b: (b[0] * a[0], b[0] * a[1] + b[1])
        _, state = lax.associative_scan(join, (decay, added), axis=1)
        y = jnp.einsum("blds,bls->bld", state, c) + p["d"] * h
        return x + (y.astype(BF16) * nn.silu(gate)) @ p["out"].astype(BF16)
    def train(params, m, v, count, tokens):
        def losses(params):
            x = params["embed"].astype(BF16)[tokens[:, :-1]]
            x = rms_norm(params["norm"], scanned(mix, params["layers"], x))
            return token_loss(x @ params["embed"].astype(BF16).T, tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(params)
        return *adamw(params, m, v, count, clipped(grads)), loss
    return train, (params, params, params, ints(), ints(8, 1025))


@step("POOTB")
def hyena():
    # Convolutions as long as the text, by FFT, with filters that a small network makes of places.
    width, length, layers, words = 864, 8192, 18, 50257
    layer = {
        "norm1": norm_of(width), "in": linear_of(width, 3 * width), "short": array(3, 1, 3 * width), "out": linear_of(width, width),
        "filter": [linear_of(33, 64), linear_of(64, 64), linear_of(64, 2 * width)], "decay": array(2 * width), "bias": array(2, width),
        "norm2": norm_of(width), "up": linear_of(width, 4 * width), "down": linear_of(4 * width, width),
    }
    params = {"embed": array(words, width), "layers": stacked(layer, layers), "norm": norm_of(width)}
    def mix(p, x):
        time = jnp.linspace(0, 1, length)[:, None]
        turns = 2 * jnp.pi * time * jnp.arange(1, 17)
        h = jnp.concatenate([time, jnp.sin(turns), jnp.cos(turns)], -1)
        for q in p["filter"][:-1]:
            h = jnp.sin(linear(q, h))
        h = linear(p["filter"][-1], h) * jnp.exp(-jnp.abs(p["decay"]) * time)
        filters = jnp.fft.rfft(h.reshape(length, 2, width), n=2 * length, axis=0)
        u = linear(p["in"], layer_norm(p["norm1"], x))
        v, *gates = jnp.split(conv(u, p["short"], padding=[(2, 0)], groups=3 * width).astype(jnp.float32), 3, -1)
        for i, gate in enumerate(gates):
            v = v * gate
            modes = jnp.fft.rfft(v, n=2 * length, axis=1) * filters[None, :, i]
            v = jnp.fft.irfft(modes, n=2 * length, axis=1)[:, :length] + v * p["bias"][i]
        x = x + linear(p["out"], v.astype(BF16))
        return x + linear(p["down"], nn.gelu(linear(p["up"], layer_norm(p["norm2"], x))))
    def train(params, m, v, count, tokens):
        def losses(params):
            x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]])
            x = layer_norm(params["norm"], x)
            return token_loss(x @ params["embed"].T.astype(BF16), tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(params)
        return *adamw(params, m, v, count, clipped(grads)), loss
    return train, (params, params, params, ints(), ints(8, length + 1))


@step("POOOTB")
def sliding_window():
    # A token sees the window of 512 it is in and the one before, by slopes (ALiBi); 16 heads share four of keys and values.
    width, heads, groups, window, size = 1024, 16, 4, 512, 64
    layer = {
        "norm1": array(width), "q": array(width, heads, size), "k": array(width, groups, size), "v": array(width, groups, size),
        "o": array(heads, size, width), "norm2": array(width), "gate": array(width, 2816), "up": array(width, 2816),
        "down": array(2816, width),
    }
    masters = {"embed": array(32000, width), "layers": [layer for _ in range(24)], "norm": array(width), "out": array(width, 32000)}
    params = cast(masters, BF16)
    def mix(p, x):
        h = rms_norm(p["norm1"], x)
        cut = lambda a: a.reshape(a.shape[0], -1, window, *a.shape[2:])
        q = cut(jnp.einsum("bld,dhf->blhf", h, p["q"]))
        k, v = (cut(jnp.einsum("bld,dhf->blhf", h, p[name])) for name in "kv")
        both = lambda a: jnp.concatenate([jnp.pad(a, ((0, 0), (1, 0), (0, 0), (0, 0), (0, 0)))[:, :-1], a], 2)
        k, v = both(k), both(v)
        q = q.reshape(*q.shape[:3], groups, heads // groups, size)
        scores = jnp.einsum("bwqghf,bwkgf->bwghqk", q, k, preferred_element_type=jnp.float32) * size ** -0.5
        back = window + jnp.arange(window)[:, None] - jnp.arange(2 * window)
        slopes = (2.0 ** (-8 * jnp.arange(1, heads + 1) / heads)).reshape(groups, heads // groups, 1, 1)
        first = (jnp.arange(scores.shape[1]) == 0)[:, None, None] & (jnp.arange(2 * window) < window)
        seen = (back >= 0) & (back < window) & ~first
        scores = jnp.where(seen[:, None, None], scores - slopes * back, -1e9)
        out = jnp.einsum("bwghqk,bwkgf->bwqghf", nn.softmax(scores).astype(BF16), v).reshape(*x.shape[:2], heads, size)
        x = x + jnp.einsum("blhf,hfd->bld", out, p["o"])
        h = rms_norm(p["norm2"], x)
        return x + (nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]
    def train(params, masters, m, v, count, tokens):
        def losses(params):
            x = params["embed"][tokens[:, :-1]]
            for p in params["layers"]:
                x = jax.checkpoint(mix)(p, x)
            return token_loss(rms_norm(params["norm"], x) @ params["out"], tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(params)
        return *mixed_adamw(params, masters, m, v, count, clipped(grads)), loss
    return train, (params, masters, masters, masters, ints(), ints(16, 4097))


def turned(x, base=500000.0):
    """Rotary places for [batch, place, head, feature]."""
    half = x.shape[-1] // 2
    turns = jnp.arange(x.shape[1])[:, None] * base ** (-jnp.arange(half) / half)
    sin, cos = jnp.sin(turns)[:, None].astype(x.dtype), jnp.cos(turns)[:, None].astype(x.dtype)
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def llama_of(width, heads, groups, hidden):
    size = width // heads
    return {
        "norm1": array(width), "q": array(width, heads * size), "k": array(width, groups * size), "v": array(width, groups * size),
        "o": array(heads * size, width), "norm2": array(width), "gate": array(width, hidden), "up": array(width, hidden),
        "down": array(hidden, width),
    }


def llama(p, x, heads, groups):
    p = narrow(p)
    h = rms_norm(p["norm1"], x)
    split = lambda a, n: a.reshape(*a.shape[:2], n, -1)
    q, k, v = turned(split(h @ p["q"], heads)), turned(split(h @ p["k"], groups)), split(h @ p["v"], groups)
    k, v = jnp.repeat(k, heads // groups, 2), jnp.repeat(v, heads // groups, 2)
    x = x + attend(q, k, v, causal(x.shape[1])).reshape(x.shape) @ p["o"]
    h = rms_norm(p["norm2"], x)
    return x + (nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]


@step("PPOOOTB")
def llama_muon():
    # 1.0 B parameters: Muon for matrices of layers, AdamW for the rest.
    width, words = 2048, 32000
    layer = stacked(llama_of(width, 32, 8, 8192), 16)
    is_matrix = lambda name: "norm" not in name
    matrices = {name: a for name, a in layer.items() if is_matrix(name)}
    others = {"embed": array(words, width), "norm": array(width), "norms": {n: a for n, a in layer.items() if not is_matrix(n)}}
    def train(matrices, others, momentum, m, v, count, tokens):
        def losses(matrices, others):
            x = others["embed"].astype(BF16)[tokens[:, :-1]]
            x = scanned(lambda p, x: llama(p, x, 32, 8), matrices | others["norms"], x)
            return token_loss(rms_norm(others["norm"], x) @ others["embed"].T.astype(BF16), tokens[:, 1:])
        loss, (matrix_grads, grads) = jax.value_and_grad(losses, (0, 1))(matrices, others)
        matrices, momentum = muon(matrices, momentum, matrix_grads)
        others, m, v, count = adamw(others, m, v, count, grads)
        return matrices, others, momentum, m, v, count, loss
    return train, (matrices, others, matrices, others, others, ints(), ints(16, 2049))


@step("POTBB", "11")
def t5():
    # Buckets of relative places, Adafactor, gradients summed over four microbatches.
    width, heads, words = 768, 12, 32128
    def layer_of(crossed=False):
        names = ("q", "k", "v", "o") + (("cq", "ck", "cv", "co") if crossed else ())
        return {**{n: array(width, width) for n in names}, **{n: array(width) for n in ("norm1", "norm2", "norm3")[:3 if crossed else 2]},
                "gate": array(width, 2048), "up": array(width, 2048), "down": array(2048, width)}
    params = {
        "embed": array(words, width), "encoder": stacked(layer_of(), 12), "encoder_bias": array(32, heads), "encoder_norm": array(width),
        "decoder": stacked(layer_of(True), 12), "decoder_bias": array(32, heads), "decoder_norm": array(width), "out": array(width, words),
    }
    def bucket_bias(table, length, both):
        back = jnp.arange(length)[:, None] - jnp.arange(length)
        count, start = (16, jnp.where(back < 0, 16, 0)) if both else (32, 0)
        back = jnp.abs(back) if both else jnp.maximum(back, 0)
        exact = count // 2
        far = exact + (jnp.log(jnp.maximum(back, 1) / exact) / jnp.log(128 / exact) * (count - exact)).astype(jnp.int32)
        bias = table[start + jnp.where(back < exact, back, jnp.minimum(far, count - 1))].transpose(2, 0, 1)
        return bias if both else bias + causal(length)
    def attention_t5(p, x, context, bias, c=""):
        split = lambda a: a.reshape(*a.shape[:2], heads, -1)
        q, k, v = split(x @ p[c + "q"]), split(context @ p[c + "k"]), split(context @ p[c + "v"])
        return attend(q, k, v, bias).reshape(x.shape) @ p[c + "o"]
    def layer(p, x, bias, context=None):
        p = narrow(p)
        h = rms_norm(p["norm1"], x)
        x = x + attention_t5(p, h, h, bias)
        if context is not None:
            x = x + attention_t5(p, rms_norm(p["norm3"], x), context, None, "c")
        h = rms_norm(p["norm2"], x)
        return x + (nn.gelu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]
    def losses(params, source, target):
        embed = params["embed"].astype(BF16)
        bias = bucket_bias(params["encoder_bias"], source.shape[1], True)
        context = rms_norm(params["encoder_norm"], scanned(lambda p, x: layer(p, x, bias), params["encoder"], embed[source]))
        shifted = jnp.pad(target, ((0, 0), (1, 0)))[:, :-1]
        bias = bucket_bias(params["decoder_bias"], target.shape[1], False)
        x = scanned(lambda p, x: layer(p, x, bias, context), params["decoder"], embed[shifted])
        return token_loss(rms_norm(params["decoder_norm"], x) @ params["out"].astype(BF16), target)
    def train(params, second, count, source, target):
        def add(sums, data):
            return tree_map(jnp.add, sums, jax.value_and_grad(losses)(params, *data)), None
        (loss, grads), _ = lax.scan(add, (0.0, tree_map(jnp.zeros_like, params)), (source, target))
        return *factored(params, second, count, tree_map(lambda g: g / 4, grads)), loss / 4
    return train, (params, factors(params), ints(), ints(4, 64, 512), ints(4, 64, 114))


def routed(x, router, experts, hidden):
    """Shares of the two best experts for each token of x, and how even they are."""
    shares = nn.softmax(x.astype(jnp.float32) @ router)
    best, which = lax.top_k(shares, 2)
    even = (nn.one_hot(which[..., 0], experts).mean(range(x.ndim - 1)) * shares.mean(range(x.ndim - 1))).sum() * experts
    return best / best.sum(-1, keepdims=True), which, even


def moe_of(width, hidden, experts):
    p = {"norm1": norm_of(width), "attention": attention_of(width), "norm2": norm_of(width), "router": array(width, experts)}
    return p | {"up": array(experts, width, hidden), "down": array(experts, hidden, width)}


def moe_losses(params, tokens, feed):
    """A decoder of 16 heads, each of whose blocks is a mixture of experts that `feed` computes."""
    mask = causal(tokens.shape[1] - 1)
    @jax.checkpoint
    def layer(x, p):
        normed = layer_norm(p["norm1"], x)
        x = x + attention(p["attention"], normed, normed, 16, mask)
        y, even = feed(p, layer_norm(p["norm2"], x))
        return x + y, even
    x, even = lax.scan(layer, params["embed"].astype(BF16)[tokens[:, :-1]], params["layers"])
    return token_loss(layer_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:]) + 0.01 * even.mean()


@step("POOTB")
def moe_sort():
    # Tokens of the batch are sorted by expert; an expert takes so many of the first.
    width, hidden, experts = 1024, 4096, 8
    params = {"embed": array(32000, width), "layers": stacked(moe_of(width, hidden, experts), 8), "norm": norm_of(width)}
    def feed(p, x):
        flat = x.reshape(-1, width)
        share, which, even = routed(flat, p["router"], experts, hidden)
        most = flat.shape[0] * 2 * 5 // (4 * experts)
        which, share = which.reshape(-1), share.reshape(-1)
        order = jnp.argsort(which)
        sizes = jnp.bincount(which, length=experts)
        slot = jnp.arange(order.shape[0]) - (jnp.cumsum(sizes) - sizes)[which[order]]
        # Who comes too late goes to a place behind the last, which is dropped.
        place = jnp.where(slot < most, which[order] * most + slot, experts * most)
        queue = jnp.zeros((experts * most, width), BF16).at[place].set(flat[order // 2], mode="drop").reshape(experts, most, width)
        out = jnp.einsum("emh,ehd->emd", nn.gelu(jnp.einsum("emd,edh->emh", queue, p["up"].astype(BF16))), p["down"].astype(BF16))
        taken = jnp.take(out.reshape(-1, width), place, axis=0, mode="fill", fill_value=0)
        y = jnp.zeros_like(flat).at[order // 2].add(taken * share[order][:, None].astype(BF16))
        return y.reshape(x.shape), even
    def train(params, m, v, count, tokens):
        loss, grads = jax.value_and_grad(moe_losses)(params, tokens, feed)
        return *adamw(params, m, v, count, clipped(grads)), loss
    return train, (params, params, params, ints(), ints(32, 1025))


@step("POOTB")
def moe_einsum():
    # As GShard: masks say who goes where, in groups of one text each.
    width, hidden, experts = 1024, 4096, 8
    params = {"embed": array(32000, width), "layers": stacked(moe_of(width, hidden, experts), 8), "norm": norm_of(width)}
    def feed(p, x):
        share, which, even = routed(x, p["router"], experts, hidden)
        most = x.shape[1] * 2 * 5 // (4 * experts)
        chosen = nn.one_hot(which, experts)
        # The best choices of all tokens are before their second.
        first = jnp.cumsum(chosen[:, :, 0], 1)
        second = jnp.cumsum(chosen[:, :, 1], 1) + first[:, -1:]
        slot = (jnp.stack([first, second], 2) * chosen).sum(-1) - 1
        combine = jnp.einsum("gtk,gtke,gtkm->gtem", share, chosen, nn.one_hot(slot, most))
        queue = jnp.einsum("gtem,gtd->egmd", (combine > 0).astype(BF16), x)
        out = jnp.einsum("egmd,edh->egmh", queue, p["up"].astype(BF16))
        out = jnp.einsum("egmh,ehd->egmd", nn.gelu(out), p["down"].astype(BF16))
        return jnp.einsum("gtem,egmd->gtd", combine.astype(BF16), out), even
    def train(params, m, v, count, tokens):
        loss, grads = jax.value_and_grad(moe_losses)(params, tokens, feed)
        return *adamw(params, m, v, count, clipped(grads)), loss
    return train, (params, params, params, ints(), ints(32, 1025))


@step("POOTB", "1")
def rwkv():
    # Linear attention with decay by channel, in pieces of 64, the state going from piece to piece; two microbatches.
    width, heads, size, piece, words = 1024, 16, 64, 64, 50277
    layer = {
        "norm1": norm_of(width), **{n: array(width) for n in ("mix_r", "mix_k", "mix_v", "mix_g", "mix_c")},
        **{n: array(width, width) for n in "rkvgo"}, "decay": array(heads, size), "bonus": array(heads, size), "norm": norm_of(width),
        "norm2": norm_of(width), "ck": array(width, 3584), "cv": array(3584, width), "cr": array(width, width),
    }
    params = {"embed": array(words, width), "layers": stacked(layer, 24), "norm": norm_of(width), "out": array(width, words)}
    def attend_linearly(r, k, v, decay, bonus):
        cut = lambda a: a.reshape(a.shape[0], -1, piece, heads, size).swapaxes(0, 1)
        log, place = -jnp.exp(decay), jnp.arange(piece)
        before = jnp.exp(log * place[:, None, None])
        after = jnp.exp(log * (piece - 1 - place)[:, None, None])
        apart = place[:, None] - place - 1
        within = jnp.where((apart >= 0)[..., None, None], jnp.exp(log * jnp.maximum(apart, 0)[..., None, None]), 0)
        within = within + jnp.where((apart == -1)[..., None, None], bonus, 0)
        def one(state, rkv):
            r, k, v = rkv
            scores = jnp.einsum("bthf,bshf,tshf->bhts", r, k, within)
            out = jnp.einsum("bhts,bshv->bthv", scores, v) + jnp.einsum("bthf,bhfv->bthv", r * before, state)
            state = state * jnp.exp(log * piece)[..., None] + jnp.einsum("bshf,bshv->bhfv", k * after, v)
            return state, out
        zero = jnp.zeros((r.shape[0], heads, size, size))
        return lax.scan(jax.checkpoint(one), zero, (cut(r), cut(k), cut(v)))[1].swapaxes(0, 1).reshape(*r.shape[:2], width)
    def mix(p, x):
        p = {n: a if n in ("decay", "bonus") else narrow(a) for n, a in p.items()}
        shift = lambda a: jnp.pad(a, ((0, 0), (1, 0), (0, 0)))[:, :-1]
        h = layer_norm(p["norm1"], x)
        r, k, v, g = ((h + (shift(h) - h) * p["mix_" + n]) @ p[n] for n in "rkvg")
        y = attend_linearly(*(a.astype(jnp.float32) for a in (r, k, v)), p["decay"], p["bonus"])
        x = x + (layer_norm(p["norm"], y.astype(BF16)) * nn.silu(g)) @ p["o"]
        h = layer_norm(p["norm2"], x)
        h_ = h + (shift(h) - h) * p["mix_c"]
        return x + nn.sigmoid(h_ @ p["cr"]) * (nn.relu(h_ @ p["ck"]) ** 2 @ p["cv"])
    def losses(params, tokens):
        x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]])
        return token_loss(layer_norm(params["norm"], x) @ params["out"].astype(BF16), tokens[:, 1:])
    def train(params, m, v, count, tokens):
        def add(sums, tokens):
            return tree_map(jnp.add, sums, jax.value_and_grad(losses)(params, tokens)), None
        (loss, grads), _ = lax.scan(add, (0.0, tree_map(jnp.zeros_like, params)), tokens)
        return *adamw(params, m, v, count, clipped(tree_map(lambda g: g / 2, grads))), loss / 2
    return train, (params, params, params, ints(), ints(2, 16, 1025))


@step("POOTBK")
def gpt2_medium():
    # Unrolled, with dropout by keys.
    width, words = 1024, 50257
    params = {
        "embed": array(words, width), "places": array(1024, width), "blocks": [block_of(width) for _ in range(24)], "norm": norm_of(width),
    }
    def drop(x, key, rate=0.1):
        return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0).astype(x.dtype)
    @jax.checkpoint
    def layer(p, x, key):
        keys, normed = jax.random.split(key, 3), layer_norm(p["norm1"], x)
        split = lambda a: a.reshape(*a.shape[:2], 16, -1)
        q, k, v = (split(linear(p["attention"][n], normed)) for n in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / 8 + causal(x.shape[1])
        seen = drop(nn.softmax(scores).astype(BF16), keys[0])
        y = linear(p["attention"]["o"], jnp.einsum("bhqk,bkhd->bqhd", seen, v).reshape(x.shape))
        x = x + drop(y, keys[1])
        return x + drop(linear(p["down"], nn.gelu(linear(p["up"], layer_norm(p["norm2"], x)))), keys[2])
    def train(params, m, v, count, tokens, key):
        key = jax.random.fold_in(key, count)
        def losses(params):
            first, *keys = jax.random.split(key, 25)
            x = drop((params["embed"][tokens[:, :-1]] + params["places"]).astype(BF16), first)
            for p, k in zip(params["blocks"], keys):
                x = layer(p, x, k)
            return token_loss(layer_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(params)
        return *adamw(params, m, v, count, clipped(grads)), loss
    return train, (params, params, params, ints(), ints(32, 1025), KEY)


@step("POBB")
def seq2seq_lstm():
    # Two layers each way of the encoder, a decoder that looks back at every step; f32, momentum, clipped.
    width, words = 1024, 32000
    cell_of = lambda inputs, size=width: {"x": array(inputs, 4 * size), "h": array(size, 4 * size), "b": array(4 * size)}
    half = width // 2
    params = {
        "source": array(words, width), "target": array(words, width),
        "encoder": [[cell_of(width, half), cell_of(width, half)] for _ in range(2)], "decoder": [cell_of(2 * width), cell_of(width)],
        "query": array(width, width), "join": array(2 * width, width), "out": array(width, words),
    }
    def cell(p, state, x):
        c, h = state
        i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"] + p["b"], 4, -1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
        return c, nn.sigmoid(o) * jnp.tanh(c)
    def along(p, xs, reverse):
        def move(state, x):
            state = cell(p, state, x)
            return state, state[1]
        zero = jnp.zeros((xs.shape[1], p["h"].shape[0]))
        return lax.scan(move, (zero, zero), xs, reverse=reverse)[1]
    def train(params, momentum, source, target):
        def losses(params):
            xs = params["source"][source.T]
            for ahead, back in params["encoder"]:
                xs = jnp.concatenate([along(ahead, xs, False), along(back, xs, True)], -1)
            memory = xs.swapaxes(0, 1)
            keys = memory @ params["query"]
            is_padding = jnp.where(source == 0, -1e9, 0.0)
            def move(state, word):
                first, second, context = state
                first = cell(params["decoder"][0], first, jnp.concatenate([params["target"][word], context], -1))
                second = cell(params["decoder"][1], second, first[1])
                scores = jnp.einsum("bd,bsd->bs", second[1], keys) + is_padding
                seen = jnp.einsum("bs,bsd->bd", nn.softmax(scores), memory)
                context = jnp.tanh(jnp.concatenate([seen, second[1]], -1) @ params["join"])
                return (first, second, context), context
            zero = jnp.zeros((source.shape[0], width))
            _, out = lax.scan(jax.checkpoint(move), ((zero, zero), (zero, zero), zero), target[:, :-1].T)
            logits, labels = out @ params["out"], target[:, 1:].T
            each = nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
            return (each * (labels != 0)).sum() / (labels != 0).sum()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, clipped(grads, 5.0)), loss
    return train, (params, params, ints(256, 60), ints(256, 61))


@step("POOTB")
def deep_equilibrium():
    # One wide layer, applied until nothing changes; the gradient is of the fixed point, by another.
    width, heads, words = 1536, 16, 32000
    params = {
        "embed": array(words, width), "in": linear_of(width, width), "block": block_of(width), "out_norm": norm_of(width),
        "norm": norm_of(width),
    }
    def f(p, z, x):
        return layer_norm(p["out_norm"], block(p["block"], z + x, heads, causal(x.shape[1])))
    def fixed(move, z):
        def is_far(state):
            before, z, count = state
            change, size = ((a.astype(jnp.float32) ** 2).sum() for a in (z - before, z))
            return (change > 1e-4 * size) & (count < 24)
        return lax.while_loop(is_far, lambda state: (state[1], move(state[1]), state[2] + 1), (z, move(z), 0))[1]
    @jax.custom_vjp
    def solve(p, x):
        return fixed(lambda z: f(p, z, x), jnp.zeros_like(x))
    def ahead(p, x):
        z = solve(p, x)
        return z, (p, x, z)
    def back(kept, change):
        p, x, z = kept
        _, by_z = jax.vjp(lambda z: f(p, z, x), z)
        total = fixed(lambda u: by_z(u)[0] + change, change)
        return jax.vjp(lambda p, x: f(p, z, x), p, x)[1](total)
    solve.defvjp(ahead, back)
    def train(params, m, v, count, tokens):
        def losses(params):
            x = linear(params["in"], params["embed"].astype(BF16)[tokens[:, :-1]])
            z = solve({k: params[k] for k in ("block", "out_norm")}, x)
            return token_loss(layer_norm(params["norm"], z) @ params["embed"].T.astype(BF16), tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(params)
        return *adamw(params, m, v, count, clipped(grads)), loss
    return train, (params, params, params, ints(), ints(64, 513))
