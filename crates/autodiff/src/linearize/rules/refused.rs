//! Reasons and workarounds for operations without derivatives.

use shardc_ir::{BinaryOp, Module, OpId, OpKind};

/// Returns the text after `... cannot be differentiated`, and a hint with a workaround.
pub(super) fn reason(module: &Module, op: OpId) -> (&'static str, &'static str) {
    match &module.ops[op].kind {
        OpKind::CustomCall(_) | OpKind::Opaque(_) => (
            ": its semantics are unknown",
            "give the operation a JVP rule (--rule NAME=JVP), or forward and backward functions (--rule NAME=FORWARD,BACKWARD)",
        ),
        OpKind::Binary(BinaryOp::Polygamma | BinaryOp::Zeta) => (
            " with respect to its first operand: StableHLO and CHLO have no operation for that derivative",
            "the first operand must not depend on the differentiated arguments",
        ),
        OpKind::Dynamic(_) | OpKind::SetDimensionSize { .. } | OpKind::GetDimensionSize { .. } => {
            (" with dynamic shapes, padding or strides", "make the shapes, padding and strides constant")
        }
        OpKind::Reduce { .. }
        | OpKind::ReduceWindow(_)
        | OpKind::Map { .. }
        | OpKind::AllReduce(_)
        | OpKind::ReduceScatter { .. } => (
            ": its region has operations that are not elementwise, or captures values",
            "write the region without control flow and captured values",
        ),
        OpKind::Scatter(_) => (
            ": its region is not add, subtract, multiply, replace, max or min",
            "set unique_indices = true: then any elementwise region is differentiable",
        ),
        OpKind::SelectAndScatter(_) => (
            " with a combiner other than addition",
            "combine by addition, or use stablehlo.scatter, which is differentiable for more combiners",
        ),
        OpKind::RaggedDot(_) => (
            " with per-position group sizes if lhs and rhs list the contracting dimensions in different orders",
            "list the contracting dimensions of lhs and rhs in ascending order",
        ),
        OpKind::Send(_) | OpKind::Recv(_) | OpKind::Infeed(_) | OpKind::Outfeed { .. } => (
            ": it exchanges data with other programs",
            "its operands must not depend on the differentiated arguments, or use stop_gradient",
        ),
        OpKind::BitcastConvert => (
            ": its bits are converted back to floating point",
            "give the enclosing function a JVP rule (--rule NAME=JVP), or use stop_gradient before it",
        ),
        _ => ("", "its operands must not depend on the differentiated arguments, or use stop_gradient"),
    }
}
