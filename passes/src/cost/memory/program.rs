//! Facts about a function that the estimate needs before it computes live ranges: how a compiler can treat each operation.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DType, EntityRef, FuncId, Module, OpId, OpKind, Precision, RegionId, Shape, ValueId, Work};

use super::gathered::Gathered;
use super::machine::{Machine, TiledDims};
use super::{products, stacks};
use crate::analysis::elementwise::is_elementwise;
use crate::analysis::gradient_orders::{has_its_own_order, orders_of_gradients};
use crate::analysis::host_memory::moved_to_host;

/// Properties of the operations and values of a function, by index.
pub(super) struct Program<'m> {
    pub(super) module: &'m Module,
    pub(super) machine: Machine,
    /// The region that a value is defined in.
    home: Vec<Option<RegionId>>,
    /// Whether an operation computes each element from one position of its operands, or selects one element of a row.
    elementwise: Vec<bool>,
    /// Whether an operation is fused into its users, wherever they are.
    always: Vec<bool>,
    /// Whether a matmul becomes part of its only user.
    pub(super) joins_reader: Vec<bool>,
    /// Whether a matmul is computed together with a reduction of its rows.
    pub(super) with_rows: Vec<bool>,
    /// Whether a value must be in memory, because a user fuses no operands, or users read it at different positions.
    hard: Vec<bool>,
    /// Whether all users of a 32-bit value are matmuls, which round it to 16 bits: only the rounded value is kept.
    narrow: Vec<bool>,
    /// The number of matmuls that read a value, directly or transposed.
    multiplied: Vec<u32>,
    /// The tiled dimensions of tensors with the shape of a convolution's operand or result, or of such a tensor padded.
    convolved: FxHashMap<&'m Shape, TiledDims>,
    /// Rows that are looked up, rows that are added to tables, and the tables that result.
    in_rows: FxHashSet<ValueId>,
    /// Gradients that are copied to the layout of their parameters as soon as they are computed.
    relaid: FxHashSet<ValueId>,
    /// Arguments that loops read from a copy, and the bytes of each copy.
    copied: FxHashMap<ValueId, u64>,
    gathered: Gathered,
    /// Scatters that are added up and have no other user, each with the first scatter of its sum.
    sums: FxHashMap<ValueId, ValueId>,
}

