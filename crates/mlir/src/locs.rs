//! Source locations.

use melior::{Context, ir::Location};
use shardc_ir::{Diagnostic, EntityRef, Loc, LocId, Module, PackedOption};

use crate::{attrs::Attrs, ffi};

/// The MLIR location of each interned location; empty if locations are not requested.
pub(crate) struct Locs<'c> {
    unknown: Location<'c>,
    table: Vec<Location<'c>>,
}

impl<'c> Locs<'c> {
    /// Translates the module's locations. Child locations precede their parents, since they are interned first.
    pub(crate) fn new(attrs: &mut Attrs<'c>, module: &Module, wanted: bool) -> Result<Self, Diagnostic> {
        let context = attrs.context();
        let mut locs = Locs { unknown: Location::unknown(context), table: Vec::new() };
        if wanted {
            locs.table.reserve(module.locs.len());
            for i in 0..module.locs.len() {
                let loc = locs.translate(attrs, context, module.locs.get(LocId::new(i)))?;
                locs.table.push(loc);
            }
        }
        Ok(locs)
    }

    /// Returns the MLIR location for a location of the module, or the unknown location for `None`.
    pub(crate) fn of(&self, loc: PackedOption<LocId>) -> Location<'c> {
        loc.expand().map_or(self.unknown, |id| self.get(id))
    }

    fn get(&self, id: LocId) -> Location<'c> {
        self.table.get(id.index()).copied().unwrap_or(self.unknown)
    }

    fn translate(
        &self,
        attrs: &mut Attrs<'c>,
        context: &'c Context,
        loc: &Loc,
    ) -> Result<Location<'c>, Diagnostic> {
        Ok(match loc {
            Loc::Unknown => self.unknown,
            Loc::File { file, line, col, to: None } => {
                Location::new(context, file, *line as usize, *col as usize)
            }
            Loc::File { file, line, col, to: Some(to) } => {
                let escaped = file.replace('\\', "\\\\").replace('"', "\\22");
                let attribute = attrs.parse(&format!("loc(\"{escaped}\":{line}:{col} {to})"))?;
                ffi::as_location(attribute).unwrap_or(self.unknown)
            }
            Loc::Name { name, child } => {
                let child = child.map_or(self.unknown, |id| self.get(id));
                // MLIR has no name location with an empty name.
                if name.is_empty() { child } else { Location::name(context, name, child) }
            }
            Loc::CallSite { callee, caller } => Location::call_site(self.get(*callee), self.get(*caller)),
            Loc::Fused { metadata, children } => {
                let metadata = metadata.as_deref().map(|text| attrs.parse(text)).transpose()?;
                let children: Vec<_> = children.iter().map(|&id| self.get(id)).collect();
                ffi::fused(context, &children, metadata)
            }
            Loc::Raw(text) => {
                let text = text.trim();
                let attribute = match text.strip_prefix("loc(") {
                    Some(_) => attrs.parse(text)?,
                    None => attrs.parse(&format!("loc({text})"))?,
                };
                ffi::as_location(attribute).unwrap_or(self.unknown)
            }
        })
    }
}
