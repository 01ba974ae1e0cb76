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
}

impl Axes {
    /// The axes of a mesh: all are of data parallelism; of hybrid strategies the first counts copies of the model, one for each node.
    ///
    /// # Errors
    /// A hybrid strategy on a mesh of one axis (SH1251).
    pub(crate) fn of(mesh: &Mesh, settings: &Settings) -> Result<Axes, Diagnostic> {
        let data: Vec<AxisRef> = (0..mesh.axes.len()).map(AxisRef::whole).collect();
        let shard = match settings.sharding {
            Sharding::NoShard => Vec::new(),
            Sharding::HybridShard | Sharding::HybridShardZero2 => {
                if data.len() < 2 {
                    let message =
                        "a hybrid strategy needs a mesh of two axes or more, the first of which counts nodes";
                    return Err(Diagnostic::invalid("SH1251", message).hint("such as node=2,fsdp=4"));
                }
                data[1..].to_vec()
            }
            Sharding::FullShard | Sharding::ShardGradOp | Sharding::Zero1 => data.clone(),
        };
        Ok(Axes { data, shard })
    }
}
