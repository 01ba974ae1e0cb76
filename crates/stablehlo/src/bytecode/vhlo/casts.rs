//! Removes casts between types of VHLO and of other dialects.
//!
//! If an artifact mixes VHLO with operations of other dialects, `builtin.unrealized_conversion_cast`s connect them. Types of VHLO are
//! decoded to builtin and StableHLO types, so these casts have no effect: uses of their results become uses of their operands.

use rustc_hash::FxHashMap;

use crate::bytecode::attr::{BType, Piece, Store, TypeRef};
use crate::bytecode::ir::{Ir, OpRef};

const CAST: &str = "builtin.unrealized_conversion_cast";

/// The maximum nesting of compared types.
const MAX_DEPTH: u32 = 32;

/// The limit on the steps of all comparisons of types in a file.
const MAX_STEPS: usize = 1 << 24;

/// Removes every cast from a type to the same type.
pub(crate) fn drop_casts(ir: &mut Ir<'_>) {
    if !ir.ops.iter().any(|op| op.name == CAST) {
        return;
    }
    let types = value_types(ir);
    let mut compare = Compare { store: &ir.store, steps: MAX_STEPS };
    let mut same =
        |value: u32, ty: TypeRef| types.get(&value).is_some_and(|&other| compare.same(other, ty, 0));
    // Casts come after their operands, so that a chain of casts resolves to its first operand.
    let mut stands_for: FxHashMap<u32, u32> = FxHashMap::default();
    let mut dropped = vec![false; ir.ops.len()];
    for (op, dropped) in ir.ops.iter().zip(&mut dropped) {
        if op.name == CAST
            && op.operands.len() == op.results.len()
            && op.operands.iter().zip(&op.results).all(|(&value, &ty)| same(value, ty))
        {
            *dropped = true;
            for (result, &operand) in (op.first_value..).zip(&op.operands) {
                let source = stands_for.get(&operand).copied().unwrap_or(operand);
                stands_for.insert(result, source);
            }
        }
    }
    for operand in ir.ops.iter_mut().flat_map(|op| &mut op.operands) {
        if let Some(&source) = stands_for.get(operand) {
            *operand = source;
        }
    }
    let kept = |op: &OpRef| !dropped.get(op.0 as usize).copied().unwrap_or(false);
    for block in ir.regions.iter_mut().flat_map(|region| &mut region.blocks) {
        block.ops.retain(kept);
    }
}

fn value_types(ir: &Ir<'_>) -> FxHashMap<u32, TypeRef> {
    let args = ir
        .regions
        .iter()
        .flat_map(|region| &region.blocks)
        .flat_map(|block| (block.first_value..).zip(block.args.iter().map(|&(ty, _)| ty)));
    let results = ir.ops.iter().flat_map(|op| (op.first_value..).zip(op.results.iter().copied()));
    args.chain(results).collect()
}

/// Compares types structurally. Each comparison uses up `steps`; when none remain, types count as different.
struct Compare<'s, 'b> {
    store: &'s Store<'b>,
    steps: usize,
}

impl Compare<'_, '_> {
    fn spend(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_sub(steps);
        self.steps > 0
    }

    fn same(&mut self, a: TypeRef, b: TypeRef, depth: u32) -> bool {
        if a == b {
            return true;
        }
        if depth > MAX_DEPTH || !self.spend(1) {
            return false;
        }
        let depth = depth + 1;
        let store = self.store;
        match (store.ty(a), store.ty(b)) {
            (BType::Complex(a), BType::Complex(b)) | (BType::UnrankedTensor(a), BType::UnrankedTensor(b)) => {
                self.same(*a, *b, depth)
            }
            (BType::Tuple(a), BType::Tuple(b)) => self.all(a, b, depth),
            (BType::Function { inputs: a, results: x }, BType::Function { inputs: b, results: y }) => {
                self.all(a, b, depth) && self.all(x, y, depth)
            }
            (
                BType::Tensor { shape: a, element: x, encoding: e },
                BType::Tensor { shape: b, element: y, encoding: f },
            ) => {
                let encoding = match (e, f) {
                    (Some(e), Some(f)) => store.attr(*e) == store.attr(*f),
                    (None, None) => true,
                    _ => false,
                };
                encoding && self.spend(a.len()) && a == b && self.same(*x, *y, depth)
            }
            (BType::Pieces(a), BType::Pieces(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| match (a, b) {
                        (Piece::Type(a), Piece::Type(b)) => self.same(*a, *b, depth),
                        (a, b) => self.spend(1) && a == b,
                    })
            }
            (BType::MemRef { shape, element, space: None, .. }, BType::Pieces(pieces))
            | (BType::Pieces(pieces), BType::MemRef { shape, element, space: None, .. }) => {
                self.buffer(shape, *element, pieces, depth)
            }
            (a, b) => a == b,
        }
    }

    fn all(&mut self, a: &[TypeRef], b: &[TypeRef], depth: u32) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| self.same(a, b, depth))
    }

    /// Whether the buffer type whose text is `pieces` has the shape `shape` and the element type `element`.
    fn buffer(&mut self, shape: &[i64], element: TypeRef, pieces: &[Piece<'_>], depth: u32) -> bool {
        let [Piece::Text(head), Piece::Type(other), Piece::Text(_)] = pieces else { return false };
        self.spend(shape.len())
            && *head == super::types::buffer_head(shape)
            && self.same(element, *other, depth)
    }
}
