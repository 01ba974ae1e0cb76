//! Attributes and types, from their text in MLIR's generic form to the fields of their encoding.
//!
//! * [`builtin`]: attributes of the builtin dialect; [`elements`]: constants; [`locs`]: locations; [`types`]: types.
//! * [`stablehlo`], [`sdy`]: attributes of dialects that have their own encoding. Attributes of other dialects stay text.

mod builtin;
mod elements;
mod locs;
mod sdy;
mod stablehlo;
mod types;

use std::borrow::Cow;

use shardc_ir::Diagnostic;

use super::nodes::{Field, Fields, Node, Nodes};
use crate::bytecode::attr::{AttrRef, TypeRef};
use crate::codes;
use crate::lexer::{Cursor, Failure, Res, is_ident, unescape_bytes};
use crate::parser::records::without_place;

pub(super) use elements::{constant, stored};
pub(super) use locs::Position;

/// The maximum nesting of attributes, types and locations.
const MAX_DEPTH: u32 = 200;

/// A reader of the text of attributes and types.
pub(super) struct Text<'t, 'n, 'm> {
    pub(super) cursor: Cursor<'t>,
    pub(super) nodes: &'n mut Nodes<'m>,
    depth: u32,
}

/// Returns the attribute with this text.
pub(super) fn attr(nodes: &mut Nodes<'_>, text: &str) -> Result<AttrRef, Diagnostic> {
    if let Some(&known) = nodes.attr_texts.get(text) {
        return Ok(known);
    }
    let attr = whole(nodes, text, Text::attr).map_err(|failure| wrong("attribute", text, failure))?;
    nodes.attr_texts.insert(text.into(), attr);
    Ok(attr)
}

/// Returns the type with this text.
pub(super) fn ty(nodes: &mut Nodes<'_>, text: &str) -> Result<TypeRef, Diagnostic> {
    if let Some(&known) = nodes.type_texts.get(text) {
        return Ok(known);
    }
    let ty = whole(nodes, text, Text::ty).map_err(|failure| wrong("type", text, failure))?;
    nodes.type_texts.insert(text.into(), ty);
    Ok(ty)
}

/// Returns the location with this text, without `loc(...)`.
pub(super) fn loc(nodes: &mut Nodes<'_>, text: &str) -> Result<AttrRef, Diagnostic> {
    let body = |text: &mut Text<'_, '_, '_>| {
        if text.cursor.at_word("loc") { text.attr() } else { text.loc_body() }
    };
    whole(nodes, text, body).map_err(|failure| wrong("location", text, failure))
}

/// Returns the end of a range of positions that starts on the line `line`: `to :3` or `to 3:4`.
pub(super) fn range_end(nodes: &mut Nodes<'_>, text: &str, line: u64) -> Result<(u64, u64), Diagnostic> {
    whole(nodes, text, |text| text.range_end(line)).map_err(|failure| wrong("location", text, failure))
}

/// Reads the whole text.
fn whole<'t, 'n, 'm, T>(
    nodes: &'n mut Nodes<'m>,
    text: &'t str,
    read: impl FnOnce(&mut Text<'t, 'n, 'm>) -> Res<T>,
) -> Res<T> {
    let mut reader = Text::new(nodes, text);
    let made = read(&mut reader)?;
    if reader.cursor.at_end() { Ok(made) } else { Err(reader.cursor.expected("the end of the text")) }
}

/// The maximum number of characters of an attribute that a message shows.
const SHOWN: usize = 120;

/// Returns the error for a text that cannot be read because of a failure.
pub(super) fn wrong(what: &str, text: &str, failure: Failure) -> Diagnostic {
    unreadable(what, text, &without_place(failure).map(|cause| cause.message).unwrap_or_default())
}

/// Returns the error for a text that cannot be read.
pub(super) fn unreadable(what: &str, text: &str, cause: &str) -> Diagnostic {
    let shown: Cow<'_, str> = match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or("")).into(),
        None => text.into(),
    };
    Diagnostic::unsupported(codes::NOT_WRITTEN, format!("cannot encode the {what} `{shown}`: {cause}"))
        .hint("write the module as text")
}

impl<'t, 'n, 'm> Text<'t, 'n, 'm> {
    pub(super) fn new(nodes: &'n mut Nodes<'m>, text: &'t str) -> Self {
        Text { cursor: Cursor::new(text), nodes, depth: 0 }
    }

    /// Runs `read` one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("attributes or types are nested more than {MAX_DEPTH} levels deep");
            return Err(Diagnostic::unsupported(codes::NESTING, message).into());
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// Reads items separated by commas up to `end`, after the opening bracket.
    fn list<T>(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Res<T>) -> Res<Vec<T>> {
        let mut items = Vec::new();
        if self.cursor.eat(end) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if !self.cursor.eat(",") {
                self.cursor.expect(end)?;
                return Ok(items);
            }
        }
    }

    /// Reads `[1, 2]`.
    fn ints(&mut self) -> Res<Vec<i64>> {
        self.cursor.expect("[")?;
        self.list("]", |text| text.cursor.int())
    }

    /// Reads a string literal of any bytes.
    fn string(&mut self) -> Res<Cow<'t, [u8]>> {
        let raw = self.cursor.raw_string()?;
        match unescape_bytes(raw) {
            Some(bytes) => Ok(bytes),
            None => Err(self.cursor.expected("a string with valid escapes")),
        }
    }

    /// Reads the name of an attribute: a word or a string.
    fn name(&mut self) -> Res<Cow<'t, [u8]>> {
        if self.cursor.peek() == b'"' {
            return self.string();
        }
        Ok(Cow::Borrowed(self.cursor.ident("a name")?.as_bytes()))
    }

    /// Returns the text from `start` to the cursor.
    fn from(&self, start: usize) -> &'t str {
        self.cursor.slice(start, self.cursor.pos)
    }

    /// Skips the name of a dialect's attribute or type, and its body. Returns the name.
    fn dialect_name(&mut self) -> Res<&'t str> {
        let start = self.cursor.pos + 1;
        self.cursor.pos += 1;
        while is_ident(self.cursor.byte(0)) {
            self.cursor.pos += 1;
        }
        let name = self.from(start);
        if name.is_empty() { Err(self.cursor.expected("the name of a dialect")) } else { Ok(name) }
    }

    /// Reads an attribute or type of a dialect without encoding, which starts at `start`, as text. The cursor is after its name.
    fn as_text(&mut self, name: &str, start: usize) -> Res<Node<'m>> {
        if self.cursor.byte(0) == b'<' {
            self.cursor.skip_brackets()?;
        }
        let dialect = name.split('.').next().unwrap_or(name).as_bytes().to_vec();
        let text = self.from(start).as_bytes().to_vec();
        Ok(Node::Text { dialect: self.nodes.str(dialect), text: self.nodes.str(text) })
    }
}

/// Appends a list, preceded by its length.
fn push_list<'m>(fields: &mut Fields<'m>, items: impl IntoIterator<Item = Field<'m>>) {
    let at = fields.len();
    fields.push(Field::Int(0));
    fields.extend(items);
    let count = (fields.len() - at - 1) as u64;
    if let Some(field) = fields.get_mut(at) {
        *field = Field::Int(count);
    }
}
