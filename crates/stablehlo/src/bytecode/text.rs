//! Attributes and types as text in MLIR's generic form, all of them in one buffer.

use std::fmt::Write as _;
use std::ops::Range;

use rustc_hash::FxHashMap;
use shardc_ir::{DType, DYNAMIC, Diagnostic, floats};

use super::attr::{AttrRef, BAttr, BLoc, BType, Piece, Sign, Store, TypeRef, Words};
use super::element_type::dtype;
use crate::codes;
use crate::lexer::Res;
use crate::literals::dense::{self, MAX_LISTED, MAX_RANK};
use crate::literals::elements;
use crate::literals::tokens::{is_bare, push_escaped, push_hex};

/// The maximum nesting of attributes and types. The limit also detects cycles.
const MAX_DEPTH: u32 = 64;

/// Whether a number may be written without its type. In lists, `i64` and `f64` are omitted, because readers infer them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Elide {
    Never,
    May,
}

/// The text of attributes and types, each written once.
pub(super) struct Pool<'s, 'b> {
    store: &'s Store<'b>,
    /// The text so far.
    text: String,
    limit: usize,
    depth: u32,
    attrs: Vec<Option<Range<usize>>>,
    types: Vec<Option<usize>>,
    /// For each distinct attribute, its ID in `distinct[N]<...>`, which counts in order of first use.
    distinct: FxHashMap<AttrRef, usize>,
}

impl<'s, 'b> Pool<'s, 'b> {
    /// Returns an empty pool with a limit of `limit` bytes.
    pub(super) fn new(store: &'s Store<'b>, limit: usize) -> Self {
        Pool {
            store,
            text: String::new(),
            limit,
            depth: 0,
            attrs: vec![None; store.attrs.len()],
            types: vec![None; store.types.len()],
            distinct: FxHashMap::default(),
        }
    }

    /// Returns the range of an attribute's text.
    pub(super) fn attr(&mut self, at: AttrRef) -> Res<Range<usize>> {
        if let Some(Some(range)) = self.attrs.get(at.0 as usize) {
            return Ok(range.clone());
        }
        let start = self.text.len();
        self.push_attr(at, Elide::Never)?;
        let range = start..self.text.len();
        self.text.push('\n');
        if let Some(slot) = self.attrs.get_mut(at.0 as usize) {
            *slot = Some(range.clone());
        }
        Ok(range)
    }

    /// Returns the start of a type's text.
    pub(super) fn ty(&mut self, at: TypeRef) -> Res<usize> {
        if let Some(Some(start)) = self.types.get(at.0 as usize) {
            return Ok(*start);
        }
        let start = self.text.len();
        self.push_type(at)?;
        self.text.push('\n');
        if let Some(slot) = self.types.get_mut(at.0 as usize) {
            *slot = Some(start);
        }
        Ok(start)
    }

    /// Returns the text of an attribute.
    pub(super) fn attr_text(&mut self, at: AttrRef) -> Res<&str> {
        let range = self.attr(at)?;
        Ok(self.text.get(range).unwrap_or(""))
    }

    /// Returns the text of a type.
    pub(super) fn type_text(&mut self, at: TypeRef) -> Res<&str> {
        let start = self.ty(at)?;
        let rest = self.text.get(start..).unwrap_or("");
        Ok(rest.split_once('\n').map_or(rest, |(text, _)| text))
    }

    /// Returns the text, and the start of each type in it.
    pub(super) fn finish(self) -> (String, Vec<Option<usize>>) {
        (self.text, self.types)
    }

