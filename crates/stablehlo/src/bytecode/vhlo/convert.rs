//! Converts VHLO operations to StableHLO operations. Older versions of an operation need no separate step: attributes
//! that they lack are absent in StableHLO.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use shardc_ir::Diagnostic;

use crate::bytecode::attr::{AttrRef, BAttr, BType, Piece, Store};
use crate::bytecode::ir::OpRecord;
use crate::codes;
use crate::lexer::Res;

use super::attrs::{DEFAULT_ACCURACY, MESH_AXES, NO_TOLERANCE};
use super::join;
use super::table::{self, Absent, Form, Prop, Row};
use super::values::{Budget, Problem, bool, channel, dense, int_list, is_listed, is_text, missing};

/// Converts the operations of a file.
pub(crate) struct Converter {
    /// Attributes converted so far.
    done: FxHashMap<(AttrRef, Form), AttrRef>,
    budget: Budget,
}

impl Converter {
    /// Creates a converter for a file of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        Converter { done: FxHashMap::default(), budget: Budget::new(size) }
    }

    /// Converts the name and attributes of a `vhlo` operation. Operands, results and regions stay the same. Types are
    /// converted when they are decoded.
    pub(crate) fn rewrite<'b>(&mut self, store: &mut Store<'b>, op: &mut OpRecord<'b>) -> Res<()> {
        let name = op.name.strip_prefix("vhlo.").unwrap_or(&op.name);
        let Some(row) = table::row(name) else {
            let message = format!("`{}` is not an operation of any known version of VHLO", op.name);
            return Err(Diagnostic::invalid(codes::UNKNOWN_OP, message).into());
        };
        self.op(store, op, row).map_err(|problem| {
            let message = format!("`{}` at byte {}: {problem}", op.name, op.offset);
            Diagnostic::invalid(codes::ATTRIBUTE, message)
        })?;
        op.name = Cow::Borrowed(&row.target);
        Ok(())
    }

    fn op<'b>(&mut self, store: &mut Store<'b>, op: &mut OpRecord<'b>, row: &Row) -> Result<(), Problem> {
        if row.props.is_empty() {
            return Ok(());
        }
        join::join(&mut self.budget, store, op, &row.target)?;
        for prop in &row.props {
            if prop.1 != Form::Part {
                self.prop(store, op, prop)?;
            }
        }
        // In StableHLO, `operand_layouts` and `result_layouts` are present or absent together.
        let empty = |name: &str| op.attr(name).is_some_and(|at| is_empty(store, at));
        if &*row.target == "stablehlo.custom_call" && empty("operand_layouts") && empty("result_layouts") {
            op.take_attr("operand_layouts");
            op.take_attr("result_layouts");
        }
        op.props.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(())
    }

    fn prop<'b>(
        &mut self,
        store: &mut Store<'b>,
        op: &mut OpRecord<'b>,
        &(name, form, absent): &Prop,
    ) -> Result<(), Problem> {
        let Some(at) = op.take_attr(name) else {
            return if absent == Absent::Never && form != Form::Gone { Err(missing(name)) } else { Ok(()) };
        };
        if form == Form::Gone || is_absent(store, at, absent) {
            return Ok(());
        }
        let target = if form == Form::Channel { "channel_handle" } else { name };
        let converted = match (form, self.done.get(&(at, form))) {
            (Form::Same | Form::Part | Form::Gone, _) => at,
            (_, Some(&done)) => done,
            (_, None) => {
                let made = self.convert(store, at, form, name)?;
                self.done.insert((at, form), made);
                made
            }
        };
        if form == Form::Flag && bool(store, at) == Some(false) {
            return Ok(());
        }
        op.props.push((target.into(), converted));
        Ok(())
    }

    fn convert<'b>(
        &mut self,
        store: &mut Store<'b>,
        at: AttrRef,
        form: Form,
        name: &str,
    ) -> Result<AttrRef, Problem> {
        let wrong = |what: &str| format!("the attribute `{name}` must be {what}");
        let made = match form {
            Form::Same | Form::Part | Form::Gone => return Ok(at),
            Form::Ints => {
                let (element, _, _) = dense(store, at).ok_or_else(|| wrong("a tensor of integers"))?;
                let bytes: Vec<u8> =
                    int_list(store, at, name)?.into_iter().flat_map(i64::to_le_bytes).collect();
                BAttr::DenseArray { element, count: bytes.len() as u64 / 8, bytes: bytes.into() }
            }
            Form::Bools => {
                let (element, _, _) = dense(store, at).ok_or_else(|| wrong("a tensor of booleans"))?;
                let bytes = bool_list(store, at).ok_or_else(|| wrong("a tensor of booleans"))?;
                BAttr::DenseArray { element, count: bytes.len() as u64, bytes: bytes.into() }
            }
            Form::Channel => BAttr::text(channel(store.int(at).ok_or_else(|| wrong("an integer"))?, 0)),
            Form::Flag => match bool(store, at) {
                Some(_) => BAttr::Unit,
                None => return Err(wrong("a boolean")),
            },
            Form::Symbol => symbol(store, at).ok_or_else(|| wrong("a string"))?,
            Form::Symbols => {
                let BAttr::Array(names) = store.attr(at).clone() else { return Err(wrong("an array")) };
                let mut symbols = Vec::with_capacity(names.len());
                for name in names {
                    let symbol = symbol(store, name).ok_or_else(|| wrong("an array of strings"))?;
                    symbols.push(self.budget.add(store, symbol)?);
                }
                BAttr::Array(symbols)
            }
            Form::Groups => match mesh_axes(store, at) {
                Some(axes) => axes,
                None => return Ok(at),
            },
        };
        self.budget.add(store, made)
    }
}

