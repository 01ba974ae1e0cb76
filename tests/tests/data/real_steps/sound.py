"""Real steps on sound: CTC, speech to text, and speech without text."""
import jax
import jax.numpy as jnp
from jax import lax, nn
from real_steps.layers import (
    BF16, block, block_of, causal, conv, layer_norm, linear, linear_of, norm_of, scanned, stacked, token_loss, unit,
)
from real_steps.optimizers import adamw, clipped, mixed_adamw
from steps import KEY, array, cast, ints, step


def ctc_loss(log_probs, labels, frames, lengths):
    """-log p(labels) of each example. `log_probs` are [batch, frame, symbol], symbol 0 the blank."""
    batch, places = labels.shape[0], 2 * labels.shape[1] + 1
    states = jnp.zeros((batch, places), jnp.int32).at[:, 1::2].set(labels)
    may_skip = (states != 0) & (states != jnp.pad(states, ((0, 0), (2, 0)))[:, :places])
    emitted = jnp.take_along_axis(log_probs, states[:, None, :], -1).swapaxes(0, 1)
    behind = lambda alpha, by: jnp.pad(alpha, ((0, 0), (by, 0)), constant_values=-1e9)[:, :places]
    def move(alpha, at):
        emit, time = at
        paths = jnp.stack([alpha, behind(alpha, 1), jnp.where(may_skip, behind(alpha, 2), -1e9)])
        return jnp.where((time < frames)[:, None], nn.logsumexp(paths, 0) + emit, alpha), None
    first = jnp.where(jnp.arange(places) < 2, emitted[0], -1e9)
    alpha, _ = lax.scan(move, first, (emitted[1:], jnp.arange(1, log_probs.shape[1])))
    ends = jnp.stack([2 * lengths, 2 * lengths - 1], -1)
    return -nn.logsumexp(jnp.take_along_axis(alpha, ends, -1), -1)