    /// Writes a placeholder for a constant whose elements are passed as bytes.
    pub(super) fn placeholder(&mut self) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str("dense<>\n");
        start..start + "dense<>".len()
    }

    fn enter(&mut self) -> Res<()> {
        if self.depth >= MAX_DEPTH {
            let message = format!("attributes or types are nested more than {MAX_DEPTH} levels deep");
            return Err(Diagnostic::unsupported(codes::NESTING, message).into());
        }
        // The depth limit does not bound the size: if each array refers to the next array twice, the size doubles with each level.
        if self.text.len() > self.limit {
            let message =
                format!("the attributes of this bytecode take more than {} bytes as text", self.limit);
            return Err(Diagnostic::unsupported(codes::TOO_LARGE, message).into());
        }
        self.depth += 1;
        Ok(())
    }

    fn push_attr(&mut self, at: AttrRef, elide: Elide) -> Res<()> {
        self.enter()?;
        let done = self.push_attr_inner(at, elide);
        self.depth -= 1;
        done
    }

    fn push_type(&mut self, at: TypeRef) -> Res<()> {
        self.enter()?;
        let done = self.push_type_inner(at);
        self.depth -= 1;
        done
    }

    /// Appends items separated by commas.
    fn separated<T: Copy>(&mut self, items: &[T], mut push: impl FnMut(&mut Self, T) -> Res<()>) -> Res<()> {
        for (i, &item) in items.iter().enumerate() {
            if i > 0 {
                self.text.push_str(", ");
            }
            push(self, item)?;
        }
        Ok(())
    }

    fn colon_type(&mut self, ty: TypeRef) -> Res<()> {
        self.text.push_str(" : ");
        self.push_type(ty)
    }

    fn quoted(&mut self, bytes: &[u8]) {
        self.text.push('"');
        push_escaped(&mut self.text, bytes);
        self.text.push('"');
    }

    fn push_attr_inner(&mut self, at: AttrRef, elide: Elide) -> Res<()> {
        let store = self.store;
        match store.attr(at) {
            BAttr::Unit => self.text.push_str("unit"),
            BAttr::Int { ty, words } => self.push_int_attr(*ty, words, elide)?,
            BAttr::Float { ty, words } => {
                let start = self.text.len();
                self.push_float(*ty, words);
                let double = matches!(store.ty(*ty), BType::Float("f64"));
                let hex = self.text.get(start..).is_some_and(|text| text.starts_with("0x"));
                if !double || hex || elide == Elide::Never {
                    self.colon_type(*ty)?;
                }
            }
            BAttr::Str { bytes, ty } => {
                self.quoted(bytes);
                if let Some(ty) = ty {
                    self.colon_type(*ty)?;
                }
            }
            BAttr::Array(items) => {
                self.text.push('[');
                self.separated(items, |p, item| p.push_attr(item, Elide::May))?;
                self.text.push(']');
            }
            BAttr::Dict(entries) => {
                if let Some(name) = store.repeated_name(entries) {
                    let message = format!("malformed bytecode: a dictionary has the key `{name}` twice");
                    return Err(Diagnostic::invalid(codes::MALFORMED, message).into());
                }
                self.text.push('{');
                self.separated(entries, Self::named)?;
                self.text.push('}');
            }
            BAttr::Symbol(path) => {
                for (i, name) in path.iter().enumerate() {
                    self.text.push_str(if i > 0 { "::@" } else { "@" });
                    self.name(name)?;
                }
            }
            BAttr::SymbolPath { root, nested } => {
                self.text.push('@');
                self.name(store.string(*root).unwrap_or(b""))?;
                for &part in nested {
                    if !matches!(store.attr(part), BAttr::Symbol(_) | BAttr::SymbolPath { .. }) {
                        let message =
                            "malformed bytecode: a nested symbol reference has a part that is not a symbol";
                        return Err(Diagnostic::invalid(codes::MALFORMED, message).into());
                    }
                    self.text.push_str("::");
                    self.push_attr(part, Elide::Never)?;
                }
            }
            BAttr::Type(ty) => self.push_type(*ty)?,
            BAttr::Dense { ty, bytes } => {
                self.text.push_str("dense");
                self.push_elements(*ty, bytes);
                self.colon_type(*ty)?;
            }
            BAttr::DenseStrings { ty, items } => {
                self.push_strings(*ty, items);
                self.colon_type(*ty)?;
            }
            BAttr::DenseResource { ty, key } => {
                self.text.push_str("dense_resource<");
                self.name(key)?;
                self.text.push('>');
                self.colon_type(*ty)?;
            }
            BAttr::DenseArray { element, bytes, .. } => self.push_array(*element, bytes)?,
            BAttr::Sparse { ty, indices, values } => self.push_sparse(*ty, [*indices, *values])?,
            BAttr::Distinct(inner) => {
                let next = self.distinct.len();
                let number = *self.distinct.entry(at).or_insert(next);
                let _ = write!(self.text, "distinct[{number}]<");
                self.push_attr(*inner, Elide::Never)?;
                self.text.push('>');
            }
            BAttr::Loc(loc) => {
                self.text.push_str("loc(");
                self.push_loc(loc)?;
                self.text.push(')');
            }
            BAttr::Pieces(pieces) => self.push_pieces(pieces)?,
            BAttr::Nestable { head, body, tail } => {
                self.text.push_str(head);
                self.push_pieces(body)?;
                self.text.push_str(tail);
            }
        }
        Ok(())
    }

    fn push_int_attr(&mut self, ty: TypeRef, words: &Words, elide: Elide) -> Res<()> {
        let plain = match *self.store.ty(ty) {
            BType::Int { width: 1, sign: Sign::Signless } => {
                self.text.push_str(if words.first() == Some(&1) { "true" } else { "false" });
                return Ok(());
            }
            BType::Int { width, sign } => {
                push_int(&mut self.text, words, width, sign != Sign::Unsigned);
                width == 64 && sign == Sign::Signless
            }
            _ => {
                push_int(&mut self.text, words, 64, true);
                false
            }
        };
        if !(plain && elide == Elide::May) {
            self.colon_type(ty)?;
        }
        Ok(())
    }

    /// Appends a sparse constant. `parts` are its indices and its values.
    fn push_sparse(&mut self, ty: TypeRef, parts: [AttrRef; 2]) -> Res<()> {
        let store = self.store;
        self.text.push_str("sparse");
        self.text.push('<');
        let empty = parts
            .iter()
            .all(|&part| matches!(store.attr(part), BAttr::Dense { bytes, .. } if bytes.is_empty()));
        for (i, part) in parts.into_iter().enumerate().filter(|_| !empty) {
            self.text.push_str(if i > 0 { ", " } else { "" });
            let BAttr::Dense { ty, bytes } = store.attr(part) else { continue };
            let start = self.text.len();
            self.push_elements(*ty, bytes);
            // Removes the brackets of the list, since the list is inside the brackets of the sparse constant.
            self.text.pop();
            if self.text.len() > start {
                self.text.remove(start);
            }
        }
        self.text.push('>');
        self.colon_type(ty)
    }

    /// Appends an attribute that is part of another attribute of the same dialect.
    fn push_nested(&mut self, at: AttrRef) -> Res<()> {
        let store = self.store;
        let BAttr::Nestable { body, .. } = store.attr(at) else { return self.push_attr(at, Elide::Never) };
        self.enter()?;
        let done = self.push_pieces(body);
        self.depth -= 1;
        done
    }

    fn push_pieces(&mut self, pieces: &[Piece<'b>]) -> Res<()> {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.text.push_str(text),
                Piece::Attr(at) => self.push_attr(*at, Elide::Never)?,
                Piece::Type(at) => self.push_type(*at)?,
                Piece::Nested(at) => self.push_nested(*at)?,
                Piece::Mesh(at) => {
                    if matches!(self.store.attr(*at), BAttr::Nestable { .. }) {
                        self.text.push_str("mesh");
                    }
                    self.push_nested(*at)?;
                }
                Piece::Quoted(bytes) => self.quoted(bytes),
            }
        }
        Ok(())
    }

    /// Appends `name = value`, or only the name of a unit attribute.
    fn named(&mut self, (name, value): (AttrRef, AttrRef)) -> Res<()> {
        self.name(self.store.string(name).unwrap_or(b""))?;
        if matches!(self.store.attr(value), BAttr::Unit) {
            return Ok(());
        }
        self.text.push_str(" = ");
        self.push_attr(value, Elide::Never)
    }

    /// Appends a name, quoted if necessary.
    fn name(&mut self, name: &[u8]) -> Res<()> {
        match std::str::from_utf8(name) {
            Ok(name) if is_bare(name) => self.text.push_str(name),
            Ok(_) => self.quoted(name),
            Err(_) => {
                let message = format!("malformed bytecode: the name `{}` is not UTF-8", name.escape_ascii());
                return Err(Diagnostic::invalid(codes::MALFORMED, message).into());
            }
        }
        Ok(())
    }

    fn push_float(&mut self, ty: TypeRef, words: &Words) {
        match self.dtype(ty) {
            Some(dtype) if dtype.is_float() => {
                floats::push(&mut self.text, dtype, words.first().copied().unwrap_or(0));
            }
            _ => {
                self.text.push_str("0x");
                for word in words.iter().rev() {
                    let _ = write!(self.text, "{word:016X}");
                }
            }
        }
    }

    /// Returns the element type that a type denotes, if any.
    fn dtype(&self, ty: TypeRef) -> Option<DType> {
        dtype(self.store, ty)
    }

    /// Appends `<elements>`.
    fn push_elements(&mut self, ty: TypeRef, bytes: &[u8]) {
        let (BType::Tensor { shape, element, .. } | BType::Vector { shape, element, .. }) = self.store.ty(ty)
        else {
            self.push_hex_elements(bytes);
            return;
        };
        let dense =
            self.dtype(*element).and_then(|dtype| Some((dtype, elements::dense(dtype, shape, bytes)?)));
        match dense {
            Some((dtype, dense)) => {
                let start = self.text.len();
                dense::push_value(&mut self.text, dtype, shape, &dense);
                self.text.replace_range(start..start + "dense".len(), "");
            }
            None => self.push_odd_elements(*element, shape, bytes),
        }
    }

    /// Appends `<elements>` of a constant with an element type that a module does not support, such as `i27`.
    fn push_odd_elements(&mut self, element: TypeRef, shape: &[i64], bytes: &[u8]) {
        let &BType::Int { width, sign } = self.store.ty(element) else {
            self.push_hex_elements(bytes);
            return;
        };
        let size = (width.div_ceil(8) as usize).max(1);
        let count = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(usize::try_from(size).ok()?));
        let splat = bytes.len() == size;
        if bytes.len() / size > MAX_LISTED
            || shape.len() > MAX_RANK
            || !splat && count != Some(bytes.len() / size)
        {
            self.push_hex_elements(bytes);
            return;
        }
        self.text.push('<');
        let items: Vec<&[u8]> = bytes.chunks_exact(size).collect();
        let shape = if splat { &[] } else { shape };
        push_nested(&mut self.text, shape, &items, &mut |out, item| {
            let mut words = Words::new();
            for chunk in item.chunks(8) {
                let mut wide = [0; 8];
                for (to, from) in wide.iter_mut().zip(chunk) {
                    *to = *from;
                }
                words.push(u64::from_le_bytes(wide));
            }
            push_int(out, &words, width, sign != Sign::Unsigned);
        });
        self.text.push('>');
    }

    fn push_hex_elements(&mut self, bytes: &[u8]) {
        self.text.push_str("<\"0x");
        push_hex(&mut self.text, bytes);
        self.text.push_str("\">");
    }

    /// Appends `dense<["a", "b"]>`.
    fn push_strings(&mut self, ty: TypeRef, items: &[&'b [u8]]) {
        self.text.push_str("dense<");
        let shape = match self.store.ty(ty) {
            BType::Tensor { shape, .. } | BType::Vector { shape, .. } if items.len() != 1 => &shape[..],
            _ => &[],
        };
        if !items.is_empty() && shape.len() <= MAX_RANK {
            push_nested(&mut self.text, shape, items, &mut |out, item| {
                out.push('"');
                push_escaped(out, item);
                out.push('"');
            });
        }
        self.text.push('>');
    }

    /// Appends `array<i64: 1, 2>`.
    fn push_array(&mut self, element: TypeRef, bytes: &[u8]) -> Res<()> {
        self.text.push_str("array<");
        self.push_type(element)?;
        let (width, signed, float) = match *self.store.ty(element) {
            BType::Int { width, sign } => (width, width > 1 && sign != Sign::Unsigned, None),
            _ => match self.dtype(element) {
                Some(dtype) => (dtype.bits(), true, dtype.is_float().then_some(dtype)),
                None => (8, false, None),
            },
        };
        let size = width.div_ceil(8).clamp(1, 8) as usize;
        for (i, chunk) in bytes.chunks_exact(size).enumerate() {
            self.text.push_str(if i > 0 { ", " } else { ": " });
            let mut wide = [0; 8];
            for (to, from) in wide.iter_mut().zip(chunk) {
                *to = *from;
            }
            let word = u64::from_le_bytes(wide);
            match float {
                Some(dtype) => floats::push(&mut self.text, dtype, word),
                None if width == 1 => self.text.push_str(if word & 1 == 1 { "true" } else { "false" }),
                None => push_int(&mut self.text, &Words::from_slice(&[word]), width.clamp(1, 64), signed),
            }
        }
        self.text.push('>');
        Ok(())
    }

    /// Appends the content of `loc(...)`.
    fn push_loc(&mut self, loc: &BLoc) -> Res<()> {
        match loc {
            BLoc::Unknown => self.text.push_str("unknown"),
            BLoc::File { file, line, col, end } => {
                self.quoted(self.store.string(*file).unwrap_or(b""));
                let _ = write!(self.text, ":{line}:{col}");
                if let Some(to) = range_end((*line, *col), *end) {
                    let _ = write!(self.text, " {to}");
                }
            }
            BLoc::Name { name, child } => {
                self.quoted(self.store.string(*name).unwrap_or(b""));
                if !matches!(self.store.attr(*child), BAttr::Loc(BLoc::Unknown)) {
                    self.text.push('(');
                    self.nested_loc(*child)?;
                    self.text.push(')');
                }
            }
            BLoc::CallSite { callee, caller } => {
                self.text.push_str("callsite(");
                self.nested_loc(*callee)?;
                self.text.push_str(" at ");
                self.nested_loc(*caller)?;
                self.text.push(')');
            }
            BLoc::Fused { metadata, children } => {
                self.text.push_str("fused");
                if let Some(metadata) = metadata {
                    self.text.push('<');
                    self.push_attr(*metadata, Elide::Never)?;
                    self.text.push('>');
                }
                self.text.push('[');
                self.separated(children, Self::nested_loc)?;
                self.text.push(']');
            }
        }
        Ok(())
    }

    fn nested_loc(&mut self, at: AttrRef) -> Res<()> {
        let store = self.store;
        let BAttr::Loc(loc) = store.attr(at) else {
            self.text.push_str("unknown");
            return Ok(());
        };
        self.enter()?;
        let done = self.push_loc(loc);
        self.depth -= 1;
        done
    }

    fn sizes(&mut self, shape: &[i64], scalable: &[bool]) {
        for (i, &size) in shape.iter().enumerate() {
            let scalable = scalable.get(i) == Some(&true);
            if scalable {
                self.text.push('[');
            }
            match size {
                DYNAMIC => self.text.push('?'),
                _ => {
                    let _ = write!(self.text, "{size}");
                }
            }
            self.text.push_str(if scalable { "]x" } else { "x" });
        }
    }

    fn opt_attr(&mut self, at: Option<AttrRef>) -> Res<()> {
        if let Some(at) = at {
            self.text.push_str(", ");
            self.push_attr(at, Elide::Never)?;
        }
        self.text.push('>');
        Ok(())
    }

    fn push_type_inner(&mut self, at: TypeRef) -> Res<()> {
        let store = self.store;
        match store.ty(at) {
            BType::Int { width, sign } => {
                let prefix = match sign {
                    Sign::Signless => "i",
                    Sign::Signed => "si",
                    Sign::Unsigned => "ui",
                };
                let _ = write!(self.text, "{prefix}{width}");
            }
            BType::Index => self.text.push_str("index"),
            BType::Float(name) => self.text.push_str(name),
            BType::Complex(element) => {
                self.text.push_str("complex<");
                self.push_type(*element)?;
                self.text.push('>');
            }
            BType::None => self.text.push_str("none"),
            BType::Function { inputs, results } => {
                self.text.push('(');
                self.separated(inputs, Self::push_type)?;
                self.text.push_str(") -> ");
                match results[..] {
                    [only] if !matches!(store.ty(only), BType::Function { .. }) => self.push_type(only)?,
                    _ => {
                        self.text.push('(');
                        self.separated(results, Self::push_type)?;
                        self.text.push(')');
                    }
                }
            }
            BType::Tensor { shape, element, encoding } => {
                self.text.push_str("tensor<");
                self.sizes(shape, &[]);
                self.push_type(*element)?;
                self.opt_attr(*encoding)?;
            }
            BType::UnrankedTensor(element) => {
                self.text.push_str("tensor<*x");
                self.push_type(*element)?;
                self.text.push('>');
            }
            BType::Tuple(items) => {
                self.text.push_str("tuple<");
                self.separated(items, Self::push_type)?;
                self.text.push('>');
            }
            BType::Vector { shape, scalable, element } => {
                self.text.push_str("vector<");
                self.sizes(shape, scalable);
                self.push_type(*element)?;
                self.text.push('>');
            }
            BType::MemRef { shape, element, layout, space } => {
                self.text.push_str("memref<");
                self.sizes(shape, &[]);
                self.push_type(*element)?;
                let start = self.text.len();
                self.text.push_str(", ");
                self.push_attr(*layout, Elide::Never)?;
                if self.text.get(start..).is_some_and(is_identity) {
                    self.text.truncate(start);
                }
                self.opt_attr(*space)?;
            }
            BType::UnrankedMemRef { element, space } => {
                self.text.push_str("memref<*x");
                self.push_type(*element)?;
                self.opt_attr(*space)?;
            }
            BType::Pieces(pieces) => self.push_pieces(pieces)?,
        }
        Ok(())
    }
}

