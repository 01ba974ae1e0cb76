//! Embeddings: a vector for each id of a vocabulary.

use shardc_graph::Tensor;

use crate::loss::countable;
use crate::{Init, Scope};

/// An embedding table, `embedding` of shape `[num_embeddings, features]`.
///
/// ```
/// # use shardc_graph::{DType::I32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let ids = g.parameter("ids", [8, 128], I32);
/// let layer = Embed::new(1000, 64);
/// let x = layer.apply(&p.at("embed"), ids);
/// assert_eq!(x.shape(), [8, 128, 64]);
/// assert_eq!(layer.attend(&p.at("embed"), x).shape(), [8, 128, 1000], "logits by the same table");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Embed {
    /// Size of the vocabulary.
    pub num_embeddings: i64,
    /// Size of a vector.
    pub features: i64,
    /// Initial values of the table.
    pub embedding_init: Init,
    /// Whether lookups are matmuls with one-hot rows: a table sharded over the vocabulary then yields partial sums, like any other
    /// contracting matmul.
    pub one_hot: bool,
}

impl Embed {
    /// Creates an embedding that is looked up by gather. The initial vectors are normally distributed, with expected squared length one.
    #[must_use]
    pub fn new(num_embeddings: i64, features: i64) -> Self {
        let deviation = (1.0 / features.max(1) as f64).sqrt();
        Embed { num_embeddings, features, embedding_init: Init::normal(deviation), one_hot: false }
    }

    /// Sets the initial values of the table.
    #[must_use]
    pub fn embedding_init(self, embedding_init: Init) -> Self {
        Embed { embedding_init, ..self }
    }

    /// Sets whether lookups are one-hot matmuls instead of gathers.
    #[must_use]
    pub fn one_hot(self, one_hot: bool) -> Self {
        Embed { one_hot, ..self }
    }

    /// Returns the vectors of `ids`, along a new last dimension; integers too narrow for the vocabulary are converted to a wider type
    /// first. Parameter: `embedding`.
    ///
    /// Reports an error if `ids` are not of an integer type.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, ids: Tensor<'g>) -> Tensor<'g> {
        let (table, ids) = (self.table(p), countable(ids));
        if self.one_hot {
            return ids.one_hot(self.num_embeddings, table.dtype()).dot(table);
        }
        table.take(ids, 0)
    }

    /// Returns the dot products of the last dimension of `x` with each vector: the logits of a model with tied embeddings.
    ///
    /// Reports an error if the last dimension of `x` is not `features`, or if its element type is not the compute type.
    #[must_use]
    #[track_caller]
    pub fn attend<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        x.dot_general(self.table(&p.shared()), &shardc_graph::DotDims::contracting(&[-1], &[-1]))
    }

    #[track_caller]
    fn table<'g>(&self, p: &Scope<'g>) -> Tensor<'g> {
        p.parameter("embedding", [self.num_embeddings, self.features], self.embedding_init.clone())
    }
}
