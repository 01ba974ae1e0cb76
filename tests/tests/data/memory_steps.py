"""Prints training and inference steps for the memory model, without annotations, as JSON; see `steps.py`.

    JAX_PLATFORMS=cpu python memory_steps.py [NAME ...]        (all steps if no name is given; written for jax 0.10.2)

None of these steps is in `real_steps.py`. `tests/memory.json` has the options, the slice and the compiler's figures of each step. The
memory model was built with these steps, and with those of `memory_development.py`.
"""
import sys

import jax
import jax.numpy as jnp
from jax import lax, nn
from real_steps.layers import (
    BF16, attend, attention, attention_of, block, block_of, causal, conv, group_norm, layer_norm, linear, linear_of, narrow, norm_of, patches,
    rms_norm, scanned, stacked, token_loss,
)
from real_steps.language import llama, llama_of, turned
from real_steps.optimizers import adamw, clipped, lion
from steps import KEY, STEPS, array, cast, ints, sgd, show, step

# The imports above also register the steps of `real_steps`.
STEPS.clear()


def trained(losses, params, m, v, count, *data):
    loss, grads = jax.value_and_grad(losses)(params, *data)
    return *adamw(params, m, v, count, clipped(grads)), loss


@step("POOTB")
def switch_moe():
    # Scanned blocks with one expert of sixteen per token, without rematerialization.
    width, hidden, experts = 768, 2048, 16
    layer = {"norm1": norm_of(width), "attention": attention_of(width), "norm2": norm_of(width), "router": array(width, experts),
             "up": array(experts, width, hidden), "down": array(experts, hidden, width)}
    params = {"embed": array(32000, width), "layers": stacked(layer, 6), "norm": norm_of(width)}
    def losses(params, tokens):
        mask = causal(tokens.shape[1] - 1)
        def mix(x, p):
            h = layer_norm(p["norm1"], x)
            x = x + attention(p["attention"], h, h, 12, mask)
            h = layer_norm(p["norm2"], x)
            shares = nn.softmax(h.astype(jnp.float32) @ p["router"])
            which = shares.argmax(-1)
            most = 2 * h.shape[1] // experts
            chosen = nn.one_hot(which, experts)
            slot = (jnp.cumsum(chosen, 1) * chosen).sum(-1) - 1
            send = (chosen[..., None] * nn.one_hot(slot, most)[:, :, None]).astype(BF16)
            queue = jnp.einsum("gtem,gtd->egmd", send, h)
            out = nn.relu(jnp.einsum("egmd,edh->egmh", queue, p["up"].astype(BF16)))
            out = jnp.einsum("egmh,ehd->egmd", out, p["down"].astype(BF16))
            y = jnp.einsum("gtem,egmd->gtd", send, out) * shares.max(-1)[..., None].astype(BF16)
            return x + y, (chosen.mean((0, 1)) * shares.mean((0, 1))).sum()
        x, even = lax.scan(mix, params["embed"].astype(BF16)[tokens[:, :-1]], params["layers"])
        return token_loss(layer_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:]) + 0.01 * even.sum()
    def train(params, m, v, count, tokens):
        return trained(losses, params, m, v, count, tokens)
    return train, (params, params, params, ints(), ints(32, 513))


