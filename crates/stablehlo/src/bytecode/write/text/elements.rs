//! Constants: `dense<...>`, `dense_resource<...>`, `sparse<...>`, `array<...>`.

use std::borrow::Cow;

use shardc_ir::{DType, Dense};

use super::Text;
use super::builtin::Number;
use crate::bytecode::attr::{AttrRef, TypeRef};
use crate::bytecode::write::nodes::{BUILTIN, Field, Nodes, code};
use crate::lexer::Res;
use crate::literals::elements::{meant_bits, stored_bytes};
use crate::parser::dense as parser;

/// Returns the elements of a constant in MLIR's storage format. `count` is the number of elements of the type.
pub(in crate::bytecode::write) fn stored<'m>(
    dtype: DType,
    dense: &'m Dense,
    count: usize,
) -> Option<Cow<'m, [u8]>> {
    let (bytes, splat): (&[u8], bool) = match dense {
        Dense::Splat(bytes) => (bytes, count != 1),
        Dense::Elements(bytes) => (bytes, false),
        Dense::Resource(_) | Dense::Raw(_) => return None,
    };
    if dtype == DType::I1 {
        return Some(packed(bytes, splat || bytes.len() == 1).into());
    }
    let (width, stored) = (dtype.bytes(), stored_bytes(dtype));
    if meant_bits(dtype) as usize == width * 8 || dtype.bits() > 64 {
        return Some(bytes.into());
    }
    // The unused high bits of elements narrower than their bytes are zero.
    let mask = u64::MAX >> (64 - meant_bits(dtype));
    let element = |chunk: &[u8]| {
        let mut wide = [0; 8];
        wide.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        (u64::from_le_bytes(wide) & mask).to_le_bytes().into_iter().take(stored)
    };
    Some(bytes.chunks_exact(width).flat_map(element).collect::<Vec<u8>>().into())
}

/// Packs booleans, one per byte, eight to a byte. A splat is one byte of equal bits, so that it differs from a few packed elements.
fn packed(bytes: &[u8], splat: bool) -> Vec<u8> {
    if splat {
        return vec![if bytes.first().is_some_and(|&byte| byte != 0) { 0xFF } else { 0 }];
    }
    let byte =
        |chunk: &[u8]| chunk.iter().enumerate().fold(0, |byte, (bit, &b)| byte | u8::from(b != 0) << bit);
    bytes.chunks(8).map(byte).collect()
}

/// Returns the attribute of a constant whose elements a module stores as bytes.
pub(in crate::bytecode::write) fn constant<'m>(
    nodes: &mut Nodes<'m>,
    ty: TypeRef,
    bytes: Cow<'m, [u8]>,
) -> AttrRef {
    nodes.builtin([Field::Int(18), Field::Type(ty), Field::Blob(bytes)])
}

impl<'t> Text<'t, '_, '_> {
    /// Reads a constant of any kind.
    pub(super) fn constant(&mut self) -> Res<AttrRef> {
        if self.cursor.eat_word("dense_resource") {
            self.cursor.expect("<")?;
            let key = self.name()?.into_owned();
            self.cursor.expect(">")?;
            self.cursor.expect(":")?;
            let ty = self.ty()?;
            let key = self.nodes.str(key);
            return Ok(self.nodes.builtin([Field::Int(16), Field::Type(ty), Field::Resource(key)]));
        }
        if self.cursor.eat_word("sparse") {
            return self.sparse();
        }
        let start = self.cursor.pos;
        self.cursor.expect_word("dense")?;
        let body = self.cursor.pos;
        self.cursor.skip_brackets()?;
        let end = self.cursor.pos;
        self.cursor.expect(":")?;
        let ty = self.ty()?;
        let text = self.from(start);
        let count = self.count(ty);
        let known = text.trim_end().ends_with('>').then(|| parser::constant(text)).transpose();
        if let (Ok(Some(Some(constant))), Some(count)) = (known, count)
            && let Some(bytes) = stored(constant.dtype, &constant.elements, count)
        {
            let bytes = bytes.into_owned();
            return Ok(self.nodes.builtin([Field::Int(18), Field::Type(ty), Field::Blob(bytes.into())]));
        }
        let after = self.cursor.pos;
        self.cursor.pos = body;
        let made = self.odd(ty);
        if made.is_ok() && self.cursor.pos == end {
            self.cursor.pos = after;
        }
        made
    }

