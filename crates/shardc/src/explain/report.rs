//! The report of `explain` as data: its JSON form, and the input of its text and HTML forms.

use serde::Serialize;

use super::classes::OperandClass;

/// The answer to a question about a program, in version 1 of the format.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Version of this format: 1.
    pub version: u32,
    /// The name of the program's file.
    pub source: String,
    /// The devices for which planning compares costs: `v5e:2x4`, or `v5e` if the target has no grid. It is the default if none was given.
    pub target: String,
    /// Axes of the mesh.
    pub axes: Vec<AxisReport>,
    /// Arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ValueReport>,
    /// Results of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ValueReport>,
    /// The values that the question selects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueReport>,
    /// Sharding conflicts between operands and results of operations. Equal conflicts are grouped, and the groups are ordered by the bytes sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictReport>,
    /// Large replicated values, grouped by operation and type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replicated: Vec<ReplicatedReport>,
    /// The collectives of the partitioned program, in order. [`ExplainOptions::filter`](super::ExplainOptions::filter) selects some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveReport>,
    /// The layers of the program, and the values between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphReport>,
    /// The first mesh with several devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<MeshReport>,
    /// All collectives of the partitioned program, including those that the filter does not select. `None` if the question is not about
    /// all collectives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<TotalsReport>,
    /// Further notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A source position in the program, and in the user's program from which it was generated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourcePlace {
    /// Line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The text of the line, truncated if it is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The range of the line to underline: first character and length.
    #[serde(skip)]
    pub mark: Option<(usize, usize)>,
    /// For an operation of a called function, the lines of the calls, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<usize>,
    /// The position in the user's program: `file.py:12:5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The front end's name of the location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An axis of the mesh.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AxisReport {
    /// The name.
    pub name: String,
    /// Number of devices along the axis.
    pub size: i64,
    /// The annotations that contain the axis, each with the number of values to which the axis propagates from that annotation.
    pub annotations: Vec<AnnotationReport>,
    /// The number of values that the axis shards.
    pub values: usize,
}

/// An annotation from which an axis propagates.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AnnotationReport {
    /// The annotation: `argument 0 %x`.
    pub annotation: String,
    /// The source position.
    pub place: SourcePlace,
    /// The number of values to which the axis propagates from this annotation.
    pub values: usize,
}

/// A value and the reasons for its sharding.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ValueReport {
    /// The name in the file.
    pub name: String,
    /// The front end's name of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The type.
    #[serde(rename = "type")]
    pub ty: String,
    /// The sharding.
    pub sharding: String,
    /// The operation that produces the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The source position.
    pub place: SourcePlace,
    /// Each axis of the sharding.
    pub axes: Vec<AxisOrigin>,
    /// Conflicts: axes that did not propagate to the value, or from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictReport>,
    /// The dimensions of an argument or result from which axes were removed, because they are sub-axes or do not divide the dimension.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trimmed: Vec<String>,
}

/// One axis on one value.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AxisOrigin {
    /// The axis or sub-axis.
    pub axis: String,
    /// How the value uses the axis: `dimension 0`, `unreduced`.
    pub place: String,
    /// The annotation from which the axis propagated.
    pub origin: String,
    /// The propagation path, starting at the annotation.
    pub steps: Vec<StepReport>,
}

/// One step of the propagation path of an axis.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepReport {
    /// The value that the axis is propagated to.
    pub value: String,
    /// How the value uses the axis: `dimension 0`, `unreduced`.
    pub at: String,
    /// How the axis propagated: `through dot_general`.
    pub how: String,
    /// The source position of the operation or annotation.
    pub place: SourcePlace,
}

/// A conflict: one tensor of an operation has an axis that another tensor lacks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ConflictReport {
    /// The operation.
    pub op: String,
    /// The source position of the operation. If several operations have equal conflicts, it is the position of the first.
    pub place: SourcePlace,
    /// The axis.
    pub axis: String,
    /// The value and dimension with the axis: `%3 dimension 0`.
    pub has: String,
    /// The value and dimension without the axis.
    pub lacks: String,
    /// The reason.
    pub reason: String,
    /// The bytes that a device sends in one execution of the program because of all equal conflicts. Several reasons for one collective have
    /// equal shares of its bytes. `None` if the question is not about the whole program, or it cannot be partitioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// The number of equal conflicts.
    pub count: usize,
    /// The annotation from which the axis propagated.
    pub origin: String,
    /// The annotation from which the conflicting axis propagated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
}

/// Replicated values with the same operation and type.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReplicatedReport {
    /// The name of the group's first value.
    pub name: String,
    /// The operation that produces the value.
    pub op: String,
    /// The type.
    #[serde(rename = "type")]
    pub ty: String,
    /// The bytes of one value.
    pub bytes: u64,
    /// The number of values in the group.
    pub count: usize,
    /// The source position of the group's first value.
    pub place: SourcePlace,
}

