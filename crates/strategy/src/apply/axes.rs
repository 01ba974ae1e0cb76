//! What each axis of a mesh is for.

use shardc_ir::{AxisRef, Diagnostic, Mesh};

use crate::settings::{Settings, Sharding};

/// What each axis of a mesh is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Axes {
    /// Those that split the batch, all of data parallelism, major to minor.
    pub(crate) data: Vec<AxisRef>,
    /// Those of `data` that split parameters, gradients or optimizer state, too.
    pub(crate) shard: Vec<AxisRef>,
    /// Those of tensor parallelism, which split weights within layers.
    pub(crate) tensor: Vec<AxisRef>,
}

/// What axes of tensor parallelism are called.
const TENSOR: [&str; 4] = ["model", "tensor", "tp", "mp"];

impl Axes {
    /// The axes of a mesh: `model`, `tensor`, `tp` and `mp` are of tensor parallelism, all others of data parallelism; of hybrid strategies the first counts copies of the model, one for each node.
    ///
    /// # Errors
    /// A hybrid strategy on a mesh of one axis (SH1251).
    pub(crate) fn of(mesh: &Mesh, settings: &Settings) -> Result<Axes, Diagnostic> {
        let is_tensor = |axis: &AxisRef| {
            mesh.axes.get_index(usize::from(axis.axis)).is_some_and(|(name, _)| TENSOR.contains(&&**name))
        };
        let (tensor, data): (Vec<AxisRef>, Vec<AxisRef>) =
            (0..mesh.axes.len()).map(AxisRef::whole).partition(is_tensor);
        let shard = match settings.sharding {
            Sharding::NoShard => Vec::new(),
            Sharding::HybridShard | Sharding::HybridShardZero2 => {
                if data.len() < 2 {
                    let message = "a hybrid strategy needs two axes of data parallelism, the first of which counts nodes";
                    return Err(Diagnostic::invalid("SH1251", message).hint("such as node=2,fsdp=4"));
                }
                data[1..].to_vec()
            }
            Sharding::FullShard | Sharding::ShardGradOp | Sharding::Zero1 => data.clone(),
        };
        Ok(Axes { data, shard, tensor })
    }
}
