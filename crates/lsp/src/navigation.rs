//! Definitions, references and symbols.

use std::ops::Range;

use lsp_types::{DocumentSymbol, SymbolKind as LspSymbolKind};
use shardc::stablehlo::{SourceIndex, SymbolDefinition, SymbolKind};

use crate::analysis::{Parsed, bytes};

/// The name at a position.
enum Named<'a> {
    /// The index of the definition of a value.
    Value(usize),
    Symbol(SymbolKind, &'a str),
}

fn named(index: &SourceIndex, offset: usize) -> Option<Named<'_>> {
    let value = index.use_at(offset).map(|used| used.definition).or_else(|| index.definition_at(offset));
    match value {
        Some(definition) => Some(Named::Value(definition)),
        None => index.symbol_at(offset).map(|(kind, name, _)| Named::Symbol(kind, name)),
    }
}

/// The position of the definition of the name at an offset.
pub(crate) fn definition(index: &SourceIndex, offset: usize) -> Option<Range<usize>> {
    match named(index, offset)? {
        Named::Value(at) => index.definitions().get(at).map(|definition| bytes(definition.span)),
        Named::Symbol(kind, name) => index.symbol(kind, name).map(|symbol| bytes(symbol.span)),
    }
}

/// The uses of the name at an offset, after its definition if `with_definition`.
pub(crate) fn references(index: &SourceIndex, offset: usize, with_definition: bool) -> Vec<Range<usize>> {
    let Some(found) = named(index, offset) else { return Vec::new() };
    let mut out: Vec<Range<usize>> =
        definition(index, offset).filter(|_| with_definition).into_iter().collect();
    match found {
        Named::Value(at) => {
            let uses = index.uses().iter().filter(|used| used.definition == at);
            out.extend(uses.map(|used| bytes(used.span)));
        }
        Named::Symbol(kind, name) => {
            let uses = index.symbol_uses().iter().filter(|used| used.kind == kind && &*used.name == name);
            out.extend(uses.map(|used| bytes(used.span)));
        }
    }
    out
}

/// The functions and meshes.
pub(crate) fn symbols(parsed: &Parsed) -> Vec<DocumentSymbol> {
    let symbols = parsed.programs().flat_map(|(_, program)| program.index.symbols());
    symbols.map(|symbol| document_symbol(parsed, symbol)).collect()
}

#[expect(deprecated, reason = "the struct has no constructor without this field")]
fn document_symbol(parsed: &Parsed, symbol: &SymbolDefinition) -> DocumentSymbol {
    DocumentSymbol {
        name: format!("@{}", symbol.name),
        detail: None,
        kind: match symbol.kind {
            SymbolKind::Function => LspSymbolKind::FUNCTION,
            SymbolKind::Mesh => LspSymbolKind::OBJECT,
        },
        tags: None,
        deprecated: None,
        range: parsed.text.range(bytes(symbol.extent)),
        selection_range: parsed.text.range(bytes(symbol.span)),
        children: None,
    }
}
