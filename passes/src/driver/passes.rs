//! The table of passes by name, and the function that runs a pass.

use std::sync::Arc;

use shardc_ir::{Class, Diagnostic, FuncId, MeshId, Module, OpKind, RegionId, verify};

use super::calls::sign_calls;
use super::context::BeforePlan;
pub use super::context::{PassContext, PassResult};
use super::import;
use super::interface::{aliases, interface};
use super::pass_options::{DEBUG, PassOption, debug_options};
pub use super::preconditions::Precondition;
use super::preconditions::{NO_CALLS, NO_COLLECTIVES, NO_RESHARDS, PLANNED, PROPAGATED, not_planned};
use super::repeated::Propagated;
use super::replicated::all_replicated;
use super::specialize::specialize;
use super::strategy::{Strategy, prioritize};
use crate::collectives::clean::{CleanReport, clean_collectives, defer_sums, sink_sums};
use crate::collectives::verify::{verify_collectives, verify_pending, verify_with_calls, written_partings};
use crate::gspmd::export_gspmd;
use crate::localize::localize;
use crate::manual::unroll_manual;
use crate::plan::expand::expand_sharded_ops;
use crate::plan::prepare::{legalize_shardings, replicate_small_dims, unify_meshes};
use crate::plan::unreduced::{delay_reductions, propagate_unreduced};
use crate::plan::{
    Planning, Requests, fold_slices, gathered, plan, planned_mesh, trade_sums, unfuse_products,
};
use crate::propagate::{prepare, propagate_prepared};
use crate::reshard::lower_reshards;
use crate::transforms::batch_indices::batch_indices;
use crate::transforms::dce::dce;
use crate::transforms::decompose::decompose;
use crate::transforms::dense_exchange::write_dense_exchanges;
use crate::transforms::diagonals::diagonals;
use crate::transforms::fold_edges::fold_edges;
use crate::transforms::fold_pads::fold_pads;
use crate::transforms::fold_reshapes::fold_reshapes;
use crate::transforms::fused_parts::fused_parts;
use crate::transforms::legalize_backend::{Backend, BackendOptions, legalize};
use crate::transforms::merge_reductions::merge_reductions;
use crate::transforms::unquantize::unquantize;

/// A pass: its name, options, preconditions and function.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The name of the pass.
    pub name: &'static str,
    /// A one-line description of the pass.
    pub about: &'static str,
    /// Preconditions on the verified module; [`Pass::run`] checks them.
    pub needs: &'static [Precondition],
    /// The options that the pass takes.
    pub options: &'static [PassOption],
    /// The pass itself, without checks of preconditions.
    pub apply: fn(&mut Module, &mut PassContext) -> PassResult,
}

impl Pass {
    /// Runs the pass on a verified module.
    ///
    /// # Errors
    /// Returns SH0391 if a precondition does not hold, and otherwise the errors of the pass. The module must then be dropped.
    pub fn run(&self, module: &mut Module, context: &mut PassContext) -> PassResult {
        // Preconditions are not checked in a pipeline, in which earlier passes establish them.
        if context.in_pipeline {
            return (self.apply)(module, context);
        }
        let missing: Vec<Diagnostic> =
            self.needs.iter().filter_map(|need| need.check(module, self.name).err()).take(1).collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        // Any other pass may change the module, so the state that planning passes left for each other is dropped.
        if self.name != "plan" && !PLANNING.contains(&self.name) {
            context.pass_data.planning = Planning::default();
        }
        if self.needs.iter().any(|need| [PROPAGATED.after, PLANNED.after].contains(&need.after)) {
            restore_implied_shardings(module);
        }
        (self.apply)(module, context)
    }
}

