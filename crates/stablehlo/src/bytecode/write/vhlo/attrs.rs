//! Attributes of VHLO.

use shardc_ir::Diagnostic;
use smallvec::SmallVec;

use super::{Converter, no_form};
use crate::bytecode::attr::AttrRef;
use crate::bytecode::write::nodes::{BUILTIN, Field, Fields, Node, VHLO, code};

/// The codes in `stablehlo` and in VHLO of attributes with the same fields.
const SAME: &[(u64, u64)] = &[
    (2, 3),
    (3, 4),
    (6, 7),
    (8, 11),
    (9, 12),
    (10, 13),
    (12, 16),
    (13, 18),
    (14, 10),
    (16, 19),
    (17, 20),
    (19, 21),
];

/// The first version of StableHLO that has each attribute, by its code, except those of 0.9.0.
const SINCE: &[(u64, [u64; 2], &str)] = &[
    (19, [1, 9], "accuracy of results"),
    (20, [1, 9], "accuracy of results"),
    (21, [1, 16], "replica groups as axes of a mesh"),
    (22, [1, 16], "replica groups as axes of a mesh"),
    (23, [1, 16], "replica groups as axes of a mesh"),
    (24, [1, 16], "replica groups as axes of a mesh"),
    (25, [1, 16], "replica groups as axes of a mesh"),
];

impl<'m> Converter<'m> {
    /// Adds an attribute of VHLO.
    pub(super) fn vhlo(&mut self, fields: impl IntoIterator<Item = Field<'m>>) -> AttrRef {
        self.nodes.coded(VHLO, fields.into_iter().collect())
    }

    /// Converts an attribute. Attributes without a form in VHLO stay unchanged.
    pub(super) fn attr(&mut self, at: AttrRef) -> Result<AttrRef, Diagnostic> {
        if let Some(&known) = self.attrs.get(&at) {
            return Ok(known);
        }
        let made = match self.nodes.attr_at(at).cloned() {
            Some(Node::Coded { dialect: BUILTIN, fields }) => self.builtin(&fields)?,
            Some(Node::Coded { dialect: "stablehlo", fields }) => Some(self.stablehlo(&fields)?),
            _ => None,
        };
        let made = made.map_or(at, |fields| self.nodes.coded(VHLO, fields));
        self.attrs.insert(at, made);
        Ok(made)
    }

    /// Checks that the target version has an attribute, and the attributes and types to which it refers. Attributes are converted before it
    /// is known whether the operation has them in the target version.
    pub(super) fn check_attr(&mut self, at: AttrRef) -> Result<(), Diagnostic> {
        if !self.checked_attrs.insert(at) {
            return Ok(());
        }
        let fields = self.nodes.fields_of(at, VHLO).map(<[_]>::to_vec).unwrap_or_default();
        if let Some(Field::Int(code)) = fields.first()
            && let Some((_, since, name)) = SINCE.iter().find(|(at, ..)| at == code)
        {
            self.check(*since, || (*name).to_owned())?;
        }
        self.check_fields(&fields)
    }

