//! Identifiers of values and function results, which have shardings, and of annotations.

use shardc_ir::{OpId, ValueId};

/// A value, or a result of the function. A function result has a sharding of its own, in addition to that of the returned value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A value.
    Value(ValueId),
    /// The result of the function with this index.
    Result(u32),
}

/// The position of an axis in a sharding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AxisRole {
    /// The axis shards this dimension.
    Dim(u32),
    /// The value is explicitly replicated along the axis.
    Replicated,
    /// The value is unreduced along the axis.
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
    /// Returns the operation that has the annotation; `None` for annotations of function arguments and results.
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
