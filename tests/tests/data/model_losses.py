"""Writes model_losses.json: the losses of twenty steps of models in flax, and what XLA's partitions of the steps send.

    JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count=8 python model_losses.py > model_losses.json
                                                            (made with jax 0.10.2, flax 0.12.8, optax 0.2.8)

Weights and batches follow from names and numbers, so that none are written: see `numbers`. Steps are gradient descent with a
momentum of 0.9. On 4 x 2 devices, ("data", "model"), batches are split over "data" and weights as `split` says; what XLA's program
sends is counted from its text as shardc counts its own: over a ring, a loop as often as it runs.
"""
import json, math, re
import flax.linen as nn, jax, jax.numpy as jnp, numpy as np, optax
from flax.traverse_util import flatten_dict, unflatten_dict
from jax.sharding import NamedSharding, PartitionSpec as P

STEPS, BATCH, TIME, VOCAB, FEATURES, LAYERS, HEADS = 20, 8, 16, 32, 32, 2, 4
SIZE = FEATURES // HEADS

def numbers(name, shape):
    """Between minus one half and one half, from the letters of a name and the number of the element."""
    seed = sum((i + 1) * ord(c) for i, c in enumerate(name)) % 1009
    wild = np.sin(np.arange(math.prod(shape), dtype=np.float64) * 12.9898 + seed) * 43758.5453
    return (wild - np.floor(wild) - 0.5).reshape(shape)

def weight(name, shape):
    value = numbers(name, shape)
    if name.endswith("scale"): return 1 + 0.2 * value
    if name.endswith("bias") or len(shape) < 2: return 0.2 * value
    return value * 2 / math.sqrt(shape[-2])

def tokens(step):
    return np.floor((numbers(f"tokens{step}", (BATCH, TIME + 1)) + 0.5) * VOCAB).astype(np.int32)

def images(step):
    labels = np.floor((numbers(f"labels{step}", (BATCH,)) + 0.5) * 10).astype(np.int32)
    return numbers(f"images{step}", (BATCH, 16, 16, 1)).astype(np.float32), labels

class Attention(nn.Module):
    causal: bool = True
    rope: bool = False
    use_bias: bool = True
    @nn.compact
    def __call__(self, x):
        dense = lambda name: nn.DenseGeneral((HEADS, SIZE), use_bias=self.use_bias, name=name)(x)
        q, k, v = dense("query"), dense("key"), dense("value")
        if self.rope:
            angle = jnp.arange(x.shape[1])[:, None] * (10000.0 ** (-jnp.arange(0, SIZE, 2) / SIZE))[None]
            cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
            def turned(x):
                a, b = jnp.split(x, 2, -1)
                return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
            q, k = turned(q), turned(k)
        s = jnp.einsum("bthd,bshd->bhts", q / math.sqrt(SIZE), k)
        if self.causal:
            s = jnp.where(jnp.tril(jnp.ones((x.shape[1],) * 2, bool)), s, jnp.finfo(s.dtype).min)
        y = jnp.einsum("bhts,bshd->bthd", nn.softmax(s), v)
        return nn.DenseGeneral(FEATURES, axis=(-2, -1), use_bias=self.use_bias, name="out")(y)

class Mlp(nn.Module):
    gated: bool = False
    exact: bool = False
    @nn.compact
    def __call__(self, x):
        dense = lambda name, n: nn.Dense(n, use_bias=not self.gated, name=name)
        if self.gated:
            return dense("down", FEATURES)(nn.silu(dense("gate", 64)(x)) * dense("up", 64)(x))
        return dense("down", FEATURES)(nn.gelu(dense("up", 4 * FEATURES)(x), approximate=not self.exact))

class Moe(nn.Module):
    """Four experts, two for each token, and a quarter more room than they take on average: by products with zeros and ones."""
    @nn.compact
    def __call__(self, x):
        experts, top_k, room = 4, 2, 10
        chances = nn.softmax(nn.Dense(experts, use_bias=False, name="router")(x))
        weights, chosen = jax.lax.top_k(chances, top_k)
        weights = weights / weights.sum(-1, keepdims=True)
        goes = jax.nn.one_hot(chosen, experts, dtype=jnp.int32)
        flat = goes.reshape(x.shape[0], -1, experts)
        place = ((jnp.cumsum(flat, 1) - flat).reshape(goes.shape) * goes).sum(-1)
        dispatch = goes.astype(x.dtype)[..., None] * jax.nn.one_hot(place, room)[..., None, :]
        combine = (dispatch * weights[..., None, None]).sum(2)
        dispatch = jax.lax.stop_gradient(dispatch.sum(2))
        kernel = lambda name, *shape: self.param(name, nn.initializers.zeros, shape)
        open = P.UNCONSTRAINED
        of_experts = lambda t: t if EXPERTS is None else jax.lax.with_sharding_constraint(t, NamedSharding(EXPERTS, P("data", open, open, open)))
        taken = of_experts(jnp.einsum("btec,btf->ebcf", dispatch, x))
        gate = jnp.einsum("ebcf,efh->ebch", taken, kernel("gate", experts, FEATURES, 64))
        up = jnp.einsum("ebcf,efh->ebch", taken, kernel("up", experts, FEATURES, 64))
        out = of_experts(jnp.einsum("ebch,ehf->ebcf", nn.silu(gate) * up, kernel("down", experts, 64, FEATURES)))
        return jnp.einsum("btec,ebcf->btf", combine, out)

