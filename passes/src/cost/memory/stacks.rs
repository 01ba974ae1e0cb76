//! Stacks of layers whose rows a loop does not read as they lie.
//!
//! A TPU tiles the last two dimensions of a tensor. Of a product, the matrix is to have its rows in one of them and its columns in the
//! other. A weight such as `[features, heads, size]`, which is contracted over its features, has two dimensions of columns there: the
//! TPU compiler makes a copy of it in another layout. Of a stack of such weights that loops take rows of, that is a copy of the whole
//! stack, made once before the loops.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Module, OpId, OpKind, RegionId, ValueId};

use super::machine::{LANES, SUBLANES};
use crate::analysis::carried::arguments_in_loops;

/// Arguments of a function of which loops read rows by products that need another layout.
pub(super) fn relaid(module: &Module, body: RegionId) -> FxHashSet<ValueId> {
    let mut relaid = FxHashSet::default();
    let is = arguments_in_loops(module, body, |kind| matches!(kind, OpKind::OptimizationBarrier));
    // The argument that a value is a row of.
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
            OpKind::DotGeneral(_) => {
                let args = read_across(module, op).filter_map(|operand| row_of.get(&operand).copied());
                relaid.extend(args.filter(|&arg| lies_row_by_row(module.shape(arg))));
            }
            _ => {}
        }
    }
    relaid
}

/// Whether the last two dimensions of an argument are whole tiles: others lie as pads them least, with rows or columns along the lanes.
fn lies_row_by_row(shape: &[i64]) -> bool {
    matches!(shape, [.., rows, last] if rows % SUBLANES as i64 == 0 && last % LANES as i64 == 0)
}

/// The operands of an operation that it does not multiply as they lie, if it is a product.
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

/// Whether the last two of the dimensions of an operand are both rows or both columns of what is multiplied.
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

/// The sizes of dimensions that have more than one.
fn without_ones(shape: &[i64]) -> impl Iterator<Item = i64> {
    shape.iter().copied().filter(|&n| n != 1)
}
