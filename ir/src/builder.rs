//! Makes operations, one after the other.

use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use crate::{
    DType, Dense, InferError, LocId, Module, OpId, OpKind, RegionId, Span, TypeId, ValueId, infer_types,
};

/// What puts new operations somewhere: a [`Builder`] into a region that is made, a [`Rewriter`](crate::Rewriter) where it
/// stands.
pub trait Build {
    /// The module that grows.
    fn module(&mut self) -> &mut Module;

    /// Where new operations come from in the source.
    fn origin(&self) -> (Span, PackedOption<LocId>);

    /// Puts an operation in its place; no region lists it yet.
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

    /// Inserts a new operation without regions whose one result type follows from its operands.
    ///
    /// # Errors
    /// The operands do not fit the operation.
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

    /// Inserts a terminator.
    fn ret(&mut self, values: &[ValueId]) -> OpId {
        self.op(OpKind::Return, values, &[], &[])
    }
}

/// Appends operations to one region that is made. New operations take the place in the source that [`Builder::at`] gave.
#[derive(Debug)]
pub struct Builder<'m> {
    /// The module that grows.
    pub module: &'m mut Module,
    /// The operations made so far and not yet in a region, in order.
    ops: Vec<OpId>,
    span: Span,
    loc: PackedOption<LocId>,
}

impl<'m> Builder<'m> {
    /// A builder whose operations are collected until [`Builder::finish`] or [`Builder::take`].
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

    /// Makes the operations made so far those of `region`.
    pub fn finish(&mut self, region: RegionId) {
        let ops = self.take();
        self.module.set_ops(region, ops);
    }

    /// Hands over the operations made so far, in order.
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
