"""Training steps in the form that Flax and Optax give them, sharded as data, tensor and fully sharded parallelism do."""

import jax
import jax.numpy as jnp
from catalog import builder, constrain, f32, i32, mesh, spec
from flaxless import adamw, attention, clipped, conv2d, cross_entropy, dense, layer_norm, rms_norm, sgd
from jax import lax
from jax.sharding import NamedSharding


def _step(f, tree, batch, specs, batch_spec="data", donate=True):
    """Lowers `f(state, batch)` with a sharding for each leaf: `specs` maps a leaf's path and shape to one."""
    m = mesh()

    def place(path, leaf):
        text = specs(jax.tree_util.keystr(path), leaf.shape)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(m, spec(text)))

    batch = jax.tree.map(lambda b: jax.ShapeDtypeStruct(b.shape, b.dtype, sharding=NamedSharding(m, spec(batch_spec))), batch)
    state = jax.tree_util.tree_map_with_path(place, tree)
    with jax.set_mesh(m):
        return jax.jit(f, donate_argnums=(0,) if donate else ()).lower(state, batch)


def _largest(axes, keep=()):
    """Splits the largest dimension, as ZeRO and FSDP do."""

    def specs(path, shape):
        if not shape or max(shape) < 8:
            return ""
        dims = ["-"] * len(shape)
        dims[shape.index(max(shape))] = axes
        return ",".join(dims)

    return specs


def _layer(n, m):
    return {"kernel": f32(n, m), "bias": f32(m)}


def _mlp():
    return {"first": _layer(16, 32), "second": _layer(32, 8)}


def _mlp_loss(params, batch):
    x, y = batch
    return cross_entropy(dense(params["second"], jax.nn.relu(dense(params["first"], x))), y)


MLP_BATCH = (f32(16, 16), i32(16))


def _adam_state(params):
    return params, (i32(), params, params)


def _adam_step(loss):
    def step(state, batch):
        params, opt = state
        value, grads = jax.value_and_grad(loss)(params, batch)
        return adamw(grads, params, opt), value

    return step


@builder()
def mlp_with_momentum():
    def step(state, batch):
        params, momentum = state
        value, grads = jax.value_and_grad(_mlp_loss)(params, batch)
        return sgd(grads, params, momentum), value

    return _step(step, (_mlp(), _mlp()), MLP_BATCH, lambda path, shape: "")


@builder()
def mlp_with_adamw_tensor_parallel():
    def specs(path, shape):
        if "first" in path:
            return "-,model" if len(shape) == 2 else "model"
        return "model,-" if len(shape) == 2 else ""

    return _step(_adam_step(_mlp_loss), _adam_state(_mlp()), MLP_BATCH, specs)


@builder()
def mlp_fully_sharded():
    return _step(_adam_step(_mlp_loss), _adam_state(_mlp()), MLP_BATCH, _largest("data"))


@builder()
def mlp_state_alone_sharded():
    split = _largest("data")
    return _step(_adam_step(_mlp_loss), _adam_state(_mlp()), MLP_BATCH, lambda p, s: split(p, s) if "[1]" in p[:6] else "")


@builder()
def mlp_with_clipped_gradients():
    def step(state, batch):
        params, opt = state
        value, grads = jax.value_and_grad(_mlp_loss)(params, batch)
        grads, norm = clipped(grads)
        return adamw(grads, params, opt), value, norm

    return _step(step, _adam_state(_mlp()), MLP_BATCH, _largest("data"))


@builder()
def accumulated_gradients():
    def step(state, batch):
        params, momentum = state
        parts = jax.tree.map(lambda b: b.reshape(4, -1, *b.shape[1:]), batch)

        def add(total, part):
            return jax.tree.map(jnp.add, total, jax.grad(_mlp_loss)(params, part)), None

        grads = lax.scan(add, jax.tree.map(jnp.zeros_like, params), parts)[0]
        return sgd(jax.tree.map(lambda g: g / 4, grads), params, momentum)

    return _step(step, (_mlp(), _mlp()), MLP_BATCH, lambda path, shape: "")


def _block():
    norm = {"scale": f32(16), "bias": f32(16)}
    return {
        "norm1": norm,
        "norm2": norm,
        "qkv": _layer(16, 48),
        "out": _layer(16, 16),
        "up": _layer(16, 64),
        "down": _layer(64, 16),
    }


def _transformer(layers):
    return {"embed": f32(32, 16), "layers": [_block() for _ in range(layers)], "head": _layer(16, 32)}