/// All passes by name. `pipeline` defines which passes the compiler runs, and in which order.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "refine-shapes",
        about: "set symbolic dimensions to the sizes in the options, and refine the shapes that depend on them, also in called functions",
        needs: &[],
        options: &[],
        apply: |module, context| specialize(module, &context.import.dims).map(|()| Vec::new()),
    },
    Pass {
        name: "resolve-call-rules",
        about: "attach the sharding rules that the front end registered to custom calls",
        needs: &[],
        options: &[],
        apply: |module, context| {
            let unused = context.import.rules.unused(module);
            context.pass_data.imported.extend(unused.iter().cloned());
            context.import.rules.resolve(module)?;
            Ok(unused)
        },
    },
    Pass {
        name: "import-gspmd",
        about: "convert mhlo.sharding annotations to axis-based shardings",
        needs: &[],
        options: &[],
        apply: import::import_gspmd,
    },
    Pass {
        name: "annotate",
        about: "apply the mesh and the shardings in the options",
        needs: &[],
        options: &[],
        apply: import::annotate_by_options,
    },
    Pass {
        name: "inline",
        about: "replace every call by the body of its callee",
        needs: &[],
        options: &[],
        apply: import::inline,
    },
    Pass {
        name: "decompose",
        about: "expand scans to loops, asynchronous operations to synchronous ones, batch normalization to sums, custom calls for top-k to `chlo.top_k`, deprecated and dynamic operations to current and static ones",
        needs: &[],
        options: &[],
        apply: |module, context| each_body(module, context, decompose),
    },
    Pass {
        name: "batch-indices",
        about: "replace index components that equal the batch index by batching dimensions of gathers and scatters",
        needs: &[],
        options: &[],
        apply: |module, context| each_body(module, context, batch_indices),
    },
    Pass {
        name: "fused-parts",
        about: "split fused dimensions, such as QKV: slice the fused dimension before the reshape that splits it, and concatenate along it instead of stacking before a reshape",
        needs: &[],
        options: &[],
        apply: |module, context| each_body(module, context, fused_parts),
    },
    Pass {
        name: "fold-edges",
        about: "fold slices into the pads and concatenations whose edges they remove",
        needs: &[],
        options: &[],
        apply: |module, context| each_body(module, context, fold_edges),
    },
    Pass {
        name: "prioritize",
        about: "give annotations of the batch a higher priority than those of parameters",
        needs: &[NO_CALLS],
        options: &[STRATEGY],
        apply: |module, context| {
            let strategy = match context.options.value(STRATEGY) {
                "batch-first" => Strategy::BatchFirst,
                _ => Strategy::AsAnnotated,
            };
            let entry = entry(module)?;
            prioritize(module, entry, strategy);
            Ok(Vec::new())
        },
    },
    Pass {
        name: "propagate",
        about: "propagate shardings from annotations to every value",
        needs: &[NO_CALLS],
        options: DEBUG,
        apply: |module, context| {
            let mut options = context.propagate.clone();
            options.interrupt = context.interrupt.clone();
            let debug = debug_options(&context.options);
            options.debug.origins |= debug.origins;
            options.debug.edges |= debug.edges;
            let shared = &mut context.pass_data.shared;
            let prepared = match shared.begun.take() {
                Some((begun, prepared)) => {
                    *module = *begun;
                    if let (Some(priorities), Some(entry)) = (shared.priorities.take(), module.entry()) {
                        priorities.apply(module, entry);
                    }
                    prepared
                }
                None => Arc::new(prepare(module, &options)?),
            };
            if shared.is_wanted {
                shared.begun = Some((Box::new(module.clone()), Arc::clone(&prepared)));
            }
            let operations = module.ops.len();
            context.pass_data.propagated = propagate_prepared(module, &prepared, &options);
            let Some(entry) = module.entry() else { return Ok(Vec::new()) };
            // The shardings are compared with those of the previous attempt only if no constraints were inserted for disagreeing members of
            // sharding groups: these constraints depend on priorities and shift value ids.
            if module.ops.len() == operations {
                if let Some(before) = shared.propagated.take() {
                    shared.is_repeated = before.is_of(module, entry);
                } else if shared.is_wanted {
                    shared.propagated = Some(Propagated::of(module, entry));
                }
            }
            Ok(Vec::new())
        },
    },
    Pass {
        name: "note-annotations",
        about: "record the shardings that the user requested, so that later passes can warn if they are not followed",
        needs: &[NO_CALLS],
        options: &[],
        apply: |module, context| {
            let func = entry(module)?;
            let body = body_of(module, func)?;
            context.pass_data.before = Some(BeforePlan {
                requested: Requests::new(module, body),
                partings: written_partings(module, body),
                aliases: aliases(module, func),
            });
            Ok(Vec::new())
        },
    },
    Pass {
        name: "diagonals",
        about: "reduce a masked diagonal along its unsharded dimension instead of the sharded one",
        needs: &[],
        options: &[],
        apply: |module, context| each_body(module, context, diagonals),
    },
    Pass {
        name: "fold-pads",
        about: "fold pads into convolutions and windows",
        needs: &[],
        options: &[],
        apply: |module, context| {
            each_body(module, context, |m, body| {
                fold_pads(m, body);
            })
        },
    },
    Pass {
        name: "fold-reshapes",
        about: "remove reshapes that only undo other reshapes",
        needs: &[NO_CALLS, PROPAGATED],
        options: &[],
        apply: |module, context| {
            each_body(module, context, |m, body| {
                fold_reshapes(m, body);
            })
        },
    },
    Pass {
        name: "fold-slices",
        about: "fold slices into concatenations along sharded dimensions",
        needs: &[NO_CALLS, PROPAGATED],
        options: &[],
        apply: |module, context| {
            let model = &context.costs;
            each_body(module, context, |m, body| {
                fold_slices(m, body, model);
            })
        },
    },
    Pass {
        name: "unfuse-products",
        about: "split fused matmuls whose results or operands are sliced or concatenated along sharded dimensions",
        needs: &[NO_CALLS, PROPAGATED],
        options: &[],
        apply: |module, context| {
            let model = &context.costs;
            each_body(module, context, |m, body| {
                unfuse_products(m, body, model);
            })
        },
    },
    Pass {
        name: "dce",
        about: "remove dead operations",
        needs: &[],
        options: &[],
        apply: |module, context| {
            each_body(module, context, |m, body| {
                dce(m, body);
            })
        },
    },
    Pass {
        name: "legalize-shardings",
        about: "reject or remove shardings that a tensor cannot have: maximal ones, those of dynamic dimensions and of dimensions with quantization scales",
        needs: PLANNING_NEEDS,
        options: &[],
        apply: |module, context| legalize_shardings(module, entry(module)?, &mut context.pass_data.planning),
    },
    Pass {
        name: "unify-meshes",
        about: "convert all shardings to one mesh, close them, and remove their priorities",
        needs: PLANNING_NEEDS,
        options: &[],
        apply: |module, context| planning_step(module, context, unify_meshes),
    },
    Pass {
        name: "expand-sharded-ops",
        about: "expand operations that cannot be partitioned along a sharded dimension in one step (FFT, cumulative sums, top-k, sort, uneven reshapes)",
        needs: PLANNING_NEEDS,
        options: &[],
        apply: |module, context| planning_step(module, context, expand_sharded_ops),
    },
    Pass {
        name: "replicate-small-dims",
        about: "remove axes from dimensions with fewer elements than shards where that is cheaper",
        needs: PLANNING_NEEDS,
        options: &[],
        apply: |module, context| planning_step(module, context, replicate_small_dims),
    },
    Pass {
        name: "delay-reductions",
        about: "leave the results of matmuls unreduced if their users make them smaller, and all-reduce the smaller values instead",
        needs: PLANNING_NEEDS,
        options: &[],
        apply: |module, context| planning_step(module, context, delay_reductions),
    },
    Pass {
        name: "propagate-unreduced",
        about: "keep values unreduced if their producers and users allow it, also across loops and branches",
        needs: PLANNING_NEEDS,
        options: &[],
        apply: |module, context| planning_step(module, context, propagate_unreduced),
    },
    Pass {
        name: "plan",
        about: "choose the partitioning of each operation, and insert explicit reshards",
        needs: PLANNING_NEEDS,
        options: &[],
        apply: planned,
    },
    Pass {
        name: "merge-reductions",
        about: "add unreduced values before they are all-reduced",
        needs: &[NO_CALLS, PLANNED],
        options: &[],
        apply: |module, _| {
            if let Some(body) = module.funcs[entry(module)?].body {
                merge_reductions(module, body);
                dce(module, body);
            }
            Ok(Vec::new())
        },
    },
    Pass {
        name: "defer-sums",
        about: "move the all-reduce of a loop accumulator after the loop",
        needs: &[NO_CALLS, PLANNED],
        options: &[],
        apply: |module, context| {
            if let Some(body) = module.funcs[entry(module)?].body {
                let sunk = sink_sums(module, body);
                let deferred = defer_sums(module, body, context.clean.keep_bytes);
                context.pass_data.cleaned.deferred = deferred;
                if deferred + sunk > 0 {
                    dce(module, body);
                }
            }
            Ok(Vec::new())
        },
    },
    Pass {
        name: "trade-sums",
        about: "replace the all-reduce of a matmul, lookup or scatter by an exchange of its operands where the exchange sends fewer bytes",
        needs: &[NO_CALLS, PLANNED],
        options: &[],
        apply: |module, context| {
            if let Some(body) = module.funcs[entry(module)?].body
                && trade_sums(module, body, &context.costs) > 0
            {
                dce(module, body);
            }
            Ok(Vec::new())
        },
    },
    Pass {
        name: "lower-reshards",
        about: "replace each reshard by the cheapest sequence of collectives",
        needs: &[NO_CALLS, PLANNED],
        options: &[],
        apply: |module, context| {
            let Some(body) = module.funcs[entry(module)?].body else { return Ok(Vec::new()) };
            let warnings = lower_reshards(module, body, &context.costs)?;
            context.pass_data.gathered.extend(warnings.iter().cloned());
            Ok(warnings)
        },
    },
    Pass {
        name: "interface",
        about: "derive the interface of a planned program: the block of each argument and result on each device",
        needs: &[NO_CALLS, PLANNED, NO_RESHARDS],
        options: &[],
        apply: |module, context| {
            let func = entry(module)?;
            let mesh = main_mesh(module, func, context);
            context.pass_data.interface = Some(interface(module, func, context.mode, mesh)?);
            Ok(Vec::new())
        },
    },
    Pass {
        name: "localize",
        about: "replace global shapes by local shapes, and add replica groups and offsets",
        needs: &[NO_CALLS, PLANNED, NO_RESHARDS],
        options: &[],
        apply: |module, context| {
            let func = entry(module)?;
            let body = body_of(module, func)?;
            context.pass_data.signatures = sign_calls(module, body, &context.pass_data.kept)?;
            let done = localize(module, func, context.mode, context.pass_data.mesh, &context.costs);
            if context.in_pipeline {
                return done.map(|()| Vec::new());
            }
            // The result is verified, since a hand-written program may look planned although it is not. For a planned program, the result
            // is always valid.
            done.and_then(|()| verify(module)).map_err(|errors| not_planned("localize", errors))?;
            Ok(Vec::new())
        },
    },
    Pass {
        name: "clean-collectives",
        about: "merge, combine and remove collectives, and hoist them out of loops",
        needs: &[],
        options: &[],
        apply: |module, context| {
            let cleaned = clean_collectives(module, entry(module)?, &context.clean);
            context.pass_data.cleaned =
                CleanReport { deferred: context.pass_data.cleaned.deferred, ..cleaned };
            Ok(Vec::new())
        },
    },
    Pass {
        name: "unquantize",
        about: "replace quantized values by their stored integers, and quantized operations by operations on dequantized values",
        needs: &[],
        options: &[],
        apply: |module, _| unquantize(module).map(|()| Vec::new()),
    },
    Pass {
        name: "legalize-backend",
        about: "adapt a partitioned program to a PJRT plugin: remove annotations, rewrite unsupported operations, write the number of devices",
        needs: &[],
        options: &[TARGET, PROCESSES],
        apply: |module, context| {
            let processes = context.options.value(PROCESSES).parse().unwrap_or(1);
            let devices = module.num_partitions().zip(module.num_replicas()).map(|(p, r)| p.max(r) as usize);
            let options = BackendOptions {
                spmd_mode: context.mode,
                num_devices: devices.filter(|_| processes > 1),
                backend: match context.options.value(TARGET) {
                    "cpu" => Backend::Cpu,
                    "gpu" => Backend::Gpu,
                    "tpu" => Backend::Tpu,
                    _ => Backend::Any,
                },
                processes,
            };
            legalize(module, &options).map_err(|error| vec![error])?;
            Ok(Vec::new())
        },
    },
    Pass {
        name: "verify-collectives",
        about: "check that unreduced values are reduced exactly once, and that the collectives of all devices match",
        needs: &[],
        options: &[],
        apply: verify_all,
    },
    Pass {
        name: "export-gspmd",
        about: "convert shardings to mhlo.sharding annotations, for XLA's GSPMD partitioner",
        needs: &[],
        options: &[],
        apply: |module, _| export_gspmd(module).map(|()| Vec::new()),
    },
    Pass {
        name: "unroll-manual",
        about: "unroll manual computations for a single device: the reference program of shardc verify",
        needs: &[NO_CALLS],
        options: &[],
        apply: |module, _| {
            write_dense_exchanges(module);
            unroll_manual(module, entry(module)?).map(|()| Vec::new())
        },
    },
];

