//! The text of operations in MLIR's generic form, for operations that a module keeps as text.

use std::fmt::Write as _;

use super::attr::TypeRef;
use super::ir::{Ir, NamedAttr, OpRecord, OpRef, RegionRef};
use super::text::Pool;
use crate::lexer::Res;
use crate::literals::tokens::{is_bare, push_list, push_string};

/// Writes the text of an operation with its regions, without locations. `types` are the types of all values.
pub(super) fn text<'b>(
    ir: &Ir<'b>,
    pool: &mut Pool<'_, 'b>,
    types: &[Option<TypeRef>],
    at: OpRef,
) -> Res<String> {
    let mut out = Writer { ir, pool, types, text: String::new(), indent: 0, first: None };
    out.op(at)?;
    Ok(out.text)
}

struct Writer<'w, 's, 'b> {
    ir: &'w Ir<'b>,
    pool: &'w mut Pool<'s, 'b>,
    types: &'w [Option<TypeRef>],
    text: String,
    indent: usize,
    /// The index in the program of the value that the text calls `%0`; `None` before the first value.
    first: Option<u32>,
}

impl Writer<'_, '_, '_> {
    fn line(&mut self) {
        self.text.push('\n');
        for _ in 0..self.indent {
            self.text.push_str("  ");
        }
    }

    fn value(&mut self, number: u32) {
        let first = *self.first.get_or_insert(number);
        let _ = match number.checked_sub(first) {
            Some(number) => write!(self.text, "%{number}"),
            None => write!(self.text, "%outer{number}"),
        };
    }

    fn values(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for (i, number) in numbers.into_iter().enumerate() {
            if i > 0 {
                self.text.push_str(", ");
            }
            self.value(number);
        }
    }

    fn op(&mut self, at: OpRef) -> Res<()> {
        let ir = self.ir;
        let Some(op) = ir.ops.get(at.0 as usize) else { return Ok(()) };
        if !op.results.is_empty() {
            self.values((op.first_value..).take(op.results.len()));
            self.text.push_str(" = ");
        }
        push_string(&mut self.text, &op.name);
        self.text.push('(');
        self.values(op.operands.iter().copied());
        self.text.push(')');
        if !op.successors.is_empty() {
            self.text.push('[');
            push_list(&mut self.text, &op.successors, |out, block| {
                let _ = write!(out, "^bb{block}");
            });
            self.text.push(']');
        }
        if !op.props.is_empty() {
            self.text.push_str(" <");
            self.dict(&op.props)?;
            self.text.push('>');
        }
        if !op.regions.is_empty() {
            self.text.push_str(" (");
            for (i, &region) in op.regions.iter().enumerate() {
                if i > 0 {
                    self.text.push_str(", ");
                }
                self.region(region)?;
            }
            self.text.push(')');
        }
        if !op.attrs.is_empty() {
            self.text.push(' ');
            self.dict(&op.attrs)?;
        }
        self.types(op)
    }

    /// Writes `{a = 1, b}`.
    fn dict(&mut self, entries: &[NamedAttr<'_>]) -> Res<()> {
        self.text.push('{');
        for (i, (name, value)) in entries.iter().enumerate() {
            if i > 0 {
                self.text.push_str(", ");
            }
            if is_bare(name) {
                self.text.push_str(name)
            } else {
                push_string(&mut self.text, name)
            }
            let value = self.pool.attr_text(*value)?;
            if value != "unit" {
                self.text.push_str(" = ");
                self.text.push_str(value);
            }
        }
        self.text.push('}');
        Ok(())
    }

    /// Writes ` : (T, U) -> V`.
    fn types(&mut self, op: &OpRecord<'_>) -> Res<()> {
        self.text.push_str(" : (");
        for (i, &value) in op.operands.iter().enumerate() {
            if i > 0 {
                self.text.push_str(", ");
            }
            if let Some(Some(ty)) = self.types.get(value as usize).copied() {
                self.text.push_str(self.pool.type_text(ty)?);
            }
        }
        self.text.push_str(") -> ");
        let brackets = match op.results[..] {
            [only] => self.pool.type_text(only)?.starts_with('('),
            _ => true,
        };
        if brackets {
            self.text.push('(');
        }
        for (i, &ty) in op.results.iter().enumerate() {
            if i > 0 {
                self.text.push_str(", ");
            }
            self.text.push_str(self.pool.type_text(ty)?);
        }
        if brackets {
            self.text.push(')');
        }
        Ok(())
    }

    fn region(&mut self, at: RegionRef) -> Res<()> {
        let ir = self.ir;
        let blocks = ir.regions.get(at.0 as usize).map_or(&[][..], |region| &region.blocks);
        self.text.push('{');
        self.indent += 1;
        for (number, block) in blocks.iter().enumerate() {
            if number > 0 || !block.args.is_empty() {
                self.indent -= 1;
                self.line();
                self.indent += 1;
                let _ = write!(self.text, "^bb{number}");
                if !block.args.is_empty() {
                    self.text.push('(');
                    for (i, (value, &(ty, _))) in (block.first_value..).zip(&block.args).enumerate() {
                        if i > 0 {
                            self.text.push_str(", ");
                        }
                        self.value(value);
                        self.text.push_str(": ");
                        self.text.push_str(self.pool.type_text(ty)?);
                    }
                    self.text.push(')');
                }
                self.text.push(':');
            }
            for &op in &block.ops {
                self.line();
                self.op(op)?;
            }
        }
        self.indent -= 1;
        self.line();
        self.text.push('}');
        Ok(())
    }
}
