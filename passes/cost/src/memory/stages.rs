//! The stages of the model, run on each region: nested regions first.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::regions::has_program_regions;
use shardc_ir::{EntityRef, FuncId, Module, OpId, OpKind, RegionId, ValueId};
use smallvec::SmallVec;

use super::allocate::{Buffer, Heap, Timeline, live};
use super::program::Program;
use super::rules::Model;

/// A program point: the index of an operation in a region, then the index of an operation in one of its regions, and so on. Empty if no
/// buffer is live.
pub(crate) type Moment = SmallVec<[(RegionId, usize); 2]>;

/// The program point with the most live bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Peak {
    /// The live bytes.
    pub(super) bytes: u64,
    pub(super) at: Moment,
    /// The live buffers, including those of nested regions.
    pub(super) alive: Vec<Alive>,
    /// All buffers, including those of nested regions.
    pub(super) timeline: Timeline,
}

/// A temporary that is live at the peak.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alive {
    pub(super) bytes: u64,
    /// The first value in the buffer; `None` for a copy that the compiler inserts, and for the temporaries of a called function.
    pub(super) value: Option<ValueId>,
    /// The producer of `value` (or else the first operation of the live range), and the operation at the end of the live range.
    pub(super) made_by: OpId,
    pub(super) kept_until: OpId,
}

/// The limit on fused operations that are visited to find the operands of a fusion.
const LOOKED_AT: usize = 40;

/// The liveness analysis of one function.
pub(super) struct Estimate<'m> {
    pub(super) module: &'m Module,
    pub(super) program: Program<'m>,
    /// The bytes of temporaries of the function that an operation calls.
    of_call: &'m dyn Fn(OpId) -> u64,
    /// Whether each operation of the visited regions is fused into its users.
    pub(super) fused: Vec<bool>,
    /// The number of reads of each value; a fused user reads once for each read of its own results.
    pub(super) readers: Vec<u64>,
    /// For each value, the last visited region that reads it, and the index (from one) of the operation until which it is live there.
    pub(super) last: Vec<(RegionId, u32)>,
    /// For each value, the last visited region that reads it, and the last step of that region at which it is read. Steps are positions in
    /// the execution order, from one.
    pub(super) step: Vec<(RegionId, u32)>,
    /// For each operation of the current region, the index of the operation after which it can run.
    pub(super) ready: Vec<u32>,
    /// The results of the stages of each visited region, if they are recorded.
    pub(super) done: Option<Vec<RegionStages>>,
}

/// The results of the stages of a region: its schedule, its buffers, and its heap. The operations that are fused are in
/// [`Estimate::fused`], and [`Program::size`] is the layout.
#[derive(Clone, Debug)]
pub(super) struct RegionStages {
    pub(super) region: RegionId,
    /// The indices of the operations that run, in execution order.
    pub(super) order: Vec<usize>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) heap: Heap,
}