class Layer(nn.Module):
    kind: str
    @nn.compact
    def __call__(self, x, _):
        if self.kind in ("llama", "moe"):
            norm = lambda name: nn.RMSNorm(epsilon=1e-5, name=name)
            attend = Attention(rope=True, use_bias=False, name="attn")
        else:
            norm = lambda name: nn.LayerNorm(epsilon=1e-5, name=name)
            attend = Attention(causal=self.kind != "vit", name="attn")
        x = x + attend(norm("ln_1")(x))
        feed = Moe(name="mlp") if self.kind == "moe" else Mlp(self.kind == "llama", self.kind == "vit", name="mlp")
        return x + feed(norm("ln_2")(x)), None

def stack(kind, x):
    layers = nn.scan(Layer, variable_axes={"params": 0}, split_rngs={"params": True}, length=LAYERS)
    return layers(kind, name="h")(x, None)[0]

class Decoder(nn.Module):
    kind: str
    @nn.compact
    def __call__(self, tokens):
        table = nn.Embed(VOCAB, FEATURES, name="wte")
        x = table(tokens)
        if self.kind == "gpt2":
            x = x + nn.Embed(TIME, FEATURES, name="wpe")(jnp.arange(TIME))
            return table.attend(nn.LayerNorm(epsilon=1e-5, name="ln_f")(stack(self.kind, x)))
        x = nn.RMSNorm(epsilon=1e-5, name="ln_f")(stack(self.kind, x))
        return nn.Dense(VOCAB, use_bias=False, name="lm_head")(x)

class Lstm(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCAB, FEATURES, name="wte")(tokens)
        x = nn.RNN(nn.OptimizedLSTMCell(FEATURES, parent=None), name="cell")(x)
        return nn.Dense(VOCAB, name="head")(x)

class Cnn(nn.Module):
    @nn.compact
    def __call__(self, x):
        for i, n in enumerate((8, 16)):
            x = nn.max_pool(nn.relu(nn.Conv(n, (3, 3), name=f"conv{i + 1}")(x)), (2, 2), (2, 2))
        x = nn.relu(nn.Dense(32, name="wide")(x.reshape(x.shape[0], -1)))
        return nn.Dense(10, name="out")(x)