    /// Returns the number of elements of a static tensor or vector type.
    fn count(&self, ty: TypeRef) -> Option<usize> {
        self.shape(ty)?.iter().try_fold(1usize, |n, &size| n.checked_mul(usize::try_from(size).ok()?))
    }

    /// Returns the shape of a tensor or vector type.
    fn shape(&self, ty: TypeRef) -> Option<Vec<i64>> {
        let fields = self.nodes.type_fields_of(ty, BUILTIN)?;
        let skipped = match fields.first()? {
            Field::Int(13 | 19) => 2,
            Field::Int(14) => 3,
            _ => return None,
        };
        let sizes = fields.get(skipped..fields.len().checked_sub(1)?)?;
        Some(
            sizes
                .iter()
                .filter_map(|field| if let Field::Signed(size) = field { Some(*size) } else { None })
                .collect(),
        )
    }

    fn element_type(&self, ty: TypeRef) -> Option<TypeRef> {
        match self.nodes.type_fields_of(ty, BUILTIN)?.last()? {
            Field::Type(element) => Some(*element),
            _ => None,
        }
    }

    /// Reads the elements of a constant that a module does not support: vectors, strings, and integers of any width.
    fn odd(&mut self, ty: TypeRef) -> Res<AttrRef> {
        let (Some(count), Some(element)) = (self.count(ty), self.element_type(ty)) else {
            return Err(self.cursor.expected("a constant of a tensor or vector type"));
        };
        self.cursor.expect("<")?;
        if self.cursor.peek() == b'"' || self.cursor.peek() == b'[' && self.first_is_string() {
            let raw = self.cursor.pos;
            let strings = self.leaves(&mut |text| text.string().map(Cow::into_owned))?;
            let hex = strings.first().filter(|text| strings.len() == 1 && text.starts_with(b"0x"));
            if let (Some(hex), true) =
                (hex, self.int_width(element).is_some() || self.float_type(element).is_some())
            {
                let Some(bytes) = from_hex(&hex[2..]) else {
                    self.cursor.pos = raw;
                    return Err(self.cursor.expected("hexadecimal digits"));
                };
                self.cursor.expect(">")?;
                return Ok(self.nodes.builtin([Field::Int(18), Field::Type(ty), Field::Blob(bytes.into())]));
            }
            self.cursor.expect(">")?;
            let mut fields = code(19);
            fields.extend([Field::Type(ty), Field::Int(u64::from(strings.len() == 1))]);
            for text in strings {
                let text = self.nodes.str(text);
                fields.push(Field::Str(text));
            }
            return Ok(self.nodes.coded(BUILTIN, fields));
        }
        let mut elements = if self.cursor.peek() == b'>' {
            Vec::new()
        } else {
            self.leaves(&mut |text| text.element(element))?
        };
        self.cursor.expect(">")?;
        if elements.len() > 1 && elements.iter().all(|other| *other == elements[0]) {
            elements.truncate(1);
        }
        if elements.len() != count && elements.len() != 1 {
            return Err(self.cursor.expected("a list with the number of elements of its type"));
        }
        let bytes = if self.int_width(element) == Some(1) {
            packed(&elements.concat(), elements.len() == 1)
        } else {
            elements.concat()
        };
        Ok(self.nodes.builtin([Field::Int(18), Field::Type(ty), Field::Blob(bytes.into())]))
    }

    /// Whether the first element of a nested list is a string.
    fn first_is_string(&self) -> bool {
        let mut cursor = self.cursor;
        while cursor.eat("[") {}
        cursor.peek() == b'"'
    }

