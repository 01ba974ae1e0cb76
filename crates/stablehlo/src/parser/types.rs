//! Types. Each distinct text is parsed once; later occurrences are looked up.

use shardc_ir::{DType, DYNAMIC, Diagnostic, Encoding, QuantTensor, Shape, Span, TensorType, Type, TypeId};
use smallvec::SmallVec;

use super::Parser;
use crate::codes;
use crate::lexer::{Res, is_ident, is_ident_start};
use crate::literals::tokens::push_int;

/// Types of operands or results.
pub(super) type TypeList = SmallVec<[TypeId; 4]>;

/// Types with the span of each.
pub(super) type SpannedTypes = SmallVec<[(TypeId, Span); 4]>;

impl<'a> Parser<'a> {
    /// Whether a type may start at the cursor.
    pub(super) fn at_type(&mut self) -> bool {
        let b = self.peek();
        b == b'!' || b == b'(' || is_ident_start(b)
    }

    /// Parses a type that is not a function type.
    pub(super) fn ty(&mut self) -> Res<TypeId> {
        let text = self.type_text()?;
        if let Some(&id) = self.types.get(text) {
            return Ok(id);
        }
        let start = self.pos - text.len();
        let ty = self.nested(|p| p.type_from(text, start))?;
        let id = match ty {
            Ok(id) => id,
            Err(ty) => self.module.types.intern(ty),
        };
        self.types.insert(text, id);
        Ok(id)
    }

    /// Parses a type that is not a function type. Also returns its span.
    pub(super) fn spanned_ty(&mut self) -> Res<(TypeId, Span)> {
        self.ws();
        let start = self.pos;
        let ty = self.ty()?;
        Ok((ty, Span::new(start, self.pos)))
    }

