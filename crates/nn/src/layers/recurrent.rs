//! Recurrent layers: one cell, scanned over the positions of a sequence.

use shardc_graph::{ScanOptions, Tensor};

use super::Dense;
use super::linear::lecun;
use crate::{Init, Scope};

/// Long short-term memory (Hochreiter and Schmidhuber, 1997), with the parameters of flax's `OptimizedLSTMCell`: input kernels `ii`, `if`,
/// `ig`, `io`, and recurrent kernels `hi`, `hf`, `hg`, `ho` with biases.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [2, 8, 16], F32);
/// assert_eq!(Lstm::new(32).apply(&p.at("lstm"), x).shape(), [2, 8, 32]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lstm {
    /// Size of the hidden state.
    pub features: i64,
    /// Whether the scan runs from the last position to the first.
    pub reverse: bool,
}

impl Lstm {
    /// Creates a layer that scans from the first position to the last.
    #[must_use]
    pub fn new(features: i64) -> Self {
        Lstm { features, reverse: false }
    }

    /// Scans from the last position to the first.
    #[must_use]
    pub fn reverse(self) -> Self {
        Lstm { reverse: true, ..self }
    }

    /// Returns the output at each position of `x`, `[batch, time, features]`. The initial state is zero.
    ///
    /// Reports an error if `x` has the wrong rank, or its element type is not the compute type.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let g = p.graph();
        if x.is_poisoned() {
            return x;
        }
        if x.rank() != 3 {
            return g.refuse(&[x], "a recurrent layer needs a tensor of shape [batch, time, features]");
        }
        g.track_caller(|| self.scanned(p, x))
    }

    /// Returns the output at each position of a tensor of rank 3.
    #[track_caller]
    fn scanned<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let g = p.graph();
        let features = self.features;
        let gates = ["i", "f", "g", "o"];
        // One input matmul for all positions and gates, and one recurrent matmul per step.
        let inputs = gates.map(|gate| {
            p.at(format!("i{gate}")).parameter("kernel", [x.size(-1), features], Init::lecun_normal())
        });
        let carried =
            gates.map(|gate| p.at(format!("h{gate}")).parameter("kernel", [features; 2], lecun(features)));
        let biases = gates.map(|gate| p.at(format!("h{gate}")).parameter("bias", [features], Init::zeros()));
        let kernel = g.concatenate(&carried, 1);
        let of_inputs = x.dot(g.concatenate(&inputs, 1)) + g.concatenate(&biases, 0);
        let start = g.zeros([x.size(0), features], x.dtype());
        let options = ScanOptions { reverse: self.reverse, ..ScanOptions::default() };
        let (_, outputs) = g.scan_with(options, (start, start), of_inputs.swap_axes(0, 1), |(c, h), x| {
            let gates = (x + h.dot(kernel)).split(1, 4);
            let [i, f, gate, o] = [0, 1, 2, 3].map(|n| gates[n]);
            let c = f.sigmoid() * c + i.sigmoid() * gate.tanh();
            let h = o.sigmoid() * c.tanh();
            ((c, h), h)
        });
        outputs.swap_axes(0, 1)
    }
}

/// Gated recurrent units (Cho et al., 2014), with the parameters of flax's `GRUCell`: input kernels `ir`, `iz`, `in` with biases, and
/// recurrent kernels `hr`, `hz`, `hn`, of which `hn` has a bias.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [2, 8, 16], F32);
/// assert_eq!(Gru::new(32).apply(&p.at("gru"), x).shape(), [2, 8, 32]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gru {
    /// Size of the hidden state.
    pub features: i64,
    /// Whether the scan runs from the last position to the first.
    pub reverse: bool,
}

impl Gru {
    /// Creates a layer that scans from the first position to the last.
    #[must_use]
    pub fn new(features: i64) -> Self {
        Gru { features, reverse: false }
    }

    /// Scans from the last position to the first.
    #[must_use]
    pub fn reverse(self) -> Self {
        Gru { reverse: true, ..self }
    }

    /// Returns the output at each position of `x`, `[batch, time, features]`. The initial state is zero.
    ///
    /// Reports an error if `x` has the wrong rank, or its element type is not the compute type.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let g = p.graph();
        if x.is_poisoned() {
            return x;
        }
        if x.rank() != 3 {
            return g.refuse(&[x], "a recurrent layer needs a tensor of shape [batch, time, features]");
        }
        g.track_caller(|| self.scanned(p, x))
    }

    /// Returns the output at each position of a tensor of rank 3.
    #[track_caller]
    fn scanned<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let g = p.graph();
        let dense = Dense::new(self.features);
        let of_inputs = ["ir", "iz", "in"].map(|name| dense.apply(&p.at(name), x).swap_axes(0, 1));
        let kernels = ["hr", "hz", "hn"]
            .map(|name| p.at(name).parameter("kernel", [self.features; 2], lecun(self.features)));
        let bias = p.at("hn").parameter("bias", [self.features], Init::zeros());
        let start = g.zeros([x.size(0), self.features], x.dtype());
        let options = ScanOptions { reverse: self.reverse, ..ScanOptions::default() };
        let (_, outputs) = g.scan_with(options, start, of_inputs, |h, [r, z, n]| {
            let r = (r + h.dot(kernels[0])).sigmoid();
            let z = (z + h.dot(kernels[1])).sigmoid();
            let n = (n + r * (h.dot(kernels[2]) + bias)).tanh();
            let h = (1.0 - z) * n + z * h;
            (h, h)
        });
        outputs.swap_axes(0, 1)
    }
}

/// Two LSTMs in opposite directions, whose outputs are concatenated. Layers: `forward` and `backward`.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [2, 8, 16], F32);
/// assert_eq!(bidirectional_lstm(32, &p.at("lstm"), x).shape(), [2, 8, 64]);
/// ```
///
/// Reports the errors of [`Lstm::apply`].
#[must_use]
#[track_caller]
pub fn bidirectional_lstm<'g>(features: i64, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
    let forward = Lstm::new(features).apply(&p.at("forward"), x);
    let backward = Lstm::new(features).reverse().apply(&p.at("backward"), x);
    p.graph().concatenate(&[forward, backward], -1)
}
