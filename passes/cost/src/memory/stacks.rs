//! Stacked layer weights that the TPU compiler copies to another layout or type before a loop.
//!
//! A TPU tiles the last two dimensions of a tensor. A matmul needs the rows of a matrix in one of these two dimensions and its columns in
//! the other. For example, if a weight `[features, heads, size]` is contracted over its features, both of its last dimensions are column
//! dimensions. The TPU compiler then copies the weight to another layout. If loops take rows of a stack of such weights, the compiler
//! copies the whole stack once before the loops.
//!
//! Similarly, all-gathers of rows concatenate shards along a tiled dimension only if the shards are whole tiles. For example, a row
//! `[96, 12, 64]` (features, heads, size) has its features along the lanes, since tiles of heads and size would have the most padding. The
//! 96 features are not a whole tile. The stack of such rows is copied to a layout with features outermost before the loops, and heads and
//! size are padded in the copy.
//!
//! If loops convert all rows of a 32-bit stack to 16 bits, the compiler converts the whole stack once before the loops.
//!
//! Gathers in loops may read blocks of several dimensions from an argument, such as the frames of a batch. The argument is then copied to a
//! layout in which the indexed dimension is not tiled.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::carried::arguments_in_loops;
use shardc_analysis::analysis::tiles::{LANES, SUBLANES};
use shardc_ir::{Module, OpId, OpKind, RegionId, ValueId};

use super::kinds::moves_blocks;
use super::machine::Machine;
use super::rules::{Model, Rule};

/// The copies of stacks, and of rows of them.
#[derive(Default)]
pub(super) struct Copied {
    /// The arguments of a function that are copied to another layout or type before loops, with the bytes of each copy.
    pub(super) stacks: FxHashMap<ValueId, u64>,
    /// The all-gathered rows of stacks that are copied back to the layout that matmuls read.
    pub(super) rows: FxHashSet<ValueId>,
}

/// Returns the copies of stacks and rows in a function.
pub(super) fn copied(module: &Module, body: RegionId, model: Model) -> Copied {
    let Model { machine, rules, .. } = model;
    let is = arguments_in_loops(module, body, |kind| matches!(kind, OpKind::OptimizationBarrier));
    let stacks = Stacks { module, machine };
    let mut copied: FxHashMap<ValueId, u64> = FxHashMap::default();
    let mut rows = FxHashSet::default();
    if !rules.contains(Rule::StackLayouts) {
        return Copied { stacks: copied, rows };
    }
    let narrow = narrowed(module, body, &is);
    // Maps a value to the argument of which it is a row.
    let mut row_of: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    for op in module.walk(body) {
        let data = &module.ops[op];
        match &data.kind {
            OpKind::DynamicSlice { .. } => {
                if let Some((&arg, &row)) =
                    data.operands.first().and_then(|v| is.get(v)).zip(data.results.first())
                {
                    row_of.insert(row, arg);
                }
            }
            OpKind::Convert
            | OpKind::ReducePrecision { .. }
            | OpKind::AllGather { .. }
            | OpKind::OptimizationBarrier => {
                if let (OpKind::AllGather { dim, .. }, Some(part)) = (&data.kind, data.operands.first())
                    && let Some(&arg) = row_of.get(part)
                    && let Some(bytes) = stacks.bytes_gathered(arg, *part, *dim as usize)
                {
                    copied.insert(arg, bytes);
                    rows.extend(&data.results);
                }
                for (operand, &result) in data.operands.iter().zip(&data.results) {
                    hand_on(&mut row_of, operand, result);
                }
            }
            OpKind::Reshape => {
                if let (Some(operand), Some(&result)) = (data.operands.first(), data.results.first())
                    && without_ones(module.shape(*operand)).eq(without_ones(module.shape(result)))
                {
                    hand_on(&mut row_of, operand, result);
                }
            }
            OpKind::Gather(spec) if moves_blocks(module, op) => {
                if let (Some(&arg), &[dim]) =
                    (data.operands.first().and_then(|v| is.get(v)), &spec.start_index_map[..])
                    && let Some(bytes) =
                        module.stored(arg).and_then(|ty| machine.bytes_by_blocks(ty, dim as usize))
                {
                    copied.insert(arg, bytes);
                }
            }
            OpKind::DotGeneral(_) => {
                let args = read_across(module, op).filter_map(|operand| row_of.get(&operand).copied());
                for arg in args.filter(|&arg| lies_row_by_row(module.shape(arg))) {
                    copied.entry(arg).or_insert_with(|| stacks.bytes(arg));
                }
            }
            _ => {}
        }
    }
    for &arg in module.regions[body].args.iter().filter(|arg| narrow.contains(arg)) {
        let bytes = module.stored(arg).map_or(0, |ty| machine.bytes(ty, 16, None));
        copied.entry(arg).and_modify(|bytes| *bytes /= 2).or_insert(bytes);
    }
    Copied { stacks: copied, rows }
}

