//! `chlo.scan` as a `while`.
//!
//! The loop holds a counter, the inputs, the outputs as far as they are known, and what is carried along; in each step
//! it cuts a slice of each input, does what the scan does with slices, and puts a slice of each output where it belongs.

use shardc_ir::{
    BinaryOp, Builder, CompareDirection, CompareType, DType, Module, OpId, OpKind, ScanSpec, SizeList,
    TypeId, ValueId,
};
use smallvec::SmallVec;

use super::splice;

/// Appends the loop; returns what stands for the results of the scan. `None` where it has to stay a scan.
pub(super) fn as_loop(
    module: &mut Module,
    op: OpId,
    spec: &ScanSpec,
    out: &mut Vec<OpId>,
) -> Option<Vec<ValueId>> {
    let (inputs, outputs) = (spec.inputs as usize, spec.outputs as usize);
    let dim = spec.dim as usize;
    let data = &module.ops[op];
    let (operands, results) = (data.operands.clone(), data.results.clone());
    let &[steps] = data.regions.as_slice() else { return None };
    let plain = |&v: &ValueId| module.tensor(v).is_some_and(|t| t.is_static() && t.encoding.is_none());
    let returns = module.terminator(steps).map_or(0, |ret| module.ops[ret].operands.len());
    if operands.len() < inputs || results.len() < outputs || returns != results.len() {
        return None;
    }
    let mut walked = operands[..inputs].iter().chain(&results[..outputs]);
    let length = walked.clone().next().map_or(spec.dim_size, |&v| module.shape(v).get(dim).copied())?;
    let length = i32::try_from(length).ok()?;
    if !walked.all(|&v| dim < module.rank(v)) || !operands.iter().chain(&results).all(plain) {
        return None;
    }

    let mut b = Builder::new(module);
    b.from_op(op);
    let zero = b.splat(&0i32.to_le_bytes(), &[], DType::I32);
    let mut start: Vec<ValueId> = vec![zero];
    start.extend(&operands[..inputs]);
    for &result in &results[..outputs] {
        let ty = b.module.values[result].ty;
        let dtype = b.module.tensor(result)?.dtype;
        let shape = b.module.shape(result).to_vec();
        let blank = b.splat(&vec![0; dtype.bytes()], &shape, dtype);
        debug_assert_eq!(b.module.values[blank].ty, ty);
        start.push(blank);
    }
    start.extend(&operands[inputs..]);
    out.extend(b.take());

    let types: Vec<TypeId> = start.iter().map(|&v| module.values[v].ty).collect();
    let condition = module.add_region(&types);
    let counter = module.regions[condition].args[0];
    let mut b = Builder::new(module);
    b.from_op(op);
    let end = b.splat(&length.to_le_bytes(), &[], DType::I32);
    let bool_ty = b.module.types.tensor(&[], DType::I1);
    let compare = OpKind::Compare(CompareDirection::LT, Some(CompareType::Signed));
    let goes_on = b.op1(compare, &[counter, end], bool_ty);
    b.ret(&[goes_on]);
    module.regions[condition].ops = b.take();

    let body = module.add_region(&types);
    let held = module.regions[body].args.clone();
    let mut ops = Vec::new();
    let mut step = ScanStep { module, op, dim, ops: &mut ops };
    let i32_ty = step.module.types.tensor(&[], DType::I32);
    let at = if spec.reverse == Some(true) {
        let last = step.scalar(length - 1);
        step.op1(OpKind::Binary(BinaryOp::Subtract), &[last, held[0]], i32_ty)
    } else {
        held[0]
    };
    let mut args: SmallVec<[ValueId; 6]> = SmallVec::new();
    for &input in &held[1..=inputs] {
        args.push(step.slice(input, at)?);
    }
    args.extend(held[1 + inputs + outputs..].iter().copied());
    let returned = splice(step.module, steps, &args, step.ops);
    let one = step.scalar(1);
    let mut next = vec![step.op1(OpKind::Binary(BinaryOp::Add), &[held[0], one], i32_ty)];
    next.extend(&held[1..=inputs]);
    for (&known, &slice) in held[1 + inputs..].iter().zip(&returned[..outputs]) {
        next.push(step.put(known, slice, at)?);
    }
    next.extend(&returned[outputs..]);
    let mut b = Builder::new(module);
    b.from_op(op);
    b.ret(&next);
    ops.extend(b.take());
    module.regions[body].ops = ops;

    let mut b = Builder::new(module);
    b.from_op(op);
    let loop_op = b.op(OpKind::While, &start, &types, &[condition, body]);
    out.extend(b.take());
    let values = module.ops[loop_op].results[1 + inputs..].to_vec();
    for (&old, &new) in results.iter().zip(&values) {
        let sharding = module.shardings.of(old);
        module.shardings.set(new, sharding);
    }
    Some(values)
}

/// The body of the loop while it is made.
struct ScanStep<'a> {
    module: &'a mut Module,
    /// The scan.
    op: OpId,
    /// The dimension that it walks along.
    dim: usize,
    ops: &'a mut Vec<OpId>,
}

impl ScanStep<'_> {
    fn op1(&mut self, kind: OpKind, operands: &[ValueId], ty: TypeId) -> ValueId {
        let mut b = Builder::new(self.module);
        b.from_op(self.op);
        let value = b.op1(kind, operands, ty);
        self.ops.extend(b.take());
        value
    }

    fn scalar(&mut self, value: i32) -> ValueId {
        let mut b = Builder::new(self.module);
        b.from_op(self.op);
        let value = b.splat(&value.to_le_bytes(), &[], DType::I32);
        self.ops.extend(b.take());
        value
    }

    /// One start per dimension: `at` along the dimension of the scan.
    fn starts(&mut self, rank: usize, at: ValueId) -> SmallVec<[ValueId; 6]> {
        let zero = self.scalar(0);
        (0..rank).map(|d| if d == self.dim { at } else { zero }).collect()
    }

    /// Slice `at` of a value, without the dimension of the scan.
    fn slice(&mut self, value: ValueId, at: ValueId) -> Option<ValueId> {
        let dtype = self.module.tensor(value)?.dtype;
        let mut sizes = SizeList::from_slice(self.module.shape(value));
        *sizes.get_mut(self.dim)? = 1;
        let mut operands = vec![value];
        operands.extend(self.starts(sizes.len(), at));
        let ty = self.module.types.tensor(&sizes, dtype);
        let slice = self.op1(OpKind::DynamicSlice { sizes: sizes.clone() }, &operands, ty);
        sizes.remove(self.dim);
        let ty = self.module.types.tensor(&sizes, dtype);
        Some(self.op1(OpKind::Reshape, &[slice], ty))
    }

    /// `value` with slice `at` replaced.
    fn put(&mut self, value: ValueId, slice: ValueId, at: ValueId) -> Option<ValueId> {
        let ty = self.module.values[value].ty;
        let dtype = self.module.tensor(value)?.dtype;
        let mut sizes = SizeList::from_slice(self.module.shape(value));
        *sizes.get_mut(self.dim)? = 1;
        let slice_ty = self.module.types.tensor(&sizes, dtype);
        let slice = self.op1(OpKind::Reshape, &[slice], slice_ty);
        let mut operands = vec![value, slice];
        operands.extend(self.starts(sizes.len(), at));
        Some(self.op1(OpKind::DynamicUpdateSlice, &operands, ty))
    }
}