/// Appends `items` as nested lists of the shape `shape`. An empty shape is a single item.
fn push_nested(out: &mut String, shape: &[i64], items: &[&[u8]], push: &mut impl FnMut(&mut String, &[u8])) {
    let Some((&size, inner)) = shape.split_first() else {
        if let Some(item) = items.first() {
            push(out, item);
        }
        return;
    };
    out.push('[');
    let stride = items.len().checked_div(usize::try_from(size).unwrap_or(0)).unwrap_or(0);
    if stride > 0 {
        for (i, part) in items.chunks_exact(stride).enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            push_nested(out, inner, part, push);
        }
    }
    out.push(']');
}

/// Whether a layout is the default: `affine_map<(d0, d1) -> (d0, d1)>`.
fn is_identity(layout: &str) -> bool {
    let body = layout.strip_prefix(", affine_map<").and_then(|rest| rest.strip_suffix('>'));
    body.and_then(|body| body.split_once(" -> ")).is_some_and(|(from, to)| from == to)
}

/// Returns the end of a source range, as MLIR writes it after the start: `to 3:4`, or `to :4` on the same line.
pub(super) fn range_end((line, col): (u64, u64), end: Option<(u64, u64)>) -> Option<String> {
    match end? {
        end if end == (line, col) => None,
        (end_line, end_col) if end_line == line => Some(format!("to :{end_col}")),
        (end_line, end_col) => Some(format!("to {end_line}:{end_col}")),
    }
}