/// Returns the pass with the name `name`. Former names, and names of XLA's importers, are aliases.
#[must_use]
pub fn find(name: &str) -> Option<&'static Pass> {
    let name = match name {
        "expand" => "decompose",
        "sweep" => "dce",
        "xla-sdy-import-shardings"
        | "xla-sdy-stablehlo-import-pipeline"
        | "xla-sdy-round-trip-import-pipeline" => "import-gspmd",
        "xla-sdy-stablehlo-export-pipeline" => "export-gspmd",
        other => other,
    };
    PASSES.iter().find(|pass| pass.name == name)
}

/// The option of `prioritize`: which annotations get the highest priority.
const STRATEGY: PassOption = PassOption { name: "strategy", values: &["as-annotated", "batch-first"] };

/// The platform of the PJRT client that runs the program.
const TARGET: PassOption = PassOption { name: "target", values: &["any", "cpu", "gpu", "tpu"] };
const PROCESSES: PassOption = PassOption { name: "processes", values: &["1", "2", "4", "8"] };

fn entry(module: &Module) -> Result<FuncId, Vec<Diagnostic>> {
    module.entry().ok_or_else(|| vec![module.no_entry()])
}

fn body_of(module: &Module, func: FuncId) -> Result<RegionId, Vec<Diagnostic>> {
    let missing = || vec![Diagnostic::invalid("SH0301", "the entry function has no body")];
    module.funcs[func].body.ok_or_else(missing)
}

