//! `dense<...> : type` constants.

use std::collections::VecDeque;

use shardc_ir::{DType, DTypeClass, Dense, Diagnostic, QuantStorage, Span, TensorType, TypeId, floats};
use smallvec::SmallVec;

use super::Parser;
use crate::codes;
use crate::lexer::Res;
use crate::literals::elements;
use crate::syntax::Val;

/// The shape of a nested list, inferred so far.
#[derive(Default)]
struct Nest {
    sizes: Vec<Option<usize>>,
    leaves: Option<usize>,
}

/// The maximum number of elements of a list of integers that may be written as a splat. Lists of dimensions and devices are rarely splats.
const MAX_UNWRITTEN: i64 = 256;

/// A constant that was parsed on its own.
pub(crate) struct Constant {
    /// The elements.
    pub(crate) elements: Dense,
    /// The type of the elements.
    pub(crate) dtype: DType,
}

/// Parses the text of a constant, `dense<...> : type`. Returns `None` if a module does not support its elements.
pub(crate) fn constant(text: &str) -> Res<Option<Constant>> {
    let mut parser = Parser::new(text);
    let (elements, ty) = parser.untracked_dense()?;
    let dtype = parser.module.types.as_tensor(ty).map(|tensor| tensor.dtype);
    let known = !matches!(elements, Dense::Raw(_));
    Ok(dtype.filter(|_| known).map(|dtype| Constant { elements, dtype }))
}

impl<'a> Parser<'a> {
    /// Parses `dense<...> : type` or `dense_resource<key> : type`.
    pub(super) fn dense(&mut self) -> Res<(Dense, TypeId)> {
        let (dense, ty) = match self.decoded_dense()? {
            Some(decoded) => decoded,
            None => self.untracked_dense()?,
        };
        self.last_dense = Some(ty);
        Ok((dense, ty))
    }

    /// Returns the constant at the cursor if its elements were decoded from bytecode; the text then has only a placeholder.
    fn decoded_dense(&mut self) -> Res<Option<(Dense, TypeId)>> {
        if self.decoded.is_empty() {
            return Ok(None);
        }
        let at = self.peek_pos();
        let Some(decoded) = self.decoded.get(&at).cloned() else { return Ok(None) };
        self.skip_attr()?;
        Ok(Some(decoded))
    }

    fn untracked_dense(&mut self) -> Res<(Dense, TypeId)> {
        let start = self.peek_pos();
        if self.eat_word("dense_resource") {
            self.expect("<")?;
            let key: Box<str> = if self.peek() == b'"' {
                self.text_string()?.into()
            } else {
                self.ident("a resource key")?.into()
            };
            self.expect(">")?;
            self.expect(":")?;
            return Ok((Dense::Resource(key), self.ty()?));
        }
        if self.at_word("sparse") {
            self.expect_word("sparse")?;
            let body = self.pos;
            self.skip_brackets()?;
            let constant = self.raw_constant(start)?;
            self.elsewhere(body, |p| p.check_sparse(constant.1))?;
            return Ok(constant);
        }
        if !self.at_word("dense") {
            return Err(self.expected("`dense<...>`"));
        }
        self.expect_word("dense")?;
        let body = self.pos;
        self.skip_brackets()?;
        let end = self.pos;
        self.expect(":")?;
        let (ty, ty_span) = self.spanned_ty()?;
        if let Some(quantized) = self.module.types.as_quantized(ty) {
            let storage = quantized.element.storage.and_then(QuantStorage::dtype);
            let example = TensorType::new(&quantized.shape, storage.unwrap_or(DType::I8));
            let message = "a constant of quantized type must be given as its stored integers";
            let hint = format!("write `dense<...> : {example}` in generic form");
            return Err(Diagnostic::invalid(codes::CONSTANT, message).at(ty_span).hint(hint).into());
        }
        let Some(tensor) = self.module.types.as_tensor(ty) else {
            let shown = self.module.types.display(ty);
            if ["tensor<*", "tensor<?"].iter().any(|head| shown.starts_with(head)) {
                return Err(Diagnostic::invalid(codes::CONSTANT, "a constant needs a static shape")
                    .at(ty_span)
                    .into());
            }
            if ["tensor<", "vector<"].iter().any(|head| shown.starts_with(head)) {
                self.cursor.pos = end;
                return self.raw_constant(start);
            }
            return Err(Diagnostic::invalid(
                codes::CONSTANT,
                format!("a constant cannot have the type {shown}"),
            )
            .at(ty_span)
            .into());
        };
        let Some(count) = tensor.num_elements().and_then(|n| usize::try_from(n).ok()) else {
            return Err(Diagnostic::invalid(codes::CONSTANT, "a constant needs a static shape")
                .at(ty_span)
                .into());
        };
        let dtype = tensor.dtype;
        let shape: SmallVec<[i64; 6]> = tensor.shape.clone();
        let dense = self.elsewhere(body, |p| {
            p.expect("<")?;
            p.elements(dtype, &shape, count, Span::new(start, end))
        })?;
        Ok((dense, ty))
    }