impl<'m> Estimate<'m> {
    pub(super) fn new(
        module: &'m Module,
        func: FuncId,
        body: RegionId,
        model: Model,
        of_call: &'m dyn Fn(OpId) -> u64,
    ) -> Estimate<'m> {
        Estimate {
            module,
            program: Program::new(module, func, body, model),
            of_call,
            fused: vec![false; module.ops.len()],
            readers: vec![0; module.values.len()],
            last: vec![(body, 0); module.values.len()],
            step: vec![(body, 0); module.values.len()],
            ready: vec![0; module.ops.len()],
            done: None,
        }
    }

    /// Clears the results of the stages, for another run with other rules of scheduling and another lean of fusion. Layouts stay as they are,
    /// because they do not depend on these.
    pub(super) fn restart(&mut self, body: RegionId, model: Model) {
        self.program.rules = model.rules;
        self.program.lean = model.lean;
        self.fused.fill(false);
        self.readers.fill(0);
        self.last.fill((body, 0));
        self.step.fill((body, 0));
        self.ready.fill(0);
    }

    /// Returns the peak of temporaries of a function body. Arguments and results are not temporaries.
    pub(super) fn peak(&mut self, body: RegionId) -> Peak {
        let region = &self.module.regions[body];
        let returned = region.ops.last().map(|&last| &self.module.ops[last]);
        let returned = returned.filter(|last| matches!(last.kind, OpKind::Return));
        let results = returned.into_iter().flat_map(|last| last.operands.iter().copied());
        let results = results.filter(|value| !self.program.beside_argument.contains(value));
        let outside = region.args.iter().copied().chain(results).collect();
        self.region(body, &outside)
    }

    /// Returns the peak of temporaries of a region. The values in `outside` have memory outside of the region's heap.
    fn region(&mut self, region: RegionId, outside: &FxHashSet<ValueId>) -> Peak {
        let ops = &self.module.regions[region].ops;
        // Nested regions are visited first, since the analysis of a region overwrites the tables that are indexed by value.
        let mut inside: FxHashMap<OpId, Peak> = FxHashMap::default();
        for &op in ops {
            if let Some(peak) = self.inside(op) {
                inside.insert(op, peak);
            }
        }
        for (number, &op) in (1..).zip(ops) {
            self.read_by(op, &mut |this, value| this.keep(value, region, number));
        }
        self.fuse(region);
        let order = self.order(region, outside);
        self.note_steps(region, &order);
        let buffers = self.buffers(region, &order, outside, &inside);
        let heap = live(&buffers, order.len());
        if let Some(done) = &mut self.done {
            done.push(RegionStages { region, order: order.clone(), buffers: buffers.clone(), heap });
        }
        let Heap { live: bytes, step } = heap;
        let Some(&number) = step.checked_sub(1).and_then(|at| order.get(at)) else { return Peak::default() };
        let timeline = Timeline::new(&buffers, order.len() as u32, |step| {
            let number = *order.get(step as usize - 1)?;
            inside.get(&ops[number]).map(|peak| &peak.timeline).filter(|line| line.steps > 0)
        });
        let Peak { mut at, mut alive, .. } = inside.remove(&ops[number]).unwrap_or_default();
        at.insert(0, (region, number));
        let is_alive = |buffer: &&Buffer| buffer.first as usize <= step && step <= buffer.last as usize;
        // The buffers of the nested region replace the single buffer that represents them at this step.
        let is_within = |buffer: &Buffer| buffer.is_nested && !alive.is_empty();
        let here = buffers.iter().filter(is_alive).filter(|&buffer| !is_within(buffer)).map(|buffer| {
            let runs = |step: u32| ops[order[(step as usize).clamp(1, order.len()) - 1]];
            Alive {
                bytes: buffer.bytes,
                value: buffer.value,
                made_by: buffer.value.and_then(|v| self.module.def_op(v)).unwrap_or(runs(buffer.first)),
                kept_until: runs(buffer.last),
            }
        });
        let here: Vec<Alive> = here.collect();
        alive.extend(here);
        Peak { bytes, at, alive, timeline }
    }

    /// Returns the peak of the regions of an operation: the maximum, since only one of them runs at a time. `None` if there are no regions.
    fn inside(&mut self, op: OpId) -> Option<Peak> {
        let data = &self.module.ops[op];
        if matches!(data.kind, OpKind::CustomCall(_)) {
            let bytes = (self.of_call)(op);
            return (bytes > 0).then(|| Peak { bytes, ..Peak::default() });
        }
        if !has_program_regions(&data.kind) {
            return None;
        }
        let mut most = Peak::default();
        for &inner in &data.regions {
            let peak = self.region(inner, &outside_of(self.module, inner, &data.kind));
            if peak.bytes > most.bytes {
                most = peak;
            }
        }
        Some(most)
    }

    /// Calls `read` for each operand of an operation and of the operations nested in its regions.
    pub(super) fn read_by(&mut self, op: OpId, read: &mut dyn FnMut(&mut Self, ValueId)) {
        let module = self.module;
        for &operand in &module.ops[op].operands {
            read(self, operand);
        }
        for &nested in &module.ops[op].regions {
            for &inner in &module.regions[nested].ops {
                self.read_by(inner, read);
            }
        }
    }

    pub(super) fn keep(&mut self, value: ValueId, region: RegionId, until: u32) {
        let until = until.max(self.until(value, region));
        self.last[value.index()] = (region, until);
    }

    /// Returns the index (from one) of the operation in the region until which the value is live; 0 if no operation reads it.
    pub(super) fn until(&self, value: ValueId, region: RegionId) -> u32 {
        let (of, number) = self.last[value.index()];
        if of == region { number } else { 0 }
    }

    /// Returns the values in memory that an operation reads, directly or through operations that are fused into it.
    pub(super) fn leaves(&self, op: OpId, region: RegionId) -> Vec<ValueId> {
        let (mut leaves, mut todo) = (Vec::new(), vec![op]);
        for _ in 0..LOOKED_AT {
            let Some(op) = todo.pop() else { break };
            for &value in &self.module.ops[op].operands {
                match self.program.made_in(value, region).filter(|def| self.fused[def.index()]) {
                    Some(def) => todo.push(def),
                    None => leaves.push(value),
                }
            }
        }
        leaves
    }
}

/// Returns the values of a nested region whose memory is outside of its heap: its arguments, and results that are written in place.
/// Branches write their results to the memory of the results of the `case` or `if`.
fn outside_of(module: &Module, region: RegionId, kind: &OpKind) -> FxHashSet<ValueId> {
    let region = &module.regions[region];
    let mut outside: FxHashSet<ValueId> = region.args.iter().copied().collect();
    let returned: &[ValueId] = region.ops.last().map_or(&[], |&last| &module.ops[last].operands);
    let is_written_in_place = |v: ValueId| {
        let def = module.def_op(v).map(|def| &module.ops[def].kind);
        matches!(def, Some(OpKind::DynamicUpdateSlice | OpKind::Scatter(_)))
    };
    let is_loop = matches!(kind, OpKind::While);
    outside.extend(returned.iter().filter(|&&v| !is_loop || returned.len() == 1 || is_written_in_place(v)));
    outside
}
