//! The sections of a file. Strings and entries are borrowed from the file's bytes.

use std::borrow::Cow;
use std::fmt::Write as _;

use shardc_ir::Diagnostic;

use super::attr::{BAttr, BType, Store};
use super::dialect::{DialectCursor, reader_of};
use super::file::{File, OpName, PROPERTIES};
use super::ir::Ir;
use super::reader::{ByteCursor, section};
use super::{MAGIC, body, vhlo};
use crate::codes;
use crate::lexer::Res;
use crate::literals::tokens::{is_bare, push_escaped, push_hex};
use crate::parser::records::is_whole_attr;

/// The newest supported version of the format.
pub(super) const NEWEST: u64 = 6;

/// From this version on, dialects may have versions.
pub(super) const DIALECT_VERSIONS: u64 = 1;

/// From this version on, the number of operation names is encoded.
pub(super) const OP_COUNT: u64 = 4;

/// The maximum number of table entries for which memory is reserved before they are read.
const RESERVED: usize = 1 << 16;

/// A dialect that the file lists.
#[derive(Clone, Copy, Debug)]
struct DialectEntry<'b> {
    name: &'b str,
}

type Sections<'b> = [Option<ByteCursor<'b>>; section::COUNT];

/// Decodes a file.
pub(super) fn read(bytes: &[u8]) -> Res<Ir<'_>> {
    let mut c = ByteCursor::new(bytes, 0);
    if c.bytes(MAGIC.len() as u64).ok() != Some(MAGIC) {
        return Err(ByteCursor::new(bytes, 0).malformed("expected the bytes `ML\\xEFR` of MLIR bytecode"));
    }
    let version = version(&mut c)?;
    let producer = producer_text(&mut c)?;
    // All sections are located before decoding starts: the format does not fix their order, and they refer to each other.
    let mut sections: Sections<'_> = [None; section::COUNT];
    while !c.at_end() {
        let place = c;
        let (id, contents) = c.section()?;
        if sections.get(usize::from(id)).is_some_and(Option::is_some) {
            let message = format!("expected one {} section, found a second one", section::name(id));
            return Err(place.malformed(message));
        }
        if let Some(slot) = sections.get_mut(usize::from(id)) {
            *slot = Some(contents);
        }
    }
    let need = |id: u8| {
        sections.get(usize::from(id)).copied().flatten().ok_or_else(|| {
            let message =
                format!("the bytecode ends at byte {} without a {} section", bytes.len(), section::name(id));
            Diagnostic::invalid(codes::TRUNCATED, message)
        })
    };
    let strings = strings(need(section::STRING)?)?;
    let (dialects, ops) = dialects(need(section::DIALECT)?, version, &strings)?;
    vhlo::check_operations(producer, ops.iter().map(|op| &*op.name))?;
    let properties = match sections[usize::from(section::PROPERTIES)] {
        Some(contents) => properties(contents)?,
        None => Vec::new(),
    };
    let resources =
        match (sections[usize::from(section::RESOURCE)], sections[usize::from(section::RESOURCE_OFFSET)]) {
            (Some(contents), Some(offsets)) => resources(contents, offsets, &dialects, &strings)?,
            (None, None) => Resources::default(),
            (Some(only), None) | (None, Some(only)) => {
                return Err(
                    only.malformed("expected a resource section and a resource offset section, or neither")
                );
            }
        };
    let entries = (need(section::ATTR_TYPE)?, need(section::ATTR_TYPE_OFFSET)?);
    let store = attrs_and_types(entries.0, entries.1, &dialects, &strings, &resources.keys)?;
    let file = File { version, store, ops, properties };
    let mut ir = body::read(file, need(section::IR)?)?;
    ir.resources = resources.text;
    Ok(ir)
}

/// Returns the name of the program that wrote the file; empty if it is missing.
pub(super) fn producer(bytes: &[u8]) -> &str {
    let mut c = ByteCursor::new(bytes, 0);
    let mut name = || {
        c.bytes(MAGIC.len() as u64)?;
        c.varint()?;
        producer_text(&mut c)
    };
    name().unwrap_or("")
}

fn producer_text<'b>(c: &mut ByteCursor<'b>) -> Res<&'b str> {
    Ok(std::str::from_utf8(c.until_zero()?).unwrap_or(""))
}