    /// Creates a constant that is kept as text. Its value, which starts at `start`, has been skipped.
    fn raw_constant(&mut self, start: usize) -> Res<(Dense, TypeId)> {
        let mut text = one_line(self.slice(start, self.pos));
        self.expect(":")?;
        let ty = self.ty()?;
        text.push_str(" : ");
        text.push_str(&self.module.types.display(ty));
        Ok((Dense::Raw(text.into()), ty))
    }

    /// Checks a sparse constant, `<[[0, 1], [2, 3]], [5, 6]>`, `<1, 5>` or `<>`: indices are within the shape, and there is one value for
    /// each index or one for all.
    fn check_sparse(&mut self, ty: TypeId) -> Res<()> {
        let Some(tensor) = self.module.types.as_tensor(ty).cloned() else { return Ok(()) };
        let start = self.peek_pos();
        self.expect("<")?;
        if self.eat(">") {
            return Ok(());
        }
        let mut indices: Vec<Vec<i64>> = Vec::new();
        if self.eat("[") {
            self.list("]", |p| {
                let mut index = Vec::new();
                p.expect("[")?;
                p.list("]", |p| {
                    index.push(p.int()?);
                    Ok(())
                })?;
                indices.push(index);
                Ok(())
            })?;
        } else {
            indices.push(vec![self.int()?; tensor.rank()]);
        }
        let is_inside = |index: &Vec<i64>| {
            index.len() == tensor.rank()
                && index.iter().zip(&tensor.shape).all(|(i, size)| (0..*size).contains(i))
        };
        if let Some(index) = indices.iter().find(|index| !is_inside(index)) {
            let message = format!("the index {index:?} is out of bounds for {tensor}");
            return Err(Diagnostic::invalid(codes::CONSTANT, message).at(self.span_from(start)).into());
        }
        self.expect(",")?;
        let mut values = None;
        if self.eat("[") {
            let mut count = 0;
            self.list("]", |p| {
                count += 1;
                p.element(tensor.dtype, &mut Vec::new())
            })?;
            values = Some(count);
        } else {
            self.element(tensor.dtype, &mut Vec::new())?;
        }
        if let Some(count) = values.filter(|&count| count != indices.len()) {
            let message = format!("this constant has {} indices and {count} values", indices.len());
            return Err(Diagnostic::invalid(codes::CONSTANT, message).at(self.span_from(start)).into());
        }
        self.expect(">")
    }

    fn elements(&mut self, dtype: DType, shape: &[i64], count: usize, span: Span) -> Res<Dense> {
        if self.eat(">") {
            return if count == 0 {
                Ok(Dense::elements(Vec::new()))
            } else {
                let message = format!("this constant has no elements, but its type has {count}");
                Err(Diagnostic::invalid(codes::CONSTANT, message).at(span).into())
            };
        }
        let mut bytes = Vec::new();
        match self.peek() {
            b'"' => {
                let raw = self.raw_string()?;
                let dense = hex_elements(dtype, shape, count, raw)
                    .map_err(|message| Diagnostic::invalid(codes::CONSTANT, message).at(span))?;
                self.expect(">")?;
                return Ok(dense);
            }
            b'[' => {
                let mut nest = Nest::default();
                self.nest(dtype, 0, &mut nest, &mut bytes)?;
                let sizes: Vec<i64> = nest.sizes.iter().map(|s| s.unwrap_or(0) as i64).collect();
                if sizes != shape {
                    let message = format!(
                        "this list has the shape {}, but its type has the shape {}",
                        dims_text(&sizes),
                        dims_text(shape)
                    );
                    return Err(Diagnostic::invalid(codes::CONSTANT, message).at(span).into());
                }
            }
            _ => {
                self.element(dtype, &mut bytes)?;
                self.expect(">")?;
                return Ok(Dense::splat(&bytes));
            }
        }
        self.expect(">")?;
        Ok(Dense::compact(dtype.bytes(), bytes))
    }

