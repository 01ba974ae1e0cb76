//! Classifies regions by their contents: tensors of the program, or the scalar arithmetic of a reducer.

use shardc_ir::{Module, OpId, OpKind, RegionId};

/// Whether the regions of an operation of this kind contain tensors of the program, which have shardings. Regions of other kinds combine or
/// compare single elements.
#[must_use]
pub fn has_program_regions(kind: &OpKind) -> bool {
    kind.def().region_kind.is_program()
}

/// Returns every operation in `region`, in order, including operations in nested regions that contain tensors of the program.
#[must_use]
pub fn program_ops(module: &Module, region: RegionId) -> Vec<OpId> {
    module.walk_where(region, has_program_regions)
}

/// Returns `region` and every nested region that contains tensors of the program.
#[must_use]
pub fn program_regions(module: &Module, region: RegionId) -> Vec<RegionId> {
    program_parts(module, region).1
}

/// Returns the results of [`program_ops`] and [`program_regions`] in one walk.
#[must_use]
pub fn program_parts(module: &Module, region: RegionId) -> (Vec<OpId>, Vec<RegionId>) {
    module.walk_with_regions(region, has_program_regions)
}
