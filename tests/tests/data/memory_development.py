"""Prints the development programs of the memory model, as `memory_steps.py` does. `memory_held_out.py` has the programs to judge it by.

    JAX_PLATFORMS=cpu python memory_development.py [NAME ...]        (all programs if no name is given; written for jax 0.10.2)
"""
import sys

import jax
import jax.numpy as jnp
from jax import lax, nn
from real_steps.layers import (
    BF16, attend, attention, attention_of, block, block_of, causal, conv, group_norm, layer_norm, linear, linear_of, narrow, norm_of, patches,
    rms_norm, scanned, stacked, token_loss, unit,
)
from real_steps.language import llama, llama_of, turned
from real_steps.optimizers import adamw, clipped
from steps import KEY, STEPS, array, cast, ints, sgd, show, step

# The imports above also register the steps of `real_steps`.
STEPS.clear()


def trained(losses, params, *data):
    """A training step with AdamW and clipping by the global norm."""
    def train(params, m, v, count, *data):
        loss, grads = jax.value_and_grad(losses)(params, *data)
        return *adamw(params, m, v, count, clipped(grads)), loss
    return train, (params, params, params, ints(), *data)


@step("POOTB")
def dense_decoder():
    # A scanned decoder of 0.6 B parameters with rematerialization and an untied head.
    width, heads = 1536, 12
    params = {"embed": array(50304, width), "layers": stacked(llama_of(width, heads, 4, 4096), 18), "norm": array(width),
              "out": array(width, 50304)}
    def losses(params, tokens):
        x = scanned(lambda p, x: llama(p, x, heads, 4), params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]])
        return token_loss(rms_norm(params["norm"], x) @ params["out"].astype(BF16), tokens[:, 1:])
    return trained(losses, params, ints(16, 1025))