    fn nest(&mut self, dtype: DType, level: usize, nest: &mut Nest, bytes: &mut Vec<u8>) -> Res<()> {
        let start = self.peek_pos();
        self.expect("[")?;
        if nest.sizes.len() == level {
            nest.sizes.push(None);
        }
        let mut count = 0;
        self.list("]", |p| {
            count += 1;
            if p.peek() == b'[' {
                return p.nested(|p| p.nest(dtype, level + 1, nest, bytes));
            }
            if *nest.leaves.get_or_insert(level) != level || nest.sizes.len() > level + 1 {
                return Err(p.expected("lists of equal depth"));
            }
            p.element(dtype, bytes)
        })?;
        let size = nest.sizes[level].get_or_insert(count);
        if *size != count {
            let message =
                format!("this list has {count} elements, but an earlier list at this level has {size}");
            return Err(Diagnostic::invalid(codes::CONSTANT, message).at(Span::new(start, self.pos)).into());
        }
        Ok(())
    }

    fn element(&mut self, dtype: DType, bytes: &mut Vec<u8>) -> Res<()> {
        match dtype {
            DType::C64 | DType::C128 => {
                let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
                self.expect("(")?;
                self.element(part, bytes)?;
                self.expect(",")?;
                self.element(part, bytes)?;
                self.expect(")")
            }
            _ if dtype.is_float() => {
                let bits = self.float(dtype)?;
                bytes.extend_from_slice(&bits.to_le_bytes()[..dtype.bytes()]);
                Ok(())
            }
            _ => {
                let value = self.integer(dtype)?;
                bytes.extend_from_slice(&value.to_le_bytes()[..dtype.bytes()]);
                Ok(())
            }
        }
    }

    pub(super) fn number_text(&mut self) -> &'a str {
        self.ws();
        let start = self.pos;
        if matches!(self.byte(0), b'-' | b'+') {
            self.cursor.pos += 1;
        }
        loop {
            match self.byte(0) {
                b'+' | b'-' if matches!(self.slice(self.pos - 1, self.pos), "e" | "E") => {}
                b if b.is_ascii_alphanumeric() || b == b'.' => {}
                _ => break,
            }
            self.cursor.pos += 1;
        }
        self.slice(start, self.pos)
    }

    pub(super) fn float(&mut self, dtype: DType) -> Res<u64> {
        let span = self.token_span();
        let start = self.peek_pos();
        let text = self.number_text();
        let bits = match text.strip_prefix("0x") {
            Some(hex) => {
                let bits = elements::meant_bits(dtype);
                u64::from_str_radix(hex, 16).ok().filter(|&v| bits == 64 || v >> bits == 0)
            }
            None if text.bytes().any(|b| b.is_ascii_alphabetic() && !matches!(b, b'e' | b'E')) => None,
            None => text.parse().ok().and_then(|value| floats::encode(dtype, value)),
        };
        bits.ok_or_else(|| {
            let span = if text.is_empty() { span } else { Span::new(start, self.pos) };
            Diagnostic::invalid(codes::CONSTANT, format!("expected an element of type {dtype}"))
                .at(span)
                .hint("write a float as `1.000000e+00` or its bits as `0x3F800000`")
                .into()
        })
    }

    fn integer(&mut self, dtype: DType) -> Res<u64> {
        let span = self.token_span();
        if dtype == DType::I1 {
            if self.eat_word("true") {
                return Ok(1);
            }
            if self.eat_word("false") {
                return Ok(0);
            }
        }
        let start = self.peek_pos();
        let text = self.number_text();
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let value = match digits.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16),
            None => digits.parse::<i128>(),
        };
        let bits = dtype.bits();
        let range = match dtype.class() {
            DTypeClass::Unsigned => 0..1i128 << bits,
            _ => -(1i128 << (bits - 1))..1i128 << bits,
        };
        let value = value.ok().map(|v| if negative { -v } else { v }).filter(|v| range.contains(v));
        match value {
            // Signed elements narrower than a byte are stored sign-extended in a byte.
            Some(value) if dtype == DType::I1 => Ok((value & 1) as u64),
            Some(value) if dtype.class() == DTypeClass::Signed => {
                let shift = 128 - bits;
                Ok(((value << shift) >> shift) as u64)
            }
            Some(value) => Ok(value as u64),
            None => {
                let span = if text.is_empty() { span } else { Span::new(start, self.pos) };
                Err(Diagnostic::invalid(codes::CONSTANT, format!("expected an element of type {dtype}"))
                    .at(span)
                    .into())
            }
        }
    }

    /// Parses the rows of `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`. A vector is one row.
    pub(super) fn matrix(&mut self) -> Res<Vec<Vec<i64>>> {
        let start = self.peek_pos();
        let (dense, ty) = self.dense()?;
        let span = Span::new(start, self.pos);
        let rows = self.module.types.as_tensor(ty).and_then(|tensor| {
            let (rows, columns) = match tensor.shape[..] {
                [] => (1, 1),
                [n] => (1, n),
                [rows, columns] => (rows, columns),
                _ => return None,
            };
            let count = tensor.num_elements()?;
            // The printer expands splats, so their size is limited: a short text must not expand to gigabytes.
            if (matches!(dense, Dense::Splat(_)) || count == 0) && rows.max(count) > MAX_UNWRITTEN {
                return None;
            }
            let mut values: VecDeque<i64> = int_elements(&dense, tensor.dtype, count)?.into();
            let columns = usize::try_from(columns).ok()?;
            Some((0..rows).map(|_| values.drain(..columns.min(values.len())).collect()).collect())
        });
        rows.ok_or_else(|| {
            let message = format!(
                "expected a list or a matrix of integers, or one integer that is repeated at most {MAX_UNWRITTEN} times"
            );
            Diagnostic::invalid(codes::ATTRIBUTE, message).at(span).into()
        })
    }

    /// Parses replica groups: a matrix, or axes of a mesh.
    pub(super) fn groups(&mut self) -> Res<Val> {
        if self.peek() == b'#' {
            let (groups, text) = self.mesh_axes_groups()?;
            return Ok(Val::Groups(groups, Some(text.into())));
        }
        let start = self.peek_pos();
        let rows = self.elsewhere(start, |p| {
            let (_, ty) = p.dense()?;
            Ok(p.module
                .types
                .as_tensor(ty)
                .filter(|tensor| tensor.num_elements() != Some(0))
                .map_or(2, TensorType::rank))
        })?;
        if rows != 2 {
            return Err(self.expected(
                "a matrix, one row per group or pair, as in `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`",
            ));
        }
        Ok(Val::Groups(self.matrix()?.into(), None))
    }
}

