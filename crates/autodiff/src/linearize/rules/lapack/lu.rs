//! `getrf`: `P A = L U`, with `L` and `U` in one matrix.
//!
//! `L^-1 P dA U^-1 = L^-1 dL + dU U^-1`. The first summand is strictly lower triangular, the second upper triangular, so `d(LU) = L
//! tril(M, -1) + triu(M) U` with `M = L^-1 P dA U^-1`. A factor of a rectangular matrix is extended to a square one by an identity.

use shardc_ir::{
    Build, CompareDirection, CompareType, DType, Diagnostic, DimList, OpKind, PadSpec, SizeList, TensorBuild,
    Transposition, TriangularSpec, ValueId,
};
use smallvec::smallvec;

use super::super::linear_algebra::{diagonal, masked, masked_tangent, matmul, solve_kind};
use super::super::unsupported;
use crate::emit::{Arithmetic, Emit};
use crate::linearize::{At, Rule};

pub(super) fn rule(at: &mut At<'_, '_>) -> Result<Rule, Box<Diagnostic>> {
    let error = unsupported(at);
    let results = at.linear.module.ops[at.op].results.clone();
    let (Some(tangent), [factors, pivots, _]) = (at.tangent(0), results.as_slice()) else {
        return Err(error);
    };
    let (factors, pivots) = (*factors, *pivots);
    let Some(permutation) = permutation(at, pivots, factors) else { return Err(error) };
    let mut e = at.primal();
    let (lower, upper) = (lower(&mut e, factors), upper(&mut e, factors));
    let solve = |left_side: bool| {
        solve_kind(TriangularSpec {
            left_side,
            lower: left_side,
            unit_diagonal: left_side,
            transpose_a: Transposition::None,
        })
    };
    let mut tape = at.tape();
    let permuted = matmul(&mut tape, permutation, tangent);
    let left = tape.alike_to(solve(true), &[lower, permuted], permuted);
    let both = tape.alike_to(solve(false), &[upper, left], left);
    let of_lower = masked_tangent(at, both, CompareDirection::GT);
    let of_upper = masked_tangent(at, both, CompareDirection::LE);
    let mut tape = at.tape();
    let of_lower = matmul(&mut tape, lower, of_lower);
    let of_upper = matmul(&mut tape, of_upper, upper);
    Ok(Rule::Tangents(smallvec![Some(tape.add(of_lower, of_upper)), None, None]))
}

/// Returns the number of dimensions of a batch of matrices, and the numbers of rows and columns of each matrix.
fn sizes(e: &mut Emit<'_>, matrix: ValueId) -> (usize, i64, i64) {
    let shape = e.type_of(matrix).shape;
    let rank = shape.len();
    (rank, shape[rank - 2], shape[rank - 1])
}

/// Returns the lower factor of an LU decomposition as a square matrix, with ones on the diagonal. `factors` contains both factors.
fn lower(e: &mut Emit<'_>, factors: ValueId) -> ValueId {
    let (rank, rows, columns) = sizes(e, factors);
    let strict = masked(e, factors, CompareDirection::GT);
    let square = if columns > rows {
        e.range(strict, rank - 1, 0, rows)
    } else {
        padded(e, strict, rank - 1, rows - columns)
    };
    let ones = diagonal(e, square, 0);
    e.add(square, ones)
}

/// The square upper factor.
fn upper(e: &mut Emit<'_>, factors: ValueId) -> ValueId {
    let (rank, rows, columns) = sizes(e, factors);
    let upper = masked(e, factors, CompareDirection::LE);
    if rows >= columns {
        return e.range(upper, rank - 2, 0, columns);
    }
    let square = padded(e, upper, rank - 2, columns - rows);
    let ones = diagonal(e, square, rows);
    e.add(square, ones)
}

/// Pads a tensor with `by` zeros after the last element along dimension `dim`.
pub(super) fn padded(e: &mut Emit<'_>, value: ValueId, dim: usize, by: i64) -> ValueId {
    if by == 0 {
        return value;
    }
    let ty = e.type_of(value);
    let rank = ty.shape.len();
    let none = SizeList::from_elem(0, rank);
    let mut high = none.clone();
    high[dim] = by;
    let spec = PadSpec { low: none.clone(), high, interior: none };
    let mut shape = ty.shape.to_vec();
    shape[dim] += by;
    let zero = e.zeros(&[], ty.dtype);
    e.tensor(OpKind::Pad(Box::new(spec)), &[value, zero], &shape, ty.dtype)
}