/// A collective of the partitioned program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CollectiveReport {
    /// The index of the collective in program order, from 0.
    pub number: usize,
    /// The kind: `all_reduce`.
    pub kind: String,
    /// The mesh axes along which devices communicate.
    pub axes: Vec<String>,
    /// The local type of the operand.
    #[serde(rename = "type")]
    pub ty: String,
    /// The bytes that one device sends in one execution.
    pub bytes: u64,
    /// The number of executions in one execution of the program. In a loop it counts once for each iteration (unknown trip counts are
    /// estimated), and in a called function once for each call.
    pub runs: u64,
    /// The class of the operand; of several operands, the class with the most bytes. `None` in a called function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<OperandClass>,
    /// Whether the collective is in a loop.
    pub in_loop: bool,
    /// The nodes of the graph that produce the operand and use the result; equal for a collective within a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<(usize, usize)>,
    /// The function that contains the collective; `None` for the entry function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<CalledReport>,
    /// The operations that need the collective. There are several if their collectives were combined.
    pub serves: Vec<ServedReport>,
    /// The operands and results of the operations in `serves`, with the propagation paths of their axes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<ValueReport>,
    /// The change of annotations that removes the collective, if one was found. Only the first of equal collectives has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<RemedyReport>,
    /// The number of the first collective that differs only in the layer to which it belongs.
    pub group: usize,
    /// The reason why there is no remedy, if remedies were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_remedy: Option<String>,
}

/// A change of annotations that reduces the bytes that devices send. The differences were measured: the program was partitioned with the
/// change.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RemedyReport {
    /// The change: `replicate argument 3 params['w'] over "model"`.
    pub what: String,
    /// The annotations that make the change, as arguments of `--spec`: `arg3=-,-`.
    pub specs: Vec<String>,
    /// The change of the bytes that a device sends in one execution of the program; negative, since a remedy sends less.
    pub sent: i64,
    /// The change of the estimated seconds of one execution; `None` if no target has the number of devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The change of the estimated peak memory of a device, in bytes.
    pub memory: i64,
    /// The factor by which the floating-point operations of matrix products and convolutions of a device change.
    pub operations: f64,
}

/// The number and the bytes of collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TotalsReport {
    /// The number of operations.
    pub collectives: usize,
    /// The number of executions in one execution of the program.
    pub runs: u64,
    /// The bytes that one device sends in one execution of the program.
    pub bytes: u64,
}

impl TotalsReport {
    /// The totals of some collectives.
    #[must_use]
    pub fn of(collectives: &[CollectiveReport]) -> TotalsReport {
        let sum = |of: fn(&CollectiveReport) -> u64| collectives.iter().map(of).fold(0, u64::saturating_add);
        TotalsReport {
            collectives: collectives.len(),
            runs: sum(|c| c.runs),
            bytes: sum(CollectiveReport::bytes_in_run),
        }
    }
}

impl CollectiveReport {
    /// The bytes that one device sends in one execution of the program.
    #[must_use]
    pub fn bytes_in_run(&self) -> u64 {
        self.bytes.saturating_mul(self.runs)
    }

    /// Whether the collective adds partial sums.
    pub(super) fn reduces(&self) -> bool {
        matches!(self.kind.as_str(), "all_reduce" | "reduce_scatter")
    }
}

/// A called function of the partitioned program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CalledReport {
    /// The name in the partitioned program.
    pub name: String,
    /// How often the function runs in one execution of the program; unknown trip counts of loops are estimated.
    pub runs: u64,
}

/// An operation that needs a collective.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ServedReport {
    /// The operation, such as `stablehlo.dot_general`; empty if the propagated program does not contain it.
    pub op: String,
    /// The source position.
    pub place: SourcePlace,
    /// The reasons why the operation needs the collective, as text.
    pub because: Vec<String>,
}

/// A mesh.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MeshReport {
    /// The axes, major first.
    pub axes: Vec<MeshAxis>,
    /// The device at each position, if the devices are not in the order of their numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<Vec<i64>>,
}

/// An axis of a mesh.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MeshAxis {
    /// The name.
    pub name: String,
    /// The number of devices along the axis.
    pub size: i64,
}

/// The layers of a program, and the values that flow between them. Node 0 are the arguments, node 1 are the results.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GraphReport {
    /// The nodes: each node precedes the nodes that it contains. The nodes in one node are in program order.
    pub nodes: Vec<GraphNode>,
    /// The edges, between nodes at any level.
    pub edges: Vec<GraphEdge>,
}

/// A block of operations: a layer, or a group of operations within a layer.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GraphNode {
    /// The index of the node that contains this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// `arguments`, `results`, `block`, `loop` (an operation with regions), or `operation`.
    pub kind: String,
    /// The name: a scope of the front end, a common prefix of argument names, or operations.
    pub name: String,
    /// The number of equal blocks that the node stands for, including copies of the nodes that contain it.
    pub copies: u64,
    /// For a loop, the number of iterations; unknown trip counts are estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trips: Option<u64>,
    /// The type of the first result of the operation.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub ty: Option<String>,
    /// The sharding of the first result of the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharding: Option<String>,
    /// The number of operations in all copies, without those of contained nodes. For arguments and results, the number of values.
    pub ops: usize,
    /// The source position of the first operation.
    pub place: SourcePlace,
}

/// Values that flow from one node to another.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GraphEdge {
    /// The index of the node that computes the values.
    pub from: usize,
    /// The index of the node that uses them.
    pub to: usize,
    /// Whether the values flow to a later copy of a block.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub next: bool,
    /// The number of values.
    pub values: usize,
    /// The bytes of all values on each device.
    pub bytes: u64,
}

impl SourcePlace {
    /// The position without file and line: the call sites, and the position in the user's program.
    pub(super) fn details(&self) -> String {
        let calls: Vec<String> = self.calls.iter().map(|line| format!("called at line {line}")).collect();
        let user = self.user.as_ref().or(self.name.as_ref()).map(|user| format!("at {user}"));
        calls.into_iter().chain(user).collect::<Vec<_>>().join(", ")
    }
}

impl Report {
    /// The report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serialization cannot fail: the structs consist of strings and numbers.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
