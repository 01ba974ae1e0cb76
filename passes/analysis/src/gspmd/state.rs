//! The data structures of the import.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{AxisList, Diagnostic, OpId, Rewriter, TensorSharding, Uses, ValueMap};

use super::collect::Texts;
use super::to_axes::MeshPlacement;

/// A call that converts between global values and the values of one device.
#[derive(Clone, Debug)]
pub(super) struct Crossing {
    /// Whether the call converts global values to local ones.
    pub(super) enters: bool,
    /// Axes that are manual for the local values, including enclosing manual axes. `None` if the call does not specify them.
    pub(super) inner: Option<AxisList>,
    /// Axes that are manual for the global values; `None` if the call does not specify them.
    pub(super) outer: Option<AxisList>,
    /// Axes that the call makes manual, if it specifies them.
    pub(super) added: Option<AxisList>,
    /// The shardings of the global values of the call; empty if the call does not specify them.
    pub(super) shardings: Vec<TensorSharding>,
}

/// The state of an import.
pub(super) struct Import<'m> {
    pub(super) rw: Rewriter<'m>,
    pub(super) home: MeshPlacement,
    pub(super) texts: Texts,
    /// Replacements of removed values.
    pub(super) replaced: ValueMap,
    /// Calls that convert between global values and device-local values.
    pub(super) crossings: FxHashMap<OpId, Crossing>,
    /// Operations whose annotation marks them as local to a device, each with the axes along which it is local.
    pub(super) marked: FxHashMap<OpId, AxisList>,
    /// Operations that have already been moved into a manual computation.
    pub(super) formed: FxHashSet<OpId>,
    /// The terminator of the function that is being imported.
    pub(super) terminator: Option<OpId>,
    /// The uses of values before the import.
    pub(super) uses: Uses,
    pub(super) errors: Vec<Diagnostic>,
}
