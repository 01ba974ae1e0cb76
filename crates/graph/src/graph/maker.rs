//! Creates operations in the innermost open region.

use std::panic::Location;

use shardc_ir::{
    Build, DType, LocId, Module, OpId, OpKind, PackedOption, RegionId, Span, TypeId, ValueId,
    check_result_types, infer_types,
};

use super::{KindResult, State, check_shape};
use crate::error::ErrorKind;

/// Appends operations to the innermost open region; their location is the calling line of the user's program.
pub(crate) struct Maker<'s> {
    pub(crate) state: &'s mut State,
    loc: LocId,
}

impl<'s> Maker<'s> {
    pub(crate) fn new(state: &'s mut State, at: &'static Location<'static>) -> Self {
        let loc = state.line(at);
        Maker { state, loc }
    }

    pub(crate) fn shape_of(&self, value: ValueId) -> Vec<i64> {
        self.state.module.shape(value).to_vec()
    }

    pub(crate) fn dtype_of(&self, value: ValueId) -> DType {
        // Every value with a handle is a tensor.
        self.state.module.tensor(value).map_or(DType::F32, |ty| ty.dtype)
    }

    /// Creates an operation with one result of this type, unchecked.
    pub(crate) fn typed(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        shape: &[i64],
        dtype: DType,
    ) -> KindResult<ValueId> {
        let ty = self.state.module.types.tensor(shape, dtype);
        Ok(self.op1(kind, operands, ty))
    }

    /// Creates an operation and infers its one result type.
    pub(crate) fn infer(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        regions: &[RegionId],
    ) -> KindResult<ValueId> {
        let name = kind.name().to_string();
        match self.infer_many(kind, operands, regions)?.as_slice() {
            &[value] => Ok(value),
            _ => Err(ErrorKind::Operands(format!("{name} must have exactly one result"))),
        }
    }

    /// Creates an operation and infers its result types.
    pub(crate) fn infer_many(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        regions: &[RegionId],
    ) -> KindResult<Vec<ValueId>> {
        let module = &mut self.state.module;
        let types = infer_types(module, &kind, operands, regions)
            .map_err(|error| ErrorKind::Operands(error.to_string()))?;
        if types.iter().any(|&ty| module.types.as_tensor(ty).is_none()) {
            return Err(ErrorKind::Operands(format!("a result of {} is not a tensor", kind.name())));
        }
        Ok(self.with_types(kind, operands, &types, regions))
    }

    /// Creates an operation with these result types, and checks them.
    pub(crate) fn checked(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        results: &[(&[i64], DType)],
    ) -> KindResult<Vec<ValueId>> {
        let mut types = Vec::with_capacity(results.len());
        for (shape, dtype) in results {
            check_shape(shape)?;
            types.push(self.state.module.types.tensor(shape, *dtype));
        }
        let module = &mut self.state.module;
        let op = module.add_op(kind, operands, &types, &[]);
        module.ops[op].loc = self.loc.into();
        check_result_types(module, op).map_err(|error| ErrorKind::Operands(error.to_string()))?;
        let made = module.ops[op].results.to_vec();
        self.insert(op);
        Ok(made)
    }

    /// Creates an operation with these result types, unchecked.
    pub(crate) fn with_types(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        types: &[TypeId],
        regions: &[RegionId],
    ) -> Vec<ValueId> {
        let op = self.op(kind, operands, types, regions);
        self.state.module.ops[op].results.to_vec()
    }
}

impl Build for Maker<'_> {
    fn module(&mut self) -> &mut Module {
        &mut self.state.module
    }

    fn origin(&self) -> (Span, PackedOption<LocId>) {
        (Span::NONE, self.loc.into())
    }

    fn insert(&mut self, op: OpId) {
        let region = self.state.region();
        self.state.module.push_op(region, op);
    }
}
