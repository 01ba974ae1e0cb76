//! Damages: each changes the program so that it may compute something else.
//!
//! The collective verifier accepts all of them: they keep the invariants that it checks, and change only values. The classes of changes that
//! it is known to accept (`tests/src/fuzz/partitions`) are among them.

mod apply;
mod constants;
mod groups;

use shardc_ir::{BinaryOp, CompareDirection, Dense, Module, OpId, OpKind, ReplicaGroups, Span, UnaryOp};

pub use self::apply::apply;
use crate::edit;

/// A class of damages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// Members of a replica group are exchanged.
    MemberOrder,
    /// Members of two groups, or the targets of two pairs of a permute, are exchanged.
    OtherMembers,
    /// All groups are others of the same size: those of another collective, or along another axis; a permute has the opposite direction.
    OtherGroups,
    /// A collective that keeps the shape is removed.
    Dropped,
    /// A collective that keeps the shape is repeated.
    Repeated,
    /// A reduction combines elements with another operation.
    OtherReduction,
    /// An integer constant or the bounds of a slice are shifted: offsets, indices, limits.
    ShiftedOffset,
    /// A select is removed: one of its values is used everywhere.
    RemovedMask,
    /// Operands of an operation that is not commutative are exchanged.
    SwappedOperands,
    /// A float constant is changed.
    ChangedConstant,
    /// An element-wise operation is replaced by another.
    OtherOperation,
    /// An operand is replaced by another value of the same type.
    OtherOperand,
    /// Several damages of the other classes.
    Several,
}

impl Damage {
    /// Every class.
    pub const ALL: [Damage; 13] = [
        Damage::MemberOrder,
        Damage::OtherMembers,
        Damage::OtherGroups,
        Damage::Dropped,
        Damage::Repeated,
        Damage::OtherReduction,
        Damage::ShiftedOffset,
        Damage::RemovedMask,
        Damage::SwappedOperands,
        Damage::ChangedConstant,
        Damage::OtherOperation,
        Damage::OtherOperand,
        Damage::Several,
    ];

    /// The name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Damage::MemberOrder => "member-order",
            Damage::OtherMembers => "other-members",
            Damage::OtherGroups => "other-groups",
            Damage::Dropped => "dropped",
            Damage::Repeated => "repeated",
            Damage::OtherReduction => "other-reduction",
            Damage::ShiftedOffset => "shifted-offset",
            Damage::RemovedMask => "removed-mask",
            Damage::SwappedOperands => "swapped-operands",
            Damage::ChangedConstant => "changed-constant",
            Damage::OtherOperation => "other-operation",
            Damage::OtherOperand => "other-operand",
            Damage::Several => "several",
        }
    }
}

/// Positions in the text of a damaged program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damaged {
    /// The damaged operation; if it was removed, its users and the producer of the value that replaces it.
    pub exact: Vec<Span>,
    /// The producers of its operands and the users of its results.
    pub near: Vec<Span>,
}

/// The operations of a program that admit a damage.
#[must_use]
pub fn sites(module: &Module, damage: Damage) -> Vec<OpId> {
    edit::ops(module).into_iter().filter(|&op| admits(module, op, damage)).collect()
}

/// The classes that change one operation.
fn single() -> impl Iterator<Item = Damage> {
    Damage::ALL.into_iter().filter(|&damage| damage != Damage::Several)
}

fn keeps_shape(kind: &OpKind) -> bool {
    matches!(kind, OpKind::AllReduce(_) | OpKind::CollectivePermute(_))
}

