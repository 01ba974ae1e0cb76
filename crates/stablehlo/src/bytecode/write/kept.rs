//! Operations that a module keeps as text, in generic form. Operations in other forms are not supported: only their dialects know the syntax.

use rustc_hash::FxHashMap;
use shardc_ir::Diagnostic;

use super::program::{Block, Op, Program, Region};
use super::text::{Text, unreadable};
use crate::bytecode::attr::{AttrRef, TypeRef};
use crate::codes;
use crate::lexer::Res;
use crate::parser::MAX_DEPTH;

/// Adds the operation with this text.
pub(super) fn op(program: &mut Program<'_>, text: &str) -> Result<Op, Diagnostic> {
    let values = std::mem::take(&mut program.values);
    let mut reader = Reader {
        text: Text::new(&mut program.nodes, text),
        values,
        defined: Vec::new(),
        names: FxHashMap::default(),
        labels: Vec::new(),
        depth: 0,
    };
    let first = reader.values.len();
    reader.defined.resize(first, true);
    let read = reader.op();
    let rest = if reader.text.cursor.at_end() {
        Ok(())
    } else {
        Err(reader.text.cursor.expected("the end of the operation"))
    };
    let undefined = reader.defined.contains(&false);
    program.values = reader.values;
    match (read, rest) {
        (Ok(op), Ok(())) if !undefined => Ok(op),
        (Ok(_), Ok(())) => Err(unreadable("operation", text, "a value is used and not defined")),
        (Err(failure), _) | (_, Err(failure)) => Err(super::text::wrong("operation", text, failure)),
    }
}

/// A name of a value in the text: `%0`, or one of several results, `%0#1`.
type Name<'t> = (&'t str, u32);

struct Reader<'t, 'n, 'm> {
    text: Text<'t, 'n, 'm>,
    /// The types of values.
    values: Vec<TypeRef>,
    /// Whether each value is defined. A block may use values of a later block.
    defined: Vec<bool>,
    names: FxHashMap<Name<'t>, u32>,
    /// The labels of the current region, in the order in which they are first mentioned, with the number of the block.
    labels: Vec<(&'t str, Option<u32>)>,
    /// The nesting depth of regions.
    depth: u32,
}

impl<'t> Reader<'t, '_, '_> {
    fn add(&mut self, name: Name<'t>, ty: TypeRef, defined: bool) -> u32 {
        self.values.push(ty);
        self.defined.push(defined);
        let number = u32::try_from(self.values.len() - 1).unwrap_or(u32::MAX);
        self.names.insert(name, number);
        number
    }

    /// Returns the value with this name, which an operation uses.
    fn used(&mut self, name: Name<'t>, ty: TypeRef) -> u32 {
        match self.names.get(&name) {
            Some(&known) => known,
            None => self.add(name, ty, false),
        }
    }

    /// Defines a value. In a region, it may have the name of another value outside.
    fn define(&mut self, name: Name<'t>, ty: TypeRef) -> u32 {
        let waiting =
            self.names.get(&name).copied().filter(|&at| self.defined.get(at as usize) == Some(&false));
        let Some(number) = waiting else { return self.add(name, ty, true) };
        if let (Some(slot), Some(defined)) =
            (self.values.get_mut(number as usize), self.defined.get_mut(number as usize))
        {
            (*slot, *defined) = (ty, true);
        }
        number
    }

