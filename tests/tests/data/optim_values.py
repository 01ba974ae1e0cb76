"""Writes optim_values.json: what optax makes of two parameters in ten steps.

    JAX_PLATFORMS=cpu python optim_values.py > optim_values.json        (made with jax 0.10.2, optax 0.2.8)
"""
import json
import jax, jax.numpy as jnp, numpy as np, optax, optax.contrib

w0 = np.asarray(np.random.RandomState(0).normal(size=(4, 3)), np.float32)
b0 = np.asarray(np.random.RandomState(1).normal(size=(3,)), np.float32)
x = np.asarray(np.random.RandomState(2).normal(size=(8, 4)), np.float32)
y = np.asarray(np.random.RandomState(3).normal(size=(8, 3)), np.float32)
loss = lambda p: jnp.mean((jnp.tanh(x @ p[0] + p[1]) - y) ** 2)

cosine = optax.warmup_cosine_decay_schedule(0.0, 0.1, 3, 8, 0.01)
OPTIMIZERS = {
    "sgd": optax.sgd(0.1), "momentum": optax.sgd(0.1, 0.9), "nesterov": optax.sgd(0.1, 0.9, nesterov=True),
    "adam": optax.adam(0.1), "adamw": optax.adamw(0.1, weight_decay=0.05), "lion": optax.lion(0.02),
    "cosine": optax.sgd(cosine), "linear": optax.sgd(optax.linear_schedule(0.2, 0.02, 6)),
    "piecewise": optax.sgd(optax.piecewise_constant_schedule(0.2, {3: 0.5, 6: 0.1})),
    "adafactor": optax.adafactor(0.1, min_dim_size_to_factor=2), "adafactor_whole": optax.adafactor(0.1), "muon": optax.contrib.muon(0.02),
    "decayed": optax.chain(optax.add_decayed_weights(0.05), optax.sgd(0.1, 0.9)),
    "warmup": optax.sgd(lambda n: 0.2 * jnp.where(n < 3, n / 3, 1.0) * jnp.where(n < 6, 1.0, 0.1)),
    "groups": optax.multi_transform(
        {"decay": optax.adamw(0.1, weight_decay=0.05), "rest": optax.sgd(0.03, 0.9)}, ("decay", "rest")),
    "muon_matrices": optax.multi_transform(
        {"muon": optax.contrib.muon(0.02), "rest": optax.adamw(0.1, weight_decay=0.05)}, ("muon", "rest")),
    "undecayed": optax.adamw(0.1, weight_decay=0.05, mask=(True, False)),
    "frozen_head": optax.multi_transform({"train": optax.adam(0.1), "stay": optax.set_to_zero()}, ("train", "stay")),
    "clipped": optax.chain(optax.clip_by_global_norm(0.3), optax.adam(0.1)),
}
out = dict(w=w0, b=b0, x=x, y=y)
for name, optimizer in OPTIMIZERS.items():
    params = (jnp.asarray(w0), jnp.asarray(b0)); state = optimizer.init(params)
    for _ in range(10):
        updates, state = optimizer.update(jax.grad(loss)(params), state, params)
        params = optax.apply_updates(params, updates)
    out[name] = np.concatenate([np.asarray(params[0]).ravel(), np.asarray(params[1])])
print("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps([float(f'{n:.9g}') for n in v.ravel()])}" for k, v in out.items()) + "\n}")
