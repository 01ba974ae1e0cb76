//! Scan expansion: expands `chlo.scan` to a `while`.
//!
//! The loop carries a counter, the inputs, the outputs so far, and the scan's carries. Each iteration takes a slice of each input, runs
//! the scan's body, and writes a slice of each output.
//!
//! ```mlir
//! %0:2 = chlo.scan(%x) inits(%init) dimension=1 { ... } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
//! // becomes
//! %0:4 = stablehlo.while(%i = %zero, %in = %x, %out = %blank, %carry = %init) ...    // results 2 and 3 replace the scan's
//! ```

use shardc_ir::{
    BinaryOp, Build, CompareDirection, CompareType, DType, OpId, OpKind, Rewriter, ScanSpec, SizeList,
    TensorBuild, TypeId, ValueId,
};
use smallvec::SmallVec;

use super::copy_with;

/// Inserts the loop and returns the values that replace the scan's results; `None` if the scan is not expanded.
pub(super) fn as_loop(rw: &mut Rewriter<'_>, op: OpId, spec: &ScanSpec) -> Option<SmallVec<[ValueId; 3]>> {
    let module = &*rw.module;
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

    let zero = rw.splat(&0i32.to_le_bytes(), &[], DType::I32);
    let mut start: Vec<ValueId> = vec![zero];
    start.extend(&operands[..inputs]);
    for &result in &results[..outputs] {
        let dtype = rw.module.tensor(result)?.dtype;
        let shape = rw.module.shape(result).to_vec();
        // The initial contents are irrelevant: the loop writes each slice once.
        let blank = rw.zeros(&shape, dtype);
        debug_assert_eq!(rw.module.values[blank].ty, rw.module.values[result].ty);
        start.push(blank);
    }
    start.extend(&operands[inputs..]);

    let types: Vec<TypeId> = start.iter().map(|&v| rw.module.values[v].ty).collect();
    let condition = rw.module.add_region(&types);
    let counter = rw.module.regions[condition].args[0];
    rw.enter(condition);
    let end = rw.splat(&length.to_le_bytes(), &[], DType::I32);
    let compare = OpKind::Compare(CompareDirection::LT, Some(CompareType::Signed));
    let goes_on = rw.tensor(compare, &[counter, end], &[], DType::I1);
    rw.ret(&[goes_on]);
    rw.leave();

    let body = rw.module.add_region(&types);
    let held = rw.module.regions[body].args.clone();
    rw.enter(body);
    let mut step = ScanStep { rw, dim };
    let at = if spec.reverse == Some(true) {
        let last = step.scalar(length - 1);
        step.rw.binary(BinaryOp::Subtract, last, held[0])
    } else {
        held[0]
    };
    let mut args: SmallVec<[ValueId; 6]> = SmallVec::new();
    for &input in &held[1..=inputs] {
        args.push(step.slice(input, at)?);
    }
    args.extend(held[1 + inputs + outputs..].iter().copied());
    let returned = copy_with(step.rw, steps, &args);
    let one = step.scalar(1);
    let mut next = vec![step.rw.binary(BinaryOp::Add, held[0], one)];
    next.extend(&held[1..=inputs]);
    for (&known, &slice) in held[1 + inputs..].iter().zip(&returned[..outputs]) {
        next.push(step.put(known, slice, at)?);
    }
    next.extend(&returned[outputs..]);
    rw.ret(&next);
    rw.leave();

    let loop_op = rw.op(OpKind::While, &start, &types, &[condition, body]);
    let module = &mut *rw.module;
    let values = SmallVec::from_slice(&module.ops[loop_op].results[1 + inputs..]);
    for (&old, &new) in results.iter().zip(&values) {
        let sharding = module.shardings.of(old);
        module.shardings.set(new, sharding);
    }
    Some(values)
}

/// The loop body under construction.
struct ScanStep<'a, 'm> {
    rw: &'a mut Rewriter<'m>,
    /// The dimension along which the scan slices its inputs.
    dim: usize,
}

impl ScanStep<'_, '_> {
    fn scalar(&mut self, value: i32) -> ValueId {
        self.rw.splat(&value.to_le_bytes(), &[], DType::I32)
    }

    /// Returns the start indices of a slice, one per dimension: `at` along the scanned dimension, and zero elsewhere.
    fn starts(&mut self, rank: usize, at: ValueId) -> SmallVec<[ValueId; 6]> {
        let zero = self.scalar(0);
        (0..rank).map(|d| if d == self.dim { at } else { zero }).collect()
    }

    /// Emits slice `at` of a value along the scanned dimension, and drops that dimension.
    fn slice(&mut self, value: ValueId, at: ValueId) -> Option<ValueId> {
        let dtype = self.rw.module.tensor(value)?.dtype;
        let mut sizes = SizeList::from_slice(self.rw.module.shape(value));
        *sizes.get_mut(self.dim)? = 1;
        let mut operands = vec![value];
        operands.extend(self.starts(sizes.len(), at));
        let kind = OpKind::DynamicSlice { sizes: sizes.clone() };
        let slice = self.rw.tensor(kind, &operands, &sizes, dtype);
        sizes.remove(self.dim);
        Some(self.rw.tensor(OpKind::Reshape, &[slice], &sizes, dtype))
    }

    /// Returns `value` with slice `at` along the scanned dimension replaced by `slice`.
    fn put(&mut self, value: ValueId, slice: ValueId, at: ValueId) -> Option<ValueId> {
        let ty = self.rw.module.values[value].ty;
        let dtype = self.rw.module.tensor(value)?.dtype;
        let mut sizes = SizeList::from_slice(self.rw.module.shape(value));
        *sizes.get_mut(self.dim)? = 1;
        let slice = self.rw.tensor(OpKind::Reshape, &[slice], &sizes, dtype);
        let mut operands = vec![value, slice];
        operands.extend(self.starts(sizes.len(), at));
        Some(self.rw.op1(OpKind::DynamicUpdateSlice, &operands, ty))
    }
}
