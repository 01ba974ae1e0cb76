//! Resources: data at the end of a file, to which attributes refer by a key.

use rustc_hash::FxHashMap;
use shardc_ir::Diagnostic;

use super::bytes::Bytes;
use super::nodes::StrRef;
use super::numbering::Numbering;
use super::program::Program;
use super::strings::Strings;
use crate::codes;
use crate::lexer::{Cursor, Res, unescape_bytes};
use crate::parser::records::without_place;

/// The contents of a resource.
enum Contents {
    /// Bytes with an alignment.
    Blob(usize, Vec<u8>),
    Bool(bool),
    Text(Vec<u8>),
    /// The key is used, and there are no contents.
    None,
}

struct Resource {
    key: Vec<u8>,
    contents: Contents,
}

/// The resources of a dialect or of an external tool.
struct Group {
    name: Vec<u8>,
    resources: Vec<Resource>,
}

/// The resources of a module.
#[derive(Default)]
pub(super) struct Resources {
    dialects: Vec<Group>,
    external: Vec<Group>,
}

impl Resources {
    /// Reads the text `{-# dialect_resources: {...}, external_resources: {...} #-}`.
    pub(super) fn read(text: &str) -> Result<Self, Diagnostic> {
        if text.trim().is_empty() {
            return Ok(Resources::default());
        }
        read(text).map_err(|failure| {
            let cause = without_place(failure).map(|cause| cause.message).unwrap_or_default();
            Diagnostic::unsupported(codes::NOT_WRITTEN, format!("cannot encode the resources: {cause}"))
        })
    }

    /// Orders the resources of dialects as in the file: those to which attributes refer first.
    pub(super) fn ordered<'p>(
        mut self,
        program: &'p Program<'_>,
        numbering: &mut Numbering<'p, '_>,
    ) -> Ordered {
        let mut groups: Vec<(u32, Group)> = Vec::new();
        let mut keys: Vec<(u32, StrRef)> = Vec::new();
        for number in 0..numbering.dialects.len() {
            let name = numbering.dialects[number].as_bytes().to_vec();
            let mut given = match self.dialects.iter().position(|group| group.name == name) {
                Some(at) => self.dialects.remove(at).resources,
                None => Vec::new(),
            };
            let (mut used, mut missing) = (Vec::new(), Vec::new());
            for &(dialect, key) in
                numbering.resources.iter().filter(|(dialect, _)| *dialect as usize == number)
            {
                let text = program.nodes.bytes(key);
                match given.iter().position(|resource| resource.key == text) {
                    Some(at) => used.push((Some((dialect, key)), given.remove(at))),
                    None => {
                        let resource = Resource { key: text.to_vec(), contents: Contents::None };
                        missing.push((Some((dialect, key)), resource));
                    }
                }
            }
            used.extend(given.into_iter().map(|resource| (None, resource)));
            used.extend(missing);
            if used.is_empty() {
                continue;
            }
            let mut resources = Vec::with_capacity(used.len());
            for (key, resource) in used {
                keys.push(key.unwrap_or((u32::MAX, StrRef(u32::MAX))));
                resources.push(resource);
            }
            groups.push((number as u32, Group { name, resources }));
        }
        let numbers = (0..).zip(keys).map(|(number, (_, key))| (key, number)).collect();
        Ordered { groups, external: self.external, numbers }
    }
}

/// The resources of a file, in order.
pub(super) struct Ordered {
    groups: Vec<(u32, Group)>,
    external: Vec<Group>,
    /// The number of each key to which attributes refer.
    pub(super) numbers: FxHashMap<StrRef, u64>,
}

impl Ordered {
    /// Writes the section of keys and sizes, and the section of contents.
    pub(super) fn sections<'p>(&'p self, strings: &mut Strings<'p>) -> (Bytes<'p>, Bytes<'p>) {
        let (mut offsets, mut contents) = (Bytes::default(), Bytes::default());
        offsets.varint(self.external.len() as u64);
        for group in &self.external {
            let name = strings.number(&group.name);
            push(&mut offsets, &mut contents, strings, name, group);
        }
        for (dialect, group) in &self.groups {
            push(&mut offsets, &mut contents, strings, u64::from(*dialect), group);
        }
        (offsets, contents)
    }
}