    /// Skips a type and returns its text.
    fn type_text(&mut self) -> Res<&'a str> {
        let b = self.peek();
        let start = self.pos;
        if !is_ident_start(b) && b != b'!' {
            return Err(self.expected("a type such as `tensor<8x16xf32>`"));
        }
        self.cursor.pos += 1;
        while is_ident(self.byte(0)) {
            self.cursor.pos += 1;
        }
        if self.byte(0) == b'<' {
            self.skip_brackets()?;
        }
        Ok(self.slice(start, self.pos))
    }

    /// Parses the text of a type. Returns an interned type, or a type to intern.
    fn type_from(&mut self, text: &'a str, start: usize) -> Res<Result<TypeId, Type>> {
        if text == "!stablehlo.token" {
            return Ok(Err(Type::Token));
        }
        if let Some(alias) = text.strip_prefix('!').filter(|name| !name.contains(['.', '<'])) {
            let at = self.alias_value(alias, Span::new(start, start + text.len()))?;
            self.open_aliases.push(alias);
            let ty = self.elsewhere(at, Self::ty);
            self.open_aliases.pop();
            return ty.map(Ok);
        }
        if let Some(inner) = text.strip_prefix("tensor<").and_then(|rest| rest.strip_suffix('>')) {
            return self.tensor(text, inner, start).map(Err);
        }
        if text.starts_with("tuple<") {
            let items = self.elsewhere(start + "tuple<".len(), |p| {
                let mut items = Vec::new();
                p.list(">", |p| {
                    items.push(p.ty()?);
                    Ok(())
                })?;
                Ok(items)
            })?;
            return Ok(Err(Type::Tuple(items)));
        }
        if text.starts_with("!stablehlo.future<") {
            let items = self.elsewhere(start + "!stablehlo.future<".len(), |p| {
                let mut items = Vec::new();
                p.list(">", |p| {
                    let ty = p.ty()?;
                    items.push(p.module.types.display(ty));
                    Ok(())
                })?;
                Ok(items)
            })?;
            return Ok(Err(Type::Other(format!("!stablehlo.future<{}>", items.join(", ")).into())));
        }
        if text.starts_with("!quant.") {
            return self
                .elsewhere(start, Self::quant)
                .map(|quant| Err(Type::Other(quant.to_string().into())));
        }
        let word = text.split('<').next().unwrap_or(text);
        let known = text.starts_with('!')
            || DType::parse(text).is_some()
            || matches!(word, "none" | "complex" | "memref" | "vector" | "tf32");
        if !known && !is_scalar(word) {
            return Err(Diagnostic::invalid(codes::TYPE, format!("`{text}` is not a type"))
                .at(Span::new(start, start + text.len()))
                .hint("a tensor type is written `tensor<8x16xf32>`")
                .into());
        }
        if let Some(fault) = width_fault(word) {
            let span = Span::new(start, start + text.len());
            return Err(Diagnostic::invalid(codes::TYPE, fault).at(span).into());
        }
        Ok(Err(Type::Other(self.expand_text(text)?.into())))
    }

    fn tensor(&mut self, text: &str, inner: &'a str, start: usize) -> Res<Type> {
        let bad = |message: String| {
            Diagnostic::invalid(codes::TYPE, message)
                .at(Span::new(start, start + text.len()))
                .hint("a tensor type is written `tensor<8x16xf32>`, a scalar `tensor<f32>`")
        };
        let mut shape = Shape::new();
        let mut rest = inner.trim_start();
        if let Some(element) = rest.strip_prefix('*') {
            let element = element.trim_start().strip_prefix('x').map(str::trim).unwrap_or_default();
            if element.is_empty() {
                return Err(bad(format!("the element type is missing in `{text}`")).into());
            }
            return Ok(Type::Other(format!("tensor<*x{element}>").into()));
        }
        loop {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (size, after) = match rest.strip_prefix('?') {
                Some(after) => ("?", after),
                None => rest.split_at(digits),
            };
            if size.is_empty() {
                break;
            }
            let Some(next) = after.trim_start().strip_prefix('x') else {
                return Err(bad(format!("expected `x` after the size {size} in `{text}`")).into());
            };
            shape.push(if size == "?" {
                DYNAMIC
            } else {
                size.parse().map_err(|_| {
                    Diagnostic::invalid(codes::TYPE, format!("the size {size} of `{text}` is too large"))
                        .at(Span::new(start, start + text.len()))
                        .hint("a dimension has at most 2^56 elements")
                })?
            });
            rest = next.trim_start();
        }
        let (element, encoding) = match split_top(rest) {
            Some((element, encoding)) => (element.trim_end(), Some(encoding.trim())),
            None => (rest.trim_end(), None),
        };
        let (element, at) = self.element_type(element, start + text.len() - (rest.len() + 1))?;
        let encoding = match encoding {
            Some(encoding) => Some(self.encoding(encoding, shape.len()).map_err(&bad)?),
            None => None,
        };
        if let Some(dtype) = DType::parse(element) {
            let tensor = TensorType { shape, dtype, encoding };
            if let Some(fault) = tensor.size_fault() {
                return Err(Diagnostic::invalid(codes::TYPE, format!("`{text}` is too large: {fault}"))
                    .at(Span::new(start, start + text.len()))
                    .into());
            }
            return Ok(Type::Tensor(tensor));
        }
        if element.starts_with('!')
            && self.cursor.text.get(at..).is_some_and(|text| text.starts_with("!quant."))
        {
            let element = self.elsewhere(at, Self::quant)?;
            return Ok(Type::Quantized(Box::new(QuantTensor { shape, element, encoding })));
        }
        if !element.starts_with('!') && !is_scalar(element) {
            return Err(bad(if element.is_empty() {
                format!("the element type is missing in `{text}`")
            } else {
                format!("`{element}` is not an element type")
            })
            .into());
        }
        if let Some(fault) = width_fault(element) {
            return Err(bad(fault).into());
        }
        let mut whole = String::from("tensor<");
        for &size in &shape {
            if size == DYNAMIC {
                whole.push('?');
            } else {
                push_int(&mut whole, size);
            }
            whole.push('x');
        }
        whole.push_str(element);
        if let Some(encoding) = encoding {
            whole.push_str(", ");
            push_int(&mut whole, encoding);
        }
        whole.push('>');
        Ok(Type::Other(whole.into()))
    }

    /// Returns the byte offset at which the value of a type alias starts.
    fn alias_value(&self, alias: &str, span: Span) -> Res<usize> {
        let message = match self.type_aliases.get(alias) {
            Some(_) if self.open_aliases.contains(&alias) => {
                format!("the type alias `!{alias}` refers to itself")
            }
            Some(&(at, _)) => return Ok(at),
            None => format!("the type alias `!{alias}` is not defined"),
        };
        Err(Diagnostic::invalid(codes::UNKNOWN_ALIAS, message).at(span).into())
    }

    /// Resolves the alias of an element type. Returns its text and start.
    fn element_type(&mut self, element: &'a str, start: usize) -> Res<(&'a str, usize)> {
        let (mut text, mut at) = (element, start);
        let open = self.open_aliases.len();
        while let Some(alias) = text.strip_prefix('!').filter(|name| !name.contains(['.', '<'])) {
            at = self.alias_value(alias, Span::new(start, start + element.len()))?;
            self.open_aliases.push(alias);
            text = self.elsewhere(at, Self::type_text)?;
        }
        self.open_aliases.truncate(open);
        Ok((text, at))
    }

    /// Parses the encoding attribute of a tensor with `rank` dimensions.
    fn encoding(&mut self, text: &str, rank: usize) -> Result<Encoding, String> {
        let text = self.expand_text(text).unwrap_or_else(|_| text.to_owned());
        match bounds(&text) {
            None => Ok(Encoding::Other(text.into())),
            Some(Some(bounds)) if bounds.len() == rank => Ok(Encoding::Bounds(bounds)),
            Some(Some(bounds)) => Err(format!("`{text}` has {} bounds for {rank} dimensions", bounds.len())),
            Some(None) => Err(format!("`{text}` must list sizes or `?`")),
        }
    }

    /// Parses `(T, U) -> V`: operand types with their spans, and result types.
    pub(super) fn functional_type(&mut self) -> Res<(SpannedTypes, TypeList)> {
        self.expect("(")?;
        let mut operands = SpannedTypes::new();
        self.list(")", |p| {
            operands.push(p.spanned_ty()?);
            Ok(())
        })?;
        self.expect("->")?;
        Ok((operands, self.result_types()?))
    }

    /// Parses `T`, `(T, U)` or `()`.
    pub(super) fn result_types(&mut self) -> Res<TypeList> {
        let mut results = TypeList::new();
        if self.eat("(") {
            self.list(")", |p| {
                results.push(p.ty()?);
                Ok(())
            })?;
        } else {
            results.push(self.ty()?);
        }
        Ok(results)
    }
}

