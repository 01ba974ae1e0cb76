//! Parts of a module that are kept as text: no pass supports them, but they must not be lost.

use cranelift_entity::packed_option::PackedOption;

use crate::{AttrDict, Diagnostic, LocId, Span};

/// Why a part of a module is kept as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptKind {
    /// The part is a nested module.
    Module,
    /// The part is a function with branches between blocks.
    Branches,
    /// The part is a function in the syntax of another dialect.
    Foreign,
    /// The part is any other operation.
    Other,
}

/// A top-level part of a module that is kept as text, with aliases expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Why this part is kept as text.
    pub kind: KeptKind,
    /// The symbol that this part defines, without `@`, if any.
    pub name: Option<Box<str>>,
    /// The text, without leading whitespace.
    pub text: Box<str>,
    /// The number of functions that precede this part in the text.
    pub funcs_above: u32,
    /// The number of meshes and of parts kept as text that precede this part in the text.
    pub others_above: u32,
    /// The position of the first operation of this part that is not supported, or of the part itself.
    pub span: Span,
}

impl Kept {
    /// A description for messages: `the function @f with branches between blocks`.
    #[must_use]
    pub fn describe(&self) -> String {
        let name = self.name.as_deref().map(|name| format!(" @{name}")).unwrap_or_default();
        match self.kind {
            KeptKind::Module => format!("the nested module{name}"),
            KeptKind::Branches => format!("the function{name} with branches between blocks"),
            KeptKind::Foreign => format!("the function{name} with this operation of another dialect"),
            KeptKind::Other if name.is_empty() => "this operation".to_owned(),
            KeptKind::Other => format!("the operation that defines{name}"),
        }
    }

    /// Returns the error to report if a pass needs this part.
    #[must_use]
    pub fn unsupported(&self, code: &'static str) -> Diagnostic {
        let message = format!("shardc keeps {} as text and cannot compile it", self.describe());
        let error = Diagnostic::unsupported(code, message).at(self.span);
        match self.kind {
            KeptKind::Module => error.hint("move its contents to the outer module"),
            KeptKind::Branches => error
                .hint("replace branches between blocks by stablehlo.while, stablehlo.case or stablehlo.if"),
            KeptKind::Foreign | KeptKind::Other => error.hint("lower the operation to StableHLO first"),
        }
    }
}

/// A module that encloses the one that shardc compiles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Enclosing {
    /// The module's name, without `@`.
    pub name: Option<Box<str>>,
    /// The module's attributes.
    pub attrs: AttrDict,
    /// The MLIR location (`loc(...)`), if any.
    pub loc: PackedOption<LocId>,
    /// The texts that precede the inner module.
    pub above: Vec<Box<str>>,
    /// The texts that follow the inner module.
    pub below: Vec<Box<str>>,
}
