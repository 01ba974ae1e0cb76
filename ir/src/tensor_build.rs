//! Building blocks for tensor arithmetic in passes that replace operations.
//!
//! Operands must have static shapes and numeric elements; the caller checks that the operation accepts their types.

use crate::reducer::{encode, identity, reducer};
use crate::{
    BinaryOp, Build, DType, Dense, DimList, OpKind, ReductionKind, SliceSpec, TypeId, UnaryOp, ValueId,
};

/// Inserts operations whose result types follow from their operands or from a shape.
pub trait TensorBuild: Build {
    /// Returns the element type of a numeric tensor; `None` for other values.
    fn dtype(&mut self, value: ValueId) -> Option<DType> {
        self.module().tensor(value).map(|ty| ty.dtype)
    }

    /// Inserts an operation with one result that has this shape and element type.
    fn tensor(&mut self, kind: OpKind, operands: &[ValueId], shape: &[i64], dtype: DType) -> ValueId {
        let ty = self.module().types.tensor(shape, dtype);
        self.op1(kind, operands, ty)
    }

    /// Inserts an operation with one result that has the type of the first operand.
    fn alike(&mut self, kind: OpKind, operands: &[ValueId]) -> ValueId {
        let ty = self.module().values[operands[0]].ty;
        self.op1(kind, operands, ty)
    }

    /// Inserts an operation with one result that has the type of `like`.
    fn alike_to(&mut self, kind: OpKind, operands: &[ValueId], like: ValueId) -> ValueId {
        let ty = self.module().values[like].ty;
        self.op1(kind, operands, ty)
    }

    /// Returns the type of `value` with the size `size` in dimension `dim`. If `value` is not a numeric tensor, its type is returned
    /// unchanged.
    fn type_with_size(&mut self, value: ValueId, dim: usize, size: i64) -> TypeId {
        let module = self.module();
        let ty = module.values[value].ty;
        let Some(tensor) = module.tensor(value) else { return ty };
        let (mut shape, dtype) = (tensor.shape.clone(), tensor.dtype);
        if let Some(old) = shape.get_mut(dim) {
            *old = size;
        }
        module.types.tensor(&shape, dtype)
    }

    /// Inserts a slice along one dimension.
    fn range(&mut self, value: ValueId, dim: usize, start: i64, limit: i64) -> ValueId {
        let spec = SliceSpec::range(self.module().shape(value), dim, start, limit);
        let ty = self.type_with_size(value, dim, limit - start);
        self.op1(OpKind::Slice(Box::new(spec)), &[value], ty)
    }

    /// Inserts an element-wise operation on one tensor.
    fn unary(&mut self, op: UnaryOp, value: ValueId) -> ValueId {
        self.alike(OpKind::Unary(op), &[value])
    }

    /// Inserts an element-wise operation on two tensors.
    fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> ValueId {
        self.alike(OpKind::Binary(op), &[a, b])
    }

    /// Inserts a conversion of `value` to elements of type `dtype`.
    fn convert(&mut self, value: ValueId, dtype: DType) -> ValueId {
        if self.dtype(value) == Some(dtype) {
            return value;
        }
        let shape = self.module().shape(value).to_vec();
        self.tensor(OpKind::Convert, &[value], &shape, dtype)
    }

    /// Inserts a splat constant with the type of `value`.
    fn full(&mut self, number: f64, value: ValueId) -> Option<ValueId> {
        let (shape, dtype) = (self.module().shape(value).to_vec(), self.dtype(value)?);
        Some(self.splat(&encode(dtype, number)?, &shape, dtype))
    }

    /// Inserts a constant whose elements have these bytes, one element after the other.
    fn elements(&mut self, bytes: Vec<u8>, shape: &[i64], dtype: DType) -> ValueId {
        self.tensor(OpKind::Constant(Dense::compact(dtype.bytes(), bytes)), &[], shape, dtype)
    }

    /// Inserts a constant whose elements are all zero.
    fn zeros(&mut self, shape: &[i64], dtype: DType) -> ValueId {
        self.splat(&vec![0; dtype.bytes()], shape, dtype)
    }

    /// Inserts a broadcast of `value` to `shape`: dimension `i` of `value` becomes dimension `dims[i]` of the result.
    fn spread(&mut self, value: ValueId, dims: DimList, shape: &[i64]) -> Option<ValueId> {
        let dtype = self.dtype(value)?;
        Some(self.tensor(OpKind::BroadcastInDim { dims }, &[value], shape, dtype))
    }

    /// Inserts a sum over the dimensions `dims`.
    fn sum(&mut self, value: ValueId, dims: DimList) -> Option<ValueId> {
        self.reduced(ReductionKind::Add, value, dims)
    }

    /// Inserts a reduction over the dimensions `dims`; `None` if the element type has no identity.
    fn reduced(&mut self, kind: ReductionKind, value: ValueId, dims: DimList) -> Option<ValueId> {
        let dtype = self.dtype(value)?;
        let shape = self.module().shape(value).iter().enumerate();
        let kept: Vec<i64> = shape.filter(|(d, _)| !dims.contains(&(*d as u32))).map(|(_, &n)| n).collect();
        let first = self.splat(&identity(kind, dtype)?, &[], dtype);
        let region = reducer(self.module(), kind, dtype);
        let ty = self.module().types.tensor(&kept, dtype);
        let op = self.op(OpKind::Reduce { dims }, &[value, first], &[ty], &[region]);
        self.module().ops[op].results.first().copied()
    }
}

impl<B: Build> TensorBuild for B {}
