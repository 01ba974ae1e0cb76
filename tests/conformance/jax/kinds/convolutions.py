"""Convolutions, windows and pooling."""

import jax
import jax.numpy as jnp
from catalog import bf16, f32, program
from flaxless import conv2d
from jax import lax


@program(f32(8, 16, 16, 3), f32(3, 3, 3, 8), specs=["data,-,-,-", "-,-,-,model"], grad=(0, 1))
def same_padding(x, kernel):
    return conv2d(x, kernel)


@program(f32(4, 16, 16, 4), f32(3, 3, 4, 8), specs=["-,data,model,-"], grad=(0, 1))
def split_space(x, kernel):
    return conv2d(x, kernel)


@program(f32(8, 16, 16, 4), f32(5, 5, 4, 8), specs=["data,-,-,-"], grad=(0, 1))
def strides(x, kernel):
    return conv2d(x, kernel, strides=(2, 2), padding="VALID")


@program(f32(8, 12, 12, 8), f32(3, 3, 1, 8), specs=["data,-,-,model"], grad=(0, 1))
def depthwise(x, kernel):
    return conv2d(x, kernel, groups=8)


@program(f32(8, 12, 12, 8), f32(3, 3, 4, 8), specs=["data,-,-,-"])
def two_groups(x, kernel):
    return conv2d(x, kernel, groups=2)


@program(f32(8, 12, 12, 4), f32(3, 3, 4, 4), specs=["data,-,-,-"])
def dilated_kernel(x, kernel):
    return conv2d(x, kernel, kernel_dilation=(2, 2))


@program(f32(8, 8, 8, 4), f32(3, 3, 4, 4), specs=["data,-,-,-"], grad=(0, 1))
def transposed(x, kernel):
    return lax.conv_transpose(x, kernel, (2, 2), "SAME")


@program(f32(8, 32, 4), f32(5, 4, 8), specs=["data,model,-"], grad=(0, 1))
def one_dimension(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1,), [(4, 0)], dimension_numbers=("NWC", "WIO", "NWC"))


@program(f32(2, 8, 8, 8, 2), f32(3, 3, 3, 2, 4), specs=["-,data,-,-,-"])
def three_dimensions(x, kernel):
    numbers = ("NDHWC", "DHWIO", "NDHWC")
    return lax.conv_general_dilated(x, kernel, (1, 1, 1), "SAME", dimension_numbers=numbers)


@program(f32(8, 3, 16, 16), f32(8, 3, 3, 3), specs=["data,-,-,-", "model,-,-,-"])
def channels_first(x, kernel):
    return lax.conv(x, kernel, (1, 1), "SAME")


@program(bf16(8, 16, 16, 4), bf16(3, 3, 4, 8), specs=["data,-,-,-"])
def bfloat16_with_wide_result(x, kernel):
    return lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), preferred_element_type=jnp.float32
    )


@program(f32(8, 16, 16, 4), specs=["data,model,-,-"], grad=(0,))
def pooling(x):
    largest = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    mean = lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
    return largest, mean / 9.0


@program(f32(8, 16, 16, 4), specs=["data,-,-,-"], grad=(0,))
def overlapping_max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


@program(f32(8, 16, 16, 4), specs=["data,-,-,-"])
def patches(x):
    return lax.conv_general_dilated_patches(x, (3, 3), (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@program(f32(2, 16, 16, 3), specs=["-,data,-,-"], grad=(0,))
def resize(x):
    return jax.image.resize(x, (2, 32, 8, 3), "bilinear")


@program(f32(8, 16, 16, 4), f32(3, 3, 4, 4), specs=["data,-,-,-"], grad=(0, 1))
def batch_normalization_after_convolution(x, kernel):
    y = conv2d(x, kernel)
    mean = y.mean((0, 1, 2))
    return (y - mean) * lax.rsqrt(y.var((0, 1, 2)) + 1e-3)