fn version(c: &mut ByteCursor<'_>) -> Res<u64> {
    let version = c.varint()?;
    if version > NEWEST {
        let message =
            format!("the input is MLIR bytecode of version {version}; shardc reads versions 0 to {NEWEST}");
        return Err(Diagnostic::unsupported(codes::VERSION, message)
            .hint(format!("write the file with version {NEWEST} or older: `desired_version={NEWEST}` in MLIR's Python API"))
            .into());
    }
    Ok(version)
}

/// Reads the string section: lengths, last string first, then the strings, each with a terminating zero.
fn strings(mut c: ByteCursor<'_>) -> Res<Vec<&[u8]>> {
    let count = c.count("strings")?;
    let mut sizes = Vec::with_capacity(count.min(RESERVED));
    for _ in 0..count {
        let place = c;
        let size = c.varint()?;
        if size == 0 {
            return Err(place.malformed("expected the size of a string, at least 1"));
        }
        sizes.push(size);
    }
    let mut strings = Vec::with_capacity(count.min(RESERVED));
    for &size in sizes.iter().rev() {
        let place = c;
        match c.bytes(size)?.split_last() {
            Some((0, string)) => strings.push(string),
            _ => {
                return Err(
                    place.malformed(format!("expected a string of {size} bytes with a terminating zero"))
                );
            }
        }
    }
    c.end("the strings")?;
    Ok(strings)
}

