//! Reasons and workarounds for operations without derivatives.

use shardc_ir::{BinaryOp, Module, OpId, OpKind};

/// The text after `... cannot be differentiated`, and a workaround.
pub(super) fn reason(module: &Module, op: OpId) -> (&'static str, &'static str) {
    match &module.ops[op].kind {
        OpKind::CustomCall(_) | OpKind::Opaque(_) => (
            ": shardc does not know what it computes",
            "give it a rule: a function of tangents, or functions forward and backward (--rule NAME=JVP or NAME=FORWARD,BACKWARD)",
        ),
        OpKind::Binary(BinaryOp::Polygamma | BinaryOp::Zeta) => (
            " by its first operand: no function of StableHLO or CHLO is that derivative",
            "keep what depends on the differentiated arguments out of the order",
        ),
        OpKind::Dynamic(_) | OpKind::SetDimensionSize { .. } | OpKind::GetDimensionSize { .. } => {
            (" where shapes, paddings or strides are known at run time alone", "let constants say them")
        }
        OpKind::Reduce { .. }
        | OpKind::ReduceWindow(_)
        | OpKind::Map { .. }
        | OpKind::AllReduce(_)
        | OpKind::ReduceScatter { .. } => (
            " with a region that is not made of elementwise operations on its own elements",
            "write the region without control flow and without values from outside",
        ),
        OpKind::Scatter(_) => (
            " with a region that does not add, subtract, multiply, replace, or take the largest or smallest",
            "say unique_indices = true, with which any elementwise region has a derivative",
        ),
        OpKind::SelectAndScatter(_) => (
            " with a combiner that does not add",
            "add what is scattered, or scatter with stablehlo.scatter, which has a derivative for more combiners",
        ),
        OpKind::RaggedDot(_) => (
            " with sizes of groups for each place in contracted dimensions that are not in order",
            "contract them in the order in which both operands have them",
        ),
        OpKind::Send(_) | OpKind::Recv(_) | OpKind::Infeed(_) | OpKind::Outfeed { .. } => (
            ": what other programs do with its data is not known",
            "keep what depends on the differentiated arguments out of it",
        ),
        OpKind::BitcastConvert => (
            ": its bits become a floating-point number again",
            "give the function that contains it a rule (--rule NAME=JVP), or stop the gradient before it",
        ),
        _ => ("", "keep what depends on the differentiated arguments out of it"),
    }
}
