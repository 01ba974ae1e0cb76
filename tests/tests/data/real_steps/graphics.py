"""Real steps that make images and scenes."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import nn
from real_steps.layers import BF16, attend, conv, group_norm, linear, linear_of, norm_of
from real_steps.optimizers import adamw, clipped
from steps import KEY, adam, array, average, ints, mlp, mlp_of, step


@step("POOTBBBK")
def nerf():
    # 16 levels of hashed grids (134 M numbers), each looked up at eight corners; colors are summed along rays.
    levels, rows, samples = 16, 2 ** 22, 128
    sizes = [int(16 * (2048 / 16) ** (i / 15)) for i in range(levels)]
    params = {"grid": array(levels, rows, 2), "density": mlp_of(2 * levels, 64, 16), "color": mlp_of(16 + 9, 64, 64, 3)}
    primes = (1, 2654435761, 805459861)
    def encoded(grid, at):
        found = []
        for level, size in enumerate(sizes):
            scaled = at * size
            low = jnp.floor(scaled)
            part, total = scaled - low, 0
            for corner in np.ndindex(2, 2, 2):
                cell = low.astype(jnp.uint32) + jnp.array(corner, jnp.uint32)
                row = (cell[..., 0] * primes[0]) ^ (cell[..., 1] * np.uint32(primes[1])) ^ (cell[..., 2] * np.uint32(primes[2]))
                weight = jnp.where(jnp.array(corner) == 1, part, 1 - part).prod(-1)
                total = total + weight[..., None] * grid[level, (row % rows).astype(jnp.int32)]
            found.append(total)
        return jnp.concatenate(found, -1)
    def harmonics(d):
        x, y, z = d[..., 0], d[..., 1], d[..., 2]
        return jnp.stack([jnp.ones_like(x), x, y, z, x * y, y * z, x * z, x * x - y * y, 3 * z * z - 1], -1)
    def train(params, m, v, count, origins, ways, colors, key):
        edges = jnp.linspace(0.05, 1.7, samples + 1)
        shift = jax.random.uniform(jax.random.fold_in(key, count), (origins.shape[0], samples))
        far = edges[:-1] + shift * (edges[1] - edges[0])
        at = jnp.clip(origins[:, None] + far[..., None] * ways[:, None], 0, 1)
        def losses(params):
            h = mlp(params["density"], encoded(params["grid"], at))
            seen = jnp.broadcast_to(harmonics(ways)[:, None], (*h.shape[:2], 9))
            color = nn.sigmoid(mlp(params["color"], jnp.concatenate([h, seen], -1)))
            lengths = jnp.diff(far, axis=-1, append=far[:, -1:] + 0.01)
            dense = jnp.exp(h[..., 0]) * lengths
            through = jnp.exp(-(jnp.cumsum(dense, -1) - dense))
            weights = through * (1 - jnp.exp(-dense))
            drawn = (weights[..., None] * color).sum(1) + 1 - weights.sum(1, keepdims=True)
            return ((drawn - colors) ** 2).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        return *adam(params, m, v, count, grads, 1e-2), loss
    return train, (params, params, params, ints(), array(8192, 3), array(8192, 3), array(8192, 3), KEY)


@step("POOOTkBBF")
def unet_diffusion():
    # Noise of images of 64 x 64 is told by a U-Net, with attention at 16 and 8; parameters are averaged.
    width, inputs = 192, 4 * 192
    widths, counts = (192, 384, 576, 768), 3
    def res_of(a, b):
        p = {"n1": norm_of(a), "w1": array(3, 3, a, b), "time": linear_of(inputs, 2 * b), "n2": norm_of(b), "w2": array(3, 3, b, b)}
        return p | ({"short": array(1, 1, a, b)} if a != b else {})
    def look_of(w):
        return {"norm": norm_of(w), "qkv": linear_of(w, 3 * w), "o": linear_of(w, w)}
    kept, now, down, up = [width], width, [], []
    for i, w in enumerate(widths):
        stage = []
        for _ in range(counts):
            stage.append({"res": res_of(now, w)} | ({"look": look_of(w)} if i >= 2 else {}))
            now = w
            kept.append(now)
        if i < 3:
            kept.append(now)
        down.append({"blocks": stage} | ({"pool": array(3, 3, now, now)} if i < 3 else {}))
    for i, w in reversed(list(enumerate(widths))):
        stage = []
        for _ in range(counts + 1):
            stage.append({"res": res_of(now + kept.pop(), w)} | ({"look": look_of(w)} if i >= 2 else {}))
            now = w
        up.append({"blocks": stage} | ({"grow": array(3, 3, w, w)} if i > 0 else {}))
    params = {
        "in": array(3, 3, 3, width), "time": mlp_of(width, inputs, inputs), "class": array(1000, inputs), "down": down,
        "middle": [{"res": res_of(768, 768), "look": look_of(768)}, {"res": res_of(768, 768)}], "up": up, "norm": norm_of(width),
        "out": array(3, 3, width, 3),
    }
    def res(p, x, time):
        h = conv(nn.silu(group_norm(p["n1"], x)), p["w1"])
        scale, shift = jnp.split(linear(p["time"], nn.silu(time))[:, None, None], 2, -1)
        h = group_norm(p["n2"], h) * (1 + scale) + shift
        return (conv(x, p["short"]) if "short" in p else x) + conv(nn.silu(h), p["w2"])
    def look(p, x):
        h = linear(p["qkv"], group_norm(p["norm"], x)).reshape(x.shape[0], -1, 3, x.shape[-1] // 64, 64)
        return x + linear(p["o"], attend(h[:, :, 0], h[:, :, 1], h[:, :, 2]).reshape(x.shape))
    @jax.checkpoint
    def piece(p, x, time):
        x = res(p["res"], x, time)
        return look(p["look"], x) if "look" in p else x
    def tell(params, x, time, labels):
        turns = time[:, None] * jnp.exp(-jnp.arange(width // 2) * (9.2 / (width // 2)))
        time = mlp(params["time"], jnp.concatenate([jnp.sin(turns), jnp.cos(turns)], -1), nn.silu)
        time = (time + params["class"][labels]).astype(BF16)
        x = conv(x.astype(BF16), params["in"])
        kept = [x]
        for stage in params["down"]:
            for p in stage["blocks"]:
                x = piece(p, x, time)
                kept.append(x)
            if "pool" in stage:
                x = conv(x, stage["pool"], 2)
                kept.append(x)
        for p in params["middle"]:
            x = piece(p, x, time)
        for stage in params["up"]:
            for p in stage["blocks"]:
                x = piece(p, jnp.concatenate([x, kept.pop()], -1), time)
            if "grow" in stage:
                b, h, w, c = x.shape
                x = conv(jax.image.resize(x, (b, 2 * h, 2 * w, c), "nearest"), stage["grow"])
        return conv(nn.silu(group_norm(params["norm"], x)), params["out"]).astype(jnp.float32)
    def train(params, ema, m, v, count, key, images, labels, alphas):
        key, at, noise = jax.random.split(key, 3)
        time = jax.random.randint(at, labels.shape, 0, alphas.shape[0])
        noise, alpha = jax.random.normal(noise, images.shape), alphas[time][:, None, None, None]
        noised = jnp.sqrt(alpha) * images + jnp.sqrt(1 - alpha) * noise
        def losses(params):
            return ((tell(params, noised, time.astype(jnp.float32), labels) - noise) ** 2).mean()
        loss, grads = jax.value_and_grad(losses)(params)
        params, m, v, count = adamw(params, m, v, count, clipped(grads), 1e-4)
        return params, average(ema, params, 0.9999), m, v, count, key, loss
    return train, (params, params, params, params, ints(), KEY, array(128, 64, 64, 3), ints(128), array(1000))