/// Applies `work` to every function. In a pipeline, where no calls are left, applies it only to the entry function.
fn each_body(module: &mut Module, context: &PassContext, work: impl Fn(&mut Module, RegionId)) -> PassResult {
    let bodies: Vec<RegionId> = match context.in_pipeline {
        true => module.entry().and_then(|entry| module.funcs[entry].body).into_iter().collect(),
        false => module.bodies().collect(),
    };
    bodies.into_iter().for_each(|body| work(module, body));
    Ok(Vec::new())
}

/// Sets shardings that the text of a program implies. Results of constraints, reshards and collectives get the sharding in the operation's
/// attributes; region arguments of a loop get the shardings of its results.
fn restore_implied_shardings(module: &mut Module) {
    let Some(body) = module.entry().and_then(|entry| module.funcs[entry].body) else { return };
    for op in module.walk(body) {
        let data = &module.ops[op];
        let made = match &data.kind {
            OpKind::Reshard(to) | OpKind::ShardingConstraint(to) => *to,
            OpKind::MeshCollective(collective) => collective.out,
            OpKind::While => {
                let results = data.results.clone();
                for region in data.regions.clone() {
                    let args = module.regions[region].args.clone();
                    for (&argument, &result) in args.iter().zip(&results) {
                        module.shardings.set(argument, module.shardings.of(result));
                    }
                }
                continue;
            }
            _ => continue,
        };
        if let &[result] = data.results.as_slice() {
            module.shardings.set(result, Some(made));
        }
    }
}

