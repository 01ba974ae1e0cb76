//! Passes after propagation, one file each.

mod call_reshards;
mod constants;
mod debug_info;
mod drop_all;
mod func_results;
mod inline_meshes;
mod named_computations;
mod reshards;
mod sink_edges;
mod sink_func_edges;
mod small;
mod sub_axes;
mod unflatten;
mod unreduced;

use shardc_passes::driver::passes::Pass;
use shardc_passes::propagate;
use shardc_passes::rules;

use crate::pass::{each, each_body, pass, pass_with};

pub(super) const PASSES: &[Pass] = &[
    pass_with(
        "sdy-sink-data-flow-edges",
        "move the shardings of data-flow edges to their owners, and remove the edges",
        &[sink_edges::ORIGINS, sink_edges::PROPAGATION_EDGES],
        |m, context| {
            for body in m.bodies().collect::<Vec<_>>() {
                sink_edges::sink_edges(m, body, &context.options);
            }
            Ok(Vec::new())
        },
    ),
    pass(
        "sdy-sink-func-data-flow-edges",
        "move the shardings of func_data_flow_edge ops to their operands, and remove the ops",
        |m, _| each_body(m, sink_func_edges::sink_func_edges),
    ),
    pass("sdy-export-named-computations", "outline named computations as functions", |m, _| {
        named_computations::export(m);
        Ok(Vec::new())
    }),
    pass_with(
        "sdy-unflatten-call-graph",
        "merge copies of a function with equal shardings",
        &[unflatten::FULLY],
        |m, context| {
            unflatten::unflatten(m, context.options.is_on(unflatten::FULLY));
            Ok(Vec::new())
        },
    ),
    pass(
        "sdy-propagate-to-func-results",
        "give function results the shardings of returned values, except for the entry",
        |m, _| {
            func_results::to_results(m);
            Ok(Vec::new())
        },
    ),
    pass(
        "sdy-insert-func-call-reshards",
        "reshard call results from the function's shardings to those of the call",
        |m, _| {
            call_reshards::insert(m);
            Ok(Vec::new())
        },
    ),
    pass(
        "sdy-constant-or-scalar-merger",
        "merge equal constants and broadcasts of scalars with equal shardings",
        |m, _| each_body(m, constants::merge),
    ),
    pass("sdy-remove-sharding-groups", "remove sharding groups", |m, _| each_body(m, small::remove_groups)),
    pass("sdy-sharding-constraint-to-reshard", "replace constraints by reshards", |m, _| {
        each_body(m, small::constraints_to_reshards)
    }),
    pass(
        "sdy-update-non-divisible-input-output-shardings",
        "remove axes that do not divide a dimension from shardings of arguments and results",
        |m, _| each(m, propagate::keep_dividing_axes),
    ),
    pass(
        "sdy-remove-sub-axes-in-input-output-shardings",
        "remove sub-axes from open dimensions of the entry's arguments and results",
        |m, _| {
            sub_axes::keep_whole_axes(m);
            Ok(Vec::new())
        },
    ),
    pass("sdy-close-shardings", "close every dimension, and drop replicated axes", |m, _| {
        each(m, propagate::close_shardings)
    }),
    pass(
        "sdy-verify-unreduced-axes",
        "check that unreduced axes are reduced before they are dropped",
        |m, _| unreduced::verify(m).map(|()| Vec::new()),
    ),
    pass_with(
        "sdy-insert-explicit-reshards",
        "insert all-reduces of unreduced values, and reshards at calls and concatenations",
        &[reshards::FULL],
        |m, context| reshards::insert(m, context.options.is_on(reshards::FULL)).map(|()| Vec::new()),
    ),
    pass("sdy-remove-propagation-debug-info", "remove the debug attributes of propagation", |m, _| {
        debug_info::remove(m);
        Ok(Vec::new())
    }),
    pass("sdy-drop-sharding-rules", "remove sharding rules from operations", |m, _| {
        each_body(m, rules::drop_written_rules)
    }),
    pass("sdy-inline-meshes", "inline meshes into shardings", |m, _| {
        inline_meshes::inline(m);
        Ok(Vec::new())
    }),
    pass("sdy-drop-sharding-and-mesh", "remove shardings and meshes", |m, _| {
        drop_all::drop_all(m);
        Ok(Vec::new())
    }),
];
