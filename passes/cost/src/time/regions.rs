//! The time of regions: loops, branches and calls.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::call_graph::callee_of;
use shardc_analysis::analysis::trip_count::trips;
use shardc_ir::{EntityRef, FuncId, Module, OpId, OpKind, RegionId, ValueId};

use super::fast_memory::{Candidate, place};
use super::links::{Links, Sent};
use super::merge::Merger;
use super::schedule::{Item, Lane, Ran, schedule};
use super::work::{Kernel, Scope, is_free};
use super::{LoopTime, Span, TimeEstimate, Total};
use crate::memory::{Fusion, Machine};

/// The limit on nested calls. Recursive calls are invalid programs; the limit makes them end.
const DEEPEST_CALL: usize = 64;

/// The number of spans above which further calls of a function are added to the spans of its first call. Calls of functions that call others
/// twice would otherwise have exponentially many spans.
const MOST_SPANS: usize = 1 << 16;

/// The estimate of one program.
pub(super) struct Estimate<'m> {
    module: &'m Module,
    machine: Machine,
    links: Links<'m>,
    /// The region in which a value is defined.
    home: Vec<Option<RegionId>>,
    /// Matmuls and convolutions that belong to a kernel.
    counted: FxHashSet<OpId>,
    /// Constants that the entry function returns. Unlike others, they are written to memory.
    returned: FxHashSet<ValueId>,
    /// The estimates of the functions that were called so far.
    called: FxHashMap<FuncId, TimeEstimate>,
    calls: usize,
}

/// The kind of an item of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepKind {
    Kernel,
    Collective,
    Loop,
    /// An operation without work of its own.
    Free,
}

/// The operation behind an item of the schedule. For merged kernels, it is the first.
struct Step {
    op: OpId,
    /// The kernel's or collective's own part of the sums.
    own: Total,
    kind: StepKind,
    kernel: Kernel,
    /// The regions or the function that the operation runs, and how often.
    inside: Option<(TimeEstimate, u64)>,
}

