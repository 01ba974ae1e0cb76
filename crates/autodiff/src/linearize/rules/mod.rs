//! Differentiation rules: one function for each kind of operation.
//!
//! A rule may insert operations after the current operation. It writes operations that are linear in the operands' tangents to the tape,
//! and returns the tangents of the results, where `None` is zero. It is only called if some operand has a tangent.

mod annotations;
mod bits;
pub(crate) mod collectives;
mod compare;
mod custom;
mod elementwise;
mod expanded;
mod extreme;
mod indexing;
mod lapack;
mod linear_algebra;
mod log_add_exp;
mod products;
mod ragged_exchange;
mod reductions;
mod refused;
mod scatter;
mod shape;
mod sorting;
mod windows;

pub(crate) use self::compare::compare;

use shardc_ir::reducer::reduction_of;
use shardc_ir::{BatchNormKind, BinaryOp, Build, Diagnostic, OpKind, ReductionKind, TensorBuild, ValueId};
use smallvec::smallvec;

use super::{At, Rule, Tangents, branches, loops, manual, once};
use crate::checkpoint::CHECKPOINT_NAME;
use crate::emit::Arithmetic;

/// Linearizes one operation.
///
/// # Errors
/// Returns an error if the operation has no derivative, or if its derivative is unknown.
#[expect(clippy::too_many_lines, reason = "a table: an arm for each operation")]
pub(super) fn linearize(at: &mut At<'_, '_>) -> Result<Rule, Box<Diagnostic>> {
    if at.kind() == OpKind::BitcastConvert {
        return bits::bitcast(at);
    }
    // Integers and booleans have no tangents.
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
        OpKind::RaggedDot(spec) => one(products::ragged_dot(at, &spec)?),
        OpKind::Reduce { dims } => return reductions::reduce(at, &dims),
        OpKind::ReduceWindow(spec) => return windows::reduce_window(at, &spec),
        OpKind::Sort { dim, .. } => sorting::sort(at, dim),
        OpKind::TopK { .. } => sorting::top_k(at),
        OpKind::Fft { .. } => one(linear_algebra::fft(at)),
        OpKind::TriangularSolve(spec) => one(linear_algebra::triangular_solve(at, &spec)?),
        OpKind::Cholesky { lower } => {
            let factor = at.result();
            one(linear_algebra::cholesky(at, factor, lower)?)
        }
        OpKind::Gather(_) => one(indexing::gather(at)),
        OpKind::Scatter(spec) => return scatter::scatter(at, &spec),
        OpKind::SelectAndScatter(_) => one(windows::select_and_scatter(at)?),
        OpKind::OptimizationBarrier => Ok(annotations::barrier(at)),
        OpKind::PropagationBarrier { .. } | OpKind::DataFlowEdge(_) | OpKind::FuncDataFlowEdge => {
            Ok(annotations::handed_on(at))
        }
        OpKind::Case | OpKind::If => branches::branches(at),
        OpKind::NamedComputation(_) => once::named_computation(at),
        OpKind::Call { callee } => return once::call(at, &callee).ok_or_else(|| unsupported(at)),
        OpKind::ShardingConstraint(sharding) | OpKind::Reshard(sharding) => {
            one(annotations::constraint(at, sharding))
        }
        OpKind::Composite(spec) if *spec.name == *CHECKPOINT_NAME => Ok(annotations::handed_on(at)),
        OpKind::CustomCall(spec) => {
            return annotations::known_call(at, &spec.target)?.ok_or_else(|| unsupported(at));
        }
        OpKind::ManualComputation(_) => manual::manual_computation(at),
        OpKind::AllReduce(spec) => collectives::all_reduce(at, &spec),
        OpKind::ReduceScatter { .. } => {
            let region = at.linear.module.ops[at.op].regions[0];
            match reduction_of(at.linear.module, region, 1) {
                Some(ReductionKind::Add) => collectives::linear(at),
                _ => Err(unsupported(at)),
            }
        }
        OpKind::AllGather { .. } | OpKind::AllToAll { .. } | OpKind::CollectivePermute(_) => {
            collectives::linear(at)
        }
        OpKind::CollectiveBroadcast(spec) => collectives::broadcast(at, &spec),
        OpKind::CrossReplicaSum(_) => one(collectives::sum(at)),
        OpKind::While => loops::while_loop(at),
        OpKind::Map { .. } => return expanded::map(at),
        OpKind::BatchNorm(BatchNormKind::Inference, spec) => return expanded::batch_norm_inference(at, spec),
        OpKind::Broadcasting(spec) => return expanded::broadcasting(at, &spec),
        OpKind::Rng(distribution) => {
            one(expanded::drawn(at, distribution == shardc_ir::RngDistribution::Uniform)?)
        }
        // The bits of a number have no derivative (see `bits`), and a constant uses only the shape of its operand.
        OpKind::BitcastConvert | OpKind::ConstantLike(_) => return Ok(Rule::nothing(results.len())),
        // These operations have only integer or boolean results, have no differentiable operands, or end a region.
        OpKind::Compare(..)
        | OpKind::Constant(_)
        | OpKind::Iota { .. }
        | OpKind::RngBitGenerator { .. }
        | OpKind::PartitionId
        | OpKind::ReplicaId
        | OpKind::GetDimensionSize { .. }
        | OpKind::Return => return Ok(Rule::nothing(results.len())),
        // These operations are decomposed before differentiation if all shapes are known.
        OpKind::Splice(_)
        | OpKind::Dynamic(_)
        | OpKind::SetDimensionSize { .. }
        | OpKind::Broadcast { .. }
        | OpKind::Einsum { .. }
        | OpKind::UnaryEinsum { .. }
        | OpKind::TorchIndexSelect { .. }
        | OpKind::Scan(_)
        | OpKind::AsyncStart
        | OpKind::AsyncDone => Err(unsupported(at)),
        // These operations communicate with the host, operate on tuples, tokens or quantized numbers, or are unknown.
        OpKind::AfterAll
        | OpKind::Composite(_)
        | OpKind::BatchNorm(..)
        | OpKind::CollectiveReduce(_)
        | OpKind::CreateToken
        | OpKind::GetTupleElement { .. }
        | OpKind::Infeed(_)
        | OpKind::MeshCollective(_)
        | OpKind::Opaque(_)
        | OpKind::Outfeed { .. }
        | OpKind::Recv(_)
        | OpKind::Send(_)
        | OpKind::ShardingGroup { .. }
        | OpKind::Tuple
        | OpKind::UniformDequantize
        | OpKind::UniformQuantize => Err(unsupported(at)),
    };
    tangents.map(Rule::Tangents)
}

