//! Muon.

use std::fmt;
use std::rc::Rc;

use shardc_graph::{DType, Tensor};

use super::{Optimizer, Schedule};
use crate::{Init, Maps, Param, Scope};

type Says = dyn Fn(&Param<'_>) -> Option<Maps>;

/// A function from parameters to their matrix dimensions: see [`Muon::maps`].
#[derive(Clone)]
pub struct MapsOf(Rc<Says>);

impl fmt::Debug for MapsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MapsOf")
    }
}

/// Muon ("Muon: An optimizer for hidden layers in neural networks", Jordan et al., 2024): approximately orthogonalizes the momentum of each
/// matrix. Other parameters are updated by Adam with Nesterov momentum.
///
/// If a parameter has more than two dimensions, the layer that creates it specifies which dimensions form matrices ([`Param::maps`]):
///
/// * Attention kernels, `[features, heads, head_dim]`, are matrices of `features` rows.
/// * Convolution kernels, `[window.., in, out]`, are matrices of `out` columns.
/// * Each expert of a mixture and each layer of a stack is a separate matrix.
///
/// Other parameters of rank 3 are batches of matrices. Other parameters of higher rank are treated as convolution kernels, as in Jordan's
/// implementation. [`Muon::maps`] overrides the default, like optax's `MuonDimensionNumbers`.
#[derive(Clone, Debug)]
pub struct Muon {
    /// The learning rate.
    pub rate: Schedule,
    /// Momentum decay.
    pub beta: f64,
    /// The number of Newton-Schulz iterations.
    pub iterations: usize,
    /// First-moment decay of Adam, for parameters that are not matrices.
    pub adam_b1: f64,
    /// Second-moment decay of Adam.
    pub adam_b2: f64,
    /// The dimensions of a parameter that form matrices.
    pub maps: MapsOf,
}

/// Added to divisors.
const EPS: f64 = 1e-8;

impl Muon {
    /// Creates Muon with this learning rate and optax's defaults.
    #[must_use]
    pub fn new(rate: impl Into<Schedule>) -> Muon {
        let (rate, maps) = (rate.into(), MapsOf(Rc::new(Muon::usual)));
        Muon { rate, beta: 0.95, iterations: 5, adam_b1: 0.9, adam_b2: 0.999, maps }
    }

    /// Sets the function that returns the matrix dimensions of a parameter, among the dimensions of one layer; `None` selects Adam.
    /// [`Muon::usual`] is the default.
    ///
    /// [`apply`](super::apply) reports an error if a parameter lacks these dimensions, or if its matrices would have no inputs or no
    /// outputs.
    ///
    /// ```
    /// use shardc_nn::Maps;
    /// use shardc_nn::optim::Muon;
    ///
    /// // The kernel of a fused QKV matmul, `[features, 3, heads, head_dim]`, is a matrix of `features` rows. `positions` uses Adam.
    /// let muon = Muon::new(0.02).maps(|param| match &*param.name {
    ///     "qkv" => Some(Maps { maps: 0, outputs: 3 }),
    ///     "positions" => None,
    ///     _ => Muon::usual(param),
    /// });
    /// # _ = muon;
    /// ```
    #[must_use]
    pub fn maps(self, maps: impl Fn(&Param<'_>) -> Option<Maps> + 'static) -> Muon {
        Muon { maps: MapsOf(Rc::new(maps)), ..self }
    }

    /// Returns the default matrix dimensions of a parameter.
    #[must_use]
    pub fn usual(param: &Param<'_>) -> Option<Maps> {
        match param.rank() {
            0 | 1 => None,
            rank => Some(param.maps.unwrap_or(Maps { maps: usize::from(rank == 3), outputs: 1 })),
        }
    }

    /// Returns the shape of a parameter's matrices, `[.., inputs, outputs]`, with stacked layers and batch dimensions leading; `None` if it
    /// has no matrices.
    #[track_caller]
    fn matrices(&self, param: &Param<'_>) -> Option<Vec<i64>> {
        let Maps { maps, outputs } = (self.maps.0)(param)?;
        let shape = param.tensor.shape();
        let (rank, first) = (param.rank(), param.num_stacks + maps);
        if outputs < 1 || maps.saturating_add(outputs) >= rank {
            let text = format!(
                "muon: the parameter {:?} of shape {:?} cannot be treated as matrices with {maps} batch dimensions and {outputs} output \
                 dimensions: at least one input and one output dimension are required",
                param.name,
                param.shape()
            );
            param.tensor.graph().refuse(&[param.tensor], text);
            return None;
        }
        let (inputs, outputs) = shape[first..].split_at(rank - maps - outputs);
        Some([&shape[..first], &[inputs.iter().product(), outputs.iter().product()]].concat())
    }

    /// Approximates the nearest semi-orthogonal matrix, for each matrix in the last two dimensions (Newton-Schulz).
    fn orthogonal<'g>(&self, x: Tensor<'g>) -> Tensor<'g> {
        let is_tall = x.size(-2) > x.size(-1);
        let mut x = if is_tall { x.swap_axes(-1, -2) } else { x };
        x = x / (x.square().sum_keepdims([-2, -1]).sqrt() + EPS);
        for _ in 0..self.iterations {
            let square = x.matmul(x.swap_axes(-1, -2));
            let polynomial: Tensor<'g> = -4.7750 * square + 2.0315 * square.matmul(square);
            x = 3.4445 * x + polynomial.matmul(x);
        }
        if is_tall { x.swap_axes(-1, -2) } else { x }
    }
}

impl Optimizer for Muon {
    fn updates<'g>(
        &self,
        p: &Scope<'g>,
        params: &[Param<'g>],
        gradients: &[Tensor<'g>],
        count: Tensor<'g>,
    ) -> Vec<Tensor<'g>> {
        let (rate, done, g) = (self.rate.at(count), count + 1, count.graph());
        let lacks = |b: f64, steps: Tensor<'g>| 1.0 - g.scalar(b, DType::F32).pow(steps);
        // Nesterov momentum with bias correction: `ahead` returns the momentum of the next step if the gradient stays the same.
        let ahead = |b: f64, mean: Tensor<'g>, gradient: Tensor<'g>| {
            b * (mean / lacks(b, done + 1)) + (1.0 - b) * (gradient / lacks(b, done))
        };
        let update = |(param, &gradient): (&Param<'g>, &Tensor<'g>)| {
            let gradient = gradient.to(DType::F32);
            let matrices = self.matrices(param);
            let b1 = if matrices.is_some() { self.beta } else { self.adam_b1 };
            let mean = (1.0 - b1) * gradient + b1 * p.variable_of(param, "mu", DType::F32, Init::zeros());
            p.set_of(param, "mu", mean);
            let momentum = ahead(b1, mean, gradient);
            if let Some(shape) = matrices {
                let (inputs, outputs) = (shape[shape.len() - 2], shape[shape.len() - 1]);
                let scale = (outputs as f64 / inputs as f64).max(1.0).sqrt();
                let update = self.orthogonal(momentum.reshape(shape)).reshape(param.tensor.shape());
                return -rate * scale * update;
            }
            let square = p.variable_of(param, "nu", DType::F32, Init::zeros());
            let square = (1.0 - self.adam_b2) * gradient.square() + self.adam_b2 * square;
            p.set_of(param, "nu", square);
            -rate * momentum / ((square / lacks(self.adam_b2, done)).sqrt() + EPS)
        };
        params.iter().zip(gradients).map(update).collect()
    }
}