impl<'m> Estimate<'m> {
    /// Prepares the estimate of a program with the entry function `func`.
    pub(super) fn new(module: &'m Module, func: FuncId, links: Links<'m>, machine: Machine) -> Estimate<'m> {
        let mut home = vec![None; module.values.len()];
        for body in module.bodies() {
            let (_, regions) = module.walk_with_regions(body, |_| true);
            for &region in &regions {
                for &op in &module.regions[region].ops {
                    for &result in &module.ops[op].results {
                        home[result.index()] = Some(region);
                    }
                }
            }
        }
        let last = module.funcs[func].body.and_then(|body| module.regions[body].ops.last());
        let results = last.map_or(&[][..], |&last| &module.ops[last].operands);
        let is_constant = |&value: &ValueId| {
            module.def_op(value).is_some_and(|op| matches!(module.ops[op].kind, OpKind::Constant(_)))
        };
        let returned = results.iter().copied().filter(is_constant).collect();
        let (counted, called) = (FxHashSet::default(), FxHashMap::default());
        Estimate { module, machine, links, home, counted, returned, called, calls: 0 }
    }

    /// Whether an operation makes a constant that the program returns.
    fn is_returned(&self, op: OpId) -> bool {
        self.module.ops[op].results.iter().any(|value| self.returned.contains(value))
    }

    pub(super) fn function(&mut self, func: FuncId) -> TimeEstimate {
        let Some(body) = self.module.funcs[func].body else { return TimeEstimate::default() };
        let fusion = Fusion::of(self.module, func, self.machine);
        self.region(body, &fusion)
    }

    fn region(&mut self, region: RegionId, fusion: &Fusion) -> TimeEstimate {
        let module = self.module;
        let (mut items, mut steps): (Vec<Item>, Vec<Step>) = (Vec::new(), Vec::new());
        let mut merger = Merger::default();
        // For each operation, the items whose ends make its results available.
        let mut item_of: FxHashMap<OpId, u32> = FxHashMap::default();
        for &op in &module.regions[region].ops {
            if fusion.is_fused(op) && !self.is_returned(op) {
                continue;
            }
            let scope = Scope {
                module,
                region,
                home: &self.home,
                fusion,
                spec: self.links.target.spec(),
                machine: self.machine,
            };
            let kernel = Kernel::new(op, scope, &mut self.counted);
            let needs = needs(module, op, &kernel, &item_of);
            if let Some(at) = merger.partner(module, op, &kernel, &needs) {
                merger.touch(module, op, &kernel, at);
                item_of.insert(op, at);
                let item = &mut items[at as usize];
                item.needs.extend(needs.into_iter().filter(|&need| need != at));
                item.needs.sort_unstable();
                item.needs.dedup();
                steps[at as usize].kernel.merge(kernel, module, self.machine);
                continue;
            }
            let (item, step) = self.item(op, kernel, needs, fusion);
            let kernel = (step.kind == StepKind::Kernel).then_some(&step.kernel);
            merger.add(module, op, kernel, &item);
            item_of.insert(op, items.len() as u32);
            items.push(item);
            steps.push(step);
        }
        let spec = self.links.target.spec();
        self.keep_on_chip(&mut steps, spec.compiler.fast_memory);
        let mut estimate = TimeEstimate::default();
        for (item, step) in items.iter_mut().zip(&mut steps) {
            step.own.flops = step.kernel.flops;
            let product = step.kernel.product.map(|(_, op)| &self.module.ops[op].kind);
            let is_matmul = matches!(product, Some(OpKind::DotGeneral(_)))
                || step.inside.as_ref().is_some_and(|(inside, _)| inside.has_matmul);
            estimate.has_matmul |= is_matmul;
            item.is_matmul |= is_matmul;
            if step.kind == StepKind::Kernel {
                let ((seconds, is_memory_bound), start) =
                    (step.kernel.seconds(spec), step.kernel.start(spec));
                step.own.compute = seconds + start;
                step.own.launches = start;
                step.own.memory_bound = if is_memory_bound { seconds } else { 0.0 };
                item.seconds += step.own.compute;
            }
        }
        let (ran, seconds) = schedule(&items);
        estimate.total.seconds = seconds;
        let mut calls = FxHashMap::default();
        for ((item, step), ran) in items.iter().zip(steps).zip(ran) {
            let callee = callee_of(module, step.op);
            if let Some(inside) = estimate.add(item, step, ran) {
                estimate.add_inside(inside, callee, &mut calls);
            }
        }
        estimate
    }

    /// Removes the memory traffic of values that stay on the chip from the kernels of a region.
    fn keep_on_chip(&self, steps: &mut [Step], capacity: u64) {
        if capacity == 0 {
            return;
        }
        let module = self.module;
        let mut candidates: FxHashMap<ValueId, Candidate> = FxHashMap::default();
        let mut elsewhere: FxHashSet<ValueId> = FxHashSet::default();
        for (at, step) in (0..).zip(&*steps) {
            if step.kind == StepKind::Kernel {
                let bytes = |value| module.stored(value).map_or(0, |ty| self.machine.bytes_of_argument(ty));
                let written = step.kernel.writes.iter();
                candidates.extend(written.map(|&v| (v, Candidate { bytes: bytes(v), first: at, last: at })));
            }
            for value in step.kernel.reads.iter().chain(&captured(module, step.op)) {
                if let Some(candidate) = candidates.get_mut(value) {
                    candidate.last = candidate.last.max(at);
                }
                if matches!(step.kind, StepKind::Loop | StepKind::Free) {
                    elsewhere.insert(*value);
                }
            }
        }
        candidates.retain(|value, _| !elsewhere.contains(value) && !self.returned.contains(value));
        let placed = place(&candidates, steps.len(), capacity);
        for step in steps.iter_mut().filter(|step| step.kind == StepKind::Kernel) {
            step.kernel.keep_on_chip(&placed, module, self.machine);
        }
    }

    fn item(&mut self, op: OpId, kernel: Kernel, needs: Vec<u32>, fusion: &Fusion) -> (Item, Step) {
        let module = self.module;
        let data = &module.ops[op];
        let mut own = Total::default();
        let (mut lane, mut kind, mut is_matmul) = (Lane::Compute, StepKind::Kernel, false);
        if let Some(sent) = Sent::of(module, op) {
            own.communication = self.links.seconds(module, op, sent);
            kind = StepKind::Collective;
            let compiler = &self.links.target.spec().compiler;
            is_matmul = compiler.beside_matmuls.contains(&sent.traffic);
            if compiler.overlapped.contains(&sent.traffic) {
                lane = Lane::Link;
            }
        } else if matches!(data.kind, OpKind::While) {
            kind = StepKind::Loop;
        } else if is_free(&data.kind) && !self.is_returned(op) {
            kind = StepKind::Free;
        }
        let inside = self.inside(op, fusion);
        let nested = inside.as_ref().map_or(0.0, |(inside, runs)| inside.total.seconds * *runs as f64);
        let communicates = inside.as_ref().is_some_and(|(inside, _)| inside.total.communication > 0.0);
        let uses_link = kind == StepKind::Collective || communicates;
        let item = Item { uses_link, seconds: own.communication + nested, lane, is_matmul, needs };
        (item, Step { op, own, kind, kernel, inside })
    }

    /// Returns the time of the regions or the callee of an operation, and how often they run.
    fn inside(&mut self, op: OpId, fusion: &Fusion) -> Option<(TimeEstimate, u64)> {
        let module = self.module;
        let data = &module.ops[op];
        match &data.kind {
            OpKind::While => {
                let body = self.region(*data.regions.get(1)?, fusion);
                Some((body, trips(module, op)))
            }
            OpKind::Case | OpKind::If => {
                let branches = data.regions.iter().map(|&region| self.region(region, fusion));
                let longest = branches.max_by(|a, b| a.total.seconds.total_cmp(&b.total.seconds))?;
                Some((longest, 1))
            }
            OpKind::Call { .. } if self.calls < DEEPEST_CALL => {
                let callee = callee_of(module, op)?;
                if let Some(time) = self.called.get(&callee) {
                    return Some((time.clone(), 1));
                }
                self.calls += 1;
                let time = self.function(callee);
                self.calls -= 1;
                self.called.insert(callee, time.clone());
                Some((time, 1))
            }
            _ => None,
        }
    }
}

