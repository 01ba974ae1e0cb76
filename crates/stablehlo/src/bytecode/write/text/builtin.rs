//! Attributes of the builtin dialect.

use shardc_ir::{DType, floats};

use super::{Text, push_list};
use crate::bytecode::attr::{AttrRef, TypeRef};
use crate::bytecode::write::nodes::{BUILTIN, Field, Fields, Node, code, push_int};
use crate::lexer::{Res, is_ident_start};
use crate::literals::elements::meant_bits;

/// The numbers of an attribute, as written.
pub(super) struct Number<'t> {
    pub(super) negative: bool,
    pub(super) digits: &'t str,
}

impl Number<'_> {
    /// Whether the number is a float: it has a point or an exponent.
    fn is_float(&self) -> bool {
        !self.digits.starts_with("0x") && self.digits.contains(['.', 'e', 'E'])
    }

    /// Returns the number as bits of a float type.
    pub(super) fn float(&self, dtype: DType) -> Option<u64> {
        if let Some(hex) = self.digits.strip_prefix("0x") {
            let bits = meant_bits(dtype);
            return u64::from_str_radix(hex, 16).ok().filter(|&value| bits == 64 || value >> bits == 0);
        }
        let value: f64 = self.digits.parse().ok()?;
        floats::encode(dtype, if self.negative { -value } else { value })
    }

    /// Returns the number as an integer of `width` bits, in two's complement: 64-bit words, lowest first.
    pub(super) fn words(&self, width: u32) -> Option<Vec<u64>> {
        let (digits, base) = match self.digits.strip_prefix("0x") {
            Some(hex) => (hex, 16),
            None => (self.digits, 10),
        };
        let mut words = vec![0u64; (width.div_ceil(64) as usize).max(1)];
        for digit in digits.chars() {
            let mut carry = u128::from(digit.to_digit(base)?);
            for word in &mut words {
                let value = u128::from(*word) * u128::from(base) + carry;
                (*word, carry) = (value as u64, value >> 64);
            }
        }
        if self.negative {
            let mut carry = true;
            for word in &mut words {
                (*word, carry) = (!*word).overflowing_add(u64::from(carry));
            }
        }
        if let (Some(last), used @ 1..) = (words.last_mut(), width % 64) {
            *last &= u64::MAX >> (64 - used);
        }
        Some(words)
    }
}

/// Appends an integer of any width, in as many words as it needs.
fn push_words(fields: &mut Fields<'_>, width: u32, mut words: Vec<u64>) {
    if width <= 64 {
        return push_int(fields, width, words.first().map_or(0, |&word| word as i64));
    }
    while words.len() > 1 && words.last() == Some(&0) {
        words.pop();
    }
    push_list(fields, words.into_iter().map(|word| Field::Signed(word as i64)));
}

impl<'t> Text<'t, '_, '_> {
    /// Reads an attribute.
    pub(in crate::bytecode::write) fn attr(&mut self) -> Res<AttrRef> {
        self.nested(|text| match text.cursor.peek() {
            b'"' => text.string_attr(),
            b'@' => text.symbol(),
            b'[' => {
                text.cursor.expect("[")?;
                let items = text.list("]", Text::attr)?;
                Ok(text.array(&items))
            }
            b'{' => text.dict(),
            b'#' => text.dialect_attr(),
            b'-' | b'0'..=b'9' => text.number_attr(),
            b'!' | b'(' => text.type_attr(),
            first if is_ident_start(first) => text.word(),
            _ => Err(text.cursor.expected("an attribute")),
        })
    }

    /// Adds `[a, b]`.
    pub(super) fn array(&mut self, items: &[AttrRef]) -> AttrRef {
        let mut fields = code(0);
        push_list(&mut fields, items.iter().map(|&item| Field::Attr(item)));
        self.nodes.coded(BUILTIN, fields)
    }

    fn type_attr(&mut self) -> Res<AttrRef> {
        let ty = self.ty()?;
        Ok(self.nodes.builtin([Field::Int(6), Field::Type(ty)]))
    }

    fn string_attr(&mut self) -> Res<AttrRef> {
        let bytes = self.string()?.into_owned();
        let bytes = self.nodes.str(bytes);
        if !self.cursor.eat(":") {
            return Ok(self.nodes.builtin([Field::Int(2), Field::Str(bytes)]));
        }
        let ty = self.ty()?;
        if matches!(self.nodes.type_fields_of(ty, BUILTIN), Some([Field::Int(12)])) {
            return Ok(self.nodes.builtin([Field::Int(2), Field::Str(bytes)]));
        }
        Ok(self.nodes.builtin([Field::Int(3), Field::Str(bytes), Field::Type(ty)]))
    }

    /// Reads `@root::@nested`.
    fn symbol(&mut self) -> Res<AttrRef> {
        let root = self.cursor.symbol()?.into_owned();
        let root = self.nodes.string(root.into_bytes());
        let mut nested = Vec::new();
        while self.cursor.byte(0) == b':' && self.cursor.byte(1) == b':' {
            self.cursor.pos += 2;
            let name = self.cursor.symbol()?.into_owned();
            let name = self.nodes.string(name.into_bytes());
            nested.push(self.nodes.builtin([Field::Int(4), Field::Attr(name)]));
        }
        if nested.is_empty() {
            return Ok(self.nodes.builtin([Field::Int(4), Field::Attr(root)]));
        }
        let mut fields = code(5);
        fields.push(Field::Attr(root));
        push_list(&mut fields, nested.into_iter().map(Field::Attr));
        Ok(self.nodes.coded(BUILTIN, fields))
    }

