//! The plan of a program as data: its JSON form, and the input of its text and HTML forms.
//!
//! Bytes and seconds are those of one device in one execution of the program, unless a field states otherwise.

use serde::Serialize;

use crate::explain::SourcePlace;

/// The predicted memory, communication and time of a program on a target, in version 1 of the format.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlanReport {
    /// Version of this format: 1.
    pub version: u32,
    /// The name of the program's file.
    pub source: String,
    /// The devices for which the program is planned.
    pub target: TargetReport,
    /// The axes of the mesh, major first.
    pub mesh: Vec<MeshAxisReport>,
    /// Memory of a device.
    pub memory: MemoryReport,
    /// Collectives, grouped by kind and mesh axes; the group that takes the most time is first.
    pub communication: Vec<TrafficReport>,
    /// Time of one execution of the program.
    pub time: TimeReport,
    /// The number of changes that were measured; absent if changes were not looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<usize>,
    /// Changes that make the program fit or make it faster, best first. Each is measured alone; effects do not add up.
    pub changes: Vec<ChangeReport>,
    /// The effect of several changes together, if the program does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub together: Option<TogetherReport>,
    /// Assumptions of the prediction, and further notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The devices for which a program is planned.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TargetReport {
    /// The name: `v5p:4x4x4`.
    pub name: String,
    /// The number of devices.
    pub devices: usize,
    /// Bytes of memory that a program can use on each device.
    pub memory: u64,
    /// Peak floating-point operations per second of a device, for the element type of the program's matrix products.
    pub peak_flops: f64,
}

/// An axis of the mesh, and the links between the devices along it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MeshAxisReport {
    /// The name.
    pub name: String,
    /// The number of devices along the axis.
    pub size: i64,
    /// The links: `ICI`, `NVLink`, `network`.
    pub link: String,
    /// Bytes per second that a device can send to the other devices along the axis.
    pub bandwidth: f64,
}

/// The memory of a device.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MemoryReport {
    /// Bytes that a program can use; 0 if unknown.
    pub limit: u64,
    /// The lower end of the estimated peak.
    pub low: u64,
    /// The estimated peak.
    pub expected: u64,
    /// The upper end of the estimated peak. It is compared with the limit.
    pub high: u64,
    /// The reasons for the width of the interval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Whether the upper end is within the limit.
    pub fits: bool,
    /// Bytes at the peak by class: parameters, gradients, optimizer state, batch, activations, collective buffers.
    pub classes: Vec<ClassReport>,
    /// Bytes of arguments and results in host memory.
    pub host: u64,
    /// Groups of buffers that are live at the peak, largest first.
    pub live: Vec<BufferReport>,
    /// The number of program points of the entry function, in the order of execution.
    pub points: usize,
    /// The live bytes after each change: program point and bytes, in ascending order of program points.
    pub timeline: Vec<(usize, u64)>,
    /// The live bytes of each class, as in `timeline`.
    pub classes_over_time: Vec<ClassOverTime>,
    /// The largest buffers of the whole execution, in the order of their definition.
    pub buffers: Vec<BufferReport>,
    /// The number of further buffers.
    pub unlisted: usize,
}

/// Bytes of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassReport {
    /// The class.
    pub class: String,
    /// Bytes at the peak.
    pub bytes: u64,
}

/// The live bytes of one class over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassOverTime {
    /// The class.
    pub class: String,
    /// The live bytes after each change: program point and bytes, in ascending order of program points.
    pub timeline: Vec<(usize, u64)>,
}

/// A buffer, or a group of equal buffers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BufferReport {
    /// The front end's name of the value, or the operation that produces it.
    pub name: String,
    /// The local type.
    #[serde(rename = "type")]
    pub ty: String,
    /// The class, as in [`ClassReport`].
    pub class: String,
    /// Bytes of the group.
    pub bytes: u64,
    /// The number of buffers in the group.
    pub count: usize,
    /// The program point at which the first buffer is defined.
    pub first: usize,
    /// The program point after which the last buffer is dead.
    pub last: usize,
    /// The source position of the producer.
    pub place: SourcePlace,
}

/// Collectives of one kind along the same mesh axes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrafficReport {
    /// The kind: `all_gather`.
    pub kind: String,
    /// The mesh axes along which devices communicate.
    pub axes: Vec<String>,
    /// The slowest links on the way: `ICI`.
    pub link: String,
    /// The number of operations.
    pub count: usize,
    /// The number of executions; an operation in a loop counts once for each iteration.
    pub runs: u64,
    /// Bytes that a device sends.
    pub bytes: u64,
    /// Seconds of communication.
    pub seconds: f64,
    /// Seconds in which the device waits, because no computation overlaps.
    pub exposed: f64,
}

/// The time of one execution of the program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TimeReport {
    /// Seconds of the whole execution.
    pub seconds: f64,
    /// Seconds in which the device computes.
    pub compute: f64,
    /// The part of `compute` that is limited by memory bandwidth.
    pub memory_bound: f64,
    /// The part of `compute` that is the starts of kernels.
    pub launches: f64,
    /// Seconds of communication, overlapped or not.
    pub communication: f64,
    /// Seconds in which the device waits for communication.
    pub exposed: f64,
    /// Floating-point operations of matrix products and convolutions of one device.
    pub flops: f64,
    /// Hardware FLOPS utilization (HFU): the time of the program's matrix products at peak rates on all devices, divided by `seconds`. It
    /// includes values that the program computes again in the backward pass.
    pub hfu: f64,
    /// The schedule. The body of a loop appears once, with the time of all iterations.
    pub spans: Vec<SpanReport>,
    /// The loops, in program order.
    pub loops: Vec<LoopReport>,
}

/// An operation, or a group of operations, in the schedule.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SpanReport {
    /// The operation, or the name of a layer.
    pub name: String,
    /// The resource: `compute`, or `communication` with the link.
    pub lane: String,
    /// Start in seconds.
    pub start: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// The layer or the scope of the front end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Seconds in which an operation of the group runs: `seconds` for a single operation.
    pub busy: f64,
    /// The number of operations in the group.
    pub operations: usize,
    /// The number of executions.
    pub runs: u64,
    /// Bytes that are sent, for communication.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// The source position.
    pub place: SourcePlace,
}

/// A loop.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LoopReport {
    /// The number of iterations; unknown trip counts are estimated.
    pub trips: u64,
    /// Seconds of all iterations.
    pub seconds: f64,
    /// The source position.
    pub place: SourcePlace,
}

/// A change that makes the program fit or makes it faster.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ChangeReport {
    /// The change: `shard argument 3 params['embed'] by "data"`.
    pub what: String,
    /// The option or annotation that makes the change: `--spec "params['embed']=data,-"`.
    pub how: String,
    /// Seconds that the change saves in one execution; negative if it costs time.
    pub seconds: f64,
    /// Bytes that the change saves at the upper end of the estimated peak; negative if it needs more memory.
    pub bytes: i64,
}

/// The effect of several changes together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TogetherReport {
    /// The numbers of the changes, from 1.
    pub changes: Vec<usize>,
    /// Seconds saved, as in [`ChangeReport`].
    pub seconds: f64,
    /// Bytes saved at the peak, as in [`ChangeReport`].
    pub bytes: i64,
    /// The upper end of the estimated peak with the changes.
    pub high: u64,
    /// Whether the upper end is within the limit.
    pub fits: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

impl PlanReport {
    /// The plan as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serialization cannot fail: the structs consist of strings and numbers.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