fn string_at<'b>(c: &mut ByteCursor<'b>, strings: &[&'b [u8]]) -> Res<&'b [u8]> {
    let at = c.index(strings.len(), "a string")?;
    Ok(strings.get(at as usize).copied().unwrap_or(&[]))
}

fn name_at<'b>(place: ByteCursor<'b>, strings: &[&'b [u8]], at: u64) -> Res<&'b str> {
    let at = place.indexed(at, strings.len(), "a string")?;
    let bytes = strings.get(at as usize).copied().unwrap_or(&[]);
    std::str::from_utf8(bytes).map_err(|_| place.malformed("expected a UTF-8 name"))
}

fn dialects<'b>(
    mut c: ByteCursor<'b>,
    version: u64,
    strings: &[&'b [u8]],
) -> Res<(Vec<DialectEntry<'b>>, Vec<OpName>)> {
    let count = c.count("dialects")?;
    let mut dialects = Vec::with_capacity(count.min(RESERVED));
    for _ in 0..count {
        let place = c;
        let (at, versioned) = if version < DIALECT_VERSIONS { (c.varint()?, false) } else { c.flagged()? };
        let name = name_at(place, strings, at)?;
        if versioned {
            // Dialect versions are skipped: in all known dialects, the codes of entries never change.
            let place = c;
            let (id, _) = c.section()?;
            if id != section::DIALECT_VERSIONS {
                let message =
                    format!("expected the version of a dialect, found a {} section", section::name(id));
                return Err(place.malformed(message));
            }
        }
        dialects.push(DialectEntry { name });
    }
    if version >= OP_COUNT {
        c.count("operation names")?;
    }
    let mut ops = Vec::new();
    while !c.at_end() {
        let dialect = c.index(dialects.len(), "a dialect")?;
        let Some(dialect) = dialects.get(dialect as usize) else { continue };
        for _ in 0..c.count("operation names")? {
            let place = c;
            let (at, registered) = if version < PROPERTIES {
                (c.varint()?, None)
            } else {
                let (at, registered) = c.flagged()?;
                (at, Some(registered))
            };
            let name = match name_at(place, strings, at)? {
                "" => dialect.name.to_owned(),
                name => format!("{}.{name}", dialect.name),
            };
            ops.push(OpName { name, registered });
        }
    }
    Ok((dialects, ops))
}

fn properties(mut c: ByteCursor<'_>) -> Res<Vec<ByteCursor<'_>>> {
    if c.at_end() {
        return Ok(Vec::new());
    }
    let count = c.count("properties entries")?;
    let mut entries = Vec::with_capacity(count.min(RESERVED));
    for _ in 0..count {
        let size = c.varint()?;
        entries.push(c.part(size)?);
    }
    c.end("the properties")?;
    Ok(entries)
}

/// The resources of a file.
#[derive(Debug, Default)]
struct Resources<'b> {
    /// The keys of dialect resources, by index.
    keys: Vec<&'b [u8]>,
    /// All resources as text.
    text: Option<String>,
}

fn resources<'b>(
    mut c: ByteCursor<'b>,
    mut offsets: ByteCursor<'b>,
    dialects: &[DialectEntry<'b>],
    strings: &[&'b [u8]],
) -> Res<Resources<'b>> {
    let mut keys = Vec::new();
    let mut external = String::new();
    for _ in 0..offsets.count("resource groups")? {
        let name = string_at(&mut offsets, strings)?;
        // Attributes refer to dialect resources by index. External resources have no such index.
        resource_group(&mut c, &mut offsets, strings, name, &mut external, &mut Vec::new())?;
    }
    let mut internal = String::new();
    while !offsets.at_end() {
        let at = offsets.index(dialects.len(), "a dialect")?;
        let Some(dialect) = dialects.get(at as usize) else { continue };
        resource_group(&mut c, &mut offsets, strings, dialect.name.as_bytes(), &mut internal, &mut keys)?;
    }
    c.end("the resources")?;
    let mut groups = Vec::new();
    for (name, text) in [("dialect_resources", internal), ("external_resources", external)] {
        if !text.is_empty() {
            groups.push(format!("  {name}: {{\n{text}\n  }}"));
        }
    }
    let text = (!groups.is_empty()).then(|| format!("{{-#\n{}\n#-}}", groups.join(",\n")));
    Ok(Resources { keys, text })
}

/// Reads the resources of one dialect or external provider, and appends their text to `out`.
fn resource_group<'b>(
    c: &mut ByteCursor<'b>,
    offsets: &mut ByteCursor<'b>,
    strings: &[&'b [u8]],
    name: &[u8],
    out: &mut String,
    keys: &mut Vec<&'b [u8]>,
) -> Res<()> {
    let mut entries = String::new();
    for _ in 0..offsets.count("resources")? {
        let key = string_at(offsets, strings)?;
        let size = offsets.varint()?;
        let place = *offsets;
        let kind = offsets.byte()?;
        let mut entry = c.part(size)?;
        // The key is added first, because resources without contents also have an index.
        keys.push(key);
        if entry.at_end() {
            continue;
        }
        if !entries.is_empty() {
            entries.push_str(",\n");
        }
        entries.push_str("      ");
        push_key(&mut entries, key);
        entries.push_str(": ");
        match kind {
            0 => {
                let alignment = entry.varint()?;
                let length = entry.varint()?;
                // In the file, the bytes are aligned. In the text, the alignment precedes the bytes.
                let Some(alignment) = u32::try_from(alignment).ok().filter(|a| a.is_power_of_two()) else {
                    return Err(entry.malformed(format!("expected a power of two, found {alignment}")));
                };
                entry.align(u64::from(alignment))?;
                let bytes = entry.bytes(length)?;
                entries.reserve(bytes.len() * 2 + 16);
                entries.push_str("\"0x");
                push_hex(&mut entries, &alignment.to_le_bytes());
                push_hex(&mut entries, bytes);
                entries.push('"');
            }
            1 => entries.push_str(if entry.bool()? { "true" } else { "false" }),
            2 => {
                entries.push('"');
                push_escaped(&mut entries, string_at(&mut entry, strings)?);
                entries.push('"');
            }
            _ => {
                let message = format!("expected the kind of a resource from 0 to 2, found {kind}");
                return Err(place.malformed(message));
            }
        }
        entry.end("a resource")?;
    }
    if !entries.is_empty() {
        if !out.is_empty() {
            out.push_str(",\n");
        }
        out.push_str("    ");
        push_key(out, name);
        let _ = write!(out, ": {{\n{entries}\n    }}");
    }
    Ok(())
}

fn push_key(out: &mut String, key: &[u8]) {
    match std::str::from_utf8(key) {
        Ok(key) if is_bare(key) => out.push_str(key),
        _ => {
            out.push('"');
            push_escaped(out, key);
            out.push('"');
        }
    }
}

/// An attribute or type that is not yet decoded.
#[derive(Clone, Copy)]
struct Entry<'b> {
    cursor: ByteCursor<'b>,
    dialect: DialectEntry<'b>,
    encoded: bool,
}

fn attrs_and_types<'b>(
    mut c: ByteCursor<'b>,
    mut offsets: ByteCursor<'b>,
    dialects: &[DialectEntry<'b>],
    strings: &[&'b [u8]],
    resources: &[&'b [u8]],
) -> Res<Store<'b>> {
    let counts = (offsets.count("attributes")?, offsets.count("types")?);
    let attrs = entries(&mut c, &mut offsets, dialects, counts.0)?;
    let types = entries(&mut c, &mut offsets, dialects, counts.1)?;
    offsets.end("the offsets of attributes and types")?;
    let mut store = Store { attrs: Vec::with_capacity(attrs.len()), types: Vec::with_capacity(types.len()) };
    let cursor =
        |entry: &Entry<'b>| DialectCursor { cursor: entry.cursor, strings, resources, types: &[], counts };
    let read_type = |entry: &Entry<'b>, types: &[BType<'b>]| {
        let mut c = DialectCursor { types, ..cursor(entry) };
        let ty = if entry.encoded {
            let dialect = decoder(entry)?;
            (dialect.ty)(&mut c)?
        } else {
            BType::text(assembly(&mut c.cursor, "type")?)
        };
        c.cursor.end("a type").map(|()| ty)
    };
    // Decoding a quantized type requires its storage type, which may be a later entry.
    let mut again = Vec::new();
    for (at, entry) in types.iter().enumerate() {
        let ty = read_type(entry, &store.types).unwrap_or_else(|_| {
            again.push(at);
            BType::None
        });
        store.types.push(ty);
    }
    for at in again {
        let Some(entry) = types.get(at) else { continue };
        let ty = read_type(entry, &store.types)?;
        if let Some(slot) = store.types.get_mut(at) {
            *slot = ty;
        }
    }
    for entry in &attrs {
        let mut c = DialectCursor { types: &store.types, ..cursor(entry) };
        // All types are decoded by now; attributes need them.
        let attr = if entry.encoded {
            let dialect = decoder(entry)?;
            (dialect.attr)(&mut c)?
        } else {
            BAttr::text(assembly(&mut c.cursor, "attribute")?)
        };
        c.cursor.end("an attribute")?;
        store.attrs.push(attr);
    }
    Ok(store)
}

fn decoder(entry: &Entry<'_>) -> Res<&'static super::dialect::DialectReader> {
    reader_of(entry.dialect.name).ok_or_else(|| {
        let message = format!(
            "unknown encoding of the attributes and types of dialect `{}`, at byte {}",
            entry.dialect.name,
            entry.cursor.offset()
        );
        Diagnostic::unsupported(codes::ENCODING, message).hint("write the module as text").into()
    })
}

fn entries<'b>(
    c: &mut ByteCursor<'b>,
    offsets: &mut ByteCursor<'b>,
    dialects: &[DialectEntry<'b>],
    count: usize,
) -> Res<Vec<Entry<'b>>> {
    let mut entries = Vec::with_capacity(count.min(RESERVED));
    while entries.len() < count {
        let place = *offsets;
        let at = offsets.index(dialects.len(), "a dialect")?;
        let Some(&dialect) = dialects.get(at as usize) else { continue };
        let group = offsets.count("attributes or types")?;
        if group > count - entries.len() {
            let message =
                format!("expected at most {} attributes or types, found {group}", count - entries.len());
            return Err(place.malformed(message));
        }
        for _ in 0..group {
            let (size, encoded) = offsets.flagged()?;
            entries.push(Entry { cursor: c.part(size)?, dialect, encoded });
        }
    }
    Ok(entries)
}

/// Reads an attribute or type encoded as text. The text must be a single attribute or type; line breaks become spaces.
fn assembly<'b>(c: &mut ByteCursor<'b>, kind: &str) -> Res<Cow<'b, str>> {
    let place = *c;
    let bytes = c.until_zero()?;
    let text = std::str::from_utf8(bytes).map_err(|_| place.malformed("expected UTF-8 text"))?;
    let text = text.trim();
    let text: Cow<'b, str> =
        if text.contains('\n') { text.replace('\n', " ").into() } else { Cow::Borrowed(text) };
    let is_type = text.starts_with(|c: char| c == '!' || c == '(' || c.is_ascii_alphabetic());
    if !is_whole_attr(&text) || kind == "type" && !is_type {
        return Err(place.malformed(format!("expected the text of one {kind}, found `{text}`")));
    }
    Ok(text)
}
