//! The walk over operations, and the casts between values of VHLO and of other dialects.

use rustc_hash::FxHashMap;
use shardc_ir::{Diagnostic, OpId};

use super::Converter;
use super::ops::{Types, base};
use crate::bytecode::attr::TypeRef;
use crate::bytecode::write::program::{Block, Op};

const CAST: &str = "builtin.unrealized_conversion_cast";

/// Converts operations. A value that a converted operation defines has a type of VHLO; all others keep their types.
pub(super) struct Casts<'c, 'm> {
    converter: &'c mut Converter<'m>,
    /// The type of each value.
    values: &'c mut Vec<TypeRef>,
    /// The type of each value before the conversion.
    given: Vec<TypeRef>,
    /// The operation that is converted.
    pub(super) at: Option<OpId>,
}

impl<'c, 'm> Casts<'c, 'm> {
    pub(super) fn new(converter: &'c mut Converter<'m>, values: &'c mut Vec<TypeRef>) -> Self {
        let given = values.clone();
        Casts { converter, values, given, at: None }
    }

    /// Converts the operations in the outermost module.
    pub(super) fn top(&mut self, op: &mut Op) -> Result<(), Diagnostic> {
        self.regions(op, false)
    }

    /// Converts the operations in the regions of an operation. The arguments of the regions are converted if the operation is.
    fn regions(&mut self, op: &mut Op, converted: bool) -> Result<(), Diagnostic> {
        for block in op.regions.iter_mut().flat_map(|region| &mut region.blocks) {
            for &(value, _) in block.args.iter().filter(|_| converted) {
                self.define(value)?;
            }
            self.block(block)?;
        }
        Ok(())
    }

    fn define(&mut self, value: u32) -> Result<(), Diagnostic> {
        let Some(ty) = self.values.get_mut(value as usize) else { return Ok(()) };
        *ty = self.converter.ty(*ty)?;
        self.converter.check_type(*ty)
    }

    fn ty(&self, value: u32) -> TypeRef {
        self.values.get(value as usize).copied().unwrap_or(TypeRef(u32::MAX))
    }

    fn block(&mut self, block: &mut Block) -> Result<(), Diagnostic> {
        // The cast of each value to its other type, in this block.
        let mut casts = FxHashMap::default();
        for mut op in std::mem::take(&mut block.ops) {
            self.at = op.origin;
            let name = self.converter.nodes.text(op.name).to_owned();
            let base = base(&name);
            for operand in &mut op.operands {
                let (now, given) = (self.ty(*operand), self.given_type(*operand));
                let wanted = if base.is_some() { self.converter.ty(given)? } else { given };
                if now != wanted {
                    *operand = match casts.get(operand) {
                        Some(&cast) => cast,
                        None => {
                            let cast = self.cast(*operand, wanted, op.loc);
                            let result = cast.results[0];
                            block.ops.push(cast);
                            casts.insert(*operand, result);
                            result
                        }
                    };
                }
            }
            if let Some(base) = base {
                for &result in &op.results {
                    self.define(result)?;
                }
                let operands = op.operands.iter().map(|&value| self.ty(value)).collect();
                let results = op.results.iter().map(|&value| self.ty(value)).collect();
                self.converter.op(&mut op, base, &Types { operands, results })?;
            }
            self.regions(&mut op, base.is_some())?;
            block.ops.push(op);
        }
        Ok(())
    }

    fn given_type(&self, value: u32) -> TypeRef {
        self.given.get(value as usize).copied().unwrap_or(TypeRef(u32::MAX))
    }

    /// Creates a cast of a value to a type.
    fn cast(&mut self, value: u32, ty: TypeRef, loc: crate::bytecode::attr::AttrRef) -> Op {
        let given = self.given_type(value);
        self.values.push(ty);
        self.given.push(given);
        let result = u32::try_from(self.values.len() - 1).unwrap_or(u32::MAX);
        let mut op = Op::new(self.converter.nodes.word(CAST), loc);
        op.operands.push(value);
        op.results.push(result);
        op
    }
}
