//! The sections of a file.

use rustc_hash::FxHashMap;
use shardc_ir::Diagnostic;

use super::body::Body;
use super::bytes::Bytes;
use super::nodes::{Field, Node, StrRef};
use super::numbering::{Entry, Numbering};
use super::program::{Format, Program};
use super::resources::Resources;
use super::strings::Strings;
use crate::bytecode::MAGIC;
use crate::bytecode::container::{DIALECT_VERSIONS, OP_COUNT};
use crate::bytecode::file::PROPERTIES;
use crate::bytecode::reader::section;

/// Writes a file.
pub(super) fn write(program: &Program<'_>, format: &Format) -> Result<Vec<u8>, Diagnostic> {
    let resources = Resources::read(program.resources.unwrap_or(""))?;
    let mut numbering = Numbering::new(program, format);
    let resources = resources.ordered(program, &mut numbering);
    let mut strings = Strings::default();
    let mut out = Bytes::default();
    out.raw(MAGIC);
    out.varint(format.version);
    out.terminated(format.producer.as_bytes());
    out.section(section::DIALECT, dialects(program, format, &numbering, &mut strings));
    let (offsets, entries) = attrs_and_types(program, &numbering, &resources.numbers, &mut strings);
    out.section(section::ATTR_TYPE_OFFSET, offsets);
    out.section(section::ATTR_TYPE, entries);
    let mut body = Body::new(program, format, &numbering);
    out.section(section::IR, body.section());
    let (offsets, contents) = resources.sections(&mut strings);
    out.section(section::RESOURCE_OFFSET, offsets);
    out.section(section::RESOURCE, contents);
    out.section(section::STRING, strings.section());
    if format.version >= PROPERTIES {
        out.section(section::PROPERTIES, body.properties());
    }
    Ok(out.finish())
}

/// Writes entries in groups of the same dialect: the dialect, the number of entries, and the entries.
fn groups<'p, T: Copy>(out: &mut Bytes<'p>, entries: &[Entry<T>], mut write: impl FnMut(&mut Bytes<'p>, T)) {
    for group in entries.chunk_by(|a, b| a.dialect == b.dialect) {
        out.varint(group.first().map_or(0, |entry| u64::from(entry.dialect)));
        out.varint(group.len() as u64);
        group.iter().for_each(|entry| write(out, entry.item));
    }
}

fn dialects<'p>(
    program: &'p Program<'_>,
    format: &Format,
    numbering: &Numbering<'p, '_>,
    strings: &mut Strings<'p>,
) -> Bytes<'p> {
    let mut out = Bytes::default();
    out.varint(numbering.dialects.len() as u64);
    for dialect in &numbering.dialects {
        let name = strings.number(dialect.as_bytes());
        if format.version < DIALECT_VERSIONS {
            out.varint(name);
        } else {
            // No version follows.
            out.flagged(name, false);
        }
    }
    if format.version >= OP_COUNT {
        out.varint(numbering.names.entries.len() as u64);
    }
    groups(&mut out, &numbering.names.entries, |out, name: StrRef| {
        let full = program.nodes.text(name);
        let number = strings.number(full.split_once('.').map_or("", |(_, name)| name).as_bytes());
        if format.version < PROPERTIES {
            out.varint(number);
        } else {
            out.flagged(number, program.registered.contains(&name));
        }
    });
    out
}

/// Writes the sizes and the contents of attributes and types.
fn attrs_and_types<'p>(
    program: &'p Program<'_>,
    numbering: &Numbering<'p, '_>,
    resources: &FxHashMap<StrRef, u64>,
    strings: &mut Strings<'p>,
) -> (Bytes<'p>, Bytes<'p>) {
    let (mut offsets, mut entries) = (Bytes::default(), Bytes::default());
    offsets.varint(numbering.attrs.entries.len() as u64);
    offsets.varint(numbering.types.entries.len() as u64);
    let mut entry = |offsets: &mut Bytes<'_>, node: Option<&'p Node<'_>>| {
        let start = entries.len();
        let coded = match node {
            Some(Node::Coded { fields, .. }) => {
                for field in fields {
                    push(program, numbering, resources, strings, &mut entries, field);
                }
                true
            }
            Some(Node::Text { text, .. }) => {
                entries.terminated(program.nodes.bytes(*text));
                false
            }
            None => false,
        };
        offsets.flagged((entries.len() - start) as u64, coded);
    };
    groups(&mut offsets, &numbering.attrs.entries, |out, at| entry(out, program.nodes.attr_at(at)));
    groups(&mut offsets, &numbering.types.entries, |out, at| entry(out, program.nodes.type_at(at)));
    (offsets, entries)
}

fn push<'p>(
    program: &'p Program<'_>,
    numbering: &Numbering<'p, '_>,
    resources: &FxHashMap<StrRef, u64>,
    strings: &mut Strings<'p>,
    out: &mut Bytes<'p>,
    field: &'p Field<'_>,
) {
    match field {
        Field::Int(value) => out.varint(*value),
        Field::Signed(value) => out.svarint(*value),
        Field::Byte(byte) => out.byte(*byte),
        Field::Attr(at) => out.varint(numbering.attrs.place(at.0)),
        Field::OptAttr(None) => out.varint(0),
        Field::OptAttr(Some(at)) => out.flagged(numbering.attrs.place(at.0), true),
        Field::Type(at) => out.varint(numbering.types.place(at.0)),
        Field::Str(text) => out.varint(strings.number(program.nodes.bytes(*text))),
        Field::Resource(key) => out.varint(resources.get(key).copied().unwrap_or(0)),
        Field::Blob(bytes) => {
            out.varint(bytes.len() as u64);
            out.borrowed(bytes);
        }
        Field::Identity(_) => {}
    }
}
