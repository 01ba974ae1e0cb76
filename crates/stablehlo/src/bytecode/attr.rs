//! Attributes and types decoded from bytecode, before conversion to text or to parts of a module.
//!
//! An entry refers to other entries, including later ones, by index ([`AttrRef`], [`TypeRef`]). Decoding does not follow references, so it
//! needs no order and no recursion. Users that follow references limit the depth, which also detects cycles.
//!
//! Attributes and types of dialects are kept as [`Piece`]s of text in MLIR's generic form.

use std::borrow::Cow;

use smallvec::SmallVec;

/// The index of an attribute in a [`Store`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct AttrRef(pub(crate) u32);

/// The index of a type in a [`Store`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TypeRef(pub(crate) u32);

/// The bits of an integer or float, in 64-bit words, lowest first. Bits above the width and missing words are zero.
pub(crate) type Words = SmallVec<[u64; 1]>;

/// A part of the text of a dialect's attribute or type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece<'b> {
    /// Literal text.
    Text(Cow<'b, str>),
    /// The text of an attribute.
    Attr(AttrRef),
    /// The text of a type.
    Type(TypeRef),
    /// The text of an attribute of the same dialect, without its name.
    Nested(AttrRef),
    /// The mesh of a sharding: a symbol, or `mesh<...>`.
    Mesh(AttrRef),
    /// A string, to be escaped and quoted.
    Quoted(&'b [u8]),
}

/// An attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BAttr<'b> {
    /// A unit attribute.
    Unit,
    /// An integer: `8 : i32`, `true`.
    Int {
        /// The type: an integer type or `index`.
        ty: TypeRef,
        /// The bits of the value.
        words: Words,
    },
    /// A float: `1.0 : f32`.
    Float {
        /// The type.
        ty: TypeRef,
        /// The bits.
        words: Words,
    },
    /// A string of any bytes: `"text"`.
    Str {
        /// The string, not escaped.
        bytes: Cow<'b, [u8]>,
        /// The type, if the string has one.
        ty: Option<TypeRef>,
    },
    /// An array: `[a, b]`.
    Array(Vec<AttrRef>),
    /// A dictionary, `{name = value}`, whose names are [`BAttr::Str`]s.
    Dict(Vec<(AttrRef, AttrRef)>),
    /// A symbol reference: `@root::@nested`.
    Symbol(Vec<Cow<'b, [u8]>>),
    /// A symbol reference that consists of other entries: the root is a [`BAttr::Str`], the nested symbols are [`BAttr::Symbol`]s.
    SymbolPath {
        /// The root.
        root: AttrRef,
        /// The nested symbols.
        nested: Vec<AttrRef>,
    },
    /// A type as an attribute.
    Type(TypeRef),
    /// `dense<...>`: elements in MLIR's storage format. A single element is a splat; `i1` may be packed.
    Dense {
        /// The type: a tensor or vector.
        ty: TypeRef,
        /// The elements.
        bytes: Cow<'b, [u8]>,
    },
    /// `dense<["a", "b"]>`: a single string is a splat.
    DenseStrings {
        /// The type.
        ty: TypeRef,
        /// The strings.
        items: Vec<&'b [u8]>,
    },
    /// `dense_resource<key>`.
    DenseResource {
        /// The type.
        ty: TypeRef,
        /// The name of the resource.
        key: &'b [u8],
    },
    /// `array<i64: 1, 2>`: elements take whole bytes, `i1` one byte each.
    DenseArray {
        /// The type of the elements.
        element: TypeRef,
        /// The number of elements.
        count: u64,
        /// The elements.
        bytes: Cow<'b, [u8]>,
    },
    /// `sparse<indices, values>`.
    Sparse {
        /// The type.
        ty: TypeRef,
        /// A [`BAttr::Dense`] of indices.
        indices: AttrRef,
        /// A [`BAttr::Dense`] of values.
        values: AttrRef,
    },
    /// `distinct[0]<attribute>`.
    Distinct(AttrRef),
    /// A location.
    Loc(BLoc),
    /// An attribute of a dialect, as pieces of its text: `#stablehlo<precision HIGH>`.
    Pieces(Vec<Piece<'b>>),
    /// An attribute of a dialect whose head and tail are omitted inside another attribute: `#sdy<axis_ref"x">`.
    Nestable {
        /// The text before the body.
        head: &'static str,
        /// The text between head and tail. Inside another attribute, only this text is written.
        body: Vec<Piece<'b>>,
        /// The text after the body.
        tail: &'static str,
    },
}

impl<'b> BAttr<'b> {
    /// Returns a dialect attribute whose only piece is the given text.
    pub(crate) fn text(text: impl Into<Cow<'b, str>>) -> Self {
        BAttr::Pieces(vec![Piece::Text(text.into())])
    }

    /// Returns a string.
    pub(crate) fn string(text: impl Into<Cow<'b, [u8]>>) -> Self {
        BAttr::Str { bytes: text.into(), ty: None }
    }
}

/// A location. Its parts refer to attributes that are locations or strings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BLoc {
    /// An unknown location.
    Unknown,
    /// A position in a file, `"file":1:2`, or a range.
    File {
        /// A [`BAttr::Str`].
        file: AttrRef,
        /// The line of the start.
        line: u64,
        /// The column of the start.
        col: u64,
        /// The line and column of the end.
        end: Option<(u64, u64)>,
    },
    /// A named location: `"name"(child)`.
    Name {
        /// A [`BAttr::Str`].
        name: AttrRef,
        /// The named location.
        child: AttrRef,
    },
    /// A call site: `callsite(callee at caller)`.
    CallSite {
        /// The location in the called function.
        callee: AttrRef,
        /// The location of the call.
        caller: AttrRef,
    },
    /// A fused location: `fused<metadata>[a, b]`.
    Fused {
        /// The metadata.
        metadata: Option<AttrRef>,
        /// The locations.
        children: Vec<AttrRef>,
    },
}

/// The signedness of an integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// `i8`.
    Signless,
    /// `si8`.
    Signed,
    /// `ui8`.
    Unsigned,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BType<'b> {
    /// `i8`.
    Int {
        /// The width in bits.
        width: u32,
        /// The signedness.
        sign: Sign,
    },
    /// The type `index`.
    Index,
    /// A float type by its MLIR name, such as `f32` or `bf16`.
    Float(&'static str),
    /// `complex<f32>`.
    Complex(TypeRef),
    /// The type `none`.
    None,
    /// A function type: `(T) -> U`.
    Function {
        /// The types of the parameters.
        inputs: Vec<TypeRef>,
        /// The types of the results.
        results: Vec<TypeRef>,
    },
    /// `tensor<2x?xf32, encoding>`; dynamic sizes are [`shardc_ir::DYNAMIC`].
    Tensor {
        /// The sizes.
        shape: Vec<i64>,
        /// The element type.
        element: TypeRef,
        /// The encoding.
        encoding: Option<AttrRef>,
    },
    /// `tensor<*xf32>`.
    UnrankedTensor(TypeRef),
    /// `tuple<T, U>`.
    Tuple(Vec<TypeRef>),
    /// `vector<2x[4]xf32>`.
    Vector {
        /// The sizes.
        shape: Vec<i64>,
        /// The scalable dimensions; empty if there are none.
        scalable: Vec<bool>,
        /// The element type.
        element: TypeRef,
    },
    /// `memref<2x?xf32, layout, space>`.
    MemRef {
        /// The sizes.
        shape: Vec<i64>,
        /// The element type.
        element: TypeRef,
        /// The layout.
        layout: AttrRef,
        /// The memory space.
        space: Option<AttrRef>,
    },
    /// `memref<*xf32, space>`.
    UnrankedMemRef {
        /// The element type.
        element: TypeRef,
        /// The memory space.
        space: Option<AttrRef>,
    },
    /// A type of a dialect, as pieces of its text: `!stablehlo.token`.
    Pieces(Vec<Piece<'b>>),
}

impl<'b> BType<'b> {
    /// Returns a dialect type whose only piece is the given text.
    pub(crate) fn text(text: impl Into<Cow<'b, str>>) -> Self {
        BType::Pieces(vec![Piece::Text(text.into())])
    }

    /// Returns the text of a type, if it has no references.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            BType::Pieces(pieces) => match &pieces[..] {
                [Piece::Text(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Attributes and types by index.
#[derive(Debug, Default)]
pub(crate) struct Store<'b> {
    /// The attributes.
    pub(crate) attrs: Vec<BAttr<'b>>,
    /// The types.
    pub(crate) types: Vec<BType<'b>>,
}

impl<'b> Store<'b> {
    /// Returns an attribute; `unit` if the index is out of range.
    pub(crate) fn attr(&self, at: AttrRef) -> &BAttr<'b> {
        self.attrs.get(at.0 as usize).unwrap_or(&BAttr::Unit)
    }

    /// Returns a type; `none` if the index is out of range.
    pub(crate) fn ty(&self, at: TypeRef) -> &BType<'b> {
        self.types.get(at.0 as usize).unwrap_or(&BType::None)
    }

    /// Adds an attribute.
    pub(crate) fn add_attr(&mut self, attr: BAttr<'b>) -> AttrRef {
        self.attrs.push(attr);
        AttrRef(u32::try_from(self.attrs.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds a type.
    pub(crate) fn add_type(&mut self, ty: BType<'b>) -> TypeRef {
        self.types.push(ty);
        TypeRef(u32::try_from(self.types.len() - 1).unwrap_or(u32::MAX))
    }

    /// Returns the bytes of a string attribute.
    pub(crate) fn string(&self, at: AttrRef) -> Option<&[u8]> {
        match self.attr(at) {
            BAttr::Str { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// Returns a name that is repeated in a dictionary, if any.
    pub(crate) fn repeated_name(&self, entries: &[(AttrRef, AttrRef)]) -> Option<Cow<'_, str>> {
        let mut names: Vec<&[u8]> = entries.iter().filter_map(|&(name, _)| self.string(name)).collect();
        names.sort_unstable();
        let pair = names.windows(2).find(|pair| pair[0] == pair[1])?;
        Some(String::from_utf8_lossy(pair[0]))
    }

    /// Returns the text of a string attribute.
    pub(crate) fn text(&self, at: AttrRef) -> Option<&str> {
        std::str::from_utf8(self.string(at)?).ok()
    }

    /// Returns the value of an integer attribute of at most 64 bits, sign-extended unless its type is unsigned or `i1`.
    pub(crate) fn int(&self, at: AttrRef) -> Option<i64> {
        let BAttr::Int { ty, words } = self.attr(at) else { return None };
        let word = words.first().copied().unwrap_or(0);
        match *self.ty(*ty) {
            BType::Int { width: 1, .. } => Some((word & 1) as i64),
            BType::Int { width, sign: Sign::Unsigned } if width <= 64 => i64::try_from(word).ok(),
            BType::Int { width: width @ 1..=64, .. } => {
                let shift = 64 - width;
                Some(((word << shift) as i64) >> shift)
            }
            BType::Index => Some(word as i64),
            _ => None,
        }
    }

    /// Returns the elements of a dense integer constant or array, sign-extended unless unsigned or `i1`.
    pub(crate) fn ints(&self, at: AttrRef) -> Option<Vec<i64>> {
        let (element, count, bytes) = match self.attr(at) {
            BAttr::DenseArray { element, count, bytes } => (*element, usize::try_from(*count).ok()?, bytes),
            BAttr::Dense { ty, bytes } => {
                let BType::Tensor { shape, element, .. } = self.ty(*ty) else { return None };
                let count = shape.iter().try_fold(1i64, |n, &size| n.checked_mul(size).filter(|&n| n >= 0));
                (*element, usize::try_from(count?).ok()?, bytes)
            }
            _ => return None,
        };
        let (width, signed) = match *self.ty(element) {
            BType::Int { width, sign } => (width as usize, width > 1 && sign != Sign::Unsigned),
            BType::Index => (64, true),
            _ => return None,
        };
        let size = width.div_ceil(8);
        if size == 0 || size > 8 {
            return None;
        }
        if width == 1 && bytes.len() != count {
            let bit = |at: usize| Some(i64::from(bytes.get(at / 8)? >> (at % 8) & 1));
            return match **bytes {
                [only @ (0 | 0xFF)] => self.filled(count, i64::from(only & 1)),
                _ if bytes.len() == count.div_ceil(8) => (0..count).map(bit).collect(),
                _ => None,
            };
        }
        let int = |chunk: &[u8]| {
            let mut wide = [0; 8];
            wide.get_mut(..size)?.copy_from_slice(chunk);
            let shift = 64 - width;
            let word = u64::from_le_bytes(wide) << shift;
            Some(if signed { (word as i64) >> shift } else { (word >> shift) as i64 })
        };
        if bytes.len() == size && count != 1 {
            return self.filled(count, int(bytes)?);
        }
        if bytes.len() != count.checked_mul(size)? {
            return None;
        }
        bytes.chunks_exact(size).map(int).collect()
    }

    /// Returns `count` copies of the splat's `value`; `None` if that is too many for a list of dimensions or devices.
    fn filled(&self, count: usize, value: i64) -> Option<Vec<i64>> {
        (count <= 1 << 24).then(|| vec![value; count])
    }
}
