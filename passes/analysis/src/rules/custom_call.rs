//! Rules of known custom calls.
//!
//! A custom call is partitioned if it has a rule. The rule comes from the table of known targets, from a front end
//! ([`registry`](super::registry)) or from the program (`sdy.sharding_rule` on the call). Any other call gets replicated operands, with a
//! warning for operands that are sharded. Some rules also propagate along dimensions along which the call cannot be applied to shards, such
//! as the matrix dimensions of a decomposition; [`works_on_parts`] returns false for these dimensions.

use shardc_ir::{Attr, AttrDict, Module, OpId, OpKind, RAGGED_ALL_TO_ALL};

use super::builder::{RuleBuilder, operand_shape, pointwise, result_shape, size};
use super::linalg;
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// The semantics of a custom call that determine how its dimensions correspond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The identity: the call only specifies the memory space or layout of its operand.
    Identity,
    /// Each result element depends on the operand elements at the same position.
    Elementwise,
    /// An operation on the matrices in the last two dimensions, with results of the same shape as the operands.
    Matrix,
    /// Communication between devices that preserves the shape of each value.
    Exchange,
    Eigh,
    Qr,
    HouseholderProduct,
    TopK,
    ApproxTopK,
    X64Combine,
    /// A ragged all-to-all: an exchange of ranges of rows between devices.
    RaggedAllToAll,
    /// The leading dimensions are batch dimensions; the given number of trailing dimensions are not.
    Batch {
        inner: usize,
    },
    /// The call has its own sharding rule, as from JAX's `custom_partitioning`, which calls a function with the shard shapes.
    Partitioned,
    /// No dimensions correspond, or only the program defines how they correspond.
    Nothing,
}

/// Returns the semantics of a target; `None` if it is not in the table.
fn known(target: &str) -> Option<Known> {
    Some(match target {
        "annotate_device_placement" | "LayoutConstraint" | "MoveToDevice" | "MoveToHost" => Known::Identity,
        "InspectSharding"
        | "mhlo.erf"
        | "X64SplitHigh"
        | "X64SplitLow"
        | "xla.megascale.provide_metadata"
        // Random bits from keys and counters of the same shape.
        | "cu_threefry2x32_ffi"
        | "hip_threefry2x32_ffi" => Known::Elementwise,
        "Cholesky"
        | "CompactWyHelper"
        | "InvertDiagBlocksLowerTriangular"
        | "InvertDiagBlocksUpperTriangular" => Known::Matrix,
        "_SPMDInternalOp_MultiPad"
        | "_SPMDInternalOp_RotateRight"
        | "_SPMDInternalOp_MultiRotate"
        | "_SPMDInternalOp_MultiSlice"
        | "_SPMDInternalOp_Wrap" => Known::Exchange,
        "Eigh" => Known::Eigh,
        "Qr" | "QrDecompositionBlock" => Known::Qr,
        "ProductOfElementaryHouseholderReflectors" => Known::HouseholderProduct,
        "mhlo.topk" => Known::TopK,
        "ApproxTopK" | "PartialReduce" => Known::ApproxTopK,
        "X64Combine" => Known::X64Combine,
        RAGGED_ALL_TO_ALL => Known::RaggedAllToAll,
        "cu_lu_pivots_to_permutation" | "hip_lu_pivots_to_permutation" => Known::Batch { inner: 1 },
        "tridiagonal_solve_perturbed_ffi" => Known::Batch { inner: 2 },
        "sdy_testonly"
        | "tpu_custom_call"
        | "xla_python_cpu_callback"
        | "xla_python_gpu_callback"
        | "xla_ffi_python_cpu_callback"
        | "xla_ffi_python_gpu_callback"
        | "xla_ffi_partitioned_python_cpu_callback"
        | "xla_ffi_partitioned_python_gpu_callback"
        | "xla.debug.Log"
        | "Sharding"
        | "SPMDFullToShardShape"
        | "SPMDShardToFullShape" => Known::Nothing,
        "CustomSPMDPartitioning" => Known::Partitioned,
        _ if is_linear_algebra(target) => Known::Batch { inner: 2 },
        _ => return None,
    })
}

/// Whether a target is a LAPACK-like function on batches of matrices that JAX calls through XLA's FFI, which passes the shapes of all
/// buffers to the function. The older interface passes global shapes as operands, which would be wrong for shards.
fn is_linear_algebra(target: &str) -> bool {
    let families = ["lapack_", "cusolver_", "hipsolver_"];
    let hybrid = ["cuhybrid_", "hiphybrid_"];
    let sparse = ["cusparse_gtsv2_ffi", "hipsparse_gtsv2_ffi"];
    (families.iter().any(|family| target.starts_with(family)) && target.ends_with("_ffi"))
        || hybrid.iter().any(|family| target.starts_with(family))
        || sparse.contains(&target)
}

