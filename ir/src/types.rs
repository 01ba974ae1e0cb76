//! Types of values, interned in a [`TypeTable`].

use cranelift_entity::{EntityRef, SecondaryMap};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::{DType, QuantTensor, Shape, TensorType, TypeId};

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
    set: IndexSet<Type, FxBuildHasher>,
    /// For each quantized type, the tensor type with its storage type as the element type.
    stored: SecondaryMap<TypeId, Option<Box<TensorType>>>,
}

impl TypeTable {
    /// Interns `ty`, and returns its handle.
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

    /// The type that a handle refers to.
    #[must_use]
    #[inline]
    pub fn get(&self, id: TypeId) -> &Type {
        &self.set[id.index()]
    }

    /// Returns the tensor type of a handle; `None` for quantized types, tokens, tuples and others.
    #[must_use]
    #[inline]
    pub fn as_tensor(&self, id: TypeId) -> Option<&TensorType> {
        match self.get(id) {
            Type::Tensor(tensor) => Some(tensor),
            Type::Quantized(_) | Type::Token | Type::Tuple(_) | Type::Other(_) => None,
        }
    }

    /// Returns the quantized tensor type of a handle; `None` for other types.
    #[must_use]
    #[inline]
    pub fn as_quantized(&self, id: TypeId) -> Option<&QuantTensor> {
        match self.get(id) {
            Type::Quantized(tensor) => Some(tensor),
            Type::Tensor(_) | Type::Token | Type::Tuple(_) | Type::Other(_) => None,
        }
    }

    /// Returns the tensor type of a handle as stored in memory: quantized elements have their storage type. `None` for tokens, tuples and
    /// others.
    #[must_use]
    #[inline]
    pub fn stored(&self, id: TypeId) -> Option<&TensorType> {
        match self.get(id) {
            Type::Tensor(tensor) => Some(tensor),
            Type::Quantized(_) => self.stored[id].as_deref(),
            Type::Token | Type::Tuple(_) | Type::Other(_) => None,
        }
    }

    /// The shape of a ranked tensor, quantized or not.
    #[must_use]
    #[inline]
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
