//! Values that stand for others while a pass rewrites a region from front to back.

use shardc_ir::{PackedOption, SecondaryMap, ValueId};

/// "Use this value instead of that one."
#[derive(Debug, Default)]
pub(crate) struct Forward {
    to: SecondaryMap<ValueId, PackedOption<ValueId>>,
}

impl Forward {
    /// From here on, `to` stands for `from`. `to` itself is already final.
    pub(crate) fn set(&mut self, from: ValueId, to: ValueId) {
        self.to[from] = to.into();
    }

    /// What stands for `value`.
    pub(crate) fn get(&self, value: ValueId) -> ValueId {
        self.to[value].expand().unwrap_or(value)
    }

    /// Rewrites operands in place.
    pub(crate) fn rewrite(&self, operands: &mut [ValueId]) {
        for v in operands {
            *v = self.get(*v);
        }
    }
}