@step("POOTB")
def linear_attention():
    # Causal linear attention by a scan over pieces of 128 tokens, f32 states; the layers are unrolled.
    width, heads, piece = 768, 12, 128
    layer = {"norm1": array(width), "q": array(width, width), "k": array(width, width), "v": array(width, width), "o": array(width, width),
             "norm2": array(width), "up": array(width, 3072), "down": array(3072, width)}
    params = {"embed": array(32000, width), "layers": [layer for _ in range(8)], "norm": array(width)}
    def mix(p, x):
        p = narrow(p)
        h = rms_norm(p["norm1"], x)
        cut = lambda a: a.reshape(a.shape[0], -1, piece, heads, width // heads).swapaxes(0, 1).astype(jnp.float32)
        q, k, v = cut(nn.elu(h @ p["q"]) + 1), cut(nn.elu(h @ p["k"]) + 1), cut(h @ p["v"])
        inside = jnp.tril(jnp.ones((piece, piece)))
        def one(state, qkv):
            q, k, v = qkv
            scores = jnp.einsum("bthf,bshf->bhts", q, k) * inside
            out = jnp.einsum("bhts,bshv->bthv", scores, v) + jnp.einsum("bthf,bhfv->bthv", q, state)
            return state + jnp.einsum("bshf,bshv->bhfv", k, v), out
        state = jnp.zeros((x.shape[0], heads, width // heads, width // heads))
        y = lax.scan(one, state, (q, k, v))[1].swapaxes(0, 1).reshape(x.shape)
        x = x + y.astype(BF16) @ p["o"]
        return x + nn.gelu(rms_norm(p["norm2"], x) @ p["up"]) @ p["down"]
    def losses(params, tokens):
        x = params["embed"].astype(BF16)[tokens[:, :-1]]
        for p in params["layers"]:
            x = jax.checkpoint(mix)(p, x)
        return token_loss(rms_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    def train(params, m, v, count, tokens):
        return trained(losses, params, m, v, count, tokens)
    return train, (params, params, params, ints(), ints(16, 2049))


@step("POOTB")
def state_space():
    # Diagonal state spaces (S5): a sequential scan over time, several layers per step of the outer scan.
    width, states, layers = 512, 128, 8
    layer = {"norm": norm_of(width), "log_a": array(states), "b": array(width, states), "c": array(states, width), "d": array(width),
             "gate": linear_of(width, 2 * width), "out": linear_of(2 * width, width)}
    params = {"embed": array(50000, width), "layers": stacked(layer, layers), "norm": norm_of(width)}
    def mix(p, x):
        h = layer_norm(p["norm"], x)
        decay = jnp.exp(-jnp.exp(p["log_a"]))
        def move(state, u):
            state = decay * state + u
            return state, state
        u = (h @ p["b"].astype(BF16)).astype(jnp.float32).swapaxes(0, 1)
        seen = lax.scan(move, jnp.zeros(u.shape[1:]), u, unroll=4)[1].swapaxes(0, 1)
        y = seen.astype(BF16) @ p["c"].astype(BF16) + p["d"].astype(BF16) * h
        return x + linear(p["out"], nn.gelu(linear(p["gate"], y)))
    def losses(params, tokens):
        x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]])
        return token_loss(layer_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    def train(params, m, v, count, tokens):
        return trained(losses, params, m, v, count, tokens)
    return train, (params, params, params, ints(), ints(32, 1025))


@step("POOTBB")
def fourier_mixer():
    # Tokens are mixed by a Fourier transform over text and features (FNet).
    width = 768
    layer = {"norm1": norm_of(width), "norm2": norm_of(width), "up": linear_of(width, 3072), "down": linear_of(3072, width)}
    params = {"embed": array(30000, width), "layers": [layer for _ in range(8)], "norm": norm_of(width), "out": linear_of(width, 30000)}
    def losses(params, tokens, masked):
        x = params["embed"].astype(BF16)[tokens]
        for p in params["layers"]:
            h = layer_norm(p["norm1"], x).astype(jnp.float32)
            x = x + jnp.fft.fft(jnp.fft.fft(h, axis=-1), axis=-2).real.astype(BF16) / 32
            x = x + linear(p["down"], nn.gelu(linear(p["up"], layer_norm(p["norm2"], x))))
        logits = linear(params["out"], layer_norm(params["norm"], x))
        return token_loss(logits, masked)
    def train(params, m, v, count, tokens, masked):
        return trained(losses, params, m, v, count, tokens, masked)
    return train, (params, params, params, ints(), ints(64, 512), ints(64, 512))


@step("POOTBBK")
def unet_diffusion():
    # Noise prediction by a U-Net with skips, time embeddings, and attention at its lowest resolution.
    widths = (128, 256, 384, 512)
    def res_of(inputs, width):
        p = {"norm1": norm_of(inputs), "a": array(3, 3, inputs, width), "time": linear_of(512, width), "norm2": norm_of(width),
             "b": array(3, 3, width, width)}
        return p | ({"short": array(1, 1, inputs, width)} if inputs != width else {})
    def res(p, x, time):
        h = conv(nn.silu(group_norm(p["norm1"], x)), p["a"]) + linear(p["time"], nn.silu(time))[:, None, None].astype(BF16)
        h = conv(nn.silu(group_norm(p["norm2"], h)), p["b"])
        return (conv(x, p["short"]) if "short" in p else x) + h
    params = {"in": array(3, 3, 4, 128), "time": [linear_of(128, 512), linear_of(512, 512)], "down": [], "up": [],
              "middle": [res_of(512, 512), res_of(512, 512)], "mix": attention_of(512), "norm": norm_of(128), "out": array(3, 3, 128, 4)}
    inputs = 128
    for width in widths:
        params["down"].append([res_of(inputs, width), res_of(width, width)])
        inputs = width
    for width in reversed(widths):
        params["up"].append([res_of(inputs + width, width), res_of(width, width)])
        inputs = width
    def predict(params, x, time):
        turns = time[:, None] * jnp.exp(-jnp.arange(64) / 8)
        t = jnp.concatenate([jnp.sin(turns), jnp.cos(turns)], -1)
        t = linear(params["time"][1], nn.silu(linear(params["time"][0], t)))
        x, skips = conv(x.astype(BF16), params["in"]), []
        for i, pair in enumerate(params["down"]):
            for p in pair:
                x = res(p, x, t)
            skips.append(x)
            x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4 if i < 3 else x
        x = res(params["middle"][0], x, t)
        flat = x.reshape(x.shape[0], -1, 512)
        x = res(params["middle"][1], (flat + attention(params["mix"], flat, flat, 8)).reshape(x.shape), t)
        for i, pair in enumerate(params["up"]):
            x = jnp.repeat(jnp.repeat(x, 2, 1), 2, 2) if i else x
            x = jnp.concatenate([x, skips.pop()], -1)
            for p in pair:
                x = res(p, x, t)
        return conv(nn.silu(group_norm(params["norm"], x)), params["out"]).astype(jnp.float32)
    def losses(params, images, time, key):
        noise = jax.random.normal(key, images.shape)
        share = jnp.cos(time * jnp.pi / 2)[:, None, None, None]
        return ((predict(params, share * images + jnp.sqrt(1 - share ** 2) * noise, time) - noise) ** 2).mean()
    def train(params, m, v, count, images, time, key):
        return trained(losses, params, m, v, count, images, time, key)
    return train, (params, params, params, ints(), array(64, 64, 64, 4), array(64), KEY)


@step("POOTBBBB", "0000")
def molecules():
    # Graph attention on batches of small graphs: softmax over the edges of a node by segment sums.
    width, nodes, edges = 512, 64, 512
    layer = {"norm": norm_of(width), "q": array(width, width), "k": array(width, width), "v": array(width, width), "bond": array(16, 8),
             "up": linear_of(width, 2 * width), "down": linear_of(2 * width, width)}
    params = {"atoms": array(128, width), "layers": [layer for _ in range(6)], "out": linear_of(width, 1)}
    def one(params, atoms, bonds, ends):
        x = params["atoms"][atoms]
        for p in params["layers"]:
            h = layer_norm(p["norm"], x)
            split = lambda a: a.reshape(nodes, 8, -1)
            q, k, v = split(h @ p["q"]), split(h @ p["k"]), split(h @ p["v"])
            scores = (q[ends[1]] * k[ends[0]]).sum(-1) / 8 + p["bond"][bonds]
            most = jax.ops.segment_max(scores, ends[1], nodes)
            e = jnp.exp(scores - most[ends[1]])
            share = e / (jax.ops.segment_sum(e, ends[1], nodes)[ends[1]] + 1e-6)
            come = jax.ops.segment_sum(share[..., None] * v[ends[0]], ends[1], nodes)
            x = x + come.reshape(nodes, width)
            x = x + linear(p["down"], nn.silu(linear(p["up"], x)))
        return linear(params["out"], x.mean(0))[0]
    def losses(params, atoms, bonds, ends, energy):
        return ((jax.vmap(one, (None, 0, 0, 0))(params, atoms, bonds, ends) - energy) ** 2).mean()
    def train(params, m, v, count, atoms, bonds, ends, energy):
        return trained(losses, params, m, v, count, atoms, bonds, ends, energy)
    return train, (params, params, params, ints(), ints(512, nodes), ints(512, edges), ints(512, 2, edges), array(512))


@step("FPOOTB")
def lora_decoder():
    # A frozen decoder in bf16 of 0.3 B parameters; adapters of queries and values are trained.
    width, heads, layers, rank = 1024, 16, 16, 16
    frozen = cast({"embed": array(32000, width), "layers": stacked(llama_of(width, heads, 4, 2816), layers), "norm": array(width),
                   "out": array(width, 32000)}, BF16)
    adapters = stacked({"qa": array(width, rank), "qb": array(rank, width), "va": array(width, rank), "vb": array(rank, width // 4)}, layers)
    def train(frozen, adapters, m, v, count, tokens):
        def losses(adapters):
            def layer(x, of):
                p, a = of
                p = p | {"q": p["q"] + (a["qa"] @ a["qb"]).astype(BF16), "v": p["v"] + (a["va"] @ a["vb"]).astype(BF16)}
                return jax.checkpoint(lambda p, x: llama(p, x, heads, 4))(p, x), None
            x = lax.scan(layer, frozen["embed"][tokens[:, :-1]], (frozen["layers"], adapters))[0]
            return token_loss(rms_norm(frozen["norm"], x) @ frozen["out"], tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(adapters)
        return *adamw(adapters, m, v, count, clipped(grads)), loss
    return train, (frozen, adapters, adapters, adapters, ints(), ints(32, 1025))


@step("FMMBs", "0")
def decode():
    # One token for each of 64 texts, with a cache of 2048 keys and values.
    width, heads, groups, layers, most = 1536, 12, 4, 16, 2048
    size = width // heads
    params = cast({"embed": array(32000, width), "layers": [llama_of(width, heads, groups, 4096) for _ in range(layers)],
                   "norm": array(width)}, BF16)
    cache = [array(64, most, groups, size, dtype=BF16) for _ in range(layers)]
    def decode(params, keys, values, tokens, at):
        x, keys, values = params["embed"][tokens], list(keys), list(values)
        for i, p in enumerate(params["layers"]):
            h = rms_norm(p["norm1"], x)
            split = lambda a, n: a.reshape(a.shape[0], 1, n, size)
            q, k, v = split(h @ p["q"], heads), split(h @ p["k"], groups), split(h @ p["v"], groups)
            keys[i] = lax.dynamic_update_slice(keys[i], k, (0, at, 0, 0))
            values[i] = lax.dynamic_update_slice(values[i], v, (0, at, 0, 0))
            q = q.reshape(q.shape[0], groups, heads // groups, size)
            scores = jnp.einsum("bghf,bkgf->bghk", q, keys[i]).astype(jnp.float32) * size ** -0.5
            scores = jnp.where(jnp.arange(most) <= at, scores, -1e9)
            y = jnp.einsum("bghk,bkgf->bghf", nn.softmax(scores).astype(BF16), values[i])
            x = x + y.reshape(x.shape) @ p["o"]
            h = rms_norm(p["norm2"], x)
            x = x + (nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]
        logits = rms_norm(params["norm"], x) @ params["embed"].T
        return keys, values, logits.argmax(-1), at + 1
    return decode, (params, cache, cache, ints(64), ints())


@step("FB")
def prefill():
    # The logits of the last token, and keys and values of 1024 tokens, of a scanned decoder.
    width, heads, groups, layers = 1536, 12, 4, 16
    params = cast({"embed": array(32000, width), "layers": stacked(llama_of(width, heads, groups, 4096), layers), "norm": array(width)}, BF16)
    def prefill(params, tokens):
        def layer(x, p):
            h = rms_norm(p["norm1"], x)
            split = lambda a, n: a.reshape(*a.shape[:2], n, -1)
            q, k, v = turned(split(h @ p["q"], heads)), turned(split(h @ p["k"], groups)), split(h @ p["v"], groups)
            wide = lambda a: jnp.repeat(a, heads // groups, 2)
            x = x + attend(q, wide(k), wide(v), causal(x.shape[1])).reshape(x.shape) @ p["o"]
            h = rms_norm(p["norm2"], x)
            return x + (nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"], (k, v)
        x, cache = lax.scan(layer, params["embed"][tokens], params["layers"])
        return rms_norm(params["norm"], x[:, -1]) @ params["embed"].T, cache
    return prefill, (params, ints(32, 1024))


@step("POOTBBK")
def diffusion_transformer():
    # Blocks whose norms are scaled and shifted by the time (DiT), unrolled, all activations kept.
    width, heads = 1024, 16
    layer = block_of(width) | {"shift": linear_of(width, 6 * width)}
    params = {"in": linear_of(16, width), "places": array(256, width), "time": linear_of(256, width), "layers": [layer for _ in range(10)],
              "norm": norm_of(width), "out": linear_of(width, 16)}
    def losses(params, images, time, key):
        noise = jax.random.normal(key, images.shape)
        mixed = time[:, None, None, None] * images + (1 - time)[:, None, None, None] * noise
        turns = time[:, None] * jnp.exp(-jnp.arange(128) / 16)
        t = linear(params["time"], jnp.concatenate([jnp.sin(turns), jnp.cos(turns)], -1).astype(BF16))
        x = linear(params["in"], patches(mixed, 2).astype(BF16)) + params["places"].astype(BF16)
        for p in params["layers"]:
            a, b, c, d, e, f = jnp.split(linear(p["shift"], nn.silu(t))[:, None], 6, -1)
            h = layer_norm(p["norm1"], x) * (1 + a) + b
            x = x + c * attention(p["attention"], h, h, heads)
            h = layer_norm(p["norm2"], x) * (1 + d) + e
            x = x + f * linear(p["down"], nn.gelu(linear(p["up"], h)))
        out = linear(params["out"], layer_norm(params["norm"], x)).astype(jnp.float32)
        return ((out - patches(images - noise, 2)) ** 2).mean()
    def train(params, m, v, count, images, time, key):
        return trained(losses, params, m, v, count, images, time, key)
    return train, (params, params, params, ints(), array(128, 32, 32, 4), array(128), KEY)


@step("POBB", "00")
def gru_tagger():
    # Two directions of gated recurrences, with momentum.
    width = 1024
    cell = {"x": linear_of(width, 3 * width), "h": array(width, 3 * width)}
    params = {"embed": array(40000, width), "layers": [{"there": cell, "back": cell, "join": linear_of(2 * width, width)} for _ in range(3)],
              "out": linear_of(width, 512)}
    def run(p, x, reverse):
        u = linear(p["x"], x)
        def move(h, u):
            r = u + jnp.pad(h @ p["h"][:, :2 * width].astype(BF16), ((0, 0), (0, width)))
            z, r_ = nn.sigmoid(r[:, :width]), nn.sigmoid(r[:, width:2 * width])
            h = z * h + (1 - z) * jnp.tanh(u[:, 2 * width:] + (r_ * h) @ p["h"][:, 2 * width:].astype(BF16))
            return h, h
        return lax.scan(move, jnp.zeros((x.shape[1], width), BF16), u, reverse=reverse)[1]
    def losses(params, tokens, tags):
        x = params["embed"].astype(BF16)[tokens.T]
        for p in params["layers"]:
            x = x + linear(p["join"], jnp.concatenate([run(p["there"], x, False), run(p["back"], x, True)], -1))
        return token_loss(linear(params["out"], x), tags.T)
    def train(params, momentum, tokens, tags):
        loss, grads = jax.value_and_grad(losses)(params, tokens, tags)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, ints(256, 256), ints(256, 256))


@step("POOTBK")
def image_vae():
    # A convolutional autoencoder in f32 with a variational bottleneck.
    widths = (64, 128, 256, 512)
    params = {"down": [array(4, 4, a, b) for a, b in zip((3, *widths), widths)], "norms": [norm_of(w) for w in widths],
              "code": array(1, 1, 512, 64), "in": array(1, 1, 32, 512),
              "up": [array(3, 3, a, b) for a, b in zip(reversed(widths), (256, 128, 64, 64))], "up_norms": [norm_of(w) for w in reversed(widths)],
              "out": array(3, 3, 64, 3)}
    def losses(params, images, key):
        x = images
        for kernel, p in zip(params["down"], params["norms"]):
            x = nn.silu(group_norm(p, conv(x, kernel, 2)))
        mean, log = jnp.split(conv(x, params["code"]), 2, -1)
        code = mean + jnp.exp(log / 2) * jax.random.normal(key, mean.shape)
        x = conv(code, params["in"])
        for kernel, p in zip(params["up"], params["up_norms"]):
            x = nn.silu(group_norm(p, x))
            x = conv(jnp.repeat(jnp.repeat(x, 2, 1), 2, 2), kernel)
        x = conv(nn.silu(x), params["out"])
        return ((x - images) ** 2).mean() + 1e-4 * (mean ** 2 + jnp.exp(log) - log - 1).mean()
    def train(params, m, v, count, images, key):
        return trained(losses, params, m, v, count, images, key)
    return train, (params, params, params, ints(), array(128, 128, 128, 3), KEY)


@step("POOTBBK")
def bert_dropout():
    # An encoder with dropout of activations and of attention, unrolled.
    width, heads = 768, 12
    params = {"embed": array(30522, width), "places": array(512, width), "layers": [block_of(width) for _ in range(8)], "norm": norm_of(width),
              "bias": array(30522)}
    def drop(x, key):
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0).astype(x.dtype)
    def losses(params, tokens, labels, key):
        x = params["embed"].astype(BF16)[tokens] + params["places"].astype(BF16)
        for i, p in enumerate(params["layers"]):
            one, two, three = jax.random.split(jax.random.fold_in(key, i), 3)
            h = layer_norm(p["norm1"], x)
            split = lambda a: a.reshape(*a.shape[:2], heads, -1)
            q, k, v = (split(linear(p["attention"][n], h)) for n in "qkv")
            scores = nn.softmax(jnp.einsum("bqhf,bkhf->bhqk", q, k).astype(jnp.float32) / 8).astype(BF16)
            y = jnp.einsum("bhqk,bkhf->bqhf", drop(scores, one), v).reshape(x.shape)
            x = x + drop(linear(p["attention"]["o"], y), two)
            x = x + drop(linear(p["down"], nn.gelu(linear(p["up"], layer_norm(p["norm2"], x)))), three)
        return token_loss(layer_norm(params["norm"], x) @ params["embed"].T.astype(BF16) + params["bias"].astype(BF16), labels)
    def train(params, m, v, count, tokens, labels, key):
        return trained(losses, params, m, v, count, tokens, labels, key)
    return train, (params, params, params, ints(), ints(64, 512), ints(64, 512), KEY)


@step("PFOTB")
def distillation():
    # A student of 8 layers learns the probabilities of a frozen teacher of 16, with Lion-like momentum.
    width = 768
    def of(layers):
        return {"embed": array(32000, width), "layers": stacked(block_of(width), layers), "norm": norm_of(width)}
    student, teacher = of(8), cast(of(16), BF16)
    def logits(p, tokens, again):
        mask = causal(tokens.shape[1])
        x = scanned(lambda p, x: block(p, x, 12, mask), p["layers"], p["embed"].astype(BF16)[tokens], again)
        return layer_norm(p["norm"], x) @ p["embed"].T.astype(BF16)
    def train(student, teacher, m, count, tokens):
        goal = nn.softmax(lax.stop_gradient(logits(teacher, tokens, False)).astype(jnp.float32) / 2)
        def losses(student):
            return -(goal * nn.log_softmax(logits(student, tokens, True).astype(jnp.float32) / 2)).sum(-1).mean()
        loss, grads = jax.value_and_grad(losses)(student)
        return *lion(student, m, grads), count + 1, loss
    return train, (student, teacher, student, ints(), ints(32, 512))


@step("PFOOTBB")
def preferences():
    # Direct preference optimization: log-probabilities of two answers under the policy and a frozen copy.
    width, heads = 1024, 16
    params = {"embed": array(32000, width), "layers": stacked(llama_of(width, heads, 4, 2816), 12), "norm": array(width)}
    frozen = cast(params, BF16)
    def score(p, tokens):
        x = scanned(lambda p, x: llama(p, x, heads, 4), p["layers"], p["embed"].astype(BF16)[tokens[:, :-1]])
        logits = (rms_norm(p["norm"], x) @ p["embed"].T.astype(BF16)).astype(jnp.float32)
        return jnp.take_along_axis(nn.log_softmax(logits), tokens[:, 1:, None], -1)[..., 0].sum(-1)
    def losses(params, frozen, good, bad):
        margin = score(params, good) - score(frozen, good) - score(params, bad) + score(frozen, bad)
        return nn.softplus(-0.1 * margin).mean()
    def train(params, frozen, m, v, count, good, bad):
        loss, grads = jax.value_and_grad(losses)(params, frozen, good, bad)
        return *adamw(params, m, v, count, clipped(grads)), loss
    return train, (params, frozen, params, params, ints(), ints(16, 513), ints(16, 513))


@step("POBB")
def video_convolutions():
    # Three-dimensional convolutions with residuals and squeeze-excitation.
    widths = (32, 64, 128, 256)
    def res_of(inputs, width):
        return {"a": array(1, 3, 3, inputs, width), "n1": norm_of(width), "b": array(3, 1, 1, width, width), "n2": norm_of(width),
                "short": array(1, 1, 1, inputs, width), "squeeze": linear_of(width, width // 4), "excite": linear_of(width // 4, width)}
    params = {"blocks": [[res_of(a, b), res_of(b, b)] for a, b in zip((3, *widths), widths)], "out": linear_of(256, 400)}
    def losses(params, clips, labels):
        x = clips.astype(BF16)
        for pair in params["blocks"]:
            for i, p in enumerate(pair):
                stride = (1, 2, 2) if i == 0 else 1
                h = nn.silu(group_norm(p["n1"], conv(x, p["a"], stride), 8))
                h = group_norm(p["n2"], conv(h, p["b"]), 8)
                gate = nn.sigmoid(linear(p["excite"], nn.relu(linear(p["squeeze"], h.mean((1, 2, 3))))))
                x = nn.silu(conv(x, p["short"], stride) + h * gate[:, None, None, None])
        return token_loss(linear(params["out"], x.mean((1, 2, 3))), labels)
    def train(params, momentum, clips, labels):
        loss, grads = jax.value_and_grad(losses)(params, clips, labels)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, array(64, 16, 112, 112, 3), ints(64))


@step("PPOOTBB")
def two_towers():
    # Retrieval: tables of users and items, towers, and a softmax over the items of the batch.
    width = 256
    towers = {"user": [linear_of(512, 1024), linear_of(1024, 512), linear_of(512, width)],
              "item": [linear_of(512, 1024), linear_of(1024, 512), linear_of(512, width)]}
    tables = {"user": array(200_000, 512), "item": array(100_000, 512)}
    def tower(layers, x):
        for i, p in enumerate(layers):
            x = linear(p, x) if i == 2 else nn.relu(linear(p, x))
        return x * lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)
    def losses(towers, tables, users, items):
        u = tower(towers["user"], tables["user"][users].mean(1))
        v = tower(towers["item"], tables["item"][items])
        return token_loss(20 * u @ v.T, jnp.arange(u.shape[0]))
    def train(towers, tables, m, v, count, users, items):
        loss, grads = jax.value_and_grad(losses, (0, 1))(towers, tables, users, items)
        (towers, tables), m, v, count = adamw((towers, tables), m, v, count, grads)
        return towers, tables, m, v, count, loss
    return train, (towers, tables, (towers, tables), (towers, tables), ints(), ints(8192, 16), ints(8192))


if __name__ == "__main__":
    show(*sys.argv[1:])