/// The widest integer type, in bits, as in MLIR.
const MAX_BITS: u32 = (1 << 24) - 1;

/// Returns the digits in the name of an integer type of any width: `27` of `i27`, `8` of `si8`, `4` of `ui4`.
fn int_width(word: &str) -> Option<&str> {
    let prefixes = ["i", "si", "ui"].into_iter();
    let mut digits = prefixes.filter_map(|prefix| word.strip_prefix(prefix));
    digits.find(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns an error if the width of an integer type is invalid.
fn width_fault(word: &str) -> Option<String> {
    let digits = int_width(word)?;
    (!digits.parse().is_ok_and(|bits: u32| bits <= MAX_BITS))
        .then(|| format!("`{word}` is too wide: integers have at most {MAX_BITS} bits"))
}

/// Whether `word` is a builtin scalar type: `f80`, `si8`, `i27`, ...
fn is_scalar(word: &str) -> bool {
    int_width(word).is_some() || matches!(word, "f80" | "f128") || word.starts_with("complex<")
}

/// Returns the list of `#stablehlo.bounds<?, 4>`, which has an older spelling. Returns `None` for another attribute, and `Some(None)` if
/// the list is malformed.
pub(super) fn bounds(text: &str) -> Option<Option<Shape>> {
    let list = match text.strip_prefix("#stablehlo.bounds<") {
        Some(list) => list.strip_suffix('>')?,
        None => {
            let rest =
                text.strip_prefix("#stablehlo.type_extensions<")?.trim_start().strip_prefix("bounds")?;
            let rest = rest.trim_start().strip_prefix('=')?.trim().strip_prefix('[')?;
            rest.strip_suffix('>')?.trim_end().strip_suffix(']')?
        }
    };
    let bound = |text: &str| match text.trim() {
        "?" => Some(DYNAMIC),
        digits => digits.parse().ok().filter(|&n: &i64| n >= 0),
    };
    let items = list.split(',').filter(|_| !list.trim().is_empty());
    Some(items.map(bound).collect())
}

/// Splits at the first comma outside brackets.
fn split_top(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0i32;
    for (at, b) in text.bytes().enumerate() {
        match b {
            b'<' | b'(' | b'[' => depth += 1,
            b'>' | b')' | b']' => depth -= 1,
            b',' if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}
