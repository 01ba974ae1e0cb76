"""Prints the held-out programs of the memory model, as `memory_steps.py` does. The model was built without them, and is judged by them.

    JAX_PLATFORMS=cpu python memory_held_out.py [NAME ...]        (all programs if no name is given; written for jax 0.10.2)
"""
import sys

import jax
import jax.numpy as jnp
from jax import lax, nn
from memory_development import trained
from real_steps.layers import (
    BF16, attend, attention, attention_of, block, block_of, causal, conv, group_norm, layer_norm, linear, linear_of, narrow, norm_of, patches,
    rms_norm, scanned, stacked, token_loss,
)
from real_steps.language import turned
from real_steps.optimizers import adamw, clipped, lion, mixed_adamw
from steps import KEY, STEPS, array, cast, ints, sgd, show, step

# The imports above also register other steps.
STEPS.clear()


def heads_of(width, heads, groups, size):
    return {"norm1": array(width), "q": array(width, heads, size), "k": array(width, groups, size), "v": array(width, groups, size),
            "o": array(heads, size, width), "norm2": array(width)}


def grouped(p, x, bias=0.0, rotate=True):
    """Attention whose heads share groups of keys and values, with norms of queries and keys if `p` has them."""
    h = rms_norm(p["norm1"], x)
    q, k, v = (jnp.einsum("bld,dhf->blhf", h, p[n].astype(BF16)) for n in "qkv")
    if "q_norm" in p:
        q, k = rms_norm(p["q_norm"], q), rms_norm(p["k_norm"], k)
    q, k = (turned(q), turned(k)) if rotate else (q, k)
    q = q.reshape(*q.shape[:2], k.shape[2], -1, q.shape[-1])
    scores = jnp.einsum("bqghf,bkgf->bghqk", q, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    y = jnp.einsum("bghqk,bkgf->bqghf", nn.softmax(scores + bias).astype(BF16), v)
    return x + jnp.einsum("blhf,hfd->bld", y.reshape(*x.shape[:2], -1, y.shape[-1]), p["o"].astype(BF16))


@step("POOTB")
def qk_norm_decoder():
    # A scanned decoder of 1.3 B parameters with norms of queries and keys, and rematerialization.
    width, heads, groups, size, hidden = 2048, 16, 8, 128, 6144
    layer = heads_of(width, heads, groups, size) | {"q_norm": array(size), "k_norm": array(size), "gate": array(width, hidden),
                                                    "up": array(width, hidden), "down": array(hidden, width)}
    params = {"embed": array(65536, width), "layers": stacked(layer, 24), "norm": array(width)}
    def losses(params, tokens):
        mask = causal(tokens.shape[1] - 1)
        def mix(p, x):
            x = grouped(p, x, mask)
            q, h = narrow(p), rms_norm(p["norm2"], x)
            return x + (nn.silu(h @ q["gate"]) * (h @ q["up"])) @ q["down"]
        x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]])
        return token_loss(rms_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    return trained(losses, params, ints(8, 1025))


@step("POOTB")
def parallel_blocks():
    # Attention and MLP side by side with one norm (GPT-J), unrolled, each block rematerialized; bf16 parameters with f32 moments.
    width, heads = 1536, 16
    layer = {"norm": norm_of(width), "attention": attention_of(width), "up": linear_of(width, 6144), "down": linear_of(6144, width)}
    params = cast({"embed": array(50400, width), "layers": [layer for _ in range(6)], "norm": norm_of(width), "out": linear_of(width, 50400)}, BF16)
    def losses(params, tokens):
        mask = causal(tokens.shape[1] - 1)
        @jax.checkpoint
        def mix(p, x):
            h = layer_norm(p["norm"], x)
            return x + attention(p["attention"], h, h, heads, mask) + linear(p["down"], nn.gelu(linear(p["up"], h)))
        x = params["embed"][tokens[:, :-1]]
        for p in params["layers"]:
            x = mix(p, x)
        return token_loss(linear(params["out"], layer_norm(params["norm"], x)), tokens[:, 1:])
    def train(params, m, v, count, tokens):
        loss, grads = jax.value_and_grad(losses)(params, tokens)
        return *adamw(params, m, v, count, clipped(grads)), loss
    wide = cast(params, jnp.float32)
    return train, (params, wide, wide, ints(), ints(16, 1025))


@step("POOTB")
def capped_large_vocabulary():
    # A vocabulary of 128 K with capped logits and scores, two norms around each part, and GeGLU; scanned with rematerialization.
    width, heads, hidden = 1152, 8, 4608
    layer = heads_of(width, heads, 4, 144) | {"after1": array(width), "after2": array(width), "gate": array(width, hidden),
                                              "up": array(width, hidden), "down": array(hidden, width)}
    params = {"embed": array(128000, width), "layers": stacked(layer, 14), "norm": array(width)}
    def losses(params, tokens):
        mask = causal(tokens.shape[1] - 1)
        def mix(p, x):
            q, h = narrow(p), rms_norm(p["norm1"], x)
            a, k, v = (jnp.einsum("bld,dhf->blhf", h, q[n]) for n in "qkv")
            a = a.reshape(*a.shape[:2], 4, 2, 144)
            scores = 50 * jnp.tanh(jnp.einsum("bqghf,bkgf->bghqk", a, k).astype(jnp.float32) / 600) + mask
            y = jnp.einsum("bghqk,bkgf->bqghf", nn.softmax(scores).astype(BF16), v).reshape(*x.shape[:2], 8, 144)
            x = x + rms_norm(p["after1"], jnp.einsum("blhf,hfd->bld", y, q["o"]))
            h = rms_norm(p["norm2"], x)
            return x + rms_norm(p["after2"], (nn.gelu(h @ q["gate"]) * (h @ q["up"])) @ q["down"])
        x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]] * width ** 0.5)
        logits = (rms_norm(params["norm"], x) @ params["embed"].T.astype(BF16)).astype(jnp.float32)
        return token_loss(30 * jnp.tanh(logits / 30), tokens[:, 1:])
    return trained(losses, params, ints(8, 1025))