    /// Reads the elements of nested lists, or a single element.
    fn leaves<T>(&mut self, leaf: &mut impl FnMut(&mut Self) -> Res<T>) -> Res<Vec<T>> {
        if !self.cursor.eat("[") {
            return Ok(vec![leaf(self)?]);
        }
        let lists = self.list("]", |text| text.nested(|text| text.leaves(leaf)))?;
        Ok(lists.into_iter().flatten().collect())
    }

    /// Reads one element, in whole bytes.
    fn element(&mut self, ty: TypeRef) -> Res<Vec<u8>> {
        if let Some(part) = self.complex_part(ty) {
            self.cursor.expect("(")?;
            let mut bytes = self.element(part)?;
            self.cursor.expect(",")?;
            bytes.extend(self.element(part)?);
            self.cursor.expect(")")?;
            return Ok(bytes);
        }
        if self.cursor.eat_word("true") {
            return Ok(vec![1]);
        }
        if self.cursor.eat_word("false") {
            return Ok(vec![0]);
        }
        let number: Number<'t> = self.number()?;
        if let Some(dtype) = self.float_type(ty)
            && let Some(bits) = number.float(dtype)
        {
            return Ok(bits.to_le_bytes()[..stored_bytes(dtype)].to_vec());
        }
        let width = self.int_width(ty);
        let (Some(width), Some(words)) = (width, width.and_then(|width| number.words(width))) else {
            return Err(self.cursor.expected("an element of an integer or float type"));
        };
        let size = (width.div_ceil(8) as usize).max(1);
        Ok(words.into_iter().flat_map(u64::to_le_bytes).take(size).collect())
    }

    fn complex_part(&self, ty: TypeRef) -> Option<TypeRef> {
        match self.nodes.type_fields_of(ty, BUILTIN)? {
            [Field::Int(9), Field::Type(part)] => Some(*part),
            _ => None,
        }
    }

    /// Reads `<i64: 1, 2>` of an array of numbers.
    pub(super) fn dense_array(&mut self) -> Res<AttrRef> {
        self.cursor.expect("<")?;
        let element = self.ty()?;
        let items = if self.cursor.eat(":") {
            self.list(">", |text| text.element(element))?
        } else {
            self.cursor.expect(">")?;
            Vec::new()
        };
        let fields = [
            Field::Int(17),
            Field::Type(element),
            Field::Int(items.len() as u64),
            Field::Blob(items.concat().into()),
        ];
        Ok(self.nodes.builtin(fields))
    }

    /// Reads `<[[0, 1]], [5]> : type` of a sparse constant: positions and values.
    fn sparse(&mut self) -> Res<AttrRef> {
        let body = self.cursor.pos;
        self.cursor.skip_brackets()?;
        self.cursor.expect(":")?;
        let ty = self.ty()?;
        let after = self.cursor.pos;
        self.cursor.pos = body;
        let (Some(shape), Some(element)) = (self.shape(ty), self.element_type(ty)) else {
            return Err(self.cursor.expected("a constant of a tensor type"));
        };
        self.cursor.expect("<")?;
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        if !self.cursor.eat(">") {
            let listed = self.cursor.peek() == b'[';
            indices = self.leaves(&mut |text| text.cursor.int())?;
            if !listed {
                // A single number is the index in each dimension.
                indices = vec![indices.first().copied().unwrap_or(0); shape.len()];
            }
            self.cursor.expect(",")?;
            values = self.leaves(&mut |text| text.element(element))?;
            self.cursor.expect(">")?;
        }
        self.cursor.pos = after;
        let rank = shape.len().max(1);
        let count = (indices.len() / rank) as i64;
        let indices = self.nodes.int_tensor(&[count, rank as i64], &indices);
        let ty_of_values = self.nodes.tensor_type(&[count], element);
        if values.len() > 1 && values.iter().all(|other| *other == values[0]) {
            values.truncate(1);
        }
        let values = constant(self.nodes, ty_of_values, values.concat().into());
        Ok(self.nodes.builtin([Field::Int(20), Field::Type(ty), Field::Attr(indices), Field::Attr(values)]))
    }
}

fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    digits.chunks(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}
