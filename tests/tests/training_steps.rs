//! Training steps keep their losses when their gradients are replaced by shardc's.
//!
//! A training step of the shared data has forward pass, backward pass and optimizer in one function. The forward pass, on which the loss
//! depends, is differentiated. Values of the step that are numerically equal to shardc's gradients are replaced by these gradients, and the
//! dead rest of the step's backward pass is removed. Five steps of both versions, each from its own state, have the same losses, and the
//! new step can be partitioned.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use shardc::autodiff;
use shardc::{Compiler, exec};
use shardc_ir::{AttrDict, Module, OpKind, RegionId, ValueId, transplant_func};
use shardc_passes::transforms::{dce::dce, inline::inline_calls};
use shardc_runtime::{Client, HostArray, plugin};
use shardc_tests::{
    devices::{Reference, Verdict, client, compare},
    sample::is_thorough,
    shared,
    skip::{Need, skipped},
};

/// Training steps in `corpus/jax` of the shared data.
const STEPS: &[&str] = &["mlp_dp_tp_train", "moe_einsum_ep8_train"];

/// More steps, whose programs take long to compile. They run only in thorough tests.
const SLOW_STEPS: &[&str] = &[
    "hf_gpt2_tiny_tp_train",
    "hf_resnet_tiny_dp_train",
    "llama_tiny_fsdp_tp_train",
    "llama_tiny_scan_remat_train",
];

/// Relative tolerance of losses: five steps amplify rounding differences.
const TOLERANCE: f64 = 1e-3;

/// Tolerance for matching a value of the step with shardc's gradient, relative to the largest element.
const ALIKE: f64 = 1e-3;

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let arguments = Arguments::from_args();
    let trials = match shared() {
        Some(shared) => STEPS
            .iter()
            .chain(SLOW_STEPS.iter().filter(|_| is_thorough()))
            .map(|name| {
                let path = shared.join("corpus/jax").join(name).with_extension("mlir");
                Trial::test(*name, move || {
                    let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                    Ok(same_losses(&bytes)?)
                })
            })
            .collect(),
        None => vec![Trial::test("shared", || {
            let reason = format!("{} programs of the shared data, which is not here", STEPS.len());
            Ok::<(), Failed>(skipped(Need::Shared, &reason)?)
        })],
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn same_losses(bytes: &[u8]) -> Result<(), String> {
    let Some(client) = client()? else { return Ok(()) };
    let message = |e: shardc::Error| e.to_string();
    let original = Compiler::read(bytes).map_err(message)?;
    let mut step = original.clone();
    inline_calls(&mut step).map_err(|e| e[0].to_string())?;
    let interface = Compiler::new().partition_module(original.clone()).map_err(message)?.interface;
    let loss = loss(&step)?;
    let wrt = parameters(&step, loss);
    let mut inputs = exec::random_inputs(&interface, 1).map_err(message)?;
    for &i in &wrt {
        // Weights of both signs, to avoid saturation.
        let weights: Vec<f64> = numbers(&inputs[i]).iter().map(|x| (x - 0.5) / 2.0).collect();
        inputs[i] =
            HostArray::from_f64(inputs[i].dtype, &inputs[i].shape, &weights).map_err(|e| e.to_string())?;
    }
    if wrt.is_empty() {
        return Err("the loss depends on no state".to_owned());
    }
    let mut gradient = only_result(&step, loss);
    autodiff::value_and_grad(&mut gradient, &wrt).map_err(message)?;
    let ours = run(&client, &gradient, &inputs)?;
    let theirs = matching(&client, &step, &wrt, &inputs, &ours[1..])?;
    let replaced = replaced(&step, gradient, &theirs);
    shardc_ir::verify(&replaced).map_err(|e| e[0].to_string())?;

    let (before, after) =
        (losses(&client, &step, &inputs, loss)?, losses(&client, &replaced, &inputs, loss)?);
    for (i, (a, b)) in before.iter().zip(&after).enumerate() {
        let is_close = (a - b).abs() <= TOLERANCE * a.abs().max(b.abs());
        if !(is_close || a.is_nan() && b.is_nan()) {
            return Err(format!("step {i}: {a} and {b}; all losses {before:?} and {after:?}"));
        }
    }
    if before.windows(2).all(|pair| pair[0] == pair[1]) {
        return Err(format!("no step changes the loss: {before:?}"));
    }

    let output = Compiler::new().partition_module(replaced.clone()).map_err(message)?;
    let reference = Reference::new(&client, replaced, &output)?;
    match compare(&client, &reference, &output) {
        Verdict::Equal => Ok(()),
        Verdict::Wrong(why) | Verdict::Refused(why) => Err(format!("partitioned: {why}")),
    }
}

fn body(module: &Module) -> RegionId {
    module.funcs[module.entry().unwrap()].body.unwrap()
}

fn returned(module: &Module) -> Vec<ValueId> {
    let end = module.terminator(body(module)).unwrap();
    module.ops[end].operands.to_vec()
}

/// The first result that is a float scalar: the loss.
fn loss(module: &Module) -> Result<usize, String> {
    let is_number =
        |v: &ValueId| module.tensor(*v).is_some_and(|ty| ty.shape.is_empty() && ty.dtype.is_float());
    returned(module).iter().position(is_number).ok_or_else(|| "no result is one number".to_owned())
}

/// The float arguments that the step updates and that the loss depends on.
fn parameters(module: &Module, loss: usize) -> Vec<usize> {
    let forward = only_result(module, loss);
    let uses = forward.walk(body(&forward)).into_iter().flat_map(|op| forward.ops[op].operands.to_vec());
    let used: std::collections::HashSet<ValueId> = uses.collect();
    let args = &forward.regions[body(&forward)].args;
    let state = next(module, loss);
    (0..args.len())
        .filter(|&i| state[i].is_some())
        .filter(|&i| forward.tensor(args[i]).is_some_and(|ty| ty.dtype.is_float()) && used.contains(&args[i]))
        .collect()
}

/// For each argument, the result with its next value: the result that it is donated to. A step without donations returns its state in the
/// order of its arguments.
fn next(module: &Module, loss: usize) -> Vec<Option<usize>> {
    let func = &module.funcs[module.entry().unwrap()];
    let donated: Vec<Option<usize>> = func.arg_attrs.iter().map(AttrDict::donated_to).collect();
    if donated.iter().any(Option::is_some) {
        return donated;
    }
    let mut out = vec![None; func.params.len()];
    let mut first = 0;
    for (result, ty) in func.results.iter().enumerate().filter(|(result, _)| *result != loss) {
        if let Some(argument) = (first..func.params.len()).find(|&i| func.params[i] == *ty) {
            out[argument] = Some(result);
            first = argument + 1;
        }
    }
    out
}

/// The program with only the result `result`, and the operations on which the result depends.
fn only_result(module: &Module, result: usize) -> Module {
    let value = returned(module)[result];
    let mut out = module.clone();
    give_back(&mut out, &[value]);
    out
}

/// Makes the entry function return these values.
fn give_back(module: &mut Module, values: &[ValueId]) {
    let (entry, body) = (module.entry().unwrap(), body(module));
    let end = module.terminator(body).unwrap();
    module.ops[end].operands = values.iter().copied().collect();
    let types: Vec<_> = values.iter().map(|&v| module.values[v].ty).collect();
    let func = &mut module.funcs[entry];
    func.res_attrs = vec![AttrDict::default(); types.len()];
    func.res_shardings = vec![Default::default(); types.len()];
    func.results = types;
    func.res_spans = Vec::new();
    for attrs in &mut func.arg_attrs {
        attrs.remove_donation();
    }
    dce(module, body);
}

fn run(client: &Client, module: &Module, inputs: &[HostArray]) -> Result<Vec<HostArray>, String> {
    let program = exec::Program::single(client, module).map_err(|e| e.to_string())?;
    program.run(client, inputs).map_err(|e| e.to_string())
}

/// Returns for each gradient the numerically equal value of the step.
fn matching(
    client: &Client,
    step: &Module,
    wrt: &[usize],
    inputs: &[HostArray],
    ours: &[HostArray],
) -> Result<Vec<ValueId>, String> {
    let args = &step.regions[body(step)].args;
    let types: Vec<_> = wrt.iter().map(|&i| step.values[args[i]].ty).collect();
    let candidates: Vec<ValueId> = step.regions[body(step)]
        .ops
        .iter()
        .flat_map(|&op| step.ops[op].results.to_vec())
        .filter(|&v| types.contains(&step.values[v].ty))
        .collect();
    let mut with_results = step.clone();
    give_back(&mut with_results, &candidates);
    let values = run(client, &with_results, inputs)?;
    let values: Vec<Vec<f64>> = values.iter().map(numbers).collect();
    let mut out = Vec::new();
    for ((&ty, gradient), &i) in types.iter().zip(ours).zip(wrt) {
        let gradient = numbers(gradient);
        let largest = gradient.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let apart = |other: &[f64]| {
            gradient.iter().zip(other).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())) / largest
        };
        let found = candidates
            .iter()
            .zip(&values)
            .filter(|(v, _)| step.values[**v].ty == ty)
            .find(|(_, value)| apart(value) <= ALIKE);
        match found {
            Some((&value, _)) => out.push(value),
            None => return Err(format!("no value of the step is the gradient of argument {i}")),
        }
    }
    Ok(out)
}

