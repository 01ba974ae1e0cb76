//! Liveness analysis: the live ranges of buffers, region by region.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::regions::has_program_regions;
use shardc_analysis::analysis::tiles;
use shardc_ir::{EntityRef, FuncId, Module, OpId, OpKind, RegionId, ValueId};
use smallvec::SmallVec;

use super::kinds::{is_from_nothing, is_product};
use super::machine::Machine;
use super::program::Program;

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

/// A buffer for a temporary.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    bytes: u64,
    value: Option<ValueId>,
    /// The first and the last step of the buffer's live range, both counted from one.
    first: u32,
    last: u32,
}

/// An operation whose results may reuse memory of its operands, and the step of its region at which it runs. The memory of the values in
/// `outside` is not in the region's heap.
struct At<'a> {
    op: OpId,
    region: RegionId,
    step: u32,
    outside: &'a FxHashSet<ValueId>,
}

/// The limit on fused operations that are visited to find the operands of a fusion.
const LOOKED_AT: usize = 40;

/// The distance, in operations, beyond which a reduction to a tiny result is scheduled as early as possible. If the all-reduces of the
/// gradients of norm weights are combined, the reductions are thousands of operations after their layers. The TPU compiler does not keep
/// their operands live until then. At shorter distances it sometimes does: with a threshold of 128, the estimate for a step of 4000
/// operations was 9 % too low.
const LAYERS_BEHIND: u32 = 512;

/// The result of a reduction is tiny if it is at most this fraction (1/1024) of its operand.
const NEXT_TO_NOTHING: u64 = 1024;

/// The maximum bytes of a negligible operand, such as the key of random bits.
const LITTLE: u64 = 4096;

/// The distance, in operations, beyond which an operation that frees more than it allocates is scheduled as early as possible. At shorter
/// distances, the TPU compiler was observed to keep program order.
pub(super) const FAR_BEHIND: u32 = 32;

/// To be scheduled [early](FAR_BEHIND), an operation must free more than 5/4 (1 + 1/4) of the bytes that it allocates. The f32 gradient of
/// a table, computed from logits of equal size and a few activations, was observed to stay in program order. While the gradient is
/// computed, the logits are live as well.
const FREED_BEYOND: u64 = 4;

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
    last: Vec<(RegionId, u32)>,
    /// For each value, the last visited region that reads it, and the last step of that region at which it is read. Steps are positions in
    /// the execution order, from one.
    step: Vec<(RegionId, u32)>,
    /// For each operation of the current region, the index of the operation after which it can run.
    ready: Vec<u32>,
}