/// Writes a group with the name or number `name`.
fn push<'p>(
    offsets: &mut Bytes<'p>,
    contents: &mut Bytes<'p>,
    strings: &mut Strings<'p>,
    name: u64,
    group: &'p Group,
) {
    let entries: Vec<(u64, u8)> = group
        .resources
        .iter()
        .map(|resource| {
            let start = contents.len();
            let kind = match &resource.contents {
                Contents::Blob(alignment, bytes) => {
                    contents.varint(*alignment as u64);
                    contents.varint(bytes.len() as u64);
                    contents.align(*alignment);
                    contents.borrowed(bytes);
                    0
                }
                Contents::Bool(value) => {
                    contents.byte(u8::from(*value));
                    1
                }
                Contents::Text(text) => {
                    contents.varint(strings.number(text));
                    2
                }
                Contents::None => 0,
            };
            ((contents.len() - start) as u64, kind)
        })
        .collect();
    offsets.varint(name);
    offsets.varint(group.resources.len() as u64);
    for (resource, (size, kind)) in group.resources.iter().zip(entries) {
        offsets.varint(strings.number(&resource.key));
        offsets.varint(size);
        offsets.byte(kind);
    }
}

/// Reads entries up to a closing brace, each with a name and a colon.
fn entries(
    cursor: &mut Cursor<'_>,
    end: &str,
    mut item: impl FnMut(&mut Cursor<'_>, Vec<u8>) -> Res<()>,
) -> Res<()> {
    if cursor.eat(end) {
        return Ok(());
    }
    loop {
        let name = if cursor.peek() == b'"' {
            string(cursor)?
        } else {
            cursor.ident("the name of a resource")?.as_bytes().to_vec()
        };
        cursor.expect(":")?;
        item(cursor, name)?;
        if !cursor.eat(",") {
            return cursor.expect(end);
        }
    }
}

fn string(cursor: &mut Cursor<'_>) -> Res<Vec<u8>> {
    let raw = cursor.raw_string()?;
    match unescape_bytes(raw) {
        Some(bytes) => Ok(bytes.into_owned()),
        None => Err(cursor.expected("a string with valid escapes")),
    }
}

fn read(text: &str) -> Res<Resources> {
    let mut all = Resources::default();
    let mut cursor = Cursor::new(text);
    cursor.expect("{-#")?;
    entries(&mut cursor, "#-}", |cursor, kind| {
        cursor.expect("{")?;
        let groups = if kind == b"dialect_resources" { &mut all.dialects } else { &mut all.external };
        entries(cursor, "}", |cursor, name| {
            cursor.expect("{")?;
            let mut resources = Vec::new();
            entries(cursor, "}", |cursor, key| {
                resources.push(Resource { key, contents: contents(cursor)? });
                Ok(())
            })?;
            groups.push(Group { name, resources });
            Ok(())
        })
    })?;
    Ok(all)
}

/// Reads `true`, `false`, `"text"` or `"0x04000000..."`, a blob whose first four bytes are its alignment.
fn contents(cursor: &mut Cursor<'_>) -> Res<Contents> {
    for (word, value) in [("true", true), ("false", false)] {
        if cursor.eat_word(word) {
            return Ok(Contents::Bool(value));
        }
    }
    let text = string(cursor)?;
    let Some(digits) = text.strip_prefix(b"0x") else { return Ok(Contents::Text(text)) };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| Some(digit(pair.first()?)? << 4 | digit(pair.get(1)?)?);
    let Some(mut bytes) = digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>() else {
        return Err(cursor.expected("hexadecimal digits"));
    };
    let alignment = bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    if !alignment.is_power_of_two() {
        return Err(cursor.expected("an alignment that is a power of two"));
    }
    bytes.drain(..4);
    Ok(Contents::Blob(alignment as usize, bytes))
}
