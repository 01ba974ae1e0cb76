//! What a module holds as text: parts that no pass could work on, which must not be lost either.

use cranelift_entity::packed_option::PackedOption;

use crate::{AttrDict, Diagnostic, LocId, Span};

/// Why a part of a module is kept as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptKind {
    /// It is a module of its own.
    Module,
    /// It is a function with branches between blocks.
    Branches,
    /// It is a function that is written with the syntax of another dialect.
    Foreign,
    /// It is another operation.
    Other,
}

/// Something at the top level of a module that is kept as text, with aliases expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Why it is kept.
    pub kind: KeptKind,
    /// The symbol that it defines, without `@`, if any.
    pub name: Option<Box<str>>,
    /// The text, without the blanks before its first line.
    pub text: Box<str>,
    /// Number of functions above it.
    pub funcs_above: u32,
    /// Number of meshes and of what is kept as text above it.
    pub others_above: u32,
    /// In the source text, what it is kept for: its first operation that is not read, or itself.
    pub span: Span,
}

impl Kept {
    /// What it is, for messages: `the function @f with branches between blocks`.
    #[must_use]
    pub fn describe(&self) -> String {
        let name = self.name.as_deref().map(|name| format!(" @{name}")).unwrap_or_default();
        match self.kind {
            KeptKind::Module => format!("the module{name} inside the module"),
            KeptKind::Branches => format!("the function{name} with branches between blocks"),
            KeptKind::Foreign => format!("the function{name} with this operation of another dialect"),
            KeptKind::Other if name.is_empty() => "this operation".to_owned(),
            KeptKind::Other => format!("the operation that defines{name}"),
        }
    }

    /// The error that what needs this part gives.
    #[must_use]
    pub fn unsupported(&self, code: &'static str) -> Diagnostic {
        let message = format!("shardc passes {} on as text and cannot work on it", self.describe());
        let error = Diagnostic::unsupported(code, message).at(self.span);
        match self.kind {
            KeptKind::Module => error.hint("write what it holds into the outer module"),
            KeptKind::Branches => error
                .hint("StableHLO's control flow is `while`, `case` and `if`, not branches between blocks"),
            KeptKind::Foreign | KeptKind::Other => error.hint("lower it to StableHLO first"),
        }
    }
}

/// A module around the one that shardc works on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Enclosing {
    /// Name, without `@`.
    pub name: Option<Box<str>>,
    /// Attributes.
    pub attrs: AttrDict,
    /// The location that the text gives it, if any.
    pub loc: PackedOption<LocId>,
    /// Texts of what stands above the inner module.
    pub above: Vec<Box<str>>,
    /// Texts of what stands below it.
    pub below: Vec<Box<str>>,
}
