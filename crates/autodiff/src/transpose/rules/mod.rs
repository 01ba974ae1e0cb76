//! Transposition rules: one for each operation that differentiation rules write to a tape.

mod collectives;
mod convolution;
mod dot;
mod elementwise;
mod indexing;
mod linear_algebra;
mod ragged;
mod ragged_exchange;
mod shape;
mod window;

use shardc_ir::{BinaryOp, Diagnostic, OpId, OpKind, TensorBuild, UnaryOp, ValueId};

use super::{Sign, Transposed};

/// Passes the cotangents of an operation's results, or their negation, to its operands.
///
/// # Errors
/// Returns an error if the operation is not linear in its operands that are tangents, or has no rule.
pub(super) fn transpose(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    asked: &[Option<ValueId>],
    sign: Sign,
) -> Result<(), Box<Diagnostic>> {
    for i in t.linear_operands(op) {
        let operand = t.linear.module.ops[op].operands[i];
        let takes_off = match t.linear.module.ops[op].kind {
            OpKind::Unary(UnaryOp::Negate) => true,
            OpKind::Binary(BinaryOp::Subtract) => i == 1,
            _ => false,
        };
        let part = match t.linear.module.ops[op].kind.clone() {
            OpKind::ReduceWindow(spec) => window::reduce_window(t, op, &spec, i, asked),
            _ => match asked.first() {
                Some(&Some(ct)) => of_operand(t, op, i, ct)?,
                _ => None,
            },
        };
        if let Some(part) = part {
            t.ask_signed(operand, if takes_off { sign.negated() } else { sign }, part);
        }
    }
    Ok(())
}

/// Returns the cotangent of operand `i`.
fn of_operand(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    i: usize,
    ct: ValueId,
) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let kind = t.linear.module.ops[op].kind.clone();
    let found = match &kind {
        OpKind::Unary(UnaryOp::Negate | UnaryOp::Real | UnaryOp::Imag | UnaryOp::Conj)
        | OpKind::Binary(
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Complex,
        )
        | OpKind::Select
        | OpKind::Convert
        | OpKind::ReducePrecision { .. } => elementwise::of_operand(t, op, i, ct),
        OpKind::BroadcastInDim { dims } => shape::broadcast(t, op, dims, ct),
        OpKind::Reshape => shape::reshape(t, op, ct),
        OpKind::Transpose { permutation } => shape::permute(t, op, permutation, ct),
        OpKind::ShardingConstraint(sharding) | OpKind::Reshard(sharding) => {
            let constrained = t.emit(op).alike(kind.clone(), &[ct]);
            t.linear.module.shardings.set(constrained, Some(*sharding));
            Some(constrained)
        }
        kind if kind.is_ragged_all_to_all() => ragged_exchange::ragged_all_to_all(t, op, i, ct),
        // Custom calls on a tape are sharding annotations.
        OpKind::CustomCall(_) => Some(t.emit(op).alike(kind, &[ct])),
        OpKind::Reverse { .. } => Some(t.emit(op).alike(kind, &[ct])),
        // The cotangent needs no barrier: it has no users before the value is available.
        OpKind::OptimizationBarrier => Some(ct),
        OpKind::Slice(spec) => shape::slice(t, op, spec, ct),
        OpKind::Pad(spec) => shape::pad(t, op, spec, i, ct),
        OpKind::Concatenate { dim } => shape::concatenate(t, op, *dim, i, ct),
        OpKind::Reduce { dims } => shape::reduce(t, op, dims, ct),
        OpKind::DynamicSlice { .. } => indexing::dynamic_slice(t, op, ct),
        OpKind::DynamicUpdateSlice => indexing::dynamic_update_slice(t, op, i, ct),
        OpKind::Gather(spec) => indexing::gather(t, op, spec, ct),
        OpKind::Scatter(spec) => indexing::scatter(t, op, spec, i, ct),
        OpKind::SelectAndScatter(spec) => window::select_and_scatter(t, op, spec, ct),
        OpKind::DotGeneral(spec) => dot::dot(t, op, spec, i, ct),
        OpKind::RaggedDot(spec) => ragged::ragged_dot(t, op, spec, i, ct),
        OpKind::Convolution(spec) => convolution::convolution(t, op, spec, i, ct),
        OpKind::TriangularSolve(spec) => linear_algebra::triangular_solve(t, op, spec, ct),
        OpKind::Fft { kind, length } => linear_algebra::fft(t, op, *kind, length, ct),
        kind if kind.collective().is_some() => collectives::of_operand(t, op, ct),
        _ => None,
    };
    match found {
        Some(part) => Ok(Some(part)),
        None => Err(unknown(t, op)),
    }
}

/// The error for an operation that a differentiation rule wrote to a tape although it has no transposition rule.
fn unknown(t: &Transposed<'_, '_>, op: OpId) -> Box<Diagnostic> {
    let data = &t.linear.module.ops[op];
    let message = format!("no transposition rule for {} on tangents", data.kind.title());
    Box::new(Diagnostic::internal("SH1002", message).at(data.span))
}
