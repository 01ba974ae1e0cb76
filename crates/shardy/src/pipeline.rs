//! Shardy's pipelines: its passes, in its order.
//!
//! The pipelines exist for comparison with Shardy, including the printed text. Instead of them, the compiler runs
//! [`propagate`](shardc_passes::propagate) on a program without calls, which computes the same shardings in less time.

use shardc_ir::{Diagnostic, Module};
use shardc_passes::driver::pass_options::{PassOption, PassOptions};
use shardc_passes::driver::passes::{Pass, PassContext, PassResult, find as core_pass};

use crate::pass::pass_with;
use crate::{canonicalize, export as after, import as before, propagation as during};

/// Merges functions that differ only in their shardings, instead of keeping a copy for each call.
const DEDUP: PassOption = PassOption::flag("dedup-functions-fully");
/// Keeps sharding constraints and sharding groups, so that the program can be propagated again.
const AVOID_EXPORT: PassOption = PassOption::flag("avoid-export-for-partitioning");
/// Keeps the sharding rules on operations.
const KEEP_RULES: PassOption = PassOption::flag("keep-sharding-rules");
/// In shardings of arguments and results, keeps only axes that divide the dimension.
const EVEN: PassOption = PassOption::on("update-non-divisible-input-output-shardings");
/// Writes the mesh into each sharding.
const INLINE_MESHES: PassOption = PassOption::on("inline-meshes");
/// Moves the debug information about sharding origins from data-flow edges to operations, before the edges are removed.
const DUMP_ORIGINS: PassOption = PassOption::flag("dump-sharding-origins");
/// Moves the debug information about propagation steps from data-flow edges to operations, before the edges are removed.
const DUMP_EDGES: PassOption = PassOption::flag("dump-propagation-edges");

const PASSES: &[Pass] = &[
    pass_with(
        "canonicalize",
        "simplify collectives, reshards and manual computations, like MLIR's canonicalizer",
        &[canonicalize::PATTERNS],
        |module, context| {
            let patterns = canonicalize::Patterns::of(context.options.value(canonicalize::PATTERNS));
            canonicalize::canonicalize(module, patterns);
            Ok(Vec::new())
        },
    ),
    pass_with("sdy-import-pipeline", "Shardy's passes before propagation", &[DEDUP], |module, context| {
        run(module, context, &import(context.options.is_on(DEDUP)))
    }),
    pass_with(
        "sdy-export-pipeline",
        "Shardy's passes after propagation",
        &[AVOID_EXPORT, KEEP_RULES, EVEN, INLINE_MESHES, DUMP_ORIGINS, DUMP_EDGES],
        |module, context| run(module, context, &export(&context.options)),
    ),
    pass_with(
        "sdy-propagation-pipeline",
        "Shardy's passes before propagation, propagation, and Shardy's passes after propagation",
        &[DEDUP],
        |module, context| {
            let fully = context.options.is_on(DEDUP);
            let steps = [import(fully), propagation(fully), export(&PassOptions::default())].concat();
            let inlines = |step: &PipelineStep| step.0 == "sdy-inline-meshes";
            let steps: Vec<PipelineStep> = steps.into_iter().filter(|step| !inlines(step)).collect();
            run(module, context, &steps)
        },
    ),
];

/// Shardy's passes and pipelines, by Shardy's names.
pub fn passes() -> impl Iterator<Item = &'static Pass> {
    [before::PASSES, during::PASSES, after::PASSES, PASSES].into_iter().flatten()
}

/// The pass with this name, from the compiler ([`shardc_passes::driver::passes::find`]) or from Shardy.
#[must_use]
pub fn find(name: &str) -> Option<&'static Pass> {
    core_pass(name).or_else(|| passes().find(|pass| pass.name == name))
}

/// A pass and its options.
type PipelineStep = (&'static str, &'static str);

fn import(dedup: bool) -> Vec<PipelineStep> {
    let mut steps = vec![
        ("symbol-dce", ""),
        ("sdy-lift-inlined-meshes", ""),
        ("sdy-remove-size-one-axes", ""),
        ("sdy-propagate-sharding-from-func-to-call", ""),
        ("sdy-constant-or-scalar-splitter", ""),
        ("symbol-dce", ""),
        ("sdy-manual-axes-cleanup", ""),
        ("sdy-add-data-flow-edges", ""),
    ];
    if dedup {
        steps.extend([("sdy-apply-sharding-constraints", ""), ("sdy-sharding-group-import", "")]);
    }
    steps
}