fn numbers(array: &HostArray) -> Vec<f64> {
    array.to_f64_vec()
}

/// Returns the step with `values` replaced by the results of `gradient`, except its first result.
fn replaced(step: &Module, mut gradient: Module, values: &[ValueId]) -> Module {
    let mut out = step.clone();
    let entry = gradient.entry().unwrap();
    let func = &mut gradient.funcs[entry];
    func.name = "gradient".into();
    func.visibility = shardc_ir::Visibility::Private;
    let made = transplant_func(&gradient, entry, &mut out);
    let types = out.funcs[made].results.clone();
    let body = body(&out);
    let args = out.regions[body].args.clone();
    let call = out.add_op(OpKind::Call { callee: "gradient".into() }, &args, &types, &[]);
    let made = out.ops[call].results.clone();
    for op in out.walk(body) {
        for operand in &mut out.ops[op].operands {
            if let Some(i) = values.iter().position(|v| v == operand) {
                *operand = made[i + 1];
            }
        }
    }
    let ops = std::iter::once(call).chain(out.regions[body].ops.iter().copied()).collect();
    out.set_ops(body, ops);
    dce(&mut out, body);
    out
}

/// The losses of five consecutive steps.
fn losses(client: &Client, step: &Module, inputs: &[HostArray], loss: usize) -> Result<Vec<f64>, String> {
    let next = next(step, loss);
    let program = exec::Program::single(client, step).map_err(|e| e.to_string())?;
    let mut state = inputs.to_vec();
    let mut out = Vec::new();
    for _ in 0..5 {
        let made = program.run(client, &state).map_err(|e| e.to_string())?;
        out.push(numbers(&made[loss])[0]);
        for (argument, next) in next.iter().enumerate() {
            if let Some(result) = *next {
                state[argument] = made[result].clone();
            }
        }
    }
    Ok(out)
}
