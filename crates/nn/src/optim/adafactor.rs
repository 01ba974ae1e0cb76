//! Adafactor.

use shardc_graph::{DType, Tensor};

use super::{Optimizer, Schedule};
use crate::{Init, Kind, Param, Scope};

/// Adafactor ("Adaptive Learning Rates with Sublinear Memory Cost", Shazeer and Stern, 2018): the second moment of a large matrix is
/// factored into row and column means. Layers of a stack are updated separately.
#[derive(Clone, Debug)]
pub struct Adafactor {
    /// The learning rate, relative to the scale of the parameter.
    pub rate: Schedule,
    /// Exponent of the second-moment decay, which is `1 - t^-decay` in step `t`.
    pub decay: f64,
    /// The second moment is factored if the second largest dimension is at least this large.
    pub min_factored_size: i64,
    /// The maximum root mean square of an update, before the learning rate.
    pub clip: f64,
}

impl Adafactor {
    /// Creates Adafactor with this learning rate and optax's defaults.
    #[must_use]
    pub fn new(rate: impl Into<Schedule>) -> Adafactor {
        Adafactor { rate: rate.into(), decay: 0.8, min_factored_size: 128, clip: 1.0 }
    }

    /// Returns the two largest dimensions of a layer's parameter, if both are large enough to be factored: the largest is reduced for the
    /// row means, and the second largest for the column means.
    fn factored(&self, param: &Param<'_>) -> Option<(usize, usize)> {
        let shape = param.tensor.shape();
        let mut dims: Vec<usize> = (param.num_stacks..shape.len()).collect();
        dims.sort_by_key(|&d| shape[d]);
        match dims.as_slice() {
            [.., next, largest] if shape[*next] >= self.min_factored_size => Some((*largest, *next)),
            _ => None,
        }
    }
}

impl Optimizer for Adafactor {
    fn updates<'g>(
        &self,
        p: &Scope<'g>,
        params: &[Param<'g>],
        gradients: &[Tensor<'g>],
        count: Tensor<'g>,
    ) -> Vec<Tensor<'g>> {
        let rate = self.rate.at(count);
        let stays = 1.0 - (count + 1).pow(count.graph().scalar(-self.decay, DType::F32));
        let mean = |name: String, shape: Vec<i64>, now: Tensor<'g>| {
            let before = p.variable(&name, Kind::Optimizer, shape, DType::F32, Init::zeros());
            let next: Tensor<'g> = stays * before + (1.0 - stays) * now;
            p.set(&p.full_name(&name), next);
            next
        };
        let update = |(param, &gradient): (&Param<'g>, &Tensor<'g>)| {
            let gradient = gradient.to(DType::F32);
            let (square, shape) = (gradient.square() + 1e-30, param.tensor.shape());
            let scaled = match self.factored(param) {
                Some((d0, d1)) => {
                    let without = |d: usize| [&shape[..d], &shape[d + 1..]].concat();
                    let row = mean(format!("row.{}", param.name), without(d0), square.mean(d0 as i64));
                    let column = mean(format!("column.{}", param.name), without(d1), square.mean(d1 as i64));
                    let rest = if d1 > d0 { d1 - 1 } else { d1 } as i64;
                    let row = (row / row.mean_keepdims(rest)).rsqrt().expand_dims(d0 as i64);
                    gradient * row * column.rsqrt().expand_dims(d1 as i64)
                }
                None => gradient * mean(format!("square.{}", param.name), shape.clone(), square).rsqrt(),
            };
            let own: Vec<i64> = (param.num_stacks as i64..shape.len() as i64).collect();
            let root_mean_square = |t: Tensor<'g>| t.square().mean_keepdims(own.as_slice()).sqrt();
            let clipped = scaled / (root_mean_square(scaled) / self.clip).max(1);
            -rate * clipped * root_mean_square(param.tensor.to(DType::F32)).max(1e-3)
        };
        params.iter().zip(gradients).map(update).collect()
    }
}
