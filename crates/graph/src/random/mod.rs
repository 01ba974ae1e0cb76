//! Random numbers that are `jax.random`'s, bit by bit.
//!
//! A [`Key`] is used once: what is drawn with it is always the same. Numbers are made by counting, so that each device makes its own
//! part and nothing is sent.

mod distributions;
mod threefry;

use shardc_ir::DType;

use crate::graph::Graph;
use crate::{IntoShape, Tensor};

/// A key of the generator Threefry-2x32: two `ui32`.
#[derive(Clone, Copy, Debug)]
pub struct Key<'g> {
    words: Tensor<'g>,
}

impl Graph {
    /// The key of a seed, as `jax.random.key` makes it.
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
    /// A key of two words, as a program is given one.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Key, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let words = g.parameter("key", [2], DType::UI32);
    /// assert_eq!(Key::from_tensor(words).normal([4], F32).shape(), [4]);
    /// ```
    ///
    /// Reported: the tensor is not `ui32[2]`.
    #[track_caller]
    pub fn from_tensor(words: Tensor<'g>) -> Self {
        if !words.is_poisoned() && (words.shape() != [2] || words.dtype() != DType::UI32) {
            let text = format!("a key is ui32[2], not {words:?}");
            return Key { words: words.graph().refuse(&[words], text) };
        }
        Key { words }
    }

    /// The two words.
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

    /// Other keys, `n` of them; this one is not to be used any more.
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

    /// Two other keys: `let [now, later] = key.pair();`.
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

    /// Another key for each number: of a step, of a layer. A number of Rust's or a scalar of integers.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let step = g.parameter("step", (), DType::UI32);
    /// assert_eq!(g.key(42).fold_in(step).normal([4], F32).shape(), [4]);
    /// ```
    ///
    /// Reported: the tensor is no scalar integer.
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
    /// Reported: the type is no such integer, or the shape none.
    #[must_use]
    #[track_caller]
    pub fn bits(self, shape: impl IntoShape, dtype: DType) -> Tensor<'g> {
        let (high, low) = threefry::blocks(self, &shape.into_shape());
        match dtype {
            DType::UI64 => high.to(dtype).shift_left(32) | low.to(dtype),
            DType::UI32 | DType::UI16 | DType::UI8 => (high ^ low).to(dtype),
            _ => self.words.graph().refuse(&[], format!("random bits are unsigned integers, not {dtype}")),
        }
    }
}
