//! Training steps of many kinds, as printed by JAX (`data/training_steps.py`): their argument roles, and their results when sharded.
//!
//! Needs `SHARDC_PYTHON`, a Python with jax; without it the tests are skipped with a message, and fail under `SHARDC_REQUIRE=python`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use shardc::{Compiler, exec};
use shardc_ir::Module;
use shardc_passes::annotations::spec::MeshSpec;
use shardc_runtime::plugin;
use shardc_strategy::{RoleOverrides, Roles, Settings, apply, roles};
use shardc_tests::devices::{Reference, Verdict, client, compare};
use shardc_tests::sample::is_thorough;
use shardc_tests::skip::{Need, skipped};
use shardc_tests::training::{JaxStep, jax_steps, with_both_signs};

/// Steps whose state is recognized only by donations, because the next values are not elementwise functions of the state.
const NEEDS_DONATION: &[&str] = &[
    "accumulated_only",
    "delayed_scaling",
    "lbfgs",
    "memory_of_segments",
    "moments_in_eight_bits",
    "momentum_contrast",
    "prodigy",
    "spectral_norm",
];

/// Settings that rematerialize layers, also for steps in which several losses use the layers.
const AGAIN: &str = "full_shard auto_wrap activation_checkpointing";

/// Strategies and their meshes. Each step is tested with one of them, and with two in a thorough run.
const STRATEGIES: &[(&str, &str)] = &[
    ("full_shard", "fsdp=8"),
    ("zero1", "fsdp=8"),
    ("hybrid_shard auto_wrap", "node=2,fsdp=4"),
    ("shard_grad_op", "fsdp=4"),
    ("no_shard", "fsdp=8"),
    ("hybrid_shard_zero2", "node=2,fsdp=2"),
    (AGAIN, "fsdp=4"),
    ("full_shard", "data=2,model=4"),
    ("full_shard sequence_parallel", "data=2,model=2"),
    ("zero1", "data=4,expert=2"),
];

/// A test run executes every fourth step with one strategy, and a thorough run executes each step with two.
/// Consecutive steps get consecutive strategies.
const EVERY: usize = 4;

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let trials = [("roles", known as fn(&Steps) -> Result<(), String>), ("values", equal)];
    let trials = trials.map(|(name, test)| {
        Trial::test(name, move || match jax_steps()? {
            Some(steps) => Ok::<(), Failed>(test(&steps)?),
            None => Ok(skipped(Need::Python, "SHARDC_PYTHON names no Python with jax")?),
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

type Steps = BTreeMap<String, JaxStep>;

/// The inferred roles of each step's arguments are correct, with or without donations, and also if results are reordered or added.
fn known(steps: &Steps) -> Result<(), String> {
    let mut faults = String::new();
    for (name, step) in steps {
        let mut module = step.module();
        let mut check = |module: &Module, how: &str| {
            let found = roles(module, &RoleOverrides::default())
                .map_err(|errors| format!("{name}: {}", errors[0]))?;
            report_faults(&format!("{name}{how}"), step, &found, &mut faults);
            Ok::<(), String>(())
        };
        check(&module, "")?;
        check(&step.with_norms(), ", norms returned")?;
        donate_nothing(&mut module);
        if NEEDS_DONATION.contains(&name.as_str()) {
            let mut missed = String::new();
            let found = roles(&module, &RoleOverrides::default());
            found.iter().for_each(|found| report_faults(name, step, found, &mut missed));
            if found.is_ok() && missed.is_empty() {
                writeln!(faults, "{name} needs no donation: strike it from NEEDS_DONATION").unwrap();
            }
            continue;
        }
        check(&module, ", nothing donated")?;
        reverse_results(&mut module);
        check(&module, ", nothing donated, last result first")?;
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn donate_nothing(module: &mut Module) {
    let entry = module.entry().unwrap();
    for attrs in &mut module.funcs[entry].arg_attrs {
        attrs.remove_donation();
    }
}

/// Reverses the results, and drops their names.
fn reverse_results(module: &mut Module) {
    let entry = module.entry().unwrap();
    let func = &mut module.funcs[entry];
    func.results.reverse();
    func.res_attrs = Vec::new();
    func.res_spans = Vec::new();
    let end = module.funcs[entry].body.and_then(|body| module.terminator(body)).unwrap();
    module.ops[end].operands.reverse();
}

fn report_faults(what: &str, step: &JaxStep, found: &Roles, faults: &mut String) {
    assert_eq!(found.arguments.len(), step.roles.len(), "{what}");
    for ((argument, role), dim) in found.arguments.iter().zip(&step.roles).zip(&step.batch_dims) {
        let is_dim = role != "batch" || argument.batch_dim == *dim;
        if argument.role.as_str() != role || !is_dim {
            writeln!(faults, "{what}: {argument:?}, not {role} {dim:?}").unwrap();
        }
    }
}

/// Each step produces the results of one device with some strategies.
fn equal(steps: &Steps) -> Result<(), String> {
    let Some(client) = client()? else { return Ok(()) };
    let mut faults = String::new();
    let (every, strategies) = if is_thorough() { (1, 2) } else { (EVERY, 1) };
    for (at, (name, step)) in steps.iter().enumerate() {
        let original = step.module();
        let roles = roles(&original, &RoleOverrides::default()).map_err(|errors| errors[0].to_string())?;
        annotated(&original, &roles, AGAIN, "fsdp=8").map_err(|why| format!("{name}: {why}"))?;
        if at % every != 0 {
            continue;
        }
        let mut reference = None;
        for (words, mesh) in STRATEGIES.iter().cycle().skip(at / every).take(strategies) {
            let module = annotated(&original, &roles, words, mesh).map_err(|why| format!("{name}: {why}"))?;
            let output =
                Compiler::new().partition_module(module).map_err(|error| format!("{name}: {error}"))?;
            let reference = match &mut reference {
                Some(reference) => reference,
                none => {
                    let inputs = exec::random_inputs(&output.interface, 1);
                    let inputs = inputs.and_then(|inputs| with_both_signs(&roles, inputs));
                    let inputs = inputs.map_err(|error| error.to_string())?;
                    let made = none.insert(Reference::on(&client, original.clone(), inputs)?);
                    let without = made.without_numbers();
                    if !without.is_empty() {
                        writeln!(faults, "{name}: outputs {without:?} have no finite number").unwrap();
                    }
                    made
                }
            };
            match compare(&client, reference, &output) {
                Verdict::Wrong(why) | Verdict::Refused(why) => {
                    writeln!(faults, "{name}, {words} on {mesh}: {why}").unwrap();
                }
                Verdict::Equal => {}
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn annotated(original: &Module, roles: &Roles, words: &str, mesh: &str) -> Result<Module, String> {
    let (mut module, settings) = (original.clone(), Settings::from_words(words).unwrap());
    let mesh = mesh.parse::<MeshSpec>().unwrap().to_mesh();
    apply(&mut module, roles, &settings, &mesh).map_err(|errors| errors[0].to_string())?;
    shardc_ir::verify(&module).map_err(|errors| errors[0].to_string())?;
    Ok(module)
}
