//! The places that have shardings, and where annotations are.

use shardc_ir::{OpId, ValueId};

/// Something with a sharding: a value, or a result of the function, which has a sharding of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A value.
    Value(ValueId),
    /// A result of the function.
    Result(u32),
}

/// The position of an axis in a sharding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AxisRole {
    /// It shards this dimension.
    Dim(u32),
    /// It is explicitly replicated.
    Replicated,
    /// The value is unreduced along it.
    Unreduced,
}

/// An annotation: a sharding that the program contains before propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnnotationSource {
    /// The sharding of an argument of the function.
    Argument(u32),
    /// The sharding of a result of the function.
    Result(u32),
    /// The sharding of a sharding constraint.
    Constraint(OpId),
    /// The sharding of an operand of a manual computation.
    ManualIn(OpId, u32),
    /// The sharding of a result of a manual computation.
    ManualOut(OpId, u32),
    /// The sharding of a result of any other operation.
    Operation(OpId, u32),
}

impl AnnotationSource {
    /// Returns the operation that has the annotation; `None` for those of the function.
    #[must_use]
    pub fn op(self) -> Option<OpId> {
        match self {
            AnnotationSource::Argument(_) | AnnotationSource::Result(_) => None,
            AnnotationSource::Constraint(op)
            | AnnotationSource::ManualIn(op, _)
            | AnnotationSource::ManualOut(op, _)
            | AnnotationSource::Operation(op, _) => Some(op),
        }
    }
}
