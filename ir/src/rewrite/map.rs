//! Replacement of values.

use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

use crate::{Module, ValueId};

/// Maps old values to new ones. Other values map to themselves.
#[derive(Clone, Debug, Default)]
pub struct ValueMap {
    to: SecondaryMap<ValueId, PackedOption<ValueId>>,
    is_used: bool,
}

impl ValueMap {
    /// A map without replacements.
    #[must_use]
    pub fn new() -> Self {
        ValueMap::default()
    }

    /// The replacement of `value`.
    #[must_use]
    #[inline]
    pub fn get(&self, value: ValueId) -> ValueId {
        self.to[value].expand().unwrap_or(value)
    }

    /// The final replacement of `value`, following chains.
    #[must_use]
    pub fn resolve(&self, mut value: ValueId) -> ValueId {
        // No chain is longer than the number of values.
        for _ in 0..self.to.keys().len() {
            match self.to[value].expand() {
                Some(next) if next != value => value = next,
                _ => break,
            }
        }
        value
    }

    /// Resolves the operands of every operation of a module.
    pub fn resolve_all(&self, module: &mut Module) {
        for op in module.bodies().flat_map(|body| module.walk(body)).collect::<Vec<_>>() {
            for operand in &mut module.ops[op].operands {
                *operand = self.resolve(*operand);
            }
        }
    }

    /// Replaces `old` by `new`. If `new` has a replacement itself, a chain results, which [`ValueMap::resolve`] follows and
    /// [`ValueMap::get`] does not.
    #[inline]
    pub fn insert(&mut self, old: ValueId, new: ValueId) {
        self.to[old] = new.into();
        self.is_used = true;
    }

    /// Removes the replacement of `old`.
    pub fn remove(&mut self, old: ValueId) {
        self.to[old] = PackedOption::default();
    }

    /// Replaces each of these values by its replacement.
    #[inline]
    pub fn rewrite(&self, values: &mut [ValueId]) {
        // A fast path: most passes replace no value in most programs.
        if self.is_used {
            for value in values {
                *value = self.get(*value);
            }
        }
    }
}
