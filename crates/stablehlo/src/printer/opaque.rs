//! Checks whether the pretty form can express all attributes of an operation that has no kind in the IR.

use shardc_ir::{Attr, OpId, OpaqueSpec};

use super::Printer;
use crate::syntax::values::Attrs;
use crate::syntax::{AttrType, Piece, Row, Val};

/// Returns the inherent attributes of an operation that has no kind in the IR, for its pretty form. Returns `None` if that form cannot
/// express them.
pub(super) fn opaque_attrs(row: &'static Row, spec: &OpaqueSpec) -> Option<Attrs> {
    let mut attrs = Attrs::new();
    for (name, attr) in spec.props.iter() {
        // Attributes that are not in the table are printed among the discardable attributes.
        let Some((name, ty)) = row.attr(name) else { continue };
        attrs.push((
            name,
            match (attr, ty) {
                (Attr::Int(value, _), AttrType::I64 | AttrType::I32) => Val::Int(*value),
                (Attr::Bool(value), AttrType::Bool) => Val::Bool(*value),
                (Attr::Str(text), AttrType::Str) => Val::Str(text.clone()),
                (Attr::Raw(text), AttrType::Raw) => Val::Raw(text.clone()),
                (attr, AttrType::Any) => Val::Attr(attr.clone()),
                (attr @ Attr::Raw(text), AttrType::Prefixed(prefix)) if text.starts_with(prefix) => {
                    Val::Attr(attr.clone())
                }
                (attr @ Attr::Raw(text), AttrType::Typed(ty)) if text.ends_with(&format!(" : {ty}")) => {
                    Val::Attr(attr.clone())
                }
                (attr @ Attr::Int(_, written), AttrType::Typed(ty)) if &**written == ty => {
                    Val::Attr(attr.clone())
                }
                _ => return None,
            },
        ));
    }
    Some(attrs)
}

impl Printer<'_> {
    /// Whether the pretty form contains each operand, result and region, and the operation has each attribute that the form requires.
    pub(super) fn fits(&self, op: OpId, pieces: &[Piece], attrs: &Attrs) -> bool {
        let data = &self.module.ops[op];
        let has = |piece| pieces.contains(&piece);
        let ones = pieces.iter().filter(|&&piece| piece == Piece::One).count();
        let operands =
            if has(Piece::All) { data.operands.len() >= ones } else { data.operands.len() == ones };
        let ty = |value: &shardc_ir::ValueId| self.module.values[*value].ty;
        let alike = data.operands.iter().all(|v| data.operands.first().map(ty) == Some(ty(v)));
        let results = match pieces.iter().find(|piece| piece.is_types()) {
            None | Some(Piece::Operands) => data.results.is_empty(),
            Some(Piece::Operand) => data.results.is_empty() && !data.operands.is_empty() && alike,
            Some(Piece::Cast) => data.results.len() == 1,
            Some(_) => true,
        };
        let asked = pieces.iter().filter_map(|piece| match piece {
            Piece::A(name) => Some(*name),
            _ => None,
        });
        operands
            && results
            && (data.regions.is_empty() || has(Piece::Regions))
            && asked.into_iter().all(|name| attrs.iter().any(|(n, _)| *n == name))
    }
}