    /// Reads `{a = 1, b}`.
    fn dict(&mut self) -> Res<AttrRef> {
        let entries = self.named()?;
        Ok(self.nodes.dict(entries))
    }

    /// Reads the names and values of `{a = 1, b}`.
    pub(in crate::bytecode::write) fn named(&mut self) -> Res<Vec<(AttrRef, AttrRef)>> {
        self.cursor.expect("{")?;
        self.list("}", |text| {
            let name = text.name()?.into_owned();
            let name = text.nodes.string(name);
            let value = if text.cursor.eat("=") { text.attr()? } else { text.unit() };
            Ok((name, value))
        })
    }

    fn unit(&mut self) -> AttrRef {
        self.nodes.builtin([Field::Int(7)])
    }

    /// Reads the characters of a number.
    pub(super) fn number(&mut self) -> Res<Number<'t>> {
        let negative = self.cursor.eat("-");
        self.cursor.ws();
        let start = self.cursor.pos;
        loop {
            match self.cursor.byte(0) {
                b'+' | b'-' if self.from(start).ends_with(['e', 'E']) => {}
                b'.' => {}
                b if b.is_ascii_alphanumeric() => {}
                _ => break,
            }
            self.cursor.pos += 1;
        }
        let digits = self.from(start);
        if digits.is_empty() {
            Err(self.cursor.expected("a number"))
        } else {
            Ok(Number { negative, digits })
        }
    }

    fn number_attr(&mut self) -> Res<AttrRef> {
        let number = self.number()?;
        let ty = if self.cursor.eat(":") {
            self.ty()?
        } else if number.is_float() {
            self.nodes.builtin_type([Field::Int(6)])
        } else {
            self.nodes.int_type(64)
        };
        if let Some(dtype) = self.float_type(ty) {
            let Some(bits) = number.float(dtype) else {
                return Err(self.cursor.expected("a number of this float type"));
            };
            let mut fields = code(9);
            fields.push(Field::Type(ty));
            push_int(&mut fields, meant_bits(dtype), bits as i64);
            return Ok(self.nodes.coded(BUILTIN, fields));
        }
        let width = self.int_width(ty);
        let (Some(width), Some(words)) = (width, width.and_then(|width| number.words(width))) else {
            return Err(self.cursor.expected("a number of an integer or float type"));
        };
        let mut fields = code(8);
        fields.push(Field::Type(ty));
        push_words(&mut fields, width, words);
        Ok(self.nodes.coded(BUILTIN, fields))
    }

    /// Returns the number of bits of an integer type or of `index`.
    pub(super) fn int_width(&self, ty: TypeRef) -> Option<u32> {
        match self.nodes.type_fields_of(ty, BUILTIN)? {
            [Field::Int(0), Field::Int(value)] => u32::try_from(value >> 2).ok(),
            [Field::Int(1)] => Some(64),
            _ => None,
        }
    }

    /// Reads an attribute that starts with a word.
    fn word(&mut self) -> Res<AttrRef> {
        let start = self.cursor.pos;
        for (word, value) in [("true", 1), ("false", 0)] {
            if self.cursor.eat_word(word) {
                let ty = self.nodes.int_type(1);
                return Ok(self.nodes.int(ty, 1, value));
            }
        }
        if self.cursor.eat_word("unit") {
            return Ok(self.unit());
        }
        let next = |text: &mut Self, word: &str| text.cursor.at_word(word);
        if next(self, "dense") || next(self, "dense_resource") || next(self, "sparse") {
            return self.constant();
        }
        if self.cursor.eat_word("array") {
            return self.dense_array();
        }
        if self.cursor.eat_word("loc") {
            self.cursor.expect("(")?;
            let loc = self.loc_body()?;
            self.cursor.expect(")")?;
            return Ok(loc);
        }
        if self.cursor.eat_word("distinct") {
            self.cursor.expect("[")?;
            let number = self.cursor.int()?;
            self.cursor.expect("]")?;
            self.cursor.expect("<")?;
            let inner = if self.cursor.peek() == b'>' { self.unit() } else { self.attr()? };
            self.cursor.expect(">")?;
            let fields = [Field::Int(21), Field::Attr(inner), Field::Identity(number as u64)];
            return Ok(self.nodes.builtin(fields));
        }
        for word in ["affine_map", "affine_set", "strided"] {
            if self.cursor.eat_word(word) {
                self.cursor.skip_brackets()?;
                let text = self.from(start).as_bytes().to_vec();
                let (dialect, text) = (self.nodes.str(BUILTIN.as_bytes()), self.nodes.str(text));
                return Ok(self.nodes.attr(Node::Text { dialect, text }));
            }
        }
        self.type_attr()
    }
}