def _block_forward(p, x):
    q, k, v = (t.reshape(*x.shape[:2], 4, 4) for t in jnp.split(dense(p["qkv"], layer_norm(p["norm1"], x)), 3, -1))
    x = x + dense(p["out"], attention(q, k, v).reshape(x.shape))
    return x + dense(p["down"], jax.nn.gelu(dense(p["up"], layer_norm(p["norm2"], x))))


def _transformer_loss(params, batch, block=_block_forward):
    tokens, labels = batch
    x = params["embed"][tokens]
    for p in params["layers"]:
        x = block(p, x)
    return cross_entropy(dense(params["head"], x), labels)


TOKENS = (i32(8, 8), i32(8, 8))


def _megatron(path, shape):
    if "qkv" in path or "up" in path:
        return "-,model" if len(shape) == 2 else "model"
    if ("out" in path or "down" in path) and len(shape) == 2:
        return "model,-"
    return ""


@builder()
def transformer_tensor_parallel():
    return _step(_adam_step(_transformer_loss), _adam_state(_transformer(2)), TOKENS, _megatron)


@builder()
def transformer_fully_sharded():
    return _step(_adam_step(_transformer_loss), _adam_state(_transformer(2)), TOKENS, _largest("data"))


@builder()
def transformer_with_checkpointed_blocks():
    loss = lambda params, batch: _transformer_loss(params, batch, jax.checkpoint(_block_forward))
    return _step(_adam_step(loss), _adam_state(_transformer(2)), TOKENS, _megatron)


@builder()
def transformer_with_sequence_parallelism():
    def block(p, x):
        return constrain(_block_forward(p, constrain(x, "data,model,-")), "data,model,-")

    loss = lambda params, batch: _transformer_loss(params, batch, block)
    return _step(_adam_step(loss), _adam_state(_transformer(1)), TOKENS, _megatron)


@builder()
def scanned_layers_in_bfloat16():
    stacked = {"up": f32(3, 16, 32), "down": f32(3, 32, 16), "scale": f32(3, 16)}
    params = {"embed": f32(32, 16), "layers": stacked}

    def loss(params, batch):
        tokens, labels = batch

        def layer(x, p):
            p = jax.tree.map(lambda v: v.astype(jnp.bfloat16), p)
            h = jax.nn.silu(rms_norm(p["scale"], x) @ p["up"])
            return x + h @ p["down"], None

        x = lax.scan(jax.checkpoint(layer), params["embed"].astype(jnp.bfloat16)[tokens], params["layers"])[0]
        return cross_entropy((x @ params["embed"].T.astype(jnp.bfloat16)).astype(jnp.float32), labels)

    def specs(path, shape):
        known = {"up": "-,data,model", "down": "-,model,data", "embed": "model,data"}
        return next((text for name, text in known.items() if f"'{name}'" in path), "")

    return _step(_adam_step(loss), _adam_state(params), TOKENS, specs)


@builder()
def grouped_query_attention_with_rotation():
    params = {"q": f32(16, 32), "k": f32(16, 16), "v": f32(16, 16), "o": f32(32, 16)}

    def loss(params, batch):
        x, target = batch
        turn = jnp.arange(8)[:, None] * 10000.0 ** (-jnp.arange(2) / 2)

        def rotate(t):
            a, b = t[..., :2], t[..., 2:]
            c, s = jnp.cos(turn)[:, None], jnp.sin(turn)[:, None]
            return jnp.concatenate([a * c - b * s, a * s + b * c], -1)

        heads = lambda name, n: (x @ params[name]).reshape(8, 8, n, 4)
        q, k, v = rotate(heads("q", 8)), rotate(heads("k", 4)), heads("v", 4)
        y = attention(q, jnp.repeat(k, 2, 2), jnp.repeat(v, 2, 2)).reshape(8, 8, 32) @ params["o"]
        return jnp.square(y - target).mean()

    specs = lambda path, shape: "model,-" if "o" in path else "-,model"
    step = lambda params, batch: jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params, batch))
    return _step(step, params, (f32(8, 8, 16), f32(8, 8, 16)), specs)


@builder()
def mixture_of_experts():
    params = {"gate": f32(16, 4), "up": f32(4, 16, 32), "down": f32(4, 32, 16)}

    def loss(params, batch):
        x, target = batch
        weights, chosen = lax.top_k(jax.nn.softmax(x @ params["gate"]), 2)
        spread = jnp.einsum("tk,tke->te", weights, jax.nn.one_hot(chosen, 4))
        h = jax.nn.silu(jnp.einsum("td,edf->etf", x, params["up"]))
        return jnp.square(jnp.einsum("etf,efd,te->td", h, params["down"], spread) - target).mean()

    specs = lambda path, shape: "model,-,-" if len(shape) == 3 else ""
    step = lambda params, batch: jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params, batch))
    return _step(step, params, (f32(16, 16), f32(16, 16)), specs)


