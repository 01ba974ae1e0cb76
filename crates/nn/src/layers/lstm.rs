//! Long short-term memory.

use shardc_graph::Tensor;

use crate::{Init, Scope};

/// A recurrent layer over `[batch, time, features]` ("Long Short-Term Memory", Hochreiter and Schmidhuber, 1997). Gates are in the
/// order input, forget, cell, output.
#[derive(Clone, Debug)]
pub struct Lstm {
    /// Features of its state.
    pub features: i64,
}

impl Lstm {
    /// The states after each step, `[batch, time, features]`, of the scope's `input`, `hidden` and `bias`.
    ///
    /// Reported: `x` has not three dimensions.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let ([batch, _, inputs], n, g) = (x.dims(), self.features, p.graph());
        let input = p.parameter("input", [inputs, 4 * n], Init::lecun_normal());
        let hidden = p.parameter("hidden", [n, 4 * n], Init::lecun_normal());
        let bias = p.parameter("bias", [4 * n], Init::zeros());
        // What does not depend on the state is one product for all steps.
        let driven = (x.dot(input) + bias).transpose(&[1, 0, 2]);
        let zeros = g.zeros([batch, n], x.dtype());
        let (_, states) = g.scan((zeros, zeros), driven, |(cell, state), driven| {
            let gates = (driven + state.dot(hidden)).split(-1, 4);
            let cell = gates[1].sigmoid() * cell + gates[0].sigmoid() * gates[2].tanh();
            let state = gates[3].sigmoid() * cell.tanh();
            ((cell, state), state)
        });
        states.transpose(&[1, 0, 2])
    }
}
