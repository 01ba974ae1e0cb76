"""Types of eight and fewer bits, quantized arithmetic, and products with block scales."""

import jax
import jax.numpy as jnp
from catalog import arg, bf16, f32, program
from jax import lax

E4M3 = jnp.float8_e4m3fn
E5M2 = jnp.float8_e5m2
E8M0 = jnp.float8_e8m0fnu
E2M1 = jnp.float4_e2m1fn


@program(arg(E4M3, 16, 32), arg(E4M3, 32, 8), specs=["data,-", "-,model"])
def product_of_eight_bit_floats(x, w):
    return lax.dot(x, w, preferred_element_type=jnp.float32)


@program(arg(E5M2, 16, 32), arg(E4M3, 32, 8), specs=["data,-", "-,model"])
def product_of_two_eight_bit_formats(x, w):
    return lax.dot(x, w, preferred_element_type=jnp.bfloat16)


@program(f32(16, 32), specs=["data,-"])
def round_trip_through_eight_bits(x):
    scale = jnp.max(jnp.abs(x)) / 448.0
    return (x / scale).astype(E4M3).astype(jnp.float32) * scale


@program(f32(16, 32), specs=["data,model"])
def further_eight_bit_formats(x):
    kinds = (jnp.float8_e4m3b11fnuz, jnp.float8_e4m3fnuz, jnp.float8_e5m2fnuz, jnp.float8_e3m4, jnp.float8_e4m3)
    return sum(x.astype(kind).astype(jnp.float32) for kind in kinds)


@program(f32(16, 32), specs=["data,model"])
def four_bit_float(x):
    return x.astype(E2M1).astype(jnp.float32)


@program(arg(jnp.int8, 16, 32), arg(jnp.int8, 32, 8), specs=["data,-", "-,model"])
def integer_product(x, w):
    return lax.dot(x, w, preferred_element_type=jnp.int32)


@program(arg(jnp.int4, 16, 32), arg(jnp.int8, 32, 8), specs=["data,-", "-,model"])
def four_bit_integers(x, w):
    return lax.dot(x.astype(jnp.int8), w, preferred_element_type=jnp.int32)


@program(arg(jnp.uint4, 16, 32), specs=["data,-"])
def four_bit_unsigned(x):
    return x.astype(jnp.float32) * 0.5


@program(arg(jnp.int2, 16, 32), specs=["data,-"])
def two_bit_integers(x):
    return x.astype(jnp.int32) + 1


@program(f32(16, 32), f32(32, 8), specs=["data,-", "-,model"])
def dynamic_quantization_to_int8(x, w):
    def quantize(v, axis):
        scale = jnp.max(jnp.abs(v), axis=axis, keepdims=True) / 127.0
        return jnp.round(v / scale).astype(jnp.int8), scale

    (qx, sx), (qw, sw) = quantize(x, 1), quantize(w, 0)
    return lax.dot(qx, qw, preferred_element_type=jnp.int32).astype(jnp.float32) * sx * sw


@program(arg(E4M3, 1, 16, 64), arg(E4M3, 1, 16, 64), arg(E8M0, 1, 16, 2), arg(E8M0, 1, 16, 2),
         specs=["-,data,-", "-,model,-", "-,data,-", "-,model,-"], needs=("nn.scaled_matmul",))
def scaled_matmul_blocks_of_32(a, b, a_scales, b_scales):
    return jax.nn.scaled_matmul(a, b, a_scales, b_scales)


@program(arg(E4M3, 4, 16, 64), arg(E4M3, 4, 32, 64), arg(E8M0, 4, 16, 2), arg(E8M0, 4, 32, 2),
         specs=["data,-,-", "data,model,-", "data,-,-", "data,model,-"], needs=("nn.scaled_matmul",))
def scaled_matmul_split_batch(a, b, a_scales, b_scales):
    return jax.nn.scaled_matmul(a, b, a_scales, b_scales, preferred_element_type=jnp.bfloat16)


@program(arg(E4M3, 16, 64), arg(E4M3, 64, 16), arg(E8M0, 16, 2), arg(E8M0, 2, 16),
         specs=["data,-", "-,model", "data,-", "-,model"], needs=("lax.scaled_dot",))
def scaled_dot_two_scales(a, b, a_scale, b_scale):
    return lax.scaled_dot(a, b, lhs_scale=a_scale, rhs_scale=b_scale, preferred_element_type=jnp.float32)


@program(arg(E4M3, 16, 64), bf16(64, 16), arg(E8M0, 16, 2), specs=["data,model", "model,-", "data,-"],
         needs=("lax.scaled_dot",))
def scaled_dot_one_scale_contracting_split(a, b, a_scale):
    return lax.scaled_dot(a, b, lhs_scale=a_scale, preferred_element_type=jnp.bfloat16)


@program(bf16(16, 32), bf16(32, 8), specs=["data,model", "model,-"])
def algorithm_of_a_product(x, w):
    return lax.dot(x, w, precision=lax.DotAlgorithmPreset.BF16_BF16_F32)


@program(f32(16, 32), specs=["data,model"])
def reduced_precision(x):
    return lax.reduce_precision(x, exponent_bits=5, mantissa_bits=7) + lax.bitcast_convert_type(
        lax.bitcast_convert_type(x, jnp.uint16), jnp.float32
    )
