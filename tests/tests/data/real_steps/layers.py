"""Layers that the real steps share. Parameters are in f32 and computed with in the type of what meets them."""
import jax
import jax.numpy as jnp
from jax import lax, nn
from steps import array, tree_map

BF16 = jnp.bfloat16


def stacked(tree, count):
    """Parameters of so many layers, for a scan along them."""
    return tree_map(lambda a: array(count, *a.shape, dtype=a.dtype), tree)


def narrow(tree):
    return tree_map(lambda a: a.astype(BF16), tree)


def linear_of(*shape):
    return {"w": array(*shape), "b": array(shape[-1])}


def linear(p, x):
    return x @ p["w"].astype(x.dtype) + p["b"].astype(x.dtype)


def norm_of(width):
    return {"scale": array(width), "bias": array(width)}


def layer_norm(p, x):
    wide = x.astype(jnp.float32)
    mean, square = wide.mean(-1, keepdims=True), wide.var(-1, keepdims=True)
    return ((wide - mean) * lax.rsqrt(square + 1e-6) * p["scale"] + p["bias"]).astype(x.dtype)


def rms_norm(scale, x):
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def group_norm(p, x, groups=32):
    """Over all dimensions but the first, which is of examples."""
    wide = x.astype(jnp.float32).reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    mean, square = wide.mean((1, 3), keepdims=True), wide.var((1, 3), keepdims=True)
    normed = ((wide - mean) * lax.rsqrt(square + 1e-5)).reshape(x.shape)
    return (normed * p["scale"] + p["bias"]).astype(x.dtype)


def conv(x, kernel, stride=1, padding="SAME", groups=1):
    """A convolution over all dimensions between examples and channels."""
    space = "DHW"[3 - (x.ndim - 2):]
    strides = (stride,) * (x.ndim - 2) if isinstance(stride, int) else stride
    numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    return lax.conv_general_dilated(
        x, kernel.astype(x.dtype), strides, padding, dimension_numbers=numbers, feature_group_count=groups)


def attend(q, k, v, bias=None):
    """Of [batch, place, head, feature]; softmax in f32."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    scores = scores if bias is None else scores + bias
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores).astype(v.dtype), v)


def causal(length):
    return jnp.where(jnp.arange(length)[:, None] >= jnp.arange(length), 0.0, -1e9)


def attention_of(width, context=None):
    context = context or width
    return {"q": linear_of(width, width), "k": linear_of(context, width), "v": linear_of(context, width), "o": linear_of(width, width)}


def attention(p, x, context, heads, bias=None):
    split = lambda a: a.reshape(*a.shape[:2], heads, -1)
    q, k, v = split(linear(p["q"], x)), split(linear(p["k"], context)), split(linear(p["v"], context))
    return linear(p["o"], attend(q, k, v, bias).reshape(x.shape))


def block_of(width, hidden=None, crossed=None):
    """A block of a transformer, norms first; with attention to something of width `crossed`."""
    hidden = hidden or 4 * width
    p = {"norm1": norm_of(width), "attention": attention_of(width), "norm2": norm_of(width)}
    p |= {"up": linear_of(width, hidden), "down": linear_of(hidden, width)}
    return p | {"norm3": norm_of(width), "cross": attention_of(width, crossed)} if crossed else p


def block(p, x, heads, bias=None, context=None, activation=nn.gelu):
    normed = layer_norm(p["norm1"], x)
    x = x + attention(p["attention"], normed, normed, heads, bias)
    if context is not None:
        x = x + attention(p["cross"], layer_norm(p["norm3"], x), context, heads)
    return x + linear(p["down"], activation(linear(p["up"], layer_norm(p["norm2"], x))))


def scanned(layer, stack, x, again=True):
    """x through each layer of a stack, computed again by the backward part unless told otherwise."""
    layer = jax.checkpoint(layer) if again else layer
    return lax.scan(lambda x, p: (layer(p, x), None), x, stack)[0]


def token_loss(logits, tokens):
    """The mean of what tokens cost, in f32."""
    logits = logits.astype(jnp.float32)
    return (nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, tokens[..., None], -1)[..., 0]).mean()


def patches(images, size):
    b, h, w, c = images.shape
    cut = images.reshape(b, h // size, size, w // size, size, c).transpose(0, 1, 3, 2, 4, 5)
    return cut.reshape(b, (h // size) * (w // size), size * size * c)


def unit(x):
    return x * lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)
