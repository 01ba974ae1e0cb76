//! The passes by name, one at a time.

use shardc_ir::{Class, Diagnostic, FuncId, Module, SpmdMode, verify};

use crate::collectives::clean::{CleanOptions, clean_collectives, defer_sums};
use crate::collectives::verify::{verify_collectives, verify_pending};
use crate::driver::pass_options::{DEBUG, PassOption, PassOptions, debug_options};
pub use crate::driver::preconditions::Precondition;
use crate::driver::preconditions::{NO_CALLS, NO_COLLECTIVES, NO_RESHARDS, PLANNED, not_planned};
use crate::gspmd::{export_gspmd, import_gspmd};
use crate::localize::localize;
use crate::manual::unroll_manual;
use crate::plan::plan;
use crate::propagate::{PropagateOptions, propagate};
use crate::reshard::lower_reshards;
use crate::transforms::dce::sweep;
use crate::transforms::decompose::expand;
use crate::transforms::fold_pads::fold_pads;
use crate::transforms::inline::inline_calls;
use crate::transforms::legalize_backend::{BackendOptions, legalize};
use crate::transforms::merge_reductions::merge_reductions;
use crate::transforms::unquantize::unquantize;

/// What passes need besides the module.
#[derive(Clone, Debug, Default)]
pub struct PassContext {
    /// How devices see one another in the partitioned program.
    pub mode: SpmdMode,
    /// What this run of the pass was given, of [`Pass::options`].
    pub options: PassOptions,
}

/// What a pass gives: warnings, or the reasons why it could not do its work.
pub type PassResult = Result<Vec<Diagnostic>, Vec<Diagnostic>>;

/// A pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What it asks of the module that it is given, besides that it is verified; [`Pass::run`] looks.
    pub needs: &'static [Precondition],
    /// The options that it takes.
    pub options: &'static [PassOption],
    /// Does it, where what it needs holds; [`Pass::run`] looks at that first.
    pub apply: fn(&mut Module, &PassContext) -> PassResult,
}

impl Pass {
    /// Runs it on a verified module.
    ///
    /// # Errors
    /// SH0391 where the module is not what the pass needs; else why it could not do its work. The module is then not to
    /// be used any more.
    pub fn run(&self, module: &mut Module, context: &PassContext) -> PassResult {
        let missing: Vec<Diagnostic> =
            self.needs.iter().filter_map(|need| need.check(module, self.name).err()).take(1).collect();
        if missing.is_empty() { (self.apply)(module, context) } else { Err(missing) }
    }
}

