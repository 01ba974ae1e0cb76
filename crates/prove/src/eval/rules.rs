//! Sharding rules of custom calls.
//!
//! The meaning of a custom call is not known. A user who gives it a sharding rule (`sdy.sharding_rule`) states that it computes each element on
//! its own along the factors that are of no special kind. The rule of the original holds for all calls with the same attributes, as in JAX's
//! `custom_partitioning`: the calls of a partition have no rule.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpKind, sharding_rule_batch_dims};

use super::regions;

/// For each dimension of each operand, the dimension of the results along which the call does not compute.
type BatchDims = Vec<Vec<Option<u32>>>;

/// The sharding rules of the custom calls of the original, by their attributes.
#[derive(Default)]
pub(crate) struct Rules {
    by_attributes: FxHashMap<String, BatchDims>,
}

impl Rules {
    /// The rules of a program. Calls with equal attributes and different rules have none.
    pub(crate) fn new(original: &Module) -> Rules {
        let mut rules = Rules::default();
        for op in original.ops.values() {
            let (OpKind::CustomCall(_), Some(text)) = (&op.kind, op.attrs.sharding_rule()) else { continue };
            let (Some(name), Some(dims)) = (regions::attributes(&op.kind), sharding_rule_batch_dims(text))
            else {
                continue;
            };
            let own = rules.by_attributes.entry(name).or_insert_with(|| dims.clone());
            if *own != dims {
                own.clear();
            }
        }
        rules
    }

    /// The dimension of the results that belongs to a dimension of an operand; `None` if the call computes along it.
    pub(super) fn batch_dim(&self, kind: &OpKind, operand: usize, rank: u32, dim: u32) -> Option<u32> {
        if self.by_attributes.is_empty() {
            return None;
        }
        let operands = self.by_attributes.get(&regions::attributes(kind)?)?;
        let dims = operands.get(operand).filter(|dims| dims.len() == rank as usize)?;
        *dims.get(dim as usize)?
    }
}
