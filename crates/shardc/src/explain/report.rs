//! What `explain` says, as data: the JSON that it writes, and what its text and its page are made from.

use serde::Serialize;

/// The answer to a question about a program. Version 1.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Version of this format: 1.
    pub version: u32,
    /// The file.
    pub source: String,
    /// Axes of the mesh.
    pub axes: Vec<AxisReport>,
    /// Arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ValueReport>,
    /// Results of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ValueReport>,
    /// The values that were asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueReport>,
    /// What operations' operands and results disagree on, most bytes first; equal ones together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictReport>,
    /// Large values that every device holds whole; equal ones together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replicated: Vec<ReplicatedReport>,
    /// The collectives of the partitioned program, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveReport>,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A place in the program and in the program of the user that it was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourcePlace {
    /// Line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The line, cut where it is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The part of the line that is meant: first character and length.
    #[serde(skip)]
    pub mark: Option<(usize, usize)>,
    /// For an operation of a function that is called, the lines of the calls, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<usize>,
    /// `file.py:12:5` in the user's own program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The name that the front end gave the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An axis of the mesh.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AxisReport {
    /// Its name.
    pub name: String,
    /// Number of devices along it.
    pub size: i64,
    /// The annotations that name it, with how many values have it from each.
    pub annotations: Vec<AnnotationReport>,
    /// How many values it splits.
    pub values: usize,
}

/// An annotation that values have an axis from.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AnnotationReport {
    /// What it is: `argument 0 %x`.
    pub annotation: String,
    /// Where.
    pub place: SourcePlace,
    /// How many values have the axis from it.
    pub values: usize,
}

/// A value and why it is split as it is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ValueReport {
    /// Its name in the file.
    pub name: String,
    /// The name that the front end gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: String,
    /// Its sharding.
    pub sharding: String,
    /// The operation that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// Where.
    pub place: SourcePlace,
    /// Each axis of the sharding.
    pub axes: Vec<AxisOrigin>,
    /// What did not come to it, or to its neighbours from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictReport>,
    /// What was taken off at the boundary of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trimmed: Vec<String>,
}

/// One axis on one value.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AxisOrigin {
    /// The axis or the part of it.
    pub axis: String,
    /// `dimension 0`, `unreduced`.
    pub place: String,
    /// The annotation that it comes from.
    pub origin: String,
    /// The way, from the annotation on.
    pub steps: Vec<StepReport>,
}

/// One step of the way of an axis.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepReport {
    /// The value that has the axis after it.
    pub value: String,
    /// Where on the value.
    pub at: String,
    /// What carried it.
    pub how: String,
    /// Where that stands.
    pub place: SourcePlace,
}

/// A disagreement.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ConflictReport {
    /// The operation.
    pub op: String,
    /// Where (the first of several).
    pub place: SourcePlace,
    /// The axis.
    pub axis: String,
    /// Who has it: `%3 dimension 0`.
    pub has: String,
    /// Who lacks it.
    pub lacks: String,
    /// Why.
    pub reason: String,
    /// Bytes that each device holds of the value beyond what it would hold with the axis, of all together.
    pub bytes: u64,
    /// How many such there are.
    pub count: usize,
    /// The annotation that the axis comes from.
    pub origin: String,
    /// The annotation that what stands in its way comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
}

/// Values that every device holds whole.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReplicatedReport {
    /// The first.
    pub name: String,
    /// The operation that makes it.
    pub op: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: String,
    /// Bytes of one.
    pub bytes: u64,
    /// How many there are.
    pub count: usize,
    /// Where the first stands.
    pub place: SourcePlace,
}

/// A collective of the partitioned program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CollectiveReport {
    /// Its number in the order of the program, from 0.
    pub number: usize,
    /// `all_reduce`.
    pub kind: String,
    /// The axes of the mesh along which devices talk.
    pub axes: Vec<String>,
    /// What a device gives.
    #[serde(rename = "type")]
    pub ty: String,
    /// Bytes that one device sends when it runs once.
    pub bytes: u64,
    /// Whether it stands in a loop.
    pub in_loop: bool,
    /// The function that it stands in, where that is called rather than the program itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<CalledReport>,
    /// What it is there for: several operations, where their collectives became one.
    pub serves: Vec<ServedReport>,
    /// The axes of the operations' operands and results, with their ways.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<ValueReport>,
}

/// A function of the partitioned program that is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CalledReport {
    /// Its name in the partitioned program.
    pub name: String,
    /// How often it runs in one run of the program: loops as often as their text says, or else a few times.
    pub runs: u64,
}

/// An operation that needs a collective.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ServedReport {
    /// `stablehlo.dot_general`; empty for one that is not in the propagated program.
    pub op: String,
    /// Where it stands.
    pub place: SourcePlace,
    /// Why it needs the collective, in words.
    pub because: Vec<String>,
}

impl SourcePlace {
    /// What is to be said besides the line: the calls that lead there, and the place in the user's program.
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
        // Plain structs of strings and numbers: serialising them cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
