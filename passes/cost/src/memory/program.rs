//! Facts about a function that the estimate needs before it computes live ranges: how the compiler treats each operation.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::host_memory::moved_to_host;
use shardc_ir::{DType, EntityRef, Module, OpId, OpKind, RegionId, Shape, ValueId};

use smallvec::SmallVec;

use super::kinds::{is_from_nothing, moves_blocks, rows_of, window_of_table};
use super::machine::{Machine, TiledDims};
use super::rules::{Lean, Rule, RuleSet};
use super::stacks::Copied;

/// Properties of the operations and values of a function, by index.
pub(super) struct Program<'m> {
    pub(super) module: &'m Module,
    pub(super) machine: Machine,
    pub(super) rules: RuleSet,
    pub(super) lean: Lean,
    /// The region in which a value is defined.
    pub(super) home: Vec<Option<RegionId>>,
    /// Whether an operation computes each element from one position of its operands, or selects one element of a row.
    pub(super) elementwise: Vec<bool>,
    /// Whether an operation is fused into its users, regardless of their positions.
    pub(super) always: Vec<bool>,
    /// Whether a matmul is fused with its only user.
    pub(super) joins_reader: Vec<bool>,
    /// Whether a matmul is computed together with a reduction of its rows.
    pub(super) with_rows: Vec<bool>,
    /// Whether a value must be in memory, because a user cannot fuse its operands.
    pub(super) hard: Vec<bool>,
    /// Whether all users of a 32-bit value are matmuls, which round it to 16 bits. Only the rounded value is then stored.
    pub(super) narrow: Vec<bool>,
    /// The number of matmuls that read a value, directly or through a transpose.
    pub(super) multiplied: Vec<u32>,
    /// For each shape of an operand or result of a convolution, padded or not, the dimensions that are tiled.
    pub(super) convolved: FxHashMap<&'m Shape, TiledDims>,
    /// Rows that a gather reads, rows that a scatter adds to a table, and the results of such scatters, each with the dimensions of a row.
    pub(super) in_rows: FxHashMap<ValueId, SmallVec<[usize; 6]>>,
    /// Stacks that are copied before loops because the loops need another layout or type, and rows of them that are copied in loops.
    pub(super) copied: Copied,
    /// Results of loops that are aliased to arguments that the same loop reads. They are computed in the heap and copied.
    pub(super) beside_argument: FxHashSet<ValueId>,
    /// Results of scatters that are used only in a sum of scatters, each with the first scatter result of the same sum.
    pub(super) sums: FxHashMap<ValueId, ValueId>,
}

