//! Computes the properties of a program's operations and values.

use rustc_hash::FxHashMap;
use shardc_analysis::analysis::elementwise::is_elementwise;
use shardc_ir::{EntityRef, FuncId, Module, OpId, OpKind, RegionId, ValueId};

use super::copies::beside_arguments;
use super::kinds::{
    fuses_nothing, is_default, is_form, is_from_nothing, is_one_of_a_row, is_outer, is_product,
    is_rearranged, rows_of, window_of_rows, window_of_table,
};
use super::machine::TiledDims;
use super::products;
use super::program::{Program, Reads};
use super::rules::{Model, Rule};
use super::stacks::{self, Copied};

impl<'m> Program<'m> {
    pub(super) fn new(module: &'m Module, func: FuncId, body: RegionId, model: Model) -> Program<'m> {
        let Model { machine, rules, lean } = model;
        let (values, ops) = (module.values.len(), module.ops.len());
        let mut program = Program {
            module,
            machine,
            rules,
            lean,
            home: vec![None; values],
            elementwise: vec![false; ops],
            always: vec![false; ops],
            joins_reader: vec![false; ops],
            with_rows: vec![false; ops],
            hard: vec![false; values],
            narrow: vec![false; values],
            multiplied: vec![0; values],
            convolved: FxHashMap::default(),
            in_rows: FxHashMap::default(),
            copied: if machine.is_tpu() { stacks::copied(module, body, model) } else { Copied::default() },
            beside_argument: beside_arguments(module, func),
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
            if rules.contains(Rule::ConvolutionTiles) {
                program.note_convolution(op);
            }
            if let Some(rows) = program.padded_rows_of(op) {
                let is_scatter = matches!(module.ops[op].kind, OpKind::Scatter(_));
                let window = window_of_rows(module, op);
                let of_result = if is_scatter { window_of_table(module, op) } else { window.clone() };
                program.in_rows.extend(module.ops[op].results.iter().map(|&v| (v, of_result.clone())));
                program.in_rows.insert(rows, window);
            } else if program.elementwise[op.index()] {
                program.hand_on_rows(op);
            }
        }
        let reads = program.reads(&walk);
        if program.applies_on_tpu(Rule::ScatterSums) {
            program.note_sums(&walk, &reads);
        }
        // Operations are visited in reverse order, so that the properties of users are known.
        let mut all_round = vec![true; values];
        for &op in walk.iter().rev() {
            program.look_at(op, &reads);
            program.look_at_operands(op, &reads, &mut all_round);
        }
        if rules.contains(Rule::MatmulFusion) {
            products::join(&mut program, &walk, &reads);
        }
        for (value, reads) in reads.iter().enumerate() {
            program.narrow[value] = all_round[value] && reads.count > 0;
        }
        program
    }

    /// Returns the reads of all values. The users of a reshape count as users of its operand. A pad counts as many reads of its operand as
    /// there are reads of its result.
    fn reads(&self, walk: &[OpId]) -> Vec<Reads> {
        let module = self.module;
        let mut reads = vec![Reads::default(); module.values.len()];
        for &op in walk.iter().rev() {
            let data = &module.ops[op];
            let by = match (&data.kind, data.results.first()) {
                (OpKind::Reshape, Some(reshaped)) => reads[reshaped.index()],
                (OpKind::Pad(_), Some(moved)) => Reads { count: reads[moved.index()].count, last: Some(op) },
                _ => Reads { count: 1, last: Some(op) },
            };
            for &operand in &data.operands {
                let of = &mut reads[operand.index()];
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
        // For each sum of scatters, the result of its first scatter.
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

    /// The result of an element-wise operation has the layout of an operand whose rows are along the lanes.
    fn hand_on_rows(&mut self, op: OpId) {
        let data = &self.module.ops[op];
        let window = data.operands.iter().find_map(|v| self.in_rows.get(v)).cloned();
        if let Some(window) = window {
            self.in_rows.extend(data.results.iter().map(|&v| (v, window.clone())));
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
            // A reshape of a row-major layout is a bitcast; the others are constants and scalars.
            OpKind::Reshape | OpKind::Constant(_) | OpKind::ReplicaId | OpKind::PartitionId => true,
            OpKind::Transpose { .. } if self.machine.multiplies_alone() => true,
            _ if is_hard || self.is_strided(op) => false,
            kind if is_rearranged(kind) => true,
            // A widening conversion is recomputed by each user. The result of a narrowing conversion is kept, which frees the wide value.
            OpKind::Convert => {
                is_read_once
                    || matches!(data.operands.first().zip(data.results.first()), Some((&from, &to)) if self.weight(from) <= self.weight(to))
            }
            _ => self.is_elementwise(op) && is_read_once,
        };
    }

    /// Records whether the operands of an operation must be in memory, whether they may be rounded, and how many matmuls read them.
    fn look_at_operands(&mut self, op: OpId, reads: &[Reads], all_round: &mut [bool]) {
        let data = &self.module.ops[op];
        let of_result = |table: &[bool]| data.results.first().is_some_and(|v| table[v.index()]);
        let multiplies_alone = is_product(&data.kind) && self.machine.multiplies_alone();
        let fuses_nothing = fuses_nothing(&data.kind) || multiplies_alone || self.is_strided(op);
        // A reshape takes no memory, and neither does a transpose on a GPU, where matmuls read transposed operands in place. If the result
        // of such an operation must be in memory, so must the operand.
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
            // If a gather reads a converted table, only the rows that it reads are converted. If a gather reads elements of each row, as
            // `take_along_axis` does with logits, both the converted and the original logits are in memory.
            let table = data.operands[0];
            let is_converted = (spec.operand_batching_dims.is_empty() || self.looks_up_late(op))
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
            // The result of an operation that only moves elements is not written to memory for a barrier whose corresponding result is
            // dead, since the barrier then only orders operations.
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
