//! Losses per example, as in optax; the loss of a model is their mean.

use shardc_graph::{DType, Tensor};

/// Cross entropy of logits with integer labels. If logits are sharded over classes, each device reduces its own shard and looks up labels
/// in it, so only per-example values are communicated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossEntropy {
    /// Label smoothing: this fraction of each label is spread evenly over all classes.
    pub label_smoothing: f64,
    /// Weight of the z-loss, the squared log-sum-exp, which keeps the log-sum-exp near zero.
    pub z_loss: f64,
    /// Examples with this label are ignored.
    pub ignore: Option<i64>,
}

impl CrossEntropy {
    /// Creates a loss without smoothing and z-loss; no label is ignored.
    #[must_use]
    pub fn new() -> Self {
        CrossEntropy::default()
    }

    /// Sets the label smoothing.
    #[must_use]
    pub fn label_smoothing(self, label_smoothing: f64) -> Self {
        CrossEntropy { label_smoothing, ..self }
    }

    /// Sets the weight of the z-loss.
    #[must_use]
    pub fn z_loss(self, z_loss: f64) -> Self {
        CrossEntropy { z_loss, ..self }
    }

    /// Ignores examples with this label.
    #[must_use]
    pub fn ignore(self, label: i64) -> Self {
        CrossEntropy { ignore: Some(label), ..self }
    }

    /// Returns the loss of each example: classes are the last dimension of `logits`, the other dimensions are those of `labels`. 16-bit
    /// floats, and integers too narrow for the number of classes, are converted to wider types first.
    ///
    /// Reports an error if `logits` are not of a float type, `labels` are not of an integer type, or the shapes do not match.
    #[must_use]
    #[track_caller]
    pub fn of_each<'g>(&self, logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
        let g = logits.graph();
        let labels = labels_of(logits, labels);
        if !logits.is_poisoned() && !logits.dtype().is_float() {
            return g.refuse(&[logits], format!("logits must be floats, got {}", logits.dtype()));
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

    /// Returns the mean over examples that are not ignored; zero if there are none.
    ///
    /// Reports the errors of [`CrossEntropy::of_each`].
    #[must_use]
    #[track_caller]
    pub fn mean<'g>(&self, logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
        let each = self.of_each(logits, labels);
        match self.ignore {
            // An error in the labels is already reported.
            Some(_) if each.is_poisoned() => each,
            Some(ignored) => {
                let counts = countable(labels).ne(ignored).to(each.dtype());
                each.sum(..) / counts.sum(..).max(1)
            }
            None => each.mean(..),
        }
    }
}

/// Converts integers to at least 32 bits: narrower types may be too small for the number of classes or the vocabulary.
#[track_caller]
pub(crate) fn countable(numbers: Tensor<'_>) -> Tensor<'_> {
    let dtype = numbers.dtype();
    if dtype.is_integer() && dtype.bits() < 32 { numbers.to(DType::I32) } else { numbers }
}

/// Checks that labels are integers, one for each row of `logits`.
#[track_caller]
fn labels_of<'g>(logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
    let (g, shape, of) = (logits.graph(), logits.shape(), labels.shape());
    if logits.is_poisoned() || labels.is_poisoned() {
        return labels;
    }
    if !labels.dtype().is_integer() {
        return g.refuse(&[labels], format!("labels must be integers, got {}", labels.dtype()));
    }
    if shape.split_last().is_none_or(|(_, rows)| rows != of) {
        let text = format!(
            "the shape of labels must be that of logits without the last dimension, got labels {of:?} and logits {shape:?}"
        );
        return g.refuse(&[logits, labels], text);
    }
    countable(labels)
}

/// Checks the second operand of an elementwise loss: it must have the shape of the first operand, or be a scalar.
#[track_caller]
fn paired<'g>(what: &str, left: Tensor<'g>, right: Tensor<'g>) -> Tensor<'g> {
    let (of, shape) = (left.shape(), right.shape());
    if left.is_poisoned() || shape.is_empty() || shape == of {
        return right;
    }
    left.graph().refuse(&[left, right], format!("{what} must have equal shapes, got {of:?} and {shape:?}"))
}

/// Elementwise binary cross entropy of logits with labels from 0 to 1.
///
/// Reports an error if the shapes differ (unless the label is a scalar), or the element types differ.
#[must_use]
#[track_caller]
pub fn sigmoid_cross_entropy<'g>(logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
    let labels = paired("logits and labels", logits, labels);
    -labels * logits.log_sigmoid() - (1.0 - labels) * (-logits).log_sigmoid()
}

/// Returns the elementwise squared difference.
///
/// Reports an error if the shapes differ (unless the target is a scalar), or the element types differ.
#[must_use]
#[track_caller]
pub fn squared_error<'g>(predictions: Tensor<'g>, targets: Tensor<'g>) -> Tensor<'g> {
    (predictions - paired("predictions and targets", predictions, targets)).square()
}

/// Returns the elementwise Huber loss: half the squared difference up to `delta`, linear beyond it (Huber, 1964).
///
/// Reports an error if the shapes differ (unless the target is a scalar), or the element types differ.
#[must_use]
#[track_caller]
pub fn huber<'g>(predictions: Tensor<'g>, targets: Tensor<'g>, delta: f64) -> Tensor<'g> {
    let away = (predictions - paired("predictions and targets", predictions, targets)).abs();
    let near = away.min(delta);
    0.5 * near.square() + delta * (away - near)
}

/// Returns the fraction of examples whose largest logit is that of the label.
///
/// Reports an error if `labels` are not of an integer type, or the shapes do not match.
#[must_use]
#[track_caller]
pub fn accuracy<'g>(logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
    let labels = labels_of(logits, labels);
    logits.argmax(-1).to(labels.dtype()).eq(labels).to(DType::F32).mean(..)
}
