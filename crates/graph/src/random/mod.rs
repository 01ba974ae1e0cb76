//! Random numbers identical to those of `jax.random`, bit for bit.
//!
//! Use each [`Key`] only once: a key always yields the same numbers. The generator is counter-based, so each device generates its own
//! shard without communication.

mod distributions;
mod threefry;

use shardc_ir::DType;

use crate::graph::Graph;
use crate::{IntoShape, Tensor};

/// A key of the Threefry-2x32 generator: two `ui32`.
#[derive(Clone, Copy, Debug)]
pub struct Key<'g> {
    words: Tensor<'g>,
}

impl Graph {
    /// Returns the key for a seed, like `jax.random.key`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let key = g.key(42);
    /// assert_eq!(key.normal([4], F32).shape(), [4]);
    /// ```
    #[track_caller]
    pub fn key(&self, seed: u64) -> Key<'_> {
        Key { words: self.constant(&[(seed >> 32) as u32, seed as u32], [2]) }
    }
}

impl<'g> Key<'g> {
    /// Creates a key from two words, for example a parameter of the program.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Key, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let words = g.parameter("key", [2], DType::UI32);
    /// assert_eq!(Key::from_tensor(words).normal([4], F32).shape(), [4]);
    /// ```
    ///
    /// Reports an error if the tensor is not `ui32[2]`.
    #[track_caller]
    pub fn from_tensor(words: Tensor<'g>) -> Self {
        if !words.is_poisoned() && (words.shape() != [2] || words.dtype() != DType::UI32) {
            let text = format!("a random key must be ui32[2], got {words:?}");
            return Key { words: words.graph().refuse(&[words], text) };
        }
        Key { words }
    }

    /// Returns the two words of the key, a tensor `ui32[2]`.
    ///
    /// ```
    /// # use shardc_graph::{Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// assert_eq!(g.key(42).to_tensor().shape(), [2]);
    /// ```
    #[must_use]
    pub fn to_tensor(self) -> Tensor<'g> {
        self.words
    }

    /// Splits the key into `n` new keys; do not use the original afterwards.
    ///
    /// ```
    /// # use shardc_graph::{Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// assert_eq!(g.key(42).split(3).len(), 3);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn split(self, n: usize) -> Vec<Key<'g>> {
        let (low, high) = threefry::blocks(self, &[n as i64]);
        let words = self.words.graph().stack(&[low, high], -1);
        (0..n).map(|i| Key { words: words.at(0, i as i64) }).collect()
    }

    /// Splits the key into two: `let [now, later] = key.pair();`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let [first, second] = g.key(42).pair();
    /// assert_eq!((first.normal([4], F32) + second.normal([4], F32)).shape(), [4]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn pair(self) -> [Key<'g>; 2] {
        let keys = self.split(2);
        [keys[0], keys[1]]
    }

    /// Derives a new key from this key and a number, such as the index of a step or a layer (`jax.random.fold_in`). The number is a Rust
    /// number or a scalar integer tensor.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let step = g.parameter("step", (), DType::UI32);
    /// assert_eq!(g.key(42).fold_in(step).normal([4], F32).shape(), [4]);
    /// ```
    ///
    /// Reports an error if the tensor is not a scalar integer.
    #[must_use]
    #[track_caller]
    pub fn fold_in(self, number: impl Into<crate::Operand<'g>>) -> Key<'g> {
        let g = self.words.graph();
        let number = match number.into() {
            crate::Operand::Tensor(tensor) => tensor.to(DType::UI32),
            crate::Operand::Integer(number) => g.constant(&[number as u32], ()),
            crate::Operand::Number(number) => g.constant(&[number as u32], ()),
        };
        let zero = g.constant(&[0u32], ());
        let (a, b) = threefry::cipher(self, zero, number);
        Key { words: g.stack(&[a, b], 0) }
    }

    /// Random bits, as unsigned integers of 8, 16, 32 or 64 bits.
    ///
    /// ```
    /// # use shardc_graph::{DType, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// assert_eq!(g.key(42).bits([4], DType::UI32).dtype(), DType::UI32);
    /// ```
    ///
    /// Reports an error if the type is not an unsigned integer type of 8 to 64 bits, or if the shape is invalid.
    #[must_use]
    #[track_caller]
    pub fn bits(self, shape: impl IntoShape, dtype: DType) -> Tensor<'g> {
        let (high, low) = threefry::blocks(self, &shape.into_shape());
        match dtype {
            DType::UI64 => high.to(dtype).shift_left(32) | low.to(dtype),
            DType::UI32 | DType::UI16 | DType::UI8 => (high ^ low).to(dtype),
            _ => self
                .words
                .graph()
                .refuse(&[], format!("random bits need an unsigned integer type, got {dtype}")),
        }
    }
}
