//! `syevd` and `heevd`: `A V = V diag(w)` of a Hermitian matrix.
//!
//! With `M = V^H dA V`: `dw = diag(M)` and `dV = V (F * M)`, where `F` is `1 / (w_j - w_i)` off the diagonal and 0 on it. Equal
//! eigenvalues result in infinities, as in JAX.

use shardc_ir::{Diagnostic, DimList, TensorBuild, ValueId};
use smallvec::smallvec;

use super::super::linear_algebra::{adjoint, diagonal_of, identity_like, matmul};
use super::super::unsupported;
use super::{Again, letter, option};
use crate::emit::{Arithmetic, Emit};
use crate::linearize::{At, Rule};

pub(super) fn rule(at: &mut At<'_, '_>) -> Result<Rule, Box<Diagnostic>> {
    let error = unsupported(at);
    let results = at.linear.module.ops[at.op].results.clone();
    let (Some(da), [vectors, values, _]) = (at.tangent(0), results.as_slice()) else { return Err(error) };
    let (mut v, w) = (*vectors, *values);
    if option(at, "mode") != Some(letter::VECTORS) {
        let types: Vec<_> = results.iter().map(|&r| at.linear.module.values[r].ty).collect();
        let operands = [at.operand(0)];
        let again = Again {
            target: None,
            mode: Some(letter::VECTORS),
            operands: &operands,
            types: &types,
            operand_layouts: &[Ok(0)],
            result_layouts: &[0, 1, 2],
        };
        v = again.write(at).first().copied().ok_or_else(|| unsupported(at))?;
    }
    let (vh, factor) = {
        let mut e = at.primal();
        let Some(factor) = inverse_differences(&mut e, w) else { return Err(error) };
        let dtype = e.type_of(v).dtype;
        (adjoint(&mut e, v), e.convert(factor, dtype))
    };
    let mut tape = at.tape();
    let right = matmul(&mut tape, da, v);
    let m = matmul(&mut tape, vh, right);
    let Some(dw) = diagonal_of(at, m) else { return Err(error) };
    let mut tape = at.tape();
    let rotated = tape.mul(m, factor);
    let dv = matmul(&mut tape, v, rotated);
    Ok(Rule::Tangents(smallvec![Some(dv), Some(dw), None]))
}

/// Returns the matrix whose element in row `i` and column `j` is `1 / (w_j - w_i)`; its diagonal is 0.
fn inverse_differences(e: &mut Emit<'_>, w: ValueId) -> Option<ValueId> {
    let (by_column, by_row) = spread_both(e, w)?;
    let difference = e.sub(by_column, by_row);
    let eye = identity_like(e, difference);
    let divisor = e.add(difference, eye);
    let one = e.number(1.0, divisor);
    let inverse = e.div(one, divisor);
    Some(e.sub(inverse, eye))
}

/// Broadcasts a vector to two matrices: the first has the vector as each row, the second as each column.
pub(super) fn spread_both(e: &mut Emit<'_>, vector: ValueId) -> Option<(ValueId, ValueId)> {
    let mut shape = e.type_of(vector).shape.to_vec();
    let last = shape.len() - 1;
    shape.push(shape[last]);
    let by_row: DimList = (0..=last as u32).collect();
    let mut by_column = by_row.clone();
    by_column[last] += 1;
    Some((e.spread(vector, by_column, &shape)?, e.spread(vector, by_row, &shape)?))
}
