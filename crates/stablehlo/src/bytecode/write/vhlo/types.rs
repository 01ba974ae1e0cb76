//! Types of VHLO.

use shardc_ir::Diagnostic;
use smallvec::SmallVec;

use super::{Converter, no_form};
use crate::bytecode::attr::{AttrRef, Sign, TypeRef};
use crate::bytecode::builtin;
use crate::bytecode::vhlo::types::{FLOATS, INTEGERS};
use crate::bytecode::write::nodes::{BUILTIN, Field, Fields, Node, VHLO, code};

/// The first version of StableHLO that has each type, by the code of the type, except those of 0.9.0.
const SINCE: &[(u64, [u64; 2])] = &[
    (27, [0, 10]),
    (28, [0, 10]),
    (29, [0, 11]),
    (30, [0, 18]),
    (31, [1, 2]),
    (32, [1, 2]),
    (33, [1, 6]),
    (34, [1, 6]),
    (35, [1, 7]),
    (36, [1, 7]),
    (37, [1, 8]),
    (38, [1, 8]),
    (39, [1, 8]),
    (40, [1, 8]),
    (41, [1, 13]),
    (42, [1, 15]),
];

impl<'m> Converter<'m> {
    /// Converts a type. Types of other dialects stay unchanged.
    pub(super) fn ty(&mut self, at: TypeRef) -> Result<TypeRef, Diagnostic> {
        if let Some(&known) = self.types.get(&at) {
            return Ok(known);
        }
        let made = match self.nodes.type_at(at).cloned() {
            Some(Node::Coded { dialect: BUILTIN, fields }) => Some(self.builtin_type(&fields)?),
            Some(Node::Coded { dialect: "stablehlo", fields }) => match &fields[..] {
                [Field::Int(0)] => Some(code(22)),
                [_, rest @ ..] => Some(self.mapped(42, rest)?),
                [] => None,
            },
            Some(Node::Coded { dialect: "quant", fields }) => match &fields[..] {
                [Field::Int(4), rest @ ..] => Some(self.mapped(24, rest)?),
                [Field::Int(5), rest @ ..] => Some(self.mapped(30, rest)?),
                _ => None,
            },
            Some(Node::Text { text, .. }) if self.nodes.text(text) == "!shape.witness" => Some(code(26)),
            _ => None,
        };
        let made = made.map_or(at, |fields| self.nodes.ty(Node::Coded { dialect: VHLO, fields }));
        self.types.insert(at, made);
        Ok(made)
    }

    /// Checks that the target version has a type, and the types and attributes to which it refers.
    pub(super) fn check_type(&mut self, at: TypeRef) -> Result<(), Diagnostic> {
        if !self.checked_types.insert(at) {
            return Ok(());
        }
        let fields = self.nodes.type_fields_of(at, VHLO).map(<[_]>::to_vec).unwrap_or_default();
        if let Some(Field::Int(code)) = fields.first()
            && let Some((_, since)) = SINCE.iter().find(|(at, _)| at == code)
        {
            self.check(*since, || type_name(*code))?;
        }
        self.check_fields(&fields)
    }

    /// Returns the fields with another code and with converted types.
    fn mapped(&mut self, number: u64, rest: &[Field<'m>]) -> Result<Fields<'m>, Diagnostic> {
        let mut fields = code(number);
        for field in rest {
            fields.push(match field {
                Field::Type(at) => Field::Type(self.ty(*at)?),
                field => field.clone(),
            });
        }
        Ok(fields)
    }

    fn builtin_type(&mut self, fields: &[Field<'m>]) -> Result<Fields<'m>, Diagnostic> {
        let [Field::Int(number), rest @ ..] = fields else { return Err(no_form("a type")) };
        if let Some((_, name)) = builtin::FLOATS.iter().find(|(at, _)| at == number) {
            let known = FLOATS.iter().find(|(_, other)| other == name);
            return known
                .map(|(number, _)| code(*number))
                .ok_or_else(|| no_form(&format!("the type {name}")));
        }
        match (number, rest) {
            (0, [Field::Int(value)]) => {
                let sign = match value & 3 {
                    0 => Sign::Signless,
                    1 => Sign::Signed,
                    _ => Sign::Unsigned,
                };
                let known =
                    INTEGERS.iter().find(|(_, width, s)| u64::from(*width) == value >> 2 && *s == sign);
                known
                    .map(|(number, ..)| code(*number))
                    .ok_or_else(|| no_form(&format!("integers of {} bits with this sign", value >> 2)))
            }
            (1, _) => Ok(code(9)),
            (2, rest) => self.mapped(8, rest),
            (9, rest) => self.mapped(1, rest),
            // The layout of a buffer is not written; only the default layout has a form.
            (10, [rest @ .., Field::Attr(layout)]) if self.is_identity(*layout) => self.mapped(41, rest),
            (12, _) => Ok(code(33)),
            (13, rest) => self.mapped(20, rest),
            (14, [Field::Attr(encoding), rest @ ..]) => {
                let encoding = self.encoding(*encoding)?;
                let mut fields: Fields<'m> = SmallVec::from_iter([Field::Int(21), Field::Attr(encoding)]);
                fields.extend(self.mapped(0, rest)?.into_iter().skip(1));
                Ok(fields)
            }
            (15, rest) => self.mapped(23, rest),
            (18, rest) => self.mapped(25, rest),
            _ => Err(no_form("a vector type, or a buffer with a layout")),
        }
    }

    /// Converts the encoding of a tensor: the bounds of its dynamic dimensions.
    fn encoding(&mut self, at: AttrRef) -> Result<AttrRef, Diagnostic> {
        let bounds = matches!(self.nodes.fields_of(at, "stablehlo"), Some([Field::Int(13), ..]));
        if bounds { self.attr(at) } else { Err(no_form("the encoding of a tensor type")) }
    }

    fn is_identity(&self, layout: AttrRef) -> bool {
        let Some(Node::Text { text, .. }) = self.nodes.attr_at(layout) else { return false };
        let body = self.nodes.text(*text).strip_prefix("affine_map<").and_then(|rest| rest.strip_suffix('>'));
        body.and_then(|body| body.split_once(" -> ")).is_some_and(|(from, to)| from == to)
    }
}

/// Returns the name of a type, for messages.
fn type_name(number: u64) -> String {
    if let Some((_, name)) = FLOATS.iter().find(|(at, _)| *at == number) {
        return format!("type {name}");
    }
    if let Some((_, width, _)) = INTEGERS.iter().find(|(at, ..)| *at == number) {
        return format!("{width}-bit integers");
    }
    match number {
        30 => "types that are quantized per axis".to_owned(),
        33 => "type none".to_owned(),
        41 => "buffer types".to_owned(),
        _ => "types of futures".to_owned(),
    }
}
