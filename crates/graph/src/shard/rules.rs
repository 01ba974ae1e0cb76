//! Logical axes: named dimensions, and rules that map names to mesh axes.

use crate::error::{ErrorKind, GraphError, Here, KindResult};
use crate::{DimSpec, PartitionSpec, Tensor};

/// Rules that map logical dimension names to mesh axes, in order of preference (flax's `logical_axis_rules`). For each name, the first
/// applicable rule is used. A rule is not applicable if another dimension of the tensor already uses one of its axes.
///
/// ```
/// use shardc_graph::{AxisRules, spec};
///
/// let rules = AxisRules::new(&[("batch", "data"), ("hidden", "model"), ("embed", "data"), ("embed", "model")]).leave("head_dim");
/// assert_eq!(rules.spec(&["batch", "embed"])?, spec!["data", "model"]);
/// assert_eq!(rules.spec(&["embed", "hidden"])?, spec!["data", "model"]);
/// assert_eq!(rules.spec(&["embed", "head_dim"])?, spec!["data", None]);
/// # Ok::<(), shardc_graph::GraphError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AxisRules(Vec<(String, Vec<String>)>);

impl AxisRules {
    /// Creates rules that map dimension names to mesh axes, in order of preference.
    #[must_use]
    pub fn new(rules: &[(&str, &str)]) -> AxisRules {
        AxisRules(rules.iter().map(|(name, axis)| ((*name).to_owned(), vec![(*axis).to_owned()])).collect())
    }

    /// Adds a rule: dimensions of this name are sharded over several axes, major to minor.
    #[must_use]
    pub fn and(mut self, name: &str, axes: &[&str]) -> AxisRules {
        self.0.push((name.to_owned(), axes.iter().map(|&axis| axis.to_owned()).collect()));
        self
    }

    /// Adds a rule: dimensions of this name are unsharded, unless an earlier rule applies.
    #[must_use]
    pub fn leave(self, name: &str) -> AxisRules {
        self.and(name, &[])
    }

    /// Returns the sharding of a tensor with these dimension names; an empty name is an unsharded dimension.
    ///
    /// # Errors
    /// A name has no rule, or two dimensions have the same name.
    #[track_caller]
    pub fn spec(&self, names: &[&str]) -> Result<PartitionSpec, GraphError> {
        self.resolved(names).here()
    }

    fn resolved(&self, names: &[&str]) -> KindResult<PartitionSpec> {
        for (i, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if names[..i].contains(name) {
                return Err(ErrorKind::Operands(format!("two dimensions are named {name:?}")));
            }
            if !self.0.iter().any(|(of, _)| of == name) {
                let mut known: Vec<String> = self.0.iter().map(|(of, _)| format!("{of:?}")).collect();
                known.dedup();
                let text = format!(
                    "no rule for the dimension name {name:?}; the rules are for {}",
                    known.join(", ")
                );
                return Err(ErrorKind::Operands(text));
            }
        }
        let mut dims: Vec<Option<DimSpec>> = vec![None; names.len()];
        for (of, axes) in &self.0 {
            let Some(place) = names.iter().position(|name| name == of) else { continue };
            let is_free = |axis: &String| !dims.iter().flatten().any(|dim| dim.axes.contains(axis));
            if dims[place].is_none() && axes.iter().all(is_free) {
                dims[place] = Some(DimSpec { axes: axes.clone(), open: false });
            }
        }
        Ok(PartitionSpec { dims: dims.into_iter().map(Option::unwrap_or_default).collect() })
    }
}

impl<'g> Tensor<'g> {
    /// [`mark_sharding`](Tensor::mark_sharding) with the sharding that the rules determine for these dimension names.
    ///
    /// Reports the errors of [`AxisRules::spec`] and `mark_sharding`.
    #[track_caller]
    pub fn mark_logical(self, rules: &AxisRules, names: &[&str]) -> Tensor<'g> {
        match rules.resolved(names) {
            Ok(spec) => self.mark_sharding(spec),
            Err(kind) => self.graph().report(&[self], kind),
        }
    }
}