@step("POOTB")
def unrolled_decoder():
    # GPT-2 with unrolled blocks, learned places and a tied head, without rematerialization.
    width, heads = 1024, 16
    params = {"embed": array(50257, width), "places": array(1024, width), "layers": [block_of(width) for _ in range(6)], "norm": norm_of(width)}
    def losses(params, tokens):
        x = params["embed"].astype(BF16)[tokens[:, :-1]] + params["places"].astype(BF16)
        mask = causal(x.shape[1])
        for p in params["layers"]:
            x = block(p, x, heads, mask)
        return token_loss(layer_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    return trained(losses, params, ints(16, 1025))


@step("POOTB")
def scanned_experts():
    # Two of eight experts per token, dispatched by matmuls; scanned with rematerialization.
    width, hidden, experts, heads = 1024, 2816, 8, 16
    layer = {"norm1": array(width), "attention": attention_of(width), "norm2": array(width), "router": array(width, experts),
             "gate": array(experts, width, hidden), "up": array(experts, width, hidden), "down": array(experts, hidden, width)}
    params = {"embed": array(32000, width), "layers": stacked(layer, 8), "norm": array(width)}
    def mix(p, x):
        h = rms_norm(p["norm1"], x)
        x = x + attention(p["attention"], h, h, heads, causal(x.shape[1]))
        h = rms_norm(p["norm2"], x)
        shares, which = lax.top_k(nn.softmax(h.astype(jnp.float32) @ p["router"]), 2)
        chosen = nn.one_hot(which, experts)
        most = x.shape[1] * 2 // experts
        place = (jnp.cumsum(chosen.reshape(x.shape[0], -1, experts), 1).reshape(chosen.shape) * chosen).sum(-1) - 1
        send = chosen[..., None] * nn.one_hot(place, most)[..., None, :]
        weigh = (send * shares[..., None, None]).sum(2).astype(BF16)
        queue = jnp.einsum("btem,btd->ebmd", send.sum(2).astype(BF16), h)
        gate = nn.silu(jnp.einsum("ebmd,edh->ebmh", queue, p["gate"].astype(BF16)))
        out = gate * jnp.einsum("ebmd,edh->ebmh", queue, p["up"].astype(BF16))
        return x + jnp.einsum("btem,ebmd->btd", weigh, jnp.einsum("ebmh,ehd->ebmd", out, p["down"].astype(BF16)))
    def losses(params, tokens):
        x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]])
        return token_loss(rms_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    return trained(losses, params, ints(16, 1025))


@step("POOTBBBK")
def image_transformer_diffusion():
    # A diffusion transformer with modulation by time and class (DiT), scanned without rematerialization.
    width, heads, size = 1024, 16, 2
    layer = {"attention": attention_of(width), "up": linear_of(width, 4 * width), "down": linear_of(4 * width, width),
             "change": linear_of(width, 6 * width)}
    params = {"in": linear_of(16, width), "places": array(256, width), "kinds": array(1001, width), "time": [linear_of(256, width), linear_of(width, width)],
              "layers": stacked(layer, 12), "out": linear_of(width, 16)}
    def normed(x):
        wide = x.astype(jnp.float32)
        return ((wide - wide.mean(-1, keepdims=True)) * lax.rsqrt(wide.var(-1, keepdims=True) + 1e-6)).astype(x.dtype)
    def losses(params, images, kinds, time, key):
        noise = jax.random.normal(key, images.shape)
        t = time[:, None, None, None]
        x = linear(params["in"], patches((1 - t) * images + t * noise, size).astype(BF16)) + params["places"].astype(BF16)
        turns = time[:, None] * 1000 * jnp.exp(-jnp.arange(128) / 16)
        c = linear(params["time"][0], jnp.concatenate([jnp.sin(turns), jnp.cos(turns)], -1).astype(BF16))
        c = nn.silu(linear(params["time"][1], nn.silu(c)) + params["kinds"].astype(BF16)[kinds])
        def mix(x, p):
            a, b, g, d, e, f = jnp.split(linear(p["change"], c)[:, None], 6, -1)
            h = normed(x) * (1 + a) + b
            x = x + g * attention(p["attention"], h, h, heads)
            h = normed(x) * (1 + d) + e
            return x + f * linear(p["down"], nn.gelu(linear(p["up"], h))), None
        x = linear(params["out"], normed(lax.scan(mix, x, params["layers"])[0])).astype(jnp.float32)
        return ((x - patches(noise - images, size)) ** 2).mean()
    return trained(losses, params, array(128, 32, 32, 4), ints(128), array(128), KEY)


@step("POOTBBK")
def pixel_unet():
    # Noise prediction by a U-Net of residual blocks with attention at its two lower resolutions.
    widths, deep = (256, 512, 768), 1024
    def res_of(a, b):
        return {"norm1": norm_of(a), "a": array(3, 3, a, b), "time": linear_of(deep, b), "norm2": norm_of(b), "b": array(3, 3, b, b),
                "short": array(1, 1, a, b)}
    def res(p, x, t):
        h = conv(nn.silu(group_norm(p["norm1"], x)), p["a"]) + linear(p["time"], t)[:, None, None]
        return conv(x, p["short"]) + conv(nn.silu(group_norm(p["norm2"], h)), p["b"])
    def mixed(p, x):
        flat = x.reshape(x.shape[0], -1, x.shape[-1])
        h = layer_norm(p["norm"], flat)
        return (flat + attention(p["mix"], h, h, 8)).reshape(x.shape)
    mix_of = lambda width: {"norm": norm_of(width), "mix": attention_of(width)}
    params = {"in": array(3, 3, 3, 256), "time": linear_of(128, deep), "down": [], "up": [], "norm": norm_of(256), "out": array(3, 3, 256, 3)}
    before = 256
    for i, width in enumerate(widths):
        params["down"].append({"res": [res_of(before, width), res_of(width, width)], "mix": mix_of(width)})
        before = width
    for width in reversed(widths):
        params["up"].append({"res": [res_of(before + width, width), res_of(width, width)], "mix": mix_of(width)})
        before = width
    def losses(params, images, time, key):
        noise = jax.random.normal(key, images.shape)
        share = time[:, None, None, None]
        turns = time[:, None] * jnp.exp(-jnp.arange(64) / 8)
        t = nn.silu(linear(params["time"], jnp.concatenate([jnp.sin(turns), jnp.cos(turns)], -1).astype(BF16)))
        x, skips = conv((jnp.sqrt(1 - share) * images + jnp.sqrt(share) * noise).astype(BF16), params["in"]), []
        for i, p in enumerate(params["down"]):
            for q in p["res"]:
                x = res(q, x, t)
            x = mixed(p["mix"], x) if i else x
            skips.append(x)
            if i < 2:
                x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
        for i, p in enumerate(params["up"]):
            x = jnp.repeat(jnp.repeat(x, 2, 1), 2, 2) if i else x
            x = jnp.concatenate([x, skips.pop()], -1)
            for q in p["res"]:
                x = res(q, x, t)
            x = mixed(p["mix"], x) if i < 2 else x
        x = conv(nn.silu(group_norm(params["norm"], x)), params["out"]).astype(jnp.float32)
        return ((x - noise) ** 2).mean()
    return trained(losses, params, array(64, 64, 64, 3), array(64), KEY)


@step("POOTB")
def selective_scan():
    # A selective state space (Mamba) by a parallel prefix scan in f32; scanned layers with rematerialization.
    width, inner, states, rank = 768, 1536, 16, 48
    layer = {"norm": array(width), "in": array(width, 2 * inner), "conv": array(4, 1, inner), "x": array(inner, rank + 2 * states),
             "dt": linear_of(rank, inner), "a_log": array(inner, states), "d": array(inner), "out": array(inner, width)}
    params = {"embed": array(50280, width), "layers": stacked(layer, 20), "norm": array(width)}
    def mix(p, x):
        h, gate = jnp.split(rms_norm(p["norm"], x) @ p["in"].astype(BF16), 2, -1)
        h = nn.silu(conv(h, p["conv"], padding=[(3, 0)], groups=inner))
        dt, b, c = jnp.split((h @ p["x"].astype(BF16)).astype(jnp.float32), (rank, rank + states), -1)
        dt = nn.softplus(linear(p["dt"], dt))
        decay = jnp.exp(dt[..., None] * -jnp.exp(p["a_log"]))
        added = (dt * h)[..., None] * b[:, :, None, :]
        state = lax.associative_scan(lambda a, b: (b[0] * a[0], b[0] * a[1] + b[1]), (decay, added), axis=1)[1]
        y = jnp.einsum("blds,bls->bld", state, c) + p["d"] * h
        return x + (y.astype(BF16) * nn.silu(gate)) @ p["out"].astype(BF16)
    def losses(params, tokens):
        x = scanned(mix, params["layers"], params["embed"].astype(BF16)[tokens[:, :-1]])
        return token_loss(rms_norm(params["norm"], x) @ params["embed"].T.astype(BF16), tokens[:, 1:])
    return trained(losses, params, ints(8, 1025))


@step("POOTB")
def lstm_language_model():
    # Four layers of LSTM over time, each a scan of its own.
    width = 1536
    params = {"embed": array(33000, width), "cells": [{"w": array(2 * width, 4 * width), "b": array(4 * width)} for _ in range(4)],
              "out": linear_of(width, 33000)}
    def losses(params, tokens):
        x = params["embed"].astype(BF16)[tokens[:, :-1]].swapaxes(0, 1)
        for p in params["cells"]:
            w, b = p["w"].astype(BF16), p["b"].astype(BF16)
            def move(state, u):
                h, c = state
                i, f, g, o = jnp.split((jnp.concatenate([u, h], -1) @ w + b).astype(jnp.float32), 4, -1)
                c = nn.sigmoid(f + 1) * c + nn.sigmoid(i) * jnp.tanh(g)
                h = (nn.sigmoid(o) * jnp.tanh(c)).astype(BF16)
                return (h, c), h
            zero = jnp.zeros(x.shape[1:])
            x = x + lax.scan(move, (zero.astype(BF16), zero), x)[1]
        return token_loss(linear(params["out"], x.swapaxes(0, 1)), tokens[:, 1:])
    return trained(losses, params, ints(256, 129))


@step("POOTBBBB", "0--0")
def mesh_graph():
    # Messages along the edges of one graph that all examples share, scanned without rematerialization.
    width, nodes, edges = 768, 2048, 12288
    def net_of(inputs):
        return {"a": linear_of(inputs, 2 * width), "b": linear_of(2 * width, width), "norm": norm_of(width)}
    def net(p, x):
        return layer_norm(p["norm"], linear(p["b"], nn.silu(linear(p["a"], x))))
    params = {"in": net_of(64), "edges": array(edges, width), "layers": stacked({"edge": net_of(3 * width), "node": net_of(2 * width)}, 12),
              "out": linear_of(width, 64)}
    def losses(params, now, sources, targets, later):
        x = net(params["in"], now.astype(BF16))
        e = jnp.broadcast_to(params["edges"].astype(BF16), (x.shape[0], edges, width))
        def mix(state, p):
            x, e = state
            e = e + net(p["edge"], jnp.concatenate([e, x[:, sources], x[:, targets]], -1))
            come = jax.vmap(lambda e: jax.ops.segment_sum(e, targets, nodes))(e)
            return (x + net(p["node"], jnp.concatenate([x, come], -1)), e), None
        x = lax.scan(mix, (x, e), params["layers"])[0][0]
        return ((linear(params["out"], x).astype(jnp.float32) + now - later) ** 2).mean()
    return trained(losses, params, array(8, nodes, 64), ints(edges), ints(edges), array(8, nodes, 64))


@step("FPOOTB")
def adapted_decoder():
    # Adapters of all projections of a frozen bf16 decoder, unrolled; activations are kept.
    width, heads, layers, rank = 1024, 16, 6, 32
    frozen = cast({"embed": array(32000, width), "layers": [llama_of(width, heads, 8, 2816) for _ in range(layers)], "norm": array(width),
                   "out": array(width, 32000)}, BF16)
    matrices = [name for name, p in frozen["layers"][0].items() if len(p.shape) == 2]
    adapters = [{n: {"a": array(p[n].shape[0], rank), "b": array(rank, p[n].shape[1])} for n in matrices} for p in frozen["layers"]]
    def train(frozen, adapters, m, v, count, tokens):
        def losses(adapters):
            x = frozen["embed"][tokens[:, :-1]]
            for p, a in zip(frozen["layers"], adapters):
                x = llama(p | {n: p[n] + 2 * (a[n]["a"] @ a[n]["b"]).astype(BF16) for n in matrices}, x, heads, 8)
            return token_loss(rms_norm(frozen["norm"], x) @ frozen["out"], tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(adapters)
        return *adamw(adapters, m, v, count, grads), loss
    return train, (frozen, adapters, adapters, adapters, ints(), ints(16, 513))


@step("FMMBs", "0")
def scanned_decode():
    # One token for each of 128 texts; the caches of all layers are one stack, which a scan updates.
    width, heads, groups, layers, most = 2048, 16, 4, 16, 1024
    size = width // heads
    params = cast({"embed": array(32000, width), "layers": stacked(llama_of(width, heads, groups, 5632), layers), "norm": array(width)}, BF16)
    cache = array(layers, 128, most, groups, size, dtype=BF16)
    def decode(params, keys, values, tokens, at):
        def mix(x, of):
            p, k_, v_ = of
            h = rms_norm(p["norm1"], x)
            split = lambda a, n: a.reshape(a.shape[0], 1, n, size)
            q, k, v = split(h @ p["q"], heads), split(h @ p["k"], groups), split(h @ p["v"], groups)
            k_ = lax.dynamic_update_slice(k_, k, (0, at, 0, 0))
            v_ = lax.dynamic_update_slice(v_, v, (0, at, 0, 0))
            q = q.reshape(q.shape[0], groups, heads // groups, size)
            scores = jnp.einsum("bghf,bkgf->bghk", q, k_).astype(jnp.float32) * size ** -0.5
            y = jnp.einsum("bghk,bkgf->bghf", nn.softmax(jnp.where(jnp.arange(most) <= at, scores, -1e9)).astype(BF16), v_)
            x = x + y.reshape(x.shape) @ p["o"]
            h = rms_norm(p["norm2"], x)
            return x + (nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"], (k_, v_)
        x, (keys, values) = lax.scan(mix, params["embed"][tokens], (params["layers"], keys, values))
        return keys, values, (rms_norm(params["norm"], x) @ params["embed"].T).argmax(-1), at + 1
    return decode, (params, cache, cache, ints(128), ints())


@step("POOTBB")
def vision_transformer():
    # ViT of 0.3 B parameters, scanned without rematerialization, mean of tokens.
    width, heads = 1024, 16
    params = {"in": linear_of(768, width), "places": array(196, width), "layers": stacked(block_of(width), 24), "norm": norm_of(width),
              "out": linear_of(width, 1000)}
    def losses(params, images, labels):
        x = linear(params["in"], patches(images, 16).astype(BF16)) + params["places"].astype(BF16)
        x = scanned(lambda p, x: block(p, x, heads), params["layers"], x, False)
        return token_loss(linear(params["out"], layer_norm(params["norm"], x).mean(1)), labels)
    return trained(losses, params, array(64, 224, 224, 3), ints(64))


@step("POOTBB")
def image_text_pairs():
    # Two towers with a contrastive loss over the global batch, scanned with rematerialization.
    width, heads = 768, 12
    params = {"in": linear_of(768, width), "places": array(196, width), "image": stacked(block_of(width), 12), "embed": array(49408, width),
              "text_places": array(77, width), "text": stacked(block_of(width), 12), "a": array(width, 512), "b": array(width, 512)}
    def losses(params, images, tokens):
        x = linear(params["in"], patches(images, 16).astype(BF16)) + params["places"].astype(BF16)
        x = scanned(lambda p, x: block(p, x, heads), params["image"], x).mean(1)
        y = params["embed"].astype(BF16)[tokens] + params["text_places"].astype(BF16)
        mask = causal(77)
        y = scanned(lambda p, x: block(p, x, heads, mask), params["text"], y)[:, -1]
        x, y = unit((x @ params["a"].astype(BF16)).astype(jnp.float32)), unit((y @ params["b"].astype(BF16)).astype(jnp.float32))
        scores = 20 * x @ y.T
        same = jnp.arange(x.shape[0])
        return token_loss(scores, same) + token_loss(scores.T, same)
    return trained(losses, params, array(256, 224, 224, 3), ints(256, 77))


if __name__ == "__main__":
    show(*sys.argv[1:])
