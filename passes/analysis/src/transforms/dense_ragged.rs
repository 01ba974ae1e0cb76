//! Ragged dot expansion: expands `chlo.ragged_dot` to a masked `dot_general`.
//!
//! XLA's CPU client has no `ragged_dot`. The left operand gets a leading group dimension, in which a mask keeps the rows of each group and
//! sets the others to zero. If the right operand has a group dimension, the group dimension is contracted. If the ragged dimension is
//! contracting, the group dimension is a batching dimension. If the ragged dimension is batching, the masked operand is first summed over
//! the groups. Each group costs as much as a matmul of all rows, as in JAX on CPU.
//!
//! Conditions: static shapes, one ragged dimension of the left operand, and one list of group sizes.
//!
//! ```mlir
//! %0 = "chlo.ragged_dot"(%x, %w, %sizes) ... : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi32>) -> tensor<11x7xf32>
//! ```
//! becomes
//! ```mlir
//! %rows = stablehlo.select %mask, %x3, %zeros : tensor<3x11x5xi1>, tensor<3x11x5xf32>     // %x3: %x, broadcast to all groups
//! %0 = stablehlo.dot_general %rows, %w, contracting_dims = [0, 2] x [0, 1] : (tensor<3x11x5xf32>, tensor<3x5x7xf32>) -> tensor<11x7xf32>
//! ```

use shardc_ir::{
    BinaryOp, CompareDirection, CompareType, DType, DimList, DotSpec, Module, OpId, OpKind, RaggedDotSpec,
    Rewriter, TensorBuild, ValueId,
};

/// Replaces every `ragged_dot` that meets the conditions.
pub(super) fn write_dense(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut |rw, op| {
            if let OpKind::RaggedDot(spec) = rw.module.ops[op].kind.clone()
                && let Some(made) = dense(rw, op, &spec)
            {
                rw.replace(&[made]);
            }
        });
    }
}

/// Inserts the dense form of `op` and returns its result; `None` if `op` does not meet the conditions.
fn dense(rw: &mut Rewriter<'_>, op: OpId, spec: &RaggedDotSpec) -> Option<ValueId> {
    let data = &rw.module.ops[op];
    let (&[lhs, rhs, sizes], &[result]) = (data.operands.as_slice(), data.results.as_slice()) else {
        return None;
    };
    let (&[ragged], &[groups]) = (spec.lhs_ragged.as_slice(), rw.module.shape(sizes)) else { return None };
    let is_static = |v: ValueId| rw.module.tensor(v).is_some_and(|ty| ty.is_static());
    if ![lhs, rhs, sizes].into_iter().all(is_static) {
        return None;
    }
    let rows = *rw.module.shape(lhs).get(ragged as usize)?;
    let mask = rows_of_groups(rw, sizes, groups, rows)?;

    let of_lhs: Vec<i64> = std::iter::once(groups).chain(rw.module.shape(lhs).iter().copied()).collect();
    let dtype = rw.dtype(lhs)?;
    let all = |rank: usize| (1..=rank as u32).collect::<DimList>();
    let lhs = rw.spread(lhs, all(of_lhs.len() - 1), &of_lhs)?;
    let mask = {
        let dims = DimList::from_slice(&[0, ragged + 1]);
        rw.tensor(OpKind::BroadcastInDim { dims }, &[mask], &of_lhs, DType::I1)
    };
    let zeros = rw.zeros(&of_lhs, dtype);
    let lhs = rw.tensor(OpKind::Select, &[mask, lhs, zeros], &of_lhs, dtype);

    let after = |dims: &DimList| dims.iter().map(|d| d + 1).collect::<DimList>();
    let mut product = DotSpec {
        lhs_batch: after(&spec.lhs_batch),
        lhs_contract: after(&spec.lhs_contract),
        rhs_batch: spec.rhs_batch.clone(),
        rhs_contract: spec.rhs_contract.clone(),
        precision: spec.precision.clone(),
        algorithm: None,
    };
    let (lhs, rhs) = if let &[group] = spec.rhs_group.as_slice() {
        product.lhs_contract.insert(0, 0);
        product.rhs_contract.insert(0, group);
        (lhs, rhs)
    } else if spec.lhs_contract.contains(&ragged) {
        let of_rhs: Vec<i64> = std::iter::once(groups).chain(rw.module.shape(rhs).iter().copied()).collect();
        product.lhs_batch.insert(0, 0);
        product.rhs_batch = std::iter::once(0).chain(after(&spec.rhs_batch)).collect();
        product.rhs_contract = after(&spec.rhs_contract);
        (lhs, rw.spread(rhs, all(of_rhs.len() - 1), &of_rhs)?)
    } else {
        // The ragged dimension is a batching dimension: each row is in at most one group, so the sum over groups is the masked operand.
        let lhs = rw.sum(lhs, DimList::from_slice(&[0]))?;
        product.lhs_batch = spec.lhs_batch.clone();
        product.lhs_contract = spec.lhs_contract.clone();
        (lhs, rhs)
    };
    Some(rw.alike_to(OpKind::DotGeneral(Box::new(product)), &[lhs, rhs], result))
}

/// Returns a mask `[groups, rows]` of `i1` that is true if row `r` is in group `g`. Each group consists of consecutive rows.
fn rows_of_groups(rw: &mut Rewriter<'_>, sizes: ValueId, groups: i64, rows: i64) -> Option<ValueId> {
    let dtype = rw.dtype(sizes)?;
    let signed = OpKind::Compare(CompareDirection::LT, CompareType::of_integers(dtype));
    let square = [groups, groups];
    let [group, before] = [0, 1].map(|dim| rw.tensor(OpKind::Iota { dim }, &[], &square, dtype));
    let is_before = rw.tensor(signed.clone(), &[before, group], &square, DType::I1);
    let of_others = rw.spread(sizes, DimList::from_slice(&[1]), &square)?;
    let zeros = rw.zeros(&square, dtype);
    let of_earlier = rw.tensor(OpKind::Select, &[is_before, of_others, zeros], &square, dtype);
    let first = rw.sum(of_earlier, DimList::from_slice(&[1]))?;
    let end = rw.binary(BinaryOp::Add, first, sizes);
    let shape = [groups, rows];
    let [first, end] = [first, end].map(|v| rw.spread(v, DimList::from_slice(&[0]), &shape));
    let row = rw.tensor(OpKind::Iota { dim: 1 }, &[], &shape, dtype);
    let before_first = rw.tensor(signed.clone(), &[row, first?], &shape, DType::I1);
    let before_end = rw.tensor(signed, &[row, end?], &shape, DType::I1);
    // `row < first` implies `row < end`, so exclusive or is `first <= row < end`.
    Some(rw.tensor(OpKind::Binary(BinaryOp::Xor), &[before_first, before_end], &shape, DType::I1))
}
