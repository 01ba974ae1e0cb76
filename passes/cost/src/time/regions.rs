//! The time of regions: loops, branches and calls.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::call_graph::callee_of;
use shardc_analysis::analysis::trip_count::trips;
use shardc_ir::{EntityRef, FuncId, Module, OpId, OpKind, RegionId, ValueId};

use super::links::{Links, Sent};
use super::schedule::{Item, Lane, Ran, schedule};
use super::work::{Kernel, Scope, is_free};
use super::{LoopTime, Span, TimeEstimate, Total};
use crate::memory::{Fusion, Machine};

/// The limit on nested calls. Recursive calls are invalid programs; the limit makes them end.
const DEEPEST_CALL: usize = 64;

/// The estimate of one program.
pub(super) struct Estimate<'m> {
    module: &'m Module,
    machine: Machine,
    links: Links<'m>,
    /// The region in which a value is defined.
    home: Vec<Option<RegionId>>,
    /// Matmuls and convolutions that belong to a kernel.
    counted: FxHashSet<OpId>,
    calls: usize,
}

/// The operation behind an item of the schedule.
struct Step {
    op: OpId,
    /// The kernel's or collective's own part of the sums.
    own: Total,
    is_collective: bool,
    is_loop: bool,
    /// The regions or the function that the operation runs, and how often.
    inside: Option<(TimeEstimate, u64)>,
}

impl<'m> Estimate<'m> {
    pub(super) fn new(module: &'m Module, links: Links<'m>, machine: Machine) -> Estimate<'m> {
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
        Estimate { module, machine, links, home, counted: FxHashSet::default(), calls: 0 }
    }

    pub(super) fn function(&mut self, func: FuncId) -> TimeEstimate {
        let Some(body) = self.module.funcs[func].body else { return TimeEstimate::default() };
        let fusion = Fusion::of(self.module, func, self.machine);
        self.region(body, &fusion)
    }

    fn region(&mut self, region: RegionId, fusion: &Fusion) -> TimeEstimate {
        let module = self.module;
        let (mut items, mut steps): (Vec<Item>, Vec<Step>) = (Vec::new(), Vec::new());
        // For each operation, the items whose ends make its results available.
        let mut item_of: FxHashMap<OpId, u32> = FxHashMap::default();
        for &op in &module.regions[region].ops {
            if fusion.is_fused(op) {
                continue;
            }
            let (item, step) = self.item(op, region, fusion, &item_of);
            item_of.insert(op, items.len() as u32);
            items.push(item);
            steps.push(step);
        }
        let (ran, seconds) = schedule(&items);
        let mut estimate = TimeEstimate::default();
        estimate.total.seconds = seconds;
        for ((item, step), ran) in items.iter().zip(steps).zip(ran) {
            estimate.add(item, step, ran);
        }
        estimate
    }

    fn item(
        &mut self,
        op: OpId,
        region: RegionId,
        fusion: &Fusion,
        item_of: &FxHashMap<OpId, u32>,
    ) -> (Item, Step) {
        let module = self.module;
        let data = &module.ops[op];
        let spec = self.links.target.spec();
        let scope = Scope { module, region, home: &self.home, fusion, spec };
        let kernel = Kernel::new(op, scope, &mut self.counted);
        let mut needs: Vec<u32> = kernel
            .reads
            .iter()
            .chain(captured(module, op).iter())
            .filter_map(|&v| item_of.get(&module.def_op(v)?).copied())
            .collect();
        needs.sort_unstable();
        needs.dedup();
        let mut own = Total { flops: kernel.flops, ..Total::default() };
        let (mut lane, mut is_collective) = (Lane::Compute, false);
        if let Some(sent) = Sent::of(module, op) {
            own.communication = self.links.seconds(module, op, sent);
            is_collective = true;
            if spec.compiler.overlapped.contains(&sent.traffic) {
                lane = Lane::Link;
            }
        } else if !is_free(&data.kind) {
            let (seconds, is_memory_bound) = kernel.seconds(spec);
            own.compute = seconds + spec.launch;
            own.launches = spec.launch;
            own.memory_bound = if is_memory_bound { seconds } else { 0.0 };
        }
        let inside = self.inside(op, fusion);
        let nested = inside.as_ref().map_or(0.0, |(inside, runs)| inside.total.seconds * *runs as f64);
        let uses_link = is_collective;
        let item = Item { uses_link, seconds: own.compute + own.communication + nested, lane, needs };
        (item, Step { op, own, is_collective, is_loop: matches!(data.kind, OpKind::While), inside })
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
                self.calls += 1;
                let time = self.function(callee);
                self.calls -= 1;
                Some((time, 1))
            }
            _ => None,
        }
    }
}

/// Returns the values that the regions of an operation read from outside.
fn captured(module: &Module, op: OpId) -> Vec<ValueId> {
    let inner = module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
    inner.flat_map(|op| module.ops[op].operands.iter().copied()).collect()
}

impl TimeEstimate {
    /// Adds an item of the schedule. The spans of a loop body follow each other over the time of all iterations.
    fn add(&mut self, item: &Item, step: Step, ran: Ran) {
        let Step { op, own, is_collective, is_loop, inside } = step;
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
            self.spans.push(Span { op, is_collective, start: ran.start, seconds, exposed, runs: 1 });
        }
        let Some((inside, runs)) = inside else { return };
        let times = runs as f64;
        total.compute += inside.total.compute * times;
        total.memory_bound += inside.total.memory_bound * times;
        total.launches += inside.total.launches * times;
        total.communication += inside.total.communication * times;
        total.exposed += inside.total.exposed * times;
        total.flops += inside.total.flops * times;
        if is_loop {
            self.loops.push(LoopTime { op, trips: runs, seconds: inside.total.seconds * times });
        }
        self.loops
            .extend(inside.loops.iter().map(|inner| LoopTime { seconds: inner.seconds * times, ..*inner }));
        self.spans.extend(inside.spans.iter().map(|span| Span {
            start: ran.start + span.start * times,
            seconds: span.seconds * times,
            exposed: span.exposed * times,
            runs: span.runs.saturating_mul(runs),
            ..*span
        }));
    }
}
