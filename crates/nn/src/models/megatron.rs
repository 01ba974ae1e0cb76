//! Tensor-parallel shardings of models.

use shardc_graph::{PartitionSpec, spec};

use crate::{Kind, Variable};

/// Returns the sharding of a variable of a [`Decoder`](super::Decoder), [`Bert`](super::Bert) or [`Vit`](super::Vit): heads, hidden
/// features and vocabulary are sharded over `axis` (Megatron-LM, Shoeybi et al., 2019). Pass the function to
/// [`Scope::mark_sharding`](crate::Scope::mark_sharding).
#[must_use]
pub fn megatron(variable: &Variable, axis: &str) -> Option<PartitionSpec> {
    let name = variable.name.as_str();
    let is_of = |layers: &[&str], what: &str| {
        layers.iter().any(|layer| name.strip_suffix(what).is_some_and(|rest| rest.ends_with(layer)))
    };
    let heads = [".query", ".key", ".value"];
    let hidden = [".up", ".gate"];
    Some(match name {
        "wte.embedding" => spec![axis, None],
        "lm_head.kernel" => spec![None, axis],
        // Dimensions: layers, batch, positions, heads, elements of a head.
        "cache.key" | "cache.value" => spec![None, _, None, axis, None],
        // The leading dimension indexes the layers.
        _ if is_of(&heads, ".kernel") => spec![None, None, axis, None],
        _ if is_of(&heads, ".bias") => spec![None, axis, None],
        _ if is_of(&[".attn.out"], ".kernel") => spec![None, axis, None, None],
        _ if is_of(&hidden, ".kernel") => spec![None, None, axis],
        _ if is_of(&hidden, ".bias") => spec![None, axis],
        _ if is_of(&[".down"], ".kernel") => spec![None, axis, None],
        _ if matches!(variable.kind, Kind::Parameter | Kind::Frozen) => {
            PartitionSpec::replicated(variable.shape.len())
        }
        _ => return None,
    })
}