@builder()
def convolutional_network_with_batch_statistics():
    params = {"conv1": f32(3, 3, 3, 8), "conv2": f32(3, 3, 8, 16), "scale": f32(8), "head": _layer(16, 10)}
    stats = {"mean": f32(8), "var": f32(8)}

    def loss(params, stats, batch):
        images, labels = batch
        y = conv2d(images, params["conv1"])
        mean, var = y.mean((0, 1, 2)), y.var((0, 1, 2))
        y = jax.nn.relu((y - mean) * lax.rsqrt(var + 1e-3) * params["scale"])
        y = conv2d(y, params["conv2"], strides=(2, 2)).mean((1, 2))
        new = {"mean": 0.9 * stats["mean"] + 0.1 * mean, "var": 0.9 * stats["var"] + 0.1 * var}
        return cross_entropy(dense(params["head"], y), labels), new

    def step(state, batch):
        params, stats, momentum = state
        (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, batch)
        params, momentum = sgd(grads, params, momentum)
        return (params, stats, momentum), value

    return _step(step, (params, stats, params), (f32(8, 8, 8, 3), i32(8)), lambda path, shape: "")


@builder()
def recurrent_network():
    params = {"cell": _layer(24, 64), "head": _layer(16, 8)}

    def loss(params, batch):
        x, y = batch

        def cell(carry, row):
            c, h = carry
            i, f, g, o = jnp.split(dense(params["cell"], jnp.concatenate([row, h], -1)), 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (c, jax.nn.sigmoid(o) * jnp.tanh(c)), None

        start = jnp.zeros((16, 16))
        (_, h), _ = lax.scan(cell, (start, start), x.swapaxes(0, 1))
        return cross_entropy(dense(params["head"], h), y)

    return _step(_adam_step(loss), _adam_state(params), (f32(16, 5, 8), i32(16)), lambda path, shape: "")


@builder()
def dropout_and_label_smoothing():
    def loss(params, batch):
        x, y, seed = batch
        h = jax.nn.relu(dense(params["first"], x))
        key = jax.random.fold_in(jax.random.key(3), seed[0])
        h = jnp.where(jax.random.bernoulli(key, 0.9, h.shape), h / 0.9, 0.0)
        target = jax.nn.one_hot(y, 8) * 0.9 + 0.1 / 8
        return -(target * jax.nn.log_softmax(dense(params["second"], h))).sum(-1).mean()

    return _step(_adam_step(loss), _adam_state(_mlp()), (*MLP_BATCH, i32(4)), lambda path, shape: "")


@builder()
def adapters_of_low_rank():
    frozen = {"w": f32(16, 32)}
    adapters = {"a": f32(16, 4), "b": f32(4, 32)}

    def step(state, batch):
        frozen, adapters, opt = state
        x, y = batch
        loss = lambda ad: jnp.square(x @ lax.stop_gradient(frozen["w"]) + x @ ad["a"] @ ad["b"] - y).mean()
        value, grads = jax.value_and_grad(loss)(adapters)
        adapters, opt = adamw(grads, adapters, opt)
        return (frozen, adapters, opt), value

    state = (frozen, adapters, (i32(), adapters, adapters))
    return _step(step, state, (f32(16, 16), f32(16, 32)), lambda path, shape: "-,model" if "'w'" in path else "")


@builder()
def averaged_weights_and_second_model():
    def step(state, batch):
        params, teacher = state
        x, y = batch

        def loss(p):
            goal = lax.stop_gradient(jax.nn.softmax(dense(teacher["second"], jax.nn.relu(dense(teacher["first"], x)))))
            logits = dense(p["second"], jax.nn.relu(dense(p["first"], x)))
            return cross_entropy(logits, y) - (goal * jax.nn.log_softmax(logits)).sum(-1).mean()

        grads = jax.grad(loss)(params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return params, jax.tree.map(lambda t, p: 0.99 * t + 0.01 * p, teacher, params)

    return _step(step, (_mlp(), _mlp()), MLP_BATCH, _largest("data"))


@builder()
def reinforcement_of_a_policy():
    def loss(params, batch):
        x, actions, advantage, old = batch
        logits = dense(params["second"], jnp.tanh(dense(params["first"], x)))
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], 1)[:, 0]
        ratio = jnp.exp(chosen - old)
        return -jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()

    batch = (f32(16, 16), i32(16), f32(16), f32(16))
    return _step(_adam_step(loss), _adam_state(_mlp()), batch, lambda path, shape: "")
