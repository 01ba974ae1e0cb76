//! The purpose of each mesh axis.

use shardc_ir::suggest::nearest;
use shardc_ir::{AxisRef, Class, Diagnostic, Mesh};

use crate::settings::{Settings, Sharding};

/// The purpose of each mesh axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Axes {
    /// Axes that shard the batch: the axes of data and expert parallelism, major to minor.
    pub(crate) data: Vec<AxisRef>,
    /// Axes of `data` and `context` that also shard parameters, gradients or optimizer state.
    pub(crate) shard: Vec<AxisRef>,
    /// Axes of tensor parallelism, which shard weights within layers.
    pub(crate) tensor: Vec<AxisRef>,
    /// Axes of context parallelism, which shard sequences.
    pub(crate) context: Vec<AxisRef>,
    /// Axes of `data` that shard experts.
    pub(crate) expert: Vec<AxisRef>,
}

/// Names of tensor-parallel axes.
const TENSOR: [&str; 4] = ["model", "tensor", "tp", "mp"];
/// Names of context-parallel axes.
const CONTEXT: [&str; 5] = ["context", "cp", "sequence", "seq", "sp"];
/// Names of expert-parallel axes.
const EXPERT: [&str; 3] = ["expert", "experts", "ep"];

/// The use of a mesh axis by a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxisPurpose {
    /// The axis shards the batch and, according to the strategy, parameters and optimizer state.
    Data,
    /// The axis shards experts and the batch.
    Expert,
    /// The axis shards sequences.
    Context,
    /// The axis shards weights within layers.
    Tensor,
}

impl AxisPurpose {
    /// Returns the purpose of an axis by its name: `model`, `tensor`, `tp` and `mp` for tensor parallelism, `context`, `cp`, `sequence`, `seq` and
    /// `sp` for context parallelism, `expert`, `experts` and `ep` for expert parallelism, and data parallelism for all other names.
    #[must_use]
    pub fn of_name(name: &str) -> AxisPurpose {
        match name {
            _ if TENSOR.contains(&name) => AxisPurpose::Tensor,
            _ if CONTEXT.contains(&name) => AxisPurpose::Context,
            _ if EXPERT.contains(&name) => AxisPurpose::Expert,
            _ => AxisPurpose::Data,
        }
    }
}

impl Axes {
    /// Determines the purpose of each mesh axis, by its name: tensor, context and expert parallelism have their own names; all other axes
    /// are data-parallel. For hybrid strategies the first data-parallel axis is the node axis, which replicates the model.
    ///
    /// # Errors
    /// Returns SH1251 for a hybrid strategy on a mesh with one axis.
    pub(crate) fn of(mesh: &Mesh, settings: &Settings) -> Result<Axes, Diagnostic> {
        let with = |purposes: &[AxisPurpose]| -> Vec<AxisRef> {
            let named = mesh.axes.keys().enumerate();
            let found = named.filter(|(_, name)| purposes.contains(&AxisPurpose::of_name(name)));
            found.map(|(axis, _)| AxisRef::whole(axis)).collect()
        };
        let (tensor, context) = (with(&[AxisPurpose::Tensor]), with(&[AxisPurpose::Context]));
        let expert = with(&[AxisPurpose::Expert]);
        let data = with(&[AxisPurpose::Data, AxisPurpose::Expert]);
        let shard = match settings.sharding {
            Sharding::NoShard => Vec::new(),
            Sharding::HybridShard | Sharding::HybridShardZero2 => {
                if data.len() < 2 {
                    let message =
                        "a hybrid strategy needs two axes of data parallelism: the first is the node axis";
                    return Err(Diagnostic::invalid("SH1251", message).hint("such as node=2,fsdp=4"));
                }
                data[1..].iter().chain(&context).cloned().collect()
            }
            Sharding::FullShard | Sharding::ShardGradOp | Sharding::Zero1 => {
                data.iter().chain(&context).cloned().collect()
            }
        };
        Ok(Axes { data, shard, tensor, context, expert })
    }
}

/// Returns warnings (SH1253) about axes that shard the batch although their names are similar to names of axes of tensor, context or
/// expert parallelism.
pub(crate) fn misspelt(mesh: &Mesh) -> Vec<Diagnostic> {
    let known = || TENSOR.iter().chain(&CONTEXT).chain(&EXPERT).copied();
    let warning = |name: &str| {
        let meant = nearest(name, known()).filter(|_| !known().any(|known| known == name))?;
        let message = format!("the mesh axis '{name}' is treated as a data-parallel axis");
        let warning = Diagnostic::warning(Class::InvalidInput, "SH1253", message);
        Some(warning.hint(format!("did you mean {meant}?")))
    };
    mesh.axes.keys().filter_map(|name| warning(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_axis_is_a_warning() {
        let warned = |names: &[&str]| {
            let axes = names.iter().map(|&name| (name.into(), 2)).collect();
            let warnings = misspelt(&Mesh { axes, ..Mesh::default() });
            warnings.into_iter().filter_map(|warning| warning.hint).collect::<Vec<_>>()
        };
        assert_eq!(warned(&["fsdp", "modle"]), ["did you mean model?"]);
        assert!(warned(&["data", "node", "fsdp", "model", "tp", "x"]).is_empty());
    }

    #[test]
    fn axis_names_determine_their_use() {
        let axes = ["node", "fsdp", "ep", "cp", "model"].map(|name| (name.into(), 2));
        let mesh = Mesh { axes: axes.into_iter().collect(), ..Mesh::default() };
        let of = |sharding| Axes::of(&mesh, &Settings { sharding, ..Settings::default() }).unwrap();
        let numbers = |axes: &[AxisRef]| axes.iter().map(|axis| usize::from(axis.axis)).collect::<Vec<_>>();
        let all = of(Sharding::FullShard);
        let of_all =
            [&all.data, &all.shard, &all.expert, &all.context, &all.tensor].map(|axes| numbers(axes));
        assert_eq!(of_all, [vec![0, 1, 2], vec![0, 1, 2, 3], vec![2], vec![3], vec![4]]);
        assert_eq!(numbers(&of(Sharding::HybridShard).shard), [1, 2, 3]);
        assert!(of(Sharding::NoShard).shard.is_empty());
    }
}
