//! Types of values, interned in a [`TypeTable`].

use std::fmt;

use cranelift_entity::{EntityRef, SecondaryMap};
use indexmap::IndexSet;
use smallvec::SmallVec;

use crate::limits;
use crate::{DType, QuantTensor, TypeId};

/// The size of a dimension that is not known at compile time (`?` in text).
pub const DYNAMIC: i64 = i64::MIN;

/// Sizes of a tensor's dimensions, outermost first.
pub type Shape = SmallVec<[i64; 6]>;

/// A ranked tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Sizes in elements; [`DYNAMIC`] where unknown.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// The encoding attribute.
    pub encoding: Option<Encoding>,
}

/// What a tensor type says besides shape and elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `#stablehlo.bounds<?, 4>`: the greatest size of each dimension; [`DYNAMIC`] where there is none.
    Bounds(Shape),
    /// Any other, verbatim.
    Other(Box<str>),
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Encoding::Bounds(bounds) => {
                f.write_str("#stablehlo.bounds<")?;
                for (i, &bound) in bounds.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    if bound == DYNAMIC { f.write_str("?")? } else { write!(f, "{bound}")? }
                }
                f.write_str(">")
            }
            Encoding::Other(text) => f.write_str(text),
        }
    }
}

/// Writes `8x?x`.
pub(crate) fn write_shape(f: &mut fmt::Formatter<'_>, shape: &[i64]) -> fmt::Result {
    for &n in shape {
        if n == DYNAMIC { f.write_str("?x")? } else { write!(f, "{n}x")? }
    }
    Ok(())
}

impl TensorType {
    /// A tensor without encoding.
    #[must_use]
    pub fn new(shape: &[i64], dtype: DType) -> Self {
        TensorType { shape: Shape::from_slice(shape), dtype, encoding: None }
    }

    /// Number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The greatest size of each dimension, where the type gives any.
    #[must_use]
    pub fn bounds(&self) -> Option<&[i64]> {
        match &self.encoding {
            Some(Encoding::Bounds(bounds)) => Some(bounds),
            Some(Encoding::Other(_)) | None => None,
        }
    }

    /// Whether every dimension is known.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.shape.iter().all(|&n| n != DYNAMIC)
    }

    /// Number of elements; `None` where a dimension is dynamic or the product overflows.
    #[must_use]
    pub fn num_elements(&self) -> Option<i64> {
        self.shape.iter().try_fold(1i64, |acc, &n| if n == DYNAMIC { None } else { acc.checked_mul(n) })
    }

    /// What is wrong with the sizes, as part of a sentence: see [`limits::size_fault`]. Bounds are sizes too.
    #[must_use]
    pub fn size_fault(&self) -> Option<String> {
        let element = self.dtype.bytes() as i64;
        let bounds = self.bounds().and_then(|bounds| limits::size_fault(bounds, element));
        limits::size_fault(&self.shape, element).or(bounds)
    }

    /// Size in bytes on the host (sub-byte elements take one byte each); `None` where not known.
    #[must_use]
    pub fn num_bytes(&self) -> Option<i64> {
        self.num_elements()?.checked_mul(self.dtype.bytes() as i64)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        write_shape(f, &self.shape)?;
        f.write_str(self.dtype.as_str())?;
        if let Some(encoding) = &self.encoding {
            write!(f, ", {encoding}")?;
        }
        f.write_str(">")
    }
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A ranked tensor.
    Tensor(TensorType),
    /// `!stablehlo.token`: orders side effects.
    Token,
    /// A tuple.
    Tuple(Vec<TypeId>),
    /// A ranked tensor of quantized elements.
    Quantized(Box<QuantTensor>),
    /// Any other type, verbatim.
    Other(Box<str>),
}

/// Interned types. Equal types have equal handles.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    set: IndexSet<Type>,
    /// What the quantized types among them are made of, by handle.
    stored: SecondaryMap<TypeId, Option<Box<TensorType>>>,
}

impl TypeTable {
    /// The handle of `ty`.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        let (index, is_new) = self.set.insert_full(ty);
        let id = TypeId::new(index);
        if is_new && let Type::Quantized(tensor) = &self.set[index] {
            self.stored[id] = Some(Box::new(tensor.stored()));
        }
        id
    }

    /// The handle of the tensor type with this shape and element type.
    pub fn tensor(&mut self, shape: &[i64], dtype: DType) -> TypeId {
        self.intern(Type::Tensor(TensorType::new(shape, dtype)))
    }

    /// The type behind a handle.
    #[must_use]
    pub fn get(&self, id: TypeId) -> &Type {
        &self.set[id.index()]
    }

    /// The tensor type behind a handle, `None` for quantized ones, tokens, tuples and others.
    #[must_use]
    pub fn as_tensor(&self, id: TypeId) -> Option<&TensorType> {
        match self.get(id) {
            Type::Tensor(tensor) => Some(tensor),
            Type::Quantized(_) | Type::Token | Type::Tuple(_) | Type::Other(_) => None,
        }
    }

    /// The tensor type of quantized elements behind a handle, `None` for all others.
    #[must_use]
    pub fn as_quantized(&self, id: TypeId) -> Option<&QuantTensor> {
        match self.get(id) {
            Type::Quantized(tensor) => Some(tensor),
            Type::Tensor(_) | Type::Token | Type::Tuple(_) | Type::Other(_) => None,
        }
    }

    /// The ranked tensor behind a handle as it lies in memory: of quantized elements the integers that are stored. `None`
    /// for tokens, tuples and others.
    #[must_use]
    pub fn stored(&self, id: TypeId) -> Option<&TensorType> {
        match self.get(id) {
            Type::Tensor(tensor) => Some(tensor),
            Type::Quantized(_) => self.stored[id].as_deref(),
            Type::Token | Type::Tuple(_) | Type::Other(_) => None,
        }
    }

    /// The shape of a ranked tensor, of quantized elements or not.
    #[must_use]
    pub fn shape_of(&self, id: TypeId) -> Option<&Shape> {
        match self.get(id) {
            Type::Tensor(tensor) => Some(&tensor.shape),
            Type::Quantized(tensor) => Some(&tensor.shape),
            Type::Token | Type::Tuple(_) | Type::Other(_) => None,
        }
    }

    /// Number of distinct types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Whether no type was interned yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// The text of a type, as MLIR prints it.
    #[must_use]
    pub fn display(&self, id: TypeId) -> String {
        match self.get(id) {
            Type::Tensor(tensor) => tensor.to_string(),
            Type::Quantized(tensor) => tensor.to_string(),
            Type::Token => "!stablehlo.token".to_owned(),
            Type::Tuple(items) => {
                let items: Vec<_> = items.iter().map(|&t| self.display(t)).collect();
                format!("tuple<{}>", items.join(", "))
            }
            Type::Other(text) => text.to_string(),
        }
    }
}
