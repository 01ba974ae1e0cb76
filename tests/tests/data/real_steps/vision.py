"""Real steps on images."""
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax, nn
from real_steps.layers import (
    BF16, attention, attention_of, block, block_of, causal, conv, group_norm, layer_norm, linear, linear_of, narrow, norm_of, patches,
    scanned, stacked, token_loss, unit,
)
from real_steps.optimizers import adamw, clipped, lamb, lion
from steps import KEY, array, average, cross_entropy, ints, sgd, step, tree_map


@step("POOTBB")
def perceiver():
    width, side, bands = 1024, 224, 64
    seen = 3 + 2 * (2 * bands + 1)
    params = {
        "latents": array(512, width), "seen_norm": norm_of(seen), "norm": norm_of(width), "cross": attention_of(width, seen),
        "up": linear_of(width, width), "down": linear_of(width, width), "blocks": stacked(block_of(width, width), 6),
        "last": norm_of(width), "out": linear_of(width, 1000),
    }
    def train(params, m, v, count, images, labels):
        line = jnp.linspace(-1, 1, side)
        places = jnp.stack(jnp.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)
        turns = (places[..., None] * jnp.linspace(1, side / 2, bands) * jnp.pi).reshape(side * side, -1)
        places = jnp.concatenate([places, jnp.sin(turns), jnp.cos(turns)], -1)
        def look(params, x, images):
            flat = images.reshape(images.shape[0], side * side, 3).astype(BF16)
            pixels = jnp.concatenate([flat, jnp.broadcast_to(places.astype(BF16), (*flat.shape[:2], places.shape[-1]))], -1)
            x = x + attention(params["cross"], layer_norm(params["norm"], x), layer_norm(params["seen_norm"], pixels), 1)
            x = x + linear(params["down"], nn.gelu(linear(params["up"], x)))
            return scanned(lambda p, x: block(p, x, 8), params["blocks"], x)
        def losses(params):
            x = jnp.broadcast_to(params["latents"].astype(BF16), (images.shape[0], 512, width))
            # The same weights look eight times.
            x = lax.scan(lambda x, _: (jax.checkpoint(look)(params, x, images), None), x, None, length=8)[0]
            return token_loss(linear(params["out"], layer_norm(params["last"], x.mean(1))), labels)
        loss, grads = jax.value_and_grad(losses)(params)
        return *lamb(params, m, v, count, grads), loss
    return train, (params, params, params, ints(), array(64, side, side, 3), ints(64))


@step("POOTBB")
def clip():
    width, words = 768, 49408
    params = {
        "patch": linear_of(16 * 16 * 3, width), "class": array(width), "places": array(197, width), "image": stacked(block_of(width), 12),
        "image_norm": norm_of(width), "image_out": array(width, 512),
        "embed": array(words, 512), "text_places": array(77, 512), "text": stacked(block_of(512), 12), "text_norm": norm_of(512),
        "text_out": array(512, 512), "heat": array(),
    }
    def train(params, m, v, count, images, tokens):
        def see(params):
            x = linear(params["patch"], patches(images.astype(BF16), 16))
            first = jnp.broadcast_to(params["class"].astype(BF16), (x.shape[0], 1, width))
            x = jnp.concatenate([first, x], 1) + params["places"].astype(BF16)
            x = scanned(lambda p, x: block(p, x, 12), params["image"], x)
            return unit(layer_norm(params["image_norm"], x[:, 0]).astype(jnp.float32) @ params["image_out"])
        def read(params):
            x, mask = (params["embed"][tokens] + params["text_places"]).astype(BF16), causal(77)
            x = scanned(lambda p, x: block(p, x, 8, mask), params["text"], x)
            x = layer_norm(params["text_norm"], x)
            # The end of a text has the greatest token.
            last = jnp.take_along_axis(x, tokens.argmax(-1)[:, None, None], 1)[:, 0]
            return unit(last.astype(jnp.float32) @ params["text_out"])
        def losses(params):
            logits = jnp.exp(params["heat"]) * see(params) @ read(params).T
            labels = jnp.arange(logits.shape[0])
            return (cross_entropy(logits, labels) + cross_entropy(logits.T, labels)) / 2
        loss, grads = jax.value_and_grad(losses)(params)
        params, m, v, count = adamw(params, m, v, count, grads, decay=0.2)
        params["heat"] = jnp.minimum(params["heat"], jnp.log(100.0))
        return params, m, v, count, loss
    return train, (params, params, params, ints(), array(1024, 224, 224, 3), ints(1024, 77))