impl<'m> Estimate<'m> {
    pub(super) fn new(
        module: &'m Module,
        func: FuncId,
        body: RegionId,
        machine: Machine,
        of_call: &'m dyn Fn(OpId) -> u64,
    ) -> Estimate<'m> {
        Estimate {
            module,
            program: Program::new(module, func, body, machine),
            of_call,
            fused: vec![false; module.ops.len()],
            readers: vec![0; module.values.len()],
            last: vec![(body, 0); module.values.len()],
            step: vec![(body, 0); module.values.len()],
            ready: vec![0; module.ops.len()],
        }
    }

    /// Returns the peak of temporaries of a function body. Arguments and results are not temporaries.
    pub(super) fn peak(&mut self, body: RegionId) -> Peak {
        let region = &self.module.regions[body];
        let returned = region.ops.last().map(|&last| &self.module.ops[last]);
        let returned = returned.filter(|last| matches!(last.kind, OpKind::Return));
        let results = returned.into_iter().flat_map(|last| last.operands.iter().copied());
        let results = results.filter(|&value| !self.program.is_gathered(value));
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
        let (bytes, step) = most(&buffers, order.len());
        let Some(&number) = step.checked_sub(1).and_then(|at| order.get(at)) else { return Peak::default() };
        let Peak { mut at, mut alive, .. } = inside.remove(&ops[number]).unwrap_or_default();
        at.insert(0, (region, number));
        let is_alive = |buffer: &&Buffer| buffer.first as usize <= step && step <= buffer.last as usize;
        // The buffers of the nested region replace the single buffer that represents them at this step.
        let is_within = |buffer: &Buffer| buffer.value.is_none() && !alive.is_empty();
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
        Peak { bytes, at, alive }
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
        if self.is_one_operation(op) {
            return Some(most);
        }
        for &inner in &data.regions {
            let peak = self.region(inner, &outside_of(self.module, inner, &data.kind));
            if peak.bytes > most.bytes {
                most = peak;
            }
        }
        Some(most)
    }

    /// Whether a TPU computes the whole body of a loop with one in-place operation. This holds if all large tensors of the body have the
    /// same shape and are computed element-wise, as in the rounds of a random bit generator.
    fn is_one_operation(&self, op: OpId) -> bool {
        let module = self.module;
        let data = &module.ops[op];
        let Some(&body) = data.regions.get(1).filter(|_| matches!(data.kind, OpKind::While)) else {
            return false;
        };
        let mut shapes: Vec<&[i64]> = Vec::new();
        let is_large = |v: &ValueId| self.program.weight(*v) > LITTLE;
        let is_one = self.program.machine.is_tpu()
            && module.regions[body].ops.iter().all(|&inner| {
                let inner_data = &module.ops[inner];
                let large: Vec<ValueId> = inner_data.results.iter().copied().filter(is_large).collect();
                shapes.extend(large.iter().map(|&v| module.shape(v)));
                let is_small = large.is_empty();
                inner_data.kind.collective().is_none()
                    && (is_small || is_from_nothing(&inner_data.kind) || self.program.is_elementwise(inner))
            });
        is_one && !shapes.is_empty() && shapes.iter().all(|&shape| shape == shapes[0])
    }

    /// Calls `read` for each operand of an operation and of the operations nested in its regions.
    fn read_by(&mut self, op: OpId, read: &mut dyn FnMut(&mut Self, ValueId)) {
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

    /// Returns the indices of the operations that are not fused, in execution order. Operations run in program order, except those that are
    /// scheduled as early as possible:
    ///
    /// * those that only produce results of the function, such as a parameter update, which frees its gradient;
    /// * those that free more than they allocate and are [far](FAR_BEHIND) after their operands, such as the gradient of a parameter, which
    ///   JAX emits at the end of the program;
    /// * reductions of large tensors to tiny results, such as the gradient of a norm's weights; in program order, they would keep their
    ///   operands live for too long.
    fn order(&mut self, region: RegionId, outside: &FxHashSet<ValueId>) -> Vec<usize> {
        let module = self.module;
        let mut order = Vec::new();
        // For each value, the index after which all visited operations have read it.
        let mut read: FxHashMap<ValueId, u32> = FxHashMap::default();
        for (number, &op) in module.regions[region].ops.iter().enumerate() {
            let data = &module.ops[op];
            let made = data.operands.iter().filter_map(|&v| self.program.made_in(v, region));
            let ready = made.map(|def| self.ready[def.index()]).max().unwrap_or(0);
            let is_fused = self.fused[op.index()];
            let may_move = !is_fused && !data.results.is_empty() && data.regions.is_empty();
            let is_result = data.results.iter().all(|v| outside.contains(v));
            let number = number as u32;
            let is_reduced_early =
                !is_fused && ready + LAYERS_BEHIND < number && self.makes_little(op, region);
            self.ready[op.index()] = if is_fused || may_move && is_result || is_reduced_early {
                ready
            } else if may_move
                && let Some(at) = self.frees_more(op, region, number + 1, &read).map(|at| at.max(ready))
                && at + FAR_BEHIND < number
            {
                at
            } else {
                ready.max(number)
            };
            if !is_fused {
                order.push(number as usize);
                let at = self.ready[op.index()];
                for value in self.leaves(op, region) {
                    let until = read.entry(value).or_default();
                    *until = at.max(*until);
                }
            }
        }
        let ops = &module.regions[region].ops;
        // The sort is stable: ties stay in program order.
        order.sort_by_key(|&number| self.ready[ops[number].index()]);
        order
    }

    /// Whether an operation is a reduction to a tiny result ([`NEXT_TO_NOTHING`]).
    fn makes_little(&self, op: OpId, region: RegionId) -> bool {
        let data = &self.module.ops[op];
        let read = || self.leaves(op, region).into_iter().map(|v| self.program.weight(v)).max().unwrap_or(0);
        let made = || data.results.iter().map(|&v| self.program.weight(v)).fold(0, u64::saturating_add);
        self.program.machine.is_tpu()
            && matches!(data.kind, OpKind::Reduce { .. })
            && made().saturating_mul(NEXT_TO_NOTHING) <= read()
    }

    /// Returns the earliest position in the schedule after which the operation frees more than 5/4 of the memory that it allocates
    /// ([`FREED_BEYOND`]). All other users of the freed operands have run at this position.
    fn frees_more(
        &self,
        op: OpId,
        region: RegionId,
        number: u32,
        read: &FxHashMap<ValueId, u32>,
    ) -> Option<u32> {
        let mut freed: Vec<(u32, ValueId)> = self
            .leaves(op, region)
            .into_iter()
            .filter(|&v| self.program.made_in(v, region).is_some() && self.until(v, region) == number)
            .map(|v| (read.get(&v).copied().unwrap_or(0), v))
            .collect();
        freed.sort();
        freed.dedup();
        let size = |v: ValueId| self.program.size(v);
        let made = self.module.ops[op].results.iter().map(|&v| size(v)).fold(0, u64::saturating_add);
        let mut bytes = 0u64;
        let (at, _) = freed.into_iter().find(|&(_, v)| {
            bytes = bytes.saturating_add(size(v));
            bytes > made.saturating_add(made / FREED_BEYOND)
        })?;
        Some(at)
    }

    /// Records the step of the last read of each value. A fused operation reads its operands when its users run.
    fn note_steps(&mut self, region: RegionId, order: &[usize]) {
        let module = self.module;
        let ops = &module.regions[region].ops;
        let mut steps = vec![0u32; ops.len()];
        for (step, &number) in (1..).zip(order) {
            steps[number] = step;
        }
        for (number, &op) in ops.iter().enumerate().rev() {
            let mut step = steps[number];
            if self.fused[op.index()] {
                step = module.ops[op].results.iter().map(|&v| self.last_step(v, region)).max().unwrap_or(0);
            }
            self.read_by(op, &mut |this, value| {
                let step = step.max(this.last_step(value, region));
                this.step[value.index()] = (region, step);
            });
        }
    }

    /// Returns the last step of the region that reads the value; 0 if there is none.
    fn last_step(&self, value: ValueId, region: RegionId) -> u32 {
        let (of, step) = self.step[value.index()];
        if of == region { step } else { 0 }
    }

    fn buffers(
        &self,
        region: RegionId,
        order: &[usize],
        outside: &FxHashSet<ValueId>,
        inside: &FxHashMap<OpId, Peak>,
    ) -> Vec<Buffer> {
        let module = self.module;
        let ops = &module.regions[region].ops;
        let mut table = Buffers::default();
        let together = self.made_together(region);
        let begun = self.begun_together(region, order);
        for &arg in module.regions[region].args.iter().filter(|&&arg| self.program.is_copied_first(arg)) {
            let last = self.last_step(arg, region).max(1);
            table.add(self.buffer(arg, 1, last));
        }
        for (step, &number) in (1u32..).zip(order) {
            let op = ops[number];
            let data = &module.ops[op];
            if let Some(peak) = inside.get(&op) {
                table.add(Buffer { bytes: peak.bytes, value: None, first: step, last: step });
            }
            if matches!(data.kind, OpKind::While) {
                self.loop_state(&At { op, region, step, outside }, &mut table);
                continue;
            }
            if matches!(data.kind, OpKind::OptimizationBarrier) {
                self.behind_barrier(&At { op, region, step, outside }, &mut table);
                continue;
            }
            if let Some(bytes) =
                self.program.copied_into_rows(op).filter(|_| outside.contains(&data.operands[0]))
            {
                table.add(Buffer { bytes, value: None, first: step, last: step });
            }
            for &result in &data.results {
                if let Some(bytes) = self.program.size_before_copy(result) {
                    table.add(Buffer { bytes, value: None, first: step, last: step });
                }
                if outside.contains(&result) {
                    if self.is_copied(op, result, region) {
                        table.add_beside(self.buffer(result, step, step));
                    }
                    continue;
                }
                if self.writes_over(op) {
                    let is_kept = |value| together.contains(&value) && self.is_written_beside(op, value);
                    let bytes = self.program.size(result);
                    self.write_over(&At { op, region, step, outside }, bytes, &is_kept, &mut table);
                }
                let mut last = self.last_step(result, region).max(step);
                if let Some(sum) =
                    self.program.added_to(op).filter(|&sum| sum == result || table.of(sum).is_some())
                {
                    for rows in self.leaves(op, region) {
                        table.extend(rows, last);
                    }
                    let first = table.of(sum).map_or(step, |buffer| buffer.first);
                    if let Some(bytes) = self.program.flat_places(op) {
                        table.add_beside(Buffer { bytes, value: None, first, last });
                    }
                    last = if sum == result { last } else { step };
                }
                let first = match begun.get(&op) {
                    Some(&first) => first,
                    None if self.program.starts_early(op) => (step - 1).max(1),
                    None => step,
                };
                table.add(self.buffer(result, first, last));
            }
        }
        table.all
    }

    /// Creates the buffer of a value with the given live range.
    fn buffer(&self, value: ValueId, first: u32, last: u32) -> Buffer {
        Buffer { bytes: self.program.size(value), value: Some(value), first, last }
    }

    /// Adds buffers for the loop-carried values. A loop-carried value reuses the memory of its initial value if the initial value has no
    /// later user. A loop-invariant value needs no new buffer.
    fn loop_state(&self, at: &At<'_>, table: &mut Buffers) {
        let &At { op, region, step, outside } = at;
        let data = &self.module.ops[op];
        let Some(body) = data.regions.get(1).map(|&body| &self.module.regions[body]) else { return };
        let returned: &[ValueId] = body.ops.last().map_or(&[], |&last| &self.module.ops[last].operands);
        let mut taken = FxHashSet::default();
        for (i, (&first, &result)) in data.operands.iter().zip(&data.results).enumerate() {
            let last = self.last_step(result, region).max(step);
            let is_kept_as_it_is = returned.get(i) == body.args.get(i);
            if is_kept_as_it_is {
                let is_found = table.extend(first, last);
                if !is_found && let Some(bytes) = self.program.copied_for_loops(first) {
                    table.copy(first, Buffer { bytes, value: Some(first), first: step, last });
                }
            } else if taken.insert(first)
                && self.last_step(first, region) <= step
                && table.extend(first, last)
            {
                table.share(first, result);
            } else if !outside.contains(&result) {
                table.add(self.buffer(result, step, last));
            }
        }
    }

    /// Adds the results of an optimization barrier. They share the memory of its operands, which may be outside of the region's heap.
    fn behind_barrier(&self, at: &At<'_>, table: &mut Buffers) {
        let &At { op, region, step, outside } = at;
        let data = &self.module.ops[op];
        for (&operand, &result) in data.operands.iter().zip(&data.results) {
            let before = self.before_reshapes(operand, region);
            let last = self.last_step(result, region).max(step);
            if table.extend(before, last) {
                table.share(before, result);
            } else if !outside.contains(&before) && !outside.contains(&result) {
                table.add(self.buffer(result, step, last));
            }
        }
    }

    /// Returns the value from which reshapes produce `value`; both have the same memory.
    fn before_reshapes(&self, mut value: ValueId, region: RegionId) -> ValueId {
        while let Some(def) = self.program.made_in(value, region)
            && matches!(self.module.ops[def].kind, OpKind::Reshape)
        {
            value = self.module.ops[def].operands[0];
        }
        value
    }

    /// Whether an operation can write its result in place over an operand.
    fn writes_over(&self, op: OpId) -> bool {
        self.program.is_elementwise(op)
            || matches!(
                self.module.ops[op].kind,
                OpKind::DynamicUpdateSlice
                    | OpKind::Scatter(_)
                    | OpKind::Slice(_)
                    | OpKind::Pad(_)
                    | OpKind::Transpose { .. }
            )
    }

    /// If this step is the last read of an operand of about `bytes` bytes, ends the operand's buffer one step earlier, so that the result
    /// reuses its memory. Operands for which `is_kept` returns true are excluded.
    fn write_over(&self, at: &At<'_>, bytes: u64, is_kept: &dyn Fn(ValueId) -> bool, table: &mut Buffers) {
        for value in self.leaves(at.op, at.region).into_iter().filter(|&value| !is_kept(value)) {
            let Some(buffer) = table.of(value) else { continue };
            let fits = bytes <= buffer.bytes && buffer.bytes - bytes <= bytes / 20;
            if fits && buffer.last == at.step && buffer.first < at.step {
                buffer.last = at.step - 1;
                return;
            }
        }
    }

    /// Returns the values of a region that a TPU computes together with a reduction of their rows, in one multi-output fusion.
    fn made_together(&self, region: RegionId) -> FxHashSet<ValueId> {
        let module = self.module;
        let elements = |v: ValueId| module.stored(v).and_then(|ty| ty.num_elements());
        let mut together = FxHashSet::default();
        let ops = module.regions[region].ops.iter().filter(|_| self.program.machine.is_tpu());
        for &op in ops.filter(|&&op| reduces_rows(module, op)) {
            let reduced = elements(module.ops[op].operands[0]);
            let mut read = self.leaves(op, region);
            read.retain(|&v| elements(v) == reduced);
            read.sort();
            read.dedup();
            // If the reduction reads the result of a matmul and other values, it is fused with the matmul.
            if read.len() > 1 {
                read.retain(|&v| module.def_op(v).is_some_and(|def| is_product(&module.ops[def].kind)));
            }
            if let [value] = read[..] {
                together.insert(value);
            }
        }
        together
    }

    /// Returns the producers of initial loop values that a TPU computes together for all loops, each with the step of the first of them.
    /// The values have the same shape, and are computed only from small values that are available at the start of the region. An example is
    /// the random bits of all layers whose keys are available before the first layer. The random bits of rematerialized layers are computed
    /// separately, since they are after a barrier.
    fn begun_together(&self, region: RegionId, order: &[usize]) -> FxHashMap<OpId, u32> {
        let module = self.module;
        let mut begun = FxHashMap::default();
        if !self.program.machine.is_tpu() {
            return begun;
        }
        let ops = &module.regions[region].ops;
        // The values that are computed only from small values.
        let mut little: FxHashSet<ValueId> = FxHashSet::default();
        for &op in ops {
            let data = &module.ops[op];
            let is_known = |&v: &ValueId| {
                little.contains(&v)
                    || self.program.made_in(v, region).is_none() && self.program.weight(v) <= LITTLE
            };
            if data.operands.iter().all(is_known) && data.kind.collective().is_none() {
                little.extend(data.results.iter().copied());
            }
        }
        let mut steps: FxHashMap<OpId, u32> = FxHashMap::default();
        for (step, &number) in (1..).zip(order) {
            steps.insert(ops[number], step);
        }
        let mut first: FxHashMap<&[i64], u32> = FxHashMap::default();
        for &number in order {
            let data = &module.ops[ops[number]];
            if !matches!(data.kind, OpKind::While) {
                continue;
            }
            for &value in &data.operands {
                if let Some(def) = self.program.made_in(value, region)
                    && let Some(&step) = steps.get(&def)
                    && little.contains(&value)
                    && self.program.is_elementwise(def)
                    && self.leaves(def, region).iter().all(|&v| self.program.weight(v) <= LITTLE)
                {
                    let first = first.entry(module.shape(value)).or_insert(step);
                    begun.insert(def, step.min(*first));
                }
            }
        }
        begun
    }

    /// Whether an operation cannot write its result in place over `value`, because `value` is one of two results of its producer. XLA
    /// reuses the memory of an operand only if the operand is the only result of its producer (`HeapSimulator`). So the gradient of the
    /// scores does not overwrite the gradient of the attention weights, which is computed together with a sum of its rows. For a v5e, the
    /// compiler recomputes a value that no matmul produces instead of keeping it. An exception is an operation whose result must be in
    /// memory, such as log-probabilities that a gather reads.
    fn is_written_beside(&self, op: OpId, value: ValueId) -> bool {
        let module = self.module;
        let is_of_product = || module.def_op(value).is_some_and(|def| is_product(&module.ops[def].kind));
        let is_computed = || module.def_op(value).is_some_and(|def| self.program.is_elementwise(def));
        self.program.is_elementwise(op)
            && (self.program.machine.writes_beside_computed()
                || is_of_product()
                || self.program.is_hard(op) && is_computed())
    }

    /// Returns the values in memory that an operation reads, directly or through operations that are fused into it.
    fn leaves(&self, op: OpId, region: RegionId) -> Vec<ValueId> {
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

    /// Whether a result of the function is computed in a different layout and copied to row-major layout. The compiler copies the result of
    /// a matmul whose last dimension is not a multiple of the number of lanes, if another dimension is such a multiple.
    fn is_copied(&self, op: OpId, result: ValueId, region: RegionId) -> bool {
        const LANES: i64 = tiles::LANES as i64;
        let shape = self.module.shape(result);
        let Some((last, rest)) = shape.split_last() else { return false };
        if !self.program.machine.is_tpu()
            || last % LANES == 0
            || !rest.iter().any(|n| *n > 0 && n % LANES == 0)
        {
            return false;
        }
        let is_product = |op: OpId| matches!(self.module.ops[op].kind, OpKind::DotGeneral(_));
        let mut operands = self.module.ops[op].operands.iter();
        is_product(op)
            || operands.any(|&v| {
                self.program.made_in(v, region).is_some_and(|def| self.fused[def.index()] && is_product(def))
            })
    }
}

/// Whether an operation reduces the last dimension of its operand.
fn reduces_rows(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let OpKind::Reduce { dims } = &data.kind else { return false };
    dims.iter().any(|&dim| dim as usize + 1 == module.rank(data.operands[0]))
}

/// The buffers of a region.
#[derive(Default)]
struct Buffers {
    all: Vec<Buffer>,
    of: FxHashMap<ValueId, usize>,
    /// The buffers of copies of values whose own memory is outside of the region's heap.
    copies: FxHashMap<ValueId, usize>,
}

impl Buffers {
    /// Adds a buffer, and records it as the buffer of its value.
    fn add(&mut self, buffer: Buffer) {
        if let Some(value) = buffer.value {
            self.of.insert(value, self.all.len());
        }
        self.all.push(buffer);
    }

    /// Adds a buffer that is not recorded as the buffer of a value.
    fn add_beside(&mut self, buffer: Buffer) {
        self.all.push(buffer);
    }

    fn of(&mut self, value: ValueId) -> Option<&mut Buffer> {
        self.of.get(&value).map(|&number| &mut self.all[number])
    }

    /// Extends the live range of a value's buffer to a step. Returns false if the value has no buffer.
    fn extend(&mut self, value: ValueId, last: u32) -> bool {
        let buffer = self.of(value);
        let found = buffer.is_some();
        if let Some(buffer) = buffer {
            buffer.last = buffer.last.max(last);
        }
        found
    }

    /// Adds a copy of a value, or extends the live range of an existing copy.
    fn copy(&mut self, value: ValueId, buffer: Buffer) {
        if let Some(&number) = self.copies.get(&value) {
            let known = &mut self.all[number];
            known.last = known.last.max(buffer.last);
            return;
        }
        self.copies.insert(value, self.all.len());
        self.all.push(buffer);
    }

    /// Makes `second` share the buffer of `first`.
    fn share(&mut self, first: ValueId, second: ValueId) {
        if let Some(&number) = self.of.get(&first) {
            self.of.insert(second, number);
        }
    }
}

/// Returns the maximum of live bytes over all steps, and the first step with this maximum, counted from one.
fn most(buffers: &[Buffer], steps: usize) -> (u64, usize) {
    let (mut made, mut freed) = (vec![0u64; steps + 2], vec![0u64; steps + 2]);
    for buffer in buffers {
        // The arithmetic saturates, since the sizes in a malicious program may overflow.
        let add = |bytes: &mut u64| *bytes = bytes.saturating_add(buffer.bytes);
        add(&mut made[buffer.first as usize]);
        add(&mut freed[(buffer.last.max(buffer.first) as usize).min(steps)]);
    }
    let (mut live, mut most, mut at) = (0u64, 0, 0);
    for step in 1..=steps {
        live = live.saturating_add(made[step]);
        if live > most {
            (most, at) = (live, step);
        }
        live = live.saturating_sub(freed[step]);
    }
    (most, at)
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