/// Appends an integer of any width in decimal.
fn push_int(out: &mut String, words: &Words, width: u32, signed: bool) {
    let word = words.first().copied().unwrap_or(0);
    if width <= 64 {
        let shift = 64 - width.max(1);
        let _ =
            if signed { write!(out, "{}", ((word << shift) as i64) >> shift) } else { write!(out, "{word}") };
        return;
    }
    let mut words = words.clone();
    let negative = signed
        && words.get((width as usize - 1) / 64).is_some_and(|word| word >> ((width - 1) % 64) & 1 == 1);
    if negative {
        out.push('-');
        let mut carry = true;
        for word in &mut words {
            let (value, more) = (!*word).overflowing_add(u64::from(carry));
            *word = value;
            carry = more;
        }
        if !width.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last &= u64::MAX >> (64 - width % 64);
        }
    }
    // Long division by the largest power of ten that fits into a word.
    const CHUNK: u128 = 10_000_000_000_000_000_000;
    let mut chunks = Vec::new();
    while words.iter().any(|&word| word != 0) {
        let mut rest = 0u128;
        for word in words.iter_mut().rev() {
            let value = rest << 64 | u128::from(*word);
            *word = (value / CHUNK) as u64;
            rest = value % CHUNK;
        }
        chunks.push(rest);
    }
    match chunks.pop() {
        None => out.push('0'),
        Some(first) => {
            let _ = write!(out, "{first}");
            for chunk in chunks.into_iter().rev() {
                let _ = write!(out, "{chunk:019}");
            }
        }
    }
}
