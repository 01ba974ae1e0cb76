//! The buffers of a region: their live ranges, and the values that share them.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::tiles;
use shardc_ir::{EntityRef, Module, OpId, OpKind, RegionId, ValueId};

use super::allocate::Buffer;
use super::kinds::is_product;
use super::rules::Rule;
use super::stages::{Estimate, Peak};

/// An operation whose results may reuse memory of its operands, and the step of its region at which it runs. The memory of the values in
/// `outside` is not in the region's heap.
struct At<'a> {
    op: OpId,
    region: RegionId,
    step: u32,
    outside: &'a FxHashSet<ValueId>,
}

impl Estimate<'_> {
    /// Returns the buffers of a region. `inside` has the peaks of the regions of its operations.
    pub(super) fn buffers(
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
        // The last step that computes a matmul.
        let mut multiplied = 0;
        for (step, &number) in (1u32..).zip(order) {
            let op = ops[number];
            let data = &module.ops[op];
            if let Some(peak) = inside.get(&op) {
                table.add(Buffer { is_nested: true, ..Buffer::of_copy(peak.bytes, step, step) });
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
                table.add(Buffer::of_copy(bytes, step, step));
            }
            table.all.extend(self.looked_up_late(op, region, step));
            for &result in &data.results {
                if outside.contains(&result) {
                    if self.is_copied(op, result, region) {
                        table.add_beside(self.buffer(result, step, step));
                    }
                    continue;
                }
                if self.program.applies(Rule::InPlace) && self.writes_over(op) {
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
                        table.add_beside(Buffer::of_copy(bytes, first, last));
                    }
                    // All tables but the first are added as soon as they are computed.
                    last = if sum == result { last } else { step };
                }
                if self.program.copied.rows.contains(&result) {
                    table.add_beside(Buffer::of_copy(self.program.size(result), step, last));
                }
                let first = self.started_at(op, step, multiplied, &mut table);
                table.add(self.buffer(result, first, last));
            }
            if is_product(&data.kind) || self.has_fused_product(op, region) {
                multiplied = step;
            }
        }
        table.all
    }

    /// Returns the step at which the memory of the results of an operation is allocated: for an all-gather that runs beside the matmul
    /// before it, the step `multiplied` of that matmul, unless the gathered value is computed later.
    fn started_at(&self, op: OpId, step: u32, multiplied: u32, table: &mut Buffers) -> u32 {
        let data = &self.module.ops[op];
        if multiplied == 0
            || !matches!(data.kind, OpKind::AllGather { .. })
            || !self.program.applies_on_tpu(Rule::EarlyGathers)
        {
            return step;
        }
        let ready = data.operands.iter().filter_map(|&v| table.of(v).map(|buffer| buffer.first)).max();
        ready.unwrap_or(0).max(multiplied)
    }

    /// Whether a matmul is fused into an operand of the operation.
    fn has_fused_product(&self, op: OpId, region: RegionId) -> bool {
        self.module.ops[op].operands.iter().any(|&value| {
            let def = self.program.made_in(value, region).filter(|def| self.fused[def.index()]);
            def.is_some_and(|def| is_product(&self.module.ops[def].kind))
        })
    }

    /// Returns the converted table of a lookup of one element per row, as of logits at labels. The lookup runs asynchronously, and nothing
    /// but the loss needs its result, so the table is computed by the last operation that reads the value from which it is converted.
    fn looked_up_late(&self, op: OpId, region: RegionId, step: u32) -> Option<Buffer> {
        let &table = self.module.ops[op].operands.first()?;
        let def = self.program.made_in(table, region)?;
        if !self.program.looks_up_late(op) || !self.fused[def.index()] {
            return None;
        }
        // The largest operand is the original; the others are vectors such as biases.
        let original = self.leaves(def, region).into_iter().max_by_key(|&v| self.program.weight(v));
        let last = original.map_or(step, |v| self.last_step(v, region).max(step));
        Some(Buffer::of_copy(self.program.size(table), last, last))
    }

    /// Creates the buffer of a value with the given live range.
    fn buffer(&self, value: ValueId, first: u32, last: u32) -> Buffer {
        Buffer { value: Some(value), ..Buffer::of_copy(self.program.size(value), first, last) }
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
                    table.copy(first, Buffer { value: Some(first), ..Buffer::of_copy(bytes, step, last) });
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
        let ops =
            module.regions[region].ops.iter().filter(|_| self.program.applies_on_tpu(Rule::MultiOutput));
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

    /// Whether a result of the function is computed in a different layout and copied to row-major layout. The compiler copies the result of
    /// a matmul whose last dimension is not a multiple of the number of lanes, if another dimension is such a multiple.
    fn is_copied(&self, op: OpId, result: ValueId, region: RegionId) -> bool {
        const LANES: i64 = tiles::LANES as i64;
        let shape = self.module.shape(result);
        let Some((last, rest)) = shape.split_last() else { return false };
        if !self.program.applies_on_tpu(Rule::ResultLayouts)
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
