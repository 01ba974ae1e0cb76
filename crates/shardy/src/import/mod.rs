//! Passes before propagation.

mod batching;
mod constants;
mod constraints;
mod data_flow_edges;
mod edges;
mod flatten_call_graph;
mod func_calls;
mod func_data_flow_edges;
mod func_to_call;
mod lift_meshes;
mod manual_axes;
mod pre_order_funcs;
mod sharding_groups;
mod size_one_axes;

use shardc_ir::OpKind;
use shardc_passes::driver::pass_options::{DEBUG, debug_options};
use shardc_passes::driver::passes::{Pass, Precondition};
use shardc_passes::internal::symbols::drop_unused_funcs;

use crate::pass::pass;
pub(super) use func_calls::MANY_CALLS;

/// Requires that there are no data-flow edges of regions.
const NO_REGION_EDGES: Precondition = Precondition {
    about: "a program without data-flow edges",
    after: "sdy-sink-data-flow-edges",
    broken_by: |kind| matches!(kind, OpKind::DataFlowEdge(_)),
    everywhere: true,
};

/// Requires that there are no data-flow edges of functions.
const NO_FUNC_EDGES: Precondition = Precondition {
    about: "a program without data-flow edges between functions",
    after: "sdy-sink-func-data-flow-edges",
    broken_by: |kind| matches!(kind, OpKind::FuncDataFlowEdge),
    everywhere: true,
};

pub(super) const PASSES: &[Pass] = &[
    pass("symbol-dce", "remove private functions without references", |m, _| {
        drop_unused_funcs(m, None);
        Ok(Vec::new())
    }),
    pass("sdy-lift-inlined-meshes", "replace inlined and duplicate meshes by one named mesh each", |m, _| {
        lift_meshes::run(m)
    }),
    pass("sdy-flatten-call-graph", "clone functions so that each call has its own copy", |m, _| {
        flatten_call_graph::run(m)
    }),
    Pass {
        options: &[func_calls::ADD_EDGES],
        ..pass("sdy-import-func-calls", "replace calls by named computations", |m, context| {
            func_calls::run(m, context.options.is_on(func_calls::ADD_EDGES))
        })
    },
    pass("sdy-pre-order-funcs", "order functions so that callers come before callees", |m, _| {
        pre_order_funcs::run(m)
    }),
    pass(
        "sdy-propagate-sharding-from-func-to-call",
        "copy the shardings of function results to calls",
        |m, _| func_to_call::run(m),
    ),
    Pass {
        needs: &[NO_REGION_EDGES],
        ..pass("sdy-add-data-flow-edges", "add data-flow edges at the boundaries of regions", |m, _| {
            data_flow_edges::run(m)
        })
    },
    Pass {
        needs: &[NO_FUNC_EDGES],
        ..pass(
            "sdy-add-func-data-flow-edges",
            "add data-flow edges at the boundaries of functions",
            |m, _| func_data_flow_edges::run(m),
        )
    },
    pass(
        "sdy-sharding-group-import",
        "merge sharding groups that share a value, and renumber them",
        |m, _| sharding_groups::run(m),
    ),
    Pass {
        options: DEBUG,
        ..pass(
            "sdy-apply-sharding-constraints",
            "copy the shardings of constraints to their operands",
            |m, c| constraints::run(m, debug_options(&c.options)),
        )
    },
    pass("sdy-constant-or-scalar-splitter", "copy constants for each user", |m, _| constants::run(m)),
    pass("sdy-remove-size-one-axes", "remove axes of size one from shardings", |m, _| size_one_axes::run(m)),
    pass(
        "sdy-manual-axes-cleanup",
        "add missing manual axes to the shardings of manual computations",
        |m, _| manual_axes::run(m),
    ),
    pass(
        "sdy-explicit-gather-scatter-batching",
        "make implicit batching dimensions of gathers and scatters explicit",
        |m, _| batching::run(m),
    ),
];