/// Returns the rule of a custom call; `None` for a target that shardc does not know.
pub(super) fn custom_call(module: &Module, op: OpId, target: &str) -> Option<ShardingRule> {
    let stated = stated_batch(&module.ops[op].attrs);
    match known(target) {
        Some(Known::Identity | Known::Elementwise | Known::Matrix | Known::Exchange) => pointwise(module, op),
        Some(Known::Eigh) => eigh(module, op),
        Some(Known::Qr) => qr(module, op),
        Some(Known::HouseholderProduct) => householder_product(module, op),
        Some(Known::TopK) => linalg::top_k(module, op),
        Some(Known::ApproxTopK) => approx_top_k(module, op),
        Some(Known::X64Combine) => x64_combine(module, op),
        Some(Known::RaggedAllToAll) => ragged_all_to_all(module, op),
        Some(Known::Batch { inner }) => {
            let rank = |i| operand_shape(module, op, i).map_or(0, <[i64]>::len);
            let most = (0..module.ops[op].operands.len()).map(rank).max()?;
            batch(module, op, stated.unwrap_or(most.saturating_sub(inner)))
        }
        Some(Known::Partitioned | Known::Nothing) => None,
        // XLA uses the attribute `num_batch_dims` only if the call is registered as batch-partitionable.
        None => batch(module, op, stated?),
    }
}

/// Whether a target is in the table. The table also lists host callbacks, and kernels whose sharding the program defines.
#[must_use]
pub fn is_known_target(target: &str) -> bool {
    known(target).is_some()
}

/// Whether a call returns its operand unchanged. A declared side effect only prevents such a call from being removed or moved.
#[must_use]
pub fn is_identity(target: &str) -> bool {
    known(target) == Some(Known::Identity)
}

/// Whether the code of a target is compiled for fixed shapes, so that it cannot be applied to shards.
pub fn is_kernel(target: &str) -> bool {
    known(target) == Some(Known::Nothing)
}

/// Whether a call can be applied to each shard of dimension `dim` of operand `operand`, if the dimension is pass-through in its rule.
/// Propagation may also shard other dimensions, such as the matrix dimensions of a decomposition, which still need replication.
pub fn works_on_parts(module: &Module, op: OpId, target: &str, operand: usize, dim: usize) -> bool {
    let shape = operand_shape(module, op, operand).unwrap_or(&[]);
    let output = result_shape(module, op, 0).unwrap_or(&[]);
    match known(target) {
        Some(Known::Identity | Known::Elementwise | Known::X64Combine | Known::Batch { .. }) => true,
        Some(Known::Matrix | Known::Eigh | Known::Qr | Known::HouseholderProduct) => dim + 2 < shape.len(),
        Some(Known::TopK) => dim + 1 < shape.len(),
        Some(Known::RaggedAllToAll) => operand < 2 && dim > 0,
        // The searched dimension is the one whose size changes. If no size changes, the searched dimension is unknown.
        Some(Known::ApproxTopK) => shape != output,
        // Kernels and host callbacks are written for fixed shapes.
        Some(Known::Exchange | Known::Nothing) => false,
        // The front end's rule specifies which dimensions may be sharded.
        Some(Known::Partitioned) | None => true,
    }
}

/// Returns the number of leading dimensions that the front end declares as batch dimensions (`num_batch_dims`).
fn stated_batch(attrs: &AttrDict) -> Option<usize> {
    match attrs.frontend()?.get("num_batch_dims")? {
        Attr::Str(text) => text.parse().ok(),
        _ => None,
    }
}

/// Returns the rule of a batched call: the first `count` dimensions are pass-through in all tensors that have them, and the others need
/// replication.
fn batch(module: &Module, op: OpId, count: usize) -> Option<ShardingRule> {
    let data = &module.ops[op];
    let operand = |i: usize| operand_shape(module, op, i).unwrap_or(&[]);
    let result = |i: usize| result_shape(module, op, i).unwrap_or(&[]);
    let (operands, results) = (0..data.operands.len(), 0..data.results.len());
    let mut shapes = operands.clone().map(operand).chain(results.clone().map(result));
    // The first tensor with at least `count` dimensions defines their sizes; there may also be scalar operands.
    let sizes = shapes.find(|shape| shape.len() >= count)?.get(..count)?.to_vec();
    let has = |shape: &[i64]| shape.len() >= count && shape[..count] == sizes[..];
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in sizes.iter().enumerate() {
        let factor = rule.factor(n, FactorKind::PassThrough);
        for i in operands.clone().filter(|&i| has(operand(i))) {
            rule.operand(i, dim, factor);
        }
        for i in results.clone().filter(|&i| has(result(i))) {
            rule.result(i, dim, factor);
        }
    }
    let rest = |shape: &[i64]| if has(shape) { count..shape.len() } else { 0..shape.len() };
    for i in operands {
        for dim in rest(operand(i)) {
            let factor = rule.factor(operand(i)[dim], FactorKind::NeedReplication);
            rule.operand(i, dim, factor);
        }
    }
    for i in results {
        for dim in rest(result(i)) {
            let factor = rule.factor(result(i)[dim], FactorKind::NeedReplication);
            rule.result(i, dim, factor);
        }
    }
    Some(rule.finish())
}