@step("POOTBBBB")
def ctc():
    width, heads, symbols = 768, 12, 1024
    params = {
        "convs": [{"w": array(3, 3, 1, 256), "b": array(256)}, {"w": array(3, 3, 256, 256), "b": array(256)}],
        "in": linear_of(20 * 256, width), "places": array(400, width),
        "blocks": stacked(block_of(width) | {"depth": array(31, 1, width), "mix": linear_of(width, width), "norm3": norm_of(width)}, 12),
        "norm": norm_of(width), "out": linear_of(width, symbols),
    }
    def layer(p, x):
        x = block(p, x, heads)
        mixed = conv(layer_norm(p["norm3"], x), p["depth"], groups=width)
        return x + linear(p["mix"], nn.silu(mixed))
    def train(params, m, v, count, sound, frames, labels, lengths):
        def losses(params):
            x = sound.astype(BF16)[..., None]
            for p in params["convs"]:
                x = nn.relu(conv(x, p["w"], 2) + p["b"].astype(BF16))
            x = linear(params["in"], x.reshape(*x.shape[:2], -1)) + params["places"].astype(BF16)
            x = scanned(layer, params["blocks"], x)
            logits = linear(params["out"], layer_norm(params["norm"], x)).astype(jnp.float32)
            return (ctc_loss(nn.log_softmax(logits), labels, frames // 4, lengths) / lengths).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *adamw(params, m, v, count, clipped(grads)), loss
    return train, (params, params, params, ints(), array(128, 1600, 80), ints(128), ints(128, 100), ints(128))


@step("POOOTBB")
def whisper():
    width, heads, words = 768, 12, 51865
    masters = {
        "conv1": {"w": array(3, 80, width), "b": array(width)}, "conv2": {"w": array(3, width, width), "b": array(width)},
        "encoder": [block_of(width) for _ in range(12)], "norm": norm_of(width),
        "embed": array(words, width), "places": array(448, width),
        "decoder": [block_of(width, crossed=width) for _ in range(12)], "last": norm_of(width),
    }
    params = cast(masters, BF16)
    def train(params, masters, m, v, count, sound, tokens):
        def losses(params):
            x = sound.astype(BF16)
            x = nn.gelu(conv(x, params["conv1"]["w"]) + params["conv1"]["b"])
            x = nn.gelu(conv(x, params["conv2"]["w"], 2) + params["conv2"]["b"])
            turns = jnp.arange(x.shape[1])[:, None] * jnp.exp(-jnp.arange(width // 2) * (9.2 / (width // 2 - 1)))
            x = x + jnp.concatenate([jnp.sin(turns), jnp.cos(turns)], -1).astype(BF16)
            for p in params["encoder"]:
                x = jax.checkpoint(lambda p, x: block(p, x, heads))(p, x)
            heard = layer_norm(params["norm"], x)
            x, mask = params["embed"][tokens[:, :-1]] + params["places"], causal(448)
            for p in params["decoder"]:
                x = jax.checkpoint(lambda p, x, heard: block(p, x, heads, mask, heard))(p, x, heard)
            return token_loss(layer_norm(params["last"], x) @ params["embed"].T, tokens[:, 1:])
        loss, grads = jax.value_and_grad(losses)(params)
        return *mixed_adamw(params, masters, m, v, count, grads), loss
    return train, (params, masters, masters, masters, ints(), array(64, 3000, 80), ints(64, 449))


@step("POOTBK")
def wav2vec():
    width, heads, groups, codes, frames, negatives = 768, 12, 2, 320, 499, 100
    kernels, strides = (10, 3, 3, 3, 3, 2, 2), (5, 2, 2, 2, 2, 2, 2)
    params = {
        "convs": [{"w": array(k, 1 if i == 0 else 512, 512), "norm": norm_of(512)} for i, k in enumerate(kernels)],
        "in": linear_of(512, width), "mask": array(width), "place": array(128, width // 16, width), "norm": norm_of(width),
        "blocks": stacked(block_of(width), 12), "out": linear_of(width, 256),
        "choice": linear_of(512, groups * codes), "codes": array(groups, codes, 128), "target": linear_of(groups * 128, 256),
    }
    def train(params, m, v, count, sound, key):
        hide, choose, others = jax.random.split(key, 3)
        starts = jax.random.bernoulli(hide, 0.065, (sound.shape[0], frames))
        hidden = sum(jnp.pad(starts, ((0, 0), (i, 0)))[:, :frames] for i in range(10)) > 0
        def losses(params):
            z = ((sound - sound.mean(1, keepdims=True)) * lax.rsqrt(sound.var(1, keepdims=True) + 1e-5)).astype(BF16)[..., None]
            for p, stride in zip(params["convs"], strides):
                z = jax.checkpoint(lambda p, z, s=stride: nn.gelu(layer_norm(p["norm"], conv(z, p["w"], s, "VALID"))))(p, z)
            # What is to be told from others: codes, chosen with noise, as if by their probabilities.
            scores = linear(params["choice"], z).astype(jnp.float32).reshape(*z.shape[:2], groups, codes)
            soft = nn.softmax((scores + jax.random.gumbel(choose, scores.shape)) / 2.0)
            hard = nn.one_hot(soft.argmax(-1), codes) + soft - lax.stop_gradient(soft)
            target = jnp.einsum("btgc,gcd->btgd", hard, params["codes"]).reshape(*z.shape[:2], -1)
            target = unit(linear(params["target"], target))
            x = jnp.where(hidden[..., None], params["mask"].astype(BF16), linear(params["in"], z))
            x = layer_norm(params["norm"], x + nn.gelu(conv(x, params["place"], groups=16)))
            x = scanned(lambda p, x: block(p, x, heads), params["blocks"], x)
            x = unit(linear(params["out"], x).astype(jnp.float32))
            at = jax.random.randint(others, (sound.shape[0], frames, negatives), 0, frames)
            wrong = jax.vmap(lambda target, at: target[at])(target, at)
            logits = jnp.concatenate([(x * target).sum(-1)[..., None], jnp.einsum("btd,btnd->btn", x, wrong)], -1) / 0.1
            told = ((nn.logsumexp(logits, -1) - logits[..., 0]) * hidden).sum() / hidden.sum()
            used = nn.softmax(scores).mean((0, 1))
            return told - 0.1 * jnp.exp(-(used * jnp.log(used + 1e-7)).sum(-1)).mean() / codes
        loss, grads = jax.value_and_grad(losses)(params)
        return *adamw(params, m, v, count, grads), loss
    return train, (params, params, params, ints(), array(64, 160000), KEY)
