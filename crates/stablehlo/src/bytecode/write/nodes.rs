//! Attributes and types to be written, each once, as the fields of their encoding.
//!
//! An attribute is equal to another one if the fields are equal, as MLIR's attributes are unique. The order of the fields is also the order
//! in which MLIR numbers the attributes and types to which an attribute refers.

use std::borrow::Cow;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use shardc_ir::ReplicaGroups;
use smallvec::SmallVec;

use crate::bytecode::attr::{AttrRef, TypeRef};

type FxIndexSet<T> = IndexSet<T, FxBuildHasher>;

/// The index of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StrRef(pub(super) u32);

/// A field of an encoding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Field<'m> {
    /// An unsigned number.
    Int(u64),
    /// A signed number.
    Signed(i64),
    /// A byte.
    Byte(u8),
    /// A reference to an attribute.
    Attr(AttrRef),
    /// A reference to an attribute that may be absent.
    OptAttr(Option<AttrRef>),
    /// A reference to a type.
    Type(TypeRef),
    /// A reference to a string.
    Str(StrRef),
    /// A reference to a resource of the dialect, by its key.
    Resource(StrRef),
    /// Bytes, preceded by their number.
    Blob(Cow<'m, [u8]>),
    /// A number that makes an attribute different from others and is not written.
    Identity(u64),
}

/// The fields of an encoding; the first is the code.
pub(super) type Fields<'m> = SmallVec<[Field<'m>; 3]>;

/// An attribute or a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node<'m> {
    /// The encoding of a dialect.
    Coded {
        /// The dialect.
        dialect: &'static str,
        /// The code, and what follows it.
        fields: Fields<'m>,
    },
    /// Text, for dialects and attributes without an encoding.
    Text {
        /// The dialect.
        dialect: StrRef,
        /// The text.
        text: StrRef,
    },
}

/// The dialects that have an encoding.
pub(super) const BUILTIN: &str = "builtin";
pub(super) const VHLO: &str = "vhlo";

/// Attributes, types and strings by index.
#[derive(Debug, Default)]
pub(super) struct Nodes<'m> {
    attrs: FxIndexSet<Node<'m>>,
    types: FxIndexSet<Node<'m>>,
    strings: FxIndexSet<Cow<'m, [u8]>>,
    /// The attributes and types that were parsed, by their texts.
    pub(super) attr_texts: FxHashMap<Box<str>, AttrRef>,
    pub(super) type_texts: FxHashMap<Box<str>, TypeRef>,
    /// The attributes of lists of devices.
    pub(super) groups: FxHashMap<ReplicaGroups, AttrRef>,
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns the fields of an encoding that has only a code.
pub(super) fn code<'m>(code: u64) -> Fields<'m> {
    SmallVec::from_iter([Field::Int(code)])
}

