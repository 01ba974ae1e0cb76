"""Fourier transforms, special functions, elementwise mathematics."""

import jax
import jax.numpy as jnp
import jax.scipy.special as special
from catalog import arg, f32, i32, program
from jax import lax


@program(arg(jnp.complex64, 8, 16), specs=["data,-"])
def fft_of_rows(x):
    return jnp.fft.fft(x)


@program(arg(jnp.complex64, 8, 16), specs=["data,model"])
def fft_of_both_dimensions(x):
    return jnp.fft.fft2(x)


@program(f32(8, 16), specs=["data,model"], grad=(0,))
def real_fft_and_back(x):
    return jnp.fft.irfft(jnp.fft.rfft(x) * 0.5, n=16)


@program(f32(4, 6, 8), specs=["data,-,model"])
def real_fft_of_three_dimensions(x):
    return jnp.abs(jnp.fft.rfftn(x))


@program(f32(8, 15), specs=["data,-"])
def odd_length_and_shifts(x):
    return jnp.fft.fftshift(jnp.abs(jnp.fft.ifft(x, axis=0)), axes=1)


@program(f32(16, 8), specs=["data,model"], grad=(0,))
def gamma_functions(x):
    y = x + 1.5
    return special.gammaln(y), special.digamma(y), special.gamma(y)


@program(f32(16, 8), f32(16, 8), specs=["data,model", "data,model"], grad=(0, 1), rtol=2e-3)
def incomplete_gamma(a, x):
    # Both are positive: elsewhere the functions are NaN, and JAX's derivative by x is still a number.
    a, x = jnp.exp(a), jnp.exp(x)
    # Of one argument they add up to one, and their gradients to nothing but rounding.
    return special.gammainc(a, x), special.gammaincc(a, 2 * x)


@program(f32(8), f32(8), f32(8), specs=["data", "data", "data"])
def incomplete_beta(a, b, x):
    return special.betainc(a + 1.0, b + 1.0, x)


@program(f32(16, 8), specs=["data,model"], grad=(0,))
def error_functions(x):
    return special.erf(x), special.erfc(x), special.erfinv(x * 0.5)


@program(f32(16, 8), specs=["data,model"], grad=(0,), rtol=1e-3)
def bessel_functions(x):
    return special.i0(x), special.i1(x), special.i0e(x), special.i1e(x)


@program(f32(16, 8), specs=["data,model"])
def zeta_and_polygamma(x):
    return special.zeta(x + 2.0, 1.5), special.polygamma(1, x + 1.0)


@program(f32(16, 8), specs=["data,model"], grad=(0,))
def logarithms_and_logits(x):
    p = x * 0.5 + 0.2
    return special.logit(p), special.xlogy(p, x + 1.0), special.entr(p), jnp.log1p(x), jnp.expm1(x)


@program(f32(16, 8), specs=["data,model"], grad=(0,))
def trigonometry(x):
    return jnp.tan(x), jnp.arctan2(x, 1.0 + x), jnp.sinh(x), jnp.arccosh(x + 2.0), jnp.arcsin(x * 0.5), jnp.atanh(x * 0.5)


@program(f32(16, 8), specs=["data,model"], grad=(0,))
def powers_and_roots(x):
    return x**3, jnp.cbrt(x), lax.rsqrt(x + 1.0), jnp.hypot(x, 2.0), jnp.exp2(x), jnp.log2(x + 1.0)


@program(f32(16, 8), specs=["data,model"])
def rounding_and_remainders(x):
    return jnp.round(x * 4), jnp.floor(x * 4), jnp.fmod(x * 9, 2.0), jnp.nextafter(x, 2.0), jnp.sign(x)


@program(i32(16, 8), arg(jnp.uint8, 16, 8), specs=["data,model", "data,model"])
def integer_and_bit_operations(x, y):
    return x // 3, x % 5, x << 2, lax.population_count(x), lax.clz(y), jnp.bitwise_xor(x, 5), jnp.gcd(x, 12)


@program(arg(jnp.complex64, 8, 4), specs=["data,model"])
def complex_arithmetic(x):
    return jnp.abs(x), jnp.angle(x), x.real, jnp.conj(x) * x, jnp.exp(x)


@program(f32(16, 8), specs=["data,model"], grad=(0,))
def activations(x):
    y = x - 0.4
    names = ("relu", "gelu", "silu", "softplus", "elu", "selu", "hard_tanh", "log_sigmoid", "mish")
    return [getattr(jax.nn, name)(y) for name in names]


@program(f32(16, 8), specs=["data,model"], grad=(0,))
def softmax_and_reductions(x):
    return jax.nn.softmax(x), jax.nn.log_softmax(x, 0), jax.nn.logsumexp(x, 1), jnp.var(x, 0), jnp.prod(x, 1)
