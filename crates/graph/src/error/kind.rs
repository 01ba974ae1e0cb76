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
    /// A specification does not have one entry per dimension of the tensor.
    #[error("the specification {spec} is for rank {entries}, the tensor of shape {shape:?} has rank {}", shape.len())]
    SpecRank {
        /// The specification.
        spec: String,
        /// Number of its entries.
        entries: usize,
        /// Shape of the tensor.
        shape: Vec<i64>,
    },
    /// A specification names an axis that the mesh lacks.
    #[error("the mesh has no axis {axis:?}")]
    UnknownAxis {
        /// The name.
        axis: String,
        /// The mesh's axes and their sizes.
        known: Vec<(String, i64)>,
    },
    /// A specification names an axis twice.
    #[error("the specification {spec} uses the axis {axis:?} twice")]
    AxisTwice {
        /// The name.
        axis: String,
        /// The specification.
        spec: String,
    },
    /// The shapes of operands do not match.
    #[error("{op} of tensors of shapes {left:?} and {right:?}")]
    Shapes {
        /// The operation.
        op: &'static str,
        /// The first shape.
        left: Vec<i64>,
        /// The second shape.
        right: Vec<i64>,
    },
    /// Operands have different element types.
    #[error("{op} of tensors of element types {left} and {right}")]
    DTypes {
        /// The operation.
        op: &'static str,
        /// The first element type.
        left: DType,
        /// The second element type.
        right: DType,
    },
    /// The element type cannot represent a number.
    #[error("{number} is not an element of type {dtype}")]
    Number {
        /// The number.
        number: String,
        /// The element type.
        dtype: DType,
    },
    /// A tensor of another graph.
    #[error("the tensor belongs to another graph")]
    ForeignTensor,
    /// The mesh is invalid.
    #[error("{0}")]
    Mesh(String),
    /// A dimension does not exist, or is named twice.
    #[error("{op}: dimensions {dims:?} do not fit a tensor of shape {shape:?}")]
    Dimensions {
        /// The operation.
        op: &'static str,
        /// The dimensions.
        dims: Vec<i64>,
        /// Shape of the tensor.
        shape: Vec<i64>,
    },
    /// The number of elements of a constant is not that of its shape, or a reshape changes the number.
    #[error("{have} elements do not make up the shape {shape:?}, which has {want}")]
    ElementCount {
        /// Number of elements given.
        have: i64,
        /// Number of elements of the shape.
        want: i64,
        /// The shape.
        shape: Vec<i64>,
    },
    /// A size is negative, or the size in bytes overflows.
    #[error("{0:?} is not the shape of a tensor")]
    Shape(Vec<i64>),
    /// Two parameters or two results have the same name.
    #[error("there are two {what} named {name:?}")]
    Name {
        /// `parameters` or `results`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Operands are invalid for an operation.
    #[error("{0}")]
    Operands(String),
    /// The rank of a tensor is not the expected one.
    #[error("a tensor of shape {shape:?} has {} dimensions, not {want}", shape.len())]
    Rank {
        /// The expected rank.
        want: usize,
        /// Shape of the tensor.
        shape: Vec<i64>,
    },
    /// A tensor is used outside its scope: it was created in a closure that has returned.
    #[error("the tensor was made inside of {of}, which has ended")]
    Escaped {
        /// The operation that the closure was passed to.
        of: &'static str,
    },
    /// A loop-carried value, or the results of branches, have different types.
    #[error("{what}: tensor {at} must be {want}, but {have} is returned")]
    Carried {
        /// The operation.
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
    /// A collective along an axis of no enclosing `shard_map`.
    #[error("devices do not meet along {axis:?} here")]
    NotManual {
        /// The axis.
        axis: String,
        /// The axes of the innermost `shard_map`.
        known: Vec<String>,
    },
    /// A `shard_map` result whose specification omits an axis along which devices may have different values.
    #[error(
        "devices along {} may return different values for result {result} of the shard_map, of which {spec} takes one",
        quoted(axes)
    )]
    Varies {
        /// The index of the result.
        result: usize,
        /// Its specification.
        spec: String,
        /// The axes.
        axes: Vec<String>,
    },
    /// A parameter or a result with two different marks.
    #[error("{what} is marked {before} and {after}")]
    MarkedTwice {
        /// A description of it.
        what: String,
        /// The first mark.
        before: String,
        /// The second mark.
        after: String,
    },
    /// A gradient with respect to a tensor that the loss does not depend on: a warning.
    #[error("the gradient is zeros: the loss does not depend on this")]
    ZeroGradient,
    /// A model parameter that a training step does not update, although it updates others: a warning.
    #[error("the step changes parameters, but not {name:?}")]
    Untrained {
        /// The parameter.
        name: String,
    },
    /// The graph has been finished.
    #[error("the graph has been finished")]
    Finished,
    /// The finished module is invalid: a bug in this crate.
    #[error("the graph's module is not valid: {0}")]
    Invalid(Box<Diagnostic>),
}

impl ErrorKind {
    /// The stable error code.
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

