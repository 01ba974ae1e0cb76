//! What can be wrong, with its code and what to do about it.

use std::panic::Location;

use shardc_ir::suggest::nearest;
use shardc_ir::{DType, Diagnostic};

use super::GraphError;

pub(crate) type KindResult<T> = Result<T, ErrorKind>;

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A specification has more or fewer entries than the tensor has dimensions.
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
    /// Operands have shapes that do not go together.
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
    /// A number cannot be an element of this type.
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
    /// The mesh is not one.
    #[error("{0}")]
    Mesh(String),
    /// A dimension that the tensor lacks, or one twice.
    #[error("{op}: dimensions {dims:?} do not fit a tensor of shape {shape:?}")]
    Dimensions {
        /// The operation.
        op: &'static str,
        /// The dimensions.
        dims: Vec<i64>,
        /// Shape of the tensor.
        shape: Vec<i64>,
    },
    /// A constant has more or fewer elements than its shape, or a reshape changes their number.
    #[error("{have} elements do not make up the shape {shape:?}, which has {want}")]
    ElementCount {
        /// Number of elements given.
        have: i64,
        /// Number of elements that the shape has.
        want: i64,
        /// The shape.
        shape: Vec<i64>,
    },
    /// A size is negative, or there are more bytes than can be counted.
    #[error("{0:?} is not the shape of a tensor")]
    Shape(Vec<i64>),
    /// Two parameters or two results of one name.
    #[error("there are two {what} named {name:?}")]
    Name {
        /// `parameters` or `results`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Operands do not fit an operation.
    #[error("{0}")]
    Operands(String),
    /// A tensor has another number of dimensions than the program says.
    #[error("a tensor of shape {shape:?} has {} dimensions, not {want}", shape.len())]
    Rank {
        /// How many the program wants.
        want: usize,
        /// Shape of the tensor.
        shape: Vec<i64>,
    },
    /// A tensor that is read where it does not exist: it was made in a closure that has returned.
    #[error("the tensor was made inside of {of}, which has ended")]
    Escaped {
        /// What the closure was given to.
        of: &'static str,
    },
    /// What a loop carries, or what branches return, changes its type.
    #[error("{what}: tensor {at} must be {want}, but {have} is returned")]
    Carried {
        /// The operation.
        what: &'static str,
        /// Which of the tensors that the caller passed, in the order of their leaves.
        at: usize,
        /// The type that it must have.
        want: String,
        /// The type of what the closure returns.
        have: String,
    },
    /// A function cannot be differentiated.
    #[error("{}", .0.message)]
    Gradient(Box<Diagnostic>),
    /// A collective along an axis that no `shard_map` around it is over.
    #[error("devices do not meet along {axis:?} here")]
    NotManual {
        /// The axis.
        axis: String,
        /// The axes of the innermost `shard_map`.
        known: Vec<String>,
    },
    /// A result of a `shard_map` that its specification takes from one device along an axis, where devices may have different ones.
    #[error(
        "devices along {} may return different values for result {result} of the shard_map, of which {spec} takes one",
        quoted(axes)
    )]
    Varies {
        /// Which result, in order.
        result: usize,
        /// Its specification.
        spec: String,
        /// The axes.
        axes: Vec<String>,
    },
    /// A parameter or a result that is marked in two ways.
    #[error("{what} is marked {before} and {after}")]
    MarkedTwice {
        /// What it is.
        what: String,
        /// The first mark.
        before: String,
        /// The second one.
        after: String,
    },
    /// A gradient by something that the loss does not depend on: a warning.
    #[error("the gradient is zeros: the loss does not depend on this")]
    ZeroGradient,
    /// A parameter of a model that a training step leaves as it is, where it changes others: a warning.
    #[error("the step changes parameters, but not {name:?}")]
    Untrained {
        /// The parameter.
        name: String,
    },
    /// The graph has been finished.
    #[error("the graph has been finished")]
    Finished,
    /// The finished module breaks an invariant: a mistake of this crate's.
    #[error("the graph's module is not valid: {0}")]
    Invalid(Box<Diagnostic>),
}

impl ErrorKind {
    /// The stable code.
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

    /// The error with the caller's number of the tensor, where it was counted among others.
    pub(crate) fn numbered(mut self, number: impl FnOnce(usize) -> usize) -> Self {
        if let ErrorKind::Carried { at, .. } = &mut self {
            *at = number(*at);
        }
        self
    }

    /// Whether it is a warning: the program does what was written.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        matches!(self, ErrorKind::ZeroGradient | ErrorKind::Untrained { .. })
    }

    /// What to do about it.
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

    /// The error at the place of the call that this is called from.
    #[track_caller]
    pub(crate) fn here(self) -> GraphError {
        GraphError { kind: self, location: Location::caller(), operands: Vec::new() }
    }
}

/// Names in quotes, as a list in a sentence.
fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}