impl<'m> Program<'m> {
    pub(super) fn new(module: &'m Module, func: FuncId, body: RegionId, machine: Machine) -> Program<'m> {
        let (values, ops) = (module.values.len(), module.ops.len());
        let mut program = Program {
            module,
            machine,
            home: vec![None; values],
            elementwise: vec![false; ops],
            always: vec![false; ops],
            joins_reader: vec![false; ops],
            with_rows: vec![false; ops],
            hard: vec![false; values],
            narrow: vec![false; values],
            multiplied: vec![0; values],
            convolved: FxHashMap::default(),
            in_rows: FxHashSet::default(),
            relaid: if machine.is_tpu() { relaid(module, body) } else { FxHashSet::default() },
            copied: if machine.is_tpu() {
                stacks::copied(module, body, machine)
            } else {
                FxHashMap::default()
            },
            gathered: if machine.is_tpu() { Gathered::of(module, func) } else { Gathered::default() },
            sums: FxHashMap::default(),
        };
        let (walk, regions) = module.walk_with_regions(body, |_| true);
        for &region in &regions {
            for &arg in &module.regions[region].args {
                program.home[arg.index()] = Some(region);
            }
            for &op in &module.regions[region].ops {
                for &result in &module.ops[op].results {
                    program.home[result.index()] = Some(region);
                }
            }
        }
        for &op in &walk {
            program.elementwise[op.index()] =
                is_elementwise(module, op) || is_one_of_a_row(module, op) || is_outer(&module.ops[op].kind);
            program.note_convolution(op);
            if let Some(rows) = program.padded_rows_of(op) {
                program.in_rows.extend(module.ops[op].results.iter().copied().chain([rows]));
            }
        }
        let reads = program.reads(&walk);
        for &op in walk.iter().filter(|op| machine.is_tpu() && program.elementwise[op.index()]) {
            for &result in &module.ops[op].results {
                program.hard[result.index()] = reads[result.index()].are_apart;
            }
        }
        program.note_sums(&walk, &reads);
        // In reverse order, so that the properties of users are known.
        let mut all_round = vec![true; values];
        for &op in walk.iter().rev() {
            program.look_at(op, &reads);
            program.look_at_operands(op, &reads, &mut all_round);
        }
        products::join(&mut program, &walk, &reads);
        for (value, reads) in reads.iter().enumerate() {
            program.narrow[value] = all_round[value] && reads.count > 0;
        }
        program
    }

    /// Returns the bytes of a value in memory.
    pub(super) fn size(&self, value: ValueId) -> u64 {
        let Some(ty) = self.module.stored(value) else { return 0 };
        if self.module.def_op(value).is_some_and(|op| moved_to_host(self.module, op).is_some()) {
            return 0;
        }
        let bits = if self.is_rounded(value) { 16 } else { ty.dtype.bits() };
        if self.in_rows.contains(&value) && !self.relaid.contains(&value) {
            return self.machine.bytes_in_rows(ty, bits);
        }
        self.machine.bytes(ty, bits, self.convolved.get(&ty.shape).copied())
    }

    /// Returns the bytes of the original of a gradient that is copied to the layout of its parameter; `None` for other values.
    pub(super) fn size_before_copy(&self, value: ValueId) -> Option<u64> {
        let ty = self.module.stored(value).filter(|_| self.relaid.contains(&value))?;
        Some(self.machine.bytes_in_rows(ty, ty.dtype.bits()))
    }

    /// Returns the bytes of the copy of a table in which an operation looks up rows, or to which it adds rows; `None` if arguments of its
    /// shape already have that layout.
    pub(super) fn copied_into_rows(&self, op: OpId) -> Option<u64> {
        let table = *self.module.ops[op].operands.first()?;
        let ty = self.module.stored(table).filter(|_| self.padded_rows_of(op).is_some())?;
        let bytes = self.machine.bytes_in_rows(ty, ty.dtype.bits());
        (bytes > self.size(table)).then_some(bytes)
    }

    /// Returns the rows that are looked up, or added to a table, if they are along the lanes.
    fn padded_rows_of(&self, op: OpId) -> Option<ValueId> {
        let rows = rows_of(self.module, op).filter(|_| !moves_blocks(self.module, op))?;
        let table = self.module.stored(*self.module.ops[op].operands.first()?)?;
        self.machine.puts_in_rows(table).then_some(rows)
    }

    /// Returns the first table of a sum of tables, if `op` produces one of them by a scatter to zeros. Each table is added as soon as it is
    /// computed, but the rows of all of them are gathered before. The gradient of a table with several lookups is such a sum.
    pub(super) fn added_to(&self, op: OpId) -> Option<ValueId> {
        let data = &self.module.ops[op];
        let (&made, &zeros) = (data.results.first()?, data.operands.first()?);
        if !self.machine.is_tpu()
            || !matches!(data.kind, OpKind::Scatter(_))
            || !self.is_made_by(zeros, is_from_nothing)
        {
            return None;
        }
        self.sums.get(&made).copied()
    }

    /// Returns the bytes of the linearized indices of a scatter whose indices have several components: a TPU computes them first.
    pub(super) fn flat_places(&self, op: OpId) -> Option<u64> {
        let data = &self.module.ops[op];
        let OpKind::Scatter(spec) = &data.kind else { return None };
        let places = self.weight(*data.operands.get(1)?);
        let numbers = spec.scatter_dims_to_operand_dims.len() as u64;
        (numbers > 1).then_some(places / numbers.max(1))
    }

    /// Returns the bytes of a value without any padding.
    pub(super) fn weight(&self, value: ValueId) -> u64 {
        let bytes = self.module.stored(value).and_then(|ty| u64::try_from(ty.num_bytes()?).ok()).unwrap_or(0);
        if self.is_rounded(value) { bytes / 2 } else { bytes }
    }

    /// Whether a 32-bit value is kept with 16 bits.
    fn is_rounded(&self, value: ValueId) -> bool {
        let is_wide = self.module.stored(value).is_some_and(|ty| ty.dtype == DType::F32);
        self.machine.is_tpu() && is_wide && self.narrow[value.index()]
    }

    /// Returns the cost of reading or writing a value, relative to others ([`Machine::traffic`]).
    pub(super) fn traffic(&self, value: ValueId) -> u64 {
        self.module.stored(value).map_or(0, |ty| self.machine.traffic(ty))
    }

    /// Returns the producer of a value, if it is in the region.
    pub(super) fn made_in(&self, value: ValueId, region: RegionId) -> Option<OpId> {
        self.module.def_op(value).filter(|_| self.home[value.index()] == Some(region))
    }

    /// Whether several matmuls read a result of the operation.
    pub(super) fn is_multiplied_often(&self, op: OpId) -> bool {
        self.module.ops[op].results.iter().any(|v| self.multiplied[v.index()] > 1)
    }

    pub(super) fn is_elementwise(&self, op: OpId) -> bool {
        self.elementwise[op.index()]
    }

    pub(super) fn is_always_fused(&self, op: OpId) -> bool {
        self.always[op.index()]
    }

    /// Whether the result of an operation is written while the previous one runs: an all-gather on a TPU starts as soon as it can.
    pub(super) fn starts_early(&self, op: OpId) -> bool {
        self.machine.is_tpu() && matches!(self.module.ops[op].kind, OpKind::AllGather { .. })
    }

    pub(super) fn joins_reader(&self, op: OpId) -> bool {
        self.joins_reader[op.index()]
    }

    /// Whether nothing is recomputed from the result of an operation: a matmul that is part of its user is not in memory, and the result
    /// of one that is computed with a reduction of its rows is kept.
    pub(super) fn is_left_alone(&self, op: OpId) -> bool {
        self.joins_reader[op.index()] || self.with_rows[op.index()]
    }

    /// Whether a value is defined in the region of an operation.
    pub(super) fn is_in_region_of(&self, value: ValueId, op: OpId) -> bool {
        let of_op = self.module.ops[op].results.first().map(|v| self.home[v.index()]);
        of_op == Some(self.home[value.index()])
    }

    /// Puts the result `made` of an operation in memory, so that it is not fused into its users.
    pub(super) fn put_in_memory(&mut self, op: OpId, made: ValueId) {
        self.always[op.index()] = false;
        self.hard[made.index()] = true;
    }

    /// Whether a result of the operation must be in memory.
    pub(super) fn is_hard(&self, op: OpId) -> bool {
        self.module.ops[op].results.iter().any(|v| self.hard[v.index()])
    }

    /// Returns the bytes of the copy of an argument that loops read, if there is one.
    pub(super) fn copied_for_loops(&self, value: ValueId) -> Option<u64> {
        self.copied.get(&value).copied()
    }

    /// Whether a value is all-gathered in the heap, and then copied to a result of the function.
    pub(super) fn is_gathered(&self, value: ValueId) -> bool {
        self.gathered.results.contains(&value)
    }

    /// Whether a value is an argument that is copied first, since an all-gathered result takes its memory.
    pub(super) fn is_copied_first(&self, value: ValueId) -> bool {
        self.gathered.arguments.contains(&value)
    }

    /// Returns the reads of all values. A reshaped value is read by the users of the reshape; a padded value as often as the padded one.
    fn reads(&self, walk: &[OpId]) -> Vec<Reads> {
        let module = self.module;
        let mut reads = vec![Reads::default(); module.values.len()];
        for &op in walk.iter().rev() {
            let data = &module.ops[op];
            let by = match (&data.kind, data.results.first()) {
                (OpKind::Reshape, Some(reshaped)) => reads[reshaped.index()],
                (OpKind::Pad(_), Some(moved)) => {
                    Reads { count: reads[moved.index()].count, last: Some(op), are_apart: false }
                }
                _ => Reads { count: 1, last: Some(op), are_apart: false },
            };
            for &operand in &data.operands {
                let of = &mut reads[operand.index()];
                of.are_apart |= by.are_apart
                    || by.last.zip(of.last).is_some_and(|(one, other)| is_read_apart(module, one, other));
                of.count = of.count.saturating_add(by.count);
                of.last = of.last.or(by.last);
            }
        }
        reads
    }

    /// Records sums of scatters, in program order.
    fn note_sums(&mut self, walk: &[OpId], reads: &[Reads]) {
        use shardc_ir::BinaryOp as B;
        let is_scattered = |v: ValueId| {
            let def = self.module.def_op(v).filter(|_| reads[v.index()].count == 1);
            def.is_some_and(|def| matches!(self.module.ops[def].kind, OpKind::Scatter(_)))
        };
        // The first scatter of each sum.
        let mut first: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        for &op in walk {
            let data = &self.module.ops[op];
            let (OpKind::Binary(B::Add), &[a, b], &[sum]) =
                (&data.kind, &data.operands[..], &data.results[..])
            else {
                continue;
            };
            let known = |v: ValueId| {
                first
                    .get(&v)
                    .copied()
                    .filter(|_| reads[v.index()].count == 1)
                    .or(is_scattered(v).then_some(v))
            };
            for (so_far, added) in [(a, b), (b, a)] {
                let is_here = |v: ValueId| self.home[v.index()] == self.home[sum.index()];
                if let Some(table) = known(so_far).filter(|&table| is_here(table))
                    && is_scattered(added)
                    && is_here(added)
                    && self.module.def_op(table) < self.module.def_op(added)
                {
                    first.insert(sum, table);
                    self.sums.extend([(table, table), (added, table)]);
                    break;
                }
            }
        }
    }

    fn note_convolution(&mut self, op: OpId) {
        let module = self.module;
        let data = &module.ops[op];
        let shape = |value: Option<&ValueId>| value.and_then(|&v| Some(&module.stored(v)?.shape));
        let (operand, result) = (shape(data.operands.first()), shape(data.results.first()));
        match &data.kind {
            OpKind::Convolution(spec) => {
                for (shape, dims) in [(operand, &spec.input), (result, &spec.output)] {
                    let Some(shape) = shape else { continue };
                    let dims = TiledDims { feature: dims.feature as usize, batch: dims.batch as usize };
                    self.convolved.entry(shape).or_insert(dims);
                }
            }
            OpKind::Pad(_) => {
                let dims = operand.and_then(|shape| self.convolved.get(shape).copied());
                if let Some((dims, result)) = dims.zip(result) {
                    self.convolved.entry(result).or_insert(dims);
                }
            }
            _ => {}
        }
    }

    /// Decides whether an operation is always fused, from the properties of its users.
    fn look_at(&mut self, op: OpId, reads: &[Reads]) {
        let data = &self.module.ops[op];
        let is_read_once = data.results.iter().all(|v| reads[v.index()].count <= 1);
        let is_hard = data.results.is_empty() || self.is_hard(op);
        self.always[op.index()] = match &data.kind {
            // Bitcasts on row-major layouts, constants and scalars.
            OpKind::Reshape | OpKind::Constant(_) | OpKind::ReplicaId | OpKind::PartitionId => true,
            OpKind::Transpose { .. } if self.machine.multiplies_alone() => true,
            _ if is_hard || self.is_strided(op) => false,
            kind if is_rearranged(kind) => true,
            // Each user repeats a widening. The result of a narrowing is kept: it frees the wide value.
            OpKind::Convert => {
                is_read_once
                    || matches!(data.operands.first().zip(data.results.first()), Some((&from, &to)) if self.weight(from) <= self.weight(to))
            }
            _ => self.is_elementwise(op) && is_read_once,
        };
    }

    /// Records the requirements of an operation on its operands.
    fn look_at_operands(&mut self, op: OpId, reads: &[Reads], all_round: &mut [bool]) {
        let data = &self.module.ops[op];
        let of_result = |table: &[bool]| data.results.first().is_some_and(|v| table[v.index()]);
        let multiplies_alone = is_product(&data.kind) && self.machine.multiplies_alone();
        let fuses_nothing = fuses_nothing(&data.kind) || multiplies_alone || self.is_strided(op);
        // A matmul reads a transposed operand in place.
        let is_reformed = matches!(data.kind, OpKind::Reshape)
            || self.machine.multiplies_alone() && matches!(data.kind, OpKind::Transpose { .. });
        let hands_on = is_reformed && of_result(&self.hard);
        let rounds = match &data.kind {
            OpKind::DotGeneral(spec) => is_default(&spec.precision) && !is_outer(&data.kind),
            OpKind::Convolution(spec) => is_default(&spec.precision),
            kind if is_form(kind) || self.is_scaling(op) => of_result(all_round),
            _ => false,
        };
        if let (OpKind::Scatter(_), Some(rows)) = (&data.kind, rows_of(self.module, op))
            && self.machine.is_tpu()
        {
            self.hard[rows.index()] = true;
        }
        if let OpKind::Gather(spec) = &data.kind
            && self.machine.is_tpu()
        {
            // A lookup in a converted table converts the rows instead. Not so if it takes elements of each row, as `take_along_axis` does
            // with logits: the converted logits are in memory, beside the original ones.
            let table = data.operands[0];
            let is_converted = spec.operand_batching_dims.is_empty()
                && self.is_made_by(table, |kind| matches!(kind, OpKind::Convert));
            self.hard[table.index()] |= !is_converted;
        }
        let multiplied = match data.results.first() {
            _ if is_product(&data.kind) => 1,
            Some(&same) if is_form(&data.kind) => self.multiplied[same.index()],
            _ => 0,
        };
        for (at, &operand) in data.operands.iter().enumerate() {
            let times = &mut self.multiplied[operand.index()];
            *times = times.saturating_add(multiplied);
            let is_made_there =
                matches!(data.kind, OpKind::While) && self.is_made_by(operand, is_from_nothing);
            // A moved value is not written for a barrier whose result is dead: the barrier only orders it.
            let is_ordered_alone = matches!(data.kind, OpKind::OptimizationBarrier)
                && self.machine.is_tpu()
                && data.results.get(at).is_some_and(|behind| reads[behind.index()].count == 0)
                && self.is_made_by(operand, is_rearranged);
            if fuses_nothing && !is_made_there && !is_ordered_alone || hands_on {
                self.hard[operand.index()] = true;
            }
            let is_rounded = match data.results.get(at) {
                Some(behind) if matches!(data.kind, OpKind::OptimizationBarrier) => all_round[behind.index()],
                _ => rounds,
            };
            all_round[operand.index()] &= is_rounded;
        }
    }

    /// Whether an operation is a strided slice or interior padding, as in `associative_scan`: a TPU does both in memory.
    fn is_strided(&self, op: OpId) -> bool {
        let is_strided = match &self.module.ops[op].kind {
            OpKind::Pad(spec) => spec.interior.iter().any(|&n| n > 0),
            OpKind::Slice(spec) => spec.stride.iter().any(|&n| n > 1),
            _ => false,
        };
        is_strided && self.machine.is_tpu()
    }

    fn is_made_by(&self, value: ValueId, is_such: impl Fn(&OpKind) -> bool) -> bool {
        self.module.def_op(value).is_some_and(|def| is_such(&self.module.ops[def].kind))
    }

    /// Whether an operation multiplies or divides by a scalar.
    fn is_scaling(&self, op: OpId) -> bool {
        use shardc_ir::BinaryOp as B;
        let data = &self.module.ops[op];
        let is_number = |&v: &ValueId| {
            let Some(def) = self.module.def_op(v).map(|def| &self.module.ops[def]) else { return false };
            matches!(def.kind, OpKind::BroadcastInDim { .. })
                && def.operands.first().is_some_and(|&v| self.module.shape(v).is_empty())
        };
        matches!(data.kind, OpKind::Binary(B::Multiply | B::Divide)) && data.operands.iter().any(is_number)
    }
}

/// The reads of a value.
#[derive(Clone, Copy, Default)]
pub(super) struct Reads {
    /// The number of its uses, in all regions.
    pub(super) count: u32,
    /// Its last user.
    pub(super) last: Option<OpId>,
    /// Whether two users read its elements at different positions.
    are_apart: bool,
}

/// Whether an operation is a `dot_general` without contracting dimensions: XLA rewrites it to an element-wise multiplication
/// (`AlgebraicSimplifier::HandleDot`).
fn is_outer(kind: &OpKind) -> bool {
    matches!(kind, OpKind::DotGeneral(spec) if spec.lhs_contract.is_empty())
}

/// Whether an operation is a matmul or a convolution.
pub(super) fn is_product(kind: &OpKind) -> bool {
    matches!(kind, OpKind::DotGeneral(_) | OpKind::Convolution(_)) && !is_outer(kind)
}

fn is_default(precision: &[Precision]) -> bool {
    precision.iter().all(|p| *p == Precision::Default)
}

/// Whether an operation is a constant, an iota or a broadcast: it reads no tensor, or a smaller one.
pub(super) fn is_from_nothing(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Constant(_) | OpKind::Iota { .. } | OpKind::BroadcastInDim { .. })
}