/// Returns the items that produce the values that a kernel reads.
fn needs(module: &Module, op: OpId, kernel: &Kernel, item_of: &FxHashMap<OpId, u32>) -> Vec<u32> {
    let captured = captured(module, op);
    let read = kernel.reads.iter().chain(&captured);
    let mut needs: Vec<u32> = read.filter_map(|&v| item_of.get(&module.def_op(v)?).copied()).collect();
    needs.sort_unstable();
    needs.dedup();
    needs
}

/// Returns the values that the regions of an operation read from outside.
fn captured(module: &Module, op: OpId) -> Vec<ValueId> {
    let inner = module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
    inner.flat_map(|op| module.ops[op].operands.iter().copied()).collect()
}

impl TimeEstimate {
    /// Adds an item of the schedule. Returns the spans and loops of its regions or its callee: the spans of a loop body follow each other over the
    /// time of all iterations.
    fn add(&mut self, item: &Item, step: Step, ran: Ran) -> Option<(Vec<Span>, Vec<LoopTime>)> {
        let Step { op, own, kind, kernel, inside } = step;
        let is_collective = kind == StepKind::Collective;
        // A collective on the compute lane does not overlap.
        let exposed = match (is_collective, item.lane) {
            (true, Lane::Compute) => own.communication,
            (true, Lane::Link) => ran.exposed,
            (false, _) => 0.0,
        };
        let total = &mut self.total;
        total.compute += own.compute;
        total.memory_bound += own.memory_bound;
        total.launches += own.launches;
        total.communication += own.communication;
        total.exposed += exposed;
        total.flops += own.flops;
        let seconds = own.compute + own.communication;
        if seconds > 0.0 {
            let main = kernel.product.filter(|_| kind == StepKind::Kernel).map_or(op, |(_, product)| product);
            let operations = if kind == StepKind::Kernel { kernel.operations } else { 1 };
            let start = ran.start;
            self.spans.push(Span { op: main, operations, is_collective, start, seconds, exposed, runs: 1 });
        }
        let (inside, runs) = inside?;
        let times = runs as f64;
        total.compute += inside.total.compute * times;
        total.memory_bound += inside.total.memory_bound * times;
        total.launches += inside.total.launches * times;
        total.communication += inside.total.communication * times;
        total.exposed += inside.total.exposed * times;
        total.flops += inside.total.flops * times;
        if kind == StepKind::Loop {
            self.loops.push(LoopTime { op, trips: runs, seconds: inside.total.seconds * times });
        }
        let loops = inside.loops.iter().map(|inner| LoopTime { seconds: inner.seconds * times, ..*inner });
        let spans = inside.spans.iter().map(|span| Span {
            start: ran.start + span.start * times,
            seconds: span.seconds * times,
            exposed: span.exposed * times,
            runs: span.runs.saturating_mul(runs),
            ..*span
        });
        Some((spans.collect(), loops.collect()))
    }

    /// Adds the spans and loops of an item. `calls` has the indices of the first span and the first loop of each callee so far.
    fn add_inside(
        &mut self,
        (spans, loops): (Vec<Span>, Vec<LoopTime>),
        callee: Option<FuncId>,
        calls: &mut FxHashMap<FuncId, (usize, usize)>,
    ) {
        let before = callee.and_then(|callee| calls.get(&callee).copied());
        let all = self.spans.len() + self.loops.len() + spans.len() + loops.len();
        match before.filter(|_| all > MOST_SPANS) {
            Some((first_span, first_loop)) => {
                for (known, more) in self.spans[first_span..].iter_mut().zip(spans) {
                    known.seconds += more.seconds;
                    known.exposed += more.exposed;
                    known.runs = known.runs.saturating_add(more.runs);
                }
                for (known, more) in self.loops[first_loop..].iter_mut().zip(loops) {
                    known.seconds += more.seconds;
                }
            }
            None => {
                calls.extend(callee.map(|callee| (callee, (self.spans.len(), self.loops.len()))));
                self.spans.extend(spans);
                self.loops.extend(loops);
            }
        }
    }
}
