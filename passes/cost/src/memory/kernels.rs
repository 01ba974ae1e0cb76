//! The operations that run as kernels: those that are not fused into their users.

use shardc_ir::{EntityRef, FuncId, Module, OpId};

use super::machine::Machine;
use super::stages::Estimate;

/// For each operation of a function, whether it is fused into its users.
#[derive(Clone, Debug)]
pub struct Fusion {
    fused: Vec<bool>,
}

impl Fusion {
    /// Decides which operations of a function with local types are fused.
    #[must_use]
    pub fn of(module: &Module, func: FuncId, machine: Machine) -> Fusion {
        let Some(body) = module.funcs[func].body else { return Fusion { fused: Vec::new() } };
        let mut estimate = Estimate::new(module, func, body, machine.into(), &|_| 0);
        estimate.peak(body);
        Fusion { fused: estimate.fused }
    }

    /// Whether an operation is fused into its users, so that its results are not in memory.
    #[must_use]
    pub fn is_fused(&self, op: OpId) -> bool {
        self.fused.get(op.index()).is_some_and(|&fused| fused)
    }
}
