//! Builders of operations.

use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use crate::{
    DType, Dense, InferError, LocId, Module, OpId, OpKind, RegionId, Span, TypeId, ValueId, infer_types,
};

/// An insertion point for new operations: a [`Builder`] appends to a new region, a [`Rewriter`](crate::Rewriter) inserts at its current
/// position.
pub trait Build {
    /// The module in which operations are created.
    fn module(&mut self) -> &mut Module;

    /// The source location of new operations.
    fn origin(&self) -> (Span, PackedOption<LocId>);

    /// Inserts an operation that is not in a region yet.
    fn insert(&mut self, op: OpId);

    /// Inserts a new operation with given result types.
    fn op(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        result_types: &[TypeId],
        regions: &[RegionId],
    ) -> OpId {
        let (span, loc) = self.origin();
        let module = self.module();
        let id = module.add_op(kind, operands, result_types, regions);
        (module.ops[id].span, module.ops[id].loc) = (span, loc);
        self.insert(id);
        id
    }

    /// Inserts a new operation with one result of the given type.
    fn op1(&mut self, kind: OpKind, operands: &[ValueId], ty: TypeId) -> ValueId {
        let op = self.op(kind, operands, &[ty], &[]);
        self.module().ops[op].results[0]
    }

    /// Inserts a new operation without regions, and infers the type of its only result from its operands.
    ///
    /// # Errors
    /// Returns an error if the operands do not fit the operation.
    fn infer1(&mut self, kind: OpKind, operands: &[ValueId]) -> Result<ValueId, InferError> {
        let types: SmallVec<[TypeId; 2]> = infer_types(self.module(), &kind, operands, &[])?;
        let op = self.op(kind, operands, &types, &[]);
        Ok(self.module().ops[op].results[0])
    }

    /// Inserts a constant whose elements are all the same.
    fn splat(&mut self, bytes: &[u8], shape: &[i64], dtype: DType) -> ValueId {
        let ty = self.module().types.tensor(shape, dtype);
        self.op1(OpKind::Constant(Dense::splat(bytes)), &[], ty)
    }

    /// Inserts a return of these values, the terminator of a region.
    fn ret(&mut self, values: &[ValueId]) -> OpId {
        self.op(OpKind::Return, values, &[], &[])
    }
}

/// Collects operations for a new region. [`Builder::at`] sets their source location.
#[derive(Debug)]
pub struct Builder<'m> {
    /// The module in which operations are created.
    pub module: &'m mut Module,
    /// The new operations that are not in a region yet, in order.
    ops: Vec<OpId>,
    span: Span,
    loc: PackedOption<LocId>,
}

impl<'m> Builder<'m> {
    /// A builder whose operations are collected until [`Builder::finish`] or [`Builder::take`].
    pub fn new(module: &'m mut Module) -> Self {
        Builder { module, ops: Vec::new(), span: Span::NONE, loc: PackedOption::default() }
    }

    /// Sets the location of new operations to that of `op`.
    pub fn from_op(&mut self, op: OpId) {
        self.span = self.module.ops[op].span;
        self.loc = self.module.ops[op].loc;
    }

    /// Sets the location of new operations.
    pub fn at(&mut self, span: Span, loc: PackedOption<LocId>) {
        self.span = span;
        self.loc = loc;
    }

    /// Moves the newly built operations into `region`, replacing its previous operations.
    pub fn finish(&mut self, region: RegionId) {
        let ops = self.take();
        self.module.set_ops(region, ops);
    }

    /// Returns the new operations, in order.
    pub fn take(&mut self) -> Vec<OpId> {
        std::mem::take(&mut self.ops)
    }
}

impl Build for Builder<'_> {
    fn module(&mut self) -> &mut Module {
        self.module
    }

    fn origin(&self) -> (Span, PackedOption<LocId>) {
        (self.span, self.loc)
    }

    fn insert(&mut self, op: OpId) {
        self.ops.push(op);
    }
}
