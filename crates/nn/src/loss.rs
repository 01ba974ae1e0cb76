//! Losses of each example, as optax has them; the mean of them is a model's.

use shardc_graph::{DType, Tensor};

/// Cross entropy of logits with labels that are numbers. Of logits that are split over classes, each device sums and looks among
/// its own: only numbers per example are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossEntropy {
    /// This part of each label is spread over all classes.
    pub label_smoothing: f64,
    /// So many times the square of the logarithm of the sum of exponentials is added, which keeps that near zero.
    pub z_loss: f64,
    /// Examples with this label count nothing.
    pub ignore: Option<i64>,
}

impl CrossEntropy {
    /// Without smoothing, and all labels count.
    #[must_use]
    pub fn new() -> Self {
        CrossEntropy::default()
    }

    /// With this part of each label spread over all classes.
    #[must_use]
    pub fn label_smoothing(self, label_smoothing: f64) -> Self {
        CrossEntropy { label_smoothing, ..self }
    }

    /// With so many times the squared logarithm of the sum of exponentials.
    #[must_use]
    pub fn z_loss(self, z_loss: f64) -> Self {
        CrossEntropy { z_loss, ..self }
    }

    /// Without examples of this label.
    #[must_use]
    pub fn ignore(self, label: i64) -> Self {
        CrossEntropy { ignore: Some(label), ..self }
    }

    /// The loss of each example: classes are the last dimension of `logits`, the others are those of `labels`. Floats of 16 bits
    /// are widened first.
    ///
    /// Reported: `logits` are no floats, `labels` no integers, or the shapes do not go together.
    #[must_use]
    #[track_caller]
    pub fn of_each<'g>(&self, logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
        let g = logits.graph();
        let logits = if logits.dtype().bits() < 32 { logits.to(DType::F32) } else { logits };
        let largest = logits.amax_keepdims(-1).stop_gradient();
        let shifted = logits - largest;
        let log_sum = shifted.exp().sum(-1).log();
        let classes = logits.size(-1);
        let is_label = labels.expand_dims(-1).eq(g.arange(classes, labels.dtype()));
        let mut loss = log_sum - is_label.select(shifted, 0.0).sum(-1);
        if self.label_smoothing > 0.0 {
            let spread = log_sum - shifted.sum(-1) / classes as f64;
            loss = (1.0 - self.label_smoothing) * loss + self.label_smoothing * spread;
        }
        if self.z_loss > 0.0 {
            loss = loss + self.z_loss * (log_sum + largest.squeeze(-1)).square();
        }
        match self.ignore {
            Some(ignored) => labels.ne(ignored).select(loss, 0.0),
            None => loss,
        }
    }

    /// The mean over examples that count; zero where none does.
    ///
    /// Reported: as for [`CrossEntropy::of_each`].
    #[must_use]
    #[track_caller]
    pub fn mean<'g>(&self, logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
        let each = self.of_each(logits, labels);
        match self.ignore {
            Some(ignored) => each.sum(..) / labels.ne(ignored).to(each.dtype()).sum(..).max(1),
            None => each.mean(..),
        }
    }
}

/// Binary cross entropy of logits with labels from 0 to 1, of each element.
///
/// Reported: the shapes or element types do not go together.
#[must_use]
#[track_caller]
pub fn sigmoid_cross_entropy<'g>(logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
    -labels * logits.log_sigmoid() - (1.0 - labels) * (-logits).log_sigmoid()
}

/// The squared difference, of each element.
///
/// Reported: the shapes or element types do not go together.
#[must_use]
#[track_caller]
pub fn squared_error<'g>(predictions: Tensor<'g>, targets: Tensor<'g>) -> Tensor<'g> {
    (predictions - targets).square()
}

/// Half the squared difference up to `delta`, and beyond it as steep as there (Huber, 1964), of each element.
///
/// Reported: the shapes or element types do not go together.
#[must_use]
#[track_caller]
pub fn huber<'g>(predictions: Tensor<'g>, targets: Tensor<'g>, delta: f64) -> Tensor<'g> {
    let away = (predictions - targets).abs();
    let near = away.min(delta);
    0.5 * near.square() + delta * (away - near)
}

/// The part of labels at which the largest logit is.
///
/// Reported: the shapes do not go together.
#[must_use]
#[track_caller]
pub fn accuracy<'g>(logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
    logits.argmax(-1).eq(labels).to(DType::F32).mean(..)
}
