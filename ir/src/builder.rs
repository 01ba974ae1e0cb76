//! Appends operations to a region.

use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use crate::{
    DType, Dense, InferError, LocId, Module, OpId, OpKind, RegionId, Span, TypeId, ValueId, infer_types,
};

/// Appends operations to the end of one region. New operations take the place in the source that
/// [`Builder::at`] gave.
#[derive(Debug)]
pub struct Builder<'m> {
    /// The module that grows.
    pub module: &'m mut Module,
    /// The operations made so far and not yet in a region, in order.
    pub ops: Vec<OpId>,
    span: Span,
    loc: PackedOption<LocId>,
}

impl<'m> Builder<'m> {
    /// A builder whose operations are collected in [`Builder::ops`], for the caller to place.
    pub fn new(module: &'m mut Module) -> Self {
        Builder { module, ops: Vec::new(), span: Span::NONE, loc: PackedOption::default() }
    }

    /// New operations come from the place that `op` comes from.
    pub fn from_op(&mut self, op: OpId) {
        self.span = self.module.ops[op].span;
        self.loc = self.module.ops[op].loc;
    }

    /// New operations come from this place.
    pub fn at(&mut self, span: Span, loc: PackedOption<LocId>) {
        self.span = span;
        self.loc = loc;
    }

    /// Appends an operation with given result types.
    pub fn op(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        result_types: &[TypeId],
        regions: &[RegionId],
    ) -> OpId {
        let id = self.module.add_op(kind, operands, result_types, regions);
        self.module.ops[id].span = self.span;
        self.module.ops[id].loc = self.loc;
        self.ops.push(id);
        id
    }

    /// Appends an operation with one result of the given type.
    pub fn op1(&mut self, kind: OpKind, operands: &[ValueId], ty: TypeId) -> ValueId {
        let op = self.op(kind, operands, &[ty], &[]);
        self.module.ops[op].results[0]
    }

    /// Appends an operation without regions whose one result type follows from its operands.
    ///
    /// # Errors
    /// The operands do not fit the operation.
    pub fn infer1(&mut self, kind: OpKind, operands: &[ValueId]) -> Result<ValueId, InferError> {
        let types: SmallVec<[TypeId; 2]> = infer_types(self.module, &kind, operands, &[])?;
        let op = self.op(kind, operands, &types, &[]);
        Ok(self.module.ops[op].results[0])
    }

    /// Appends a constant whose elements are all the same.
    pub fn splat(&mut self, bytes: &[u8], shape: &[i64], dtype: DType) -> ValueId {
        let ty = self.module.types.tensor(shape, dtype);
        self.op1(OpKind::Constant(Dense::splat(bytes)), &[], ty)
    }

    /// Appends the terminator.
    pub fn ret(&mut self, values: &[ValueId]) -> OpId {
        self.op(OpKind::Return, values, &[], &[])
    }

    /// Hands over the operations made so far, in order.
    pub fn take(&mut self) -> Vec<OpId> {
        std::mem::take(&mut self.ops)
    }
}