class Vit(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(FEATURES, (4, 4), (4, 4), padding="VALID", name="patches")(x).reshape(x.shape[0], -1, FEATURES)
        cls = self.param("cls", nn.initializers.zeros, (1, 1, FEATURES))
        x = jnp.concatenate([jnp.broadcast_to(cls, (x.shape[0], 1, FEATURES)), x], 1)
        x = x + self.param("positions", nn.initializers.zeros, (1, *x.shape[1:]))
        x = nn.LayerNorm(epsilon=1e-5, name="ln_f")(stack("vit", x)[:, 0])
        return nn.Dense(10, name="head")(x)

def split(name, rank):
    """As Megatron splits a transformer; the wide layer of a CNN; what an LSTM carries; experts over "data"."""
    ends = lambda *what: any(name.endswith(w) for w in what)
    if ends("wte.embedding"): return P("model", None)
    if ends("lm_head.kernel", "cell.kernel", "wide.kernel"): return P(None, "model")
    if ends("wide.bias"): return P("model")
    if name == "out.kernel": return P("model", None)
    if name.startswith("cell."): return P(None, "model") if ends("kernel") else P("model")
    if ends("query.kernel", "key.kernel", "value.kernel"): return P(None, None, "model", None)
    if ends("query.bias", "key.bias", "value.bias"): return P(None, "model", None)
    if ends("attn.out.kernel"): return P(None, "model", None, None)
    if ends("mlp.gate", "mlp.up"): return P(None, "data", None, "model")
    if ends("mlp.down"): return P(None, "data", "model", None)
    if ends("up.kernel", "gate.kernel"): return P(None, None, "model")
    if ends("up.bias", "gate.bias"): return P(None, "model")
    if ends("down.kernel"): return P(None, "model", None)
    return P(*[None] * rank)

MODELS = {
    "gpt2": (Decoder("gpt2"), tokens), "llama": (Decoder("llama"), tokens), "moe": (Decoder("moe"), tokens),
    "lstm": (Lstm(), tokens), "cnn": (Cnn(), images), "vit": (Vit(), images),
}

EXPERTS = None  # The mesh, while what is partitioned is made.

BYTES = dict(f32=4, s32=4, u32=4, pred=1, bf16=2, f64=8, s8=1, u8=1)

def group_size(line):
    """How many devices a group of a collective has: groups are lists, counted, or axes of a mesh."""
    if lists := re.search(r"replica_groups=\{\{([\d,]*)\}", line): return lists[1].count(",") + 1
    if counted := re.search(r"replica_groups=\[\d+,(\d+)\]", line): return int(counted[1])
    mesh, axes = re.search(r"replica_groups=mesh\[(.*?)\](?:, device_ids=\(.*?\]T?\([\d,]*\)\))? \{(.*?)\}", line).groups()
    sizes = dict(re.findall(r"'(\w+)'=(\d+)", mesh))
    return math.prod(int(part or sizes[axis]) for axis, part in re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", axes))

def sent(text):
    """Bytes that one device sends in one run of a compiled program."""
    computations, name = {}, None
    for line in text.splitlines():
        head = re.match(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$", line)
        if head: name = "ENTRY" if head[1] else head[2]; computations[name] = []
        elif name and line.strip() != "}": computations[name].append(line)
    def size(types):
        return sum(BYTES[t] * math.prod(int(n) for n in dims.split(",") if n) for t, dims in re.findall(r"(\w+)\[([\d,]*)\]", types))
    def of(name):
        total = 0
        for line in computations[name]:
            op = re.search(r"= (.*?) (all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute|while|call|conditional|fusion)(-start)?\(", line)
            if not op: continue
            types, kind = op[1], op[2]
            if kind == "while":
                trips = int(re.search(r'"known_trip_count":\{"n":"(\d+)"', line)[1])
                total += trips * of(re.search(r"body=%?([\w.\-]+)", line)[1])
            elif kind in ("call", "conditional", "fusion"):
                total += sum(of(c) for c in re.findall(r"(?:to_apply|calls)=%?([\w.\-]+)", line))
            elif kind == "collective-permute":
                total += size(types)
            else:
                k = group_size(line)
                result = size(types)
                total += {"all-gather": result * (k - 1) / k, "all-reduce": 2 * result * (k - 1) / k,
                          "reduce-scatter": result * (k - 1), "all-to-all": result * (k - 1) / k}[kind]
        return total
    return int(of("ENTRY"))

def run(model, batch):
    is_text = batch is tokens
    first = batch(0)
    x0 = first[:, :-1] if is_text else first[0]
    shapes = flatten_dict(jax.eval_shape(lambda: model.init(jax.random.key(0), jnp.asarray(x0)))["params"])
    # flax names a cell twice: as the layer, and as what the layer does at each position.
    paths = {".".join(path).replace("cell.cell.", "cell."): path for path in shapes}
    params = {n: jnp.asarray(weight(n, shapes[path].shape), jnp.float32) for n, path in paths.items()}
    optimizer = optax.sgd(0.1, momentum=0.9)
    def loss(params, batch):
        x, y = (batch[:, :-1], batch[:, 1:]) if is_text else batch
        tree = unflatten_dict({paths[n]: v for n, v in params.items()})
        logits = model.apply({"params": tree}, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    def step(params, state, batch):
        value, gradients = jax.value_and_grad(loss)(params, batch)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, value
    state, losses, one = optimizer.init(params), [], jax.jit(step)
    initial = (params, state)
    for i in range(STEPS):
        params, state, value = one(params, state, batch(i))
        losses.append(float(f"{float(value):.9g}"))
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    global EXPERTS
    place, EXPERTS = lambda spec: NamedSharding(mesh, spec), mesh
    of_params = {n: place(split(n, v.ndim)) for n, v in params.items()}
    of_state = (optax.TraceState(of_params), initial[1][1])
    of_batch = jax.tree.map(lambda v: place(P("data", *[None] * (v.ndim - 1))), first)
    # A function of its own: what was traced without constraints is not used again.
    many = jax.jit(lambda *args: step(*args), in_shardings=(of_params, of_state, of_batch), out_shardings=(of_params, of_state, place(P())))
    text = many.lower(*initial, first).compile().as_text()
    EXPERTS = None
    # What partitioning gives, too: else its text is of no use.
    value = many(*initial, first)[2]
    assert abs(float(value) - losses[0]) < 1e-4 * losses[0], (value, losses[0])
    return dict(losses=losses, xla_sends=sent(text), parameters={n: list(v.shape) for n, v in params.items()})

print("{")
print(",\n".join(f"{json.dumps(name)}: {json.dumps(run(*spec), separators=(',', ':'))}" for name, spec in MODELS.items()))
print("}")