impl Program<'_> {
    /// Whether a rule is enabled.
    pub(super) fn applies(&self, rule: Rule) -> bool {
        self.rules.contains(rule)
    }

    /// Whether a rule for TPUs applies.
    pub(super) fn applies_on_tpu(&self, rule: Rule) -> bool {
        self.machine.is_tpu() && self.rules.contains(rule)
    }

    /// Returns the bytes of a value in memory.
    pub(super) fn size(&self, value: ValueId) -> u64 {
        let Some(ty) = self.module.stored(value) else { return 0 };
        if self.module.def_op(value).is_some_and(|op| moved_to_host(self.module, op).is_some()) {
            return 0;
        }
        let bits = if self.is_rounded(value) { 16 } else { ty.dtype.bits() };
        if let Some(window) = self.in_rows.get(&value) {
            return self.machine.bytes_in_rows(ty, bits, window);
        }
        self.machine.bytes(ty, bits, self.convolved.get(&ty.shape).copied())
    }

    /// Returns the bytes of the copy of a table from which a gather reads rows, or to which a scatter adds rows. Returns `None` if the
    /// table already has the required layout.
    pub(super) fn copied_into_rows(&self, op: OpId) -> Option<u64> {
        let table = *self.module.ops[op].operands.first()?;
        let is_row = self.padded_rows_of(op).is_some() && !moves_blocks(self.module, op);
        let ty = self.module.stored(table).filter(|_| is_row)?;
        let bytes = self.machine.bytes_in_rows(ty, ty.dtype.bits(), &window_of_table(self.module, op));
        (bytes > self.size(table)).then_some(bytes)
    }

    /// Returns the rows that a gather reads, or that a scatter adds to a table, if they are along the lanes.
    pub(super) fn padded_rows_of(&self, op: OpId) -> Option<ValueId> {
        let rows = rows_of(self.module, op).filter(|_| self.applies(Rule::RowTiles))?;
        let table = self.module.stored(*self.module.ops[op].operands.first()?)?;
        self.machine.puts_in_rows(table, &window_of_table(self.module, op)).then_some(rows)
    }

    /// If `op` scatters to zeros and its result is part of a sum of such tables, returns the first table of the sum. Each table is added as
    /// soon as it is computed, but the rows of all tables are computed before the first addition. The gradient of a table that several
    /// gathers read is such a sum.
    pub(super) fn added_to(&self, op: OpId) -> Option<ValueId> {
        let data = &self.module.ops[op];
        let (&made, &zeros) = (data.results.first()?, data.operands.first()?);
        if !matches!(data.kind, OpKind::Scatter(_)) || !self.is_made_by(zeros, is_from_nothing) {
            return None;
        }
        self.sums.get(&made).copied()
    }

    /// Whether an operation is a lookup of one element per row that runs asynchronously, beside other operations.
    pub(super) fn looks_up_late(&self, op: OpId) -> bool {
        matches!(&self.module.ops[op].kind, OpKind::Gather(spec) if !spec.operand_batching_dims.is_empty())
            && self.machine.looks_up_beside()
            && self.applies(Rule::LateLookups)
    }

    /// Returns the bytes of the linearized indices of a scatter whose index vectors have several components. A TPU computes these indices
    /// before the scatter.
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

    /// Whether a 32-bit value is stored with 16 bits.
    fn is_rounded(&self, value: ValueId) -> bool {
        let is_wide = self.module.stored(value).is_some_and(|ty| ty.dtype == DType::F32);
        self.applies_on_tpu(Rule::NarrowOperands) && is_wide && self.narrow[value.index()]
    }

    /// Returns the relative cost of reading or writing a value ([`Machine::traffic`]).
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

    pub(super) fn joins_reader(&self, op: OpId) -> bool {
        self.joins_reader[op.index()]
    }

    /// Whether users never recompute the result of an operation. The operation is then a matmul that is fused with its user, or a matmul
    /// that is computed together with a reduction of its rows and whose result stays in memory.
    pub(super) fn is_left_alone(&self, op: OpId) -> bool {
        self.joins_reader[op.index()] || self.with_rows[op.index()]
    }

    /// Whether a value is defined in the region of an operation.
    pub(super) fn is_in_region_of(&self, value: ValueId, op: OpId) -> bool {
        let of_op = self.module.ops[op].results.first().map(|v| self.home[v.index()]);
        of_op == Some(self.home[value.index()])
    }

    /// Records that the result `made` of an operation is in memory, so that the operation is not fused into its users.
    pub(super) fn put_in_memory(&mut self, op: OpId, made: ValueId) {
        self.always[op.index()] = false;
        self.hard[made.index()] = true;
    }

    /// Whether a result of the operation must be in memory.
    pub(super) fn is_hard(&self, op: OpId) -> bool {
        self.module.ops[op].results.iter().any(|v| self.hard[v.index()])
    }

    /// Returns the size in bytes of the copy that XLA makes of an argument that a `while` loop reads; `None` if there is no copy.
    pub(super) fn copied_for_loops(&self, value: ValueId) -> Option<u64> {
        self.copied.stacks.get(&value).copied()
    }

    /// Whether an operation is a strided slice or interior padding, as in `associative_scan`. On a TPU, neither is fused.
    pub(super) fn is_strided(&self, op: OpId) -> bool {
        let is_strided = match &self.module.ops[op].kind {
            OpKind::Pad(spec) => spec.interior.iter().any(|&n| n > 0),
            OpKind::Slice(spec) => spec.stride.iter().any(|&n| n > 1),
            _ => false,
        };
        is_strided && self.applies_on_tpu(Rule::StridedSlices)
    }

    pub(super) fn is_made_by(&self, value: ValueId, is_such: impl Fn(&OpKind) -> bool) -> bool {
        self.module.def_op(value).is_some_and(|def| is_such(&self.module.ops[def].kind))
    }
}

/// The uses of a value.
#[derive(Clone, Copy, Default)]
pub(super) struct Reads {
    /// The number of uses, in all regions.
    pub(super) count: u32,
    /// The last user.
    pub(super) last: Option<OpId>,
}
