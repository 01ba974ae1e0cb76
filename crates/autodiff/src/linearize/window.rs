//! Helpers for window operations: fill in default attributes, recognize cumulative reductions, and build reducers of pairs.

use shardc_ir::{CompareDirection, DType, Module, OpKind, RegionId, SizeList, ValueId, WindowSpec};
use smallvec::SmallVec;

/// A window with all default attributes filled in.
pub(crate) fn full(spec: &WindowSpec) -> WindowSpec {
    let rank = spec.dimensions.len();
    let ones = |list: &SizeList| if list.is_empty() { SizeList::from_elem(1, rank) } else { list.clone() };
    WindowSpec {
        dimensions: spec.dimensions.clone(),
        strides: ones(&spec.strides),
        base_dilations: ones(&spec.base_dilations),
        window_dilations: ones(&spec.window_dilations),
        padding: if spec.padding.is_empty() {
            SmallVec::from_elem((0, 0), rank)
        } else {
            spec.padding.clone()
        },
    }
}

/// If a window operation is a cumulative reduction along exactly one dimension, returns the dimension, and whether window `i` ends (`true`)
/// or begins with element `i`. The windows are as long as the dimension.
pub(crate) fn cumulative(spec: &WindowSpec, shape: &[i64]) -> Option<(usize, bool)> {
    let spec = full(spec);
    let is_plain = |d: usize| spec.dimensions[d] == 1 && spec.padding[d] == (0, 0);
    let ones = |list: &SizeList| list.iter().all(|&n| n == 1);
    if !ones(&spec.strides) || !ones(&spec.base_dilations) || !ones(&spec.window_dilations) {
        return None;
    }
    let mut along = (0..shape.len()).filter(|&d| !is_plain(d));
    let dim = along.next().filter(|_| along.next().is_none())?;
    let n = shape[dim];
    match (spec.dimensions[dim] == n, spec.padding[dim]) {
        (true, (low, 0)) if low == n - 1 => Some((dim, false)),
        (true, (0, high)) if high == n - 1 => Some((dim, true)),
        _ => None,
    }
}

/// Builds a reducer of pairs that selects one of two pairs by comparing their first elements.
pub(crate) fn pairs(module: &mut Module, direction: CompareDirection, dtype: DType) -> RegionId {
    let (scalar, truth) = (module.types.tensor(&[], dtype), module.types.tensor(&[], DType::I1));
    let region = module.add_region(&[scalar; 4]);
    let args = module.regions[region].args.clone();
    let compare = module.add_op(OpKind::Compare(direction, None), &[args[0], args[2]], &[truth], &[]);
    let is_first: ValueId = module.ops[compare].results[0];
    let mut ops = vec![compare];
    let mut picked = Vec::new();
    for i in 0..2 {
        let pick = module.add_op(OpKind::Select, &[is_first, args[i], args[i + 2]], &[scalar], &[]);
        ops.push(pick);
        picked.push(module.ops[pick].results[0]);
    }
    ops.push(module.add_op(OpKind::Return, &picked, &[], &[]));
    module.set_ops(region, ops);
    region
}