@step("PMOBBS")
def resnet50():
    # Weights are norms of channels times directions (weight norm), and batch norm is over the whole batch.
    def conv_of(size, inputs, outputs):
        return {"v": array(size, size, inputs, outputs), "g": array(outputs), "scale": array(outputs), "shift": array(outputs)}
    stages, params, inputs = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)), {"stem": conv_of(7, 3, 64), "blocks": []}, 64
    for count, width, _ in stages:
        for i in range(count):
            p = {"a": conv_of(1, inputs, width), "b": conv_of(3, width, width), "c": conv_of(1, width, 4 * width)}
            params["blocks"].append(p | ({"short": conv_of(1, inputs, 4 * width)} if i == 0 else {}))
            inputs = 4 * width
    params["out"] = linear_of(2048, 1000)
    is_conv = lambda p: isinstance(p, dict) and "v" in p
    stats = tree_map(lambda p: {"mean": p["g"], "var": p["g"]}, {k: params[k] for k in ("stem", "blocks")}, is_leaf=is_conv)
    strides = [stride if i == 0 else 1 for count, _, stride in stages for i in range(count)]
    def layer(p, stats, x, stride=1):
        kernel = p["g"] * p["v"] * lax.rsqrt((p["v"] ** 2).sum((0, 1, 2)) + 1e-12)
        x = conv(x, kernel, stride)
        real = x.astype(jnp.float32)
        mean, var = real.mean((0, 1, 2)), real.var((0, 1, 2))
        x = ((real - mean) * lax.rsqrt(var + 1e-5) * p["scale"] + p["shift"]).astype(BF16)
        return x, average(stats, {"mean": mean, "var": var}, 0.9)
    def train(params, stats, momentum, images, labels, rate):
        def losses(params):
            x, stem = layer(params["stem"], stats["stem"], images.astype(BF16), 2)
            x = lax.reduce_window(nn.relu(x), -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
            new = []
            for p, s, stride in zip(params["blocks"], stats["blocks"], strides):
                h, a = layer(p["a"], s["a"], x)
                h, b = layer(p["b"], s["b"], nn.relu(h), stride)
                h, c = layer(p["c"], s["c"], nn.relu(h))
                new.append({"a": a, "b": b, "c": c})
                if "short" in p:
                    x, new[-1]["short"] = layer(p["short"], s["short"], x, stride)
                x = nn.relu(x + h)
            logits = linear(params["out"], x.astype(jnp.float32).mean((1, 2)))
            smooth = 0.9 * nn.one_hot(labels, 1000) + 0.1 / 1000
            return -(smooth * nn.log_softmax(logits)).sum(-1).mean(), {"stem": stem, "blocks": new}
        (loss, stats), grads = jax.value_and_grad(losses, has_aux=True)(params)
        params, momentum = sgd(params, momentum, grads, rate)
        return params, stats, momentum, loss
    return train, (params, stats, params, array(512, 224, 224, 3), ints(512), array())


@step("POBBK")
def vit_large():
    # Half of the patches of an image are dropped.
    width, kept = 1024, 98
    params = {
        "patch": linear_of(16 * 16 * 3, width), "places": array(196, width), "blocks": stacked(block_of(width), 24), "norm": norm_of(width),
        "out": linear_of(width, 1000),
    }
    def train(params, m, images, labels, key):
        order = jnp.argsort(jax.random.uniform(key, (images.shape[0], 196)), -1)[:, :kept]
        def losses(params):
            x = linear(params["patch"], patches(images.astype(BF16) / 255, 16)) + params["places"].astype(BF16)
            x = jnp.take_along_axis(x, order[..., None], 1)
            x = scanned(lambda p, x: block(p, x, 16), params["blocks"], x, again=False)
            return token_loss(linear(params["out"], layer_norm(params["norm"], x.mean(1))), labels)
        loss, grads = jax.value_and_grad(losses)(params)
        return *lion(params, m, grads), loss
    return train, (params, params, array(256, 224, 224, 3, dtype=jnp.uint8), ints(256), KEY)


@step("POOTBK")
def masked_autoencoder():
    # A quarter of the patches, shuffled, goes through the encoder; the decoder puts the others where they were.
    width, narrower, kept = 1024, 512, 49
    params = {
        "patch": linear_of(768, width), "places": array(196, width), "blocks": [block_of(width) for _ in range(24)], "norm": norm_of(width),
        "in": linear_of(width, narrower), "mask": array(narrower), "decoder_places": array(196, narrower),
        "decoder": [block_of(narrower) for _ in range(8)], "last": norm_of(narrower), "out": linear_of(narrower, 768),
    }
    def train(params, m, v, count, images, key):
        order = jnp.argsort(jax.random.uniform(key, (images.shape[0], 196)), -1)
        back = jnp.argsort(order, -1)
        pixels = patches(images, 16)
        target = (pixels - pixels.mean(-1, keepdims=True)) * lax.rsqrt(pixels.var(-1, keepdims=True) + 1e-6)
        def losses(params):
            p = narrow(params)
            x = linear(p["patch"], pixels.astype(BF16)) + p["places"]
            x = jnp.take_along_axis(x, order[:, :kept, None], 1)
            for layer in p["blocks"]:
                x = block(layer, x, 16)
            x = linear(p["in"], layer_norm(p["norm"], x))
            hidden = jnp.broadcast_to(p["mask"], (x.shape[0], 196 - kept, narrower))
            x = jnp.take_along_axis(jnp.concatenate([x, hidden], 1), back[..., None], 1) + p["decoder_places"]
            for layer in p["decoder"]:
                x = block(layer, x, 16)
            out = linear(p["out"], layer_norm(p["last"], x)).astype(jnp.float32)
            is_hidden = back >= kept
            return (((out - target) ** 2).mean(-1) * is_hidden).sum() / is_hidden.sum()
        loss, grads = jax.value_and_grad(losses)(params)
        return *adamw(params, m, v, count, grads), loss
    return train, (params, params, params, ints(), array(512, 224, 224, 3), KEY)


@step("POOTBB")
def swin():
    # Windows of 7 x 7, rolled by half of one in every second block.
    def block_with_places(width, heads):
        return block_of(width) | {"table": array(13 * 13, heads)}
    widths, heads, depths, side = (128, 256, 512, 1024), (4, 8, 16, 32), (2, 2, 18, 2), 7
    params = {
        "patch": linear_of(48, 128), "norm": norm_of(128),
        "stages": [[block_with_places(w, h) for _ in range(n)] for w, h, n in zip(widths, heads, depths)],
        "merges": [{"norm": norm_of(4 * w), "w": array(4 * w, 2 * w)} for w in widths[:-1]],
        "last": norm_of(1024), "out": linear_of(1024, 1000),
    }
    def apart(at):
        return at[:, None] - at + side - 1
    def windows(x):
        b, h, w, c = x.shape
        return x.reshape(b, h // side, side, w // side, side, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, -1, side * side, c)
    def layer(p, x, heads, roll):
        b, h, w, c = x.shape
        place = jnp.arange(side * side)
        bias = p["table"][apart(place // side) * 13 + apart(place % side)].transpose(2, 0, 1)[None]
        if roll:
            edge = lambda n: jnp.digitize(jnp.arange(n), jnp.array([n - side, n - roll]))
            region = windows((edge(h)[:, None] * 3 + edge(w))[None, ..., None])[0, ..., 0]
            bias = bias + jnp.where(region[:, :, None] == region[:, None], 0.0, -100.0)[:, None]
        y = jnp.roll(layer_norm(p["norm1"], x), (-roll, -roll), (1, 2))
        y = windows(y)
        split = lambda a: a.reshape(*a.shape[:3], heads, -1)
        q, k, v = (split(linear(p["attention"][name], y)) for name in "qkv")
        scores = jnp.einsum("bwqhd,bwkhd->bwhqk", q, k).astype(jnp.float32) * (c // heads) ** -0.5 + bias
        y = jnp.einsum("bwhqk,bwkhd->bwqhd", nn.softmax(scores).astype(BF16), v).reshape(b, -1, side * side, c)
        y = linear(p["attention"]["o"], y).reshape(b, h // side, w // side, side, side, c)
        y = y.transpose(0, 1, 3, 2, 4, 5).reshape(x.shape)
        x = x + jnp.roll(y, (roll, roll), (1, 2))
        return x + linear(p["down"], nn.gelu(linear(p["up"], layer_norm(p["norm2"], x))))
    def train(params, m, v, count, images, labels):
        def losses(params):
            x = linear(params["patch"], patches(images.astype(BF16), 4)).reshape(images.shape[0], 56, 56, 128)
            x = layer_norm(params["norm"], x)
            for i, stage in enumerate(params["stages"]):
                for j, p in enumerate(stage):
                    roll = 3 if j % 2 and x.shape[1] > side else 0
                    x = jax.checkpoint(partial(layer, heads=heads[i], roll=roll))(p, x)
                if i < 3:
                    x = jnp.concatenate([x[:, a::2, b::2] for b in (0, 1) for a in (0, 1)], -1)
                    x = layer_norm(params["merges"][i]["norm"], x) @ params["merges"][i]["w"].astype(BF16)
            x = layer_norm(params["last"], x).mean((1, 2))
            return token_loss(linear(params["out"], x), labels)
        loss, grads = jax.value_and_grad(losses)(params)
        return *adamw(params, m, v, count, clipped(grads, 5.0)), loss
    return train, (params, params, params, ints(), array(256, 224, 224, 3), ints(256))


@step("POOOTBB")
def convnext():
    widths, depths = (192, 384, 768, 1536), (3, 3, 27, 3)
    def layer_of(w):
        return {"depth": array(7, 7, 1, w), "norm": norm_of(w), "up": linear_of(w, 4 * w), "down": linear_of(4 * w, w), "scale": array(w)}
    params = {
        "stem": linear_of(48, 192), "stem_norm": norm_of(192), "stages": [stacked(layer_of(w), n) for w, n in zip(widths, depths)],
        "steps": [{"norm": norm_of(w), "w": array(2, 2, w, 2 * w)} for w in widths[:-1]], "norm": norm_of(1536),
        "out": linear_of(1536, 1000),
    }
    def layer(p, x):
        y = layer_norm(p["norm"], conv(x, p["depth"], groups=x.shape[-1]))
        return x + linear(p["down"], nn.gelu(linear(p["up"], y))) * p["scale"].astype(BF16)
    def train(params, ema, m, v, count, images, labels):
        def losses(params):
            x = linear(params["stem"], patches(images.astype(BF16), 4)).reshape(images.shape[0], 56, 56, 192)
            x = layer_norm(params["stem_norm"], x)
            for i, stage in enumerate(params["stages"]):
                if i > 0:
                    x = conv(layer_norm(params["steps"][i - 1]["norm"], x), params["steps"][i - 1]["w"], 2, "VALID")
                x = scanned(layer, stage, x)
            return token_loss(linear(params["out"], layer_norm(params["norm"], x.mean((1, 2)))), labels)
        loss, grads = jax.value_and_grad(losses)(params)
        params, m, v, count = adamw(params, m, v, count, grads)
        return params, average(ema, params, 0.9999), m, v, count, loss
    return train, (params, params, params, params, ints(), array(256, 224, 224, 3), ints(256))


@step("POBB")
def unet_3d():
    # Segments volumes; plain convolutions in f32, group norm, momentum.
    widths = (32, 64, 128, 256, 512)
    def convs_of(a, b):
        return {"w1": array(3, 3, 3, a, b), "n1": norm_of(b), "w2": array(3, 3, 3, b, b), "n2": norm_of(b)}
    params = {
        "down": [convs_of(a, b) for a, b in zip((4, *widths), widths)],
        "up": [{"w": array(2, 2, 2, b, a), **convs_of(2 * a, a)} for a, b in zip(widths, widths[1:])], "out": array(1, 1, 1, 32, 4),
    }
    def convs(p, x):
        x = nn.leaky_relu(group_norm(p["n1"], conv(x, p["w1"]), 8))
        return nn.leaky_relu(group_norm(p["n2"], conv(x, p["w2"]), 8))
    def train(params, momentum, volumes, labels):
        def losses(params):
            x, kept = volumes, []
            for i, p in enumerate(params["down"]):
                if i > 0:
                    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 2, 1), (1, 2, 2, 2, 1), "VALID")
                x = convs(p, x)
                kept.append(x)
            for p, side in zip(params["up"][::-1], kept[-2::-1]):
                x = lax.conv_transpose(x, p["w"], (2, 2, 2), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))
                x = convs(p, jnp.concatenate([x, side], -1))
            shares = nn.softmax(conv(x, params["out"]))
            truth = nn.one_hot(labels, 4)
            dice = 2 * (shares * truth).sum((1, 2, 3)) / ((shares + truth).sum((1, 2, 3)) + 1)
            return 1 - dice.mean() - (truth * jnp.log(shares + 1e-7)).sum(-1).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *sgd(params, momentum, grads), loss
    return train, (params, params, array(8, 96, 96, 96, 4), ints(8, 96, 96, 96))
