//! The names of a program in text form: the positions at which values, functions and meshes are defined and used.

use shardc_ir::{Span, ValueId};

/// The definition of a value name: `%x`, or `%x:2`, which defines several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueDefinition {
    /// The position of `%x`, without the number of values.
    pub span: Span,
    /// The first of the consecutive values; `None` if the operation that defines them has an error.
    pub first: Option<ValueId>,
    /// The number of values.
    pub count: u32,
}

impl ValueDefinition {
    /// The value at an index among the values of the definition.
    #[must_use]
    pub fn value(&self, index: u32) -> Option<ValueId> {
        let first = self.first.filter(|_| index < self.count)?;
        first.as_u32().checked_add(index).map(ValueId::from_u32)
    }
}

/// The use of a value: `%x` or `%x#1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueUse {
    /// The position of the use, including the number of the result.
    pub span: Span,
    /// The index in [`SourceIndex::definitions`].
    pub definition: usize,
    /// The index of the value among those of the definition.
    pub result: u32,
}

/// The kind of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A mesh.
    Mesh,
}

/// The definition of a symbol: `@main`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolDefinition {
    /// Function or mesh.
    pub kind: SymbolKind,
    /// The name, without `@`.
    pub name: Box<str>,
    /// The position of the name.
    pub span: Span,
    /// The position of the whole definition.
    pub extent: Span,
}

/// The use of a symbol, which may be undefined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolUse {
    /// Function or mesh.
    pub kind: SymbolKind,
    /// The name, without `@`.
    pub name: Box<str>,
    /// The position of the name.
    pub span: Span,
}

/// The names of a program. Each list is in the order of the text, and its spans do not overlap, except for the extents of symbols.
///
/// ```
/// use shardc_stablehlo::parse_indexed;
///
/// let text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }";
/// let (module, index) = parse_indexed(text);
/// assert!(module.is_ok());
/// let found = index.use_at(text.rfind("%x").unwrap()).unwrap();
/// assert_eq!(index.definitions()[found.definition].span.start as usize, text.find("%x").unwrap());
/// ```
#[derive(Clone, Debug, Default)]
pub struct SourceIndex {
    definitions: Vec<ValueDefinition>,
    uses: Vec<ValueUse>,
    symbols: Vec<SymbolDefinition>,
    symbol_uses: Vec<SymbolUse>,
}

/// Whether a span contains an offset. The end counts as inside, because a cursor may be after the last character of a name.
fn contains(span: Span, offset: usize) -> bool {
    (span.start as usize..=span.end as usize).contains(&offset)
}

/// The element of a list in the order of the text whose span contains an offset.
fn find<T>(list: &[T], offset: usize, span: impl Fn(&T) -> Span) -> Option<usize> {
    let after = list.partition_point(|item| span(item).start as usize <= offset);
    let at = after.checked_sub(1)?;
    list.get(at).filter(|item| contains(span(item), offset)).map(|_| at)
}

impl SourceIndex {
    /// The definitions of values.
    #[must_use]
    pub fn definitions(&self) -> &[ValueDefinition] {
        &self.definitions
    }

    /// The uses of values.
    #[must_use]
    pub fn uses(&self) -> &[ValueUse] {
        &self.uses
    }

    /// The definitions of functions and meshes.
    #[must_use]
    pub fn symbols(&self) -> &[SymbolDefinition] {
        &self.symbols
    }

    /// The uses of functions and meshes.
    #[must_use]
    pub fn symbol_uses(&self) -> &[SymbolUse] {
        &self.symbol_uses
    }

    /// The index of the definition whose name contains a byte offset.
    #[must_use]
    pub fn definition_at(&self, offset: usize) -> Option<usize> {
        find(&self.definitions, offset, |definition| definition.span)
    }

    /// The use that contains a byte offset.
    #[must_use]
    pub fn use_at(&self, offset: usize) -> Option<ValueUse> {
        find(&self.uses, offset, |used| used.span).and_then(|at| self.uses.get(at)).copied()
    }