/// The permutation matrix of pivots (row numbers from 1, swapped in order), in the type of `like`.
fn permutation(at: &mut At<'_, '_>, pivots: ValueId, like: ValueId) -> Option<ValueId> {
    let pivots_shape = at.linear.module.shape(pivots).to_vec();
    let (last, count) = (pivots_shape.len() - 1, *pivots_shape.last()?);
    let rows = at.linear.module.shape(like)[last];
    let mut shape = pivots_shape.clone();
    shape[last] = rows;
    let batch: DimList = (0..last as u32).collect();
    let along = DimList::from_slice(&[last as u32]);
    let signed = Some(CompareType::Signed);
    let (step, numbers) = {
        let mut e = at.primal();
        let zero = e.splat(&0i32.to_le_bytes(), &[], DType::I32);
        (zero, e.tensor(OpKind::Iota { dim: last as u32 }, &[], &shape, DType::I32))
    };
    let types = [at.linear.module.values[step].ty, at.linear.module.values[numbers].ty];
    let (cond, body) = (at.linear.module.add_region(&types), at.linear.module.add_region(&types));
    let op = at.op;
    let mut ops = Vec::new();
    {
        let step = at.linear.module.regions[cond].args[0];
        let mut e = Emit::new(at.linear.module, &mut ops, op);
        let end = e.splat(&i32::try_from(count).ok()?.to_le_bytes(), &[], DType::I32);
        let is_on = e.tensor(OpKind::Compare(CompareDirection::LT, signed), &[step, end], &[], DType::I1);
        e.ret(&[is_on]);
    }
    at.linear.module.set_ops(cond, std::mem::take(&mut ops));
    {
        let args = at.linear.module.regions[body].args.clone();
        let (step, order) = (args[0], args[1]);
        let mut e = Emit::new(at.linear.module, &mut ops, op);
        let equal = |e: &mut Emit<'_>, shape: &[i64], row: ValueId| {
            let numbers = e.tensor(OpKind::Iota { dim: last as u32 }, &[], shape, DType::I32);
            e.tensor(OpKind::Compare(CompareDirection::EQ, signed), &[numbers, row], shape, DType::I1)
        };
        // Returns the element of `values` at which a mask is true.
        let pick = |e: &mut Emit<'_>, mask: ValueId, values: ValueId| {
            let zero = e.zeros_like(values);
            let chosen = e.alike_to(OpKind::Select, &[mask, values, zero], values);
            e.sum(chosen, along.clone())
        };
        let step_of_pivots = e.spread(step, DimList::new(), &pivots_shape)?;
        let is_pivot = equal(&mut e, &pivots_shape, step_of_pivots);
        let pivot = pick(&mut e, is_pivot, pivots)?;
        let one = e.splat(&1i32.to_le_bytes(), &pivots_shape[..last], DType::I32);
        let pivot = e.sub(pivot, one);
        let here = e.spread(step, DimList::new(), &shape)?;
        let there = e.spread(pivot, batch.clone(), &shape)?;
        let (is_here, is_there) = (equal(&mut e, &shape, here), equal(&mut e, &shape, there));
        let (of_here, of_there) = (pick(&mut e, is_here, order)?, pick(&mut e, is_there, order)?);
        let of_here = e.spread(of_here, batch.clone(), &shape)?;
        let of_there = e.spread(of_there, batch.clone(), &shape)?;
        let next = e.alike_to(OpKind::Select, &[is_there, of_here, order], order);
        let next = e.alike_to(OpKind::Select, &[is_here, of_there, next], order);
        let one = e.splat(&1i32.to_le_bytes(), &[], DType::I32);
        let step = e.add(step, one);
        e.ret(&[step, next]);
    }
    at.linear.module.set_ops(body, ops);
    let mut e = at.primal();
    let looped = e.op(OpKind::While, &[step, numbers], &types, &[cond, body]);
    let order = e.module().ops[looped].results[1];
    let dtype = e.type_of(like).dtype;
    let mut square = shape.clone();
    square.push(rows);
    let by_row: DimList = (0..=last as u32).collect();
    let order = e.spread(order, by_row, &square)?;
    let columns = e.tensor(OpKind::Iota { dim: last as u32 + 1 }, &[], &square, DType::I32);
    let is_one =
        e.tensor(OpKind::Compare(CompareDirection::EQ, signed), &[order, columns], &square, DType::I1);
    Some(e.convert(is_one, dtype))
}
