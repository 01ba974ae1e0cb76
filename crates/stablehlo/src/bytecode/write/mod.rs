//! The writer of MLIR bytecode and of portable artifacts.
//!
//! * [`lower`] converts a module to operations ([`program`]), with attributes and types as fields of their encoding ([`nodes`]). Attributes
//!   and types are parsed from their generic [`text`], each text once; only the elements of constants are taken as bytes. [`kept`] parses
//!   operations that a module keeps as text.
//! * [`numbering`] orders attributes, types and names as MLIR does, so that equal programs are equal bytes; [`isolation`] finds the regions
//!   that are sections of their own.
//! * [`vhlo`] converts a program to a version of VHLO, for portable artifacts.
//! * [`container`] writes the sections; [`body`] that of operations; [`resources`] those of resources; [`strings`] numbers the strings; [`bytes`] has
//!   the primitives.

mod body;
mod bytes;
mod container;
mod isolation;
mod kept;
mod lower;
mod nodes;
mod numbering;
mod program;
mod resources;
mod strings;
mod text;
mod vhlo;

use rustc_hash::FxHashSet;
use shardc_ir::{Diagnostic, Module};

use super::attr::AttrRef;
use super::container::NEWEST;
use super::file::PROPERTIES;
use super::properties::{self, Names};
use super::vhlo::Version;
use crate::codes;
use nodes::{Nodes, StrRef};
use program::{Format, Op, Program};

/// The form of inherent attributes in bytecode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Properties {
    /// With their names, among the other attributes. Every version of a dialect reads it.
    #[default]
    Named,
    /// In the order of their names, without the names, as MLIR writes operations that it knows. The reader must have the same version of the
    /// dialect.
    Ordered,
}

/// The options of [`to_bytecode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytecodeOptions {
    /// The version of the format, 0 to 6.
    pub version: u8,
    /// The form of inherent attributes.
    pub properties: Properties,
    /// Whether source locations are written.
    pub locations: bool,
}

impl Default for BytecodeOptions {
    fn default() -> Self {
        BytecodeOptions { version: NEWEST as u8, properties: Properties::Named, locations: true }
    }
}

/// Writes a module as MLIR bytecode, unchanged.
///
/// # Errors
/// The module has an attribute, a type or an operation in a textual form that is not known, or the version does not exist.
pub fn to_bytecode(module: &Module, options: &BytecodeOptions) -> Result<Vec<u8>, Diagnostic> {
    let mut program = lower::lower(module, options.locations)?;
    let version = u64::from(options.version).min(NEWEST);
    let format = Format { version, producer: "shardc".to_owned() };
    prepare(&mut program, version, |_| options.properties == Properties::Ordered);
    container::write(&program, &format)
}

/// Writes a module as a portable artifact of StableHLO, which readers of the version `target` and of all newer versions accept.
/// Operations of other dialects, such as `sdy` and `chlo`, stay unchanged.
///
/// # Errors
/// The target version is not supported; it has no equivalent of an operation, an attribute or a type of the module; or the module cannot be
/// written as bytecode.
pub fn to_artifact(module: &Module, target: Version, locations: bool) -> Result<Vec<u8>, Diagnostic> {
    if !(Version::OLDEST..=Version::NEWEST).contains(&target) {
        let message = format!("cannot write a portable artifact of StableHLO {target}");
        let hint = format!("choose a version from {} to {}", Version::OLDEST, Version::NEWEST);
        return Err(Diagnostic::unsupported(codes::VERSION, message).hint(hint));
    }
    let mut program = lower::lower(module, locations)?;
    vhlo::convert(&mut program, target, module)?;
    let format = Format { version: target.bytecode(), producer: format!("StableHLO_v{target}") };
    // The attributes of VHLO never change; those of other dialects may differ between their versions.
    prepare(&mut program, format.version, |name| name.starts_with("vhlo.") || name == "builtin.module");
    container::write(&program, &format)
}

/// Sorts the attributes of all operations, and adds their dictionaries. Inherent attributes are written in order for the names of operations
/// for which `ordered` returns true.
fn prepare(program: &mut Program<'_>, version: u64, ordered: impl Fn(&str) -> bool) {
    let Some(mut top) = program.top.take() else { return };
    let mut registered = FxHashSet::default();
    let separate = version >= PROPERTIES;
    let ordered = |name: &str| separate && ordered(name);
    Prepare { nodes: &mut program.nodes, registered: &mut registered, separate, ordered: &ordered }
        .op(&mut top);
    program.top = Some(top);
    program.registered = registered;
}

struct Prepare<'p, 'm> {
    nodes: &'p mut Nodes<'m>,
    registered: &'p mut FxHashSet<StrRef>,
    /// Whether the format has inherent attributes apart from the others.
    separate: bool,
    ordered: &'p dyn Fn(&str) -> bool,
}

impl Prepare<'_, '_> {
    fn op(&mut self, op: &mut Op) {
        op.props.sort_by(|(a, _), (b, _)| self.nodes.string_of(*a).cmp(&self.nodes.string_of(*b)));
        if (self.ordered)(self.nodes.text(op.name)) {
            op.order = self.order(op);
        }
        let mut entries = op.attrs.clone();
        if op.order.is_some() {
            self.registered.insert(op.name);
        } else if self.separate && !properties::is_common(self.nodes.text(op.name)) {
            // A reader that does not know the dialect keeps inherent attributes apart only if they are apart in the file.
            op.given = (!op.props.is_empty()).then(|| self.nodes.dict(op.props.clone()));
        } else {
            entries.extend(op.props.iter().copied());
        }
        if !entries.is_empty() {
            op.dict = Some(self.nodes.dict(entries));
        }
        for op in op.regions.iter_mut().flat_map(|region| &mut region.blocks).flat_map(|block| &mut block.ops)
        {
            self.op(op);
        }
    }

    /// Returns the order of the inherent attributes of an operation, if it is known.
    fn order(&self, op: &Op) -> Option<Names> {
        let is_in = |names: &Names, (name, _): &(AttrRef, AttrRef)| {
            let name = self.nodes.string_of(*name).unwrap_or(b"");
            names.iter().any(|(known, _)| known.as_bytes() == name)
        };
        let has_all = |names: &Names| op.props.iter().all(|prop| is_in(names, prop));
        properties::order(self.nodes.text(op.name), has_all)
    }
}