    /// The definitions whose names begin in a range of bytes.
    #[must_use]
    pub fn definitions_in(&self, range: std::ops::Range<usize>) -> &[ValueDefinition] {
        let at = |offset: usize| self.definitions.partition_point(|item| (item.span.start as usize) < offset);
        self.definitions.get(at(range.start)..at(range.end)).unwrap_or_default()
    }

    /// The function or mesh whose name, at its definition or at a use, contains a byte offset, with the position of that name.
    #[must_use]
    pub fn symbol_at(&self, offset: usize) -> Option<(SymbolKind, &str, Span)> {
        let defined = find(&self.symbols, offset, |symbol| symbol.span).and_then(|at| self.symbols.get(at));
        let used =
            || find(&self.symbol_uses, offset, |symbol| symbol.span).and_then(|at| self.symbol_uses.get(at));
        match defined {
            Some(symbol) => Some((symbol.kind, &*symbol.name, symbol.span)),
            None => used().map(|symbol| (symbol.kind, &*symbol.name, symbol.span)),
        }
    }

    /// The definition of a function or mesh.
    #[must_use]
    pub fn symbol(&self, kind: SymbolKind, name: &str) -> Option<&SymbolDefinition> {
        self.symbols.iter().find(|symbol| symbol.kind == kind && &*symbol.name == name)
    }
}

/// Collects the names while the text is parsed, in any order and possibly several times: the value of an alias is parsed at each use.
#[derive(Debug, Default)]
pub(crate) struct IndexBuilder {
    definitions: Vec<ValueDefinition>,
    /// The span of the use, the span of the definition, and the index of the value.
    uses: Vec<(Span, Span, u32)>,
    symbols: Vec<SymbolDefinition>,
    symbol_uses: Vec<SymbolUse>,
}

impl IndexBuilder {
    pub(crate) fn define(&mut self, span: Span, first: Option<ValueId>, count: u32) {
        self.definitions.push(ValueDefinition { span, first, count });
    }

    pub(crate) fn add_use(&mut self, span: Span, definition: Span, result: u32) {
        self.uses.push((span, definition, result));
    }

    /// Adds a symbol. Its extent is its name, until [`IndexBuilder::set_extent`].
    pub(crate) fn define_symbol(&mut self, kind: SymbolKind, name: &str, span: Span) {
        self.symbols.push(SymbolDefinition { kind, name: name.into(), span, extent: span });
    }

    /// Sets the extent of the last symbol, if its name is in this extent.
    pub(crate) fn set_extent(&mut self, extent: Span) {
        if let Some(symbol) = self.symbols.last_mut().filter(|symbol| symbol.span.start >= extent.start) {
            symbol.extent = extent;
        }
    }

    pub(crate) fn use_symbol(&mut self, kind: SymbolKind, name: &str, span: Span) {
        self.symbol_uses.push(SymbolUse { kind, name: name.into(), span });
    }