@step("POOTB")
def sorted_experts():
    # Tokens are sorted by expert and gathered into queues; one of sixteen experts per token, scanned with rematerialization.
    width, hidden, experts, heads = 768, 2048, 16, 12
    layer = heads_of(width, heads, heads, 64) | {"router": array(width, experts), "up": array(experts, width, hidden),
                                                 "down": array(experts, hidden, width)}
    params = {"embed": array(32000, width), "layers": stacked(layer, 8), "norm": array(width)}
    def losses(params, tokens):
        mask = causal(tokens.shape[1] - 1)
        def mix(p, x):
            x = grouped(p, x, mask)
            h = rms_norm(p["norm2"], x)
            shares = nn.softmax(h.astype(jnp.float32) @ p["router"])
            most = 2 * h.shape[1] // experts
            def of_one(h, which, share):
                order = jnp.argsort(which)
                start = jnp.searchsorted(which[order], jnp.arange(experts))
                at = start[:, None] + jnp.arange(most)
                is_own = which[order[jnp.minimum(at, len(which) - 1)]] == jnp.arange(experts)[:, None]
                take = order[jnp.minimum(at, len(which) - 1)]
                queue = h[take]
                out = nn.gelu(jnp.einsum("emd,edh->emh", queue, p["up"].astype(BF16)))
                out = jnp.einsum("emh,ehd->emd", out, p["down"].astype(BF16))
                out = out * (share[take] * is_own)[..., None].astype(BF16)
                return jnp.zeros_like(h).at[take.ravel()].add(out.reshape(-1, width))
            return x + jax.vmap(of_one)(h, shares.argmax(-1), shares.max(-1))
        x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]])
        return token_loss(rms_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    return trained(losses, params, ints(16, 513))


@step("POOTB")
def shared_expert():
    # Four of 32 small experts and a shared one per token, all computed and weighted; two kinds of layers alternate, unrolled.
    width, hidden, experts, heads = 1024, 512, 32, 16
    dense = heads_of(width, heads, 4, 64) | {"gate": array(width, 4096), "up": array(width, 4096), "down": array(4096, width)}
    sparse = heads_of(width, heads, 4, 64) | {"router": array(width, experts), "shared": [array(width, 2048), array(2048, width)],
                                              "ups": array(experts, width, hidden), "downs": array(experts, hidden, width)}
    params = {"embed": array(50000, width), "layers": [dense, sparse, dense, sparse], "norm": array(width)}
    def losses(params, tokens):
        mask = causal(tokens.shape[1] - 1)
        x = params["embed"].astype(BF16)[tokens[:, :-1]]
        for p in params["layers"]:
            x = grouped(p, x, mask)
            h, q = rms_norm(p["norm2"], x), narrow(p)
            if "gate" in p:
                x = x + (nn.silu(h @ q["gate"]) * (h @ q["up"])) @ q["down"]
                continue
            scores = nn.sigmoid(h.astype(jnp.float32) @ p["router"])
            shares, which = lax.top_k(scores, 4)
            weights = (nn.one_hot(which, experts) * (shares / shares.sum(-1, keepdims=True))[..., None]).sum(-2).astype(BF16)
            out = nn.silu(jnp.einsum("btd,edh->bteh", h, q["ups"])) * weights[..., None]
            x = x + jnp.einsum("bteh,ehd->btd", out, q["downs"]) + nn.silu(h @ q["shared"][0]) @ q["shared"][1]
        return token_loss(rms_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    return trained(losses, params, ints(8, 513))


@step("POOTBB")
def soft_experts():
    # Slots of experts are averages of tokens (Soft MoE) in every second block of an image encoder, scanned by pairs of blocks.
    width, experts, slots = 768, 32, 6
    pair = {"dense": block_of(width), "norm1": norm_of(width), "attention": attention_of(width), "norm2": norm_of(width),
            "phi": array(width, experts, slots), "up": array(experts, width, 1536), "down": array(experts, 1536, width)}
    params = {"in": linear_of(768, width), "places": array(196, width), "layers": stacked(pair, 4), "norm": norm_of(width), "out": linear_of(width, 1000)}
    def mix(p, x):
        x = block(p["dense"], x, 12)
        h = layer_norm(p["norm1"], x)
        x = x + attention(p["attention"], h, h, 12)
        h = layer_norm(p["norm2"], x)
        logits = jnp.einsum("btd,des->btes", h, p["phi"].astype(BF16)).astype(jnp.float32)
        send, back = nn.softmax(logits, axis=1).astype(BF16), nn.softmax(logits, axis=(2, 3)).astype(BF16)
        queue = jnp.einsum("btes,btd->besd", send, h)
        out = jnp.einsum("besh,ehd->besd", nn.gelu(jnp.einsum("besd,edh->besh", queue, p["up"].astype(BF16))), p["down"].astype(BF16))
        return x + jnp.einsum("btes,besd->btd", back, out)
    def losses(params, images, labels):
        x = linear(params["in"], patches(images, 16).astype(BF16)) + params["places"].astype(BF16)
        x = scanned(mix, params["layers"], x, False)
        return token_loss(linear(params["out"], layer_norm(params["norm"], x).mean(1)), labels)
    return trained(losses, params, array(128, 224, 224, 3), ints(128))


@step("PPOOTBBBK")
def text_to_image():
    # A diffusion transformer that sees text by attention, scanned with rematerialization; the average of parameters is kept.
    width, heads = 1152, 16
    layer = {"shift": array(6, width), "attention": attention_of(width), "cross": attention_of(width, 1024), "up": linear_of(width, 4 * width),
             "down": linear_of(4 * width, width)}
    params = {"in": linear_of(16, width), "time": [linear_of(256, width), linear_of(width, 6 * width)], "layers": stacked(layer, 10),
              "out": linear_of(width, 16)}
    def losses(params, images, text, time, key):
        noise = jax.random.normal(key, images.shape)
        t = time[:, None, None, None]
        x = linear(params["in"], patches((1 - t) * images + t * noise, 2).astype(BF16))
        turns = time[:, None] * 1000 * jnp.exp(-jnp.arange(128) / 16)
        c = nn.silu(linear(params["time"][0], jnp.concatenate([jnp.sin(turns), jnp.cos(turns)], -1).astype(BF16)))
        c = linear(params["time"][1], c).reshape(-1, 6, 1, width)
        text = text.astype(BF16)
        def mix(p, x):
            a, b, g, d, e, f = (c[:, i] + p["shift"][i].astype(BF16) for i in range(6))
            one = jnp.ones(width)
            h = rms_norm(one, x) * (1 + a) + b
            x = x + g * attention(p["attention"], h, h, heads)
            x = x + attention(p["cross"], x, text, heads)
            return x + f * linear(p["down"], nn.gelu(linear(p["up"], rms_norm(one, x) * (1 + d) + e)))
        x = linear(params["out"], scanned(mix, params["layers"], x)).astype(jnp.float32)
        return ((x - patches(noise - images, 2)) ** 2).mean()
    def train(params, kept, m, v, count, images, text, time, key):
        loss, grads = jax.value_and_grad(losses)(params, images, text, time, key)
        params, m, v, count = adamw(params, m, v, count, clipped(grads))
        return params, jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b, kept, params), m, v, count, loss
    return train, (params, params, params, params, ints(), array(64, 32, 32, 4), array(64, 120, 1024), array(64), KEY)


@step("POOTBBBK")
def latent_unet():
    # A U-Net on latents with text attention in each stage (Stable Diffusion's form), with rematerialization of each stage.
    widths, deep = (256, 512, 896), 1024
    def res_of(a, b):
        return {"norm1": norm_of(a), "a": array(3, 3, a, b), "time": linear_of(deep, b), "norm2": norm_of(b), "b": array(3, 3, b, b),
                "short": array(1, 1, a, b)}
    def stage_of(a, b):
        return {"res": res_of(a, b), "block": block_of(b, crossed=768)}
    @jax.checkpoint
    def stage(p, x, t, text):
        q = p["res"]
        h = conv(nn.silu(group_norm(q["norm1"], x)), q["a"]) + linear(q["time"], t)[:, None, None]
        x = conv(x, q["short"]) + conv(nn.silu(group_norm(q["norm2"], h)), q["b"])
        return block(p["block"], x.reshape(x.shape[0], -1, x.shape[-1]), 8, context=text).reshape(x.shape)
    params = {"in": array(3, 3, 4, 256), "time": linear_of(256, deep), "down": [stage_of(256, 256), stage_of(256, 512), stage_of(512, 896)],
              "up": [stage_of(1792, 896), stage_of(1408, 512), stage_of(768, 256)], "norm": norm_of(256), "out": array(3, 3, 256, 4)}
    def losses(params, latents, text, time, key):
        noise = jax.random.normal(key, latents.shape)
        share = jnp.cos(time)[:, None, None, None]
        turns = time[:, None] * jnp.exp(-jnp.arange(128) / 16)
        t = nn.silu(linear(params["time"], jnp.concatenate([jnp.sin(turns), jnp.cos(turns)], -1).astype(BF16)))
        x = conv((share * latents + jnp.sqrt(1 - share ** 2) * noise).astype(BF16), params["in"])
        text, skips = text.astype(BF16), []
        for i, p in enumerate(params["down"]):
            x = stage(p, x, t, text)
            skips.append(x)
            x = x[:, ::2, ::2] if i < 2 else x
        for i, p in enumerate(params["up"]):
            x = jnp.repeat(jnp.repeat(x, 2, 1), 2, 2) if i else x
            x = stage(p, jnp.concatenate([x, skips.pop()], -1), t, text)
        x = conv(nn.silu(group_norm(params["norm"], x)), params["out"]).astype(jnp.float32)
        return ((x - noise) ** 2).mean()
    return trained(losses, params, array(32, 32, 32, 4), array(32, 77, 768), array(32), KEY)


@step("POOTBBK")
def sound_diffusion():
    # Denoising of waves by dilated one-dimensional convolutions with gates (DiffWave), unrolled.
    width = 768
    layer = {"dilated": array(3, width, 2 * width), "time": linear_of(512, width), "out": array(1, width, 2 * width)}
    params = {"in": array(1, 1, width), "time": [linear_of(128, 512), linear_of(512, 512)], "layers": [layer for _ in range(20)],
              "mid": array(1, width, width), "last": array(1, width, 1)}
    def losses(params, waves, time, key):
        noise = jax.random.normal(key, waves.shape)
        share = time[:, None, None]
        turns = time[:, None] * jnp.exp(-jnp.arange(64) / 8)
        t = nn.silu(linear(params["time"][0], jnp.concatenate([jnp.sin(turns), jnp.cos(turns)], -1).astype(BF16)))
        t = nn.silu(linear(params["time"][1], t))
        x = nn.relu(conv((share * waves + jnp.sqrt(1 - share ** 2) * noise).astype(BF16), params["in"]))
        total = jnp.zeros_like(x)
        for i, p in enumerate(params["layers"]):
            wide = 2 ** (i % 10)
            h = jnp.pad(x + linear(p["time"], t)[:, None], ((0, 0), (wide, wide), (0, 0)))
            h = lax.conv_general_dilated(h, p["dilated"].astype(BF16), (1,), "VALID", rhs_dilation=(wide,), dimension_numbers=("NWC", "WIO", "NWC"))
            a, b = jnp.split(h, 2, -1)
            h = conv(jnp.tanh(a) * nn.sigmoid(b), p["out"])
            back, skip = jnp.split(h, 2, -1)
            x, total = (x + back) * 0.7, total + skip
        out = conv(nn.relu(conv(nn.relu(total), params["mid"])), params["last"]).astype(jnp.float32)
        return jnp.abs(out - noise).mean()
    return trained(losses, params, array(32, 4096, 1), array(32), KEY)


@step("POOTB")
def chunked_states():
    # State spaces in chunks with scalar decays per head (Mamba 2), scanned with rematerialization.
    width, inner, heads, states, chunk = 1024, 2048, 32, 64, 128
    layer = {"norm": array(width), "in": array(width, 2 * inner + 2 * states + heads), "conv": array(4, 1, inner + 2 * states), "bias": array(heads),
             "a_log": array(heads), "d": array(heads), "norm2": array(inner), "out": array(inner, width)}
    params = {"embed": array(50288, width), "layers": stacked(layer, 20), "norm": array(width)}
    def mix(p, x):
        z, u, dt = jnp.split(rms_norm(p["norm"], x) @ p["in"].astype(BF16), (inner, 2 * inner + 2 * states), -1)
        u = nn.silu(conv(u, p["conv"], padding=[(3, 0)], groups=inner + 2 * states))
        h, b, c = jnp.split(u, (inner, inner + states), -1)
        cut = lambda a: a.reshape(a.shape[0], -1, chunk, *a.shape[2:])
        dt = nn.softplus(dt.astype(jnp.float32) + p["bias"])
        h = h.reshape(*h.shape[:2], heads, -1)
        a, v, b, c = cut(dt * -jnp.exp(p["a_log"])), cut((h * dt[..., None].astype(BF16))), cut(b), cut(c)
        sums = jnp.cumsum(a, 2)
        apart = sums[:, :, :, None] - sums[:, :, None]
        decay = jnp.exp(jnp.where(jnp.tril(jnp.ones((chunk, chunk), bool))[..., None], apart, -jnp.inf))
        scores = jnp.einsum("bnts,bnus->bntu", c, b)[..., None] * decay.astype(BF16)
        y = jnp.einsum("bntuh,bnuhf->bnthf", scores, v)
        ends = jnp.exp(sums[:, :, -1:] - sums).astype(BF16)
        state = jnp.einsum("bnus,bnuh,bnuhf->bnhfs", b, ends, v).astype(jnp.float32)
        def move(s, of):
            new, share = of
            return s * jnp.exp(share)[..., None, None] + new, s
        _, before = lax.scan(move, jnp.zeros_like(state[:, 0]), (state.swapaxes(0, 1), sums[:, :, -1].swapaxes(0, 1)))
        y = y + jnp.einsum("bnts,bnhfs,bnth->bnthf", c, before.swapaxes(0, 1).astype(BF16), jnp.exp(sums).astype(BF16))
        y = y.reshape(h.shape) + p["d"].astype(BF16)[:, None] * h
        return x + rms_norm(p["norm2"], y.reshape(z.shape) * nn.silu(z)) @ p["out"].astype(BF16)
    def losses(params, tokens):
        x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]])
        return token_loss(rms_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    return trained(losses, params, ints(8, 1025))


@step("POOTB")
def linear_recurrence():
    # A gated linear recurrence by a prefix scan, and attention in every third block (Griffin), unrolled with rematerialization.
    width, inner = 1024, 1536
    rec = {"norm": array(width), "a": array(width, inner), "b": array(width, inner), "conv": array(4, 1, inner), "r": array(inner, inner),
           "i": array(inner, inner), "lam": array(inner), "o": array(inner, width)}
    att = heads_of(width, 8, 1, 128)
    mlp = {"norm3": array(width), "gate": array(width, 3072), "up": array(width, 3072), "down": array(3072, width)}
    params = {"embed": array(64000, width), "layers": [k | mlp for k in (rec, rec, att) * 2], "norm": array(width)}
    def losses(params, tokens):
        mask = causal(tokens.shape[1] - 1)
        @jax.checkpoint
        def mix(p, x):
            q = narrow(p)
            if "lam" in p:
                h = rms_norm(p["norm"], x)
                u = conv(h @ q["a"], p["conv"], padding=[(3, 0)], groups=inner)
                r, i = nn.sigmoid((u @ q["r"]).astype(jnp.float32)), nn.sigmoid((u @ q["i"]).astype(jnp.float32))
                log = -8 * r * nn.softplus(p["lam"])
                added = jnp.sqrt(1 - jnp.exp(2 * log) + 1e-6) * i * u
                state = lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (jnp.exp(log), added), axis=1)[1]
                x = x + (state.astype(BF16) * nn.gelu(h @ q["b"])) @ q["o"]
            else:
                x = grouped(p, x, mask)
            h = rms_norm(p["norm3"], x)
            return x + (nn.gelu(h @ q["gate"]) * (h @ q["up"])) @ q["down"]
        x = params["embed"].astype(BF16)[tokens[:, :-1]]
        for p in params["layers"]:
            x = mix(p, x)
        return token_loss(rms_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    return trained(losses, params, ints(8, 1025))


@step("POOTB")
def retention():
    # Retention in parallel form with f32 decays per head and group norms of heads, scanned without rematerialization.
    width, heads = 1024, 8
    layer = {"norm1": norm_of(width), "q": array(width, width), "k": array(width, width), "v": array(width, 2 * width), "g": array(width, 2 * width),
             "o": array(2 * width, width), "norm2": norm_of(width), "up": linear_of(width, 2048), "down": linear_of(2048, width)}
    params = {"embed": array(50257, width), "layers": stacked(layer, 12), "norm": norm_of(width)}
    def losses(params, tokens):
        length = tokens.shape[1] - 1
        gone = jnp.arange(length)[:, None] - jnp.arange(length)
        rates = jnp.log(1 - 2.0 ** (-5 - jnp.arange(heads)))[:, None, None]
        decay = jnp.where(gone >= 0, jnp.exp(gone * rates), 0).astype(BF16)
        def mix(p, x):
            q, h = narrow(p), layer_norm(p["norm1"], x)
            split = lambda a: a.reshape(*a.shape[:2], heads, -1)
            scores = jnp.einsum("bqhf,bkhf->bhqk", turned(split(h @ q["q"])), turned(split(h @ q["k"]))) / 11 * decay
            y = jnp.einsum("bhqk,bkhf->bqhf", scores, split(h @ q["v"])).astype(jnp.float32)
            y = (y * lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6)).astype(BF16).reshape(*x.shape[:2], -1)
            x = x + (nn.silu(h @ q["g"]) * y) @ q["o"]
            return x + linear(p["down"], nn.gelu(linear(p["up"], layer_norm(p["norm2"], x))))
        x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]], False)
        return token_loss(layer_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    return trained(losses, params, ints(8, 1025))


@step("POOTBBBB", "----")
def neighbour_sums():
    # Means of neighbours in one large graph with a table of embeddings (GraphSAGE); labels of some nodes.
    width, nodes, edges = 512, 200_000, 800_000
    params = {"table": array(nodes, width), "layers": [{"own": linear_of(width, width), "near": array(width, width)} for _ in range(3)],
              "out": linear_of(width, 256)}
    def losses(params, sources, targets, chosen, labels):
        x = params["table"].astype(BF16)
        count = jax.ops.segment_sum(jnp.ones(edges), targets, nodes)
        for p in params["layers"]:
            near = jax.ops.segment_sum(x[sources], targets, nodes) / (count[:, None] + 1).astype(BF16)
            x = nn.relu(linear(p["own"], x) + near @ p["near"].astype(BF16))
            x = x * lax.rsqrt((x.astype(jnp.float32) ** 2).sum(-1, keepdims=True) + 1e-6).astype(BF16)
        return token_loss(linear(params["out"], x[chosen]), labels)
    return trained(losses, params, ints(edges), ints(edges), ints(8192), ints(8192))


@step("POOTBBBB", "0000")
def continuous_filters():
    # Filters of distances between the atoms of molecules, dense pairs (SchNet), scanned without rematerialization; forces by a gradient.
    width, atoms, waves = 1152, 48, 64
    layer = {"in": linear_of(width, width), "filter": [linear_of(waves, width), linear_of(width, width)], "out": [linear_of(width, 4 * width), linear_of(4 * width, width)]}
    params = {"kinds": array(100, width), "layers": stacked(layer, 8), "out": [linear_of(width, 512), linear_of(512, 1)]}
    def energy(params, places, kinds):
        apart = places[:, :, None] - places[:, None]
        far = jnp.sqrt((apart ** 2).sum(-1) + 1e-6)
        waved = jnp.exp(-10 * (far[..., None] - jnp.linspace(0, 5, waves)) ** 2).astype(BF16)
        x = params["kinds"].astype(BF16)[kinds]
        def mix(x, p):
            f = linear(p["filter"][1], nn.softplus(linear(p["filter"][0], waved)))
            y = (linear(p["in"], x)[:, None] * f).sum(2)
            return x + linear(p["out"][1], nn.softplus(linear(p["out"][0], y))), None
        x = lax.scan(mix, x, params["layers"])[0]
        return linear(params["out"][1], nn.softplus(linear(params["out"][0], x))).astype(jnp.float32).sum((1, 2))
    def losses(params, places, kinds, goal, forces):
        e, back = jax.vjp(lambda places: energy(params, places, kinds), places)
        return ((e - goal) ** 2).mean() + ((back(jnp.ones_like(e))[0] + forces) ** 2).mean()
    return trained(losses, params, array(64, atoms, 3), ints(64, atoms), array(64), array(64, atoms, 3))


@step("FPOOTBB")
def adapted_encoder():
    # Adapters and a head on a frozen image encoder of 0.3 B parameters in bf16, scanned with rematerialization.
    width, heads, layers, rank = 1024, 16, 24, 8
    frozen = cast({"in": linear_of(588, width), "places": array(256, width), "layers": stacked(block_of(width), layers)}, BF16)
    new = {"adapters": stacked({"up": [array(width, rank), array(rank, 4 * width)], "down": [array(4 * width, rank), array(rank, width)]}, layers),
           "norm": norm_of(width), "out": linear_of(width, 5000)}
    def train(frozen, new, m, v, count, images, labels):
        def losses(new):
            x = linear(frozen["in"], patches(images, 14).astype(BF16)) + frozen["places"]
            def mix(p, x):
                p, a = p
                h = layer_norm(p["norm1"], x)
                x = x + attention(p["attention"], h, h, heads)
                h = layer_norm(p["norm2"], x)
                low = lambda ab, x: (x @ ab[0].astype(BF16)) @ ab[1].astype(BF16)
                h = nn.gelu(linear(p["up"], h) + low(a["up"], h))
                return x + linear(p["down"], h) + low(a["down"], h)
            x = scanned(mix, (frozen["layers"], new["adapters"]), x)
            return token_loss(linear(new["out"], layer_norm(new["norm"], x).mean(1)), labels)
        loss, grads = jax.value_and_grad(losses)(new)
        return *adamw(new, m, v, count, grads), loss
    return train, (frozen, new, new, new, ints(), array(64, 224, 224, 3), ints(64))


@step("FFPOOTB")
def eight_bit_adapters():
    # A frozen decoder of 0.9 B parameters in eight bits with scales of rows; adapters of four matrices, scanned with rematerialization.
    width, heads, layers, rank = 2048, 16, 16, 16
    shapes = {"q": (width, width), "k": (width, 512), "v": (width, 512), "o": (width, width), "gate": (width, 5632), "up": (width, 5632), "down": (5632, width)}
    matrices = stacked({n: array(*s, dtype=jnp.int8) for n, s in shapes.items()}, layers)
    rest = cast({"embed": array(32000, width), "scales": stacked({n: array(1, s[1]) for n, s in shapes.items()}, layers),
                 "norms": stacked({"norm1": array(width), "norm2": array(width)}, layers), "norm": array(width)}, BF16)
    adapters = stacked({n: [array(shapes[n][0], rank), array(rank, shapes[n][1])] for n in "qkvo"}, layers)
    def train(matrices, rest, adapters, m, v, count, tokens):
        def losses(adapters):
            mask = causal(tokens.shape[1] - 1)
            def mix(p, x):
                w, s, norms, a = p
                def times(n, h):
                    y = h @ (w[n].astype(BF16) * s[n])
                    return y + (h @ a[n][0].astype(BF16)) @ a[n][1].astype(BF16) if n in a else y
                h = rms_norm(norms["norm1"], x)
                split = lambda y: y.reshape(*y.shape[:2], -1, 128)
                q, k, v = turned(split(times("q", h))), turned(split(times("k", h))), split(times("v", h))
                k, v = jnp.repeat(k, 4, 2), jnp.repeat(v, 4, 2)
                x = x + times("o", attend(q, k, v, mask).reshape(x.shape))
                h = rms_norm(norms["norm2"], x)
                return x + times("down", nn.silu(times("gate", h)) * times("up", h))
            x = scanned(mix, (matrices, rest["scales"], rest["norms"], adapters), rest["embed"][tokens[:, :-1]])
            return token_loss(rms_norm(rest["norm"], x) @ rest["embed"].T, tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(adapters)
        return *adamw(adapters, m, v, count, clipped(grads)), loss
    return train, (matrices, rest, adapters, adapters, adapters, ints(), ints(8, 1025))


@step("FMMBs", "0")
def latent_cache_decode():
    # One token for each of 64 texts; the cache has compressed keys and values (multi-head latent attention), unrolled.
    width, heads, size, low, layers, most = 2048, 16, 128, 512, 6, 4096
    layer = {"norm1": array(width), "q": array(width, heads, size), "down_kv": array(width, low), "up_k": array(heads, size, low), "up_v": array(heads, low, size),
             "o": array(heads, size, width), "norm2": array(width), "gate": array(width, 5632), "up": array(width, 5632), "down": array(5632, width)}
    params = cast({"embed": array(64000, width), "layers": [layer for _ in range(layers)], "norm": array(width), "out": array(width, 64000)}, BF16)
    cache = [array(64, most, low, dtype=BF16) for _ in range(layers)]
    def decode(params, cache, other, tokens, at):
        x, cache, other = params["embed"][tokens], list(cache), list(other)
        seen = jnp.arange(most) <= at
        for i, p in enumerate(params["layers"]):
            h = rms_norm(p["norm1"], x)
            cache[i] = lax.dynamic_update_slice(cache[i], (h @ p["down_kv"])[:, None], (0, at, 0))
            other[i] = lax.dynamic_update_slice(other[i], jnp.tanh(h @ p["down_kv"])[:, None], (0, at, 0))
            q = jnp.einsum("bhf,hfl->bhl", jnp.einsum("bd,dhf->bhf", h, p["q"]), p["up_k"])
            scores = jnp.einsum("bhl,bsl->bhs", q, cache[i]).astype(jnp.float32) * size ** -0.5
            y = jnp.einsum("bhs,bsl->bhl", nn.softmax(jnp.where(seen, scores, -1e9)).astype(BF16), other[i])
            x = x + jnp.einsum("bhf,hfd->bd", jnp.einsum("bhl,hlf->bhf", y, p["up_v"]), p["o"])
            h = rms_norm(p["norm2"], x)
            x = x + (nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]
        logits = (rms_norm(params["norm"], x) @ params["out"]).astype(jnp.float32)
        best, which = lax.top_k(logits, 40)
        return cache, other, which[:, 0], nn.softmax(best), at + 1
    return decode, (params, cache, cache, ints(64), ints())


@step("FB")
def scored_texts():
    # Log-probabilities of texts under a scanned decoder of 0.8 B parameters; forward only.
    width, heads, groups, size, hidden = 1792, 14, 7, 128, 4864
    layer = heads_of(width, heads, groups, size) | {"gate": array(width, hidden), "up": array(width, hidden), "down": array(hidden, width)}
    params = cast({"embed": array(50000, width), "layers": stacked(layer, 20), "norm": array(width)}, BF16)
    def score(params, tokens):
        mask = causal(tokens.shape[1] - 1)
        def mix(x, p):
            x = grouped(p, x, mask)
            h = rms_norm(p["norm2"], x)
            return x + (nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"], None
        x = lax.scan(mix, params["embed"][tokens[:, :-1]], params["layers"])[0]
        logits = (rms_norm(params["norm"], x) @ params["embed"].T).astype(jnp.float32)
        chosen = jnp.take_along_axis(nn.log_softmax(logits), tokens[:, 1:, None], -1)[..., 0]
        return chosen, chosen.sum(-1), (logits.argmax(-1) == tokens[:, 1:]).mean(-1)
    return score, (params, ints(16, 2049))


@step("POOTBB")
def masked_images():
    # A masked autoencoder: a quarter of the patches is gathered and encoded, all are decoded by a smaller decoder; unrolled decoder.
    width, small = 1024, 512
    params = {"in": linear_of(768, width), "places": array(196, width), "encoder": stacked(block_of(width), 12), "norm": norm_of(width),
              "small": linear_of(width, small), "mask": array(small), "later": array(196, small), "decoder": [block_of(small) for _ in range(4)],
              "out": linear_of(small, 768)}
    def losses(params, images, order):
        cut = patches(images, 16)
        seen = order[:, :49]
        x = linear(params["in"], jnp.take_along_axis(cut, seen[..., None], 1).astype(BF16)) + params["places"].astype(BF16)[seen]
        x = scanned(lambda p, x: block(p, x, 16), params["encoder"], x, False)
        x = linear(params["small"], layer_norm(params["norm"], x))
        x = jnp.concatenate([x, jnp.broadcast_to(params["mask"].astype(BF16), (x.shape[0], 147, small))], 1)
        x = jnp.take_along_axis(x, jnp.argsort(order, 1)[..., None], 1) + params["later"].astype(BF16)
        for p in params["decoder"]:
            x = block(p, x, 8)
        error = ((linear(params["out"], x).astype(jnp.float32) - cut) ** 2).mean(-1)
        hidden = jnp.ones(cut.shape[:2]).at[jnp.arange(cut.shape[0])[:, None], seen].set(0)
        return (error * hidden).sum() / hidden.sum()
    return trained(losses, params, array(128, 224, 224, 3), ints(128, 196))


@step("POOTBB")
def shifted_windows():
    # Attention in shifted windows with biases of places, and merging of patches between three stages (Swin), unrolled.
    widths, depths, side = (256, 512, 1024), (2, 2, 6), 8
    stage_of = lambda width, depth: [block_of(width) | {"bias": array(width // 32, 64, 64)} for _ in range(depth)]
    params = {"in": linear_of(48, 256), "stages": [stage_of(*each) for each in zip(widths, depths)],
              "merge": [array(4 * a, b) for a, b in zip(widths, widths[1:])], "norm": norm_of(1024), "out": linear_of(1024, 21841)}
    def losses(params, images, labels):
        x = linear(params["in"], patches(images, 4).astype(BF16)).reshape(images.shape[0], 64, 64, 256)
        for i, stage in enumerate(params["stages"]):
            b, h, w, c = x.shape
            for j, p in enumerate(stage):
                y = jnp.roll(x, (-4, -4), (1, 2)) if j % 2 else x
                y = y.reshape(b, h // side, side, w // side, side, c).transpose(0, 1, 3, 2, 4, 5).reshape(-1, side * side, c)
                y = block({k: q for k, q in p.items() if k != "bias"}, y, c // 32, p["bias"])
                y = y.reshape(b, h // side, w // side, side, side, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
                x = jnp.roll(y, (4, 4), (1, 2)) if j % 2 else y
            if i < 2:
                x = patches(x, 2).reshape(b, h // 2, w // 2, 4 * c) @ params["merge"][i].astype(BF16)
        return token_loss(linear(params["out"], layer_norm(params["norm"], x).mean((1, 2))), labels)
    return trained(losses, params, array(32, 256, 256, 3), ints(32))


@step("POOTBB")
def gru_translation():
    # A bidirectional GRU encoder, and a GRU decoder that attends to it at each step.
    width, words = 1024, 32000
    cell = {"x": array(width, 3 * width), "h": array(width, 3 * width), "b": array(3 * width)}
    params = {"source": array(words, width), "target": array(words, width), "forth": cell, "back": cell, "merge": linear_of(2 * width, width),
              "decoder": cell, "mix": linear_of(2 * width, width), "query": array(width, width), "out": linear_of(width, words)}
    def move(p, h, u):
        r, z, n = jnp.split(u, 3, -1)
        a, b, c = jnp.split(h @ p["h"].astype(BF16), 3, -1)
        z = nn.sigmoid(z + b)
        return (1 - z) * jnp.tanh(n + nn.sigmoid(r + a) * c) + z * h
    def losses(params, source, target):
        x = params["source"].astype(BF16)[source].swapaxes(0, 1)
        zero = jnp.zeros(x.shape[1:], BF16)
        def along(p, reverse):
            u = x @ p["x"].astype(BF16) + p["b"].astype(BF16)
            def one(h, u):
                h = move(p, h, u)
                return h, h
            return lax.scan(one, zero, u, reverse=reverse)[1]
        seen = linear(params["merge"], jnp.concatenate([along(params["forth"], False), along(params["back"], True)], -1)).swapaxes(0, 1)
        y = params["target"].astype(BF16)[target[:, :-1]].swapaxes(0, 1)
        u = y @ params["decoder"]["x"].astype(BF16) + params["decoder"]["b"].astype(BF16)
        def one(h, u):
            h = move(params["decoder"], h, u)
            scores = jnp.einsum("bf,bsf->bs", h @ params["query"].astype(BF16), seen).astype(jnp.float32) / 32
            looked = jnp.einsum("bs,bsf->bf", nn.softmax(scores).astype(BF16), seen)
            return h, jnp.tanh(linear(params["mix"], jnp.concatenate([h, looked], -1)))
        return token_loss(linear(params["out"], lax.scan(one, zero, u)[1].swapaxes(0, 1)), target[:, 1:])
    return trained(losses, params, ints(256, 64), ints(256, 65))


@step("POTB")
def parallel_recurrence():
    # A recurrence without hidden-to-hidden matmuls (minGRU) by a prefix scan in logarithms, with Lion; scanned with rematerialization.
    width, inner = 1280, 1920
    layer = {"norm1": array(width), "z": linear_of(width, inner), "h": linear_of(width, inner), "o": array(inner, width), "norm2": array(width),
             "up": linear_of(width, 3 * width), "down": linear_of(3 * width, width)}
    params = {"embed": array(32768, width), "layers": stacked(layer, 14), "norm": array(width), "out": array(width, 32768)}
    def mix(p, x):
        h = rms_norm(p["norm1"], x)
        z, new = linear(p["z"], h).astype(jnp.float32), linear(p["h"], h).astype(jnp.float32)
        log_keep, log_add = -nn.softplus(z), -nn.softplus(-z) + nn.softplus(new)
        total = jnp.cumsum(log_keep, 1)
        state = jnp.exp(total + lax.cumlogsumexp(log_add - total, 1))
        x = x + state.astype(BF16) @ p["o"].astype(BF16)
        return x + linear(p["down"], nn.silu(linear(p["up"], rms_norm(p["norm2"], x))))
    def losses(params, tokens):
        x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]])
        return token_loss(rms_norm(params["norm"], x) @ params["out"].astype(BF16), tokens[:, 1:])
    def train(params, m, count, tokens):
        loss, grads = jax.value_and_grad(losses)(params, tokens)
        return *lion(params, m, clipped(grads)), count + 1, loss
    return train, (params, params, ints(), ints(16, 1025))


@step("PPOOTBB")
def encoder_decoder():
    # T5 with buckets of relative places shared by all layers; bf16 parameters with f32 masters; scanned encoder, unrolled decoder.
    width, heads = 768, 12
    def block_of_t5(crossed):
        p = {"norm1": array(width), "q": array(width, width), "k": array(width, width), "v": array(width, width), "o": array(width, width),
             "norm2": array(width), "wi": array(width, 2048), "wg": array(width, 2048), "wo": array(2048, width)}
        return p | {"norm3": array(width), "cq": array(width, width), "ck": array(width, width), "cv": array(width, width), "co": array(width, width)} if crossed else p
    masters = {"embed": array(32128, width), "near": array(32, heads), "later": array(32, heads), "encoder": stacked(block_of_t5(False), 8),
               "decoder": [block_of_t5(True) for _ in range(6)], "norm1": array(width), "norm2": array(width)}
    params = cast(masters, BF16)
    def look(p, x, context, bias, n=""):
        split = lambda a: a.reshape(*a.shape[:2], heads, -1)
        q, k, v = split(x @ p[n + "q"]), split(context @ p[n + "k"]), split(context @ p[n + "v"])
        return attend(q, k, v, bias).reshape(x.shape) @ p[n + "o"]
    def feed(p, x):
        h = rms_norm(p["norm2"], x)
        return x + (nn.gelu(h @ p["wg"]) * (h @ p["wi"])) @ p["wo"]
    def losses(params, source, target):
        place = jnp.arange(512)
        bucket = jnp.clip(place[:, None] - place + 16, 0, 31)
        near = params["near"][bucket].transpose(2, 0, 1).astype(jnp.float32)
        later = params["later"][bucket].transpose(2, 0, 1).astype(jnp.float32) + causal(512)
        def encode(p, x):
            h = rms_norm(p["norm1"], x)
            return feed(p, x + look(p, h, h, near))
        seen = rms_norm(params["norm1"], scanned(encode, params["encoder"], params["embed"][source], False))
        x = params["embed"][target[:, :-1]]
        for p in params["decoder"]:
            h = rms_norm(p["norm1"], x)
            x = x + look(p, h, h, later)
            x = feed(p, x + look(p, rms_norm(p["norm3"], x), seen, None, "c"))
        return token_loss(rms_norm(params["norm2"], x) @ params["embed"].T, target[:, 1:])
    def train(params, masters, m, v, count, source, target):
        loss, grads = jax.value_and_grad(losses)(params, source, target)
        return *mixed_adamw(params, masters, m, v, count, grads), loss
    return train, (params, masters, masters, masters, ints(), ints(32, 512), ints(32, 513))


@step("POTBB")
def depthwise_images():
    # Depthwise convolutions with layer norms and scales of layers (ConvNeXt), SGD with momentum; scanned third stage.
    widths, depths = (192, 384, 768, 1536), (2, 2, 12, 2)
    def block_of_image(width):
        return {"deep": array(7, 7, 1, width), "norm": norm_of(width), "up": linear_of(width, 4 * width), "down": linear_of(4 * width, width), "scale": array(width)}
    def mix(p, x):
        h = layer_norm(p["norm"], conv(x, p["deep"], groups=x.shape[-1]))
        return x + p["scale"].astype(BF16) * linear(p["down"], nn.gelu(linear(p["up"], h)))
    params = {"in": array(4, 4, 3, 192), "stages": [stacked(block_of_image(w), n) if n > 2 else [block_of_image(w) for _ in range(n)] for w, n in zip(widths, depths)],
              "less": [{"norm": norm_of(a), "w": array(2, 2, a, b)} for a, b in zip(widths, widths[1:])], "norm": norm_of(1536), "out": linear_of(1536, 1000)}
    def losses(params, images, labels):
        x = conv(images.astype(BF16), params["in"], 4, "VALID")
        for i, (stage, depth) in enumerate(zip(params["stages"], depths)):
            if i:
                p = params["less"][i - 1]
                x = conv(layer_norm(p["norm"], x), p["w"], 2, "VALID")
            if depth > 2:
                x = scanned(mix, stage, x, False)
                continue
            for p in stage:
                x = mix(p, x)
        return token_loss(linear(params["out"], layer_norm(params["norm"], x.mean((1, 2)))), labels)
    def train(params, momentum, count, images, labels):
        loss, grads = jax.value_and_grad(losses)(params, images, labels)
        return *sgd(params, momentum, grads), count + 1, loss
    return train, (params, params, ints(), array(64, 224, 224, 3), ints(64))


if __name__ == "__main__":
    show(*sys.argv[1:])
