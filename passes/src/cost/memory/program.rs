//! Facts about a function that the estimate needs before it computes live ranges: how a compiler can treat each operation.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DType, EntityRef, FuncId, Module, OpId, OpKind, Precision, RegionId, Shape, ValueId, Work};

use super::gathered::Gathered;
use super::machine::{Machine, TiledDims};
use super::{products, stacks};
use crate::analysis::elementwise::is_elementwise;
use crate::analysis::gradient_orders::{has_its_own_order, orders_of_gradients};
use crate::analysis::host_memory::moved_to_host;

/// What holds for operations and values of a function, by their numbers.
pub(super) struct Program<'m> {
    pub(super) module: &'m Module,
    pub(super) machine: Machine,
    /// The region that a value is defined in.
    home: Vec<Option<RegionId>>,
    /// Whether an operation computes each element from one place of its operands, or selects one of a row.
    elementwise: Vec<bool>,
    /// Whether an operation is fused into its readers wherever these are.
    always: Vec<bool>,
    /// Whether a product becomes part of its one reader, which computes on its result element by element.
    pub(super) joins_reader: Vec<bool>,
    /// Whether a product is made together with what its rows are reduced to.
    pub(super) with_rows: Vec<bool>,
    /// Whether a value must be in memory, since something reads it that fuses with nothing.
    hard: Vec<bool>,
    /// Whether all that reads a value of 32 bits are products, which round it to 16: those are what is kept.
    narrow: Vec<bool>,
    /// How many products read a value, transposed or as it is.
    multiplied: Vec<u32>,
    /// How tensors of a shape that a convolution reads or makes lie in memory, and those that are padded of such ones.
    convolved: FxHashMap<&'m Shape, TiledDims>,
    /// What is looked up by rows, what is added to rows, and the tables that it is added to.
    in_rows: FxHashSet<ValueId>,
    /// Gradients that are copied into the order of dimensions in which parameters lie, as soon as they are made.
    relaid: FxHashSet<ValueId>,
    /// Arguments of which loops read a copy, and the bytes of each copy.
    copied: FxHashMap<ValueId, u64>,
    gathered: Gathered,
    /// What is added to a sum of scattered rows and is read by nothing else, and the first rows of that sum.
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
        // Readers come after what they read, so that what holds for their results is known.
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

    /// Returns the bytes that a value has besides its own as an operation makes it: that of a gradient which is copied.
    pub(super) fn size_before_copy(&self, value: ValueId) -> Option<u64> {
        let ty = self.module.stored(value).filter(|_| self.relaid.contains(&value))?;
        Some(self.machine.bytes_in_rows(ty, ty.dtype.bits()))
    }

    /// Returns the bytes of the copy of a table that an operation looks rows up in, or adds them to, where arguments of its shape lie
    /// otherwise.
    pub(super) fn copied_into_rows(&self, op: OpId) -> Option<u64> {
        let table = *self.module.ops[op].operands.first()?;
        let ty = self.module.stored(table).filter(|_| self.padded_rows_of(op).is_some())?;
        let bytes = self.machine.bytes_in_rows(ty, ty.dtype.bits());
        (bytes > self.size(table)).then_some(bytes)
    }

    /// The rows that a lookup gives, or that are added to those of a table, where each of them lies along the lanes.
    fn padded_rows_of(&self, op: OpId) -> Option<ValueId> {
        let rows = rows_of(self.module, op).filter(|_| !moves_blocks(self.module, op))?;
        let table = self.module.stored(*self.module.ops[op].operands.first()?)?;
        self.machine.puts_in_rows(table).then_some(rows)
    }

    /// The first of the tables that are added to each other, of which an operation makes one by adding rows to zeros. Each is added as soon as
    /// it is made, but the rows of all of them are gathered before. The gradient of a table that rows are looked up in at several places is such
    /// a sum.
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

    /// Returns the bytes of the places of what an operation adds to a table, each as one number, if they have several: a TPU computes them first.
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

    /// Whether a value of 32 bits is kept with 16.
    fn is_rounded(&self, value: ValueId) -> bool {
        let is_wide = self.module.stored(value).is_some_and(|ty| ty.dtype == DType::F32);
        self.machine.is_tpu() && is_wide && self.narrow[value.index()]
    }

    /// Returns what it counts to read or write a value beside others.
    pub(super) fn traffic(&self, value: ValueId) -> u64 {
        self.module.stored(value).map_or(0, |ty| self.machine.traffic(ty))
    }

    /// The operation of the region that makes a value, if one of them does.
    pub(super) fn made_in(&self, value: ValueId, region: RegionId) -> Option<OpId> {
        self.module.def_op(value).filter(|_| self.home[value.index()] == Some(region))
    }

    /// Whether several products read a result of the operation.
    pub(super) fn is_multiplied_often(&self, op: OpId) -> bool {
        self.module.ops[op].results.iter().any(|v| self.multiplied[v.index()] > 1)
    }

    pub(super) fn is_elementwise(&self, op: OpId) -> bool {
        self.elementwise[op.index()]
    }

    pub(super) fn is_always_fused(&self, op: OpId) -> bool {
        self.always[op.index()]
    }

    /// Whether the result of an operation is written while the one before it runs: a gather of a TPU starts as soon as it can.
    pub(super) fn starts_early(&self, op: OpId) -> bool {
        self.machine.is_tpu() && matches!(self.module.ops[op].kind, OpKind::AllGather { .. })
    }

    pub(super) fn joins_reader(&self, op: OpId) -> bool {
        self.joins_reader[op.index()]
    }

    /// Whether nothing is computed again from what an operation makes: a product that is part of its reader is in memory for nobody
    /// else, and what is made of one with its rows is kept.
    pub(super) fn is_left_alone(&self, op: OpId) -> bool {
        self.joins_reader[op.index()] || self.with_rows[op.index()]
    }

    /// Whether a value is made in the region that an operation is in.
    pub(super) fn is_in_region_of(&self, value: ValueId, op: OpId) -> bool {
        let of_op = self.module.ops[op].results.first().map(|v| self.home[v.index()]);
        of_op == Some(self.home[value.index()])
    }

    /// Has what an operation makes in memory, and not as part of what reads it.
    pub(super) fn put_in_memory(&mut self, op: OpId, made: ValueId) {
        self.always[op.index()] = false;
        self.hard[made.index()] = true;
    }

    /// Whether a result of the operation must be in memory.
    pub(super) fn is_hard(&self, op: OpId) -> bool {
        self.module.ops[op].results.iter().any(|v| self.hard[v.index()])
    }

    /// The bytes of the copy of an argument that loops read in its place, if they do.
    pub(super) fn copied_for_loops(&self, value: ValueId) -> Option<u64> {
        self.copied.get(&value).copied()
    }

    /// Whether a value is gathered where all devices have room for it, and then copied to a result of the function.
    pub(super) fn is_gathered(&self, value: ValueId) -> bool {
        self.gathered.results.contains(&value)
    }

    /// Whether a value is an argument that is copied before all else, since what is gathered takes its memory.
    pub(super) fn is_copied_first(&self, value: ValueId) -> bool {
        self.gathered.arguments.contains(&value)
    }

    /// How all values are read; what is given another shape is read by what reads that, and what is padded as often as the padded tensor.
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

    /// Notes sums of scattered rows, in the order of the text.
    fn note_sums(&mut self, walk: &[OpId], reads: &[Reads]) {
        use shardc_ir::BinaryOp as B;
        let is_scattered = |v: ValueId| {
            let def = self.module.def_op(v).filter(|_| reads[v.index()].count == 1);
            def.is_some_and(|def| matches!(self.module.ops[def].kind, OpKind::Scatter(_)))
        };
        // The first rows of each sum.
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

    /// Notes what can be done with an operation, from what is known of its readers.
    fn look_at(&mut self, op: OpId, reads: &[Reads]) {
        let data = &self.module.ops[op];
        let is_read_once = data.results.iter().all(|v| reads[v.index()].count <= 1);
        let is_hard = data.results.is_empty() || self.is_hard(op);
        self.always[op.index()] = match &data.kind {
            // Bitcasts on row-major layouts, and what is no tensor to speak of.
            OpKind::Reshape | OpKind::Constant(_) | OpKind::ReplicaId | OpKind::PartitionId => true,
            OpKind::Transpose { .. } if self.machine.multiplies_alone() => true,
            _ if is_hard || self.is_strided(op) => false,
            kind if is_rearranged(kind) => true,
            // Widening is done again by each reader. Narrowing is kept: the narrow value frees the wide one.
            OpKind::Convert => {
                is_read_once
                    || matches!(data.operands.first().zip(data.results.first()), Some((&from, &to)) if self.weight(from) <= self.weight(to))
            }
            _ => self.is_elementwise(op) && is_read_once,
        };
    }

    /// Notes what an operation asks of its operands.
    fn look_at_operands(&mut self, op: OpId, reads: &[Reads], all_round: &mut [bool]) {
        let data = &self.module.ops[op];
        let of_result = |table: &[bool]| data.results.first().is_some_and(|v| table[v.index()]);
        let multiplies_alone = is_product(&data.kind) && self.machine.multiplies_alone();
        let fuses_nothing = fuses_nothing(&data.kind) || multiplies_alone || self.is_strided(op);
        // A product reads a transposed operand as it lies.
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
            // Rows that are looked up in a converted table are converted instead, but not what is taken of each row, as `take_along_axis` does
            // of logits: these are in memory converted, beside those that others read.
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
            // What is put elsewhere is not written for a barrier that hands it on to nobody, but only orders it.
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

    /// Whether an operation takes every other element, or puts something between elements, as `associative_scan` does: a TPU does both in
    /// memory.
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

    /// Whether an operation multiplies or divides by one number.
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

/// How a value is read.
#[derive(Clone, Copy, Default)]
pub(super) struct Reads {
    /// The number of operands that are this value, in all regions.
    pub(super) count: u32,
    /// What reads it last.
    pub(super) last: Option<OpId>,
    /// Whether two that read it find its elements in other places.
    are_apart: bool,
}

/// Whether an operation multiplies elements of two operands and adds none of these products: XLA makes an elementwise multiplication of it
/// (`AlgebraicSimplifier::HandleDot`).
fn is_outer(kind: &OpKind) -> bool {
    matches!(kind, OpKind::DotGeneral(spec) if spec.lhs_contract.is_empty())
}

/// Whether an operation adds up products of elements of two operands.
pub(super) fn is_product(kind: &OpKind) -> bool {
    matches!(kind, OpKind::DotGeneral(_) | OpKind::Convolution(_)) && !is_outer(kind)
}

fn is_default(precision: &[Precision]) -> bool {
    precision.iter().all(|p| *p == Precision::Default)
}

/// What makes a tensor from nothing or from one element.
pub(super) fn is_from_nothing(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Constant(_) | OpKind::Iota { .. } | OpKind::BroadcastInDim { .. })
}

/// What puts elements elsewhere, which each reader does again while it reads.
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

/// Whether of two operations that read a value one takes its elements from other places than the other does. What is computed element by
/// element is then written: each of them would compute it again.
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

/// What hands rounded elements on as they are.
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

/// Gradients that are made in another order of dimensions than parameters lie in.
fn relaid(module: &Module, body: RegionId) -> FxHashSet<ValueId> {
    orders_of_gradients(module, body).into_keys().filter(|&value| has_its_own_order(module, value)).collect()
}

/// The rows that a lookup gives, or that are added to those of a table.
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

/// Whether what an operation looks up, or adds, is no row but a block of several dimensions: it lies in whatever order wastes least.
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

/// Whether a scatter changes one element of each row: compilers select it by comparing places, as they do for the gradient
/// of `take_along_axis`.
fn is_one_of_a_row(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let (OpKind::Scatter(spec), Some(&result)) = (&data.kind, data.results.first()) else { return false };
    let batching = spec.input_batching_dims.len();
    batching > 0 && batching + spec.inserted_window_dims.len() == module.shape(result).len()
}