/// Returns the rule of `Eigh`, which computes eigenvectors and eigenvalues from a matrix.
fn eigh(module: &Module, op: OpId) -> Option<ShardingRule> {
    let shape = operand_shape(module, op, 0)?;
    let (row, column) = (shape.len().checked_sub(2)?, shape.len() - 1);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise(&shape[..row]);
    let factor = rule.factor(shape[row], FactorKind::PassThrough);
    rule.operands(row, factor).result(0, row, factor);
    let factor = rule.factor(shape[column], FactorKind::PassThrough);
    rule.operands(column, factor).result(0, column, factor).result(1, row, factor);
    Some(rule.finish())
}

/// Returns the rule of `Qr`, which computes the packed factors and the scalars (`tau`) of the Householder reflectors from a matrix.
fn qr(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (shape, taus) = (operand_shape(module, op, 0)?, result_shape(module, op, 1)?);
    let (row, column) = (shape.len().checked_sub(2)?, shape.len() - 1);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise(&shape[..row]);
    for dim in [row, column] {
        let factor = rule.factor(shape[dim], FactorKind::NeedReplication);
        rule.operands(dim, factor).result(0, dim, factor);
    }
    let factor = rule.factor(size(taus, row), FactorKind::NeedReplication);
    rule.result(1, row, factor);
    Some(rule.finish())
}

/// Returns the rule of a product of Householder reflectors, which computes an orthogonal matrix from packed factors and the scalars (`tau`)
/// of the reflectors.
fn householder_product(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (shape, taus) = (operand_shape(module, op, 0)?, operand_shape(module, op, 1)?);
    let (row, column) = (shape.len().checked_sub(2)?, shape.len() - 1);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise(&shape[..row]);
    for dim in [row, column] {
        let factor = rule.factor(shape[dim], FactorKind::NeedReplication);
        rule.operand(0, dim, factor).results(dim, factor);
    }
    let factor = rule.factor(size(taus, row), FactorKind::NeedReplication);
    rule.operand(1, row, factor);
    Some(rule.finish())
}

/// Returns the rule of `ApproxTopK`, whose operands are values, indices and two scalars. Each device may reduce its shard of the searched
/// dimension.
fn approx_top_k(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let mut rule = RuleBuilder::new(module, op);
    for (dim, (&n, &m)) in input.iter().zip(output).enumerate() {
        if n == m {
            rule.everywhere(dim, n, FactorKind::PassThrough);
        } else {
            let factor = rule.factor(n, FactorKind::PassThrough);
            rule.operand(0, dim, factor).operand(1, dim, factor);
            let factor = rule.blocked(m, FactorKind::NeedReplication, true);
            rule.results(dim, factor);
        }
    }
    Some(rule.finish())
}

/// Returns the rule of `ragged_all_to_all`. Offsets and sizes count whole rows, so dimension 0 needs replication along axes that the
/// exchange does not use; the other dimensions are pass-through.
fn ragged_all_to_all(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (operand, output) = (operand_shape(module, op, 0)?, operand_shape(module, op, 1)?);
    let mut rule = RuleBuilder::new(module, op);
    if let (Some(&sent), Some(&received)) = (operand.first(), output.first()) {
        let factor = rule.factor(sent, FactorKind::NeedReplication);
        rule.operand(0, 0, factor);
        let factor = rule.factor(received, FactorKind::NeedReplication);
        rule.operand(1, 0, factor).result(0, 0, factor);
    }
    for (dim, &n) in output.iter().enumerate().skip(1) {
        let factor = rule.factor(n, FactorKind::PassThrough);
        rule.operand(0, dim, factor).operand(1, dim, factor).result(0, dim, factor);
    }
    let slices = *operand_shape(module, op, 2)?.first()?;
    let factor = rule.factor(slices, FactorKind::NeedReplication);
    for list in 2..module.ops[op].operands.len() {
        rule.operand(list, 0, factor);
    }
    Some(rule.finish())
}

/// Returns the rule of `X64Combine`, which is element-wise, except that the state of a random number generator is replicated.
fn x64_combine(module: &Module, op: OpId) -> Option<ShardingRule> {
    let result = *module.ops[op].results.first()?;
    // The state of a random number generator is a vector of two or three integers.
    let is_state = module.rank(result) == 1
        && module
            .ops
            .values()
            // All operations of the module are scanned, since no use lists are available here. The call is rare: XLA emits it only if it
            // emulates 64-bit integers.
            .any(|o| matches!(o.kind, OpKind::RngBitGenerator { .. }) && o.operands.contains(&result));
    if !is_state {
        return pointwise(module, op);
    }
    let shape = result_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        let factor = rule.blocked(n, FactorKind::NeedReplication, true);
        rule.operands(dim, factor).results(dim, factor);
    }
    Some(rule.finish())
}
