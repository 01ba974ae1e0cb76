//! Kinds of errors, with their codes and hints.

use std::panic::Location;

use shardc_ir::suggest::nearest;
use shardc_ir::{DType, Diagnostic};

use super::GraphError;

pub(crate) type KindResult<T> = Result<T, ErrorKind>;

/// The kind of an error or warning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The number of entries of a specification is not the rank of the tensor.
    #[error("the partition spec {spec} is for rank {entries}, but the tensor of shape {shape:?} has rank {}", shape.len())]
    SpecRank {
        /// The specification, as text.
        spec: String,
        /// The number of entries of the specification.
        entries: usize,
        /// Shape of the tensor.
        shape: Vec<i64>,
    },
    /// A specification names an axis that the mesh lacks.
    #[error("the mesh has no axis {axis:?}")]
    UnknownAxis {
        /// The axis name that the mesh lacks.
        axis: String,
        /// The mesh's axes and their sizes.
        known: Vec<(String, i64)>,
    },
    /// A specification repeats an axis.
    #[error("the partition spec {spec} uses the axis {axis:?} twice")]
    AxisTwice {
        /// The name of the repeated axis.
        axis: String,
        /// The specification, as text.
        spec: String,
    },
    /// The shapes of operands do not match.
    #[error("{op}: incompatible shapes {left:?} and {right:?}")]
    Shapes {
        /// The name of the failed operation, such as `dot`.
        op: &'static str,
        /// The shape of the first operand.
        left: Vec<i64>,
        /// The shape of the second operand.
        right: Vec<i64>,
    },
    /// Operands have different element types.
    #[error("{op}: different element types {left} and {right}")]
    DTypes {
        /// The name of the failed operation, such as `add`.
        op: &'static str,
        /// The element type of the first operand.
        left: DType,
        /// The element type of the second operand.
        right: DType,
    },
    /// The element type cannot represent a number.
    #[error("the element type {dtype} cannot represent {number}")]
    Number {
        /// The number, as text.
        number: String,
        /// The element type that cannot represent the number.
        dtype: DType,
    },
    /// A tensor belongs to another graph.
    #[error("the tensor belongs to another graph")]
    ForeignTensor,
    /// The mesh is invalid.
    #[error("{0}")]
    Mesh(String),
    /// A dimension does not exist, or is repeated.
    #[error("{op}: invalid dimensions {dims:?} for a tensor of shape {shape:?}")]
    Dimensions {
        /// The name of the failed operation, such as `sum`.
        op: &'static str,
        /// The invalid dimensions, as the caller passed them.
        dims: Vec<i64>,
        /// Shape of the tensor.
        shape: Vec<i64>,
    },
    /// The number of elements of a constant differs from that of its shape, or a reshape changes the number of elements.
    #[error("the shape {shape:?} has {want} elements, got {have}")]
    ElementCount {
        /// Number of given elements.
        have: i64,
        /// Number of elements of the shape.
        want: i64,
        /// The requested shape.
        shape: Vec<i64>,
    },
    /// A size is negative, or the size in bytes overflows.
    #[error("invalid tensor shape {0:?}")]
    Shape(Vec<i64>),
    /// Two parameters or two results have the same name.
    #[error("there are two {what} named {name:?}")]
    Name {
        /// `parameters` or `results`.
        what: &'static str,
        /// The name that is used twice.
        name: String,
    },
    /// Operands are invalid for an operation.
    #[error("{0}")]
    Operands(String),
    /// The rank of a tensor is not the expected one.
    #[error("a tensor of shape {shape:?} has rank {}, expected {want}", shape.len())]
    Rank {
        /// The expected rank.
        want: usize,
        /// Shape of the tensor.
        shape: Vec<i64>,
    },
    /// A tensor is used outside its scope: it was created in a closure that has returned.
    #[error("the tensor was created inside the closure of {of}, which has returned")]
    Escaped {
        /// The operation that the closure was passed to.
        of: &'static str,
    },
    /// A closure of a loop or branch returns a tensor of a wrong type.
    #[error("{what}: tensor {at} must be {want}, got {have}")]
    Carried {
        /// The operation or closure that returns the tensor, such as `the body of a loop`.
        what: &'static str,
        /// Index of the tensor among those that the caller passed, in leaf order.
        at: usize,
        /// The required type.
        want: String,
        /// The type that the closure returns.
        have: String,
    },
    /// A function cannot be differentiated.
    #[error("{}", .0.message)]
    Gradient(Box<Diagnostic>),
    /// A collective names an axis that is not manual in any enclosing `shard_map`.
    #[error("no enclosing shard_map has the manual axis {axis:?}")]
    NotManual {
        /// The name of the axis of the collective.
        axis: String,
        /// The axes of the innermost `shard_map`.
        known: Vec<String>,
    },
    /// A `shard_map` result may differ between devices along an axis that its specification omits.
    #[error(
        "result {result} of the shard_map may differ between devices along {}, which its specification {spec} does not contain",
        quoted(axes)
    )]
    Varies {
        /// The index of the result.
        result: usize,
        /// The specification of the result, as text.
        spec: String,
        /// The axes along which devices may have different values.
        axes: Vec<String>,
    },
    /// A parameter or a result is annotated with two different shardings.
    #[error("{what} has two different shardings: {before} and {after}")]
    MarkedTwice {
        /// A description of the parameter or result.
        what: String,
        /// The sharding of the first annotation.
        before: String,
        /// The sharding of the second annotation.
        after: String,
    },
    /// A warning: the loss does not depend on a tensor with respect to which a gradient is computed.
    #[error("the gradient is zero: the loss does not depend on this tensor")]
    ZeroGradient,
    /// A warning: a training step does not update a model parameter, although it updates others.
    #[error("the step updates other parameters, but not {name:?}")]
    Untrained {
        /// The name of the parameter.
        name: String,
    },
    /// The graph has been finished.
    #[error("the graph is already finished")]
    Finished,
    /// The finished module is invalid, because of a bug in this crate.
    #[error("the graph builder created an invalid module: {0}")]
    Invalid(Box<Diagnostic>),
}

