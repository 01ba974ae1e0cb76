//! Analyses of a training step that several apply steps share. Each analysis is computed at its first use, and recomputed after a rewrite
//! has invalidated it.

use std::cell::OnceCell;

use rustc_hash::FxHashSet;
use shardc_analysis::propagate::DimensionClasses;
use shardc_ir::{FuncId, Module, RegionId, ValueId};

use crate::roles::{Role, Roles};
use crate::stacked::Stacked;

/// The dimension classes of a function; `batch` contains the classes of batch dimensions.
pub(super) struct Dimensions {
    pub(super) classes: DimensionClasses,
    pub(super) batch: FxHashSet<u32>,
}

impl Dimensions {
    /// Computes the dimension classes of a function without calls; `None` if it has no body.
    fn of(module: &Module, func: FuncId, args: &[ValueId], roles: &Roles) -> Option<Dimensions> {
        let classes = DimensionClasses::of_func(module, func)?;
        let of_batch = |i: usize| Some(*classes.of(args[i]).get(roles.arguments[i].batch_dim?)?);
        let batch = roles.of(Role::Batch).filter_map(of_batch).collect();
        Some(Dimensions { classes, batch })
    }

    /// Returns whether a value has a batch dimension.
    pub(super) fn has_batch(&self, value: ValueId) -> bool {
        self.classes.of(value).iter().any(|class| self.batch.contains(class))
    }
}

/// The analyses computed so far.
#[derive(Default)]
pub(super) struct Analyses {
    dimensions: OnceCell<Option<Dimensions>>,
    stacked: OnceCell<Stacked>,
}

impl Analyses {
    /// Returns the dimension classes of a function without calls, whose body has these arguments.
    pub(super) fn dimensions(
        &self,
        module: &Module,
        func: FuncId,
        args: &[ValueId],
        roles: &Roles,
    ) -> Option<&Dimensions> {
        self.dimensions.get_or_init(|| Dimensions::of(module, func, args, roles)).as_ref()
    }

    /// Returns the stacks of layers among the arguments of a body without calls.
    pub(super) fn stacked(&self, module: &Module, body: RegionId) -> &Stacked {
        self.stacked.get_or_init(|| Stacked::of(module, body))
    }

    /// Returns the dimension classes, if they are computed and valid.
    #[cfg(test)]
    pub(super) fn cached_dimensions(&self) -> Option<&Dimensions> {
        self.dimensions.get()?.as_ref()
    }

    /// Invalidates the dimension classes after an apply step inserted or removed operations. The stacks stay valid if the apply step only
    /// inserted casts, barriers and constraints: loops read the same rows of the same arguments.
    pub(super) fn invalidate_dimensions(&mut self) {
        self.dimensions.take();
    }

    /// Invalidates all analyses after an apply step rewrote the program.
    pub(super) fn invalidate(&mut self) {
        *self = Analyses::default();
    }
}
