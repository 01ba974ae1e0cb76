//! Operations that take the place of another.
//!
//! All are of static shapes and of elements that are numbers; whoever asks for one has made sure that it fits.

use shardc_ir::{
    BinaryOp, Builder, DType, Dense, DimList, Module, OpId, OpKind, ReductionKind, TypeId, UnaryOp, ValueId,
};

use crate::analysis::reducer::{encode, identity, reducer};

/// What stands for an operation while it is made.
pub(crate) struct Parts<'m> {
    builder: Builder<'m>,
}

impl<'m> Parts<'m> {
    /// All from the place that `op` comes from.
    pub(crate) fn new(module: &'m mut Module, op: OpId) -> Self {
        let mut builder = Builder::new(module);
        builder.from_op(op);
        Parts { builder }
    }

    /// Appends what was made.
    pub(crate) fn finish(mut self, out: &mut Vec<OpId>) {
        out.extend(self.builder.take());
    }

    pub(crate) fn module(&mut self) -> &mut Module {
        self.builder.module
    }

    pub(crate) fn shape(&self, value: ValueId) -> &[i64] {
        self.builder.module.shape(value)
    }

    /// `None` for what is no tensor of numbers.
    pub(crate) fn dtype(&self, value: ValueId) -> Option<DType> {
        self.builder.module.tensor(value).map(|ty| ty.dtype)
    }

    pub(crate) fn op(&mut self, kind: OpKind, operands: &[ValueId], shape: &[i64], dtype: DType) -> ValueId {
        let ty = self.builder.module.types.tensor(shape, dtype);
        self.of_type(kind, operands, ty)
    }

    pub(crate) fn of_type(&mut self, kind: OpKind, operands: &[ValueId], ty: TypeId) -> ValueId {
        self.builder.op1(kind, operands, ty)
    }

    /// An operation without regions and with results of these types.
    pub(crate) fn with_results(&mut self, kind: OpKind, operands: &[ValueId], types: &[TypeId]) -> OpId {
        self.builder.op(kind, operands, types, &[])
    }

    /// An operation whose result is like its first operand.
    fn alike(&mut self, kind: OpKind, operands: &[ValueId]) -> ValueId {
        let ty = self.builder.module.values[operands[0]].ty;
        self.of_type(kind, operands, ty)
    }

    pub(crate) fn unary(&mut self, op: UnaryOp, value: ValueId) -> ValueId {
        self.alike(OpKind::Unary(op), &[value])
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> ValueId {
        self.alike(OpKind::Binary(op), &[a, b])
    }

    /// `value` with elements of type `dtype`.
    pub(crate) fn convert(&mut self, value: ValueId, dtype: DType) -> ValueId {
        if self.dtype(value) == Some(dtype) {
            return value;
        }
        let shape = self.shape(value).to_vec();
        self.op(OpKind::Convert, &[value], &shape, dtype)
    }

    /// A constant of equal elements, like `value`.
    pub(crate) fn full(&mut self, number: f64, value: ValueId) -> Option<ValueId> {
        let (shape, dtype) = (self.shape(value).to_vec(), self.dtype(value)?);
        Some(self.builder.splat(&encode(dtype, number)?, &shape, dtype))
    }

    /// A constant of elements with these bytes.
    pub(crate) fn splat(&mut self, bytes: &[u8], shape: &[i64], dtype: DType) -> ValueId {
        self.builder.splat(bytes, shape, dtype)
    }

    /// A constant with these bytes, element after element.
    pub(crate) fn elements(&mut self, bytes: Vec<u8>, shape: &[i64], dtype: DType) -> ValueId {
        self.op(OpKind::Constant(Dense::compact(dtype.bytes(), bytes)), &[], shape, dtype)
    }

    /// A constant of zeros.
    pub(crate) fn zeros(&mut self, shape: &[i64], dtype: DType) -> ValueId {
        self.builder.splat(&vec![0; dtype.bytes()], shape, dtype)
    }

    /// `value`, whose dimensions are `dims` of the result, in shape `shape`.
    pub(crate) fn spread(&mut self, value: ValueId, dims: DimList, shape: &[i64]) -> Option<ValueId> {
        let dtype = self.dtype(value)?;
        Some(self.op(OpKind::BroadcastInDim { dims }, &[value], shape, dtype))
    }

    /// Sums along dimensions.
    pub(crate) fn sum(&mut self, value: ValueId, dims: DimList) -> Option<ValueId> {
        let dtype = self.dtype(value)?;
        let kept = self.shape(value).iter().enumerate().filter(|(d, _)| !dims.contains(&(*d as u32)));
        let kept: Vec<i64> = kept.map(|(_, &n)| n).collect();
        let zero = self.builder.splat(&identity(ReductionKind::Add, dtype)?, &[], dtype);
        let region = reducer(self.builder.module, ReductionKind::Add, dtype);
        let ty = self.builder.module.types.tensor(&kept, dtype);
        let op = self.builder.op(OpKind::Reduce { dims }, &[value, zero], &[ty], &[region]);
        self.builder.module.ops[op].results.first().copied()
    }
}
