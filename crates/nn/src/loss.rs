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
    /// are widened first, and integers that cannot count the classes.
    ///
    /// Reported: `logits` are no floats, `labels` no integers, or the shapes do not go together.
    #[must_use]
    #[track_caller]
    pub fn of_each<'g>(&self, logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
        let g = logits.graph();
        let labels = labels_of(logits, labels);
        if !logits.is_poisoned() && !logits.dtype().is_float() {
            return g.refuse(&[logits], format!("logits are floats, not {}", logits.dtype()));
        }
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
            // What is wrong with labels was said above.
            Some(_) if each.is_poisoned() => each,
            Some(ignored) => {
                let counts = countable(labels).ne(ignored).to(each.dtype());
                each.sum(..) / counts.sum(..).max(1)
            }
            None => each.mean(..),
        }
    }
}

/// Integers of at least 32 bits: those of fewer may be too small for the number of classes, or of a vocabulary.
#[track_caller]
pub(crate) fn countable(numbers: Tensor<'_>) -> Tensor<'_> {
    let dtype = numbers.dtype();
    if dtype.is_integer() && dtype.bits() < 32 { numbers.to(DType::I32) } else { numbers }
}

/// Labels that are numbers, one for each row of `logits`.
#[track_caller]
fn labels_of<'g>(logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
    let (g, shape, of) = (logits.graph(), logits.shape(), labels.shape());
    if logits.is_poisoned() || labels.is_poisoned() {
        return labels;
    }
    if !labels.dtype().is_integer() {
        return g.refuse(&[labels], format!("labels are integers, not {}", labels.dtype()));
    }
    if shape.split_last().is_none_or(|(_, rows)| rows != of) {
        let text = format!(
            "labels of shape {of:?} for logits of shape {shape:?}: they have the dimensions of these but the last"
        );
        return g.refuse(&[logits, labels], text);
    }
    countable(labels)
}

/// The second of two tensors whose elements belong together: those of one shape, or a scalar for all.
#[track_caller]
fn paired<'g>(what: &str, left: Tensor<'g>, right: Tensor<'g>) -> Tensor<'g> {
    let (of, shape) = (left.shape(), right.shape());
    if left.is_poisoned() || shape.is_empty() || shape == of {
        return right;
    }
    left.graph()
        .refuse(&[left, right], format!("{what} of shapes {of:?} and {shape:?}: they have to be equal"))
}

/// Binary cross entropy of logits with labels from 0 to 1, of each element.
///
/// Reported: the shapes differ, but for a scalar label, or the element types do.
#[must_use]
#[track_caller]
pub fn sigmoid_cross_entropy<'g>(logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
    let labels = paired("logits and labels", logits, labels);
    -labels * logits.log_sigmoid() - (1.0 - labels) * (-logits).log_sigmoid()
}

/// The squared difference, of each element.
///
/// Reported: the shapes differ, but for a scalar target, or the element types do.
#[must_use]
#[track_caller]
pub fn squared_error<'g>(predictions: Tensor<'g>, targets: Tensor<'g>) -> Tensor<'g> {
    (predictions - paired("predictions and targets", predictions, targets)).square()
}

/// Half the squared difference up to `delta`, and beyond it as steep as there (Huber, 1964), of each element.
///
/// Reported: the shapes differ, but for a scalar target, or the element types do.
#[must_use]
#[track_caller]
pub fn huber<'g>(predictions: Tensor<'g>, targets: Tensor<'g>, delta: f64) -> Tensor<'g> {
    let away = (predictions - paired("predictions and targets", predictions, targets)).abs();
    let near = away.min(delta);
    0.5 * near.square() + delta * (away - near)
}

/// The part of labels at which the largest logit is.
///
/// Reported: `labels` are no integers, or the shapes do not go together.
#[must_use]
#[track_caller]
pub fn accuracy<'g>(logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
    let labels = labels_of(logits, labels);
    logits.argmax(-1).to(labels.dtype()).eq(labels).to(DType::F32).mean(..)
}
