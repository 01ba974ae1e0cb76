//! Conversion of attributes and types to MLIR: from text, parsed once, and from the IR's attribute trees.

use std::collections::HashMap;

use melior::{
    Context,
    ir::{
        Attribute, Identifier, Type,
        attribute::{ArrayAttribute, DictionaryAttribute, FlatSymbolRefAttribute, StringAttribute},
    },
};
use shardc_ir::{Attr, AttrDict, Class, Diagnostic, Module, SecondaryMap, TypeId};

use crate::session::Session;

/// A limit on nested brackets, since MLIR parses them recursively and could overflow its stack.
const MAX_NESTING: usize = 200;

/// A named attribute.
pub(crate) type Named<'c> = (Identifier<'c>, Attribute<'c>);

/// Converts attributes and types to MLIR, and caches them: attributes by their text, and types by their handle. The maps are never
/// iterated, since their order is not deterministic.
pub(crate) struct Attrs<'c> {
    session: &'c Session,
    by_text: HashMap<Box<str>, Attribute<'c>>,
    types: SecondaryMap<TypeId, Option<Type<'c>>>,
}

impl<'c> Attrs<'c> {
    pub(crate) fn new(session: &'c Session) -> Self {
        Attrs { session, by_text: HashMap::new(), types: SecondaryMap::new() }
    }

    pub(crate) fn context(&self) -> &'c Context {
        &self.session.context
    }

    /// A diagnostic with the message `what` and MLIR's errors.
    pub(crate) fn failure(&self, code: &'static str, what: impl Into<String>) -> Diagnostic {
        self.session.failure(code, what)
    }

    /// Parses an attribute.
    pub(crate) fn parse(&mut self, text: &str) -> Result<Attribute<'c>, Diagnostic> {
        if let Some(&known) = self.by_text.get(text) {
            return Ok(known);
        }
        check_nesting(text)?;
        let Some(attribute) = Attribute::parse(self.context(), text) else {
            return Err(self.failure("SH0502", format!("MLIR cannot parse the attribute `{}`", cut(text))));
        };
        self.by_text.insert(text.into(), attribute);
        Ok(attribute)
    }

    /// The MLIR type of a type handle.
    pub(crate) fn ty(&mut self, module: &Module, id: TypeId) -> Result<Type<'c>, Diagnostic> {
        if let Some(known) = self.types[id] {
            return Ok(known);
        }
        let text = module.types.display(id);
        check_nesting(&text)?;
        let Some(ty) = Type::parse(self.context(), &text) else {
            return Err(self.failure("SH0503", format!("MLIR cannot parse the type `{}`", cut(&text))));
        };
        self.types[id] = Some(ty);
        Ok(ty)
    }

    /// The MLIR types of type handles.
    pub(crate) fn tys(
        &mut self,
        module: &Module,
        ids: impl IntoIterator<Item = TypeId>,
    ) -> Result<Vec<Type<'c>>, Diagnostic> {
        ids.into_iter().map(|id| self.ty(module, id)).collect()
    }

    /// The name of an attribute.
    pub(crate) fn name(&self, name: &str) -> Result<Identifier<'c>, Diagnostic> {
        if name.is_empty() {
            return Err(Diagnostic::invalid("SH0502", "an attribute has an empty name"));
        }
        Ok(Identifier::new(self.context(), name))
    }

    /// A string attribute.
    pub(crate) fn string(&self, text: &str) -> Attribute<'c> {
        StringAttribute::new(self.context(), text).into()
    }

    /// `@name`.
    pub(crate) fn symbol(&self, name: &str) -> Attribute<'c> {
        FlatSymbolRefAttribute::new(self.context(), name).into()
    }

    /// `[...]`.
    pub(crate) fn array(&self, items: &[Attribute<'c>]) -> Attribute<'c> {
        ArrayAttribute::new(self.context(), items).into()
    }

    /// `{...}`.
    pub(crate) fn dict(&self, entries: &[Named<'c>]) -> Attribute<'c> {
        DictionaryAttribute::new(self.context(), entries).into()
    }

    /// Converts an attribute tree.
    pub(crate) fn attr(&mut self, attr: &Attr) -> Result<Attribute<'c>, Diagnostic> {
        self.nested(attr, 0)
    }

    fn nested(&mut self, attr: &Attr, depth: usize) -> Result<Attribute<'c>, Diagnostic> {
        if depth > MAX_NESTING {
            return Err(too_deep());
        }
        Ok(match attr {
            Attr::Unit => Attribute::unit(self.context()),
            Attr::Bool(value) => self.parse(if *value { "true" } else { "false" })?,
            Attr::Int(value, ty) if ty.is_empty() => self.parse(&value.to_string())?,
            Attr::Int(value, ty) => self.parse(&format!("{value} : {ty}"))?,
            Attr::Str(text) => self.string(text),
            Attr::Array(items) => {
                let items: Result<Vec<_>, _> =
                    items.iter().map(|item| self.nested(item, depth + 1)).collect();
                self.array(&items?)
            }
            Attr::Dict(entries) => {
                let entries = self.entries(entries, depth + 1)?;
                self.dict(&entries)
            }
            Attr::Symbol(name) => self.symbol(name),
            // This text comes from the user, so an error in it is not an internal error.
            Attr::Raw(text) => {
                self.parse(text).map_err(|d| Diagnostic { class: Class::InvalidInput, ..d })?
            }
        })
    }

    fn entries(&mut self, dict: &AttrDict, depth: usize) -> Result<Vec<Named<'c>>, Diagnostic> {
        let mut out: Vec<Named<'c>> = Vec::with_capacity(dict.len());
        for (name, attr) in dict.iter() {
            let name = self.name(name)?;
            let attr = self.nested(attr, depth)?;
            push_new(&mut out, name, attr);
        }
        Ok(out)
    }
}

/// Appends a named attribute unless the list has one with that name: names in MLIR's dictionaries are unique.
pub(crate) fn push_new<'c>(out: &mut Vec<Named<'c>>, name: Identifier<'c>, attribute: Attribute<'c>) {
    if out.iter().all(|(known, _)| *known != name) {
        out.push((name, attribute));
    }
}

fn check_nesting(text: &str) -> Result<(), Diagnostic> {
    let mut depth = 0usize;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' | b'(' | b'<' => depth += 1,
            b']' | b'}' | b')' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(too_deep());
        }
    }
    Ok(())
}

fn too_deep() -> Diagnostic {
    Diagnostic::unsupported(
        "SH0507",
        format!("an attribute or type has more than {MAX_NESTING} levels of nesting"),
    )
}

/// Truncates a long text.
fn cut(text: &str) -> String {
    const LIMIT: usize = 120;
    match text.char_indices().nth(LIMIT) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}
