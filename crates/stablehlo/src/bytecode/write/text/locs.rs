//! Locations.

use super::{Text, push_list};
use crate::bytecode::attr::AttrRef;
use crate::bytecode::write::nodes::{BUILTIN, Field, Nodes, code};
use crate::lexer::Res;

/// The position of a location in a file: the start, and the end if it is a range.
#[derive(Clone, Copy)]
pub(in crate::bytecode::write) struct Position {
    pub(in crate::bytecode::write) line: u64,
    pub(in crate::bytecode::write) col: u64,
    pub(in crate::bytecode::write) end: Option<(u64, u64)>,
}

impl Nodes<'_> {
    /// Adds the unknown location.
    pub(in crate::bytecode::write) fn unknown_loc(&mut self) -> AttrRef {
        self.builtin([Field::Int(15)])
    }

    /// Adds a location in a file.
    pub(in crate::bytecode::write) fn file_loc(&mut self, file: &[u8], at: Position) -> AttrRef {
        let file = self.string(file.to_vec());
        let Position { line, col, end } = at;
        let Some((end_line, end_col)) = end.filter(|&end| end != (line, col)) else {
            return self.builtin([Field::Int(11), Field::Attr(file), Field::Int(line), Field::Int(col)]);
        };
        let mut fields = code(22);
        fields.push(Field::Attr(file));
        let numbers =
            if end_line == line { vec![line, col, end_col] } else { vec![line, col, end_line, end_col] };
        push_list(&mut fields, numbers.into_iter().map(Field::Int));
        self.coded(BUILTIN, fields)
    }

    /// Adds a named location.
    pub(in crate::bytecode::write) fn name_loc(&mut self, name: &[u8], child: AttrRef) -> AttrRef {
        let name = self.string(name.to_vec());
        self.builtin([Field::Int(14), Field::Attr(name), Field::Attr(child)])
    }

    /// Adds the location of a call.
    pub(in crate::bytecode::write) fn call_loc(&mut self, callee: AttrRef, caller: AttrRef) -> AttrRef {
        self.builtin([Field::Int(10), Field::Attr(callee), Field::Attr(caller)])
    }

    /// Adds a fused location. Without metadata, MLIR has no fused location of one location.
    pub(in crate::bytecode::write) fn fused_loc(
        &mut self,
        children: &[AttrRef],
        metadata: Option<AttrRef>,
    ) -> AttrRef {
        match (children, metadata) {
            ([], None) => return self.unknown_loc(),
            ([only], None) => return *only,
            _ => {}
        }
        let mut fields = code(if metadata.is_some() { 13 } else { 12 });
        push_list(&mut fields, children.iter().map(|&child| Field::Attr(child)));
        fields.extend(metadata.map(Field::Attr));
        self.coded(BUILTIN, fields)
    }
}

impl Text<'_, '_, '_> {
    /// Reads the content of `loc(...)`.
    pub(in crate::bytecode::write) fn loc_body(&mut self) -> Res<AttrRef> {
        self.nested(|text| {
            if text.cursor.eat_word("unknown") {
                return Ok(text.nodes.unknown_loc());
            }
            if text.cursor.eat_word("callsite") {
                text.cursor.expect("(")?;
                let callee = text.loc_body()?;
                text.cursor.expect_word("at")?;
                let caller = text.loc_body()?;
                text.cursor.expect(")")?;
                return Ok(text.nodes.call_loc(callee, caller));
            }
            if text.cursor.eat_word("fused") {
                let metadata = if text.cursor.eat("<") {
                    let metadata = text.attr()?;
                    text.cursor.expect(">")?;
                    Some(metadata)
                } else {
                    None
                };
                text.cursor.expect("[")?;
                let children = text.list("]", Text::loc_body)?;
                return Ok(text.nodes.fused_loc(&children, metadata));
            }
            if text.cursor.at_word("loc") {
                return text.attr();
            }
            let name = text.string()?.into_owned();
            if text.cursor.eat(":") {
                let position = text.position()?;
                return Ok(text.nodes.file_loc(&name, position));
            }
            let child = if text.cursor.eat("(") {
                let child = text.loc_body()?;
                text.cursor.expect(")")?;
                child
            } else {
                text.nodes.unknown_loc()
            };
            Ok(text.nodes.name_loc(&name, child))
        })
    }

    fn unsigned(&mut self) -> Res<u64> {
        let value = self.cursor.int()?;
        u64::try_from(value).map_err(|_| self.cursor.expected("a number that is not negative"))
    }

    /// Reads `1:2`, `1:2 to :3` or `1:2 to 3:4`.
    fn position(&mut self) -> Res<Position> {
        let line = self.unsigned()?;
        self.cursor.expect(":")?;
        let col = self.unsigned()?;
        let end = if self.cursor.at_word("to") { Some(self.range_end(line)?) } else { None };
        Ok(Position { line, col, end })
    }

    /// Reads the end of a range that starts on the line `line`: `to :3` or `to 3:4`.
    pub(in crate::bytecode::write) fn range_end(&mut self, line: u64) -> Res<(u64, u64)> {
        self.cursor.expect_word("to")?;
        let line = if self.cursor.eat(":") {
            line
        } else {
            let line = self.unsigned()?;
            self.cursor.expect(":")?;
            line
        };
        Ok((line, self.unsigned()?))
    }
}