/// Returns the mesh that planning chose. If planning was in another run, the mesh is derived from the shardings in the module.
fn main_mesh(module: &Module, func: FuncId, context: &PassContext) -> Option<MeshId> {
    context.pass_data.mesh.or_else(|| planned_mesh(module, module.funcs[func].body?))
}

/// The passes that prepare `plan`, in order.
pub const PLANNING: &[&str] = &[
    "legalize-shardings",
    "unify-meshes",
    "expand-sharded-ops",
    "replicate-small-dims",
    "delay-reductions",
    "propagate-unreduced",
];

/// The preconditions of the passes of [`PLANNING`] and of `plan`.
const PLANNING_NEEDS: &[Precondition] = &[NO_CALLS, NO_COLLECTIVES, PROPAGATED];

fn planning_step(
    module: &mut Module,
    context: &mut PassContext,
    step: fn(&mut Module, FuncId, &mut Planning) -> Result<(), Vec<Diagnostic>>,
) -> PassResult {
    let entry = entry(module)?;
    let planning = &mut context.pass_data.planning;
    planning.costs.clone_from(&context.costs);
    step(module, entry, planning).map(|()| Vec::new())
}

fn planned(module: &mut Module, context: &mut PassContext) -> PassResult {
    let func = entry(module)?;
    let body = body_of(module, func)?;
    let pass_data = &mut context.pass_data;
    pass_data.planning.costs.clone_from(&context.costs);
    let plan = plan(module, func, &mut pass_data.planning, context.clean.keep_bytes, &context.interrupt)?;
    let unhonoured = std::mem::take(&mut pass_data.planning).notes;
    pass_data.mesh = planned_mesh(module, body);
    let warnings: Vec<Diagnostic> = plan.gathers.iter().map(|gather| gather.warning.clone()).collect();
    let all = warnings.iter().chain(&plan.notes).cloned().collect();
    pass_data.gathered.extend(warnings);
    if let Some(before) = &pass_data.before {
        let silent = gathered(module, body, &before.requested, &plan);
        pass_data.gathered.extend(silent.into_iter().map(|gather| gather.warning));
        let notes = unhonoured.into_iter().chain(plan.notes.iter().cloned());
        pass_data.notes.extend(notes.chain(all_replicated(module, body)));
    }
    pass_data.plan = Some(plan);
    Ok(all)
}