/// Returns the 32-bit stacks of which loops only read rows that they convert to 16 bits. XLA converts the whole stack before the loops
/// (`BFloat16Propagation`).
fn narrowed(module: &Module, body: RegionId, is: &FxHashMap<ValueId, ValueId>) -> FxHashSet<ValueId> {
    let bits = |v: ValueId| module.stored(v).map_or(0, |ty| ty.dtype.bits());
    let mut row_of: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let (mut narrow, mut wide) = (FxHashSet::default(), FxHashSet::default());
    for op in module.walk(body) {
        let data = &module.ops[op];
        for (at, operand) in data.operands.iter().enumerate() {
            if let (OpKind::DynamicSlice { .. }, 0, Some(&arg)) = (&data.kind, at, is.get(operand))
                && arg != *operand
            {
                row_of.insert(data.results[0], arg);
            }
            let Some(&arg) = row_of.get(operand) else { continue };
            match &data.kind {
                OpKind::Reshape | OpKind::OptimizationBarrier => {
                    row_of.extend(data.results.get(at).map(|&result| (result, arg)));
                }
                OpKind::Convert if bits(*operand) == 32 && bits(data.results[0]) == 16 => {
                    narrow.insert(arg);
                }
                _ => {
                    wide.insert(arg);
                }
            }
        }
    }
    narrow.retain(|arg| !wide.contains(arg));
    narrow
}

/// The stacks of a function.
struct Stacks<'m> {
    module: &'m Module,
    machine: Machine,
}

impl Stacks<'_> {
    /// Returns the bytes of a copy of an argument.
    fn bytes(&self, arg: ValueId) -> u64 {
        self.module.stored(arg).map_or(0, |ty| self.machine.bytes_of_argument(ty))
    }

    /// Returns the bytes of a copy of an argument whose rows are all-gathered along `dim`; `None` if its layout needs no copy.
    fn bytes_gathered(&self, arg: ValueId, row: ValueId, dim: usize) -> Option<u64> {
        let ty = self.module.stored(arg)?;
        let dim = (ty.shape.len() + dim).checked_sub(self.module.rank(row))?;
        self.machine.bytes_gathered(ty, ty.dtype.bits(), dim)
    }
}

/// Whether the last two dimensions of an argument are multiples of the tile, so that its layout is row-major. Otherwise it has the layout
/// with the least padding, with rows or columns along the lanes.
fn lies_row_by_row(shape: &[i64]) -> bool {
    matches!(shape, [.., rows, last] if rows % SUBLANES as i64 == 0 && last % LANES as i64 == 0)
}

/// Returns the operands of a matmul that the compiler must copy to another layout; none for other operations.
pub(super) fn read_across(module: &Module, op: OpId) -> impl Iterator<Item = ValueId> {
    let data = &module.ops[op];
    let sides = match &data.kind {
        OpKind::DotGeneral(spec) => {
            Some([(&spec.lhs_contract, &spec.lhs_batch), (&spec.rhs_contract, &spec.rhs_batch)])
        }
        _ => None,
    };
    let operands = data.operands.iter().zip(sides.into_iter().flatten());
    operands
        .filter(|&(&operand, (contracted, batch))| is_cut_across(module.rank(operand), contracted, batch))
        .map(|(&operand, _)| operand)
}

/// Whether the last two dimensions of a matmul operand are both contracting dimensions, or both neither contracting nor batch dimensions.
fn is_cut_across(rank: usize, contracted: &[u32], batch: &[u32]) -> bool {
    let Some(last) = rank.checked_sub(1).filter(|&last| last > 1) else { return false };
    let is_in = |dims: &[u32], dim: usize| dims.iter().any(|&d| d as usize == dim);
    let is_row = |dim| is_in(contracted, dim);
    !is_in(batch, last) && !is_in(batch, last - 1) && is_row(last) == is_row(last - 1)
}

fn hand_on(of: &mut FxHashMap<ValueId, ValueId>, operand: &ValueId, result: ValueId) {
    if let Some(&arg) = of.get(operand) {
        of.insert(result, arg);
    }
}

/// Returns the dimension sizes other than 1.
fn without_ones(shape: &[i64]) -> impl Iterator<Item = i64> {
    shape.iter().copied().filter(|&n| n != 1)
}
