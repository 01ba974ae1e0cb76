//! Vectors for tokens.

use shardc_graph::Tensor;

use crate::{Init, Scope};

/// A vector for each token.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// How many tokens there are.
    pub tokens: i64,
    /// Size of a vector.
    pub features: i64,
    /// How they begin.
    pub init: Init,
}

impl Embedding {
    /// Of so many tokens.
    #[must_use]
    pub fn new(tokens: i64, features: i64) -> Embedding {
        Embedding { tokens, features, init: Init::normal(0.02) }
    }

    /// The vectors of tokens, in a new last dimension. A number that is no token counts as the nearest.
    ///
    /// Reported: `tokens` are no integers.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, tokens: Tensor<'g>) -> Tensor<'g> {
        self.table(p).take(tokens, 0)
    }

    /// How well `x` goes with the vector of each token, in the place of its last dimension: the output of a language model whose
    /// input is made by the same table.
    ///
    /// Reported: the last dimension of `x` is not of a vector's size.
    #[must_use]
    #[track_caller]
    pub fn attend<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        x.dot_general(self.table(p), &shardc_graph::DotDims::contracting(&[-1], &[-1]))
    }

    #[track_caller]
    fn table<'g>(&self, p: &Scope<'g>) -> Tensor<'g> {
        p.parameter("embedding", [self.tokens, self.features], self.init.clone())
    }
}
