//! Muon.

use shardc_graph::{DType, Tensor};

use super::{Optimizer, Schedule};
use crate::{Init, Param, Scope};

/// Muon ("Muon: An optimizer for hidden layers in neural networks", Jordan et al., 2024): the momentum of a matrix is made nearly
/// orthogonal. What is no matrix, nor a stack of layers' matrices, is updated by Adam with Nesterov's momentum.
#[derive(Clone, Debug)]
pub struct Muon {
    /// The step size.
    pub rate: Schedule,
    /// How much of the momentum stays.
    pub beta: f64,
    /// How often the Newton-Schulz iteration is done.
    pub iterations: usize,
    /// How much of the mean of gradients stays, of what is no matrix.
    pub adam_b1: f64,
    /// How much of the mean of their squares stays.
    pub adam_b2: f64,
}

/// Added to what is divided by.
const EPS: f64 = 1e-8;

impl Muon {
    /// With `optax`'s defaults.
    #[must_use]
    pub fn new(rate: impl Into<Schedule>) -> Muon {
        Muon { rate: rate.into(), beta: 0.95, iterations: 5, adam_b1: 0.9, adam_b2: 0.999 }
    }

    /// Nearly the nearest matrix with orthogonal rows or columns, of each matrix in the last two dimensions.
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
        // Nesterov's: as if the step had been done.
        let ahead = |b: f64, mean: Tensor<'g>, gradient: Tensor<'g>| {
            b * (mean / lacks(b, done + 1)) + (1.0 - b) * (gradient / lacks(b, done))
        };
        let update = |(param, &gradient): (&Param<'g>, &Tensor<'g>)| {
            let gradient = gradient.to(DType::F32);
            let rank = param.rank();
            let b1 = if rank == 2 { self.beta } else { self.adam_b1 };
            let mean = (1.0 - b1) * gradient + b1 * p.variable_of(param, "mu", DType::F32, Init::zeros());
            p.set_of(param, "mu", mean);
            let momentum = ahead(b1, mean, gradient);
            if rank == 2 {
                let shape = param.tensor.shape();
                let (inputs, outputs) = (shape[shape.len() - 2], shape[shape.len() - 1]);
                let scale = (outputs as f64 / inputs as f64).max(1.0).sqrt();
                return -rate * scale * self.orthogonal(momentum);
            }
            let square = p.variable_of(param, "nu", DType::F32, Init::zeros());
            let square = (1.0 - self.adam_b2) * gradient.square() + self.adam_b2 * square;
            p.set_of(param, "nu", square);
            -rate * momentum / ((square / lacks(self.adam_b2, done)).sqrt() + EPS)
        };
        params.iter().zip(gradients).map(update).collect()
    }
}
