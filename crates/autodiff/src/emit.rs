//! Builds operations, and appends them to a list.

use shardc_ir::{
    BinaryOp, Build, LocId, Module, OpId, PackedOption, Span, TensorBuild, TensorType, UnaryOp, ValueId,
};

/// Appends operations to a list that belongs to no region yet.
#[derive(Debug)]
pub(crate) struct Emit<'a> {
    module: &'a mut Module,
    ops: &'a mut Vec<OpId>,
    origin: (Span, PackedOption<LocId>),
}

impl<'a> Emit<'a> {
    /// Creates an emitter that appends to `ops`. New operations get the location of `like`.
    pub(crate) fn new(module: &'a mut Module, ops: &'a mut Vec<OpId>, like: OpId) -> Self {
        let origin = (module.ops[like].span, module.ops[like].loc);
        Emit { module, ops, origin }
    }
}

impl Build for Emit<'_> {
    fn module(&mut self) -> &mut Module {
        self.module
    }

    fn origin(&self) -> (Span, PackedOption<LocId>) {
        self.origin
    }

    fn insert(&mut self, op: OpId) {
        self.ops.push(op);
    }
}

/// Arithmetic on float and complex tensors.
pub(crate) trait Arithmetic: TensorBuild {
    fn mul(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.binary(BinaryOp::Multiply, a, b)
    }

    fn div(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.binary(BinaryOp::Divide, a, b)
    }

    fn add(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.binary(BinaryOp::Add, a, b)
    }

    fn sub(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.binary(BinaryOp::Subtract, a, b)
    }

    fn neg(&mut self, a: ValueId) -> ValueId {
        self.unary(UnaryOp::Negate, a)
    }

    /// A constant of the type of `value`, with all elements equal to `number`.
    fn number(&mut self, number: f64, value: ValueId) -> ValueId {
        // `full` returns `None` only if the element type cannot be encoded. Only floats and complex numbers have derivatives, and all of
        // these types that support arithmetic can be encoded.
        self.full(number, value).unwrap_or(value)
    }

    /// A tensor of zeros with the type of `value`.
    fn zeros_like(&mut self, value: ValueId) -> ValueId {
        let ty = self.type_of(value);
        self.zeros(&ty.shape, ty.dtype)
    }

    /// The type of a tensor.
    fn type_of(&mut self, value: ValueId) -> TensorType {
        self.module().tensor(value).cloned().unwrap_or_else(|| TensorType::new(&[], shardc_ir::DType::F32))
    }
}

impl<B: TensorBuild> Arithmetic for B {}