fn symbol<'b>(store: &Store<'b>, at: AttrRef) -> Option<BAttr<'b>> {
    match store.attr(at) {
        BAttr::Str { bytes, .. } => Some(BAttr::Symbol(vec![bytes.clone()])),
        _ => None,
    }
}

/// Converts replica groups that are given as axes of a mesh. VHLO names the mesh by a string, StableHLO by a symbol.
fn mesh_axes<'b>(store: &mut Store<'b>, at: AttrRef) -> Option<BAttr<'b>> {
    let BAttr::Pieces(pieces) = store.attr(at) else { return None };
    let [Piece::Text(head), Piece::Attr(mesh), ..] = &pieces[..] else { return None };
    if head != MESH_AXES {
        return None;
    }
    let mut pieces = pieces.clone();
    let named = symbol(store, *mesh)?;
    let named = store.add_attr(named);
    if let Some(mesh) = pieces.get_mut(1) {
        *mesh = Piece::Attr(named);
    }
    Some(BAttr::Pieces(pieces))
}

/// Returns the elements of a tensor of `i1`, one byte each.
fn bool_list(store: &Store<'_>, at: AttrRef) -> Option<Vec<u8>> {
    let (element, count, bytes) = dense(store, at)?;
    let narrow = matches!(store.ty(element), BType::Int { width: 1, .. });
    let bits = if narrow && is_listed(count, bytes) { store.ints(at)? } else { return None };
    Some(bits.into_iter().map(|bit| bit as u8).collect())
}

fn is_empty(store: &Store<'_>, at: AttrRef) -> bool {
    match store.attr(at) {
        BAttr::Str { bytes, .. } | BAttr::Dense { bytes, .. } => bytes.is_empty(),
        BAttr::Array(items) => items.is_empty(),
        BAttr::Dict(entries) => entries.is_empty(),
        _ => false,
    }
}

/// Whether the tensor is not empty and each of its elements equals `element`.
fn is_splat(store: &Store<'_>, at: AttrRef, element: &[u8]) -> bool {
    matches!(store.attr(at), BAttr::Dense { bytes, .. }
        if !bytes.is_empty() && bytes.chunks(element.len()).all(|chunk| chunk == element))
}

fn is_absent(store: &Store<'_>, at: AttrRef, absent: Absent) -> bool {
    match absent {
        Absent::Never => false,
        Absent::Int(value) => store.int(at) == Some(value),
        Absent::False => bool(store, at) == Some(false),
        Absent::Empty => is_empty(store, at),
        Absent::All(value) => is_splat(store, at, &value.to_le_bytes()),
        Absent::AllFalse => is_splat(store, at, &[0]),
        Absent::Text(text) => is_text(store.attr(at), text),
        Absent::AllText(text) => match store.attr(at) {
            BAttr::Array(items) => items.iter().all(|&item| is_text(store.attr(item), text)),
            _ => false,
        },
        Absent::Accuracy => match store.attr(at) {
            BAttr::Pieces(pieces) => match &pieces[..] {
                [Piece::Text(head), Piece::Attr(mode), _] => {
                    head == NO_TOLERANCE && is_text(store.attr(*mode), DEFAULT_ACCURACY)
                }
                _ => false,
            },
            _ => false,
        },
    }
}