/// Whether an operation only moves elements, which each user repeats when it reads.
fn is_rearranged(kind: &OpKind) -> bool {
    is_from_nothing(kind)
        || matches!(
            kind,
            OpKind::Transpose { .. }
                | OpKind::Pad(_)
                | OpKind::Slice(_)
                | OpKind::Reverse { .. }
                | OpKind::Concatenate { .. }
                | OpKind::Splice(_)
                | OpKind::DynamicSlice { .. }
        )
}

/// Whether two users of a value read its elements at different positions. An element-wise value is then written, since both users would
/// recompute it.
fn is_read_apart(module: &Module, one: OpId, other: OpId) -> bool {
    let is_moved = |op: OpId| {
        matches!(
            module.ops[op].kind,
            OpKind::Slice(_)
                | OpKind::DynamicSlice { .. }
                | OpKind::Pad(_)
                | OpKind::Reverse { .. }
                | OpKind::Concatenate { .. }
        )
    };
    let (a, b) = (&module.ops[one], &module.ops[other]);
    let is_same = one != other && a.kind == b.kind && a.operands == b.operands;
    (is_moved(one) || is_moved(other)) && !is_same
}

/// Whether an operation passes rounded elements on unchanged.
fn is_form(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Slice(_)
            | OpKind::Pad(_)
            | OpKind::BroadcastInDim { .. }
            | OpKind::AllGather { .. }
    )
}

