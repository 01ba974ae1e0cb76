//! Steps before propagation.

use super::{each, pass};
use crate::pipeline::Pass;
use crate::propagate;

pub(super) const PASSES: &[Pass] = &[
    pass("sdy-add-data-flow-edges", "nothing: data flow is known without operations", |_, _| Ok(Vec::new())),
    pass("sdy-apply-sharding-constraints", "constraints give their sharding to their operand", |m, _| {
        each(m, propagate::apply_sharding_constraints)
    }),
    pass("sdy-constant-or-scalar-splitter", "copy constants for each of their uses", |m, _| {
        each(m, propagate::split_constants)
    }),
    pass("sdy-remove-size-one-axes", "take axes of size one out of shardings", |m, _| {
        each(m, propagate::drop_size_one_axes)
    }),
    pass(
        "sdy-manual-axes-cleanup",
        "name every manual axis at the boundary of manual computations",
        |m, _| each(m, propagate::name_manual_axes),
    ),
];