fn propagation(dedup: bool) -> Vec<PipelineStep> {
    let before: &[PipelineStep] = match dedup {
        true => &[("sdy-add-func-data-flow-edges", "")],
        false => &[
            ("sdy-flatten-call-graph", ""),
            ("symbol-dce", ""),
            ("sdy-import-func-calls", ""),
            ("symbol-dce", ""),
            ("sdy-apply-sharding-constraints", ""),
            ("sdy-sharding-group-import", ""),
        ],
    };
    let after: &[PipelineStep] = match dedup {
        true => &[("sdy-propagate-to-func-results", ""), ("sdy-sink-func-data-flow-edges", "")],
        false => &[("sdy-export-named-computations", ""), ("sdy-propagate-to-func-results", "")],
    };
    let propagate = [("sdy-pre-order-funcs", ""), ("sdy-user-priority-propagate", "")];
    let calls = [("sdy-unflatten-call-graph", ""), ("symbol-dce", ""), ("sdy-insert-func-call-reshards", "")];
    [before, &propagate, after, &calls].concat()
}

fn export(options: &PassOptions) -> Vec<PipelineStep> {
    let for_partitioning = !options.is_on(AVOID_EXPORT);
    let debug = options.is_on(DUMP_ORIGINS) || options.is_on(DUMP_EDGES);
    let sink = match (options.is_on(DUMP_ORIGINS), options.is_on(DUMP_EDGES)) {
        (false, false) => "",
        (true, false) => "sink-debug-sharding-origins",
        (false, true) => "sink-debug-propagation-edge-sharding",
        (true, true) => "sink-debug-sharding-origins sink-debug-propagation-edge-sharding",
    };
    let steps: [(bool, &[PipelineStep]); 7] = [
        (true, &[("sdy-constant-or-scalar-merger", ""), ("sdy-sink-data-flow-edges", sink)]),
        (for_partitioning, &[("sdy-remove-sharding-groups", ""), ("sdy-sharding-constraint-to-reshard", "")]),
        (
            options.is_on(EVEN),
            &[
                ("sdy-update-non-divisible-input-output-shardings", ""),
                ("sdy-remove-sub-axes-in-input-output-shardings", ""),
            ],
        ),
        (true, &[("sdy-close-shardings", "")]),
        (
            for_partitioning,
            &[
                ("sdy-verify-unreduced-axes", ""),
                ("sdy-insert-explicit-reshards", "enable-full-version=false"),
                ("canonicalize", "enable-patterns=sdy-collective"),
            ],
        ),
        (debug, &[("sdy-remove-propagation-debug-info", "")]),
        (!options.is_on(KEEP_RULES), &[("sdy-drop-sharding-rules", "")]),
    ];
    let mut out: Vec<PipelineStep> =
        steps.iter().filter(|(on, _)| *on).flat_map(|(_, steps)| *steps).copied().collect();
    if for_partitioning && options.is_on(INLINE_MESHES) {
        out.push(("sdy-inline-meshes", ""));
    }
    out
}

fn run(module: &mut Module, context: &PassContext, steps: &[PipelineStep]) -> PassResult {
    let mut warnings = Vec::new();
    for &(name, options) in steps {
        let wrong = |why: String| {
            vec![Diagnostic::internal("SH0821", format!("the pipeline cannot run {name}: {why}"))]
        };
        let pass = find(name).ok_or_else(|| wrong("unknown pass".to_owned()))?;
        let options = PassOptions::parse(options, pass.options).map_err(wrong)?;
        warnings.extend(pass.run(module, &mut PassContext::new(context.mode, options))?);
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipeline_steps_are_passes_with_valid_options() {
        for fully in [false, true] {
            let everything = "dump-sharding-origins dump-propagation-edges";
            let options = PassOptions::parse(everything, &[DUMP_ORIGINS, DUMP_EDGES]).unwrap();
            for (name, text) in [import(fully), propagation(fully), export(&options)].concat() {
                let pass = find(name).unwrap_or_else(|| panic!("no pass {name}"));
                PassOptions::parse(text, pass.options).unwrap();
            }
        }
    }
}