    /// The error with the index of the tensor converted to the caller's numbering.
    pub(crate) fn numbered(mut self, number: impl FnOnce(usize) -> usize) -> Self {
        if let ErrorKind::Carried { at, .. } = &mut self {
            *at = number(*at);
        }
        self
    }

    /// Whether it is a warning: the program is valid.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        matches!(self, ErrorKind::ZeroGradient | ErrorKind::Untrained { .. })
    }

    /// A hint.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            ErrorKind::SpecRank { .. } => {
                Some("write one entry per dimension, None for one that is not split".to_owned())
            }
            ErrorKind::UnknownAxis { axis, known } => {
                let axes: Vec<String> =
                    known.iter().map(|(name, size)| format!("{name:?} ({size})")).collect();
                let meant = nearest(axis, known.iter().map(|(name, _)| &**name));
                Some(match (axes.as_slice(), meant) {
                    ([], _) => "it has no axes at all".to_owned(),
                    (axes, None) => format!("its axes are {}", axes.join(", ")),
                    (axes, Some(name)) => format!("did you mean {name:?}? its axes are {}", axes.join(", ")),
                })
            }
            ErrorKind::AxisTwice { .. } => {
                Some("an axis of the mesh can split a tensor in one place only".to_owned())
            }
            ErrorKind::Shapes { op: "dot", .. } => {
                Some("the last dimension of the left and the first of the right have to be equal".to_owned())
            }
            ErrorKind::Shapes { op: "matmul", .. } => Some(
                "the last dimension of the left and the last but one of the right have to be equal"
                    .to_owned(),
            ),
            ErrorKind::Shapes { op: "broadcast_in_dim", .. } => {
                Some("each dimension of the operand has to be equal to its place, or 1".to_owned())
            }
            ErrorKind::Shapes { op: "dot_general" | "concatenate", .. } => {
                Some("transpose, reshape or slice one of them".to_owned())
            }
            ErrorKind::Shapes { .. } => Some(
                "dimensions are compared from the last; each has to be equal, or 1, or missing in front"
                    .to_owned(),
            ),
            ErrorKind::DTypes { left, right, .. } => Some(format!(
                "element types never change by themselves: convert one, with .to(DType::{left:?}) or .to(DType::{right:?})"
            )),
            ErrorKind::ForeignTensor => {
                Some("tensors cannot be passed between graphs: pass the value as a parameter".to_owned())
            }
            ErrorKind::Dimensions { op: "transpose", .. } => {
                Some("a permutation names every dimension once, from 0".to_owned())
            }
            ErrorKind::Dimensions { op: "broadcast_in_dim", .. } => {
                Some("name, for each dimension of the operand, its place in the result".to_owned())
            }
            ErrorKind::Dimensions { .. } => {
                Some("dimensions count from 0, or from -1 for the last, and may be named once".to_owned())
            }
            ErrorKind::Shape(shape) => Some(if shape.iter().any(|&n| n < 0) {
                "sizes are not negative".to_owned()
            } else {
                "that is more than can be counted in 64 bits".to_owned()
            }),
            ErrorKind::Name { .. } => {
                Some("names tell parameters and results apart for whoever runs it".to_owned())
            }
            ErrorKind::Invalid(_) => Some("this is a mistake of shardc's: please report it".to_owned()),
            ErrorKind::Escaped { .. } => {
                Some("let the closure return it, and take it from what the call returns".to_owned())
            }
            ErrorKind::Carried { .. } => {
                Some("reshape or convert the tensor that the closure returns".to_owned())
            }
            ErrorKind::Gradient(diagnostic) => diagnostic.hint.clone(),
            ErrorKind::NotManual { known, .. } => Some(match known.as_slice() {
                [] => {
                    "collectives stand inside of a shard_map; elsewhere sums are of whole tensors".to_owned()
                }
                known => format!("the shard_map is over {}", known.join(", ")),
            }),
            ErrorKind::MarkedTwice { .. } => {
                Some("mark it once; clear_sharding takes the mark of a parameter away".to_owned())
            }
            ErrorKind::Varies { axes, .. } => Some(format!(
                "make it the same on all of them (psum, pmean, all_gather along {axes}), or name {axes} in its specification; where it is \
                 the same, though that cannot be seen, say so with assume_replicated",
                axes = quoted(axes),
            )),
            ErrorKind::ZeroGradient => Some(
                "use it in the loss, or leave it out; stop_gradient and integers let nothing through"
                    .to_owned(),
            ),
            ErrorKind::Untrained { .. } => Some(
                "take its gradient and give it to the optimiser, or ask for it from a frozen scope"
                    .to_owned(),
            ),
            ErrorKind::Finished => Some("a graph ends with finish: build another one".to_owned()),
            ErrorKind::Mesh(_)
            | ErrorKind::Rank { .. }
            | ErrorKind::ElementCount { .. }
            | ErrorKind::Number { .. }
            | ErrorKind::Operands(_) => None,
        }
    }

    /// The error at the caller's location.
    #[track_caller]
    pub(crate) fn here(self) -> GraphError {
        GraphError { kind: self, location: Location::caller(), operands: Vec::new() }
    }
}

/// Quoted names as an enumeration.
fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}