impl<'m> Nodes<'m> {
    /// Returns the number of attributes and of types.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.attrs.len(), self.types.len())
    }

    /// Returns the number of strings.
    pub(super) fn string_count(&self) -> usize {
        self.strings.len()
    }

    /// Adds a string.
    pub(super) fn str(&mut self, text: impl Into<Cow<'m, [u8]>>) -> StrRef {
        StrRef(index(self.strings.insert_full(text.into()).0))
    }

    /// Adds a string.
    pub(super) fn word(&mut self, text: &str) -> StrRef {
        match self.strings.get_index_of(text.as_bytes()) {
            Some(at) => StrRef(index(at)),
            None => self.str(text.as_bytes().to_vec()),
        }
    }

    /// Adds the attribute of a string.
    pub(super) fn name(&mut self, text: &str) -> AttrRef {
        let text = self.word(text);
        self.builtin([Field::Int(2), Field::Str(text)])
    }

    /// Returns a string.
    pub(super) fn bytes(&self, at: StrRef) -> &[u8] {
        self.strings.get_index(at.0 as usize).map_or(&[], |text| text)
    }

    /// Returns the text of a string; empty if it is not UTF-8.
    pub(super) fn text(&self, at: StrRef) -> &str {
        std::str::from_utf8(self.bytes(at)).unwrap_or("")
    }

    /// Adds an attribute.
    pub(super) fn attr(&mut self, node: Node<'m>) -> AttrRef {
        AttrRef(index(self.attrs.insert_full(node).0))
    }

    /// Adds an attribute of a dialect.
    pub(super) fn coded(&mut self, dialect: &'static str, fields: Fields<'m>) -> AttrRef {
        self.attr(Node::Coded { dialect, fields })
    }

    /// Adds an attribute of the builtin dialect.
    pub(super) fn builtin(&mut self, fields: impl IntoIterator<Item = Field<'m>>) -> AttrRef {
        self.coded(BUILTIN, fields.into_iter().collect())
    }

    /// Adds a type.
    pub(super) fn ty(&mut self, node: Node<'m>) -> TypeRef {
        TypeRef(index(self.types.insert_full(node).0))
    }

    /// Adds a type of the builtin dialect.
    pub(super) fn builtin_type(&mut self, fields: impl IntoIterator<Item = Field<'m>>) -> TypeRef {
        self.ty(Node::Coded { dialect: BUILTIN, fields: fields.into_iter().collect() })
    }

    /// Returns the fields of an attribute of the dialect.
    pub(super) fn fields_of(&self, at: AttrRef, wanted: &str) -> Option<&[Field<'m>]> {
        match self.attrs.get_index(at.0 as usize)? {
            Node::Coded { dialect, fields } if *dialect == wanted => Some(fields),
            Node::Coded { .. } | Node::Text { .. } => None,
        }
    }

    /// Returns the fields of a type of the dialect.
    pub(super) fn type_fields_of(&self, at: TypeRef, wanted: &str) -> Option<&[Field<'m>]> {
        match self.types.get_index(at.0 as usize)? {
            Node::Coded { dialect, fields } if *dialect == wanted => Some(fields),
            Node::Coded { .. } | Node::Text { .. } => None,
        }
    }

    /// Returns an attribute.
    pub(super) fn attr_at(&self, at: AttrRef) -> Option<&Node<'m>> {
        self.attrs.get_index(at.0 as usize)
    }

    /// Returns a type.
    pub(super) fn type_at(&self, at: TypeRef) -> Option<&Node<'m>> {
        self.types.get_index(at.0 as usize)
    }

    /// Adds a string attribute.
    pub(super) fn string(&mut self, text: impl Into<Cow<'m, [u8]>>) -> AttrRef {
        let text = self.str(text);
        self.builtin([Field::Int(2), Field::Str(text)])
    }

    /// Returns the text of a string attribute.
    pub(super) fn string_of(&self, at: AttrRef) -> Option<&[u8]> {
        match self.fields_of(at, BUILTIN)? {
            [Field::Int(2), Field::Str(text)] => Some(self.bytes(*text)),
            _ => None,
        }
    }

    /// Adds a dictionary. Names are attributes of strings.
    pub(super) fn dict(&mut self, mut entries: Vec<(AttrRef, AttrRef)>) -> AttrRef {
        entries.sort_by(|(a, _), (b, _)| self.string_of(*a).cmp(&self.string_of(*b)));
        let mut fields = code(1);
        fields.push(Field::Int(entries.len() as u64));
        fields.extend(entries.into_iter().flat_map(|(name, value)| [Field::Attr(name), Field::Attr(value)]));
        self.coded(BUILTIN, fields)
    }

    /// Adds an integer type without sign.
    pub(super) fn int_type(&mut self, width: u32) -> TypeRef {
        self.builtin_type([Field::Int(0), Field::Int(u64::from(width) << 2)])
    }

    /// Adds an integer attribute of at most 64 bits.
    pub(super) fn int(&mut self, ty: TypeRef, width: u32, value: i64) -> AttrRef {
        let mut fields: Fields<'m> = SmallVec::from_iter([Field::Int(8), Field::Type(ty)]);
        push_int(&mut fields, width, value);
        self.coded(BUILTIN, fields)
    }

    /// Adds a tensor type.
    pub(super) fn tensor_type(&mut self, shape: &[i64], element: TypeRef) -> TypeRef {
        let mut fields = code(13);
        fields.push(Field::Int(shape.len() as u64));
        fields.extend(shape.iter().map(|&size| Field::Signed(size)));
        fields.push(Field::Type(element));
        self.builtin_type(fields)
    }

    /// Adds a tensor of 64-bit integers. A tensor whose elements are equal has one element in the file.
    pub(super) fn int_tensor(&mut self, shape: &[i64], values: &[i64]) -> AttrRef {
        let element = self.int_type(64);
        let ty = self.tensor_type(shape, element);
        let splat = values.first().is_some_and(|first| values.iter().all(|value| value == first));
        let stored = if splat { &values[..1] } else { values };
        let bytes: Vec<u8> = stored.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.builtin([Field::Int(18), Field::Type(ty), Field::Blob(bytes.into())])
    }
}

/// Appends an integer of at most 64 bits.
pub(super) fn push_int(fields: &mut Fields<'_>, width: u32, value: i64) {
    let bits = value as u64 & u64::MAX.checked_shr(64u32.saturating_sub(width)).unwrap_or(0);
    fields.push(match width {
        0..=8 => Field::Byte(bits as u8),
        _ => Field::Signed(bits as i64),
    });
}
