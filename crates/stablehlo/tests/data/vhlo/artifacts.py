"""Writes portable artifacts with jaxlib and JAX, and the text that jaxlib prints for them.

    python artifacts.py OUT corpus FILE... [-- VERSION...]
    python artifacts.py OUT export

The first command writes an artifact for each StableHLO file and each target version. The second writes the output of
`jax.export` for some functions. An artifact is `OUT/NAME.bc`, and `OUT/NAME.mlir` is the text that jaxlib prints for it.
`OUT/NAME.same` exists if jaxlib prints the same text for the StableHLO file. The script prints the names.
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
from jax import export
from jax._src.interpreters import mlir
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def put(out: pathlib.Path, name: str, artifact: bytes, original: str | None) -> None:
    text = str(stablehlo.deserialize_portable_artifact(mlir.make_ir_context(), artifact))
    (out / f"{name}.bc").write_bytes(artifact)
    (out / f"{name}.mlir").write_text(text)
    if text == original:
        (out / f"{name}.same").touch()
    print(name)


def corpus(out: pathlib.Path, files: list[str], versions: list[str]) -> None:
    for file in map(pathlib.Path, files):
        for version in versions:
            for how in ["plain", "jax"]:
                with mlir.make_ir_context() as context:
                    module = ir.Module.parse(file.read_text(), context)
                    original = str(module)
                    try:
                        if how == "plain":
                            artifact = stablehlo.serialize_portable_artifact(module, version, True)
                        else:
                            artifact = _jax.mlir.serialize_portable_artifact(module, version, True)
                    except Exception:
                        # The program needs a newer version.
                        continue
                put(out, f"{file.stem}.{version}.{how}", artifact, original)


def exports(out: pathlib.Path) -> None:
    def mlp(params, x):
        for w, b in params:
            x = jax.nn.gelu(x @ w + b)
        return jax.nn.log_softmax(x)

    params = [(jnp.ones((8, 16)), jnp.zeros(16)), (jnp.ones((16, 4), jnp.bfloat16), jnp.zeros(4))]
    rows, columns = export.symbolic_shape("rows, columns")
    functions = {
        "mlp": (mlp, params, jnp.ones((2, 8))),
        "gradient": (jax.grad(lambda p, x: mlp(p, x).sum()), params, jnp.ones((2, 8))),
        "scan": (lambda x: jax.lax.scan(lambda c, r: (c + r.sum(), jnp.sin(c) * r), 0.0, x), jnp.ones((5, 3))),
        "random": (lambda key: jax.random.normal(key, (4, 4)), jax.random.PRNGKey(0)),
        "cond": (lambda i, x: jax.lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x), 1, jnp.ones(3)),
        "linalg": (jnp.linalg.cholesky, jnp.eye(4)),
        "sort": (lambda x: (jnp.argsort(x), jax.lax.top_k(x, 2)), jnp.arange(6.0)),
        "erf": (lambda x: jax.scipy.special.erf(x) + jnp.square(x), jnp.ones(3)),
        "shapes": (lambda x: jnp.concatenate([x, x.T.reshape(x.shape)]), jax.ShapeDtypeStruct((rows, columns), "float32")),
    }
    for name, (function, *args) in functions.items():
        exported = export.export(jax.jit(function))(*args)
        put(out, f"export_{name}", exported.mlir_module_serialized, None)


def main() -> None:
    out = pathlib.Path(sys.argv[1])
    if sys.argv[2] == "export":
        exports(out)
    else:
        split = sys.argv.index("--")
        corpus(out, sys.argv[3:split], sys.argv[split + 1 :])


main()