fn admits(module: &Module, op: OpId, damage: Damage) -> bool {
    let data = &module.ops[op];
    let is_permute = matches!(data.kind, OpKind::CollectivePermute(_));
    let groups = data.kind.collective().map(|spec| &spec.groups);
    let dtype = data.results.first().and_then(|&value| module.tensor(value)).map(|ty| ty.dtype);
    match damage {
        Damage::MemberOrder => !is_permute && groups.and_then(ReplicaGroups::group_size) > Some(1),
        Damage::OtherMembers | Damage::OtherGroups => groups.is_some_and(|groups| groups.len() > 1),
        Damage::Dropped | Damage::Repeated => keeps_shape(&data.kind),
        Damage::OtherReduction => {
            let kind = &data.kind;
            matches!(kind, OpKind::AllReduce(_) | OpKind::ReduceScatter { .. } | OpKind::Reduce { .. })
        }
        Damage::ShiftedOffset => match &data.kind {
            OpKind::Slice(_) => true,
            OpKind::Constant(Dense::Splat(_) | Dense::Elements(_)) => {
                dtype.is_some_and(|dtype| !dtype.is_float() && dtype.bytes() > 0 && dtype.bits() >= 8)
            }
            _ => false,
        },
        Damage::ChangedConstant => {
            matches!(data.kind, OpKind::Constant(Dense::Splat(_) | Dense::Elements(_)))
                && dtype.is_some_and(|dtype| dtype.is_float() && dtype.bytes() > 1)
        }
        Damage::RemovedMask => matches!(data.kind, OpKind::Select),
        Damage::SwappedOperands => match &data.kind {
            OpKind::Binary(op) => !op.is_commutative(),
            OpKind::DynamicSlice { .. } => data.operands.len() > 2,
            OpKind::Select | OpKind::Compare(..) | OpKind::DotGeneral(_) | OpKind::Concatenate { .. } => {
                data.operands.len() > 1
            }
            _ => false,
        },
        Damage::OtherOperation => other_operation(&data.kind).is_some(),
        Damage::OtherOperand => !data.operands.is_empty() && !matches!(data.kind, OpKind::Return),
        Damage::Several => single().any(|other| admits(module, op, other)),
    }
}

fn other_operation(kind: &OpKind) -> Option<OpKind> {
    Some(match kind {
        OpKind::Binary(op) => OpKind::Binary(match op {
            BinaryOp::Add => BinaryOp::Subtract,
            BinaryOp::Subtract | BinaryOp::Multiply => BinaryOp::Add,
            BinaryOp::Divide => BinaryOp::Multiply,
            BinaryOp::Maximum => BinaryOp::Minimum,
            BinaryOp::Minimum => BinaryOp::Maximum,
            BinaryOp::And => BinaryOp::Or,
            BinaryOp::Or | BinaryOp::Xor => BinaryOp::And,
            BinaryOp::ShiftLeft => BinaryOp::ShiftRightLogical,
            BinaryOp::ShiftRightLogical => BinaryOp::ShiftLeft,
            _ => return None,
        }),
        OpKind::Unary(op) => OpKind::Unary(match op {
            UnaryOp::Exponential => UnaryOp::ExponentialMinusOne,
            UnaryOp::Log => UnaryOp::LogPlusOne,
            UnaryOp::Rsqrt => UnaryOp::Sqrt,
            UnaryOp::Sqrt => UnaryOp::Rsqrt,
            UnaryOp::Sine => UnaryOp::Cosine,
            UnaryOp::Cosine => UnaryOp::Sine,
            UnaryOp::Tanh => UnaryOp::Logistic,
            UnaryOp::Logistic => UnaryOp::Tanh,
            UnaryOp::Negate => UnaryOp::Abs,
            UnaryOp::Abs => UnaryOp::Negate,
            _ => return None,
        }),
        OpKind::Compare(direction, ty) => {
            let other = match direction {
                CompareDirection::EQ => CompareDirection::NE,
                CompareDirection::NE => CompareDirection::EQ,
                CompareDirection::GE => CompareDirection::GT,
                CompareDirection::GT => CompareDirection::GE,
                CompareDirection::LE => CompareDirection::LT,
                CompareDirection::LT => CompareDirection::LE,
            };
            OpKind::Compare(other, *ty)
        }
        _ => return None,
    })
}
