//! Planning (SPMD partitioning on global shapes): makes the shardings of each operation's operands and results agree, starting from the
//! propagated shardings.
//!
//! | pass | file | what it does |
//! |---|---|---|
//! | `legalize-shardings` | `prepare/mod.rs` | rejects or removes shardings that a tensor cannot have |
//! | `unify-meshes` | `prepare/mod.rs` | converts every sharding to a closed sharding on one mesh |
//! | `expand-sharded-ops` | `expand/mod.rs` | expands operations that cannot be partitioned along a sharded dimension in one step |
//! | `replicate-small-dims` | `prepare/small_dims.rs` | removes axes from dimensions with fewer elements than shards |
//! | `delay-reductions` | `unreduced/delay.rs` | defers an all-reduce past a contracting matmul or a reduction |
//! | `propagate-unreduced` | `unreduced/mod.rs` | keeps values between unreduced producers and users unreduced |
//! | `plan` | `decide/mod.rs` | decides how each operation is partitioned, and inserts reshards |
//!
//! The passes run in this order; `Planning` holds the data that they share besides the module. The preceding passes (`unfuse-products`,
//! `fold-slices`) and the following pass (`trade-sums`) are in this directory because they use the same legality rules (`support`).
//!
//! ## Warnings about all-gathers that no annotation requests
//!
//! * SH0310: an operation cannot be partitioned along a sharded dimension. Planning reports it.
//! * SH0909: the shardings of an operation's operands and results contradict each other. `gathered` finds the reshards that no annotation
//!   requests.
//! * SH0808: propagation leaves a result replicated because the axes do not divide its dimensions.
//!
//! ## Postconditions
//!
//! * Every tensor of the program has a closed sharding in [`Module::shardings`].
//! * The operands and results of an operation with a sharding rule agree on each factor. Only factors that `support` allows are
//!   sharded, and no axis shards two factors. The result of an operation that reduces a sharded factor has the axes of that factor in its
//!   `unreduced` list, and its only users are reshards.
//! * Any other operation has replicated operands and results. Exceptions are operations that forward values (`while`, `case`, `return`,
//!   ...): an operand has the sharding of the value to which it is forwarded.
//! * In a manual computation, no value is sharded along its manual axes. The operands and results of the computation have the listed
//!   shardings, in which free axes evenly divide the shard of each manual coordinate.

pub(crate) mod decide;
pub(crate) mod expand;
mod fold_slices;
mod free_values;
mod known_slices;
mod line;
pub(crate) mod prepare;
mod support;
#[cfg(test)]
mod testing;
mod trade_sums;
mod unfuse;
pub(crate) mod unreduced;

use rustc_hash::FxHashSet;
use shardc_ir::{Diagnostic, FuncId, MeshId, Module, OpId, RegionId};

use crate::cost::CostModel;

pub(crate) use self::decide::{Gather, Plan, Requests, gathered, plan};
pub(crate) use self::fold_slices::fold_slices;
pub(crate) use self::prepare::device_order::planned_mesh;
pub(crate) use self::support::single_windows;
pub(crate) use self::trade_sums::trade_sums;
pub(crate) use self::unfuse::unfuse_products;

/// The data that the passes of planning share in addition to the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planning {
    /// The rates of the machine.
    pub(crate) costs: CostModel,
    /// The mesh of all shardings; `None` until a pass has determined it.
    mesh: Option<MeshId>,
    /// Reshards between the steps into which an operation was expanded.
    between_steps: FxHashSet<OpId>,
    /// Warnings about shardings that are not honored.
    pub(crate) notes: Vec<Diagnostic>,
}

impl Planning {
    /// Returns the body of the function, and the mesh of its shardings.
    ///
    /// # Errors
    /// Returns SH0301 if the function has no body, and SH0391 if its shardings are not closed and on one mesh.
    fn place(&mut self, module: &Module, func: FuncId) -> Result<(RegionId, MeshId), Vec<Diagnostic>> {
        let body = body_of(module, func)?;
        if let Some(mesh) = self.mesh {
            return Ok((body, mesh));
        }
        let mesh = prepare::unified_mesh(module, body)?;
        self.mesh = Some(mesh);
        Ok((body, mesh))
    }
}

/// Returns the body of a function.
///
/// # Errors
/// Returns SH0301 if the function has no body.
fn body_of(module: &Module, func: FuncId) -> Result<RegionId, Vec<Diagnostic>> {
    let missing = || vec![Diagnostic::invalid("SH0301", "the entry function has no body")];
    module.funcs[func].body.ok_or_else(missing)
}