impl ErrorKind {
    /// Returns the stable error code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            ErrorKind::SpecRank { .. } => "SH0601",
            ErrorKind::UnknownAxis { .. } => "SH0602",
            ErrorKind::AxisTwice { .. } => "SH0603",
            ErrorKind::Shapes { .. } => "SH0604",
            ErrorKind::DTypes { .. } => "SH0605",
            ErrorKind::ForeignTensor => "SH0606",
            ErrorKind::Mesh(_) => "SH0607",
            ErrorKind::Dimensions { .. } => "SH0608",
            ErrorKind::ElementCount { .. } => "SH0609",
            ErrorKind::Shape(_) => "SH0610",
            ErrorKind::Name { .. } => "SH0611",
            ErrorKind::Number { .. } => "SH0612",
            ErrorKind::Operands(_) => "SH0613",
            ErrorKind::Invalid(_) => "SH0614",
            ErrorKind::Rank { .. } => "SH0615",
            ErrorKind::Escaped { .. } => "SH0616",
            ErrorKind::Carried { .. } => "SH0617",
            ErrorKind::Gradient(diagnostic) => diagnostic.code,
            ErrorKind::Finished => "SH0618",
            ErrorKind::ZeroGradient => "SH0619",
            ErrorKind::NotManual { .. } => "SH0621",
            ErrorKind::Untrained { .. } => "SH0620",
            ErrorKind::MarkedTwice { .. } => "SH0622",
            ErrorKind::Varies { .. } => "SH0623",
        }
    }

    /// Replaces the tensor index of [`ErrorKind::Carried`] by `number(index)`, the index among the tensors that the caller passed.
    pub(crate) fn numbered(mut self, number: impl FnOnce(usize) -> usize) -> Self {
        if let ErrorKind::Carried { at, .. } = &mut self {
            *at = number(*at);
        }
        self
    }

    /// Returns whether this kind is a warning. A program with only warnings is valid.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        matches!(self, ErrorKind::ZeroGradient | ErrorKind::Untrained { .. })
    }

    /// Returns a hint on how to fix the error, if one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            ErrorKind::SpecRank { .. } => {
                Some("write one entry per dimension, None for an unsharded dimension".to_owned())
            }
            ErrorKind::UnknownAxis { axis, known } => {
                let axes: Vec<String> =
                    known.iter().map(|(name, size)| format!("{name:?} ({size})")).collect();
                let meant = nearest(axis, known.iter().map(|(name, _)| &**name));
                Some(match (axes.as_slice(), meant) {
                    ([], _) => "the mesh has no axes".to_owned(),
                    (axes, None) => format!("its axes are {}", axes.join(", ")),
                    (axes, Some(name)) => format!("did you mean {name:?}? its axes are {}", axes.join(", ")),
                })
            }
            ErrorKind::AxisTwice { .. } => {
                Some("a mesh axis can shard at most one dimension of a tensor".to_owned())
            }
            ErrorKind::Shapes { op: "dot", .. } => {
                Some("the last dimension of the left operand must equal the first of the right operand".to_owned())
            }
            ErrorKind::Shapes { op: "matmul", .. } => Some(
                "the last dimension of the left operand must equal the second-to-last of the right operand"
                    .to_owned(),
            ),
            ErrorKind::Shapes { op: "broadcast_in_dim", .. } => {
                Some("each operand dimension must equal its result dimension, or be 1".to_owned())
            }
            ErrorKind::Shapes { op: "dot_general" | "concatenate", .. } => {
                Some("transpose, reshape or slice one of the operands".to_owned())
            }
            ErrorKind::Shapes { .. } => Some(
                "shapes are broadcast from the last dimension: each pair must be equal, or one of them 1 or missing"
                    .to_owned(),
            ),
            ErrorKind::DTypes { left, right, .. } => Some(format!(
                "there is no implicit type promotion: convert one operand with .to(DType::{left:?}) or .to(DType::{right:?})"
            )),
            ErrorKind::ForeignTensor => {
                Some("tensors cannot be passed between graphs: pass the value as a parameter".to_owned())
            }
            ErrorKind::Dimensions { op: "transpose", .. } => {
                Some("a permutation lists every dimension once, counted from 0".to_owned())
            }
            ErrorKind::Dimensions { op: "broadcast_in_dim", .. } => {
                Some("list the result dimension of each operand dimension".to_owned())
            }
            ErrorKind::Dimensions { .. } => {
                Some("dimensions count from 0, or from -1 for the last, and each may occur once".to_owned())
            }
            ErrorKind::Shape(shape) => Some(if shape.iter().any(|&n| n < 0) {
                "sizes must not be negative".to_owned()
            } else {
                "the size in bytes overflows 64 bits".to_owned()
            }),
            ErrorKind::Name { .. } => {
                Some("use a different name: callers identify parameters and results by name".to_owned())
            }
            ErrorKind::Invalid(_) => Some("this is a bug in shardc: please report it".to_owned()),
            ErrorKind::Escaped { .. } => {
                Some("return the tensor from the closure, and use the result of the call".to_owned())
            }
            ErrorKind::Carried { .. } => {
                Some("reshape or convert the tensor that the closure returns".to_owned())
            }
            ErrorKind::Gradient(diagnostic) => diagnostic.hint.clone(),
            ErrorKind::NotManual { known, .. } => Some(match known.as_slice() {
                [] => {
                    "call collectives inside a shard_map; outside of it, tensors are global and sum is the global sum".to_owned()
                }
                known => format!("the manual axes of the shard_map are {}", known.join(", ")),
            }),
            ErrorKind::MarkedTwice { .. } => {
                Some("annotate the tensor once; clear_sharding removes the sharding of a parameter".to_owned())
            }
            ErrorKind::Varies { axes, .. } => Some(format!(
                "replicate it (psum, pmean or all_gather along {axes}), or name {axes} in its spec; if it is known to be replicated, use \
                 assume_replicated",
                axes = quoted(axes),
            )),
            ErrorKind::ZeroGradient => Some(
                "use it in the loss, or do not request its gradient; gradients do not flow through stop_gradient or integer tensors"
                    .to_owned(),
            ),
            ErrorKind::Untrained { .. } => Some(
                "pass the gradient of the parameter to the optimizer, or create the parameter in a frozen scope"
                    .to_owned(),
            ),
            ErrorKind::Finished => Some("a graph cannot be used after finish: create a new one".to_owned()),
            ErrorKind::Mesh(_)
            | ErrorKind::Rank { .. }
            | ErrorKind::ElementCount { .. }
            | ErrorKind::Number { .. }
            | ErrorKind::Operands(_) => None,
        }
    }

    /// Creates an error of this kind at the caller's location, without operands.
    #[track_caller]
    pub(crate) fn here(self) -> GraphError {
        GraphError { kind: self, location: Location::caller(), operands: Vec::new() }
    }
}

/// Lists quoted names as text: `"a", "b" and "c"`.
fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}
