//! The rules of differentiation: one function for each kind of operation.
//!
//! A rule may put operations behind the one at hand, and puts onto the tape what is linear in the tangents of its operands; it
//! returns the tangents of the results, none for what does not change. It is asked only if some operand has a tangent.

mod custom;
mod elementwise;
mod indexing;
mod linear_algebra;
mod products;
mod reductions;
mod scatter;
mod shape;
mod sorting;
mod windows;

use shardc_ir::{BinaryOp, Build, Diagnostic, OpKind, ShardingId, TensorBuild, ValueId};
use smallvec::smallvec;

use super::{At, Rule, Tangents, branches, loops, once};
use crate::checkpoint::CHECKPOINT_NAME;
use crate::emit::Arithmetic;

/// Linearizes one operation.
///
/// # Errors
/// It has no derivative, or none that is known.
pub(super) fn linearize(at: &mut At<'_, '_>) -> Result<Rule, Box<Diagnostic>> {
    // What counts or decides does not change by a little.
    let results = at.linear.module.ops[at.op].results.clone();
    if !results.iter().any(|&v| at.can_change(v)) {
        return Ok(Rule::nothing(results.len()));
    }
    if let Some(rule) = custom::by_rule(at)? {
        return Ok(rule);
    }
    let one = |tangent: Option<ValueId>| -> Result<Tangents, Box<Diagnostic>> { Ok(smallvec![tangent]) };
    let tangents = match at.kind() {
        OpKind::Unary(op) => one(elementwise::unary(at, op)?),
        OpKind::Binary(op) => one(elementwise::binary(at, op)?),
        OpKind::Select => one(elementwise::select(at)),
        OpKind::Clamp => one(elementwise::clamp(at)),
        OpKind::Convert
        | OpKind::ReducePrecision { .. }
        | OpKind::BroadcastInDim { .. }
        | OpKind::Reshape
        | OpKind::Transpose { .. }
        | OpKind::Reverse { .. }
        | OpKind::Slice(_) => one(shape::alike(at)),
        OpKind::DynamicSlice { .. } => one(indexing::dynamic_slice(at)),
        OpKind::DynamicUpdateSlice => one(indexing::dynamic_update_slice(at)),
        OpKind::Concatenate { .. } => one(shape::concatenate(at)),
        OpKind::Pad(_) => one(shape::pad(at)),
        OpKind::DotGeneral(_) | OpKind::Convolution(_) => one(products::product(at)),
        OpKind::Reduce { dims } => return reductions::reduce(at, &dims),
        OpKind::ReduceWindow(spec) => return windows::reduce_window(at, &spec),
        OpKind::Sort { dim, .. } => sorting::sort(at, dim),
        OpKind::TopK { .. } => sorting::top_k(at),
        OpKind::Fft { .. } => one(linear_algebra::fft(at)),
        OpKind::TriangularSolve(spec) => one(linear_algebra::triangular_solve(at, &spec)?),
        OpKind::Cholesky { lower } => one(linear_algebra::cholesky(at, lower)?),
        OpKind::Gather(_) => one(indexing::gather(at)),
        OpKind::Scatter(spec) => scatter::scatter(at, &spec),
        OpKind::SelectAndScatter(_) => one(windows::select_and_scatter(at)?),
        OpKind::OptimizationBarrier => Ok(barrier(at)),
        OpKind::Case | OpKind::If => branches::branches(at),
        OpKind::NamedComputation(_) => once::named_computation(at),
        OpKind::Call { callee } => return once::call(at, &callee).ok_or_else(|| unsupported(at)),
        OpKind::ShardingConstraint(sharding) => one(constraint(at, sharding)),
        OpKind::Composite(spec) if *spec.name == *CHECKPOINT_NAME => Ok(barrier(at)),
        OpKind::While => loops::while_loop(at),
        _ => Err(unsupported(at)),
    };
    tangents.map(Rule::Tangents)
}

/// A barrier holds values; their tangents go on as they come.
fn barrier(at: &mut At<'_, '_>) -> Tangents {
    (0..at.num_operands()).map(|i| at.tangent(i)).collect()
}

/// What is sharded in a way changes by what is sharded in that way, unless that is left open.
fn constraint(at: &mut At<'_, '_>, sharding: ShardingId) -> Option<ValueId> {
    let tangent = at.tangent(0)?;
    if at.linear.free_shardings {
        return Some(tangent);
    }
    let tangent = on_tape(at, &[tangent]);
    at.linear.module.shardings.set(tangent, Some(sharding));
    Some(tangent)
}

/// The error for an operation without a derivative that is known.
pub(super) fn unsupported(at: &At<'_, '_>) -> Box<Diagnostic> {
    let data = &at.linear.module.ops[at.op];
    let message = format!("{} cannot be differentiated", data.kind.title());
    let hint = "keep what depends on the differentiated arguments out of it";
    let mut error = Diagnostic::unsupported("SH1001", message).at(data.span).hint(hint);
    error.user_loc = at.linear.module.user_loc(at.op);
    Box::new(error)
}

/// The sum of changes, of which some may be nothing.
fn sum(at: &mut At<'_, '_>, changes: &[Option<ValueId>]) -> Option<ValueId> {
    let mut changes = changes.iter().copied().flatten();
    let first = changes.next()?;
    Some(changes.fold(first, |sum, change| at.tape().binary(BinaryOp::Add, sum, change)))
}

/// The tangent of operand `i`, written out if it is nothing.
fn written_out(at: &mut At<'_, '_>, i: usize) -> ValueId {
    if let Some(tangent) = at.tangent(i) {
        return tangent;
    }
    let operand = at.operand(i);
    at.primal().zeros_like(operand)
}

/// The operation at hand on other operands, on the tape.
fn on_tape(at: &mut At<'_, '_>, operands: &[ValueId]) -> ValueId {
    let (kind, ty) = (at.kind(), at.linear.module.values[at.result()].ty);
    at.tape().op1(kind, operands, ty)
}
