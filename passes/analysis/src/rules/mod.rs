//! The sharding rule of each operation.
//!
//! [`rule_of`] is the only definition of which dimensions of operands and results correspond. Factors, their order (major to minor) and
//! their kinds are those of Shardy, so that shardings propagate as users of Shardy expect. An attribute `sdy.sharding_rule` on an operation
//! overrides the rule.
//!
//! Operations that move values between regions or functions (`while`, `case`, `if`, calls, terminators, manual computations) and
//! operations without operands have no rule: they do not relate dimensions. `scan`, `async_start` and `composite` have no rule either,
//! since they are expanded earlier (see [`decompose`](crate::transforms::decompose) and [`inline`](crate::transforms::inline)).

mod broadcast;
mod builder;
mod collective;
mod contract;
mod custom_call;
mod dynamic;
mod index;
pub mod letters;
mod linalg;
mod norm;
pub mod notation;
mod peers;
mod reduce;
pub mod registry;
mod shape;
pub mod sharding_rule;
pub mod text;

pub use custom_call::{is_identity as is_identity_call, is_kernel, is_known_target, works_on_parts};
pub use letters::{LetterPlace, LettersFault, Side, TensorRef};
pub use text::{RuleParseError, parse_rule};

use shardc_ir::{Access, Attr, AttrDict, Module, Op, OpId, OpKind, RegionId};

use crate::rules::sharding_rule::{FactorKind, ShardingRule};
use builder::{RuleBuilder, pointwise};

/// The name of the attribute with a user-defined rule for an operation.
pub const SHARDING_RULE_ATTR: &str = shardc_ir::discardable::SHARDING_RULE;

/// The options for building rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleOptions {
    /// Whether to block propagation along dimensions in which blocks of operand and result may have different elements: dimensions that are
    /// sliced, padded or concatenated, or over which windows slide.
    pub conservative: bool,
    /// The set of operations that have a rule.
    pub set: RuleSet,
}

/// The set of operations with rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuleSet {
    /// All operations that relate dimensions.
    #[default]
    Whole,
    /// Only operations with a rule in Shardy, to reproduce Shardy's results exactly: for example, nothing propagates through CHLO
    /// operations.
    Shardy,
}

/// Returns the sharding rule of an operation; `None` if the operation has no rule.
#[must_use]
pub fn rule_of(module: &Module, op: OpId) -> Option<ShardingRule> {
    rule_with(module, op, RuleOptions::default())
}