    /// Reads `%0` or `%0#1`.
    fn name(&mut self) -> Res<Name<'t>> {
        let name = self.text.cursor.value_name()?;
        if self.text.cursor.byte(0) != b'#' {
            return Ok((name, 0));
        }
        self.text.cursor.pos += 1;
        let index = self.text.cursor.int()?;
        Ok((name, u32::try_from(index).unwrap_or(u32::MAX)))
    }

    /// Reads `%0 = `, `%0:2 = ` or `%0, %1 = `.
    fn results(&mut self) -> Res<Vec<Name<'t>>> {
        let mut names = Vec::new();
        if self.text.cursor.peek() != b'%' {
            return Ok(names);
        }
        loop {
            let name = self.text.cursor.value_name()?;
            let count = if self.text.cursor.eat(":") { self.text.cursor.int()? } else { 1 };
            names.extend((0..u32::try_from(count).unwrap_or(0)).map(|index| (name, index)));
            if !self.text.cursor.eat(",") {
                self.text.cursor.expect("=")?;
                return Ok(names);
            }
        }
    }

    fn op(&mut self) -> Res<Op> {
        let results = self.results()?;
        let name = self.text.cursor.text_string()?;
        let unknown = self.text.nodes.unknown_loc();
        let mut op = Op::new(self.text.nodes.word(&name), unknown);
        self.text.cursor.expect("(")?;
        let mut operands = Vec::new();
        while !self.text.cursor.eat(")") {
            operands.push(self.name()?);
            if self.text.cursor.peek() != b')' {
                self.text.cursor.expect(",")?;
            }
        }
        if self.text.cursor.eat("[") {
            while !self.text.cursor.eat("]") {
                op.successors.push(self.label()?);
                if self.text.cursor.peek() != b']' {
                    self.text.cursor.expect(",")?;
                }
            }
        }
        if self.text.cursor.eat("<") {
            op.props = self.text.named()?;
            self.text.cursor.expect(">")?;
        }
        if self.text.cursor.eat("(") {
            while !self.text.cursor.eat(")") {
                op.regions.push(self.region()?);
                if self.text.cursor.peek() != b')' {
                    self.text.cursor.expect(",")?;
                }
            }
        }
        if self.text.cursor.peek() == b'{' {
            op.attrs = self.text.named()?;
        }
        self.text.cursor.expect(":")?;
        let (inputs, outputs) = self.text.signature()?;
        if inputs.len() != operands.len() || outputs.len() < results.len() {
            return Err(self.text.cursor.expected("one type for each operand and result"));
        }
        op.operands = operands.into_iter().zip(inputs).map(|(name, ty)| self.used(name, ty)).collect();
        let names = results.into_iter().map(Some).chain(std::iter::repeat(None));
        op.results = outputs
            .into_iter()
            .zip(names)
            .map(|(ty, name)| match name {
                Some(name) => self.define(name, ty),
                // No operation can use a result without a name.
                None => self.define(("", u32::MAX), ty),
            })
            .collect();
        if self.text.cursor.eat_word("loc") {
            self.text.cursor.expect("(")?;
            op.loc = self.text.loc_body()?;
            self.text.cursor.expect(")")?;
        }
        Ok(op)
    }

    /// Reads `^bb1`, and returns the number of the label.
    fn label(&mut self) -> Res<u32> {
        self.text.cursor.expect("^")?;
        let name = self.text.cursor.ident("the name of a block")?;
        let at = self.labels.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.labels.push((name, None));
            self.labels.len() - 1
        });
        Ok(at as u32)
    }

    fn region(&mut self) -> Res<Region> {
        let (names, labels) = (self.names.clone(), std::mem::take(&mut self.labels));
        self.text.cursor.expect("{")?;
        let mut region = Region::default();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("regions are nested more than {MAX_DEPTH} levels deep");
            return Err(Diagnostic::unsupported(codes::NESTING, message).into());
        }
        while !self.text.cursor.eat("}") {
            let mut block = Block { args: Vec::new(), ops: Vec::new() };
            if self.text.cursor.peek() == b'^' {
                let label = self.label()?;
                if let Some((_, place)) = self.labels.get_mut(label as usize) {
                    *place = Some(region.blocks.len() as u32);
                }
                block.args = self.arguments()?;
                self.text.cursor.expect(":")?;
            }
            while !matches!(self.text.cursor.peek(), b'}' | b'^' | 0) {
                block.ops.push(self.op()?);
            }
            region.blocks.push(block);
        }
        let labels = std::mem::replace(&mut self.labels, labels);
        let mut known = true;
        for successor in
            region.blocks.iter_mut().flat_map(|block| &mut block.ops).flat_map(|op| &mut op.successors)
        {
            match labels.get(*successor as usize) {
                Some((_, Some(place))) => *successor = *place,
                _ => known = false,
            }
        }
        self.names = names;
        self.depth -= 1;
        if known { Ok(region) } else { Err(self.text.cursor.expected("blocks for all labels")) }
    }

    /// Reads `(%0: type loc(...), %1: type)`, if there are arguments.
    fn arguments(&mut self) -> Res<Vec<(u32, AttrRef)>> {
        let mut args = Vec::new();
        if !self.text.cursor.eat("(") {
            return Ok(args);
        }
        while !self.text.cursor.eat(")") {
            let name = self.name()?;
            self.text.cursor.expect(":")?;
            let ty = self.text.ty()?;
            let loc = if self.text.cursor.at_word("loc") {
                self.text.attr()?
            } else {
                self.text.nodes.unknown_loc()
            };
            args.push((self.define(name, ty), loc));
            if self.text.cursor.peek() != b')' {
                self.text.cursor.expect(",")?;
            }
        }
        Ok(args)
    }
}
