//! `geqrf` and `orgqr`: the QR decomposition `A = Q R` of a matrix with at least as many rows as columns; `Q` has the shape of `A`.
//!
//! With `M = Q^H dA R^-1` and the antisymmetric `S = tril(M, -1) - tril(M, -1)^H`: `dR = (M - S) R` and `dQ = Q (S - M) + dA R^-1`.
//! `geqrf` returns `R` above Householder vectors. Their tangents are not needed, since `dQ` is computed from `dA` for `orgqr`.

use shardc_ir::{
    CompareDirection, Diagnostic, OpKind, TensorBuild, Transposition, TriangularSpec, UnaryOp, ValueId,
};
use smallvec::smallvec;

use super::super::linear_algebra::{adjoint, diagonal, masked, masked_tangent, matmul, solve_kind};
use super::super::unsupported;
use super::{Again, lu::padded, routine};
use crate::emit::Arithmetic;
use crate::linearize::{At, Rule};

/// The rule of `geqrf`.
pub(super) fn factor(at: &mut At<'_, '_>) -> Result<Rule, Box<Diagnostic>> {
    let error = unsupported(at);
    let results = at.linear.module.ops[at.op].results.clone();
    let (Some(da), [packed, scales]) = (at.tangent(0), results.as_slice()) else { return Err(error) };
    let (packed, scales) = (*packed, *scales);
    let shape = at.linear.module.shape(packed).to_vec();
    let rank = shape.len();
    let (rows, columns) = (shape[rank - 2], shape[rank - 1]);
    if rows < columns || !reads_triangle(at, packed) {
        return Err(error);
    }
    let OpKind::CustomCall(spec) = at.kind() else { return Err(error) };
    let name = if at.is_complex(packed) { "ungqr" } else { "orgqr" };
    let types = [at.linear.module.values[packed].ty];
    let again = Again {
        target: Some(spec.target.replace("geqrf", name)),
        mode: None,
        operands: &[packed, scales],
        types: &types,
        operand_layouts: &[Err(0), Err(1)],
        result_layouts: &[0],
    };
    let Some(&q) = again.write(at).first() else { return Err(error) };
    let is_complex = at.is_complex(packed);
    let (r, qh) = {
        let mut e = at.primal();
        let square = e.range(packed, rank - 2, 0, columns);
        (masked(&mut e, square, CompareDirection::LE), adjoint(&mut e, q))
    };
    let solve = solve_kind(TriangularSpec {
        left_side: false,
        lower: false,
        unit_diagonal: false,
        transpose_a: Transposition::None,
    });
    let mut tape = at.tape();
    let scaled = tape.alike_to(solve, &[r, da], da);
    let m = matmul(&mut tape, qh, scaled);
    let below = masked_tangent(at, m, CompareDirection::GT);
    let mut tape = at.tape();
    let above = adjoint(&mut tape, below);
    let mut s = tape.sub(below, above);
    if is_complex {
        // The diagonal of `R` stays real: the imaginary part of the diagonal of `M` belongs to `S`.
        let mask = diagonal(&mut at.primal(), r, 0);
        let mut tape = at.tape();
        let on_diagonal = tape.mul(m, mask);
        let conjugate = tape.unary(UnaryOp::Conj, on_diagonal);
        let twice = tape.sub(on_diagonal, conjugate);
        let half = at.primal().number(0.5, r);
        let mut tape = at.tape();
        let imaginary = tape.mul(twice, half);
        s = tape.add(s, imaginary);
    }
    let mut tape = at.tape();
    let rest = tape.sub(m, s);
    let dr = matmul(&mut tape, rest, r);
    let of_q = matmul(&mut tape, q, rest);
    let dq = tape.sub(scaled, of_q);
    let dr = padded(&mut tape, dr, rank - 2, rows - columns);
    at.linear.orthogonal.insert(packed, dq);
    Ok(Rule::Tangents(smallvec![Some(dr), None]))
}

/// Returns the tangent of the result of `orgqr` or `ungqr`. It is an error if the operand is not the result of a linearized `geqrf`.
pub(super) fn orthogonal(at: &mut At<'_, '_>) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let packed = at.operand(0);
    let is_like = at.linear.module.values[packed].ty == at.linear.module.values[at.result()].ty;
    let tangent = at.linear.orthogonal.get(&packed).copied().filter(|_| is_like);
    tangent.map(Some).ok_or_else(|| unsupported(at))
}

/// Whether the users of the result of `geqrf` are only `orgqr` and selections of the upper triangle.
fn reads_triangle(at: &mut At<'_, '_>, packed: ValueId) -> bool {
    at.linear.users(packed).into_iter().all(|op| {
        let data = &at.linear.module.ops[op];
        match &data.kind {
            OpKind::CustomCall(spec) => matches!(routine(&spec.target), Some("orgqr" | "ungqr")),
            OpKind::Slice(_) | OpKind::Select | OpKind::Pad(_) => true,
            _ => false,
        }
    })
}