    pub(crate) fn finish(self) -> SourceIndex {
        let IndexBuilder { mut definitions, mut uses, mut symbols, mut symbol_uses } = self;
        // The arguments of a loop are defined in both of its regions. Those of the body are later, and are kept.
        definitions.reverse();
        definitions.sort_by_key(|definition| definition.span.start);
        definitions.dedup_by_key(|definition| definition.span.start);
        uses.sort_by_key(|(span, ..)| span.start);
        uses.dedup_by_key(|(span, ..)| span.start);
        symbols.sort_by_key(|symbol| symbol.span.start);
        symbols.dedup_by_key(|symbol| symbol.span.start);
        symbol_uses.sort_by_key(|symbol| symbol.span.start);
        symbol_uses.dedup_by_key(|symbol| symbol.span.start);
        let uses = uses.into_iter().filter_map(|(span, definition, result)| {
            let at = definitions.binary_search_by_key(&definition.start, |found| found.span.start).ok()?;
            Some(ValueUse { span, definition: at, result })
        });
        SourceIndex { uses: uses.collect(), definitions, symbols, symbol_uses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_indexed;

    /// The text at a span.
    fn at(text: &str, span: Span) -> &str {
        &text[span.start as usize..span.end as usize]
    }

    /// Each use as text, with the definition and the index of the value.
    fn uses(text: &str, index: &SourceIndex) -> Vec<(String, String, u32)> {
        let definition = |used: &ValueUse| at(text, index.definitions()[used.definition].span).to_owned();
        index
            .uses()
            .iter()
            .map(|used| (at(text, used.span).to_owned(), definition(used), used.result))
            .collect()
    }

    #[test]
    fn values_and_symbols_are_found() {
        let text = r#"#s = #sdy.sharding<@mesh, [{"a"}]>
sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<4xf32> {sdy.sharding = #s}, %y: tensor<4xf32> {sdy.sharding = #s}) -> tensor<4xf32> {
  %0:2 = call @pair(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1 = "func.call"(%0#1) <{callee = @one}> : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @pair(tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func private @one(tensor<4xf32>) -> tensor<4xf32>
"#;
        let (module, index) = parse_indexed(text);
        let module = module.unwrap();
        let expected = [("%x", "%x", 0), ("%0#1", "%0", 1), ("%1", "%1", 0)];
        assert_eq!(
            uses(text, &index),
            expected.map(|(used, definition, result)| (used.to_owned(), definition.to_owned(), result))
        );
        let symbols: Vec<_> = index.symbols().iter().map(|symbol| (symbol.kind, &*symbol.name)).collect();
        let (function, mesh) = (SymbolKind::Function, SymbolKind::Mesh);
        assert_eq!(symbols, [(mesh, "mesh"), (function, "main"), (function, "pair"), (function, "one")]);
        let main = index.symbol(function, "main").unwrap();
        assert!(
            at(text, main.extent).starts_with("func.func @main(") && at(text, main.extent).ends_with('}')
        );
        assert_eq!(at(text, main.span), "@main");
        let used: Vec<_> = index.symbol_uses().iter().map(|symbol| &*symbol.name).collect();
        assert_eq!(used, ["mesh", "pair", "one"], "the alias is parsed twice, but is one use");
        let pair = index.definitions().iter().find(|definition| definition.count == 2).unwrap();
        assert_eq!(
            module.values[pair.first.unwrap()].def(),
            shardc_ir::ValueDef::Result(shardc_ir::OpId::from_u32(0), 0)
        );
        assert_eq!(index.symbol_at(text.find("@pair").unwrap() + 5).map(|found| found.1), Some("pair"));
        assert_eq!(index.symbol_at(0), None);
    }

    #[test]
    fn loop_arguments_are_those_of_the_body() {
        let text = "func.func @main(%n: tensor<i1>) -> tensor<i1> {
  %r = stablehlo.while(%i = %n) : tensor<i1>
  cond { stablehlo.return %i : tensor<i1> } do { stablehlo.return %i : tensor<i1> }
  return %r : tensor<i1>
}";
        let (module, index) = parse_indexed(text);
        let module = module.unwrap();
        let i = index.definition_at(text.find("%i").unwrap()).unwrap();
        assert_eq!(index.uses().iter().filter(|used| used.definition == i).count(), 2);
        let shardc_ir::ValueDef::Arg(region, 0) = module.values[index.definitions()[i].first.unwrap()].def()
        else {
            panic!("an argument");
        };
        let entry = module.funcs[module.entry().unwrap()].body.unwrap();
        let op = module.regions[entry].ops[0];
        assert_eq!(module.ops[op].regions[1], region);
    }

    #[test]
    fn a_program_with_errors_has_an_index() {
        let text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.ad
  %1 = stablehlo.add %x, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}";
        let (module, index) = parse_indexed(text);
        assert!(module.is_err());
        let found: Vec<_> = uses(text, &index).into_iter().map(|(used, ..)| used).collect();
        assert_eq!(found, ["%x", "%0", "%1"]);
        let broken = index.definition_at(text.find("%0").unwrap()).unwrap();
        assert_eq!(index.definitions()[broken].first, None);
    }
}
