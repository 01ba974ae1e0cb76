//! Predicts the memory, the communication and the time of a program on devices that need not be present.

mod report;
mod trace;

pub use report::{
    BufferReport, ChangeReport, ClassReport, LoopReport, MemoryReport, MeshAxisReport, PlanReport,
    SpanReport, TargetReport, TimeReport, TrafficReport,
};