/// Whether an operation reads its operands from memory, and fuses none of them.
fn fuses_nothing(kind: &OpKind) -> bool {
    kind.collective().is_some()
        || kind.def().work == Work::Heavy
        || matches!(
            kind,
            OpKind::Return
                | OpKind::While
                | OpKind::Case
                | OpKind::If
                | OpKind::CustomCall(_)
                | OpKind::OptimizationBarrier
                | OpKind::RngBitGenerator { .. }
                | OpKind::ReduceWindow(_)
                | OpKind::SelectAndScatter(_)
        )
}

/// The gradients that are computed in another layout than that of their parameters.
fn relaid(module: &Module, body: RegionId) -> FxHashSet<ValueId> {
    orders_of_gradients(module, body).into_keys().filter(|&value| has_its_own_order(module, value)).collect()
}

/// Returns the rows that an operation looks up, or adds to a table.
fn rows_of(module: &Module, op: OpId) -> Option<ValueId> {
    let data = &module.ops[op];
    let (rows, dims) = match &data.kind {
        OpKind::Gather(spec) => (*data.results.first()?, &spec.offset_dims),
        OpKind::Scatter(spec) if !is_one_of_a_row(module, op) => {
            (*data.operands.last()?, &spec.update_window_dims)
        }
        _ => return None,
    };
    let last = module.rank(rows).checked_sub(1)?;
    dims.iter().any(|&dim| dim as usize == last).then_some(rows)
}

/// Whether an operation looks up or adds blocks of several dimensions instead of rows: they have the layout with the least padding.
pub(super) fn moves_blocks(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let (value, dims) = match &data.kind {
        OpKind::Gather(spec) => (data.results.first(), &spec.offset_dims),
        OpKind::Scatter(spec) => (data.operands.last(), &spec.update_window_dims),
        _ => return false,
    };
    let shape: &[i64] = value.map_or(&[], |&v| module.shape(v));
    dims.iter().filter(|&&dim| shape.get(dim as usize).is_some_and(|&n| n > 1)).count() > 1
}

/// Whether a scatter changes one element of each row, as the gradient of `take_along_axis` does: compilers rewrite it to a select by a
/// comparison of indices.
fn is_one_of_a_row(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let (OpKind::Scatter(spec), Some(&result)) = (&data.kind, data.results.first()) else { return false };
    let batching = spec.input_batching_dims.len();
    batching > 0 && batching + spec.inserted_window_dims.len() == module.shape(result).len()
}
