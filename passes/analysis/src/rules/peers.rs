//! The operations for which Shardy has a rule. With [`RuleSet::Shardy`](super::RuleSet::Shardy), nothing propagates through any other
//! operation.

use shardc_ir::OpKind;

/// Custom calls for which Shardy has rules. Source: `op_sharding_rule_registry.cc` of Shardy, 2026-11.
const TARGETS: &[&str] = &[
    "ApproxTopK",
    "Cholesky",
    "CompactWyHelper",
    "Eigh",
    "InspectSharding",
    "InvertDiagBlocksLowerTriangular",
    "InvertDiagBlocksUpperTriangular",
    "LayoutConstraint",
    "MoveToDevice",
    "MoveToHost",
    "PartialReduce",
    "ProductOfElementaryHouseholderReflectors",
    "Qr",
    "QrDecompositionBlock",
    "X64Combine",
    "X64SplitHigh",
    "X64SplitLow",
    "_SPMDInternalOp_MultiPad",
    "_SPMDInternalOp_MultiRotate",
    "_SPMDInternalOp_MultiSlice",
    "_SPMDInternalOp_RotateRight",
    "_SPMDInternalOp_Wrap",
    "annotate_device_placement",
    "mhlo.erf",
    "mhlo.topk",
    "xla.megascale.provide_metadata",
];

/// Whether Shardy has a rule for operations of this kind. It has none for CHLO operations, which XLA expands earlier, and for some rare
/// operations.
pub(super) fn shardy_has(kind: &OpKind) -> bool {
    match kind {
        OpKind::CustomCall(spec) => TARGETS.contains(&&*spec.target),
        OpKind::UniformQuantize
        | OpKind::UniformDequantize
        | OpKind::Map { .. }
        | OpKind::Rng(_)
        | OpKind::BatchNorm(shardc_ir::BatchNormKind::Training | shardc_ir::BatchNormKind::Grad, _)
        | OpKind::Dynamic(_)
        | OpKind::GetDimensionSize { .. }
        | OpKind::SetDimensionSize { .. }
        | OpKind::Broadcast { .. }
        | OpKind::Einsum { .. }
        | OpKind::UnaryEinsum { .. }
        | OpKind::TorchIndexSelect { .. }
        | OpKind::CollectiveReduce(_) => false,
        kind => !kind.name().starts_with("chlo."),
    }
}
