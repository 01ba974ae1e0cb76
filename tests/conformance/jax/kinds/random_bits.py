"""Random bits of every generator, and distributions built on them."""

import jax
import jax.numpy as jnp
from catalog import arg, constrain, f32, program
from jax import lax

KEY = arg(jnp.uint32, 2)


def _key(data, kind="threefry2x32"):
    return jax.random.wrap_key_data(data, impl=kind)


@program(KEY)
def threefry_uniform(data):
    return constrain(jax.random.uniform(_key(data), (16, 8)), "data,model")


@program(KEY, f32(16, 8), specs=["", "data,model"], grad=(1,))
def dropout(data, x):
    keep = jax.random.bernoulli(_key(data), 0.75, x.shape)
    return jnp.where(keep, x / 0.75, 0.0)


@program(KEY)
def threefry_split_and_fold(data):
    first, second = jax.random.split(_key(data))
    folded = jax.random.fold_in(first, 7)
    return jax.random.key_data(folded), jax.random.bits(second, (8,), jnp.uint8)


@program(KEY)
def normal_and_truncated(data):
    a, b = jax.random.split(_key(data))
    return constrain(jax.random.normal(a, (16, 8)), "data,-"), jax.random.truncated_normal(b, -1.0, 1.0, (8,))


@program(arg(jnp.uint32, 4))
def rbg_generator(data):
    return constrain(jax.random.uniform(_key(data, "rbg"), (16, 8)), "data,-")


@program(arg(jnp.uint32, 4))
def unsafe_rbg_generator(data):
    key = jax.random.fold_in(_key(data, "unsafe_rbg"), 3)
    return jax.random.normal(key, (16, 8))


@program(arg(jnp.uint32, 4))
def bit_generator_philox(state):
    return lax.rng_bit_generator(state, (16, 8), algorithm=lax.RandomAlgorithm.RNG_PHILOX)


@program(arg(jnp.uint32, 4))
def bit_generator_three_fry(state):
    return lax.rng_bit_generator(state, (16, 8), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)


@program(arg(jnp.uint32, 4))
def bit_generator_default_64_bits(state):
    return lax.rng_bit_generator(state, (8,), dtype=jnp.uint16)


@program(arg(jnp.uint32, 1), since=(0, 11), why="the generator philox2x32")
def philox_2x32(data):
    return jax.random.bits(_key(data, "philox2x32"), (16, 8))


@program(KEY)
def permutation(data):
    return jax.random.permutation(_key(data), 16), jax.random.choice(_key(data), 16, (4,), replace=False)


@program(KEY, f32(8, 16), specs=["", "data,model"])
def categorical_sample(data, logits):
    return jax.random.categorical(_key(data), logits, axis=1)


@program(KEY)
def distributions_with_rejection(data):
    a, b = jax.random.split(_key(data))
    return jax.random.gamma(a, 2.0, (8,)), jax.random.poisson(b, 3.0, (8,))


@program(KEY)
def distributions_from_uniforms(data):
    keys = jax.random.split(_key(data), 6)
    names = ("exponential", "gumbel", "laplace", "logistic", "cauchy", "rayleigh")
    draw = lambda name, key: getattr(jax.random, name)(key, *((1.0,) if name == "rayleigh" else ()), shape=(8,))
    return [draw(name, key) for name, key in zip(names, keys)]


@program(KEY)
def random_integers(data):
    a, b = jax.random.split(_key(data))
    return jax.random.randint(a, (16,), -3, 9), jax.random.randint(b, (16,), 0, 200, jnp.uint8)


@program(KEY, x64=True)
def random_doubles(data):
    return jax.random.uniform(_key(data), (8,), jnp.float64), jax.random.bits(_key(data), (8,), jnp.uint64)