/// Returns the text with each sequence of whitespace outside strings replaced by one space.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        if !quoted && c.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
            continue;
        }
        if c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && c == '\\' && !escaped;
        out.push(c);
    }
    out
}

/// Returns the elements of an integer constant.
fn int_elements(dense: &Dense, dtype: DType, count: i64) -> Option<Vec<i64>> {
    if !dtype.is_integer() && dtype != DType::I1 {
        return None;
    }
    let width = dtype.bytes();
    let int = |bytes: &[u8]| {
        let mut wide =
            [if dtype.class() == DTypeClass::Signed && bytes.last()? & 0x80 != 0 { 0xFF } else { 0 }; 8];
        wide.get_mut(..width)?.copy_from_slice(bytes);
        Some(i64::from_le_bytes(wide))
    };
    match dense {
        Dense::Splat(bytes) => Some(vec![int(bytes)?; usize::try_from(count).ok()?]),
        Dense::Elements(bytes) => bytes.chunks_exact(width).map(int).collect(),
        Dense::Resource(_) | Dense::Raw(_) => None,
    }
}

/// Parses elements given as `0x` and bytes in MLIR's storage format. An element narrower than a byte takes one byte, whose upper bits are
/// ignored. Booleans may be packed eight to a byte, depending on the length.
fn hex_elements(dtype: DType, shape: &[i64], count: usize, raw: &str) -> Result<Dense, String> {
    let hex = raw.strip_prefix("0x").ok_or("expected a string of bytes that starts with 0x")?;
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    let bytes: Option<Vec<u8>> =
        hex.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? * 16 + digit(*pair.get(1)?)?)).collect();
    let bytes = bytes.ok_or("this string of bytes must have two hexadecimal digits for each byte")?;
    elements::dense(dtype, shape, &bytes).ok_or_else(|| {
        let width = elements::stored_bytes(dtype);
        match count.checked_mul(width) {
            Some(all) => {
                format!(
                    "this string has {} bytes, but {count} elements of type {dtype} take {all}",
                    bytes.len()
                )
            }
            None => {
                format!(
                    "this string has {} bytes, but each element of type {dtype} takes {width}",
                    bytes.len()
                )
            }
        }
    })
}

fn dims_text(dims: &[i64]) -> String {
    let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
    if dims.is_empty() { "of a scalar".to_owned() } else { dims.join("x") }
}