/// Every pass, in the order in which the compiler runs them; the last two it does not run.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "import-gspmd",
        about: "read mhlo.sharding annotations into shardings by axes of a mesh",
        needs: &[],
        options: &[],
        apply: |module, _| import_gspmd(module, None),
    },
    Pass {
        name: "inline",
        about: "replace every call by the body of the function",
        needs: &[],
        options: &[],
        apply: |module, _| inline_calls(module).map(|()| Vec::new()),
    },
    Pass {
        name: "expand",
        about: "write scans as loops, asynchronous operations as those that they start, batch normalization as sums, old and dynamic operations as newer and static ones",
        needs: &[],
        options: &[],
        apply: |module, _| {
            for body in module.bodies().collect::<Vec<_>>() {
                expand(module, body);
            }
            Ok(Vec::new())
        },
    },
    Pass {
        name: "propagate",
        about: "carry shardings from annotations to every value",
        needs: &[NO_CALLS],
        options: DEBUG,
        apply: |module, context| {
            let debug = debug_options(&context.options);
            propagate(module, &PropagateOptions { debug, ..PropagateOptions::default() }).map(|_| Vec::new())
        },
    },
    Pass {
        name: "fold-pads",
        about: "let convolutions and windows pad their input themselves",
        needs: &[],
        options: &[],
        apply: |module, _| {
            for body in module.bodies().collect::<Vec<_>>() {
                fold_pads(module, body);
            }
            Ok(Vec::new())
        },
    },
    Pass {
        name: "sweep",
        about: "remove operations whose results nobody uses",
        needs: &[],
        options: &[],
        apply: |module, _| {
            for body in module.bodies().collect::<Vec<_>>() {
                sweep(module, body);
            }
            Ok(Vec::new())
        },
    },
    Pass {
        name: "plan",
        about: "choose how each operation is done, and insert explicit reshards",
        needs: &[NO_CALLS, NO_COLLECTIVES],
        options: &[],
        apply: |module, _| plan(module, entry(module)?),
    },
    Pass {
        name: "merge-reductions",
        about: "add pending sums before they are completed",
        needs: &[NO_CALLS, PLANNED],
        options: &[],
        apply: |module, _| {
            if let Some(body) = module.funcs[entry(module)?].body {
                merge_reductions(module, body);
                sweep(module, body);
            }
            Ok(Vec::new())
        },
    },
    Pass {
        name: "defer-sums",
        about: "complete sums that a loop only adds up after it",
        needs: &[NO_CALLS, PLANNED],
        options: &[],
        apply: |module, _| {
            if let Some(body) = module.funcs[entry(module)?].body {
                defer_sums(module, body, CleanOptions::default().keep_bytes);
                sweep(module, body);
            }
            Ok(Vec::new())
        },
    },
    Pass {
        name: "lower-reshards",
        about: "replace each reshard by the cheapest sequence of collectives",
        needs: &[NO_CALLS, PLANNED],
        options: &[],
        apply: |module, _| match module.funcs[entry(module)?].body {
            Some(body) => lower_reshards(module, body),
            None => Ok(Vec::new()),
        },
    },
    Pass {
        name: "localize",
        about: "turn global shapes into local ones, with replica groups and offsets",
        needs: &[NO_CALLS, PLANNED, NO_RESHARDS],
        options: &[],
        apply: |module, context| {
            let done = localize(module, entry(module)?, context.mode);
            // Of a program that was planned, what comes out is right; of one that was only written so, the verifier tells.
            done.and_then(|()| verify(module)).map_err(|errors| not_planned("localize", errors))?;
            Ok(Vec::new())
        },
    },
    Pass {
        name: "clean-collectives",
        about: "merge, combine and drop collectives, and take them out of loops",
        needs: &[],
        options: &[],
        apply: |module, _| {
            clean_collectives(module, entry(module)?, &CleanOptions::default());
            Ok(Vec::new())
        },
    },
    Pass {
        name: "unquantize",
        about: "write quantized numbers as the integers that are stored, and arithmetic on them as that on real numbers",
        needs: &[],
        options: &[],
        apply: |module, _| unquantize(module).map(|()| Vec::new()),
    },
    Pass {
        name: "legalize-backend",
        about: "take away what only a partitioner understands, and say how many devices run the program",
        needs: &[],
        options: &[],
        apply: |module, context| {
            let options = BackendOptions { spmd_mode: context.mode, num_devices: None };
            legalize(module, &options).map_err(|error| vec![error])?;
            Ok(Vec::new())
        },
    },
    Pass {
        name: "verify-collectives",
        about: "check that pending sums are completed once, and that devices meet in collectives as they should",
        needs: &[],
        options: &[],
        apply: |module, _| {
            let entry = entry(module)?;
            let checked = match module.funcs[entry].body {
                Some(body) if !module.mesh_names.is_empty() => verify_pending(module, body),
                _ => verify_collectives(module, entry, None),
            };
            // Who made the module is not known here: perhaps whoever wrote the text.
            checked.map(|()| Vec::new()).map_err(|mut errors| {
                errors.iter_mut().for_each(|error| error.class = Class::InvalidInput);
                errors
            })
        },
    },
    Pass {
        name: "export-gspmd",
        about: "write shardings as mhlo.sharding annotations, for XLA's older partitioner",
        needs: &[],
        options: &[],
        apply: |module, _| export_gspmd(module).map(|()| Vec::new()),
    },
    Pass {
        name: "unroll-manual",
        about: "write manual computations out for one device, the reference of shardc verify",
        needs: &[NO_CALLS],
        options: &[],
        apply: |module, _| unroll_manual(module, entry(module)?).map(|()| Vec::new()),
    },
];

/// The pass called `name`; the names of XLA's importers stand for `import-gspmd`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Pass> {
    let name = match name {
        "xla-sdy-import-shardings"
        | "xla-sdy-stablehlo-import-pipeline"
        | "xla-sdy-round-trip-import-pipeline" => "import-gspmd",
        "xla-sdy-stablehlo-export-pipeline" => "export-gspmd",
        other => other,
    };
    PASSES.iter().find(|pass| pass.name == name)
}

fn entry(module: &Module) -> Result<FuncId, Vec<Diagnostic>> {
    module.entry().ok_or_else(|| vec![module.no_entry()])
}
