//! The conversion of a program to VHLO, for portable artifacts: the reverse of [`vhlo`](crate::bytecode::vhlo), for a target version.
//!
//! * [`types`] and [`attrs`] convert types and attributes; [`split`] separates the members of structured attributes, and [`defaults`] adds
//!   the attributes that StableHLO omits.
//! * [`ops`] converts operations, in the newest version of each operation that the target has. An attribute that this version lacks must
//!   have its default value.
//! * [`casts`] connects VHLO with operations of other dialects, which stay unchanged.

mod attrs;
mod casts;
mod defaults;
mod ops;
mod split;
mod types;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Diagnostic, Module};

use super::lower::located;
use super::nodes::Nodes;
use super::program::Program;
use crate::bytecode::attr::{AttrRef, TypeRef};
use crate::bytecode::vhlo::Version;
use crate::codes;

/// Converts a program, which was lowered from `module`.
pub(super) fn convert(program: &mut Program<'_>, target: Version, module: &Module) -> Result<(), Diagnostic> {
    let Some(mut top) = program.top.take() else { return Ok(()) };
    let mut converter = Converter {
        nodes: std::mem::take(&mut program.nodes),
        target,
        attrs: FxHashMap::default(),
        types: FxHashMap::default(),
        checked_attrs: FxHashSet::default(),
        checked_types: FxHashSet::default(),
    };
    let mut casts = casts::Casts::new(&mut converter, &mut program.values);
    let done = casts.top(&mut top).map_err(|error| match casts.at {
        Some(op) => located(module, error, op),
        None => error,
    });
    program.nodes = converter.nodes;
    program.top = Some(top);
    done
}

/// The conversion of attributes and types, each once.
struct Converter<'m> {
    nodes: Nodes<'m>,
    target: Version,
    attrs: FxHashMap<AttrRef, AttrRef>,
    types: FxHashMap<TypeRef, TypeRef>,
    /// The attributes and types that the target version has.
    checked_attrs: FxHashSet<AttrRef>,
    checked_types: FxHashSet<TypeRef>,
}

impl Converter<'_> {
    /// Checks that the target version has something that is called `what`.
    fn check(&self, since: [u64; 2], what: impl FnOnce() -> String) -> Result<(), Diagnostic> {
        let [major, minor, _] = self.target.0;
        if [major, minor] >= since {
            return Ok(());
        }
        let [major, minor] = since;
        let message = format!("StableHLO {} has no {}", self.target, what());
        let hint = format!("write the artifact for {major}.{minor}.0 or a newer version");
        Err(Diagnostic::unsupported(codes::NOT_WRITTEN, message).hint(hint))
    }
}

/// Returns the error for something that has no form in VHLO.
fn no_form(what: &str) -> Diagnostic {
    Diagnostic::unsupported(codes::NOT_WRITTEN, format!("portable artifacts have no form for {what}"))
        .hint("write the module as bytecode or text")
}
