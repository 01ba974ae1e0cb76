"""Factorizations, solvers and what is built on them; on a CPU they are calls of LAPACK."""

import jax
import jax.numpy as jnp
from catalog import arg, f32, program
from jax import lax

RTOL = 2e-3


def _definite(x):
    return x @ jnp.swapaxes(x, -1, -2) + 8.0 * jnp.eye(x.shape[-1])


@program(f32(8, 4, 4), specs=["data,-,-"], grad=(0,), rtol=RTOL)
def cholesky(x):
    return jnp.linalg.cholesky(_definite(x))


@program(f32(8, 6, 4), specs=["data,-,-"], grad=(0,), rtol=RTOL)
def qr(x):
    return jnp.linalg.qr(x + jnp.eye(6, 4))


@program(f32(8, 4, 4), specs=["data,-,-"], grad=(0,), rtol=RTOL)
def eigh(x):
    return jnp.linalg.eigh(_definite(x) + jnp.diag(jnp.arange(4.0)))[0]


@program(f32(8, 4, 6), specs=["data,-,-"], grad=(0,), rtol=RTOL)
def singular_values(x):
    return jnp.linalg.svd(x + jnp.eye(4, 6) * jnp.arange(1.0, 5.0)[:, None], compute_uv=False)


@program(f32(8, 4, 4), specs=["data,-,-"])
def svd_with_vectors(x):
    u, s, vt = jnp.linalg.svd(x + jnp.diag(jnp.arange(1.0, 5.0)), full_matrices=False)
    return jnp.einsum("bij,bj,bjk->bik", u, s, vt)


@program(f32(6, 6), f32(6, 2), specs=["", "-,model"], grad=(0, 1), rtol=RTOL)
def solve(a, b):
    return jnp.linalg.solve(a + 4.0 * jnp.eye(6), b)


@program(f32(8, 4, 4), specs=["data,-,-"], grad=(0,), rtol=RTOL)
def determinant_and_inverse(x):
    shifted = x + 4.0 * jnp.eye(4)
    return jnp.linalg.slogdet(shifted)[1], jnp.linalg.inv(shifted)


@program(f32(8, 4, 4), f32(8, 4, 3), specs=["data,-,-", "data,-,-"], grad=(0, 1), rtol=RTOL)
def triangular_solve(a, b):
    lower = jnp.tril(a) + 3.0 * jnp.eye(4)
    return jax.lax.linalg.triangular_solve(lower, b, left_side=True, lower=True)


@program(f32(8, 4, 4), specs=["data,-,-"])
def lu_factors(x):
    lu, pivots, permutation = lax.linalg.lu(x + 4.0 * jnp.eye(4))
    return lu, permutation


@program(f32(6, 6))
def eigenvalues_of_a_general_matrix(x):
    return jnp.abs(jnp.linalg.eigvals(x)).sum()


@program(f32(6, 6))
def schur_and_hessenberg(x):
    return lax.linalg.schur(x)[0], lax.linalg.hessenberg(x)[0]


@program(f32(8), f32(8), f32(8), f32(8, 2), specs=["", "", "", "-,model"])
def tridiagonal_solve(low, main, high, b):
    return lax.linalg.tridiagonal_solve(low.at[0].set(0.0), main + 4.0, high.at[-1].set(0.0), b)


@program(f32(8, 4), f32(8), specs=["data,-", "data"])
def least_squares(a, b):
    return jnp.linalg.lstsq(a + jnp.eye(8, 4), b)[0]


@program(f32(4, 4), grad=(0,), rtol=RTOL)
def matrix_exponential(x):
    return jax.scipy.linalg.expm(0.1 * x)


@program(f32(16, 16), f32(16), specs=["data,-", "data"])
def conjugate_gradients(a, b):
    return jax.scipy.sparse.linalg.cg(lambda v: _definite(a) @ v, b, maxiter=5)[0]


@program(f32(16, 16), f32(16), specs=["data,-", "data"])
def gmres(a, b):
    return jax.scipy.sparse.linalg.gmres(lambda v: (a + 20.0 * jnp.eye(16)) @ v, b, maxiter=2, restart=4)[0]


@program(arg(jnp.complex64, 4, 4), specs=["data,-"])
def complex_cholesky(x):
    return jnp.linalg.cholesky(x @ x.conj().T + 8.0 * jnp.eye(4))


@program(f32(4, 4, 4), f32(4, 4, 2), specs=["data,-,-", "data,-,-"], x64=True)
def solve_in_double_precision(a, b):
    return jnp.linalg.solve(a.astype(jnp.float64) + 4.0 * jnp.eye(4), b.astype(jnp.float64))


@program(f32(16, 8), specs=["data,-"], grad=(0,), rtol=RTOL)
def pairwise_distances_and_norms(x):
    squares = jnp.sum((x[:, None] - x[None]) ** 2, -1)
    return jnp.sqrt(squares + 1e-3), jnp.linalg.norm(x, axis=1)
