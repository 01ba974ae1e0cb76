//! `gesdd`: `A = U diag(s) V^H`.
//!
//! With `M = U^H dA V`: `ds = diag(Re M)`, `dU = U (F * (M s + (M s)^H) + D)` and `dV = V (F * (s M + (s M)^H))`. `F` is `1 / (s_j^2 -
//! s_i^2)` off the diagonal and 0 on it, `M s` scales columns, and `s M` scales rows. `D` is the antihermitian part of the diagonal of `M`
//! divided by `s` (0 for real matrices). If `U` or `V` is not square, its tangent also has a term for the component of `dA` that is
//! orthogonal to its columns.

use shardc_ir::{Diagnostic, TensorBuild, ValueId};
use smallvec::smallvec;

use super::super::linear_algebra::{adjoint, diagonal_of, identity_like, matmul};
use super::super::unsupported;
use super::eigh::spread_both;
use super::{Again, letter, option};
use crate::emit::Arithmetic;
use crate::linearize::{At, Rule};

pub(super) fn rule(at: &mut At<'_, '_>) -> Result<Rule, Box<Diagnostic>> {
    let error = unsupported(at);
    let results = at.linear.module.ops[at.op].results.clone();
    let (Some(da), &[_, s, u, vh, _]) = (at.tangent(0), results.as_slice()) else { return Err(error) };
    let shape = at.linear.module.shape(at.operand(0)).to_vec();
    let rank = shape.len();
    let (rows, columns) = (shape[rank - 2], shape[rank - 1]);
    let mode = option(at, "mode");
    if mode == Some(letter::NONE) {
        let (u, vh) = vectors(at, rows.min(columns)).ok_or_else(|| unsupported(at))?;
        let (uh, v) = {
            let mut e = at.primal();
            (adjoint(&mut e, u), adjoint(&mut e, vh))
        };
        let mut tape = at.tape();
        let right = matmul(&mut tape, da, v);
        let m = matmul(&mut tape, uh, right);
        let ds = diagonal_of(at, m);
        return Ok(Rule::Tangents(smallvec![None, ds, None, None, None]));
    }
    let is_whole = mode == Some(letter::SMALL) || mode == Some(letter::ALL) && rows == columns;
    if !is_whole {
        return Err(error);
    }
    let (uh, v, by_column, by_row, factor) = {
        let mut e = at.primal();
        let (uh, v) = (adjoint(&mut e, u), adjoint(&mut e, vh));
        let Some((by_column, by_row)) = spread_both(&mut e, s) else { return Err(error) };
        let (sum, difference) = (e.add(by_column, by_row), e.sub(by_column, by_row));
        let squares = e.mul(sum, difference);
        let eye = identity_like(&mut e, squares);
        let divisor = e.add(squares, eye);
        let one = e.number(1.0, divisor);
        let inverse = e.div(one, divisor);
        let factor = e.sub(inverse, eye);
        let dtype = e.type_of(u).dtype;
        let alike = |e: &mut crate::emit::Emit<'_>, value: ValueId| e.convert(value, dtype);
        (uh, v, alike(&mut e, by_column), alike(&mut e, by_row), alike(&mut e, factor))
    };
    let mut tape = at.tape();
    let right = matmul(&mut tape, da, v);
    let m = matmul(&mut tape, uh, right);
    let Some(ds) = diagonal_of(at, m) else { return Err(error) };
    // Computes `F * (x + x^H)`, where `x` is `M` scaled; used for `U` and for `V`.
    let rotation = |at: &mut At<'_, '_>, scale: ValueId| {
        let mut tape = at.tape();
        let scaled = tape.mul(m, scale);
        let turned = adjoint(&mut tape, scaled);
        let both = tape.add(scaled, turned);
        tape.mul(both, factor)
    };
    let mut of_u = rotation(at, by_column);
    let of_v = rotation(at, by_row);
    if at.is_complex(u) {
        // `D = (M - M^H) / 2 / s` on the diagonal.
        let scale = {
            let mut e = at.primal();
            let eye = identity_like(&mut e, by_row);
            let (half, zero, one) = (e.number(0.5, by_row), e.number(0.0, by_row), e.number(1.0, by_row));
            let is_zero =
                super::super::compare::compare(&mut e, shardc_ir::CompareDirection::EQ, by_row, zero);
            let divisor = e.alike_to(shardc_ir::OpKind::Select, &[is_zero, one, by_row], by_row);
            let halves = e.mul(eye, half);
            e.div(halves, divisor)
        };
        let mut tape = at.tape();
        let turned = adjoint(&mut tape, m);
        let twice = tape.sub(m, turned);
        let on_diagonal = tape.mul(twice, scale);
        of_u = tape.add(of_u, on_diagonal);
    }
    let mut tape = at.tape();
    let mut du = matmul(&mut tape, u, of_u);
    let mut dv = matmul(&mut tape, v, of_v);
    if rows > columns {
        du = beside(at, du, (right, u, uh), s)?;
    }
    if columns > rows {
        let turned = {
            let mut tape = at.tape();
            let turned = adjoint(&mut tape, da);
            matmul(&mut tape, turned, u)
        };
        dv = beside(at, dv, (turned, v, vh), s)?;
    }
    let dvh = adjoint(&mut at.tape(), dv);
    Ok(Rule::Tangents(smallvec![None, Some(ds), Some(du), Some(dvh), None]))
}

/// Returns `change + (x - q q^H x) / s`, where each column is divided by its singular value.
fn beside(
    at: &mut At<'_, '_>,
    change: ValueId,
    (x, q, qh): (ValueId, ValueId, ValueId),
    s: ValueId,
) -> Result<ValueId, Box<Diagnostic>> {
    let error = unsupported(at);
    let divisor = {
        let mut e = at.primal();
        let ty = e.type_of(q);
        let rank = ty.shape.len() as u32;
        let dims = (0..rank - 2).chain([rank - 1]).collect();
        let Some(spread) = e.spread(s, dims, &ty.shape) else { return Err(error) };
        e.convert(spread, ty.dtype)
    };
    let mut tape = at.tape();
    let within = matmul(&mut tape, qh, x);
    let within = matmul(&mut tape, q, within);
    let across = tape.sub(x, within);
    let scaled = tape.div(across, divisor);
    Ok(tape.add(change, scaled))
}

/// `U` and `V^H` with `count` columns and rows, for a call that computes only singular values.
fn vectors(at: &mut At<'_, '_>, count: i64) -> Option<(ValueId, ValueId)> {
    let results = at.linear.module.ops[at.op].results.clone();
    let mut types: Vec<_> = results.iter().map(|&r| at.linear.module.values[r].ty).collect();
    let mut resize = |at: &mut At<'_, '_>, i: usize, from_end: usize| {
        let ty = at.linear.module.tensor(results[i])?.clone();
        let mut shape = ty.shape.to_vec();
        let place = shape.len().checked_sub(from_end)?;
        shape[place] = count;
        types[i] = at.linear.module.types.tensor(&shape, ty.dtype);
        Some(())
    };
    resize(at, 2, 1)?;
    resize(at, 3, 2)?;
    let operands = [at.operand(0)];
    let again = Again {
        target: None,
        mode: Some(letter::SMALL),
        operands: &operands,
        types: &types,
        operand_layouts: &[Ok(0)],
        result_layouts: &[0, 1, 2, 3, 4],
    };
    let made = again.write(at);
    Some((*made.get(2)?, *made.get(3)?))
}
