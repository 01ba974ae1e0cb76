//! Prints the result of a stage of the memory model, for each region of a function.
//!
//! Operations are numbered from one in each region, and steps from one in its schedule. Nested regions are printed before the region that
//! contains them, in the order in which the model visits them.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;
use shardc_ir::{EntityRef, FuncId, Module, OpId, RegionId, ValueId};

use super::allocate::Buffer;
use super::rules::{Model, Stage};
use super::stages::{Estimate, RegionStages};

/// Returns the result of a stage for each region of a function with local types, as text.
#[must_use]
pub fn stage_text(module: &Module, func: FuncId, model: impl Into<Model>, stage: Stage) -> String {
    let data = &module.funcs[func];
    let Some(body) = data.body else { return String::new() };
    let mut estimate = Estimate::new(module, func, body, model.into(), &|_| 0);
    estimate.done = Some(Vec::new());
    estimate.peak(body);
    let mut owner: FxHashMap<RegionId, OpId> = FxHashMap::default();
    for op in module.walk(body) {
        owner.extend(module.ops[op].regions.iter().map(|&region| (region, op)));
    }
    let mut text = String::new();
    for stages in estimate.done.take().unwrap_or_default() {
        let name = |op: &OpId| module.ops[*op].kind.name().to_owned();
        let title = owner.get(&stages.region).map_or_else(|| format!("@{}", data.name), name);
        let _ = writeln!(text, "{stage} {title}");
        let printer = Printer { module, estimate: &estimate, stages: &stages };
        for line in printer.lines(stage) {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

struct Printer<'a> {
    module: &'a Module,
    estimate: &'a Estimate<'a>,
    stages: &'a RegionStages,
}

impl Printer<'_> {
    fn lines(&self, stage: Stage) -> Vec<String> {
        let ops = &self.module.regions[self.stages.region].ops;
        let numbered = ops.iter().enumerate().filter(|(_, op)| !self.module.ops[**op].results.is_empty());
        match stage {
            Stage::Materialize => numbered
                .map(|(at, &op)| {
                    let fate = if self.estimate.fused[op.index()] { "fused" } else { "in memory" };
                    format!("{}: {fate}", self.op(at, op))
                })
                .collect(),
            Stage::Schedule => (1..)
                .zip(&self.stages.order)
                .map(|(step, &at)| format!("step {step}: {}", self.op(at, ops[at])))
                .collect(),
            Stage::Layout => numbered
                .filter(|(_, op)| !self.estimate.fused[op.index()])
                .map(|(at, &op)| {
                    let bytes = self.module.ops[op].results.iter().map(|&v| self.estimate.program.size(v));
                    let bytes: Vec<String> = bytes.map(|bytes| bytes.to_string()).collect();
                    format!("{}: {} bytes", self.op(at, op), bytes.join(", "))
                })
                .collect(),
            Stage::Buffers => self.stages.buffers.iter().map(|buffer| self.buffer(buffer)).collect(),
            Stage::Allocate => {
                vec![format!("live: {} bytes at step {}", self.stages.heap.live, self.stages.heap.step)]
            }
        }
    }

    /// Prints an operation with its number and the types of its results.
    fn op(&self, at: usize, op: OpId) -> String {
        let data = &self.module.ops[op];
        let types: Vec<String> = data.results.iter().map(|&v| self.ty(v)).collect();
        format!("{} {} {}", at + 1, data.kind.name(), types.join(", ")).trim_end().to_owned()
    }

    fn ty(&self, value: ValueId) -> String {
        self.module.types.display(self.module.values[value].ty)
    }

    fn buffer(&self, buffer: &Buffer) -> String {
        let what = match buffer.value {
            _ if buffer.is_nested => "temporaries of nested regions".to_owned(),
            None => "copy".to_owned(),
            Some(value) => match self.module.def_op(value) {
                Some(op) => format!("{} {}", self.module.ops[op].kind.name(), self.ty(value)),
                None => format!("argument {}", self.ty(value)),
            },
        };
        format!("steps {} to {}: {} bytes, {what}", buffer.first, buffer.last, buffer.bytes)
    }
}