/// The error for an operation without a known derivative.
pub(super) fn unsupported(at: &At<'_, '_>) -> Box<Diagnostic> {
    let data = &at.linear.module.ops[at.op];
    let (why, hint) = refused::reason(at.linear.module, at.op);
    let message = format!("{} cannot be differentiated{why}", data.kind.title());
    let mut error = Diagnostic::unsupported("SH1001", message).at(data.span).hint(hint);
    error.user_loc = at.linear.module.user_loc(at.op);
    Box::new(error)
}

/// The sum of tangents, some of which may be zero.
fn sum(at: &mut At<'_, '_>, changes: &[Option<ValueId>]) -> Option<ValueId> {
    let mut changes = changes.iter().copied().flatten();
    let first = changes.next()?;
    Some(changes.fold(first, |sum, change| at.tape().binary(BinaryOp::Add, sum, change)))
}

/// Returns the tangent of operand `i`, or a tensor of zeros if the operand has no tangent.
fn written_out(at: &mut At<'_, '_>, i: usize) -> ValueId {
    if let Some(tangent) = at.tangent(i) {
        return tangent;
    }
    let operand = at.operand(i);
    at.primal().zeros_like(operand)
}

/// Appends to the tape a copy of the current operation with the operands `operands`. Returns its result.
fn on_tape(at: &mut At<'_, '_>, operands: &[ValueId]) -> ValueId {
    let (kind, ty) = (at.kind(), at.linear.module.values[at.result()].ty);
    at.tape().op1(kind, operands, ty)
}
