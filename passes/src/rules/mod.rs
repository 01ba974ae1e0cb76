//! The sharding rule of each operation.
//!
//! [`rule_of`] is the one table that says how the dimensions of an operation hang together. Factors, their order
//! (major to minor) and their kinds are those that Shardy assigns, so that shardings propagate as users of
//! Shardy expect; `sdy.sharding_rule` on an operation overrides the table.
//!
//! Operations that move values between regions or functions (`while`, `case`, `if`, calls, terminators, manual
//! computations) and those without operands have no rule: what they do is not a relation of dimensions.

mod builder;
mod collective;
mod contract;
mod custom_call;
mod index;
mod linalg;
mod reduce;
mod shape;
mod text;

pub use text::{RuleParseError, parse_rule};

use shardc_ir::{Attr, AttrDict, Module, OpId, OpKind};

use crate::rule::ShardingRule;
use builder::{RuleBuilder, pointwise};

/// Name of the attribute by which a program gives an operation's rule itself.
pub const SHARDING_RULE_ATTR: &str = "sdy.sharding_rule";

/// The sharding rule of an operation; `None` for one that has none.
#[must_use]
pub fn rule_of(module: &Module, op: OpId) -> Option<ShardingRule> {
    let data = &module.ops[op];
    if let Some(rule) = custom_rule(module, op, &data.attrs) {
        return Some(rule);
    }
    match &data.kind {
        OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Compare(..)
        | OpKind::Select
        | OpKind::Clamp
        | OpKind::Convert
        | OpKind::ReducePrecision { .. }
        | OpKind::ShardingConstraint(_) => pointwise(module, op),
        OpKind::BitcastConvert => shape::bitcast_convert(module, op),
        OpKind::BroadcastInDim { dims } => shape::broadcast_in_dim(module, op, dims),
        OpKind::Reshape => shape::reshape(module, op),
        OpKind::Transpose { permutation } => shape::transpose(module, op, permutation),
        OpKind::Reverse { dims } => shape::reverse(module, op, dims),
        OpKind::Slice(_) | OpKind::Pad(_) => shape::shifted(module, op),
        OpKind::DynamicSlice { .. } => shape::dynamic_slice(module, op),
        OpKind::DynamicUpdateSlice => shape::dynamic_update_slice(module, op),
        OpKind::Concatenate { dim } => shape::concatenate(module, op, *dim as usize),
        OpKind::DotGeneral(spec) => contract::dot_general(module, op, spec),
        OpKind::Convolution(spec) => contract::convolution(module, op, spec),
        OpKind::Reduce { dims } => reduce::reduce(module, op, dims),
        OpKind::ReduceWindow(spec) => reduce::reduce_window(module, op, spec),
        OpKind::SelectAndScatter(spec) => reduce::select_and_scatter(module, op, spec),
        OpKind::Sort { dim, .. } => linalg::sort(module, op, dim.unwrap_or(-1)),
        OpKind::Gather(spec) => index::gather(module, op, spec),
        OpKind::Scatter(spec) => index::scatter(module, op, spec),
        OpKind::RngBitGenerator { .. } => linalg::rng_bit_generator(module, op),
        OpKind::Fft { length, .. } => linalg::fft(module, op, length.len()),
        OpKind::Cholesky { .. } => linalg::cholesky(module, op),
        OpKind::TriangularSolve(spec) => linalg::triangular_solve(module, op, spec),
        OpKind::CustomCall(spec) => custom_rule(module, op, &spec.props)
            .or_else(|| custom_call::custom_call(module, op, &spec.target)),
        OpKind::AllReduce(_) | OpKind::CollectivePermute(_) | OpKind::CollectiveBroadcast(_) => {
            pointwise(module, op)
        }
        OpKind::AllGather { dim, .. } | OpKind::ReduceScatter { dim, .. } => {
            collective::replicated_dims(module, op, &[*dim as usize])
        }
        OpKind::AllToAll { split_dim, concat_dim, .. } => {
            collective::replicated_dims(module, op, &[*split_dim as usize, *concat_dim as usize])
        }
        OpKind::Constant(_)
        | OpKind::Iota { .. }
        | OpKind::While
        | OpKind::Case
        | OpKind::If
        | OpKind::OptimizationBarrier
        | OpKind::Call { .. }
        | OpKind::Return
        | OpKind::Tuple
        | OpKind::GetTupleElement { .. }
        | OpKind::AfterAll
        | OpKind::PartitionId
        | OpKind::ReplicaId
        | OpKind::Reshard(_)
        | OpKind::MeshCollective(_)
        | OpKind::ManualComputation(_)
        | OpKind::PropagationBarrier { .. }
        | OpKind::ShardingGroup { .. }
        | OpKind::BatchNorm(..)
        | OpKind::Map { .. }
        | OpKind::Rng(_)
        | OpKind::Dynamic(_)
        | OpKind::GetDimensionSize { .. }
        | OpKind::SetDimensionSize { .. }
        | OpKind::Broadcast { .. }
        | OpKind::Einsum { .. }
        | OpKind::UnaryEinsum { .. }
        | OpKind::TorchIndexSelect { .. }
        | OpKind::UniformQuantize
        | OpKind::UniformDequantize
        | OpKind::Composite(_)
        | OpKind::AsyncStart
        | OpKind::AsyncDone
        | OpKind::CreateToken
        | OpKind::Infeed(_)
        | OpKind::Outfeed { .. }
        | OpKind::Send(_)
        | OpKind::Recv(_)
        | OpKind::CollectiveReduce(_)
        | OpKind::CrossReplicaSum(_)
        | OpKind::Broadcasting(_)
        | OpKind::ConstantLike(_)
        | OpKind::TopK { .. }
        | OpKind::RaggedDot(_)
        | OpKind::Scan(_)
        | OpKind::DataFlowEdge(_)
        | OpKind::FuncDataFlowEdge
        | OpKind::NamedComputation(_)
        | OpKind::Opaque(_) => None,
    }
}

/// The rule that the program gives, where it fits the operation.
fn custom_rule(module: &Module, op: OpId, attrs: &AttrDict) -> Option<ShardingRule> {
    let Some(Attr::Raw(text)) = attrs.get(SHARDING_RULE_ATTR) else { return None };
    let rule = parse_rule(text).ok()?;
    let shell = RuleBuilder::new(module, op).finish();
    let fits = rule.operands.len() == shell.operands.len()
        && rule.results.len() == shell.results.len()
        && rule.tensors().zip(shell.tensors()).all(|(a, b)| a.dims.len() == b.dims.len());
    fits.then_some(rule)
}
