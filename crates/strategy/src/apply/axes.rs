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

impl Axes {
    /// Determines the purpose of each mesh axis, by its name: tensor, context and expert parallelism have their own names; all other axes
    /// are data-parallel. For hybrid strategies the first data-parallel axis is the node axis, which replicates the model.
    ///
    /// # Errors
    /// Returns SH1251 for a hybrid strategy on a mesh with one axis.
    pub(crate) fn of(mesh: &Mesh, settings: &Settings) -> Result<Axes, Diagnostic> {
        let is_called = |axis: &AxisRef, names: &[&str]| {
            mesh.axes.get_index(usize::from(axis.axis)).is_some_and(|(name, _)| names.contains(&&**name))
        };
        let all: Vec<AxisRef> = (0..mesh.axes.len()).map(AxisRef::whole).collect();
        let called = |names: &[&str]| -> Vec<AxisRef> {
            all.iter().filter(|axis| is_called(axis, names)).cloned().collect()
        };
        let (tensor, context, expert) = (called(&TENSOR), called(&CONTEXT), called(&EXPERT));
        let data: Vec<AxisRef> =
            all.iter().filter(|axis| !tensor.contains(axis) && !context.contains(axis)).cloned().collect();
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