/// Runs the checks that apply to the state of the program: unreduced values if it has shardings, and collectives otherwise.
fn verify_all(module: &mut Module, context: &mut PassContext) -> PassResult {
    let entry = entry(module)?;
    let interface = context.pass_data.interface.as_ref();
    if context.in_pipeline {
        let checked = match interface {
            None => verify_pending(module, body_of(module, entry)?),
            Some(_) => verify_with_calls(module, entry, interface, &context.pass_data.signatures),
        };
        // If the input program already has collectives that devices may execute a different number of times, these are reported as errors
        // of the program, instead of as a bug in shardc.
        let partings = context.pass_data.before.as_ref().map_or(&[][..], |before| &before.partings);
        return checked.map(|()| Vec::new()).map_err(|errors| {
            let its_own = !partings.is_empty() && errors.iter().all(|error| error.code == "SH0462");
            if its_own { partings.to_vec() } else { errors }
        });
    }
    let checked = match module.funcs[entry].body {
        Some(body) if !module.mesh_names.is_empty() => verify_pending(module, body),
        _ => verify_collectives(module, entry, None),
    };
    // The module may have been written by hand, so an error is reported as invalid input and not as a bug in shardc.
    checked.map(|()| Vec::new()).map_err(|mut errors| {
        errors.iter_mut().for_each(|error| error.class = Class::InvalidInput);
        errors
    })
}