    /// Checks the attributes and types to which fields refer.
    pub(super) fn check_fields(&mut self, fields: &[Field<'_>]) -> Result<(), Diagnostic> {
        fields.iter().try_for_each(|field| match field {
            Field::Attr(at) | Field::OptAttr(Some(at)) => self.check_attr(*at),
            Field::Type(at) => self.check_type(*at),
            _ => Ok(()),
        })
    }

    /// Returns the fields with another code, and with converted attributes and types.
    fn with_code(&mut self, number: u64, rest: &[Field<'m>]) -> Result<Fields<'m>, Diagnostic> {
        let mut fields = code(number);
        for field in rest {
            fields.push(match field {
                Field::Attr(at) => Field::Attr(self.attr(*at)?),
                Field::OptAttr(Some(at)) => Field::OptAttr(Some(self.attr(*at)?)),
                Field::Type(at) => Field::Type(self.ty(*at)?),
                field => field.clone(),
            });
        }
        Ok(fields)
    }

    fn builtin(&mut self, fields: &[Field<'m>]) -> Result<Option<Fields<'m>>, Diagnostic> {
        let [Field::Int(number), rest @ ..] = fields else { return Ok(None) };
        Ok(Some(match (number, rest) {
            (0, rest) => self.with_code(1, rest)?,
            (1, rest) => self.with_code(6, rest)?,
            (2, rest) => self.with_code(14, rest)?,
            (4, [Field::Attr(name)]) => match self.nodes.fields_of(*name, BUILTIN) {
                Some([Field::Int(2), text]) => SmallVec::from_iter([Field::Int(14), text.clone()]),
                _ => return Ok(None),
            },
            (6, rest) => self.with_code(17, rest)?,
            (8, [Field::Type(ty), Field::Byte(bit)]) if *ty == self.nodes.int_type(1) => {
                SmallVec::from_iter([Field::Int(2), Field::Int(u64::from(*bit))])
            }
            (8, rest) => self.with_code(9, rest)?,
            (9, rest) => self.with_code(8, rest)?,
            (17, [Field::Type(element), Field::Int(count), Field::Blob(bytes)]) => {
                let narrow = *element == self.nodes.int_type(1);
                if !narrow && *element != self.nodes.int_type(64) {
                    return Ok(None);
                }
                let values: Vec<i64> = if narrow {
                    bytes.iter().map(|&byte| i64::from(byte)).collect()
                } else {
                    bytes.as_chunks().0.iter().map(|&chunk| i64::from_le_bytes(chunk)).collect()
                };
                self.list(&[*count as i64], &values, narrow)?
            }
            (18, [Field::Type(ty), Field::Blob(bytes)]) => {
                let mut bytes = bytes.clone();
                // A boolean that is the only element is packed, and not a splat.
                if bytes[..] == [0xFF] && self.is_single(*ty) {
                    bytes = vec![1].into();
                }
                SmallVec::from_iter([Field::Int(15), Field::Type(self.ty(*ty)?), Field::Blob(bytes)])
            }
            (16, _) => return Err(no_form("resources: list the elements of the constant in the program")),
            _ => return Ok(None),
        }))
    }

    /// Whether a type is a tensor of one boolean.
    fn is_single(&mut self, ty: crate::bytecode::attr::TypeRef) -> bool {
        let boolean = self.nodes.int_type(1);
        match self.nodes.type_fields_of(ty, BUILTIN) {
            Some([Field::Int(13), Field::Int(_), sizes @ .., Field::Type(element)]) => {
                *element == boolean && sizes.iter().all(|size| *size == Field::Signed(1))
            }
            _ => false,
        }
    }

    /// Returns the fields of a tensor of booleans or 64-bit integers.
    pub(super) fn list(
        &mut self,
        shape: &[i64],
        values: &[i64],
        narrow: bool,
    ) -> Result<Fields<'m>, Diagnostic> {
        let element = self.nodes.int_type(if narrow { 1 } else { 64 });
        let ty = self.nodes.tensor_type(shape, element);
        let ty = self.ty(ty)?;
        let splat = values.len() > 1 && values.iter().all(|value| Some(value) == values.first());
        let stored = if splat { values.get(..1).unwrap_or(&[]) } else { values };
        let bytes: Vec<u8> = if !narrow {
            stored.iter().flat_map(|value| value.to_le_bytes()).collect()
        } else if splat {
            stored.iter().map(|&value| if value == 0 { 0 } else { 0xFF }).collect()
        } else {
            let byte = |chunk: &[i64]| {
                chunk.iter().enumerate().fold(0, |byte, (bit, &v)| byte | u8::from(v != 0) << bit)
            };
            stored.chunks(8).map(byte).collect()
        };
        Ok(SmallVec::from_iter([Field::Int(15), Field::Type(ty), Field::Blob(bytes.into())]))
    }

    fn stablehlo(&mut self, fields: &[Field<'m>]) -> Result<Fields<'m>, Diagnostic> {
        let [Field::Int(number), rest @ ..] = fields else { return Err(no_form("an attribute")) };
        if let Some((_, number)) = SAME.iter().find(|(from, _)| from == number) {
            return self.with_code(*number, rest);
        }
        match (number, rest) {
            (18, [Field::Attr(mesh), _, axes @ ..]) => {
                let mesh = self.attr(*mesh)?;
                let mut items = code(1);
                items.push(Field::Int(axes.len() as u64));
                items.extend(self.with_code(0, axes)?.into_iter().skip(1));
                let axes = self.vhlo(items);
                Ok(SmallVec::from_iter([Field::Int(23), Field::Attr(mesh), Field::Attr(axes)]))
            }
            (20, [Field::Str(name), _, part @ ..]) => {
                let name = self.vhlo([Field::Int(14), Field::Str(*name)]);
                let mut fields = SmallVec::from_iter([Field::Int(22), Field::Attr(name)]);
                fields.push(Field::Int(part.len() as u64));
                fields.extend(self.with_code(0, part)?.into_iter().skip(1));
                Ok(fields)
            }
            (21, [Field::Str(name), size]) => {
                let name = self.vhlo([Field::Int(14), Field::Str(*name)]);
                Ok(SmallVec::from_iter([Field::Int(24), Field::Attr(name), size.clone()]))
            }
            (22, [Field::Attr(axes), _, devices @ ..]) => {
                let axes = self.attr(*axes)?;
                let devices = match devices {
                    [Field::Attr(devices)] => Some(self.attr(*devices)?),
                    _ => None,
                };
                Ok(SmallVec::from_iter([Field::Int(25), Field::Attr(axes), Field::OptAttr(devices)]))
            }
            _ => {
                Err(no_form("a structured attribute of StableHLO outside the operation to which it belongs"))
            }
        }
    }
}