/// Returns the sharding rule of an operation as [`rule_of`] does, with options.
#[must_use]
#[expect(clippy::too_many_lines, reason = "a table: an arm for each operation")]
pub fn rule_with(module: &Module, op: OpId, options: RuleOptions) -> Option<ShardingRule> {
    let RuleOptions { conservative, set } = options;
    let data = &module.ops[op];
    if let Some(rule) = custom_rule(module, op, &data.attrs) {
        return Some(rule);
    }
    if !has_rule(&data.kind, set) {
        return None;
    }
    match &data.kind {
        OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Compare(..)
        | OpKind::Select
        | OpKind::Clamp
        | OpKind::Convert
        | OpKind::ReducePrecision { .. }
        | OpKind::UniformQuantize
        | OpKind::UniformDequantize
        | OpKind::Map { .. }
        | OpKind::ConstantLike(_)
        | OpKind::ShardingConstraint(_) => pointwise(module, op),
        OpKind::BitcastConvert => shape::bitcast_convert(module, op),
        OpKind::BroadcastInDim { dims } => broadcast::broadcast_in_dim(module, op, dims),
        OpKind::Broadcast { sizes } => broadcast::broadcast(module, op, sizes.len()),
        OpKind::Broadcasting(spec) => broadcast::broadcasting(module, op, spec),
        OpKind::Reshape => shape::reshape(module, op),
        OpKind::Transpose { permutation } => shape::transpose(module, op, permutation),
        OpKind::Reverse { dims } => shape::reverse(module, op, dims),
        OpKind::Slice(_) | OpKind::Pad(_) => shape::shifted(module, op, conservative),
        OpKind::DynamicSlice { .. } => shape::dynamic_slice(module, op),
        OpKind::DynamicUpdateSlice => shape::dynamic_update_slice(module, op),
        OpKind::Concatenate { dim } => shape::concatenate(module, op, *dim as usize, conservative),
        OpKind::Splice(spec) => shape::splice(module, op, spec.dim as usize),
        OpKind::DotGeneral(spec) => contract::dot_general(module, op, spec),
        OpKind::Convolution(spec) => contract::convolution(module, op, spec, conservative),
        OpKind::Reduce { dims } => reduce::reduce(module, op, dims),
        OpKind::ReduceWindow(spec) => reduce::reduce_window(module, op, spec, conservative),
        OpKind::SelectAndScatter(spec) => reduce::select_and_scatter(module, op, spec, conservative),
        OpKind::Sort { dim, .. } => linalg::sort(module, op, dim.unwrap_or(-1)),
        OpKind::Gather(spec) => index::gather(module, op, spec),
        OpKind::Scatter(spec) => index::scatter(module, op, spec),
        OpKind::RngBitGenerator { .. } => linalg::rng_bit_generator(module, op),
        OpKind::Rng(_) => linalg::rng(module, op),
        OpKind::GetDimensionSize { .. } => dynamic::get_dimension_size(module, op),
        OpKind::Fft { length, .. } => linalg::fft(module, op, length.len()),
        OpKind::Cholesky { .. } => linalg::cholesky(module, op),
        OpKind::TriangularSolve(spec) => linalg::triangular_solve(module, op, spec),
        OpKind::BatchNorm(kind, spec) => norm::batch_norm(module, op, *kind, *spec),
        OpKind::Einsum { config } | OpKind::UnaryEinsum { config } => {
            letters::rule(module, op, config, FactorKind::Reduction).ok()
        }
        OpKind::RaggedDot(spec) => contract::ragged_dot(module, op, spec),
        OpKind::TorchIndexSelect { dim, batch_dims } => {
            index::torch_index_select(module, op, *dim, *batch_dims)
        }
        OpKind::TopK { .. } => linalg::chlo_top_k(module, op),
        OpKind::Dynamic(kind) => dynamic::dynamic(module, op, kind, conservative),
        OpKind::SetDimensionSize { dim } => dynamic::set_dimension_size(module, op, *dim as usize),
        OpKind::CustomCall(spec) => custom_rule(module, op, &spec.props)
            .or_else(|| custom_call::custom_call(module, op, &spec.target)),
        OpKind::AllReduce(_)
        | OpKind::CollectivePermute(_)
        | OpKind::CollectiveBroadcast(_)
        | OpKind::CollectiveReduce(_)
        | OpKind::CrossReplicaSum(_) => pointwise(module, op),
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
        | OpKind::Composite(_)
        | OpKind::AsyncStart
        | OpKind::AsyncDone
        | OpKind::CreateToken
        | OpKind::Infeed(_)
        | OpKind::Outfeed { .. }
        | OpKind::Send(_)
        | OpKind::Recv(_)
        | OpKind::Scan(_)
        | OpKind::DataFlowEdge(_)
        | OpKind::FuncDataFlowEdge
        | OpKind::NamedComputation(_)
        | OpKind::Opaque(_) => None,
    }
}

/// Whether only the kind and the types of an operation determine its rule and how its factors may be sharded. The rule of any other
/// operation also depends on regions, producers of operands, or attributes.
pub fn is_determined_by_types(data: &Op) -> bool {
    let by_place =
        matches!(data.kind.def().access, Access::SamePlace | Access::Broadcasts | Access::Rearranges);
    let by_kind = by_place || matches!(data.kind, OpKind::DotGeneral(_));
    by_kind && data.regions.is_empty() && data.attrs.sharding_rule().is_none()
}

/// Whether the set of rules `set` includes operations of kind `kind`.
pub(crate) fn has_rule(kind: &OpKind, set: RuleSet) -> bool {
    match set {
        RuleSet::Whole => true,
        RuleSet::Shardy => peers::shardy_has(kind),
    }
}

/// Removes the `sdy.sharding_rule` attributes that passes have written on operations in a function body. User-defined rules are kept.
pub fn drop_written_rules(module: &mut Module, body: RegionId) {
    for op in module.walk(body) {
        let attrs = &mut module.ops[op].attrs;
        let Some(attr) = attrs.get(SHARDING_RULE_ATTR) else { continue };
        if !matches!(attr, Attr::Raw(text) if parse_rule(text).is_ok_and(|rule| rule.custom)) {
            attrs.remove(SHARDING_RULE_ATTR);
        }
    }
}

/// Returns the user-defined rule of an operation, if it fits the operation.
fn custom_rule(module: &Module, op: OpId, attrs: &AttrDict) -> Option<ShardingRule> {
    let rule = parse_rule(attrs.sharding_rule()?).ok()?;
    let shell = RuleBuilder::new(module, op).finish();
    // The verifier rejects a rule that does not fit its operation. A module that was not verified needs this check, since mappings would
    // otherwise be indexed out of range.
    let fits = rule.operands.len() == shell.operands.len()
        && rule.results.len() == shell.results.len()
        && rule.tensors().zip(shell.tensors()).all(|(a, b)| a.dims.len() == b.dims.len());
    fits.then_some(rule)
}
